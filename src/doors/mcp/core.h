/* mcp/core.h - one message, from its text to its answer, whatever carried it.
 *
 * A transport gives take_message() a text and what it knows besides (an
 * envelope). Everything but a tool's call is answered there, at once. A call
 * comes back checked and registered, for the transport to run where it likes:
 * call_run() blocks. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "actions/actions.h"
#include "base/base.h"
#include "mcp/changes.h"
#include "mcp/channels.h"
#include "mcp/input.h"
#include "mcp/mirror.h"
#include "mcp/outlet.h"
#include "mcp/session.h"
#include "mcp/spent.h"
#include "mcp/task.h"
#include "mcp/ticker.h"
#include "workspaces/workspaces.h"
#include "json/json.h"

#ifndef CLOCHE_VERSION /* the build says it */
#define CLOCHE_VERSION "0.0.0"
#endif

/* Resources, prompts and completions: workspaces/workspaces.h, or a test. Any of them may
 * be NULL: there is none of that. Threads: safe. */
struct library {
    bool (*list)(void *arg, const struct caller *who, enum workspaces_list what,
                 struct str after, struct buf *rows, struct buf *next, struct err *e);
    bool (*read)(void *arg, const struct caller *who, struct str uri,
                 struct buf *contents, struct err *e);
    bool (*prompt)(void *arg, const struct caller *who, struct str name,
                   const struct json *arguments, struct str *description,
                   struct buf *messages, struct err *e);
    bool (*complete)(void *arg, const struct caller *who,
                     const struct workspaces_completion *what, struct buf *completion,
                     struct err *e);
    /* Subscriptions to changes: as workspaces_hear() and its like. */
    bool (*hear)(void *arg, workspaces_change_fn *fn, void *fn_arg, struct err *e);
    void (*unhear)(void *arg, workspaces_change_fn *fn, void *fn_arg);
    bool (*follow)(void *arg, const struct caller *who, struct str uri,
                   struct buf *canonical, struct err *e);
    void *arg;
};

/* The backend that answers calls: the actions, or a test. Threads: safe. */
struct backend {
    const struct action *(*list)(void *arg, size_t *count);
    const struct action *(*named)(void *arg, struct str name);
    /* As actions_show() and actions_shown_state(); NULL: the whole list. */
    bool (*show)(void *arg, const struct caller *who, struct str after, size_t most,
                 action_shown_fn *fn, void *fn_arg, bool *more, struct err *e);
    uint64_t (*shown_state)(void *arg, const struct caller *who);
    /* As actions_introduce(), for the end of the instructions; NULL: nothing. */
    void (*introduce)(void *arg, const struct caller *who, size_t most, struct buf *out);
    /* Also of what is cancelled already: it refuses that, and records it. */
    bool (*call)(void *arg, const struct action *which, const struct json *arguments,
                 const struct caller *who, struct answer *out, struct err *e);
    /* Is told of calls of what there is not, and tells in `meant` what was meant, if it
     * knows; NULL: nobody wants to know. */
    void (*unknown)(void *arg, const struct caller *who, struct str name,
                    struct buf *meant);
    /* Appends what the instructions say of what is installed; NULL: nothing. */
    void (*instruct)(void *arg, struct buf *out);
    /* The scopes that a credential needs for it (SCOPE_*); NULL: nothing. */
    unsigned (*scopes)(void *arg, const struct action *which);
    /* `fn` hears of alerts from now on, or no more; NULL: there are none. */
    void (*listen)(void *arg, alert_fn *fn, void *fn_arg, bool on);
    void *arg;
    struct library library;
};

enum era { ERA_LEGACY = 1, ERA_MODERN = 2, ERA_BOTH = 3 };

/* The calls that run or wait, for those who want to cancel them. */
struct calls {
    pthread_mutex_t lock;
    pthread_cond_t unpinned;
    struct call *first;
};

struct mcp {
    struct backend backend;
    struct tools_page *tools; /* of tools/list, the last first page */
    struct buf names;         /* the tools' names, for who asks for another */
    struct mirrors mirrors;   /* parameters that are repeated in headers */
    struct sessions sessions;
    struct calls calls;
    struct asks asks;
    struct channels channels;
    struct ticker ticker;
    struct changes changes;
    struct tasks tasks;
    unsigned char input_key[CRYPTO_KEY]; /* seals what clients keep for us (input.h) */
    struct spent spent;                  /* of these, which came back already */
    int64_t clock_ahead_ms;              /* of the clock for that; 0 but in tests */
    atomic_bool greeted;                 /* the client of stdio has said initialize */
};

struct mcp *mcp_open_on(const struct backend *b, struct err *e);

/* The data that a transport has of a message besides its text. In a header that is absent
 * `at` is NULL. */
struct envelope {
    bool http;
    struct str version, method, name; /* MCP-Protocol-Version, Mcp-Method, Mcp-Name */
    bool repeated;                    /* one of the three stands there twice */
    bool lost_session;                /* named one that is not there (any more) */
    bool events;                      /* its answer may be a stream of events */
    const char *owner;                /* the principal for whom it opens sessions */
    /* Any other: the first of this name, and how many there are. NULL: none. */
    struct str (*header)(const void *arg, const char *name, size_t *count);
    const void *header_arg;
    struct session *session;   /* whose it is; initialize writes it */
    const struct grant *grant; /* of its sender; NULL: the person of this machine */
    const struct sink *sink;   /* where its session hears of changes; NULL: over HTTP */
    struct cancel *cancel;     /* of the request; NULL: the call's own */
};

struct reply {
    struct buf *out; /* one line of JSON; stays empty when nothing is to be said */
    int status;      /* for HTTP */
    bool opened;     /* initialize made the envelope's session */
    bool attached;   /* a listener has begun: its stream is the answer */
};

/* For how long an answer is good. */
enum keeping {
    KEEP_UNSAID,  /* one of which it is not said */
    KEEP_FOR_ONE, /* it hangs on who asks, and what changes is told */
    KEEP_NOT,     /* it hangs on who asks, and any program may change it at any time */
    KEEP_FOR_ALL, /* it is the same for everybody, and what changes is told */
};

/* A request besides tools/call that may take a while: what it does, and its answer. */
struct errand {
    const char *method;
    bool (*run)(const struct call *c, const struct caller *who, struct answer *out,
                struct err *e);
    /* The members of the result, but for what all have. */
    void (*put)(const struct call *c, struct json_writer *w, const struct answer *a);
    enum keeping keeping; /* what its answer says of that */
};

struct call;
struct front;
typedef void call_runner(struct call *c, const struct front *f, struct reply *r);

/* A tools/call, an errand or a batch of messages, that is checked but has yet to run. */
struct call {
    struct mcp *m;
    struct arena *arena; /* everything below; NULL: its batch's */
    const struct json *id, *arguments;
    const struct json *progress_token; /* NULL: its client wants no progress */
    unsigned log_least; /* of the modern era: an enum client_level, or LOG_UNASKED */
    const struct action *action;
    const struct errand *errand; /* instead of an action */
    bool listens;                /* subscriptions/listen, instead of both */
    unsigned hears;              /* HEARS_*, which that wants */
    struct task *task;           /* whose thread runs it; NULL: the transport's */
    const struct json *params;   /* of the request */
    struct str method;
    enum era era;
    bool http;
    bool events; /* its answer may be a stream of events */
    struct session session;
    struct cancel own, *cancel;

    /* Instead of one call. All in it share one cancel: who cancels one of them
     * stops the rest too. */
    const struct json *batch;
    call_runner *run; /* of a batch, and of subscriptions/listen; NULL: call_run_here() */

    /* Under the lock of `calls`. */
    struct call *before, *after;
    bool listed;
    unsigned pins;
    bool unwanted; /* its client cancelled it: no answer */

    struct call *next; /* free for whoever has the call */
};

/* A message on its way through the room. */
struct exchange {
    struct mcp *m;
    struct arena *arena;
    const struct envelope *env;
    struct reply *reply;
    const struct json *id, *params; /* id: NULL when unknown */
    struct str method;
    enum era era;
    struct call *call; /* what is left to run */
};

/* ---- message.c ---------------------------------------------------------- */

/* NULL: answered, as far as there is something to answer. */
struct call *take_message(struct mcp *m, struct str text, const struct envelope *env,
                          struct reply *r);
/* The same for one message that is read already, of a batch. */
struct call *take_value(struct mcp *m, struct arena *arena, const struct json *root,
                        const struct envelope *env, struct reply *r);

enum {
    RPC_PARSE = -32700,
    RPC_REQUEST = -32600,
    RPC_METHOD = -32601,
    RPC_PARAMS = -32602,
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

/* ---- batch.c ------------------------------------------------------------ */

/* Leaves x->call for a batch of messages, or answers with an error. */
void batch_prepare(struct exchange *x, const struct json *batch);

/* ---- reply.c ------------------------------------------------------------ */

/* Answers with an error and returns false. The HTTP status follows from code
 * and era. */
bool reply_error(struct exchange *x, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* UnsupportedProtocolVersionError. */
bool reply_unsupported(struct exchange *x, struct str requested);

/* The start of a result, up to where its own fields stand, and its end. */
struct json_writer result_open(struct buf *out, const struct json *id, enum era era);
void result_close(struct json_writer *w, enum era era);
/* The start of one of another type ("input_required"), which only the modern era has. */
struct json_writer result_open_as(struct buf *out, const struct json *id,
                                  const char *type);
/* The part of an error before its message is put; an id of NULL is left out. */
struct json_writer error_open(struct buf *out, const struct json *id, int code);
/* The same for a message whose id could not be read. */
struct json_writer unread_open(struct buf *out, const struct envelope *env, int code);
/* How long what was answered may be kept, and for whom, in the era that wants it said. */
void put_cache_hints(struct json_writer *w, enum era era, enum keeping how);

/* ---- era.c -------------------------------------------------------------- */

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_REQUEST "cloche/requestId" /* ours, of log messages */
#define EXTENSION_TASKS "io.modelcontextprotocol/tasks"

#define VERSION_MODERN "2026-07-28"
#define VERSION_LEGACY "2025-11-25"  /* the newest of them */
#define VERSION_BATCHES "2025-03-26" /* the only one that knows batches */

/* The version as a literal of ours; NULL: not one of initialize's. */
const char *legacy_version(struct str name);
/* Reads a client's own claim (an Implementation); NULL or anything else: nothing. */
void client_read(struct client_claim *out, const struct json *info);
/* Finds the era of a request and checks what it demands of `_meta` and headers.
 * false: answered with an error. */
bool era_check(struct exchange *x);
/* For what is no request: of the header alone, and of a notification with its body. */
bool era_check_header(struct exchange *x);
bool era_check_notification(struct exchange *x);

#define LOG_LEVELS                                                        \
    "debug, info, notice, warning, error, critical, alert and emergency " \
    "are accepted"
/* The enum client_level of this name; LOG_UNASKED: there is none. */
unsigned log_level_named(const struct json *name);

/* ---- methods.c ---------------------------------------------------------- */

/* Answers a request, or leaves a call. */
void method_answer(struct exchange *x);
void notification_take(struct exchange *x);

/* ---- tools.c ------------------------------------------------------------- */

#define TOOLS_PAGE 50u /* tools of one page of tools/list */

/* Looks through all actions: fills in m->names and m->mirrors. false and ERR_BUG: a
 * schema is broken. */
bool tools_open(struct mcp *m, struct err *e);
void tools_close(struct mcp *m);
void tools_list(struct exchange *x); /* tools/list */

/* ---- call.c ------------------------------------------------------------- */

void calls_init(struct calls *c);
void calls_done(struct calls *c);
/* Fires the calls of a session (NULL: of all) that have this id; NULL: all of them. `unwanted`:
 * their client does not want to hear of them any more. */
void calls_cancel(struct calls *c, const struct session *session, const struct json *id,
                  bool unwanted);

/* tools/call: checks and leaves x->call, or answers with an error. */
void call_prepare(struct exchange *x);
/* Leaves x->call for an action, or for what its maker fills in. */
struct call *call_leave(struct exchange *x, const struct action *action);
/* The same for an errand, with the request's parameters. */
void call_leave_errand(struct exchange *x, const struct errand *errand);
/* The transport that runs a call, and its client. */
struct front {
    const char *who;             /* named to the audit */
    const struct grant *grant;   /* of its credential; NULL: none was needed */
    const struct outlet *outlet; /* NULL: nothing can be said before the answer */
    /* Makes `first` the first message of a stream on which the listener is told from
     * then on (listener_start), or drops it. */
    void (*attach)(void *arg, struct listener *l, struct str first);
    void *attach_arg;
};
/* Runs it to its end, writes the answer and frees it; or it goes on as a task. */
void call_run(struct call *c, const struct front *f, struct reply *r);
/* The same on this thread, to its end, and does not free it. */
void call_run_here(struct call *c, const struct front *f, struct reply *r);
/* Takes it off the list of those that can be cancelled. Answers whether its client still
 * wants to hear of it. */
bool calls_leave(struct calls *c, struct call *call);
/* Answers that it did not run, and frees it. */
void call_refuse(struct call *c, enum err_code code, const char *why, struct reply *r);
/* Frees a call that will not run and that nobody waits for. */
void call_drop(struct call *c);

/* ---- errand.c ----------------------------------------------------------- */

/* Write the answer of c->errand, and the reason where it failed. */
void errand_put(const struct call *c, struct buf *out, const struct answer *a);
void errand_put_failure(const struct call *c, struct reply *r, const struct err *e);

/* ---- page.c: lists in pages --------------------------------------------- */

#define PLACE_MAX ((size_t)16 << 10) /* bytes of the name of a place */

/* Appends the place behind which a page begins, from the request's cursor: nothing for
 * the first. false and ERR_INVALID: no cursor of this list. */
bool page_after(const struct json *params, const char *method, struct buf *place,
                struct err *e);
/* The same; false: answered with an error. */
bool page_begin(struct exchange *x, const char *method, struct buf *place);
/* The members of a result: the rows, and the cursor for the page behind `next`, unless
 * that is empty. */
void page_put(struct json_writer *w, const char *method, const char *key, struct str rows,
              struct str next);
/* Answers with a page of a list that is there at once. */
void page_answer(struct exchange *x, const char *method, const char *key,
                 enum workspaces_list what);

/* ---- talk.c ------------------------------------------------------------- */

#define ALERT_MAX ((size_t)4096) /* bytes */
/* An alert as a log message: an error where the caller was paused, else a warning. */
enum client_level alert_level(const struct alert *alert);
void put_log_of_alert(struct buf *out, const struct alert *alert);

/* ---- resources.c, prompts.c, completion.c ------------------------------- */

void resources_list(struct exchange *x);
void resources_templates(struct exchange *x);
void resources_read(struct exchange *x);
void prompts_list(struct exchange *x);
void prompts_get(struct exchange *x);
void completion_complete(struct exchange *x);

/* ---- trace.c ------------------------------------------------------------ */

/* Reads the trace context of a request's `_meta`, borrowed from it. */
void trace_read(const struct json *meta, struct trace *out);

/* ---- listen.c ----------------------------------------------------------- */

void listen_prepare(struct exchange *x); /* subscriptions/listen */
void resources_subscribe(struct exchange *x);
void resources_unsubscribe(struct exchange *x);
