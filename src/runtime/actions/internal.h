/* actions/internal.h - what the files of this room share: the actions, what they have in
 * common, and what one call of them gets. Where calls work stands in places.h, what they
 * come to in account.h, evaluations and the table of host calls in calls.h. */
#pragma once
#include <pthread.h>

#include "actions/actions.h"
#include "actions/capabilities.h"
#include "actions/services.h"
#include "engine/engine.h"
#include "notes/notes.h"
#include "script/script.h"
#include "session/session.h"
#include "typescript/typescript.h"
#include "vaults/vaults.h"
#include "vfs/vfs.h"

#define ACTIONS_MAX 256
#define HOST_CALLS_MAX 256 /* rows of the table */
#define CAPABILITIES_MAX 16u

struct account;
struct account_part;
struct checker;
struct evaluation;
struct host_call;
struct place;
struct action_call;
struct resolved;
struct calling;
struct tool;
struct tool_stage;
struct tool_outcome;
struct consent;
typedef bool action_fn(const struct action_call *c, struct answer *out, struct err *e);

/* What a call names, before a person is asked. */
typedef bool action_resolve_fn(const struct action_call *c, struct resolved *out,
                               struct err *e);

#define SHOWN(...) .shown = {__VA_ARGS__} /* the first member of a row */
struct action_row {
    struct action shown;
    action_fn *run;
    const char *needs; /* the host call that a level must allow, or NULL */
    /* Or a permission of no host call, asked for in the same way; NULL: none. */
    const char *permission;
    enum level least; /* the least trusted level that has it */
    /* Which permission a person is asked for, where that is not always `needs`. */
    struct permit_need (*confirmed)(const struct action_call *c, struct permit_need need);
    action_resolve_fn *resolve; /* of its group (capability.h) */
    bool writes;
    unsigned scope;      /* of SCOPE_*: what a credential must allow besides */
    const char *vault;   /* the argument that names its vault; NULL: the caller's own */
    const char *checked; /* what its arguments are held against; NULL: what is shown */
    bool seldom;    /* not listed, unless the policy says so: find_tools tells of it */
    bool finds;     /* of use only where not all that there is is listed */
    bool unchecked; /* it looks at its arguments itself */
    bool fits;      /* its answers are never too large: it sees to that itself */
    /* Appends an answer that is too large in part; NULL: shorten(). */
    bool (*shorten)(struct str json, size_t most, struct buf *out, struct err *e);
    /* Writes a refusal in the shape of its answers; NULL: it has none for that. */
    void (*refuse)(const struct err *why, struct answer *out);
    /* It failed before it began: tells the record what was asked for. NULL: its name does. */
    void (*refused)(const struct action_call *c, enum err_code outcome);
    /* The name of another action that its call may be meant for, which then is called with
     * the member `arguments`; NULL: it is itself. */
    struct str (*stands_for)(const struct json *arguments);
    /* Its description for this caller, made of `text`; NULL: as it is. */
    void (*describe)(struct actions *a, const struct caller *who, const char *text,
                     struct buf *out);
    /* An object whose members code of it finds as variables; NULL: `context` is that. */
    const struct json *(*variables)(const struct action_call *c);
    const char *trial; /* arguments that the doctor calls it with, of one alone; NULL */
    const char *counted_as; /* the action whose calls its own are counted among; NULL */
    const struct action_extra *extra; /* somebody else's; NULL: ours */
};
/* Parts of the description of evaluate_note_code, which go where that is not installed. */
#define TELLS_OF_TOOLS "tools.jq({args, stdin}) (find_tools); "
#define TELLS_OF_MACHINE "vm.exec('ls | wc'): Linux; "

struct actions {
    struct vault_set *vaults;
    struct services *services; /* its patterns are the vaults', too */
    struct guard *guard;
    struct telemetry *telemetry;
    atomic_bool serves;          /* it lives long: some work is done in the background */
    void *own[CAPABILITIES_MAX]; /* what each capability has opened */
    _Atomic uint16_t own_port;   /* where this program listens; 0: nowhere */
    struct once sessions;
    action_request_fn *on_request; /* NULL: there are no routes */
    void *request_arg;
    actions_record_fn *on_record; /* NULL: nobody wants to hear */
    void *record_arg;
    struct cache *cache;       /* of answers; own lock */
    struct results *results;   /* too large for their answers; own lock */
    struct watching *watching; /* who tells of changes; own lock */
    /* All actions, ours first: nothing of this changes after the start. */
    size_t count;
    struct action_row rows[ACTIONS_MAX];
    struct action shown[ACTIONS_MAX];
    struct arena *schemas; /* their input schemas, read once */
    const struct json *input[ACTIONS_MAX];
};

/* Rows of run_script's host.call, as script knows them. */
const struct script_row *run_script_rows(size_t *count);
/* The table of host calls, as the linter reads it. */
void check_put_table(struct buf *out);

/* As actions_shown_state(), whatever its custom functions are. */
uint64_t shown_tools_state(struct actions *a, const struct caller *who);
/* With this the example of evaluate_note_code's description begins. */
#define EVALUATE_EXAMPLE "Example:\n"

/* The names of all host calls, by row. */
const char *const *actions_call_names(size_t *count);

/* ---- the actions -------------------------------------------------------- */

struct action_call {
    struct actions *actions;
    const struct action_row *row;
    const struct json *arguments; /* checked against the schema */
    const struct caller *who;
    struct place *place; /* where it begins, and what it may do there */
    struct account *account;
    struct arena *arena;         /* of this call */
    struct vault_review *review; /* of what it changes; NULL: none (preview.h) */
    struct outcome *outcome;     /* what it did */
};
/* The vault that the caller works in; NULL and ERR_NO_VAULT. */
struct vault *action_vault(const struct action_call *c, struct err *e);
action_fn action_evaluate, action_run_script;
void action_evaluate_describe(struct actions *a, const struct caller *who,
                              const char *text, struct buf *out);
const struct json *action_run_script_variables(const struct action_call *c);
void action_evaluate_refused(const struct err *why, struct answer *out);
/* false and ERR_DENIED: the policy wants code without errors, and this has one; or it
 * could not be checked. `from`: what q->code was made from, or NULL. */
bool check_passes(const struct action_call *c, const struct script_request *q,
                  const struct script_origin *from, struct err *e);
/* What the linter warns of in code that was run, as a JSON array; nothing where there is
 * nothing to warn of, or nobody who would: the policy says off. A server loads the linter
 * when it starts; other programs only for code that may lack an await. `explained`: the
 * suggestion of a failure, or empty; what that tells is not said again. */
void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_outcome *o, const struct script_origin *from,
                 struct str explained, struct buf *out);
action_fn action_check_code;
action_fn action_read_result;
action_fn action_close_session;
action_fn action_wasm; /* tool_actions.c */

/* ---- sessions ----------------------------------------------------------- */

/* The session of one evaluation; all zero where it asked for none. */
struct kept {
    struct session *session;
    char *vault; /* a part of its owner's name */
    bool is_new, kept;
    struct err why; /* not kept */
    uint64_t bytes;
};
/* Takes the session that the arguments name, if any, and tells the request. */
bool kept_begin(struct kept *k, const struct action_call *c, struct script_request *q,
                struct err *e);
/* The code did not run at all: *e in words about the session. Answers false. */
bool kept_refuse(struct kept *k, const struct script_outcome *o, struct err *e);
/* Keeps what the evaluation left. */
void kept_end(struct kept *k, const struct script_outcome *o);
/* Its part of the answer, a pair of the open object. */
void kept_write(const struct kept *k, struct json_writer *w);
void kept_done(struct kept *k);
