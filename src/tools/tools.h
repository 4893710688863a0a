/* tools/tools.h - runs command-line tools: one fresh world each, over a file tree made
 * for the call.
 *
 * Every tool sees: its arguments; standard input; "/work", in memory, with the files that
 * came with the call, its working directory unless the call says another; "/tmp", in
 * memory; its own read-only data; and the mounts of the call, as far as the manifest's
 * fileAccess goes. Nothing else of the host is there.
 *
 * Who may run what is decided before, by guard; here only limits hold: of the manifest,
 * narrowed by the call.
 *
 * Threads: safe; a run works on its caller's thread (ENGINE_THREAD_STACK), the further
 * stages of a pipeline on threads of their own.
 */
#pragma once
#include "base/base.h"
#include "catalogue/catalogue.h"
#include "vfs/vfs.h"
#include "wasi/wasi.h"
#include "json/json.h"

#define TOOL_OUTPUT_MAX ((uint64_t)10 << 20) /* bytes of stdout, and of stderr, kept */
#define TOOL_STAGES_MAX 16u                  /* of one pipeline */

/* A file of the call, put into /work before the run, or found changed after it. */
struct tool_file {
    struct str name; /* relative to /work */
    struct str bytes;
};

/* What the stages of a run share. Zero means the default. */
struct tool_world {
    const struct vfs_mount *mounts; /* more of the file tree; `writable` is narrowed by
                                       each stage's fileAccess */
    size_t mount_count;
    const struct tool_file *files;
    size_t file_count;
    const char *folder;     /* the working directory; NULL: "/work" */
    const char *const *env; /* "NAME=value", over the defaults */
    size_t env_count;
    uint64_t disk_bytes;   /* in memory, ENOSPC above; 256 MiB */
    uint64_t output_bytes; /* kept of stdout, and of stderr */
    uint64_t until_ns;     /* os_mono_ns() at which all ends; 0: by each timeout alone */
    uint64_t tenant;
    struct cancel *cancel;
    /* Where standard input comes from and outputs go to, instead of bytes: for a person's
     * terminal. NULL: from `input`, to the result. */
    wasi_read_fn *read;
    wasi_write_fn *write, *write_error;
    void *stream_arg;
    bool terminals[3]; /* is that stream of the caller's one? */
    struct str input;
    /* Called on the caller's thread, when all stages have ended and no limit or cancel
     * stopped one (whatever their exit codes), for each stage in turn: its file tree as
     * it left it, for vfs_changes() of an overlay among the mounts. NULL: nobody looks. */
    void (*ended)(void *arg, struct vfs *tree);
    void *ended_arg;
};

/* One stage: a tool, and what it is called with. */
struct tool_stage {
    const struct tool *tool;
    /* The parameters as the manifest names them, and `args`, an array of strings, put
     * behind them. NULL: none. */
    const struct json *arguments;
    const char *const
        *args; /* the same from a command line; used where `arguments` is NULL */
    size_t arg_count;
    uint32_t timeout_ms;   /* 0, or less than the manifest's */
    uint64_t memory_bytes; /* 0, or less than the manifest's */
};

struct tool_outcome {
    uint32_t exit_code;
    enum err_code stopped; /* ERR_NONE, or what stopped it; then `why` says more */
    char why[240];
    double wall_ms, compute_ms;
    uint64_t memory_peak;              /* bytes */
    uint64_t stderr_lost, stdout_lost; /* bytes over the cap */
    struct buf errors;                 /* its stderr */
};

struct tool_result {
    struct tool_outcome stages[TOOL_STAGES_MAX];
    size_t stage_count;
    size_t failed;     /* the first stage that did not end with 0; stage_count: none */
    struct buf output; /* the last stage's stdout */
    struct tool_file *files; /* made or changed in /work; deleted ones are not told */
    size_t file_count;
    struct arena *arena; /* of the above */
};
void tool_result_end(struct tool_result *r); /* one of zeros is fine */

/* Checks all arguments first (ERR_INVALID names the parameter; nothing has run), then runs
 * the stages, each one's stdout the next one's stdin. true: they ran, see the result.
 * false and *e: ERR_INVALID, ERR_LIMIT (too many stages or files), ERR_BUSY, or what
 * tool_module() and vfs_mount() fail with. */
bool tools_run(struct catalogue *c, const struct tool_world *world,
               const struct tool_stage *stages, size_t count, struct tool_result *out,
               struct err *e);

/* The JSON schema of what a tool takes, made of its manifest: for MCP. */
void tool_input_schema(const struct tool *t, struct json_writer *out);
