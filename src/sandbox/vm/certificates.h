/* vm/certificates.h - the authorities that the person has machines trust, besides those of
 * the image: a file of PEM in the configuration. Private to the room vm. */
#pragma once
#include "base/base.h"

#define CERTIFICATES_FILE "machine-certificates.pem"

/* Appends the certificates of the file in that folder, each with its BEGIN and END line, and
 * nothing else of it: no private key leaves it. None if there is no such file. false and
 * ERR_INVALID (a certificate is broken, or the file has none), ERR_LIMIT (they do not fit
 * below the buf's ceiling), ERR_IO. */
bool certificates_read(int folder, struct buf *out, struct err *e);
