/* guard/guard.h - how far a caller may go: the policy, what it permits.
 *
 * A policy is what the user says in policy.json in the user's configuration folder,
 * less what the vault's own .cloche/policy.json takes away; a caller's arguments narrow
 * it once more. A vault may come from a stranger: nothing in it grants anything. Both
 * files are looked at again before every call; one that cannot be believed (it does not
 * parse, another user could have written it) refuses every call until it is mended.
 * Source: docs/policy.md, which the table in policy_keys.c is behind.
 * Threads: safe, except open and close.
 */
#pragma once
#include "audit/audit.h"
#include "caller/caller.h"

/* ---- the policy --------------------------------------------------------- */
struct policy_mount {
    const char *guest, *host; /* absolute paths */
    bool writable;
};

/* Exactly one of value, env and file is not NULL; header and format may be NULL. */
struct policy_secret {
    const char *name, *value, *env, *file, *header, *format;
    struct policy_names hosts;
};
enum policy_lint { POLICY_LINT_OFF, POLICY_LINT_WARN, POLICY_LINT_REFUSE };

/* May an agent run a command-line tool? The later a word, the less it may. */
enum permission {
    PERMISSION_USUAL, /* nobody said: always where a built-in tool sees no files, else ask */
    PERMISSION_ALWAYS,
    PERMISSION_ASK, /* a person is asked before each run */
    PERMISSION_NEVER
};
const char *permission_name(enum permission p);
bool permission_named(struct str name, enum permission *out); /* not "usual" */

struct policy_permissions {
    const struct policy_permission {
        const char *tool;
        enum permission permission;
    } *at;
    size_t n;
};
enum policy_exposure { EXPOSE_SEARCH, EXPOSE_LISTED, EXPOSE_ALL };

/* `count` events of one caller within `seconds`; a count of 0 never raises it. */
struct policy_alert {
    uint32_t count, seconds;
    bool pause; /* and the caller is refused until a person lifts it */
};
enum alert_kind { ALERT_DENIALS, ALERT_DELETES, ALERT_LIMITS, ALERT_ERRORS, ALERT_HOSTS };
#define ALERT_COUNTED 5 /* of which the policy says something */
#define ALERT_DISK ((enum alert_kind)ALERT_COUNTED) /* raised at bounds of its own */
#define ALERT_KINDS 6

/* A state of the policy. Nothing in it changes while it is held. */
struct policy {
    enum level level;           /* over every caller */
    enum level ways[WAY_OTHER]; /* over those who come this way */
    struct {
        uint32_t timeout_ms, memory_mb;
    } levels[LEVELS];
    uint32_t total_ms, host_calls;
    uint64_t fuel; /* that a script may ask for */
    bool read_only;
    struct policy_names allowed[2]; /* the user's and the vault's: both must allow */
    struct policy_names denied;
    struct policy_names confirm; /* a person is asked before each of these */
    bool file_system;            /* enableFileSystem may be asked for */
    const struct policy_mount *mounts;
    size_t mount_count;
    struct {
        struct policy_names hosts, allow_private;
        const struct policy_secret *secrets;
        size_t secret_count;
    } network;
    struct policy_names vault_roots; /* absolute paths */
    struct policy_names libraries;   /* of functions: absolute paths, ids of vaults */
    enum policy_lint lint;
    bool cache, keep_code;
    struct {
        uint32_t max, megabytes, idle_minutes;
    } sessions;
    struct {
        bool required;
        uint32_t rotate_megabytes, max_megabytes, caller_megabytes, code_megabytes;
    } audit;
    uint32_t reserve_megabytes; /* of the disk, that agents leave free */
    uint32_t caller_megabytes;  /* of notes, that one agent writes within 24 hours */
    struct policy_alert alerts[ALERT_COUNTED];
    const char *webhook; /* NULL: none */
    struct {             /* command-line tools */
        enum policy_exposure exposure;
        struct policy_names listed, disabled;
        struct policy_permissions permissions[2]; /* as `allowed` */
        enum permission usual[2];                 /* of those that are not in these */
        bool require_signature, ask_client, elicit_always;
        uint32_t ask_seconds;
    } tools;
    struct {                           /* Linux machines: ceilings of one caller's */
        enum permission permission[2]; /* as `allowed`; usual: always */
        uint32_t machines, ram_mb, total_ram_mb, disk_mb, cpu_seconds, timeout_ms,
            idle_minutes;
    } vm;
    char digest[17]; /* of all that is in force: the same for the same policy */
};

struct guard_options {
    const char *const *calls; /* that allowedAPIs may mean ("notes.get"); borrowed */
    size_t call_count;
    bool (*further)(struct str pattern); /* are calls known that this names? NULL: none */
};

struct guard;
/* Never fails: what cannot be read shows at the calls it concerns. */
struct guard *guard_open(const struct guard_options *o);
void guard_close(struct guard *g); /* NULL is fine; no call may be running */
struct audit *guard_audit(struct guard *g);
SCOPED(guard, guard_close);

/* The policies for one vault's calls; NULL: calls without a vault. The same for the
 * same path, while its folder is there, until guard_close(). NULL and *e: os_dir_open(). */
struct ward;
struct ward *guard_ward(struct guard *g, const char *vault_dir, struct err *e);
const char *ward_path(const struct ward *w); /* its folder; NULL: none */
struct trail *ward_trail(struct ward *w);    /* where what is done there is recorded */
/* Appends what a call will do, or came to: the inside of a JSON object. `digest`: of the policy
 * that it was under; a change of that is told first. As trail_put(). */
bool ward_record(struct ward *w, struct str members, const char *digest,
                 enum trail_kind kind, bool lasting, struct err *e);
/* The same for what is no call: {time, event, ...}, more is written to `out` between the
 * two; not to be moved meanwhile. `digest`: NULL is what is in force. ERR_LIMIT: too long. */
struct ward_event {
    struct buf text;
    struct json_writer out;
};
void ward_event_begin(struct ward_event *v, const char *event);
bool ward_event_end(struct ward_event *v, struct ward *w, const char *digest,
                    bool lasting, struct err *e);

/* The policy in force now, to be let go of. NULL and ERR_DENIED, naming file and place,
 * where one of the files cannot be believed. */
const struct policy *ward_policy(struct ward *w, struct err *e);
void policy_release(const struct policy *p); /* NULL is fine */

/* ---- permission of one call --------------------------------------------- */
/* The requirements of a call. */
struct permit_need {
    const char *name, *alias; /* lists of the policy know it by both; alias may be NULL */
    enum level least;         /* the least trusted level that may */
    bool writes;     /* it changes something: wants SCOPE_WRITE of a credential */
    bool scopeless;  /* it tells and does nothing: else it wants SCOPE_READ */
    bool in_history; /* what it changes is in the vault's history: for `intend` */
    bool always;     /* no list has to name it, and no scope */
};
/* The policy, the caller's level and the call's own wish, together: every way to do
 * something asks this one place. */
struct permit {
    struct ward *ward;
    const struct caller *who;
    const struct policy *policy;
    enum level level;         /* the lowest of all that were said */
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
/* Shall a person be asked before it calls this? Those at the terminal are one. */
bool permit_asks(const struct permit *p, const struct permit_need *need);
struct permit_tool { /* a command-line tool, as far as this minds */
    const char *name;
    bool builtin, is_signed; /* by a key that the user trusts */
    bool reads, writes;      /* files that this call shows it */
};
/* May it be run: at once (PERMISSION_ALWAYS), or after a person was asked (nobody at the
 * terminal is)? Where the permit is read_only, with nothing to write to; never below the
 * level full. false and ERR_DENIED: "Permission denied: ...". */
bool permit_tool(const struct permit *p, const struct permit_tool *tool,
                 enum permission *out, struct err *e);
/* The permission for it (NULL: the Linux machine), whoever asks; *from ("default",
 * "user", "vault") said so. */
enum permission policy_permission(const struct policy *p, const struct permit_tool *tool,
                                  const char **from);
/* Is it asked for only where a call shows it files? */
bool policy_asks_for_files(const struct policy *p, const struct permit_tool *tool);
/* The same of a Linux machine, for `call` ("vm.exec"). */
bool permit_machine(const struct permit *p, const char *call, enum permission *out,
                    struct err *e);
bool policy_names_tool(const struct policy_names *list, const char *name);
bool tool_name_fits(struct str name);               /* may a tool be called so? */
uint32_t permit_timeout_ms(const struct permit *p); /* the ceilings of its level */
uint32_t permit_memory_mb(const struct permit *p);

/* ---- alerts ------------------------------------------------------------- */
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

/* The outcome of a call, as far as alerts need it. */
struct deed {
    uint32_t denials, deletes;
    bool ended;         /* a call did; else it still runs */
    bool limit, failed; /* stopped by a limit; ended in an error of any kind */
    const char *const *hosts;
    size_t host_count;
};
/* Raises what it has to: in the trail, to whoever listens, to the webhook. */
void ward_observe(struct ward *w, const struct caller *who, const struct deed *d);
/* So many bytes were recorded for it. false: its share of a day is full. */
bool ward_spend(struct ward *w, const struct caller *who, size_t bytes);
/* May it write so many bytes of notes? They are counted then. ERR_LIMIT. */
bool ward_admit(struct ward *w, const struct caller *who, size_t bytes, struct err *e);
/* {audit_bytes, audit_most, free_bytes, reserve, ok, why?} of the disk, for people. */
void ward_disk(struct ward *w, struct json_writer *out);
/* Records that somebody was not let in at all. Waits for no disk. */
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
 * "value", "from": "default" | "user" | "vault"}], "files", "problems"}. */
bool ward_show(struct ward *w, struct buf *out, struct err *e);
/* The problems of a policy's text (`vault`: a vault's), as {"ok", "problems": [{"file",
 * "line", "column", "key", "severity": "error" | "warning", "message"}]}. */
bool guard_check(struct guard *g, const char *file, struct str text, bool vault,
                 struct buf *out, struct err *e);
bool ward_check(struct ward *w, struct buf *out, struct err *e); /* both, as they are */
/* Sets `key` ("tools.permissions.jq" too) in the user's file, or in the vault's. `values`:
 * JSON, or plain words; several make a list; none takes it out. `by` ("terminal") is for
 * the audit. ERR_INVALID: no such key, what it accepts, or the file itself is broken. */
bool ward_set(struct ward *w, bool in_vault, const char *key, const char *const *values,
              size_t count, const char *by, struct err *e);
/* The JSON Schema (2020-12) of a policy file, made from the table that reads it. */
bool guard_schema(struct buf *out, struct err *e);
