/* cloche-bake [--wasi [--data FOLDER]] IN.wasm -o OUT: writes OUT.wasm (dense),
 * OUT.bare.wasm, OUT.img and OUT.id (their hashes). With --wasi it is a program for WASI that will run on
 * ENGINE_FOREIGN: its start finds clocks and random bytes that are always the same, and
 * FOLDER's files at "/".
 *
 * cloche-bake --ahead IN.wasm FOLDER: compiles it for ENGINE_FOREIGN on this machine's
 * CPU, for the engine's option `ahead`; with --own for ENGINE_OWN, with --metered for
 * ENGINE_OWN_METERED. Part of the build. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bake/bake.h"
#include "crypto/crypto.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "wasi/wasi.h"

#define MODULE_MAX ((size_t)1 << 30)
#define SAID_MAX ((size_t)64 << 10)

/* Whole pages of zeros become holes. */
static bool write_sparse(int fd, struct str bytes)
{
    static const char zeros[4096];
    for (size_t at = 0; at < bytes.n; at += sizeof zeros) {
        size_t n = bytes.n - at < sizeof zeros ? bytes.n - at : sizeof zeros;
        if (memcmp(bytes.at + at, zeros, n) == 0)
            continue;
        if (pwrite(fd, bytes.at + at, n, (off_t)at) != (ssize_t)n)
            return false;
    }
    return ftruncate(fd, (off_t)bytes.n) == 0;
}

static bool write_beside(const char *out, const char *ending, const struct buf *b,
                         struct err *e)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s%s", out, ending);
    (void)unlink(path);
    scoped_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || !write_sparse(fd, buf_view(b)))
        return err_set(e, ERR_IO, "cannot write %s: %m", path);
    return true;
}

/* Hashes of the bare module and its image, a line each. */
static bool write_id(const char *out, const struct bake_result *r, struct err *e)
{
    char module[CRYPTO_HASH_HEX], image[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&r->bare), module);
    crypto_hash_hex(buf_view(&r->image), image);
    scoped_buf struct buf id = buf_of(BUF_LINE);
    buf_printf(&id, "%s\n%s\n", module, image);
    return write_beside(out, ".id", &id, e);
}

/* All forms of the result, beside `out`. */
static bool bake_bytes(struct engine *g, struct str wasm, const struct bake_options *how,
                       const char *out, struct err *e)
{
    struct bake_result r;
    buf_init(&r.dense, MODULE_MAX);
    buf_init(&r.bare, MODULE_MAX);
    buf_init(&r.image, BAKE_IMAGE_MAX);
    bool ok = bake_module(g, wasm, how, &r, e) &&
              write_beside(out, ".bare.wasm", &r.bare, e) &&
              write_beside(out, ".img", &r.image, e) &&
              write_beside(out, ".wasm", &r.dense, e) && write_id(out, &r, e);
    buf_done(&r.dense);
    buf_done(&r.bare);
    buf_done(&r.image);
    return ok;
}

static bool read_module(const char *path, struct buf *wasm, struct err *e)
{
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_NOT_FOUND, "cannot open %s: %m", path);
    return os_read_fd(fd, wasm, e);
}

static bool compile_file(const char *in, enum engine_kind kind, const char *folder,
                         struct err *e)
{
    scoped_buf struct buf wasm = buf_of(MODULE_MAX);
    scoped_fd int dir = os_dir_make(folder, 0755, e);
    if (dir < 0 || !read_module(in, &wasm, e))
        return false;
    struct engine_options options = {.no_cache = true};
    scoped(engine_close) struct engine *g = engine_open(&options, e);
    return g && module_compile_ahead(g, kind, buf_view(&wasm), dir, e);
}

/* The files at "/" for its start: a folder's, or none. Where "/" is open now it is
 * open so in every call. */
static struct vfs *show_data(const char *data, struct err *e)
{
    static const struct vfs_quota quota = {.open = 64};
    scoped(vfs_free) struct vfs *files = vfs_new(&quota);
    scoped_fd int dir = data ? open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (data && dir < 0) {
        err_set(e, ERR_NOT_FOUND, "cannot open %s: %m", data);
        return NULL;
    }
    return !data || vfs_show(files, dir, e) ? take(files) : NULL;
}

/* `own`: as in struct bake_options, also of a guest that WASI serves while it starts. */
static bool bake_file(const char *in, const char *out, bool for_wasi, bool own,
                      const char *data, struct err *e)
{
    static const char *const init[] = {"bake"};
    /* There is always a program's name; some look at it before their main function. */
    static const char *const args[] = {"program"};
    struct bake_options how = {
        .init = init, .init_count = LENGTH(init), .own = own || !for_wasi};
    scoped_buf struct buf wasm = buf_of(MODULE_MAX);
    if (!read_module(in, &wasm, e))
        return false;
    struct engine_options options = {.no_cache = true, .quick = true};
    scoped(engine_close) struct engine *g = engine_open(&options, e);
    scoped_buf struct buf said = buf_of(SAID_MAX);
    scoped(vfs_free) struct vfs *files = show_data(data, e);
    if (!files)
        return false;
    scoped(wasi_free) struct wasi *wasi =
        wasi_new(&(struct wasi_options){.args = args,
                                        .arg_count = LENGTH(args),
                                        .vfs = files,
                                        .frozen = true,
                                        .errors = &said},
                 e);
    if (!g || !wasi)
        return false;
    if (for_wasi)
        how.imports = wasi_imports(&how.import_count);
    how.data = wasi;
    bool ok = bake_bytes(g, buf_view(&wasm), &how, out, e);
    if (!ok)
        (void)fwrite(said.at, 1, said.n,
                     stderr); /* its own words, of a start that failed */
    return ok;
}

int main(int argc, char **argv)
{
    bool metered = argc == 5 && !strcmp(argv[1], "--metered");
    bool own = argc >= 5 && !strcmp(argv[1], "--own");
    int from = 1 + (metered || own);
    bool ahead = argc - from == 3 && !strcmp(argv[from], "--ahead");
    bool for_wasi = argc - from >= 4 && !strcmp(argv[from], "--wasi");
    bool with_data = for_wasi && argc - from == 6 && !strcmp(argv[from + 1], "--data");
    int input = from + for_wasi + 2 * with_data;
    bool bakes = argc - input == 3 && !strcmp(argv[argc - 2], "-o");
    if (!ahead && !bakes) {
        fprintf(stderr,
                "usage: cloche-bake [[--own] --wasi [--data FOLDER]] IN.wasm -o OUT\n"
                "       cloche-bake [--own | --metered] --ahead IN.wasm FOLDER\n");
        return 2;
    }
    struct err e = {0};
    const char *in = argv[ahead ? from + 1 : input], *out = argv[argc - 1];
    enum engine_kind kind = metered ? ENGINE_OWN_METERED
                            : own   ? ENGINE_OWN
                                    : ENGINE_FOREIGN;
    if (ahead ? compile_file(in, kind, out, &e)
              : bake_file(in, out, for_wasi, own, with_data ? argv[from + 2] : NULL, &e))
        return 0;
    fprintf(stderr, "cloche-bake: %s: %s\n", in, e.msg);
    return 1;
}
