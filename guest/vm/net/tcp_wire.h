/* guest/vm/net/tcp_wire.h - lwIP's one interface. Private to net/.
 */
#pragma once
#include <lwip/ip_addr.h>

#include "vm/net/lan.h"

/* Bytes of TCP in a frame; for less than these nothing is asked of the host. */
#define WIRE_SEGMENT_LEAST 1440u
uint32_t wire_segment(bool v6);

void wire_begin(void); /* once, behind lwip_init() */
struct ip wire_ip(const ip_addr_t *a);
/* A segment of the machine. */
void wire_give(const struct ip *from, const struct ip *to, const uint8_t *at, uint32_t n);
/* Nobody is there: RST for a SYN. */
void wire_refuse(const struct ip *from, const struct ip *to, const uint8_t *syn);
