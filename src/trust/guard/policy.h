/* guard/policy.h - what the files of this room share about policies. Private to
 * guard. */
#pragma once
#include <pthread.h>

#include "guard/guard.h"
#include "os/os.h"
#include "json/json.h"

/* ---- the table of keys (policy_keys.c) ---------------------------------- */

enum key_kind {
    KEY_BOOL,
    KEY_INT,     /* low to high; of 64 bits where `high` needs them, else of 32 */
    KEY_WORD,    /* one of `words`; stored as its number */
    KEY_NAMES,   /* strings */
    KEY_CALLS,   /* names of calls, as allowedAPIs has them */
    KEY_HOSTS,   /* "api.example.org", "*.example.org", with a scheme and port or not */
    KEY_PATHS,   /* absolute paths */
    KEY_MOUNTS,  /* [{guest, host, mode}] */
    KEY_SECRETS, /* {NAME: {value | env | file, hosts, header, format}} */
    KEY_URL,
    KEY_PERMISSIONS, /* {TOOL: one of `words`} */
    KEY_TOOLS,       /* names of tools */
    KEY_VAULTS,      /* absolute paths, or ids of vaults */
};

/* The rule by which a vault's value combines with the user's. */
enum key_rule {
    RULE_USER,      /* nothing: it is the user's alone */
    RULE_LOWER,     /* the lower number holds; of booleans, false */
    RULE_HIGHER,    /* the higher number (the later word) holds; of booleans, true */
    RULE_BOTH,      /* only what both name */
    RULE_EITHER,    /* what either names */
    RULE_ALSO,      /* kept behind the user's ([1]): each has to allow */
    RULE_TAKE_MOUNT /* the user's mounts whose guest it names, "ro" where it says so */
};

struct key {
    const char *path; /* "levels.full.timeout" */
    enum key_kind kind;
    enum key_rule rule;
    size_t offset; /* into struct policy */
    int64_t low, high;
    const char *const *words; /* ends with NULL */
    const char *usual;        /* as JSON */
    const char *summary;
};
#define KEYS_MAX 80
extern const struct key policy_keys[];
extern const size_t policy_key_count;
/* Puts a value of the key; never a secret's own text. */
void key_put(const struct key *k, const struct json *v, struct json_writer *w);
/* Appends JSON with line ends and two spaces a level, as a person would write it. */
void policy_put_pretty(struct str text, struct buf *out);

/* -1: there is none. */
int key_find(struct str path);
/* Does some key lie beneath this path ("levels", "levels.full", "")? */
bool key_is_group(struct str path);
/* The nearest key to a mistaken one, or NULL. */
const char *key_nearest(struct str path);

/* ---- a file (policy_file.c) --------------------------------------------- */

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

/* Fills in t->value from t->text; what is wrong goes to `p`. */
void policy_text_read(struct policy_text *t, const struct known_calls *calls,
                      struct problems *p);
void problem_add(struct problems *p, const struct policy_text *t, const char *key,
                 size_t at, bool is_error, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
/* Where the value of this dotted key begins in JSON text that is known to be valid; 0
 * if it is not there. */
size_t place_of(struct str text, const char *key);
/* Is the value fit for the key? The message says what would be. */
bool key_value_check(const struct key *k, const struct known_calls *calls,
                     const struct json *v, struct err *e);

/* The values that are not the defaults: "values": {key: value}. */
struct policy_state;
void policy_put_unusual(const struct policy_state *s, struct json_writer *w);

/* ---- both together (policy_merge.c) ------------------------------------- */

enum policy_from { FROM_DEFAULT, FROM_USER, FROM_VAULT };

/* A policy in force, counted by who holds it. */
struct policy_state {
    struct policy shown; /* first: handed out as this */
    atomic_uint holders;
    struct arena *arena; /* all of it */
    const struct json *value[KEYS_MAX];
    const struct json *also[KEYS_MAX]; /* the vault's, by RULE_ALSO; NULL: nothing */
    enum policy_from from[KEYS_MAX];
};

/* `vault` may be NULL. Warns of what the vault's tries to grant. NULL and ERR_LIMIT. */
struct policy_state *policy_merge(const struct policy_text *user,
                                  const struct policy_text *vault, struct problems *p,
                                  struct arena *arena, struct err *e);

/* ---- names (names.c) ---------------------------------------------------- */

/* "tools.jq": which tools there are is not known here. */
#define TOOLS_PREFIX "tools."
/* "notes.get", "notes", "notes.*" or "*"; notes.save is create and update. */
bool call_pattern_fits(struct str pattern, const char *call);
bool call_pattern_known(struct str pattern, const struct known_calls *calls);
/* The part of two host patterns that both allow, or NULL. */
const char *host_pattern_both(const char *a, const char *b);

/* ---- alerts.c, webhook.c ------------------------------------------------- */

struct alerts;
struct alerts *alerts_new(void);
void alerts_free(struct alerts *a);
/* false and ERR_DENIED: the caller is paused. */
bool alerts_allow(struct alerts *a, const char *name, struct err *e);

struct webhook;
struct webhook *webhook_new(void);
void webhook_free(struct webhook *h);
void webhook_send(struct webhook *h, const char *url, const struct alert *alert,
                  const char *kind);

/* ---- guard.c ------------------------------------------------------------ */

struct guard {
    struct known_calls calls;
    struct audit *audit;
    struct alerts *alerts;
    struct webhook *webhook;
    int config;           /* the user's folder; -1: there is none */
    struct err no_config; /* why, where that must refuse; else no code */
    char *config_path;
    pthread_mutex_t lock; /* guards the list */
    struct ward *_Atomic wards;
};

struct ward {
    struct guard *guard;
    struct ward *next;
    char *path; /* as it was asked for; NULL: no vault */
    struct trail *trail;
    int dir;              /* -1: no vault */
    pthread_mutex_t lock; /* guards what follows */
    bool is_read;
    struct os_stamp user, vault; /* of the files that `state` is made of */
    struct policy_state *state;  /* NULL: refused with `why` */
    struct err why;
    char *told; /* what the trail is told of the policy: members of a record */
    uint64_t looked_ns, trail_bytes; /* of the trail; 0: not looked yet */
    bool told_full;                  /* that it is nearly full */
};

/* ---- quota.c ------------------------------------------------------------- */

/* May an agent's call run, and may it change something, as far as the disk is concerned?
 * ERR_BUSY: its records have taken their share; ERR_IO: trail or disk are full. */
bool quota_allows(struct ward *w, const struct policy *p, const struct caller *who,
                  struct err *e);
bool quota_allows_writes(struct ward *w, const struct policy *p, const struct caller *who,
                         const char *call, struct err *e);

/* ---- alerts.c ------------------------------------------------------------ */

enum spent_kind { SPENT_RECORDS, SPENT_NOTES, SPENT_KINDS };
/* Adds to what a caller has taken of the disk within a day. Records: is that below? Notes:
 * was it below before? Otherwise nothing is added. */
bool alerts_spend(struct alerts *a, const char *name, enum spent_kind kind, size_t bytes,
                  uint32_t most_kib);
bool alerts_first(struct alerts *a, const char *name); /* of three hours */
void alerts_raise(struct ward *w, const struct policy *p, struct alert *alert);

#define POLICY_FILE "policy.json"
#define VAULT_POLICY_FILE ".cloche/policy.json"

/* The text of one of the files, empty where it is not there. ERR_DENIED: others could have
 * written the user's own. */
bool policy_load(int dir, const char *name, struct buf *out, struct err *e);
/* Where the file lies, for people; the caller frees. */
char *policy_path(const struct ward *w, bool in_vault);
/* Reads both anew. `p` gets what is wrong; NULL and *e where that refuses calls. */
struct policy_state *ward_read(struct ward *w, struct problems *p, struct err *e);
