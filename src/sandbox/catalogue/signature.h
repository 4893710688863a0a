/* catalogue/signature.h - who vouches for a package: "signature.json" in it.
 *
 *   {"version": 1, "algorithm": "ed25519", "key": "ed25519:...",
 *    "files": {"manifest.json": SHA-256, ...}, "signature": base64url}
 *
 * Signed is the list of all other files of the ZIP, by name, a line each as sha256sum
 * writes it, behind a first line that says what it is. Private to catalogue.
 */
#pragma once
#include "catalogue/package.h"

#define SIGNATURE_FILE "signature.json" /* at the top of the ZIP */
#define SIGNATURE_MAX ((size_t)64 << 10)

/* Is the package as it was signed? `key` is then who signed, or "" where nobody did.
 * false and ERR_DENIED: it was changed since, with both hashes; ERR_INVALID: the
 * signature cannot be read. */
bool signature_check(const struct package *p, char key[static TOOL_KEY_TEXT],
                     struct err *e);
/* Writes such a file for the package. */
bool signature_make(const struct package *p, const unsigned char *secret, struct buf *out,
                    struct err *e);
bool signature_key_read(struct str text, unsigned char *key, struct err *e);
void signature_key_text(const unsigned char *key, char out[static TOOL_KEY_TEXT]);
