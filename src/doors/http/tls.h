/* http/tls.h - the server's certificate: read, checked, and read again when its files
 * change. Owns gnutls here. Private to the room http.
 */
#pragma once
#include <gnutls/abstract.h>

#include "base/base.h"

struct tls;

/* Reads both PEM files; the certificate may be followed by those that signed it. NULL and
 * *e: ERR_NOT_FOUND, ERR_DENIED or ERR_IO (a file cannot be read), ERR_INVALID (it holds
 * no certificate, no key, or the two do not belong together). */
struct tls *tls_open(const char *cert_path, const char *key_path, struct err *e);
void tls_close(struct tls *t); /* NULL is fine; no handshake may be under way */

/* The calling thread's handshakes are this server's: the library's callback for
 * certificates is told nothing of whose they are. */
void tls_serve_here(struct tls *t);
gnutls_certificate_retrieve_function2 tls_retrieve;
