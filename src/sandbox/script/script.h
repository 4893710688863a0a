/* script/script.h - evaluate an agent's JavaScript or Python in a fresh world.
 *
 * The guests are QuickJS and CPython, baked. What the code may ask of the host is a table of
 * host calls, handed in by the caller: this room does not know what they do.
 */
#pragma once
#include "abi/abi.h"
#include "base/base.h"
#include "engine/engine.h"

/* ---- the guest with its table ------------------------------------------- */

/* A host call, reached in code by its dotted name; without a dot it is a global. */
struct script_row {
    const char *name; /* "notes.get" */
    bool sync;        /* answers at once instead of with a promise; must be quick */
    bool slow;        /* waits for something: performed on a thread of its own */
    bool writes;      /* changes something when it succeeds */
    /* A JavaScript function expression that does it inside, without the host;
     * NULL for all others. */
    const char *source;
    /* A JavaScript function expression (call, callSync, kit) => f around the host call;
     * code sees f, which answers what it likes. call(...args) is the host call as a
     * promise; callSync answers at once, and is undefined unless the row is `sync`;
     * kit.error(name, message) makes an error as the host's own are; kit.shared
     * is an object for what the wraps of several rows have in common; kit.then(promise,
     * fulfilled, rejected) is promise.then(), whatever the code makes of Promise. Bytes travel as
     * base64, made by natives: bytes.toBase64(), Uint8Array.fromBase64(text); on this
     * side crypto_base64(), crypto_base64_read(). Instead of f it may answer {call: f,
     * globals: {Name: value}}, which are there with it. NULL: code sees the call itself. */
    const char *wrap;
    /* A wrap may bring code while an evaluation runs, numbered from 1 on by its host:
     * kit.source(number, file, text) is a strict function whose body is the text; `file`
     * is its name in frames. kit.calls.enter(number) begins a call of something in it, kit.calls.left(call)
     * or kit.failed(call, error) ends that: they are counted (script_outcome). kit.follow(error,
     * calledAt) lets the stack of what failed later go on where it was called from;
     * kit.onRest(f): f is called when a session's world is put away; kit.show(value, f): f's
     * answer is what console tells of the value. */
    /* 0: always there. A bit: there in runs that ask for it, and else not at all. */
    uint32_t feature;
    /* Further sources see the very call that the code sees, and the host cannot tell theirs
     * from it; of all others they have a call of their own, with SCRIPT_WITHIN. */
    bool shared;
};

struct script;

/* Loads the baked guest from the folder `guest_dir` and installs the table,
 * which must outlive it. NULL and ERR_NOT_FOUND (no guest there), ERR_INVALID or
 * ERR_IO. Threads: safe afterwards, any number of evaluations at once. */
struct script *script_open(struct engine *g, const char *guest_dir,
                           const struct script_row *rows, size_t row_count,
                           struct err *e);
/* The same on the engine that counts fuel: slower, and bounded by `fuel` of its
 * requests. */
struct script *script_open_metered(struct engine *g, const char *guest_dir,
                                   const struct script_row *rows, size_t row_count,
                                   struct err *e);
/* The Python guest, which evaluates Python in the same way: `table` is the JSON array that
 * tells it of the same rows, [{"name", "sync", "feature", "signature", ...}], in their order.
 * The rows' `source` and `wrap` are not for it. ERR_NOT_FOUND: it was not built. */
struct script *script_open_python(struct engine *g, const char *guest_dir,
                                  const struct script_row *rows, size_t row_count,
                                  struct str table, struct err *e);
void script_close(struct script *s); /* NULL is fine */
SCOPED(script, script_close);

/* ---- calls that wait ----------------------------------------------------- */

/* A host call on its way. Waiting need not hold a thread: its function begins what it waits
 * for, calls script_wait(), and returns. Once it is woken, `again` is called on some thread
 * of the pool and looks: it waits once more, or ends the call as its function would have.
 * It is called as well when os_mono_ns() is until_ns, and when the run is over: then the
 * task's cancel has fired, and it has to come to an end. Whatever wakes a task has
 * forgotten it when `again` ends the call. */
struct script_task;
typedef bool script_again_fn(void *waiter, struct script_task *t, struct buf *out,
                             struct err *e);
enum script_wait_kind {
    SCRIPT_WAIT_HEAVY, /* holds much meanwhile: counts among the calls under way */
    SCRIPT_WAIT_LIGHT, /* SCRIPT_WAITING_MAX of one evaluation may */
};
#define SCRIPT_WAITING_MAX 1024u
/* On the thread that performs it; what is returned then does not count. UINT64_MAX: until
 * it is woken. */
void script_wait(struct script_task *t, script_again_fn *again, void *waiter,
                 enum script_wait_kind kind, uint64_t until_ns);
/* Threads: any, as often as one likes, also before the function has returned; calls
 * nobody, so that locks may be held. */
void script_wake(struct script_task *t);
/* Fired when the call's answer is not wanted any more. Lives as long as the task. */
struct cancel *script_task_cancel(struct script_task *t);

/* A host call only waits for a person from now on, which may take minutes. `thread`: on one
 * that does not count among those for slow calls until script_resume().
 * `principal` as in the request. Threads: safe. false and ERR_BUSY: SCRIPT_RESTING_MAX
 * calls wait so, or too many of that principal's (share_fits). */
#define SCRIPT_RESTING_MAX 64u
bool script_rest(struct script *s, const char *principal, bool thread, struct err *e);
void script_resume(struct script *s, const char *principal, bool thread);

/* ---- an evaluation ------------------------------------------------------ */

/* Performs host call `row`: `args` is a JSON array as text, the answer is JSON
 * text appended to `out` (nothing reads as null). false and *e: the promise is
 * rejected with an error of that kind. `t`: by which it may wait; NULL: it has to answer
 * when it returns. Threads: `slow` rows run on others, several at once; none runs any more
 * when script_run() returns, and those that had not begun never do. `row` has SCRIPT_WITHIN
 * (abi/abi.h) besides where code of a further source makes the call. */
typedef bool script_perform_fn(void *arg, struct script_task *t, uint32_t row,
                               struct str args, struct buf *out, struct err *e);

struct script_request {
    struct str code;
    struct str context;  /* a JSON object of values to inject, or empty */
    uint64_t compute_ms; /* CPU time of the guest */
    uint64_t fuel;       /* units of computing, where it is metered; 0: no limit */
    uint64_t total_ms;   /* wall time, waiting for host calls included */
    /* Computing and waiting together; 0: no limit. Not what the processor does for others
     * while the guest could compute. */
    uint64_t timeout_ms;
    uint64_t memory_bytes;
    size_t result_max; /* bytes of JSON */
    size_t logs_max;   /* bytes over all log texts */
    uint32_t calls_max;
    uint32_t features; /* of the rows, those that are there in this run */
    uint64_t tenant;
    /* The owner of the calls: none takes all threads from others. NULL is "". */
    const char *principal;
    struct cancel *cancel; /* may be NULL */
    /* A session: what the code declares at its top level, and the object `state`, are
     * there again in the next evaluation that is given what this one has `saved`. It
     * begins with `saved` empty. Timers and promises do not survive. */
    bool session;
    struct str saved;
    size_t saved_max; /* bytes */
    int64_t now_ms;   /* what its clock says all the time; 0: as it is */
    bool check;       /* Python: nothing runs, and the result is the linter's findings */
    /* Python: the code is a custom function's; `context` is {"call"}, by which it is called,
     * or with `check` {"name"}, and the result is what the code says of it
     * (guest/python/world/functions.py). */
    bool function;
    bool trace; /* calls are noted with the line that they stand in */
    script_perform_fn *perform;
    void *perform_arg;
    /* Called with perform_arg when the run is over, before calls that are still on
     * their way are waited for: they should end soon. May be NULL. */
    void (*over)(void *arg);
    /* Told with perform_arg, before calls are performed, when they have to come to an end:
     * os_mono_ns(), to which `stood` is added; UINT64_MAX: no longer. May be NULL. */
    void (*due)(void *arg, uint64_t ns);
    /* Told what the code writes to the console (level: "log", "warn", ...), whenever it
     * waits and at its end; with perform_arg, on this thread. May be NULL. */
    void (*wrote)(void *arg, const char *level, struct str message);
    /* The time so far, in ns, that total_ms and timeout_ms do not count; with perform_arg.
     * May be NULL. */
    uint64_t (*stood)(void *arg);
    /* The text of a further source, by its file; empty: unknown. With perform_arg, on
     * this thread. May be NULL. */
    struct str (*source)(void *arg, struct str file);
};

/* A host call that was made. */
struct script_made {
    uint32_t row, line; /* line: 0 without `trace`, and of synchronous calls */
    uint32_t from;      /* the source that it stands in; 0: the code */
    uint32_t round;     /* those of one round did not wait for each other */
    uint32_t args_size, answer_size;
    uint32_t args_shown; /* bytes of `args`, the beginning of its arguments */
    char args[80];
    uint64_t args_hash; /* the same for the same arguments; 0: too long to tell */
    bool answered;      /* else it was not, or no longer, performed */
    enum err_code failed;
    double at_ms, ms; /* since the evaluation's beginning */
};
#define SCRIPT_MADE_MAX 1000u /* the further ones are counted only */

struct script_stats {
    double compute_ms, host_ms, total_ms;
    uint64_t memory_peak; /* bytes */
    uint64_t fuel;        /* used, where it is metered: the same for the same run */
    uint32_t host_calls;
};

#define SCRIPT_FILE_MAX 160u /* bytes of a source's name, with its NUL */
/* The outcome. All texts live in the buf `text` or are constants. */
struct script_outcome {
    bool success;
    struct buf result; /* JSON text, when success */
    struct buf lost;   /* what of it JSON has no word for: empty, or a JSON array of
                        * {"what": "NaN", "path": "[0].a", "count"} */
    struct buf logs;   /* a JSON array of {"level", "message"} */
    uint32_t logs_dropped;
    struct script_made *made; /* in the order in which they were made */
    size_t made_count, made_capacity, made_dropped;
    bool changed; /* a call that writes has succeeded */
    /* Calls of what further sources hold, as the guest counted them; the first tally is
     * of source 1. Also of a run that was stopped: what ran then is `open`. */
    struct script_tally *tallies;
    size_t tally_count;
    struct script_visit *visits; /* each of them, with `trace` */
    size_t visit_count, visits_dropped;
    uint64_t begun_ns; /* of the monotonic clock, as theirs */
    /* The state of a session that goes on from here: after code that ended by itself,
     * well or with an error. Empty after limits, traps and cancellation, and where
     * `unsaved` says why: the session is then what it was before. */
    struct buf saved;
    struct err unsaved;
    bool unrestored; /* it did not run, because of `saved` */
    struct script_stats stats;

    /* When not success. */
    enum err_code type;
    struct buf name; /* of the JavaScript error, "TypeError"; else empty */
    struct buf message;
    struct buf stack;   /* frames in the agent's code, one a line, or empty */
    struct buf frame;   /* the lines of code around the place, or empty */
    struct buf preview; /* of a result that was too large, or empty */
    /* `status` and `problem` (JSON) of an error that was made with kit.error; else 0 and
     * empty. */
    int status;
    struct buf problem;
    /* The dotted name in the code that is not defined, is no function, or is undefined or
     * null and was looked into; or empty. */
    struct buf missing;
    uint32_t line, column; /* from 1; 0: not known */
    struct {               /* where in a further source it failed */
        char file[SCRIPT_FILE_MAX];
        uint32_t line, column; /* 0: it did not */
        struct buf frame;      /* its lines (script_outcome_origin) */
    } within;
};
void script_outcome_init(struct script_outcome *o);
void script_outcome_done(struct script_outcome *o);

/* Runs the code in a world of its own. Every end of the code itself, limits
 * included, is an outcome. false and *e only where it did not run at all:
 * ERR_INVALID (code that is no UTF-8, context, its keys), ERR_BUSY,
 * ERR_CONFLICT (`saved` is of another build, or damaged) or ERR_MEMORY (it needs more). */
bool script_run(struct script *s, const struct script_request *q,
                struct script_outcome *out, struct err *e);

/* ---- code of another language ------------------------------------------- */

/* The origin of an evaluation's code, or of a further source. `place` turns a place of
 * the code into one of the source (line 0: it has none); lines and columns count from 1,
 * columns in characters. */
struct script_origin {
    struct str source;
    const char *file; /* in frames, instead of the code's own name */
    const char *made; /* that name; NULL: "code.js" */
    void (*place)(void *arg, uint32_t *line, uint32_t *column);
    void *arg;
};
/* Every place that the outcome tells of: its line and frame, stacks (also those in the
 * logs), the lines of calls. `code`: NULL where the code was written as it ran;
 * `further`: of the further sources, by their numbers. */
void script_outcome_origin(struct script_outcome *o, const struct script_origin *code,
                           const struct script_origin *further, size_t count);
/* Source that did not become code, as code that does not parse. */
void script_outcome_syntax(struct script_outcome *o, struct str source, uint32_t line,
                           uint32_t column, const char *message);
