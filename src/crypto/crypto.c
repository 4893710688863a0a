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

bool crypto_base64_read(struct str text, struct buf *out, struct err *e)
{
    size_t n = 0, room = text.n / 4 * 3 + 3;
    unsigned char *to = (unsigned char *)buf_room(out, room);
    if (!to)
        return buf_check(out, "base64", e);
    if (sodium_base642bin(to, room, text.at, text.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        return err_set(e, ERR_INVALID, "this is not base64 (RFC 4648, with padding)");
    out->n += n;
    return true;
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
