/* guard/guard.h - the policy in force for a caller, and what it permits.
 *
 * A policy is what the user says in policy.json in the user's configuration folder,
 * less what the vault's own .cloche/policy.json takes away; a caller's arguments narrow
 * it once more. A vault may come from a stranger: nothing in it grants anything. Both
 * files are looked at again before every call; one that cannot be trusted (it does not
 * parse, another user could have written it) refuses every call until it is repaired.
 * Source: docs/policy.md; its keys are rows of policy/policy_keys.c and of the capabilities.
 * Threads: safe, except open and close.
 */
#pragma once
#include "audit/audit.h"
#include "caller/caller.h"
#include "policy/policy.h"

/* ---- the policy --------------------------------------------------------- */
struct guard_options {
    const char *const *calls; /* that allowedAPIs may mean ("notes.get"); borrowed */
    size_t call_count;
    bool (*further)(struct str pattern); /* are calls known that this names? NULL: none */
    const struct policy_group *const *groups; /* of keys besides its own; borrowed */
    size_t group_count;
};

struct guard;
/* Never fails: what cannot be read is an error of the calls that need it. */
struct guard *guard_open(const struct guard_options *o);
void guard_close(struct guard *g); /* NULL is fine; no call may be running */
struct audit *guard_audit(struct guard *g);
SCOPED(guard, guard_close);

/* The policies for one vault's calls; NULL: calls without a vault. The same for the
 * same path, while its folder is there, until guard_close(). NULL and *e: os_dir_open(). */
struct ward;
struct ward *guard_ward(struct guard *g, const char *vault_dir, struct err *e);
const char *ward_path(const struct ward *w); /* its folder; NULL: none */
struct trail *ward_trail(struct ward *w);    /* of the calls in it */
/* Appends what a call will do, or came to. `state`: the digest of the policy that it was under;
 * a change of that is told first, as `before`. As trail_put(). */
bool ward_record(struct ward *w, const struct trail_entry *entry, struct err *e);
/* The same for what is no call: {time, event, ...}, more is written to `out` between the
 * two; not to be moved meanwhile. `digest`: NULL is what is in force. ERR_LIMIT: too long. */
struct ward_event {
    struct buf text;
    struct json_writer out;
};
void ward_event_begin(struct ward_event *v, const char *event);
bool ward_event_end(struct ward_event *v, struct ward *w, const char *digest,
                    bool lasting, struct err *e);

/* The policy in force now; the caller releases it. NULL and ERR_DENIED, naming file and
 * place, where one of the files cannot be trusted. */
const struct policy *ward_policy(struct ward *w, struct err *e);
void policy_release(const struct policy *p); /* NULL is fine */

/* ---- permission of one call --------------------------------------------- */
/* The requirements of a call. */
struct permit_need {
    const char *name, *alias; /* lists of the policy know it by both; alias may be NULL */
    enum level least;         /* the least trusted level that may */
    bool writes;     /* it changes something: needs SCOPE_WRITE of a credential */
    bool scopeless;  /* it only describes: else it needs SCOPE_READ */
    bool in_history; /* what it changes is in the vault's history: for `intend` */
    bool always;     /* no list has to name it, and no scope */
};
/* The policy, the caller's level and the call's own allowedAPIs, together: every permission
 * is checked here. */
struct permit {
    struct ward *ward;
    const struct caller *who;
    const struct policy *policy;
    enum level level;         /* the lowest of policy, transport, caller and credential */
    bool read_only;           /* nothing that writes is allowed, whatever it is called */
    struct policy_names wish; /* allowedAPIs of the call itself */
    /* Records that this will change something, when all else allows it; or NULL. */
    bool (*intend)(void *arg, const struct permit_need *need, struct err *e);
    void *intend_arg;
};
#define PERMIT_WISH_MAX 256u /* names in one call's allowedAPIs */
/* `allowed` is the call's own list (NULL: none), which outlives the permit; its names
 * are checked: ERR_INVALID suggests the nearest. ERR_DENIED as ward_policy(). */
bool permit_open(struct permit *p, struct ward *w, const struct caller *who,
                 const struct json *allowed, struct err *e);
void permit_close(struct permit *p); /* one of zeros is fine */
/* May it call this? Where that changes something, the audit trail must be there to tell of it
 * (else ERR_IO, unless the policy does not ask for that). false and ERR_DENIED. */
bool permit_call(const struct permit *p, const struct permit_need *need, struct err *e);
unsigned permit_scope(const struct permit_need *need); /* that it takes; 0: none */
/* Must a person confirm this call? Not a person's own. */
bool permit_asks(const struct permit *p, const struct permit_need *need);
const char *permission_name(enum permission p);
bool permission_named(struct str name, enum permission *out); /* not "usual" */
/* Something that the policy has a permission for, beside that of calls. */
struct permit_use {
    struct permit_need need;
    const char *name;         /* "jq" */
    enum permission words[2]; /* the user's policy's, the vault's */
    enum permission usual;    /* where the user's has none */
    const char *key;          /* of the vault's policy, for messages; NULL: not named */
    const char *change;       /* the command by which a person changes it */
    const char *refused;      /* it is, whatever its permission: "is disabled"; NULL */
    bool each_time;           /* a person's approval is never for always */
};
/* The stricter of both; *from names the file that it is from. */
enum permission permission_for(const struct permit_use *use, const char **from);
/* May it be used: at once (PERMISSION_ALWAYS), or after a person was asked (not one at the
 * terminal)? false and ERR_DENIED: "Permission denied: ...". */
bool permit_run(const struct permit *p, const struct permit_use *use,
                enum permission *out, struct err *e);
uint32_t permit_timeout_ms(const struct permit *p); /* the ceilings of its level */
uint32_t permit_memory_mb(const struct permit *p);

/* ---- alerts ------------------------------------------------------------- */
#define ALERT_DISK ((enum alert_kind)ALERT_COUNTED) /* raised at bounds of its own */
#define ALERT_KINDS 6
struct alert {
    enum alert_kind kind;
    const char *caller;
    const struct client_claim *claim; /* or NULL */
    char message[120];                /* "20 refusals within 60 s" */
    bool paused;                      /* and the caller is refused from now on */
};
/* Called from the thread of the call that raised it; must not wait. At most four. */
typedef void alert_fn(void *arg, const struct alert *alert);
void guard_on_alert(struct guard *g, alert_fn *fn, void *arg);
void guard_off_alert(struct guard *g, alert_fn *fn, void *arg);

/* What alerts need to know of a call. */
struct observed {
    uint32_t denials, deletes;
    bool ended;         /* else it still runs */
    bool limit, failed; /* stopped by a limit; ended in an error of any kind */
    const char *const *hosts;
    size_t host_count;
};
/* Raises the alerts that are due: in the trail, to subscribers, to the webhook. */
void ward_observe(struct ward *w, const struct caller *who, const struct observed *d);
/* Counts bytes that were recorded for it. false: they exceed what a caller may have in a
 * day, by the policy that was read last. */
bool ward_spend(struct ward *w, const struct caller *who, size_t bytes);
/* May it write so many bytes of notes? They are counted then. ERR_LIMIT. */
bool ward_admit(struct ward *w, const struct caller *who, size_t bytes, struct err *e);
/* {audit_bytes, audit_most, free_bytes, reserve, ok, why?} of the disk, for people. */
void ward_disk(struct ward *w, struct json_writer *out);
/* Records that a connection was rejected. Does not wait for the disk. */
void ward_refused(struct ward *w, const char *caller, const char *why);
/* A paused caller's calls are ERR_DENIED, in all processes of the user, until a person
 * lets it go on. ERR_NOT_FOUND: it is not paused. Both are recorded. */
bool ward_pause(struct ward *w, const char *caller, const char *why, struct err *e);
bool ward_resume(struct ward *w, const char *caller, struct err *e);
/* Writes {caller: {since, why}}. false and ERR_DENIED: the list is damaged; {} is written. */
bool guard_paused(struct guard *g, struct json_writer *out, struct err *e);

struct guard_counts {
    uint64_t alerts[ALERT_KINDS], recorded, lost,
        trail_bytes; /* the last of all trails */
} guard_count(const struct guard *g);

/* ---- for people --------------------------------------------------------- */
/* Every key with its value and where that comes from: {"policy", "values": [{"key",
 * "value", "from": "default" | "user" | "vault", "summary", "vaultMay": may a vault's policy
 * set it}], "files", "problems"}. */
bool ward_show(struct ward *w, struct buf *out, struct err *e);
/* The problems of a policy's text (`vault`: a vault's), as {"ok", "problems": [{"file",
 * "line", "column", "key", "severity": "error" | "warning", "message"}]}. */
bool guard_check(struct guard *g, const char *file, struct str text, bool vault,
                 struct buf *out, struct err *e);
bool ward_check(struct ward *w, struct buf *out, struct err *e); /* both, as they are */
/* Sets `key` (also "KEY.NAME", one of its permissions) in the user's file, or in the
 * vault's. `values`: JSON, or plain words; several make a list; none takes it out. `by`
 * ("terminal") is for the audit. ERR_INVALID: no such key, what it accepts, or the file
 * itself is broken. */
bool ward_set(struct ward *w, bool in_vault, const char *key, const char *const *values,
              size_t count, const char *by, struct err *e);
/* Several changes at once: `edits` is an array of at most WARD_EDITS_MAX {key, value?}; the key as
 * ward_set() has it, or "KEY.NAME", an entry of an object; without a value it is taken out.
 * Writes {"ok", "wider", "text", "changes", "problems"}: `text` is the file as it will be,
 * `changes` those in force (policy_put_changes()), `wider` whether agents may do more by one of
 * them; secrets are never shown. Unless `by` is NULL the file is written and each edit
 * recorded, all or none; `agreed` says that it may be wider, without which such a file is
 * not written. *made: it was. false and *e: not tried at all. */
#define WARD_EDITS_MAX 64u
struct ward_edits {
    bool in_vault, agreed;
    const struct json *edits;
    const char *by;
};
bool ward_edit(struct ward *w, const struct ward_edits *edits, bool *made,
               struct buf *out, struct err *e);
/* The JSON Schema (2020-12) of a policy file, made from the rows that read it. */
bool guard_schema(const struct guard *g, struct buf *out, struct err *e);
