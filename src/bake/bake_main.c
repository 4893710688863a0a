/* cloche-bake IN.wasm -o OUT: writes OUT.wasm (dense), OUT.bare.wasm and OUT.img.
 * Part of the build. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bake/bake.h"
#include "os/os.h"

#define MODULE_MAX ((size_t)1 << 30)

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

static bool bake_file(const char *in, const char *out, struct err *e)
{
    static const char *const init[] = {"bake"};
    scoped_buf struct buf wasm;
    buf_init(&wasm, MODULE_MAX);
    scoped_fd int fd = open(in, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_NOT_FOUND, "cannot open %s: %m", in);
    if (!os_read_fd(fd, &wasm, e))
        return false;

    struct engine_options options = {.no_cache = true};
    scoped(engine_close) struct engine *g = engine_open(&options, e);
    if (!g)
        return false;
    struct bake_result r;
    buf_init(&r.dense, MODULE_MAX);
    buf_init(&r.bare, MODULE_MAX);
    buf_init(&r.image, BAKE_IMAGE_MAX);
    struct bake_options how = {.init = init, .init_count = LENGTH(init), .own = true};
    bool ok = bake_module(g, buf_view(&wasm), &how, &r, e) &&
              write_beside(out, ".bare.wasm", &r.bare, e) &&
              write_beside(out, ".img", &r.image, e) &&
              write_beside(out, ".wasm", &r.dense, e);
    buf_done(&r.dense);
    buf_done(&r.bare);
    buf_done(&r.image);
    return ok;
}

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[2], "-o") != 0) {
        fprintf(stderr, "usage: cloche-bake IN.wasm -o OUT\n");
        return 2;
    }
    struct err e = {0};
    if (bake_file(argv[1], argv[3], &e))
        return 0;
    fprintf(stderr, "cloche-bake: %s: %s\n", argv[1], e.msg);
    return 1;
}
