/* First line: a token; second: an issuer's metadata; the rest: its keys. What is read of a
 * token is what stands there, in its only spelling, and whoever it names is told in print;
 * no key is good for a token unless the set has it. */
#include "access/oauth.h"
#include "driver.h"

/* Its third part, spelt again, is the same. */
static void holds_spelling(struct str text, const struct jwt *t)
{
    scoped_buf struct buf again;
    buf_init(&again, JWT_MAX * 2);
    holds(text.n <= JWT_MAX && is_inside(t->signed_part, text));
    holds(crypto_base64url(t->signature.at, t->signature.n, &again));
    struct str last = {text.at + t->signed_part.n + 1, text.n - t->signed_part.n - 1};
    holds(str_eq(buf_view(&again), last));
    holds(t->body && json_is(t->body, JSON_OBJECT));
}

static void holds_claims(const struct jwt *t, struct arena *a)
{
    const struct jwt_wish wish = {.issuer = STR("https://i"),
                                  .resource = STR("https://r")};
    struct jwt_claims c;
    struct err e = {0};
    if (!jwt_claims_read(t, &wish, 1700000000000, a, &c, &e)) {
        holds_error(&e);
        return;
    }
    struct str name = str_of(c.principal);
    holds(str_starts(name, "oauth ") && name.n > 6 && name.n < PRINCIPAL_MAX);
    for (size_t i = 6; i < name.n; i++)
        holds(name.at[i] > ' ' && name.at[i] <= '~' && name.at[i] != '/');
    holds(!(c.scopes & ~SCOPE_ALL) && c.vaults.n <= TOKEN_VAULTS_MAX && c.expires_ms > 0);
    holds(str_is(json_str(json_get(t->body, "iss")), "https://i"));
}

static void try_metadata(struct str text, struct arena *a)
{
    struct err e = {0};
    const char *url = issuer_keys_url("https://i", text, a, &e);
    if (url)
        holds(str_starts(str_of(url), "https://"));
    else
        holds_error(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, text = next_part(&rest),
               metadata = next_part(&rest);
    scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
    struct err e = {0};
    struct jwt t;
    struct jwks_mark mark;
    try_metadata(metadata, a);
    struct jwks *keys = jwks_read(rest, &e);
    if (!keys)
        holds_error(&e);
    holds(jwks_count(keys) <= JWKS_KEYS);
    e = (struct err){0};
    if (jwt_read(text, a, &t, &e)) {
        holds(jwt_is_like(text));
        holds_spelling(text, &t);
        holds_claims(&t, a);
        if (jwks_verify(keys, &t, &mark) == JWKS_GOOD)
            holds(jwks_has(keys, &mark));
    } else {
        holds_error(&e);
    }
    jwks_release(keys);
    return 0;
}
