/* actions/actions.h - what an agent can do: one function an action.
 *
 * Joins the rooms below and knows no transport: MCP, REST and the command line all come
 * here. The actions are made once, by actions_open(), and borrowed by all; failures are
 * those of the action, or ERR_INVALID, ERR_DENIED, ERR_NO_VAULT before it. Threads: safe;
 * each call runs on its caller's thread from start to end. */
#pragma once
#include "capability/capability.h"
#include "guard/guard.h"
#include "watching/watching.h"

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
/* Is it the name of an action, or of a function of `tools` in code? A command-line tool of
 * that name could be called by no other name than wasm_NAME. */
bool actions_name_taken(struct str name);

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
/* Before the first call; without, host.call finds nothing. */
void actions_on_request(struct actions *a, action_request_fn *fn, void *arg);
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
/* Makes the caller's vault the current one of the user's list, where the vaults come
 * from there and no policy says readOnly; one that was removed is fine. */
bool actions_keep_vault(struct actions *a, const struct caller *who, struct err *e);
/* Brings the vault's index up to date, or makes it anew -> {notes, read ...}. */
bool actions_reindex(struct actions *a, bool from_scratch, struct buf *out,
                     struct err *e);
/* `fn` hears of alerts, until it is taken off again; guard_on_alert(). */
void actions_on_alert(struct actions *a, alert_fn *fn, void *arg);
void actions_off_alert(struct actions *a, alert_fn *fn, void *arg);
/* `fn` is told every record of the audit, a JSON object, from the thread of its call and
 * before its answer; must not wait. Before the first call; NULL: nobody. */
void actions_on_record(struct actions *a, actions_record_fn *fn, void *arg);
/* What this installation can do -> {"ok", "checks": [{"name", "ok", "detail"}]}. */
void actions_doctor(struct actions *a, struct buf *out);
/* With this the example of evaluate_note_code's description begins. */
#define EVALUATE_EXAMPLE "Example:\n"
void action_evaluate_describe(struct actions *a, const struct caller *who,
                              const char *text, struct buf *out);
/* Can the action do anything with what is installed? */
bool parts_suffice(struct actions *a, const struct action_row *row);
/* Tells in an answer of find_tools what could be added, as members of an open object. */
void parts_put_missing(struct actions *a, struct json_writer *w);
