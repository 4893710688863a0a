/* guest/vm/net/ntp.h - a time server at the gateway (SNTP, RFC 4330): the host's clock. Private to
 * net/. */
#pragma once
#include "vm/net/lan.h"

#define NTP_PORT 123u

/* A datagram to that port, of n bytes, which may be changed. */
void ntp_query(const struct packet *p, const uint8_t *at, uint32_t n);
