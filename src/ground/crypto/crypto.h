/* crypto/crypto.h - hashes, sealing, tokens and comparison that does not leak.
 *
 * A thin door before libsodium, so that algorithms are chosen in one place.
 * Nothing here fails: inputs are in memory and outputs are of fixed size.
 * Threads: safe.
 */
#pragma once
#include "base/base.h"

/* ---- hashes ------------------------------------------------------------- */

#define CRYPTO_SHA256_HEX 65 /* 64 lower-case digits and a NUL */

/* SHA-256 (FIPS 180-4), in hexadecimal: the public hash of a note's bytes. */
void crypto_sha256_hex(struct str bytes, char out[static CRYPTO_SHA256_HEX]);
/* The same of bytes that come in parts. */
struct crypto_sha256;
struct crypto_sha256 *crypto_sha256_new(void);
void crypto_sha256_free(struct crypto_sha256 *s); /* NULL is fine */
SCOPED(crypto_sha256, crypto_sha256_free);
void crypto_sha256_put(struct crypto_sha256 *s, struct str part);
void crypto_sha256_end(struct crypto_sha256 *s, char out[static CRYPTO_SHA256_HEX]);

#define CRYPTO_BLAKE2B 32  /* bytes */
#define CRYPTO_HASH_HEX 65 /* 64 lower-case digits and a NUL */

/* BLAKE2b-256 (RFC 7693): our own hash, the faster one, raw and in hexadecimal. */
void crypto_blake2b(struct str bytes, unsigned char out[static CRYPTO_BLAKE2B]);
void crypto_hash_hex(struct str bytes, char out[static CRYPTO_HASH_HEX]);

#define CRYPTO_SUM_HEX 33 /* 32 lower-case digits and a NUL */

/* A checksum, several times faster than the hashes: Poly1305 (RFC 8439) under a
 * key made from `name`. Finds damage and what was stored under another name; not
 * one who can compute it himself. */
void crypto_sum_hex(struct str name, struct str bytes, char out[static CRYPTO_SUM_HEX]);

#define CRYPTO_KEY 32 /* bytes */

/* HMAC-SHA-256 (RFC 2104) over two texts, one after the other, in hexadecimal and, where
 * `raw` is not NULL, raw. */
void crypto_hmac_hex(const unsigned char key[static CRYPTO_KEY], struct str first,
                     struct str second, char out[static CRYPTO_SHA256_HEX],
                     unsigned char *raw);

/* ---- sealing ------------------------------------------------------------ */

#define CRYPTO_SEAL_EXTRA 40u /* bytes that a sealed text is longer: nonce and tag */

/* Appends `plain` so that only who has the key can read it or make another that opens:
 * XChaCha20-Poly1305 (RFC 8439 with a nonce of 192 random bits). `bound` is not in it, but
 * must be the same when it is opened. false at the buf's ceiling. */
bool crypto_seal(const unsigned char key[static CRYPTO_KEY], struct str bound,
                 struct str plain, struct buf *out);
/* Appends what was sealed. false: it was not sealed so, or at the buf's ceiling. */
bool crypto_unseal(const unsigned char key[static CRYPTO_KEY], struct str bound,
                   struct str sealed, struct buf *out);

/* ---- tokens ------------------------------------------------------------- */

#define CRYPTO_TOKEN 44 /* 43 characters and a NUL */

/* 256 random bits as base64url without padding (RFC 4648, section 5). */
void crypto_token(char out[static CRYPTO_TOKEN]);
/* Appends `n` bytes as base64url without padding. false at the buf's ceiling. */
bool crypto_base64url(const void *bytes, size_t n, struct buf *out);
/* Appends the bytes that are spelt so. The reader gives ERR_INVALID and ERR_LIMIT. */
bool crypto_base64url_read(struct str text, struct buf *out, struct err *e);

/* Base64 with padding (RFC 4648, section 4), as Uint8Array's toBase64() and
 * fromBase64() have it. Appends. The reader gives ERR_INVALID and ERR_LIMIT. */
bool crypto_base64(const void *bytes, size_t n, struct buf *out);
bool crypto_base64_read(struct str text, struct buf *out, struct err *e);

/* Equal? The time taken depends on the lengths alone. */
bool crypto_equal(struct str a, struct str b);

/* ---- signatures --------------------------------------------------------- */

#define CRYPTO_SIGN_SECRET 32 /* bytes: a seed */
#define CRYPTO_SIGN_PUBLIC 32
#define CRYPTO_SIGNATURE 64

/* Ed25519 (RFC 8032). */
void crypto_sign_public(const unsigned char secret[static CRYPTO_SIGN_SECRET],
                        unsigned char out[static CRYPTO_SIGN_PUBLIC]);
void crypto_sign_text(const unsigned char secret[static CRYPTO_SIGN_SECRET],
                      struct str text, unsigned char out[static CRYPTO_SIGNATURE]);
/* false: it was not made by that key, of that text. */
bool crypto_signed(const unsigned char key[static CRYPTO_SIGN_PUBLIC], struct str text,
                   const unsigned char signature[static CRYPTO_SIGNATURE]);
