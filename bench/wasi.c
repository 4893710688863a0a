/* Our side of what bench/run measures of files: a WASI program over folders of the host.
 *
 *   wasi MODULE [GUEST=HOST]... -- ARGS...    runs it with our standard streams and
 *                                             environment
 *
 * HOST is mounted at GUEST, a folder in the root, to be read and written, dots and all;
 * "+GUEST=HOST" mounts it as an overlay. The exit code is the program's. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "engine/engine.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "wasi/wasi.h"

static int read_input(void *arg, void *to, size_t n, size_t *done)
{
    (void)arg;
    ssize_t got = read(0, to, n);
    *done = got > 0 ? (size_t)got : 0;
    return got < 0 ? errno : 0;
}

static int write_to(int fd, const void *from, size_t n, size_t *done)
{
    ssize_t put = write(fd, from, n);
    *done = put > 0 ? (size_t)put : 0;
    return put < 0 ? errno : 0;
}

static int write_output(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    return write_to(1, from, n, done);
}

static int write_errors(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    return write_to(2, from, n, done);
}

static bool mount(struct vfs *v, char *what, struct err *e)
{
    char *host = strchr(what, '=');
    bool overlay = what[0] == '+';
    if (!host)
        return err_set(e, ERR_INVALID, "%s: GUEST=HOST is accepted", what);
    *host++ = '\0';
    scoped_fd int dir = os_dir_open(host, e);
    struct vfs_mount m = {.at = what + overlay,
                          .dir = dir,
                          .writable = true,
                          .dots = true,
                          .overlay = overlay};
    return dir >= 0 && vfs_mount(v, &m, e);
}

static struct module *load(struct engine *g, const char *path, struct err *e)
{
    scoped_buf struct buf wasm;
    scoped_fd int here = os_dir_open("/", e);
    char *true_path = realpath(path, NULL);
    buf_init(&wasm, (size_t)1 << 28);
    bool read =
        here >= 0 && true_path && os_read_file(here, true_path + 1, &wasm, NULL, e);
    free(true_path);
    struct module_source from = {.wasm = buf_view(&wasm)};
    from.imports = wasi_imports(&from.import_count);
    return read ? module_open(g, ENGINE_FOREIGN, &from, e) : NULL;
}

#define MOUNTS_MAX 16

static bool run(struct engine *g, struct vfs *v, int argc, char **argv, int words,
                uint32_t *code, struct err *e)
{
    const char *folders[MOUNTS_MAX + 2] = {"/", "/tmp"};
    size_t count = 2;
    for (int i = 2; i + 1 < words && count < LENGTH(folders); i++)
        folders[count++] = argv[i] + (argv[i][0] == '+');
    struct wasi_options o = {.args = (const char *const *)argv + words,
                             .arg_count = (size_t)(argc - words),
                             .env = (const char *const *)environ,
                             .vfs = v,
                             .folders = folders,
                             .folder_count = count,
                             .read = read_input,
                             .write = write_output,
                             .write_error = write_errors};
    while (environ[o.env_count])
        o.env_count++;
    struct module *m = load(g, argv[1], e);
    struct wasi *s = m ? wasi_new(&o, e) : NULL;
    struct world *w = s ? world_open(m, &(struct world_limits){0}, s, e) : NULL;
    bool ok = w && wasi_run(w, code, e);
    world_close(w);
    wasi_free(s);
    module_close(m);
    return ok;
}

int main(int argc, char **argv)
{
    struct err e = {0};
    uint32_t code = 125;
    int words = 2;
    struct vfs *v = vfs_new(&(struct vfs_quota){.bytes = (uint64_t)1 << 30,
                                                .files = 1000000,
                                                .open = 1000,
                                                .written = (uint64_t)1 << 40});
    bool ok = vfs_mkdir(v, NULL, STR("/tmp")) == 0;
    for (; ok && words < argc && strcmp(argv[words], "--") != 0; words++)
        ok = mount(v, argv[words], &e);
    struct engine *g = ok ? engine_open(&(struct engine_options){0}, &e) : NULL;
    ok = g && words < argc && run(g, v, argc, argv, words + 1, &code, &e);
    if (!ok)
        fprintf(stderr, "wasi: %s\n", e.msg);
    engine_close(g);
    vfs_free(v);
    return (int)code;
}
