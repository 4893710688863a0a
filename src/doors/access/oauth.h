/* access/oauth.h - what the files of OAuth share: an access token as it is read, the keys
 * of who issues them, and where those are found.
 *
 * Source: RFC 9068 (JWT access tokens), RFC 7515, 7517, 7518 and 8037 (signatures and
 * keys), RFC 8725 (what to refuse), RFC 8414 and OpenID Connect Discovery (where the keys
 * are), RFC 9728 (what we say of ourselves).
 */
#pragma once
#include "access/internal.h"

/* ---- oauth_jwt.c: a token, read but not believed ------------------------ */

#define JWT_MAX 16384u               /* bytes of one token */
#define JWT_MEMORY ((size_t)1 << 20) /* to read it */
#define JWT_LEEWAY_MS 60000          /* of clocks, for "not before" */

enum jwt_alg { JWT_RS256, JWT_PS256, JWT_ES256, JWT_EDDSA };

/* Borrowed from the text and the arena that it was read with. */
struct jwt {
    enum jwt_alg alg;
    struct str kid;          /* `at` is NULL: it names none */
    struct str signed_part;  /* what is signed */
    struct str signature;    /* as bytes */
    const struct json *body; /* its claims, an object */
};
/* Three parts with dots between them: all that jwt_read() could read? */
bool jwt_is_like(struct str text);
/* ERR_INVALID: it is none, or one that must not be used: unsigned, of an algorithm that
 * is not ours, of another type, with critical extensions, compressed, nested, a key or
 * claim twice, base64url in any but its one form. ERR_LIMIT: too large. */
bool jwt_read(struct str text, struct arena *a, struct jwt *out, struct err *e);

/* The issuer and audience that a token must have. */
struct jwt_wish {
    struct str issuer;
    struct str resource;        /* "https://notes.example": also with "/mcp" behind it */
    struct policy_names vaults; /* of tokens that name none */
};
/* The token's claims. */
struct jwt_claims {
    char principal[PRINCIPAL_MAX]; /* with its NUL */
    int64_t expires_ms;
    unsigned scopes;
    enum level level;
    struct policy_names vaults; /* in the arena, or the wish's */
};
/* ERR_INVALID: not from there, not for us, not yet, or not understood. Whether it has
 * expired is for the caller to see. */
bool jwt_claims_read(const struct jwt *t, const struct jwt_wish *wish, int64_t now_ms,
                     struct arena *a, struct jwt_claims *out, struct err *e);

/* ---- oauth_keys.c: an issuer's keys ------------------------------------- */

#define JWKS_MAX ((size_t)256 * 1024) /* bytes of a set */
#define JWKS_KEYS 64u                 /* in one */

/* An immutable set of keys. Threads: safe. */
struct jwks;
/* Keys that are not for signatures, or of no kind that we know, are passed over, as are
 * RSA keys of less than 2048 or more than 8192 bits. NULL and ERR_INVALID (no set),
 * ERR_LIMIT. */
struct jwks *jwks_read(struct str text, struct err *e);
struct jwks *jwks_hold(struct jwks *s);
void jwks_release(struct jwks *s); /* NULL is fine */
size_t jwks_count(const struct jwks *s);

/* Enough of a key to know it again in a later set. */
struct jwks_mark {
    char hash[CRYPTO_HASH_HEX];
};
enum jwks_found {
    JWKS_GOOD,
    JWKS_UNKNOWN, /* no such key: a later set may have it */
    JWKS_FORGED,  /* or two keys of that name, or one that is not for this algorithm */
};
/* `mark` is told of the key where it is good. */
enum jwks_found jwks_verify(const struct jwks *s, const struct jwt *t,
                            struct jwks_mark *mark);
bool jwks_has(const struct jwks *s, const struct jwks_mark *mark);

/* ---- oauth_issuer.c: where they are ------------------------------------- */

#define ISSUER_MAX 512u /* bytes of its URL */
#define ISSUER_PLACES 3u

/* https://HOST[:PORT][/PATH], or http:// on this machine. false and ERR_INVALID. */
bool issuer_check(const char *url, struct err *e);
/* Where its metadata may be, the best first; how many there are. */
size_t issuer_places(const char *url, char out[static ISSUER_PLACES][ISSUER_MAX + 64]);
/* The URL of the keys in such metadata; in the arena. NULL and ERR_INVALID: it is not
 * this issuer's, or names no place that may be asked. */
const char *issuer_keys_url(const char *issuer, struct str metadata, struct arena *a,
                            struct err *e);
/* Fetches its keys, which takes a while; `cancel` ends that. NULL and *e. */
struct jwks *issuer_fetch(const char *issuer, const struct cancel *cancel, struct err *e);

/* ---- oauth.c: it all together ------------------------------------------- */

struct oauth;
/* NULL and ERR_INVALID. What is borrowed outlives it. */
struct oauth *oauth_open(const struct access_oauth *o, struct err *e);
void oauth_close(struct oauth *o); /* NULL is fine */
/* How clients reach us: "https://notes.example". Until this was called every token is
 * VERDICT_LATER. Once. */
void oauth_reached_at(struct oauth *o, const char *url);
struct verifier oauth_verifier(struct oauth *o);
/* Writes WWW-Authenticate for a request without a valid token: whole, with its NUL. */
void oauth_challenge(const struct oauth *o, const char *error,
                     char out[static CHALLENGE_MAX]);
/* Is this one of the requests that are admitted without a credential? */
bool oauth_is_public(const struct http_request *rq);
#define OAUTH_METADATA "/.well-known/oauth-protected-resource"
void oauth_tell(struct oauth *o, struct http_request *rq, struct http_response *rs);
