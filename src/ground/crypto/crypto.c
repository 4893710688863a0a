#include "crypto/crypto.h"

#include <sodium.h>

#include "os/os.h"

/* Chooses the fastest code for this processor, the first time; idempotent and
 * safe between threads. */
static void ready(void)
{
    must(sodium_init() >= 0);
}

static const unsigned char *bytes_of(struct str s)
{
    return (const unsigned char *)s.at;
}

/* ---- hashes ------------------------------------------------------------- */

void crypto_sha256_hex(struct str bytes, char out[static CRYPTO_SHA256_HEX])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    must(crypto_hash_sha256(digest, bytes_of(bytes), bytes.n) == 0);
    (void)sodium_bin2hex(out, CRYPTO_SHA256_HEX, digest, sizeof digest);
}

struct crypto_sha256 {
    crypto_hash_sha256_state state;
};

struct crypto_sha256 *crypto_sha256_new(void)
{
    struct crypto_sha256 *s = mem_new(sizeof *s);
    (void)crypto_hash_sha256_init(&s->state);
    return s;
}

void crypto_sha256_free(struct crypto_sha256 *s)
{
    free(s);
}

void crypto_sha256_put(struct crypto_sha256 *s, struct str part)
{
    (void)crypto_hash_sha256_update(&s->state, bytes_of(part), part.n);
}

void crypto_sha256_end(struct crypto_sha256 *s, char out[static CRYPTO_SHA256_HEX])
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256_final(&s->state, digest);
    (void)sodium_bin2hex(out, CRYPTO_SHA256_HEX, digest, sizeof digest);
}

void crypto_blake2b(struct str bytes, unsigned char out[static CRYPTO_BLAKE2B])
{
    ready();
    must(crypto_generichash(out, CRYPTO_BLAKE2B, bytes_of(bytes), bytes.n, NULL, 0) == 0);
}

void crypto_hash_hex(struct str bytes, char out[static CRYPTO_HASH_HEX])
{
    unsigned char digest[CRYPTO_BLAKE2B];
    crypto_blake2b(bytes, digest);
    (void)sodium_bin2hex(out, CRYPTO_HASH_HEX, digest, sizeof digest);
}

void crypto_hmac_hex(const unsigned char key[static CRYPTO_KEY], struct str first,
                     struct str second, char out[static CRYPTO_SHA256_HEX],
                     unsigned char *raw)
{
    crypto_auth_hmacsha256_state state;
    unsigned char mac[crypto_auth_hmacsha256_BYTES];
    _Static_assert(CRYPTO_SHA256_HEX == 2 * sizeof mac + 1, "two digits a byte");
    (void)crypto_auth_hmacsha256_init(&state, key, CRYPTO_KEY);
    (void)crypto_auth_hmacsha256_update(&state, bytes_of(first), first.n);
    (void)crypto_auth_hmacsha256_update(&state, bytes_of(second), second.n);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    (void)sodium_bin2hex(out, CRYPTO_SHA256_HEX, mac, sizeof mac);
    if (raw)
        memcpy(raw, mac, sizeof mac);
}

/* ---- sealing ------------------------------------------------------------ */

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
_Static_assert(CRYPTO_SEAL_EXTRA == NONCE + TAG, "a nonce before, a tag behind");
_Static_assert(CRYPTO_KEY == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "one key");

bool crypto_seal(const unsigned char key[static CRYPTO_KEY], struct str bound,
                 struct str plain, struct buf *out)
{
    ready();
    if (plain.n > SIZE_MAX / 2) {
        out->failed = true;
        return false;
    }
    unsigned char *room = (unsigned char *)buf_room(out, plain.n + CRYPTO_SEAL_EXTRA);
    if (!room)
        return false;
    os_random(room, NONCE); /* of 192 bits no two are ever alike */
    (void)crypto_aead_xchacha20poly1305_ietf_encrypt(room + NONCE, NULL, bytes_of(plain),
                                                     plain.n, bytes_of(bound), bound.n,
                                                     NULL, room, key);
    out->n += plain.n + CRYPTO_SEAL_EXTRA;
    return true;
}

bool crypto_unseal(const unsigned char key[static CRYPTO_KEY], struct str bound,
                   struct str sealed, struct buf *out)
{
    ready();
    if (sealed.n < CRYPTO_SEAL_EXTRA)
        return false;
    size_t n = sealed.n - CRYPTO_SEAL_EXTRA;
    /* A byte more: an empty text would need no room at all. */
    unsigned char *room = (unsigned char *)buf_room(out, n + 1);
    if (!room || crypto_aead_xchacha20poly1305_ietf_decrypt(
                     room, NULL, NULL, bytes_of(sealed) + NONCE, sealed.n - NONCE,
                     bytes_of(bound), bound.n, bytes_of(sealed), key) != 0)
        return false;
    out->n += n;
    return true;
}

/* ---- tokens ------------------------------------------------------------- */

static bool encode(const void *bytes, size_t n, int variant, struct buf *out)
{
    if (n > SIZE_MAX / 4) {
        out->failed = true;
        return false;
    }
    size_t length = sodium_base64_encoded_len(n, variant); /* and a NUL */
    char *room = buf_room(out, length);
    if (!room)
        return false;
    (void)sodium_bin2base64(room, length, bytes, n, variant);
    out->n += length - 1;
    return true;
}

bool crypto_base64url(const void *bytes, size_t n, struct buf *out)
{
    return encode(bytes, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING, out);
}

bool crypto_base64(const void *bytes, size_t n, struct buf *out)
{
    return encode(bytes, n, sodium_base64_VARIANT_ORIGINAL, out);
}

/* libsodium reads some bytes beyond ASCII as if they were digits. */
static bool is_ascii(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.at[i] >= 0x80)
            return false;
    return true;
}

static bool base64_decode(struct str text, int variant, const char *what, struct buf *out,
                          struct err *e)
{
    size_t n = 0, room = text.n / 4 * 3 + 3;
    unsigned char *to = (unsigned char *)buf_room(out, room);
    if (!to)
        return buf_check(out, what, e);
    if (!is_ascii(text) ||
        sodium_base642bin(to, room, text.at, text.n, NULL, &n, NULL, variant) != 0)
        return err_set(e, ERR_INVALID, "this is not %s", what);
    out->n += n;
    return true;
}

bool crypto_base64_read(struct str text, struct buf *out, struct err *e)
{
    return base64_decode(text, sodium_base64_VARIANT_ORIGINAL,
                         "base64 (RFC 4648, with padding)", out, e);
}

bool crypto_base64url_read(struct str text, struct buf *out, struct err *e)
{
    return base64_decode(text, sodium_base64_VARIANT_URLSAFE_NO_PADDING,
                         "base64url (RFC 4648, without padding)", out, e);
}

void crypto_token(char out[static CRYPTO_TOKEN])
{
    unsigned char secret[32];
    os_random(secret, sizeof secret);
    (void)sodium_bin2base64(out, CRYPTO_TOKEN, secret, sizeof secret,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(secret, sizeof secret);
}

bool crypto_equal(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || sodium_memcmp(a.at, b.at, a.n) == 0);
}

void crypto_sum_hex(struct str name, struct str bytes, char out[static CRYPTO_SUM_HEX])
{
    unsigned char key[CRYPTO_BLAKE2B], tag[crypto_onetimeauth_poly1305_BYTES];
    _Static_assert(sizeof key == crypto_onetimeauth_poly1305_KEYBYTES, "one key");
    _Static_assert(CRYPTO_SUM_HEX == 2 * sizeof tag + 1, "two digits a byte");
    crypto_blake2b(name, key);
    crypto_onetimeauth_poly1305(tag, (const unsigned char *)bytes.at, bytes.n, key);
    (void)sodium_bin2hex(out, CRYPTO_SUM_HEX, tag, sizeof tag);
}

/* ---- signatures --------------------------------------------------------- */

_Static_assert(CRYPTO_SIGN_SECRET == crypto_sign_SEEDBYTES, "a seed");
_Static_assert(CRYPTO_SIGN_PUBLIC == crypto_sign_PUBLICKEYBYTES, "a public key");
_Static_assert(CRYPTO_SIGNATURE == crypto_sign_BYTES, "a signature");

void crypto_sign_public(const unsigned char secret[static CRYPTO_SIGN_SECRET],
                        unsigned char out[static CRYPTO_SIGN_PUBLIC])
{
    unsigned char both[crypto_sign_SECRETKEYBYTES];
    ready();
    must(crypto_sign_seed_keypair(out, both, secret) == 0);
    sodium_memzero(both, sizeof both);
}

void crypto_sign_text(const unsigned char secret[static CRYPTO_SIGN_SECRET],
                      struct str text, unsigned char out[static CRYPTO_SIGNATURE])
{
    unsigned char both[crypto_sign_SECRETKEYBYTES], key[CRYPTO_SIGN_PUBLIC];
    ready();
    must(crypto_sign_seed_keypair(key, both, secret) == 0);
    must(crypto_sign_detached(out, NULL, bytes_of(text), text.n, both) == 0);
    sodium_memzero(both, sizeof both);
}

bool crypto_signed(const unsigned char key[static CRYPTO_SIGN_PUBLIC], struct str text,
                   const unsigned char signature[static CRYPTO_SIGNATURE])
{
    ready();
    return crypto_sign_verify_detached(signature, bytes_of(text), text.n, key) == 0;
}
