/* tools/tools.h - runs command-line tools: one fresh world each, over a file tree made
 * for the call.
 *
 * Every tool sees: its arguments; standard input; "/work", in memory, with the files that
 * came with the call, its working directory unless the call says another; "/tmp", in
 * memory; its own read-only data; and the mounts of the call, as far as the manifest's
 * fileAccess goes. Nothing else of the host is there.
 *
 * Guard has decided before who may run what; here only limits hold: of the manifest,
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

#define TOOL_OUTPUT_MAX ((uint64_t)10 << 20)  /* bytes of stdout, and of stderr, kept */
#define TOOL_STAGES_MAX 16u                   /* of one pipeline */
#define TOOL_FILES_MAX 1000u                  /* given to a call, and named after it */
#define TOOL_FILES_BYTES ((uint64_t)10 << 20) /* of those made or changed, given back */
#define TOOL_DISK_BYTES ((uint64_t)256 << 20) /* in memory, for each stage */
#define TOOL_DISK_FILES 65536u                /* files, folders and links there */
#define TOOL_TOTAL_BYTES ((uint64_t)4 << 30)  /* memory limits of all stages together */

/* A file of the call, put into /work before the run, or found changed after it. */
struct tool_file {
    struct str name;  /* relative to /work */
    struct str bytes; /* without a pointer where it was not given back */
    uint64_t size;    /* of one found: its true size */
};

/* A stage whose tool is a command of the Linux machine, for whoever has machines. All is
 * borrowed for the call. */
struct tool_command {
    const struct tool_stage *stage;
    const char *const *words; /* the program, and all of its words */
    size_t word_count;
    const char *folder;     /* the working directory */
    const char *const *env; /* "NAME=value", of the call */
    size_t env_count;
    /* The stage's files. Of its folders the command sees these, at the same paths; nobody
     * else uses the tree meanwhile. */
    struct vfs *tree;
    const char *const *places;
    size_t place_count;
    uint64_t memory_bytes, timeout_ns; /* the latter by the clock, from its beginning */
    uint64_t until_ns;                 /* os_mono_ns() at which all ends; 0: never */
    /* Its streams; each blocks. `read` NULL: it has no input. */
    wasi_read_fn *read;
    wasi_ready_fn *ready;               /* NULL: reading never waits */
    wasi_write_fn *write, *write_error; /* anything but 0: the command is to end */
    void *stream_arg;
    struct cancel *cancel;
};
/* Runs it. true: it came to its own end; the exit code and what it used are in *out. false
 * and *e: ERR_TIMEOUT, ERR_CANCELLED, ERR_MEMORY, ERR_GUEST stopped it; or it never ran. */
struct tool_outcome;
typedef bool tool_command_fn(void *arg, const struct tool_command *c,
                             struct tool_outcome *out, struct err *e);

/* The settings that all stages share. Zero means the default. Each has its own file tree:
 * what one writes is seen by another only through a mount that is no overlay. */
struct tool_world {
    const struct vfs_mount *mounts; /* more of the file tree; what may be done there is
                                       narrowed by each stage's fileAccess */
    size_t mount_count;
    const struct tool_file *files;
    size_t file_count;
    const char
        *folder; /* the working directory; NULL: "/work". A relative one is in it */
    const char *const *env; /* "NAME=value", over the defaults */
    size_t env_count;
    uint64_t disk_bytes;   /* in memory, ENOSPC above; TOOL_DISK_BYTES */
    uint64_t output_bytes; /* kept of stdout, and of stderr; TOOL_OUTPUT_MAX */
    uint64_t until_ns;     /* os_mono_ns() at which all ends; 0: by each timeout alone */
    uint64_t tenant;
    struct cancel *cancel;
    /* Where standard input comes from and outputs go to, instead of bytes: for a person's
     * terminal. NULL: from `input`, to the result. Of a pipeline, input is the first
     * stage's, output the last one's. A write that answers EPIPE ends its stage. */
    wasi_read_fn *read;
    wasi_ready_fn *ready; /* with `read`; NULL: it never waits */
    wasi_write_fn *write, *write_error;
    void *stream_arg;
    enum wasi_stream streams[3]; /* what those are */
    struct str input;            /* without a pointer: there is none, as from /dev/null */
    /* Called on the caller's thread, when all stages have ended and no limit or cancel
     * stopped one (whatever their exit codes), for each stage in turn: its file tree as
     * it left it, for vfs_changes() of an overlay among the mounts. NULL: nobody looks. */
    void (*ended)(void *arg, struct vfs *tree);
    void *ended_arg;
    const struct tool_watch
        *watch; /* over compiling, where that is needed; NULL: nobody */
    /* Runs the stages that are commands of the Linux machine, on the stage's thread, several
     * at a time; NULL: ERR_NOT_FOUND, there is none. */
    tool_command_fn *command;
    void *command_arg;
};

/* A stage: a tool and its arguments. */
struct tool_stage {
    const struct tool *tool;
    /* An object: the parameters as the manifest names them; `args`, an array of strings
     * put behind them (then nothing is required and no default counts); `stdin`, text or
     * {base64}. Keys of tool_call_read() are left to it. NULL: none. */
    const struct json *arguments;
    const char *const
        *args; /* the same from a command line; used where `arguments` is NULL */
    size_t arg_count;
    /* Milliseconds in which it computes or sleeps; waiting for its input or for others to
     * take its output does not count (that of a command of the machine does). And bytes of
     * memory. 0: the manifest's; more than
     * that counts only `widened`, which is a person's to say. */
    uint32_t timeout_ms;
    uint64_t memory_bytes;
    bool widened;
    /* Of a command that is no installed tool's: all of it, for tool_world.command. `tool`
     * then says only its name and limits, and is not of a catalogue. */
    const void *order;
};

struct tool_outcome {
    /* The tool's own, or as a shell tells of a signal: 124 out of time, 130 cancelled, 134
     * trapped (abort), 137 out of memory, 139 out of stack, 141 nobody read its output. */
    uint32_t exit_code;
    enum err_code stopped; /* ERR_NONE, or what stopped it; then `why` says more */
    char why[240];
    bool unread; /* the next stage had read enough: no failure */
    double wall_ms, compute_ms;
    uint64_t memory_peak;              /* bytes; of a machine those that it took */
    uint64_t stderr_lost, stdout_lost; /* bytes over the cap */
    struct buf errors;                 /* its stderr */
};

struct tool_result {
    struct tool_outcome stages[TOOL_STAGES_MAX];
    size_t stage_count;
    size_t failed;     /* the first stage that did not end well, by its exit code and what
                          its manifest says of that; stage_count: none */
    struct buf output; /* the last stage's stdout */
    /* Made or changed in /work, where that is memory; a name stands once, as the last
     * stage left it. Deleted ones are not told. */
    struct tool_file *files;
    size_t file_count, files_unnamed; /* the latter: over TOOL_FILES_MAX */
    struct arena *arena;              /* of the above */
};
void tool_result_end(struct tool_result *r); /* one of zeros is fine */

/* Checks the arguments as tools_run() would, before anybody is asked or waits. */
bool tools_check(const struct tool_stage *stages, size_t count, struct err *e);
/* Inspects the arguments before anything runs: is the first stage given what it reads
 * (*fed), and has a word of any stage, or what one reads as its arguments, one of these
 * paths in it (*named)? false: the arguments are wrong, as tools_check() says. */
bool tools_look(const struct tool_stage *stages, size_t count, const char *const *paths,
                size_t path_count, bool *fed, bool *named);
/* Checks all arguments first (ERR_INVALID names the parameter; nothing has run), then runs
 * the stages side by side, each one's stdout the next one's stdin, through pipes of 64 KB.
 * true: they ran, see the result. false and *e: ERR_INVALID (an argument, a file's name,
 * no program), ERR_NOT_FOUND (the working directory), ERR_LIMIT (too many stages, files,
 * too much memory for all), ERR_BUSY, ERR_CANCELLED (before it began), or what
 * tool_module() and vfs_mount() fail with. The result is to be ended in any case. */
bool tools_run(struct catalogue *c, const struct tool_world *world,
               const struct tool_stage *stages, size_t count, struct tool_result *out,
               struct err *e);

/* ---- for whoever speaks JSON -------------------------------------------- */

/* The JSON schema of what a tool takes, made of its manifest, as the writer's next value;
 * with `args`, `stdin` and the keys of tool_call_read(). Says no more than what all clients'
 * APIs take: one type a value, or an anyOf alone; choices of strings; defaults, and other
 * choices, in words. */
void tool_input_schema(const struct tool *t, struct json_writer *out);

/* Bytes: a string, or {base64}. `place` names them. In `a`, or of the value. ERR_INVALID. */
bool argument_bytes(const struct json *v, const char *place, struct arena *a,
                    struct str *out, struct err *e);

/* Reads `arguments` about the whole call, unless they are parameters of the tool: `files`
 * ({name: text or {base64}}), `cwd` and `timeout` (ms, the least counts). Sets those of
 * *world and *stage, files behind those there; in `a`. ERR_INVALID, ERR_LIMIT. */
bool tool_call_read(const struct tool *t, const struct json *arguments, struct arena *a,
                    struct tool_world *world, struct tool_stage *stage, struct err *e);

/* "error" and "errorDetails", pairs of an open object; `tool`: NULL is none. */
void tool_error_write(const struct err *e, const char *tool, struct json_writer *w);

/* "success", stdout, stderr, exitCode, outcome?, returns?, error?, errorDetails?,
 * stdoutEncoding?, files, stats, truncated?, stages?, pairs of the open object.
 * `outcome` is what the manifest says of an exit code other than 0; `returns` is "object"
 * where stdout is one in JSON. `stages` as they were given to tools_run(). Text that was
 * cut says so at its end. true: success, or such an outcome. */
bool tool_result_write(const struct tool_result *r, const struct tool_stage *stages,
                       struct json_writer *out);
