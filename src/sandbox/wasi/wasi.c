/* The interface as a whole: arguments, clocks, randomness, the end of a program, and
 * the table of all functions. */
#include "wasi/wasi.h"

#include <stdio.h>
#include <time.h>

#include "os/os.h"
#include "wasi/internal.h"

/* ---- errnos ------------------------------------------------------------- */

uint16_t wasi_errno(int posix)
{
    static const uint8_t numbers[] = {
        [E2BIG] = 1,       [EACCES] = 2,     [EAGAIN] = 6,        [EBADF] = 8,
        [EBUSY] = 10,      [ECANCELED] = 11, [EDQUOT] = 19,       [EEXIST] = 20,
        [EFAULT] = 21,     [EFBIG] = 22,     [EILSEQ] = 25,       [EINTR] = 27,
        [EINVAL] = 28,     [EIO] = 29,       [EISDIR] = 31,       [ELOOP] = 32,
        [EMFILE] = 33,     [EMLINK] = 34,    [ENAMETOOLONG] = 37, [ENFILE] = 41,
        [ENODEV] = 43,     [ENOENT] = 44,    [ENOMEM] = 48,       [ENOSPC] = 51,
        [ENOSYS] = 52,     [ENOTDIR] = 54,   [ENOTEMPTY] = 55,    [ENOTSOCK] = 57,
        [EOPNOTSUPP] = 58, [ENOTTY] = 59,    [ENXIO] = 60,        [EOVERFLOW] = 61,
        [EPERM] = 63,      [EPIPE] = 64,     [ERANGE] = 68,       [EROFS] = 69,
        [ESPIPE] = 70,     [ESTALE] = 72,    [ETIMEDOUT] = 73,    [ETXTBSY] = 74,
        [EXDEV] = 75};
    if (posix == 0 || posix == ENOTCAPABLE)
        return posix ? 76 : 0;
    bool known = posix > 0 && (size_t)posix < LENGTH(numbers) && numbers[posix];
    return known ? numbers[posix] : numbers[EIO];
}

/* ---- the guest's memory ------------------------------------------------- */

int put_u32(const struct call *c, uint32_t at, uint32_t v)
{
    void *to = slice(c, at, sizeof v);
    if (!to)
        return EFAULT;
    memcpy(to, &v, sizeof v);
    return 0;
}

int put_u64(const struct call *c, uint32_t at, uint64_t v)
{
    void *to = slice(c, at, sizeof v);
    if (!to)
        return EFAULT;
    memcpy(to, &v, sizeof v);
    return 0;
}

int get_path(const struct call *c, uint32_t at, uint32_t n, struct str *out)
{
    if (n >= VFS_PATH_MAX)
        return ENAMETOOLONG;
    *out = (struct str){slice(c, at, n), n};
    return !out->at ? EFAULT : str_is_utf8(*out) ? 0 : EILSEQ;
}

/* ---- arguments and environment ------------------------------------------ */

static bool set_strings(struct strings *s, const char *const *from, size_t count,
                        const char *what, struct err *e)
{
    scoped_buf struct buf all = buf_of(WASI_STRINGS_MAX);
    for (size_t i = 0; i < count; i++)
        buf_put(&all, from[i], strlen(from[i]) + 1);
    if (!buf_check(&all, what, e))
        return false;
    s->count = count;
    s->n = all.n;
    s->bytes = take(all.at);
    return true;
}

/* strings_get(pointers, bytes) */
static int put_strings(const struct call *c, const struct strings *s)
{
    uint32_t to = arg32(c, 1);
    char *pointers = slice(c, arg32(c, 0), (uint64_t)s->count * 4);
    char *bytes = slice(c, to, s->n);
    if (!pointers || !bytes)
        return EFAULT;
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        uint32_t address = to + (uint32_t)at;
        memcpy(pointers + 4 * i, &address, sizeof address);
        at += strlen(s->bytes + at) + 1;
    }
    if (s->n)
        memcpy(bytes, s->bytes, s->n);
    return 0;
}

static int put_sizes(const struct call *c, const struct strings *s)
{
    int failed = put_u32(c, arg32(c, 0), (uint32_t)s->count);
    return failed ? failed : put_u32(c, arg32(c, 1), (uint32_t)s->n);
}

static int args_get(const struct call *c)
{
    return put_strings(c, &c->wasi->args);
}

static int args_sizes_get(const struct call *c)
{
    return put_sizes(c, &c->wasi->args);
}

static int environ_get(const struct call *c)
{
    return put_strings(c, &c->wasi->env);
}

static int environ_sizes_get(const struct call *c)
{
    return put_sizes(c, &c->wasi->env);
}

/* ---- clocks and randomness ---------------------------------------------- */

uint64_t clock_ns(struct wasi *s, uint32_t id)
{
    struct timespec t = {0};
    if (s->options.frozen)
        return s->ticks += 1000;
    if (id == CLOCK_PROCESS || id == CLOCK_THREAD)
        return os_thread_cpu_ns() - s->cpu_start_ns;
    if (id == CLOCK_MONO)
        return os_mono_ns();
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int clock_res_get(const struct call *c)
{
    return arg32(c, 0) < CLOCKS ? put_u64(c, arg32(c, 1), 1) : EINVAL;
}

static int clock_time_get(const struct call *c)
{
    uint32_t id = arg32(c, 0);
    return id < CLOCKS ? put_u64(c, arg32(c, 2), clock_ns(c->wasi, id)) : EINVAL;
}

/* Splitmix64: looks random, and is always the same. */
static void fill_frozen(struct wasi *s, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t x = s->random += 0x9e3779b97f4a7c15u;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        to[i] = (char)(x >> 56);
    }
}

static int random_get(const struct call *c)
{
    uint32_t n = arg32(c, 1);
    char *to = slice(c, arg32(c, 0), n);
    if (!to)
        return EFAULT;
    if (n > WASI_RANDOM_MAX)
        return EINVAL;
    if (c->wasi->options.frozen)
        fill_frozen(c->wasi, to, n);
    else
        os_random(to, n);
    return 0;
}

/* ---- processes and sockets ---------------------------------------------- */

static int sched_yield_(const struct call *c)
{
    (void)c;
    return 0;
}

static int sock_any(const struct call *c)
{
    return fd_at(c->wasi, arg32(c, 0)) ? ENOTSOCK : EBADF;
}

static bool proc_exit(struct world *w, uint64_t *cells, struct err *e)
{
    struct wasi *s = world_data(w);
    s->exited = true;
    s->exit_code = (uint32_t)cells[0];
    return err_set(e, ERR_GUEST, "ended itself with exit code %u", s->exit_code);
}

static bool proc_raise(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    return err_set(e, ERR_GUEST, "ended itself with signal %u", (unsigned)cells[0]);
}

bool wasi_exited(const struct wasi *s, uint32_t *code)
{
    *code = s->exit_code;
    return s->exited;
}

bool wasi_run(struct world *w, uint32_t *code, struct err *e)
{
    struct wasi *s = world_data(w);
    struct err why = {0};
    uint64_t cell = 0;
    *code = 0;
    if (world_call(w, "_start", &cell, 0, &why))
        return true;
    /* A limit that was hit at the same time counts more. */
    if (s->exited && why.code == ERR_GUEST) {
        *code = s->exit_code;
        return true;
    }
    return err_set(e, why.code, "%s", why.msg);
}

/* ---- the table ---------------------------------------------------------- */

/* Each function: the name and the type of its import, its body, and the right that its
 * first argument, a file, must not have given away. */
#define NO_RIGHT RIGHTS
#define FUNCTIONS(X)                                                              \
    X(args_get, "ii:i", args_get, NO_RIGHT)                                       \
    X(args_sizes_get, "ii:i", args_sizes_get, NO_RIGHT)                           \
    X(environ_get, "ii:i", environ_get, NO_RIGHT)                                 \
    X(environ_sizes_get, "ii:i", environ_sizes_get, NO_RIGHT)                     \
    X(clock_res_get, "ii:i", clock_res_get, NO_RIGHT)                             \
    X(clock_time_get, "iIi:i", clock_time_get, NO_RIGHT)                          \
    X(fd_advise, "iIIi:i", fd_advise, RIGHT_ADVISE)                               \
    X(fd_allocate, "iII:i", fd_allocate, RIGHT_ALLOCATE)                          \
    X(fd_close, "i:i", fd_close, NO_RIGHT)                                        \
    X(fd_datasync, "i:i", fd_datasync, RIGHT_DATASYNC)                            \
    X(fd_fdstat_get, "ii:i", fd_fdstat_get, NO_RIGHT)                             \
    X(fd_fdstat_set_flags, "ii:i", fd_fdstat_set_flags, RIGHT_SET_FLAGS)          \
    X(fd_fdstat_set_rights, "iII:i", fd_fdstat_set_rights, NO_RIGHT)              \
    X(fd_filestat_get, "ii:i", fd_filestat_get, RIGHT_STAT)                       \
    X(fd_filestat_set_size, "iI:i", fd_filestat_set_size, RIGHT_SET_SIZE)         \
    X(fd_filestat_set_times, "iIIi:i", fd_filestat_set_times, RIGHT_SET_TIMES)    \
    X(fd_pread, "iiiIi:i", fd_pread, RIGHT_READ)                                  \
    X(fd_prestat_dir_name, "iii:i", fd_prestat_dir_name, NO_RIGHT)                \
    X(fd_prestat_get, "ii:i", fd_prestat_get, NO_RIGHT)                           \
    X(fd_pwrite, "iiiIi:i", fd_pwrite, RIGHT_WRITE)                               \
    X(fd_read, "iiii:i", fd_read, RIGHT_READ)                                     \
    X(fd_readdir, "iiiIi:i", fd_readdir, RIGHT_READDIR)                           \
    X(fd_renumber, "ii:i", fd_renumber, NO_RIGHT)                                 \
    X(fd_seek, "iIii:i", fd_seek, RIGHT_SEEK)                                     \
    X(fd_sync, "i:i", fd_sync, RIGHT_SYNC)                                        \
    X(fd_tell, "ii:i", fd_tell, RIGHT_TELL)                                       \
    X(fd_write, "iiii:i", fd_write, RIGHT_WRITE)                                  \
    X(path_create_directory, "iii:i", path_create_directory, RIGHT_CREATE_FOLDER) \
    X(path_filestat_get, "iiiii:i", path_filestat_get, RIGHT_PATH_STAT)           \
    X(path_filestat_set_times, "iiiiIIi:i", path_filestat_set_times,              \
      RIGHT_PATH_SET_TIMES)                                                       \
    X(path_link, "iiiiiii:i", path_link, RIGHT_LINK_FROM)                         \
    X(path_open, "iiiiiIIii:i", path_open, RIGHT_OPEN)                            \
    X(path_readlink, "iiiiii:i", path_readlink, RIGHT_READLINK)                   \
    X(path_remove_directory, "iii:i", path_remove_directory, RIGHT_REMOVE_FOLDER) \
    X(path_rename, "iiiiii:i", path_rename, RIGHT_RENAME_FROM)                    \
    X(path_symlink, "iiiii:i", path_symlink, NO_RIGHT)                            \
    X(path_unlink_file, "iii:i", path_unlink_file, RIGHT_UNLINK)                  \
    X(poll_oneoff, "iiii:i", poll_oneoff, NO_RIGHT)                               \
    X(random_get, "ii:i", random_get, NO_RIGHT)                                   \
    X(sched_yield, ":i", sched_yield_, NO_RIGHT)                                  \
    X(sock_accept, "iii:i", sock_any, NO_RIGHT)                                   \
    X(sock_recv, "iiiiii:i", sock_any, NO_RIGHT)                                  \
    X(sock_send, "iiiii:i", sock_any, NO_RIGHT)                                   \
    X(sock_shutdown, "ii:i", sock_any, NO_RIGHT)

/* A file that is not there is the function's own affair. */
static int permitted(const struct call *c, enum right right)
{
    const struct fd *f = right == NO_RIGHT ? NULL : fd_at(c->wasi, arg32(c, 0));
    return f ? fd_allows(f, right) : 0;
}

#define IMPORT(name, type, body, right)                                        \
    static bool import_##name(struct world *w, uint64_t *cells, struct err *e) \
    {                                                                          \
        const struct call c = {world_data(w), w, cells};                       \
        (void)e;                                                               \
        int failed = permitted(&c, right);                                     \
        cells[0] = wasi_errno(failed ? failed : body(&c));                     \
        return true;                                                           \
    }
FUNCTIONS(IMPORT)

#define MODULE "wasi_snapshot_preview1"
#define ROW(name, type, body, right) {MODULE, #name, type, import_##name},
static const struct engine_import imports[] = {
    FUNCTIONS(ROW){MODULE, "proc_exit", "i:", proc_exit},
    {MODULE, "proc_raise", "i:i", proc_raise},
};

const struct engine_import *wasi_imports(size_t *count)
{
    *count = LENGTH(imports);
    return imports;
}

/* ---- beginning and end -------------------------------------------------- */

/* The folder `path`, which the guest knows by `name`. */
static bool folder_open(struct wasi *s, const char *path, const char *name, struct err *e)
{
    struct vfs_file *folder = NULL;
    uint32_t n = 0;
    int failed =
        vfs_open(s->options.vfs, NULL, str_of(path), VFS_READ | VFS_DIRECTORY, &folder);
    if (!failed)
        failed = fd_add(s, folder, &(struct fd){.rights = RIGHTS_ALL}, &n);
    if (failed)
        return err_set(e, failed == ENOENT ? ERR_NOT_FOUND : ERR_INVALID,
                       "folder %.200s: %s", path, strerror(failed));
    s->fds[n].folder = name;
    return true;
}

static bool open_folders(struct wasi *s, struct err *e)
{
    static const char *const root[] = {"/"};
    bool given = s->options.folder_count > 0;
    const char *const *names = given ? s->options.folders : root;
    size_t count = given ? s->options.folder_count : s->options.vfs != NULL;
    for (size_t i = 0; i < count; i++) {
        if (!folder_open(s, names[i], names[i], e))
            return false;
        if (!strcmp(names[i], "/"))
            vfs_follow_anywhere(s->options.vfs);
    }
    return !s->options.here || folder_open(s, s->options.here, ".", e);
}

static uint64_t rights_of_stream(unsigned i, enum wasi_stream kind)
{
    return (i == 0 ? BIT(RIGHT_READ) : BIT(RIGHT_WRITE)) |
           (kind == WASI_DEVICE ? RIGHTS_DEVICE : RIGHTS_STREAM);
}

struct wasi *wasi_new(const struct wasi_options *o, struct err *e)
{
    scoped(wasi_free) struct wasi *s = mem_new(sizeof *s);
    s->options = *o;
    s->cpu_start_ns = os_thread_cpu_ns();
    s->fd_count = 3;
    s->fds = mem_new(s->fd_count * sizeof *s->fds);
    for (unsigned i = 0; i < s->fd_count; i++)
        s->fds[i] = (struct fd){
            .kind = FD_STREAM, .stream = i, .rights = rights_of_stream(i, o->streams[i])};
    if (!set_strings(&s->args, o->args, o->arg_count, "the row of arguments", e) ||
        !set_strings(&s->env, o->env, o->env_count, "the environment", e) ||
        !open_folders(s, e))
        return NULL;
    return take(s);
}

void wasi_free(struct wasi *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->fd_count; i++)
        if (s->fds[i].kind == FD_OPEN)
            vfs_close(s->fds[i].file);
    free(s->fds);
    free(s->args.bytes);
    free(s->env.bytes);
    free(s);
}

uint64_t wasi_lost(const struct wasi *s)
{
    return s->lost;
}
