/* The Python guest: what it imports. It has no files: every function of WASI that is about
 * files answers that there is none. */
#include "guest/guest.h"
#include "script/internal.h"

#define WASI_NOSYS 52u
#define WASI_FAULT 21u

/* A function that this guest has not. */
static bool import_none(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = WASI_NOSYS;
    return true;
}

/* The count and the size of the texts of an environment that is empty. */
static bool import_no_texts(struct world *w, uint64_t *cells, struct err *e)
{
    (void)e;
    void *count = world_slice(w, (uint32_t)cells[0], 4);
    void *size = world_slice(w, (uint32_t)cells[1], 4);
    if (count)
        memset(count, 0, 4);
    if (size)
        memset(size, 0, 4);
    cells[0] = count && size ? 0 : WASI_FAULT;
    return true;
}

/* Clocks are told in steps of a microsecond. */
static bool import_resolution(struct world *w, uint64_t *cells, struct err *e)
{
    (void)e;
    uint64_t ns = 1000;
    void *to = world_slice(w, (uint32_t)cells[1], sizeof ns);
    if (to)
        memcpy(to, &ns, sizeof ns);
    cells[0] = to ? 0 : WASI_FAULT;
    return true;
}

static bool import_wasi_random(struct world *w, uint64_t *cells, struct err *e)
{
    uint64_t given[2] = {cells[0], cells[1]};
    if (!import_random(w, given, e))
        return false;
    cells[0] = 0;
    return true;
}

/* The interpreter ends itself only where it cannot go on, or where the code says so. */
static bool import_exit(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    return err_set(e, ERR_GUEST,
                   "the code ended the interpreter (status %u), which has no result",
                   (unsigned)cells[0]);
}

#define NONE(name, type) {GUEST_WASI, name, type, import_none}
static const struct engine_import imports[] = {
    {"host", "call", "iii:i", import_call},
    {"host", "take", "i:", import_take},
    {"host", "stop", "i:", import_stop},
    {"host", "wait", "iiiF:i", import_wait},
    {GUEST_WASI, "clock_time_get", "iIi:i", import_clock},
    {GUEST_WASI, "clock_res_get", "ii:i", import_resolution},
    {GUEST_WASI, "random_get", "ii:i", import_wasi_random},
    {GUEST_WASI, "proc_exit", "i:", import_exit},
    {GUEST_WASI, "args_sizes_get", "ii:i", import_no_texts},
    {GUEST_WASI, "environ_sizes_get", "ii:i", import_no_texts},
    GUEST_NO_FILES,
    NONE("args_get", "ii:i"),
    NONE("environ_get", "ii:i"),
    NONE("fd_advise", "iIIi:i"),
    NONE("fd_allocate", "iII:i"),
    NONE("fd_datasync", "i:i"),
    NONE("fd_fdstat_set_flags", "ii:i"),
    NONE("fd_filestat_get", "ii:i"),
    NONE("fd_filestat_set_size", "iI:i"),
    NONE("fd_filestat_set_times", "iIIi:i"),
    NONE("fd_pread", "iiiIi:i"),
    NONE("fd_prestat_get", "ii:i"),
    NONE("fd_prestat_dir_name", "iii:i"),
    NONE("fd_pwrite", "iiiIi:i"),
    NONE("fd_read", "iiii:i"),
    NONE("fd_readdir", "iiiIi:i"),
    NONE("fd_renumber", "ii:i"),
    NONE("fd_sync", "i:i"),
    NONE("fd_tell", "ii:i"),
    NONE("path_create_directory", "iii:i"),
    NONE("path_filestat_get", "iiiii:i"),
    NONE("path_filestat_set_times", "iiiiIIi:i"),
    NONE("path_link", "iiiiiii:i"),
    NONE("path_open", "iiiiiIIii:i"),
    NONE("path_readlink", "iiiiii:i"),
    NONE("path_remove_directory", "iii:i"),
    NONE("path_rename", "iiiiii:i"),
    NONE("path_symlink", "iiiii:i"),
    NONE("path_unlink_file", "iii:i"),
    NONE("poll_oneoff", "iiii:i"),
    NONE("sched_yield", ":i"),
    NONE("sock_accept", "iii:i"),
    NONE("sock_recv", "iiiiii:i"),
    NONE("sock_send", "iiiii:i"),
    NONE("sock_shutdown", "ii:i"),
};

const struct script_kind script_python = {
    .name = "python",
    .title = "Python",
    .imports = imports,
    .import_count = LENGTH(imports),
    .snake_case = true,
    .taken =
        " "
        "False None True and as assert async await break class continue def del elif "
        "else except finally for from global if import in is lambda nonlocal not or "
        "pass raise return try while with yield context print open exec eval "
        "__builtins__ __name__ __doc__ ",
};
