/* actions/actions.h - the actions that agents can call.
 *
 * The room joins the rooms below it and knows no transport: MCP, REST and the command
 * line all call it. actions_open() makes the actions once; callers borrow them. Errors
 * are those of the action, and ERR_INVALID, ERR_DENIED, ERR_NO_VAULT before it runs.
 * Threads: safe; a call runs on its caller's thread from start to end. */
#pragma once
#include "capability/capability.h"
#include "guard/guard.h"
#include "watching/watching.h"

/* Stack size in bytes that a thread needs to call actions. */
#define ACTIONS_THREAD_STACK ((size_t)8 << 20)

struct actions_options {
    /* Folders, up to a NULL. Only these and vaults that code creates can be reached; a
     * call begins in the first. NULL or an empty list: the user's list of vaults,
     * beginning with its current one; where that list is empty, notes.* fail with
     * ERR_NO_VAULT. */
    const char *const *vaults;
    /* Folders in which code may create vaults, besides the default root; up to a NULL. */
    const char *const *vault_roots;
    /* Folders that machines may mount besides the policy's, as vm_mount_read() has them; up to
     * a NULL, borrowed until actions_close(). NULL: none. */
    const char *const *mounts;
    bool brief;            /* for a call or two: vault_be_brief() */
    const char *guest_dir; /* the baked guests; NULL: the folder beside the program */
    const struct action_extra *extra; /* borrowed until actions_close() */
    size_t extra_count;
};

/* Opens the given vaults (ERR_NOT_FOUND, ERR_INVALID ...) without indexing them; engines
 * and guests are created at first use. Copies the options that it needs. NULL and *e. */
struct actions *actions_open(const struct actions_options *o, struct err *e);
void actions_close(struct actions *a); /* NULL is fine; no call may be running */
SCOPED(actions, actions_close);
/* Whether an action, or a function of `tools` in code, has this name. A command-line tool
 * of that name can be called as wasm_NAME only. */
bool actions_name_taken(struct str name);

/* Records a rejected connection in the user's own trail. Does not wait for the disk. */
void actions_refused(struct actions *a, const char *caller, const char *why);
/* Sets the port that this program listens on; fetch never reaches it. */
void actions_listens(struct actions *a, uint16_t port);
/* Announces actions_warm(): from now on first calls wait for the linter. */
void actions_serves(struct actions *a);
/* Creates what a first call would wait for. On a server's own thread; an error is
 * returned again by the first call that needs the part. */
void actions_warm(struct actions *a);
/* A step of the build: stores beside the guests what every start would otherwise compute.
 * Before any call. */
bool actions_make_ready(struct actions *a, struct err *e);
/* All actions, in the order in which they are shown, which never changes. */
const struct action *actions_list(const struct actions *a, size_t *count);
/* The action of this name, command-line tools ("wasm_jq") included; valid until
 * actions_close(). NULL: no such action. */
const struct action *action_named(struct actions *a, struct str name);
/* Calls `fn` for each action that this caller's list of tools shows, in its order:
 * actions, and the command-line tools that the policy shows ("wasm_jq"). Actions that are
 * not shown can still be called by name. At most `most`, those behind the one named
 * `after`; *more: others follow. `fn` borrows the action. false and ERR_INVALID (no
 * action is named `after`), or the error of `fn`. */
bool actions_show(struct actions *a, const struct caller *who, struct str after,
                  size_t most, action_shown_fn *fn, void *arg, bool *more, struct err *e);
/* A number that changes when that list may have changed. */
uint64_t actions_shown_state(struct actions *a, const struct caller *who);
/* Appends what a client's instructions say of the parts that are installed. */
void actions_instruct(struct actions *a, struct buf *out);
/* Appends the section of a client's instructions about custom functions of the vault that
 * the caller would begin in: the most used ones, with signatures and descriptions, in at
 * most `most` bytes; nothing where there are none, or the caller may not list them. A
 * shorter form is part of evaluate_note_code's description in actions_show(). */
void actions_introduce(struct actions *a, const struct caller *who, size_t most,
                       struct buf *out);
/* The scopes (SCOPE_*) that a credential needs to call the action. */
unsigned action_scopes(struct actions *a, const struct action *which);
/* Checks `arguments` (NULL reads as {}) against the action's schema and runs it. false
 * and *e where the action did not run, or failed without an answer of its own:
 * ERR_INVALID says what would be accepted. */
bool actions_call(struct actions *a, const struct action *which,
                  const struct json *arguments, const struct caller *who,
                  struct answer *out, struct err *e);
/* Records, where the caller works, a call of an action that does not exist. Appends to
 * `meant` a clause that names what to call instead; nothing where that is unknown. */
void actions_unknown(struct actions *a, const struct caller *who, struct str name,
                     struct buf *meant);
/* Sets the function that performs host.call; before the first call. Without it host.call
 * finds nothing. */
void actions_on_request(struct actions *a, action_request_fn *fn, void *arg);
/* Subscribes `fn` to changes, whoever makes them: of the vault to begin in and of those
 * followed since. `fn` runs on a thread of its own, within about a second of the change
 * where the file system reports changes. One subscriber at a time. false and ERR_CONFLICT
 * or ERR_IO. */
bool actions_watch(struct actions *a, vault_change_fn *fn, void *arg, struct err *e);
/* Ends the subscription; `fn` is not called afterwards. Not from within `fn`. */
void actions_unwatch(struct actions *a);
/* The vaults that the caller may know of, a JSON array as of vaults.list() in code; needs
 * no permission of the caller's level. */
bool actions_vaults(struct actions *a, const struct caller *who, struct buf *out,
                    struct err *e);
/* Makes the caller's vault the current one of the user's list, where the vaults come from
 * that list and no policy says readOnly. A vault that was removed is no error. */
bool actions_keep_vault(struct actions *a, const struct caller *who, struct err *e);
/* Updates the vault's index, or rebuilds it -> {notes, read ...}. */
bool actions_reindex(struct actions *a, bool from_scratch, struct buf *out,
                     struct err *e);
/* Subscribes `fn` to alerts, until actions_off_alert(); as guard_on_alert(). */
void actions_on_alert(struct actions *a, alert_fn *fn, void *arg);
void actions_off_alert(struct actions *a, alert_fn *fn, void *arg);
/* Subscribes `fn` to audit records, each a JSON object, on the thread of its call and
 * before the call's answer; must not block. Before the first call; NULL: none. */
void actions_on_record(struct actions *a, actions_record_fn *fn, void *arg);
/* Checks this installation -> {"ok", "checks": [{"name", "ok", "detail"}]}. */
void actions_doctor(struct actions *a, struct buf *out);
/* The line before the example in evaluate_note_code's description. */
#define EVALUATE_EXAMPLE "Example:\n"
void action_evaluate_describe(struct actions *a, const struct caller *who,
                              const char *text, struct buf *out);
/* Whether everything that the action needs is installed. */
bool parts_installed(struct actions *a, const struct action_row *row);
/* Writes the parts that could be installed, members of an open object, for find_tools. */
void parts_put_missing(struct actions *a, struct json_writer *w);
