/* policy/policy.h - the keys of a policy, the reading of its text, and the user's policy
 * narrowed by the vault's. Knows neither files nor calls.
 *
 * Each key is declared by a row of the room that reads it: the runtime's own fill struct policy, those
 * of a capability a struct of its own. Source: docs/policy.md. Threads: a policy in force
 * may be held and read by several; all else belongs to one. */
#pragma once
#include "caller/caller.h"
#include "json/json.h"

/* ---- keys of a policy --------------------------------------------------- */
enum key_kind {
    KEY_BOOL,
    KEY_INT,     /* low to high; of 64 bits where `high` needs them, else of 32 */
    KEY_WORD,    /* one of `words`; stored as its number, in 32 bits */
    KEY_NAMES,   /* strings, as its shape checks them */
    KEY_CALLS,   /* names of calls, as allowedAPIs has them */
    KEY_HOSTS,   /* "api.example.org", "*.example.org", with a scheme and port or not */
    KEY_PATHS,   /* absolute paths */
    KEY_LIST,    /* [ENTRY, ...], entries by its shape; a const struct json * */
    KEY_OBJECTS, /* {NAME: ENTRY, ...}, likewise */
    KEY_URL,
    KEY_PERMISSIONS, /* {NAME: one of `words`}; its shape checks names */
};

/* The rule by which a vault's value combines with the user's. */
enum key_rule {
    RULE_USER,   /* nothing: it is the user's alone */
    RULE_LOWER,  /* the lower number holds; of booleans, false */
    RULE_HIGHER, /* the higher number (the later word) holds; of booleans, true */
    RULE_BOTH,   /* only what both name */
    RULE_EITHER, /* what either names */
    RULE_ALSO,   /* kept behind the user's ([1]): each has to allow */
    RULE_NARROW  /* what its shape makes of both lists */
};

/* The entries of a key, where those are of a kind of its capability's. */
struct key_shape {
    const char *what, *wanted; /* "tools"; "an object {TOOL: ...}", for messages */
    const char *schema;        /* of an entry; of KEY_PERMISSIONS the pattern of a name */
    /* Is an entry fit? `name`: that in an object, else empty. false and ERR_INVALID, which
     * goes on from "entry 1", or from the key. */
    bool (*check)(struct str name, const struct json *entry, struct err *e);
    /* Shows the value; NULL: as it is. */
    void (*put)(const struct json *v, struct json_writer *w);
    /* Of RULE_NARROW: items of an open array. */
    void (*narrow)(const struct json *user, const struct json *vault,
                   struct json_writer *w);
};

struct key {
    const char *path; /* "levels.full.timeout" */
    enum key_kind kind;
    enum key_rule rule;
    size_t offset; /* into the struct of its group's values */
    int64_t low, high;
    const char *const *words; /* ends with NULL */
    const char *usual;        /* as JSON */
    const char *summary;
    const struct key_shape *shape; /* NULL: none */
    unsigned order; /* among all keys; 0: that of the row before it, or the last */
};
/* For shapes. The message says what is accepted: "a string". */
bool entry_check_text(const struct json *v, const char *wanted, struct err *e);
bool entry_check_path(const struct json *v, struct err *e); /* an absolute one */
bool entry_check_host(const struct json *v, struct err *e);
/* Is it an object with none but these fields (up to a NULL)? */
bool entry_check_fields(const struct json *v, const char *const *known,
                        const char *wanted, struct err *e);
/* A row of the key whose value is this member of the struct. */
#define KEY(struct_, path_, kind_, rule_, member_, usual_, summary_, ...) \
    {.path = path_,                                                       \
     .kind = KEY_##kind_,                                                 \
     .rule = RULE_##rule_,                                                \
     .offset = offsetof(struct_, member_),                                \
     .usual = usual_,                                                     \
     .summary = summary_,                                                 \
     __VA_ARGS__}

/* The keys that one capability reads. Keys of one object ("levels.") stand together. */
struct policy_group {
    const struct key *keys;
    size_t count;
    size_t size; /* of the struct that their values fill */
};
#define POLICY_GROUP(keys_, struct_) \
    {.keys = keys_, .count = LENGTH(keys_), .size = sizeof(struct_)}

struct policy;
/* The values of a group's keys in a policy, as its struct; as long as the policy is held.
 * The group was one of those that it was read with. */
const void *policy_values(const struct policy *p, const struct policy_group *g);

/* ---- the policy --------------------------------------------------------- */
enum policy_lint { POLICY_LINT_OFF, POLICY_LINT_WARN, POLICY_LINT_REFUSE };
/* May an agent use something? The later a word, the less it may. */
enum permission {
    PERMISSION_USUAL, /* not given */
    PERMISSION_ALWAYS,
    PERMISSION_ASK, /* a person is asked before each run */
    PERMISSION_NEVER
};
extern const char *const permission_words[]; /* their names, up to a NULL */

struct policy_permissions {
    const struct named_permission {
        const char *name;
        enum permission permission;
    } *at;
    size_t n;
};

/* `count` events of one caller within `seconds`; a count of 0 never raises it. */
struct policy_alert {
    uint32_t count, seconds;
    bool pause; /* and the caller is refused until a person lifts it */
};
enum alert_kind { ALERT_DENIALS, ALERT_DELETES, ALERT_LIMITS, ALERT_ERRORS, ALERT_HOSTS };
#define ALERT_COUNTED 5 /* those that the policy has thresholds for */

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
    const char *webhook;            /* NULL: none */
    struct {                        /* how a person is asked */
        bool client, elicit_always; /* through the agent's own client; also for always */
        uint32_t seconds;
    } asking;
    char digest[17]; /* of all that is in force: the same for the same policy */
};

/* ---- the table of keys -------------------------------------------------- */

#define KEYS_MAX 128
#define POLICY_GROUPS_MAX 24
/* The keys of all groups, in their order; the first group is struct policy. */
struct key_table {
    const struct key *keys[KEYS_MAX];
    uint8_t group_of[KEYS_MAX];
    size_t count;
    const struct policy_group *groups[POLICY_GROUPS_MAX];
    size_t group_count;
};
/* Joins the runtime's own and these. Keys are distinct; those of an object follow. */
void key_table_make(struct key_table *t, const struct policy_group *const *groups,
                    size_t count);
/* Puts a value of the key; never a secret's own text. */
void key_put(const struct key *k, const struct json *v, struct json_writer *w);
/* Appends JSON with line ends and two spaces a level, as a person would write it. */
void policy_put_pretty(struct str text, struct buf *out);

/* -1: there is none. */
int key_find(const struct key_table *t, struct str path);
/* The nearest key to a mistaken one, or NULL. */
const char *key_nearest(const struct key_table *t, struct str path);

/* ---- a file ------------------------------------------------------------- */

#define POLICY_FILE_MAX ((size_t)256 << 10)
#define POLICY_MEMORY ((size_t)8 << 20)
#define PROBLEMS_MAX 50
struct problem {
    bool is_error; /* else a warning */
    unsigned line, column;
    const char *file, *key;
    const char *message;
};

struct problems {
    struct arena *arena;
    struct problem list[PROBLEMS_MAX];
    size_t n, errors;
};

/* A policy's text, looked through. */
struct policy_text {
    const char *file; /* for messages */
    bool is_vault;
    struct str text;
    const struct json *value[KEYS_MAX]; /* NULL: not in it */
};

struct known_calls {
    const char *const *at;
    size_t n;
    bool (*further)(struct str pattern); /* or NULL */
};

/* The keys and calls that policies may name. */
struct policy_terms {
    struct key_table keys;
    struct known_calls calls;
};

/* Fills in t->value from t->text; what is wrong goes to `p`. */
void policy_text_read(struct policy_text *t, const struct policy_terms *terms,
                      struct problems *p);
void problem_add(struct problems *p, const struct policy_text *t, const char *key,
                 size_t at, bool is_error, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Is the value fit for the key? The message says what would be. */
bool key_value_check(const struct key *k, const struct known_calls *calls,
                     const struct json *v, struct err *e);

/* ---- both together ----------------------------------------------------- */

enum policy_from { FROM_DEFAULT, FROM_USER, FROM_VAULT };

/* A policy in force, counted by who holds it. */
struct policy_state {
    struct policy shown; /* first: handed out as this */
    atomic_uint holders;
    const struct key_table *keys;
    void *values[POLICY_GROUPS_MAX]; /* of each group; the first are `shown` */
    struct arena *arena;             /* all of it */
    const struct json *value[KEYS_MAX];
    const struct json *also[KEYS_MAX]; /* the vault's, by RULE_ALSO; NULL: nothing */
    enum policy_from from[KEYS_MAX];
};

/* `vault` may be NULL. Warns of what the vault's tries to grant. NULL and ERR_LIMIT. */
struct policy_state *policy_merge(const struct key_table *keys,
                                  const struct policy_text *user,
                                  const struct policy_text *vault, struct problems *p,
                                  struct arena *arena, struct err *e);

/* ---- shown -------------------------------------------------------------- */

/* Members of an open object: "policy" and "values", and "problems". */
void policy_put_state(const struct policy_state *s, struct json_writer *w);
void policy_put_problems(const struct problems *p, struct json_writer *w);
/* "values": {key: value} of those that are not the defaults. */
void policy_put_unusual(const struct policy_state *s, struct json_writer *w);
/* A file's object, without the text of secrets. */
void policy_put_shown(const struct key_table *keys, const struct json *file,
                      struct json_writer *w);
/* The member "changes": [{key, before, after, vaultBefore?, vaultAfter?, wider}]. How many
 * may give agents more. */
unsigned policy_put_changes(const struct policy_state *was, const struct policy_state *is,
                            struct json_writer *w);
/* Appends the JSON Schema of a policy file. false and *e: no room in `out`. */
bool policy_schema(const struct key_table *keys, struct buf *out, struct err *e);

/* ---- names ------------------------------------------------------------- */

/* "notes.get", "notes", "notes.*" or "*"; notes.save is create and update. */
bool call_pattern_fits(struct str pattern, const char *call);
bool call_pattern_known(struct str pattern, const struct known_calls *calls);
