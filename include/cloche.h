/* cloche.h - Cloche as a library: a safe place for an agent to work over folders of
 * Markdown notes, inside your own program.
 *
 * Code that an agent brings runs in WebAssembly, in a world made for one call; what it may
 * do is decided by the policy of the user whose process this is, as it is for the program
 * `cloche` (which is built on this header). docs/embedding.md begins at the beginning.
 *
 * Texts are UTF-8 and end in a NUL; those that are handed in are borrowed during the call
 * (what options hold is copied), those that are handed out say until when they last. JSON
 * is text here: you bring your own reader.
 *
 * Functions that can fail answer one of enum cloche_code and tell more through their last
 * argument, which may be NULL. What is made with _new or _open is ended with _free or
 * _close, which take NULL. Where memory for small objects is missing, the process ends.
 *
 * Threads: one struct cloche serves any number of threads at once; all other objects are
 * for one thread at a time, but cloche_cancel_fire(). Calls that run code do so on threads
 * of the library's own, whose stacks are large enough, and return when it is done.
 *
 * Versions: semantic ones. Within one major version (before 1.0: one minor version), which
 * is also the library's SONAME, nothing here is taken away or changes its meaning, enums
 * only grow, and all structs stay opaque; so newer libraries serve programs that were built
 * with older headers. */
#ifndef CLOCHE_H
#define CLOCHE_H

#include <stddef.h>

#define CLOCHE_VERSION_MAJOR 0
#define CLOCHE_VERSION_MINOR 1
#define CLOCHE_VERSION_PATCH 0

#if defined(__GNUC__)
#define CLOCHE_API __attribute__((visibility("default")))
#else
#define CLOCHE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library that runs: "0.1.0". A constant. */
CLOCHE_API const char *cloche_version(void);

/* ---- failures ------------------------------------------------------------ */

enum cloche_code {
    CLOCHE_OK = 0,
    CLOCHE_INVALID = 1,    /* malformed: arguments, JSON, an option */
    CLOCHE_NOT_FOUND = 2,  /* what was named is not there, or not for this caller */
    CLOCHE_CONFLICT = 3,   /* it changed, or exists already */
    CLOCHE_DENIED = 4,     /* the policy, or the caller's level, says no */
    CLOCHE_NO_VAULT = 5,   /* no folder of notes is there to work in */
    CLOCHE_BUSY = 6,       /* try again later */
    CLOCHE_CANCELLED = 7,  /* cloche_cancel_fire() */
    CLOCHE_TIMEOUT = 8,    /* a deadline passed */
    CLOCHE_LIMIT = 9,      /* a size, a count, fuel, memory: more than is allowed */
    CLOCHE_CODE_FAILED = 10, /* the code that was brought failed by itself */
    CLOCHE_IO = 11,        /* the system refused */
    CLOCHE_INTERNAL = 12   /* a mistake of the library */
};

/* What went wrong last, of those calls that it was handed to. */
struct cloche_error;
CLOCHE_API struct cloche_error *cloche_error_new(void);
CLOCHE_API void cloche_error_free(struct cloche_error *e);
CLOCHE_API enum cloche_code cloche_error_code(const struct cloche_error *e);
/* Finer than the code: "NotFound", "FuelExhausted"; a constant. */
CLOCHE_API const char *cloche_error_name(const struct cloche_error *e);
/* One sentence: what, which value, what would be accepted. Until the next call. */
CLOCHE_API const char *cloche_error_message(const struct cloche_error *e);

/* ---- texts that are handed out -------------------------------------------- */

/* Holds the answer of the last call that it was handed to; use one again and again. */
struct cloche_text;
CLOCHE_API struct cloche_text *cloche_text_new(void);
CLOCHE_API void cloche_text_free(struct cloche_text *t);
/* Bytes, and a NUL behind them; until the next call. */
CLOCHE_API const char *cloche_text_at(const struct cloche_text *t);
CLOCHE_API size_t cloche_text_size(const struct cloche_text *t);

/* ---- options ---------------------------------------------------------------- */

struct cloche_options;
CLOCHE_API struct cloche_options *cloche_options_new(void);
CLOCHE_API void cloche_options_free(struct cloche_options *o);
/* A folder of notes that can be reached; the first one is where callers begin. With none,
 * the user's registered vaults can. At most 256. */
CLOCHE_API void cloche_options_vault(struct cloche_options *o, const char *folder);
/* Where code may make new vaults, besides the folder for them. At most 256. */
CLOCHE_API void cloche_options_vault_root(struct cloche_options *o, const char *folder);
/* The baked guests; else those beside the library (guest/, ../guest/, cloche/guest/). */
CLOCHE_API void cloche_options_guests(struct cloche_options *o, const char *folder);

/* Every record of the audit, a JSON object, as it is written (docs/auditing.md): from the
 * thread of the call that it is about, before its answer. Must not wait. */
typedef void cloche_record_fn(void *arg, const char *record);
CLOCHE_API void cloche_options_on_record(struct cloche_options *o, cloche_record_fn *fn,
                                         void *arg);

/* ---- what you add: tools, resources, prompts --------------------------------- */

/* One call of something of yours. It is the library's, and yours until you return; ask
 * and answer from the thread that you were called on. */
struct cloche_call;
/* Of a tool its arguments, checked against its schema; of a resource {"uri": ...} and, of
 * a template, what its variables stand for; of a prompt its arguments, all strings. */
CLOCHE_API const char *cloche_call_arguments(const struct cloche_call *c);
CLOCHE_API const char *cloche_call_caller(const struct cloche_call *c); /* "stdio" ... */
/* Not 0: nobody waits for the answer any more; return soon. */
CLOCHE_API int cloche_call_cancelled(const struct cloche_call *c);
/* To the client meanwhile, where it asked for it; `total` 0: not known; `message` may be
 * NULL. */
CLOCHE_API void cloche_call_progress(struct cloche_call *c, double done, double total,
                                     const char *message);
/* The answer, once. Of a tool: a JSON object; of a resource: a JSON array of contents,
 * [{"uri", "mimeType", "text" | "blob"}]; of a prompt: a JSON array of messages, [{"role",
 * "content"}]. CLOCHE_INVALID: it is not. */
CLOCHE_API enum cloche_code cloche_call_answer(struct cloche_call *c, const char *json);
/* Instead of an answer: why there is none, in a sentence for an agent. */
CLOCHE_API void cloche_call_fail(struct cloche_call *c, enum cloche_code code,
                                 const char *message);

/* Called from several threads at once, each with a call of its own; may block, and may
 * use the same struct cloche. Neither answered nor failed: CLOCHE_INTERNAL. */
typedef void cloche_fn(void *arg, struct cloche_call *call);

#define CLOCHE_TOOL_READS 1u      /* changes nothing */
#define CLOCHE_TOOL_DESTROYS 2u   /* may take something away */
#define CLOCHE_TOOL_IDEMPOTENT 4u /* twice is as good as once */
#define CLOCHE_TOOL_OPEN_WORLD 8u /* reaches beyond this machine */
/* A tool of yours, for MCP clients and cloche_call_tool(): checked, counted and recorded
 * like ours. `input_schema`: a JSON Schema whose type is "object"; `output_schema` may be
 * NULL. What is wrong with it, cloche_open() tells. At most 128 of each kind. */
CLOCHE_API void cloche_options_tool(struct cloche_options *o, const char *name,
                                    const char *title, const char *description,
                                    const char *input_schema, const char *output_schema,
                                    unsigned flags, cloche_fn *fn, void *arg);
/* `uri` may have variables in braces: "app://orders/{id}". `description` and `mime_type`
 * may be NULL. */
CLOCHE_API void cloche_options_resource(struct cloche_options *o, const char *uri,
                                        const char *name, const char *description,
                                        const char *mime_type, cloche_fn *fn, void *arg);
/* `arguments`: names, separated by spaces, a '?' behind those that may be left out. */
CLOCHE_API void cloche_options_prompt(struct cloche_options *o, const char *name,
                                      const char *description, const char *arguments,
                                      cloche_fn *fn, void *arg);

/* ---- opening ------------------------------------------------------------------ */

struct cloche;
/* `o` may be NULL, and may be freed afterwards. Opens the vaults, indexes nothing yet;
 * compiled guests are loaded when first needed. NULL: *e says why. */
CLOCHE_API struct cloche *cloche_open(const struct cloche_options *o,
                                      struct cloche_error *e);
/* No call may be running, no server open. */
CLOCHE_API void cloche_close(struct cloche *c);
/* Loads what the first evaluation would wait for, in the background. */
CLOCHE_API void cloche_warm(struct cloche *c);

/* ---- callers -------------------------------------------------------------------- */

/* Who asks, as the audit names it, and how far it is trusted; works in one vault at a
 * time, which it may change. NULL reads as a caller of the name "embedder". */
struct cloche_caller;
enum cloche_level { CLOCHE_FULL = 0, CLOCHE_LIMITED = 1, CLOCHE_ZERO = 2 };
CLOCHE_API struct cloche_caller *cloche_caller_new(const char *name,
                                                   enum cloche_level level);
CLOCHE_API void cloche_caller_free(struct cloche_caller *who);

/* Ends one call from outside; for that call alone. */
struct cloche_cancel;
CLOCHE_API struct cloche_cancel *cloche_cancel_new(void);
/* Threads: any, at any time until it is freed. */
CLOCHE_API void cloche_cancel_fire(struct cloche_cancel *cancel);
CLOCHE_API void cloche_cancel_free(struct cloche_cancel *cancel);

/* ---- calls ------------------------------------------------------------------------ */

/* All tools, a JSON array: [{"name", "title", "description", "inputSchema",
 * "outputSchema"?}]. */
CLOCHE_API enum cloche_code cloche_tools(struct cloche *c, struct cloche_text *out,
                                         struct cloche_error *e);
/* Calls a tool by its name with a JSON object (NULL: {}); `out` is its answer, a JSON
 * object. CLOCHE_OK also where a tool of ours answers that it failed (success: false in
 * its answer): *failed, which may be NULL, is 1 then. */
CLOCHE_API enum cloche_code cloche_call_tool(struct cloche *c, struct cloche_caller *who,
                                             const char *name, const char *arguments,
                                             struct cloche_cancel *cancel,
                                             struct cloche_text *out, int *failed,
                                             struct cloche_error *e);
/* evaluate_note_code of `code` with nothing else said: docs/evaluating.md. */
CLOCHE_API enum cloche_code cloche_evaluate(struct cloche *c, struct cloche_caller *who,
                                            const char *code,
                                            struct cloche_cancel *cancel,
                                            struct cloche_text *out, int *failed,
                                            struct cloche_error *e);
/* Reads a resource by its uri: a JSON array of contents (docs/resources.md). */
CLOCHE_API enum cloche_code cloche_read(struct cloche *c, struct cloche_caller *who,
                                        const char *uri, struct cloche_text *out,
                                        struct cloche_error *e);

/* Makes a request of the REST interface (docs/rest.md) without HTTP. `target` is path and
 * query; `body` (JSON) and `if_match` (an entity tag) may be NULL. CLOCHE_OK whatever
 * *status comes to: `out` is the answer's body, a problem document where it is 400 or
 * more. */
CLOCHE_API enum cloche_code cloche_request(struct cloche *c, struct cloche_caller *who,
                                           const char *method, const char *target,
                                           const char *body, const char *if_match,
                                           struct cloche_cancel *cancel, int *status,
                                           struct cloche_text *out,
                                           struct cloche_error *e);

/* ---- upkeep ----------------------------------------------------------------------- */

/* Makes the caller's vault the current one of the user's list. */
CLOCHE_API enum cloche_code cloche_keep_vault(struct cloche *c, struct cloche_caller *who,
                                              struct cloche_error *e);
/* Brings the index of the first vault up to date, or makes it anew: counts, as JSON. */
CLOCHE_API enum cloche_code cloche_reindex(struct cloche *c, int anew,
                                           struct cloche_text *out,
                                           struct cloche_error *e);
/* What this installation has and can do: {"ok", "checks": [{"name", "ok", "detail"}]}. */
CLOCHE_API enum cloche_code cloche_doctor(struct cloche *c, struct cloche_text *out,
                                          struct cloche_error *e);

/* ---- serving ----------------------------------------------------------------------- */

/* Serves one MCP client on two descriptors (0 and 1: standard input and output) until its
 * input ends, or until `stop`, a descriptor, can be read (-1: there is none). */
CLOCHE_API enum cloche_code cloche_serve_mcp(struct cloche *c, int in, int out, int stop,
                                             struct cloche_error *e);

/* Serves MCP at /mcp and REST at /workspaces, on threads of its own; `listen` is a loopback
 * address ("127.0.0.1:0": any port) or a socket ("unix:/PATH"), since nobody is asked for a
 * credential: programs of this process's account and of root come in, all others get 403. */
struct cloche_server;
CLOCHE_API struct cloche_server *cloche_serve_http(struct cloche *c, const char *listen,
                                                   struct cloche_error *e);
/* "http://127.0.0.1:41234", or "unix:/PATH"; until it is closed. */
CLOCHE_API const char *cloche_server_url(const struct cloche_server *s);
/* Waits a few seconds for what runs, then cancels it. */
CLOCHE_API void cloche_server_close(struct cloche_server *s);

/* ---- the log ----------------------------------------------------------------------- */

/* Lines of the library go there instead of standard error; `level`: 0 error, 1 warning, 2
 * information, 3 debugging. For the whole process, before anything is opened. Threads:
 * called from any. NULL: standard error again. */
typedef void cloche_log_fn(void *arg, int level, const char *line);
CLOCHE_API void cloche_on_log(cloche_log_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif
#endif
