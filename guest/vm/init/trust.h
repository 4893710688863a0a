/* vm/init/trust.h - the authorities that the person added to those of the image. */
#pragma once
#include <stddef.h>

/* Certificates in PEM, each ended by its END line. They become part of the bundle in
 * /etc/ssl/certs, and files of /usr/local/share/ca-certificates. Failures are logged on
 * the console, and ignored. */
void trust(const char *pem, size_t n);
