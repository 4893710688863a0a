/* actions/actions.h - what an agent can do: one function an action.
 *
 * Joins the rooms below and knows no transport: MCP, REST and the command line all come
 * here. An action takes one JSON object and answers with one; its schemas say which.
 * Threads: safe; each call runs on its caller's thread from start to end.
 */
#pragma once
#include "base/base.h"
#include "guard/guard.h"
#include "json/json.h"

struct actions;

struct action {
    const char *name;         /* "evaluate_note_code" */
    const char *title;        /* for people */
    const char *description;  /* for agents; at most 1,024 bytes: OpenAI takes no more */
    const char *input_schema; /* JSON text, an object schema at its root */
    const char *output_schema;
    bool read_only, destructive, idempotent, open_world; /* hints for hosts */
};

/* What came of a call. The JSON object is there in both cases when the action ran;
 * `is_error`: it did not do what was asked. */
struct answer {
    struct buf json;    /* the caller inits it with a ceiling, and ends it */
    struct buf content; /* MCP content blocks, an array, instead of its text; or empty */
    bool is_error;
    enum err_code outcome; /* ERR_NONE: it went well */
    bool text_alone; /* over MCP it is told as text, not as structured content too */
    /* Bytes of JSON beyond which the caller is told a part; 0: it takes any. Of such a
     * part `whole` is what actions_resource() has all by: "" where that is not kept (16
     * MiB), or nothing was cut. */
    size_t most;
    char whole[80];
    size_t whole_bytes; /* 0: nothing was cut */
};

/* An action of somebody else's: of who embeds this, or of a test. Checked against its
 * schema, permitted, counted and recorded like the others. Threads: several at once. */
struct action_extra {
    struct action shown;
    bool (*run)(void *arg, const struct json *arguments, const struct caller *who,
                struct answer *out, struct err *e);
    void *arg;
};

/* Bytes of stack that a thread needs which calls actions. */
#define ACTIONS_THREAD_STACK ((size_t)8 << 20)

struct actions_options {
    /* Folders; ends with NULL. Then these alone can be reached, and those that code
     * makes; the first is the one to begin in. NULL, or none: the user's list of
     * vaults, beginning with its current one; where that is empty, notes.* answer
     * ERR_NO_VAULT. */
    const char *const *vaults;
    /* Where code may put new vaults, besides the default root; ends with NULL. */
    const char *const *vault_roots;
    const char *guest_dir; /* the baked guests; NULL: found beside the program */
    const struct action_extra *extra; /* borrowed until actions_close() */
    size_t extra_count;
};

/* Opens the given vaults (ERR_NOT_FOUND, ERR_INVALID ...) but indexes nothing yet;
 * engines and guests are made when first needed. Copies what it needs of the
 * options. NULL and *e. */
struct actions *actions_open(const struct actions_options *o, struct err *e);
void actions_close(struct actions *a); /* NULL is fine; no call may be running */
SCOPED(actions, actions_close);

/* The folder of the guests beside this program; the caller frees. NULL: ERR_NOT_FOUND. */
char *actions_guest_dir(struct err *e);
/* Is it the name of an action, or of a function of `tools` in code? A command-line tool of
 * that name could be called by no other name than wasm_NAME. */
bool actions_name_taken(struct str name);

/* What is installed of that which is built apart ('make tools', 'make vm'). */
struct actions_parts {
    bool tools, machine;
};
struct actions_parts actions_parts(struct actions *a);

/* Somebody was not let in at all: for the user's own trail. Waits for no disk. */
void actions_refused(struct actions *a, const char *caller, const char *why);

/* Where this program itself listens: a port that no evaluation's fetch may reach. */
void actions_listens(struct actions *a, uint16_t port);

/* A server is about to call actions_warm(): from now on first calls wait for the linter. */
void actions_serves(struct actions *a);
/* Makes what a first call would wait for. On a server's own thread; failures show again. */
void actions_warm(struct actions *a);

/* Part of the build: writes beside the guests what all later starts would make of them.
 * Before any call. */
bool actions_make_ready(struct actions *a, struct err *e);

/* All actions in the order in which they are shown, which never changes. */
const struct action *actions_list(const struct actions *a, size_t *count);
/* Also of a command-line tool ("wasm_jq"). Stays until actions_close(). NULL: there is
 * none. */
const struct action *action_named(struct actions *a, struct str name);

/* What a client's list of tools shows this caller, in its order: actions, and the
 * command-line tools that the policy shows ("wasm_jq"); all others are called by their
 * names all the same. At most `most` of them, those behind the one named `after`; *more:
 * there are more behind. `fn` borrows. false and ERR_INVALID (there is no such place), or
 * what `fn` failed of. */
typedef bool action_shown_fn(void *arg, const struct action *shown, struct err *e);
bool actions_show(struct actions *a, const struct caller *who, struct str after,
                  size_t most, action_shown_fn *fn, void *arg, bool *more, struct err *e);
/* Another number when that may be another list. */
uint64_t actions_shown_state(struct actions *a, const struct caller *who);

/* Appends what a client's instructions say of the custom functions of the vault that the
 * caller would begin in: those used most, with signatures and descriptions, in at most
 * `most` bytes; nothing where there are none, or the caller may not list them. The same,
 * shorter, stands in what actions_show() says of evaluate_note_code. */
void actions_introduce(struct actions *a, const struct caller *who, size_t most,
                       struct buf *out);

/* The scopes (of SCOPE_*) without which a credential's call of it is refused. */
unsigned action_scopes(struct actions *a, const struct action *which);

/* Checks `arguments` (NULL reads as {}) against the action's schema and runs
 * it. false and *e where the action did not run or failed without an answer of
 * its own: ERR_INVALID says what would be accepted. */
bool actions_call(struct actions *a, const struct action *which,
                  const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e);

/* Somebody called an action that there is not: recorded where the caller works. What does
 * what it was to do is appended to `meant`, a clause; nothing where nobody knows. */
void actions_unknown(struct actions *a, const struct caller *who, struct str name,
                     struct buf *meant);

/* ---- requests made by code ---------------------------------------------- */

/* What host.call of run_script asks for: one of the routes of REST. */
struct action_request {
    struct str method, path; /* the path with its query, as the code gave them */
    struct str body;         /* JSON, mostly; empty: none */
    /* The script's; work_begin() with it is a part of its call: its rights, its record,
     * what it has read. */
    const struct caller *who;
};
struct action_reply {
    int status;      /* of HTTP */
    bool is_json;    /* the body is; else it is text */
    struct buf body; /* empty: none; who asks inits and ends it */
    struct buf next; /* the path of the next page of a list; likewise */
};
/* Answers a request, also one that is refused. false and *e: no answer, which reads as
 * that kind of failure. Threads: several at once. */
typedef bool action_request_fn(void *arg, const struct action_request *rq,
                               struct action_reply *out, struct err *e);
/* Before the first call; without, host.call finds nothing. */
void actions_on_request(struct actions *a, action_request_fn *fn, void *arg);

/* ---- calls without code -------------------------------------------------- */

/* A row of host calls ("notes.get") that somebody makes in one vault without code: under
 * the same permissions as code would, and one record in the audit for all. */
struct work;
/* A caller within a script's call (guard.h) adds to that call's record. `vault`: its id;
 * empty: the caller's own. `what` is told to the audit ("GET
 * /workspaces/{id}/notes"), a constant. NULL and *e: ERR_NOT_FOUND (no such vault, or not
 * the caller's to know of), ERR_DENIED, ERR_NO_VAULT; recorded then. */
struct work *work_begin(struct actions *a, const struct caller *who, struct str vault,
                        const char *what, struct err *e);
/* Calls `name`, which must be one of the table, with `args`, a JSON array as text; its
 * answer, JSON text, is appended to `out`. false and *e as the call says. */
bool work_call(struct work *w, const char *name, struct str args, struct buf *out,
               struct err *e);
/* Appends a text that is another one when any note of its vault was changed since. */
/* Did the last call fail because it meant another version of a note, or none? */
bool work_was_stale(const struct work *w), work_was_unguarded(const struct work *w);
bool work_version(struct work *w, struct buf *out, struct err *e);
/* Of work within a script: the content_hash of this note as the script's own requests have
 * last been told it; empty: never. Until the script ends. */
struct str work_seen(const struct work *w, struct str note);
/* Appends what is to be told of its calls that found nothing, because they name a type that
 * no note has; of work within a script the script's answer tells. */
void work_told(const struct work *w, struct buf *out);
/* The id of its vault; good until work_end(). */
const char *work_vault(const struct work *w);
/* Which of the vault's records are read; what is empty does not matter. */
#define AUDIT_READ_USUAL 100
#define AUDIT_READ_MAX 1000
struct audit_filter {
    struct str action, caller, result;
    struct str since, until; /* from the one on, before the other: "2026-01-31T12:..." */
    struct str before;       /* the "mac" of a record that was read: those before it */
    size_t limit;            /* 0: AUDIT_READ_USUAL; at most AUDIT_READ_MAX */
    char *next; /* 72 bytes, or NULL: the last one's mac where there may be more, or "" */
};
/* Appends what was done in its vault, a JSON array of records as docs/auditing.md has
 * them, the newest first; "workspace" is its id. ERR_DENIED: not for this caller (a
 * credential without SCOPE_AUDIT, a level below full, code). ERR_INVALID. */
bool work_audit(struct work *w, const struct audit_filter *f, struct buf *out,
                struct err *e);
/* Appends what custom functions its vault has, bounded: Markdown for a prompt, or
 * declarations in TypeScript. */
enum work_functions { WORK_FUNCTIONS_PROMPT, WORK_FUNCTIONS_TYPES };
bool work_functions(struct work *w, enum work_functions what, struct buf *out,
                    struct err *e);
/* Ends and records it; `why`: what it failed of, or NULL. */
void work_end(struct work *w, const struct err *why);

/* Its vault is one of those whose changes actions_watch() tells of: nothing that changes
 * once this has returned is missed. */
void work_follow(struct work *w);

/* ---- what changes -------------------------------------------------------- */

struct vault_change {
    const char *vault;       /* its id; NULL: which vaults there are */
    bool many;               /* anything in it */
    bool tools;              /* which tools there are or are listed, and nothing else */
    bool functions;          /* the same of its custom functions */
    bool came_or_went;       /* notes are new, gone, or have another id */
    bool types;              /* what describes its types */
    const struct str *notes; /* ids of notes that changed, came or went */
    size_t note_count;
};
typedef void vault_change_fn(void *arg, const struct vault_change *change);

/* `fn` hears of changes, whoever makes them, from a thread of its own and soon (within a
 * second or so, where the file system tells of them): of the vault to begin in and of
 * those that were followed since. One at a time; false and ERR_CONFLICT or ERR_IO. */
bool actions_watch(struct actions *a, vault_change_fn *fn, void *arg, struct err *e);
/* When it returns `fn` is not called any more; not from within it. */
void actions_unwatch(struct actions *a);

/* The vaults that the caller may know of, a JSON array as vaults.list() in code answers; of
 * what a level allows nothing is asked. */
bool actions_vaults(struct actions *a, const struct caller *who, struct buf *out,
                    struct err *e);

/* The command-line tools as tools.list() in code has them, or one as tools.describe(). */
bool actions_tools(struct actions *a, const struct caller *who, struct str name,
                   struct buf *out, struct err *e);

/* The number by which a caller's `vault` means the vault of this id; 0 and ERR_NOT_FOUND
 * (none, or not the caller's to know of). */
unsigned actions_vault_number(struct actions *a, const struct caller *who, struct str id,
                              struct err *e);

/* Makes the caller's vault the current one of the user's list, where the vaults come
 * from there and no policy says readOnly; one that was removed is fine. */
bool actions_keep_vault(struct actions *a, const struct caller *who, struct err *e);

/* A result that was too large for its answer, by the name that errorDetails.resource
 * gave to the same caller: its JSON, whole (at most 16 MiB; kept for 15 minutes). false
 * and ERR_NOT_FOUND. */
bool actions_resource(struct actions *a, const struct caller *who, struct str uri,
                      struct buf *out, struct err *e);

/* Brings the vault's index up to date, or makes it anew -> {notes, read ...}. */
bool actions_reindex(struct actions *a, bool from_scratch, struct buf *out,
                     struct err *e);

struct guard_options actions_guard_options(void); /* with the names of all host calls */

/* `fn` hears of alerts, until it is taken off again; guard_on_alert(). */
void actions_on_alert(struct actions *a, alert_fn *fn, void *arg);
void actions_off_alert(struct actions *a, alert_fn *fn, void *arg);

/* `fn` is told every record of the audit, a JSON object, from the thread of its call and
 * before its answer; must not wait. Before the first call; NULL: nobody. */
typedef void actions_record_fn(void *arg, const char *record);
void actions_on_record(struct actions *a, actions_record_fn *fn, void *arg);

/* All counters in Prometheus' text format (0.0.4). */
bool actions_metrics(struct actions *a, struct buf *out, struct err *e);

/* What this installation can do -> {"ok", "checks": [{"name", "ok", "detail"}]}. */
void actions_doctor(struct actions *a, struct buf *out);

/* The API that code finds, from the table of host calls: as TypeScript declarations, as
 * the reference page (Markdown), or what a name or some words mean (empty: a list of
 * everything), for people. ERR_NOT_FOUND: the words mean nothing. */
enum actions_api { ACTIONS_API_TYPES, ACTIONS_API_REFERENCE, ACTIONS_API_WORDS };
bool actions_api(enum actions_api what, struct str words, struct buf *out, struct err *e);
