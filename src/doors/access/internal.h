/* access/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "access/access.h"
#include "crypto/crypto.h"
#include "os/os.h"

/* ---- file.c: tokens.json ------------------------------------------------ */

#define TOKEN_ID 12u /* hexadecimal digits */
#define TOKEN_PREFIX "cloche_"
#define TOKENS_FILE "tokens.json"
#define TOKENS_MEMORY ((size_t)64 << 20)

/* A token as it stands in the file; all in the arena it was read into. */
struct token {
    struct str id, name, hash; /* hash: of the whole text; empty once revoked */
    enum level level;
    unsigned scopes;
    struct policy_names vaults;
    int64_t created_ms, expires_ms, revoked_ms; /* 0: never */
};

struct tokens {
    struct token *all;
    size_t count;
};
/* A missing file is an empty list. ERR_DENIED: it cannot be believed. */
bool tokens_read(int dir, struct arena *a, struct tokens *out, struct err *e);
/* The hash by which a token's text is known. */
void token_hash(struct str text, char out[static CRYPTO_HASH_HEX]);
/* The id in a text that could be a token's; empty: it could be none. */
struct str token_id(struct str text);
/* Notes when a token was used, in the state folder; quickly, and at worst not at all. */
void token_touch(int state, struct str id, int64_t now_ms);

/* ---- verifiers ---------------------------------------------------------- */

/* The owner of a credential. */
struct bearer {
    struct grant grant; /* what it points to lives until let_go(held) */
    char id[24];        /* of the credential, for those who verify it */
    int64_t expires_ms; /* 0: never */
    void *held;
    void (*let_go)(void *held); /* NULL: nothing is to be let go of */
};

enum verdict {
    VERDICT_FOREIGN, /* no credential of this kind: the next verifier is asked */
    VERDICT_GOOD,
    VERDICT_BAD,       /* unknown, forged, revoked */
    VERDICT_EXPIRED,   /* was good once */
    VERDICT_LATER,     /* nobody can tell yet */
    VERDICT_POWERLESS, /* good, with no scope at all; `out` is as for a good one */
};

/* A kind of credential. Both functions are called on connections' threads: quick, no waiting.
 * Threads: safe. */
struct verifier {
    enum verdict (*verify)(void *arg, struct str credential, int64_t now_ms,
                           struct bearer *out);
    /* Is what was good when it came in still so, as of the last changed()? Expiry is
     * looked at by who asks. */
    bool (*stands)(void *arg, const struct bearer *b);
    /* Has anybody's stand changed since this was asked last? NULL: it never does. */
    bool (*changed)(void *arg);
    /* It was used; called once a minute at most. NULL: nobody minds. */
    void (*used)(void *arg, const struct bearer *b, int64_t now_ms);
    void *arg;
};

/* ---- store.c: tokens.json in a server ----------------------------------- */

struct store;
struct store *store_open(void);
void store_close(struct store *s);
struct verifier store_verifier(struct store *s);

/* ---- limits.c ----------------------------------------------------------- */

#define ACCOUNTS_MAX 4096u /* principals that are known at a time */

/* The use of the server by each principal. Threads: safe. */
struct limits;
struct limits *limits_new(unsigned per_second, unsigned running);
void limits_free(struct limits *l);
/* May this principal begin one more? Then limits_end() follows. false: how many seconds
 * he had better wait, and `why`, a literal. `first`: his first one within a minute. */
bool limits_begin(struct limits *l, const char *principal, uint64_t now_ns, bool *first,
                  unsigned *wait_s, const char **why);
void limits_end(struct limits *l, const char *principal);
/* Charges a running call as so many more; false: earlier ones are not paid off. */
bool limits_spend(struct limits *l, const char *principal, uint64_t now_ns,
                  unsigned more);

/* Log-ins that failed, by the address they came from: ten at once, then one in six
 * seconds. Who has a good credential is never asked. */
struct failures;
struct failures *failures_new(void);
void failures_free(struct failures *f);
/* Counts a failure. Returns 0, or the seconds that the address should wait. `first`: of this
 * address, after a while of quiet. */
unsigned failures_add(struct failures *f, const char *peer, uint64_t now_ns, bool *first);
