/* An issuer's keys (a JWK set), and whether one of them signed a token.
 *
 * A key says what it is for: an algorithm is only ever tried with a key of its own kind,
 * so that no text that is public can serve as a secret (RFC 8725, section 3.1). */
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>

#include "access/oauth.h"

#define JWKS_MEMORY ((size_t)16 << 20)
#define KID_MAX 512u /* bytes */
#define RSA_LEAST 256u
#define RSA_MOST 1024u /* bytes of the modulus */
#define EXPONENT_MOST 8u
#define P256 32u /* bytes of a coordinate, or of half a signature */
#define ED25519 32u
#define ED25519_SIGNATURE 64u

enum kind { KIND_RSA, KIND_P256, KIND_ED25519 };

struct key {
    gnutls_pubkey_t public;
    enum kind kind;
    bool one_alg; /* it is for `alg` alone */
    enum jwt_alg alg;
    struct str kid; /* `at` is NULL: it has none */
    struct jwks_mark mark;
};

struct jwks {
    atomic_uint holders;
    struct arena *arena; /* holds the kids */
    struct key keys[JWKS_KEYS];
    size_t count;
};

static const struct {
    enum kind kind;
    gnutls_sign_algorithm_t sign;
    const char *name; /* as keys say it */
} ways[] = {
    [JWT_RS256] = {KIND_RSA, GNUTLS_SIGN_RSA_SHA256, "RS256"},
    [JWT_PS256] = {KIND_RSA, GNUTLS_SIGN_RSA_PSS_RSAE_SHA256, "PS256"},
    [JWT_ES256] = {KIND_P256, GNUTLS_SIGN_ECDSA_SHA256, "ES256"},
    [JWT_EDDSA] = {KIND_ED25519, GNUTLS_SIGN_EDDSA_ED25519, "EdDSA"},
};

/* ---- one key ------------------------------------------------------------ */

static gnutls_datum_t datum(struct str s)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.at, (unsigned)s.n};
}

static struct str without_zeros(struct str number)
{
    while (number.n > 1 && number.at[0] == 0)
        number.at++, number.n--;
    return number;
}

/* A member in base64url, as bytes; empty: it is not there, or not so. */
static struct str read_bytes(const struct json *jwk, const char *name, struct buf *room)
{
    struct err why = {0};
    struct str text = json_str(json_get(jwk, name));
    buf_clear(room);
    if (text.n == 0 || !crypto_base64url_read(text, room, &why))
        return STR("");
    return buf_view(room);
}

static bool import_rsa(struct key *k, const struct json *jwk)
{
    scoped_buf struct buf n_room, e_room;
    buf_init(&n_room, JWKS_MAX);
    buf_init(&e_room, JWKS_MAX);
    struct str n = without_zeros(read_bytes(jwk, "n", &n_room)),
               e = without_zeros(read_bytes(jwk, "e", &e_room));
    gnutls_datum_t modulus = datum(n), exponent = datum(e);
    k->kind = KIND_RSA;
    return n.n >= RSA_LEAST && n.n <= RSA_MOST && e.n >= 1 && e.n <= EXPONENT_MOST &&
           gnutls_pubkey_import_rsa_raw(k->public, &modulus, &exponent) == 0;
}

static bool import_curve(struct key *k, const struct json *jwk, enum kind kind)
{
    scoped_buf struct buf x_room, y_room;
    buf_init(&x_room, JWKS_MAX);
    buf_init(&y_room, JWKS_MAX);
    struct str x = read_bytes(jwk, "x", &x_room), y = read_bytes(jwk, "y", &y_room);
    gnutls_datum_t at_x = datum(x), at_y = datum(y);
    k->kind = kind;
    if (kind == KIND_ED25519)
        return x.n == ED25519 &&
               gnutls_pubkey_import_ecc_raw(k->public, GNUTLS_ECC_CURVE_ED25519, &at_x,
                                            NULL) == 0;
    return x.n == P256 && y.n == P256 &&
           gnutls_pubkey_import_ecc_raw(k->public, GNUTLS_ECC_CURVE_SECP256R1, &at_x,
                                        &at_y) == 0;
}

static bool import(struct key *k, const struct json *jwk)
{
    struct str kty = json_str(json_get(jwk, "kty")), crv = json_str(json_get(jwk, "crv"));
    if (str_is(kty, "RSA"))
        return import_rsa(k, jwk);
    if (str_is(kty, "EC") && str_is(crv, "P-256"))
        return import_curve(k, jwk, KIND_P256);
    return str_is(kty, "OKP") && str_is(crv, "Ed25519") &&
           import_curve(k, jwk, KIND_ED25519);
}

/* RFC 7517, sections 4.2 and 4.3. */
static bool is_for_signatures(const struct json *jwk)
{
    const struct json *use = json_get(jwk, "use"), *ops = json_get(jwk, "key_ops");
    bool verifies = !ops;
    struct json_iter it = json_iter(json_is(ops, JSON_ARRAY) ? ops : NULL);
    while (json_next(&it))
        verifies |= str_is(json_str(it.value), "verify");
    return verifies && (!use || str_is(json_str(use), "sig"));
}

static bool key_read_alg(struct key *k, const struct json *jwk)
{
    const struct json *v = json_get(jwk, "alg");
    struct str alg = json_str(v);
    if (str_is(alg, "Ed25519"))
        alg = STR("EdDSA");
    k->one_alg = v != NULL;
    for (size_t i = 0; v && i < LENGTH(ways); i++)
        if (str_is(alg, ways[i].name)) {
            k->alg = (enum jwt_alg)i;
            return ways[i].kind == k->kind;
        }
    return !v;
}

static bool read_kid(struct key *k, const struct json *jwk, struct arena *a)
{
    struct err why = {0};
    const struct json *v = json_get(jwk, "kid");
    struct str kid = json_str(v);
    if (!v)
        return true;
    k->kid = (struct str){arena_copy(a, kid.at, kid.n, &why), kid.n};
    return json_is(v, JSON_STRING) && kid.n <= KID_MAX && k->kid.at;
}

/* The whole of it, as it was written: what changes in it makes another key. */
static void mark_key(struct key *k, const struct json *jwk)
{
    scoped_buf struct buf text = buf_of(JWKS_MAX * 2);
    struct json_writer w = json_writer(&text);
    json_put(&w, jwk);
    crypto_hash_hex(buf_view(&text), k->mark.hash);
}

/* false: it is passed over. */
static bool read_key(struct key *k, const struct json *jwk, struct arena *a)
{
    *k = (struct key){0};
    if (!json_is(jwk, JSON_OBJECT) || !is_for_signatures(jwk) ||
        gnutls_pubkey_init(&k->public) != 0)
        return false;
    if (import(k, jwk) && key_read_alg(k, jwk) && read_kid(k, jwk, a)) {
        mark_key(k, jwk);
        return true;
    }
    gnutls_pubkey_deinit(k->public);
    return false;
}

/* ---- a set -------------------------------------------------------------- */

struct jwks *jwks_hold(struct jwks *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    return s;
}

void jwks_release(struct jwks *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < s->count; i++)
        gnutls_pubkey_deinit(s->keys[i].public);
    arena_free(s->arena);
    free(s);
}
SCOPED(jwks, jwks_release);

static bool jwks_fill(struct jwks *s, const struct json *list, struct err *e)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct key k;
        if (!read_key(&k, it.value, s->arena))
            continue;
        if (s->count == JWKS_KEYS) {
            gnutls_pubkey_deinit(k.public);
            return err_set(e, ERR_LIMIT, "the issuer has more than %u keys", JWKS_KEYS);
        }
        s->keys[s->count++] = k;
    }
    return true;
}

struct jwks *jwks_read(struct str text, struct err *e)
{
    if (text.n > JWKS_MAX) {
        err_set(e, ERR_LIMIT, "the issuer's keys have %zu bytes; %zu are accepted",
                text.n, JWKS_MAX);
        return NULL;
    }
    scoped(arena_free) struct arena *a = arena_new(JWKS_MEMORY);
    const struct json *set = json_read(text, a, e), *list = json_get(set, "keys");
    if (!json_is(list, JSON_ARRAY)) {
        err_set(e, ERR_INVALID,
                "the issuer's JWKS is not an object of the form {\"keys\": [...]}");
        return NULL;
    }
    scoped(jwks_release) struct jwks *s = mem_new(sizeof *s);
    atomic_init(&s->holders, 1);
    s->arena = arena_new(JWKS_MEMORY);
    return jwks_fill(s, list, e) ? take(s) : NULL;
}

size_t jwks_count(const struct jwks *s)
{
    return s ? s->count : 0;
}

bool jwks_has(const struct jwks *s, const struct jwks_mark *mark)
{
    for (size_t i = 0; i < jwks_count(s); i++)
        if (!strcmp(s->keys[i].mark.hash, mark->hash))
            return true;
    return false;
}

/* ---- signatures --------------------------------------------------------- */

static bool is_for(const struct key *k, enum jwt_alg alg)
{
    return k->kind == ways[alg].kind && (!k->one_alg || k->alg == alg);
}

/* A token that names no key is that of the only one there is (for its algorithm). */
static enum jwks_found jwks_find_key(const struct jwks *s, const struct jwt *t,
                                     const struct key **out)
{
    size_t found = 0;
    for (size_t i = 0; i < jwks_count(s); i++) {
        const struct key *k = &s->keys[i];
        bool named = t->kid.at ? k->kid.at && str_eq(k->kid, t->kid) : is_for(k, t->alg);
        found += named;
        *out = named ? k : *out;
    }
    if (found == 0)
        return JWKS_UNKNOWN;
    return found == 1 && is_for(*out, t->alg) ? JWKS_GOOD : JWKS_FORGED;
}

static bool key_verify(const struct key *k, enum jwt_alg alg, gnutls_datum_t *text,
                       gnutls_datum_t *signature)
{
    return gnutls_pubkey_verify_data2(k->public, ways[alg].sign, 0, text, signature) >= 0;
}

/* Two numbers of fixed size (RFC 7518, section 3.4) become what X.509 has. */
static bool verify_p256(const struct key *k, gnutls_datum_t *text, struct str pair)
{
    if (pair.n != (size_t)2 * P256)
        return false;
    gnutls_datum_t r = datum(without_zeros((struct str){pair.at, P256})),
                   s = datum(without_zeros((struct str){pair.at + P256, P256})), der;
    if (gnutls_encode_rs_value(&der, &r, &s) != 0)
        return false;
    bool good = key_verify(k, JWT_ES256, text, &der);
    free(der.data);
    return good;
}

enum jwks_found jwks_verify(const struct jwks *s, const struct jwt *t,
                            struct jwks_mark *mark)
{
    const struct key *k = NULL;
    enum jwks_found found = jwks_find_key(s, t, &k);
    if (found != JWKS_GOOD)
        return found;
    gnutls_datum_t text = datum(t->signed_part), signature = datum(t->signature);
    bool good = t->alg == JWT_ES256
                    ? verify_p256(k, &text, t->signature)
                    : (t->alg != JWT_EDDSA || t->signature.n == ED25519_SIGNATURE) &&
                          key_verify(k, t->alg, &text, &signature);
    *mark = k->mark;
    return good ? JWKS_GOOD : JWKS_FORGED;
}
