/* guest/vm/net/tcp_wire.h - lwIP's one interface. Private to net/.
 */
#pragma once
#include <lwip/ip_addr.h>

#include "vm/net/lan.h"

/* Bytes of TCP in a frame, where the machine takes frames that stand for several. */
#define WIRE_SEGMENT_V4 1460u
#define WIRE_SEGMENT_V6 1440u

void wire_begin(void); /* once, behind lwip_init() */
struct ip wire_ip(const ip_addr_t *a);
/* A segment of the machine. */
void wire_give(const struct ip *from, const struct ip *to, const uint8_t *at, uint32_t n);
/* Nobody is there: RST for a SYN. */
void wire_refuse(const struct ip *from, const struct ip *to, const uint8_t *syn);
