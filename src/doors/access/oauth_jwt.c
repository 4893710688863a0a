/* Reads an access token and its claims. Nothing of it is believed here: who signed it is
 * asked of the keys, by a caller who throws away what this read if they say no. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "access/oauth.h"
#include "caller/caller.h"

#define SUB_MAX 255u     /* bytes (OpenID Connect Core, section 2) */
#define SUB_AS_IT_IS 44u /* bytes that stand in a principal unchanged */
#define SECONDS_MAX 1e11 /* some thousand years on */

/* ---- its three parts ---------------------------------------------------- */

static bool jwt_split(struct str text, struct str parts[static 3])
{
    const char *end = text.at + text.n;
    for (int i = 0; i < 3; i++) {
        const char *dot = memchr(text.at, '.', (size_t)(end - text.at));
        if (!dot != (i == 2))
            return false;
        parts[i] = (struct str){text.at, (size_t)((dot ? dot : end) - text.at)};
        if (parts[i].n == 0)
            return false;
        text.at = dot ? dot + 1 : end;
    }
    return true;
}

bool jwt_is_like(struct str text)
{
    struct str parts[3];
    return text.n && jwt_split(text, parts);
}

/* Its bytes, in the arena. */
static bool jwt_decode_part(struct str part, struct arena *a, struct str *out,
                            struct err *e)
{
    scoped_buf struct buf bytes = buf_of(JWT_MAX);
    if (!crypto_base64url_read(part, &bytes, e))
        return false;
    out->at = arena_copy(a, bytes.at, bytes.n, e);
    out->n = bytes.n;
    return out->at != NULL;
}

static const struct json *read_object(struct str part, const char *what, struct arena *a,
                                      struct err *e)
{
    struct str text;
    const struct json *v =
        jwt_decode_part(part, a, &text, e) ? json_read(text, a, e) : NULL;
    if (v && !json_is(v, JSON_OBJECT))
        (void)err_set(e, ERR_INVALID, "not a JSON object");
    if (!e->code)
        return v;
    err_wrap(e, "the token's %s", what);
    return NULL;
}

/* ---- its header --------------------------------------------------------- */

static const struct {
    const char *name;
    enum jwt_alg alg;
} algorithms[] = {{"RS256", JWT_RS256},
                  {"PS256", JWT_PS256},
                  {"ES256", JWT_ES256},
                  {"EdDSA", JWT_EDDSA},
                  {"Ed25519", JWT_EDDSA}}; /* RFC 9864 */

static bool token_read_alg(const struct json *header, enum jwt_alg *out, struct err *e)
{
    struct str alg = json_str(json_get(header, "alg"));
    for (size_t i = 0; i < LENGTH(algorithms); i++) {
        if (!str_is(alg, algorithms[i].name))
            continue;
        *out = algorithms[i].alg;
        return true;
    }
    return err_set(e, ERR_INVALID,
                   "the token's algorithm is not one of RS256, PS256, ES256 and EdDSA");
}

/* An id token, or what was signed for another purpose, is no access token. */
static bool is_access_token(struct str typ)
{
    static const char *const types[] = {"at+jwt", "application/at+jwt", "JWT"};
    for (size_t i = 0; i < LENGTH(types); i++)
        if (str_same(typ, str_of(types[i])))
            return true;
    return false;
}

static bool read_header(const struct json *header, struct jwt *out, struct err *e)
{
    static const char *const refused[] = {"crit", "b64", "cty", "zip", "enc"};
    if (!token_read_alg(header, &out->alg, e))
        return false;
    for (size_t i = 0; i < LENGTH(refused); i++)
        if (json_get(header, refused[i]))
            return err_set(e, ERR_INVALID, "the token's header has '%s'", refused[i]);
    if (!is_access_token(json_str(json_get(header, "typ"))))
        return err_set(e, ERR_INVALID, "the token's type is neither at+jwt nor JWT");
    const struct json *kid = json_get(header, "kid");
    if (kid && !json_is(kid, JSON_STRING))
        return err_set(e, ERR_INVALID, "the token's kid is not a string");
    out->kid = kid ? json_str(kid) : (struct str){0};
    return true;
}

bool jwt_read(struct str text, struct arena *a, struct jwt *out, struct err *e)
{
    struct str parts[3];
    *out = (struct jwt){0};
    if (text.n > JWT_MAX)
        return err_set(e, ERR_LIMIT, "the token has %zu bytes; at most %u are accepted",
                       text.n, JWT_MAX);
    if (text.n == 0 || !jwt_split(text, parts))
        return err_set(e, ERR_INVALID, "the token does not have three parts");
    const struct json *header = read_object(parts[0], "header", a, e);
    if (!header || !read_header(header, out, e))
        return false;
    out->body = read_object(parts[1], "claims", a, e);
    out->signed_part = (struct str){text.at, parts[0].n + 1 + parts[1].n};
    return out->body && jwt_decode_part(parts[2], a, &out->signature, e);
}

/* ---- from whom, for whom, when ------------------------------------------ */

static bool is_ours(struct str audience, struct str resource)
{
    static const char *const ends[] = {"", "/", "/mcp", "/mcp/"};
    if (resource.n == 0 || audience.n < resource.n ||
        memcmp(audience.at, resource.at, resource.n) != 0)
        return false;
    struct str rest = {audience.at + resource.n, audience.n - resource.n};
    for (size_t i = 0; i < LENGTH(ends); i++)
        if (str_is(rest, ends[i]))
            return true;
    return false;
}

static bool is_for_us(const struct json *aud, struct str resource)
{
    if (json_is(aud, JSON_STRING))
        return is_ours(json_str(aud), resource);
    struct json_iter it = json_iter(json_is(aud, JSON_ARRAY) ? aud : NULL);
    bool ours = false;
    while (json_next(&it)) {
        if (!json_is(it.value, JSON_STRING))
            return false;
        ours |= is_ours(json_str(it.value), resource);
    }
    return ours;
}

/* Seconds since 1970, which may have a fraction (RFC 7519, section 2). */
static bool read_time(const struct json *body, const char *claim, bool needed,
                      int64_t *ms, struct err *e)
{
    const struct json *v = json_get(body, claim);
    double s = json_number(v, NAN);
    if (!v && !needed)
        return true;
    if (!(s > 0 && s < SECONDS_MAX))
        return err_set(e, ERR_INVALID, "the token's '%s' is not a valid time", claim);
    *ms = (int64_t)(s * 1000);
    return true;
}

static bool check_times(const struct json *body, int64_t now_ms, int64_t *expires_ms,
                        struct err *e)
{
    int64_t since_ms = 0, made_ms = 0;
    if (!read_time(body, "exp", true, expires_ms, e) ||
        !read_time(body, "nbf", false, &since_ms, e) ||
        !read_time(body, "iat", false, &made_ms, e))
        return false;
    return since_ms <= now_ms + JWT_LEEWAY_MS ||
           err_set(e, ERR_INVALID, "the token is not valid yet (nbf)");
}

/* ---- what it grants ----------------------------------------------------- */

/* "read" and "cloche:read" are the same; what is others' is passed over. */
static unsigned scope_of(struct str word)
{
    if (str_starts(word, "cloche:"))
        word = (struct str){word.at + 7, word.n - 7};
    return scope_named(word);
}

static unsigned scopes_of(struct str words)
{
    unsigned scopes = 0;
    while (words.n) {
        const char *space = memchr(words.at, ' ', words.n);
        size_t n = space ? (size_t)(space - words.at) : words.n;
        scopes |= scope_of((struct str){words.at, n});
        n += space != NULL;
        words = (struct str){words.at + n, words.n - n};
    }
    return scopes;
}

static bool read_scopes(const struct json *body, unsigned *out, struct err *e)
{
    const struct json *v = json_get(body, "scope");
    v = v ? v : json_get(body, "scp");
    *out = scopes_of(json_str(v));
    struct json_iter it = json_iter(json_is(v, JSON_ARRAY) ? v : NULL);
    while (json_next(&it))
        *out |= scope_of(json_str(it.value));
    return !v || json_is(v, JSON_STRING) || json_is(v, JSON_ARRAY) ||
           err_set(e, ERR_INVALID, "the token's scope is neither a string nor a list");
}

static bool read_level(const struct json *body, enum level *out, struct err *e)
{
    const struct json *v = json_get(body, "cloche_level");
    *out = LEVEL_FULL;
    for (int i = 0; v && i < LEVELS; i++)
        if (str_is(json_str(v), level_name((enum level)i))) {
            *out = (enum level)i;
            return true;
        }
    return !v || err_set(e, ERR_INVALID,
                         "the token's cloche_level is not one of full, limited and "
                         "zero");
}

static bool read_vaults(const struct json *body, struct policy_names otherwise,
                        struct arena *a, struct policy_names *out, struct err *e)
{
    const struct json *v = json_get(body, "cloche_vaults");
    size_t n = json_length(v);
    *out = otherwise;
    if (!v)
        return true;
    if (!json_is(v, JSON_ARRAY) || n > TOKEN_VAULTS_MAX)
        return err_set(e, ERR_INVALID,
                       "the token's cloche_vaults is not a list of at most %u",
                       TOKEN_VAULTS_MAX);
    const char **names = arena_get(a, (n + 1) * sizeof *names, e);
    if (!names)
        return false;
    *out = (struct policy_names){.at = names, .given = true};
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!json_is(it.value, JSON_STRING) ||
            !(names[out->n++] = str_cz(json_str(it.value), a, e)))
            return err_set(e, ERR_INVALID, "the token's cloche_vaults names no vaults");
    return true;
}

/* ---- who it is ---------------------------------------------------------- */

/* No '~', which stands in none but those that were shortened; no blank, no slash. */
static bool jwt_is_plain(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("._-@|:+", c));
}

/* The same for the same subject, and of no other one: what is long or odd is told by its
 * beginning and a hash of the whole. */
static void name_principal(struct str sub, char out[static PRINCIPAL_MAX])
{
    char first[13] = "", hash[CRYPTO_HASH_HEX];
    bool plain = sub.n <= SUB_AS_IT_IS;
    for (size_t i = 0; i < sub.n; i++) {
        plain &= jwt_is_plain(sub.at[i]);
        if (i + 1 < sizeof first)
            first[i] = (char)(jwt_is_plain(sub.at[i]) ? sub.at[i] : '_');
    }
    crypto_hash_hex(sub, hash);
    if (plain)
        (void)snprintf(out, PRINCIPAL_MAX, "oauth %.*s", STR_ARGS(sub));
    else
        (void)snprintf(out, PRINCIPAL_MAX, "oauth %s~%.32s", first, hash);
}

bool jwt_claims_read(const struct jwt *t, const struct jwt_wish *wish, int64_t now_ms,
                     struct arena *a, struct jwt_claims *out, struct err *e)
{
    *out = (struct jwt_claims){0};
    struct str sub = json_str(json_get(t->body, "sub"));
    if (!str_eq(json_str(json_get(t->body, "iss")), wish->issuer))
        return err_set(e, ERR_INVALID, "the token is from another issuer");
    if (!is_for_us(json_get(t->body, "aud"), wish->resource))
        return err_set(e, ERR_INVALID, "the token is for another resource");
    if (sub.n == 0 || sub.n > SUB_MAX)
        return err_set(e, ERR_INVALID, "the token has no subject of 1 to %u bytes",
                       SUB_MAX);
    name_principal(sub, out->principal);
    return check_times(t->body, now_ms, &out->expires_ms, e) &&
           read_scopes(t->body, &out->scopes, e) && read_level(t->body, &out->level, e) &&
           read_vaults(t->body, wish->vaults, a, &out->vaults, e);
}
