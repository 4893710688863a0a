/* guest/vm/net/fragment.h - datagrams that are longer than a frame, in both directions (RFC 791, RFC
 * 5722, RFC 8200). Private to net/. */
#pragma once
#include "vm/net/lan.h"

void fragment_begin(void); /* nothing of any is there */

/* Where a fragment lies in its datagram. */
struct fragment {
    uint32_t id;
    uint32_t from; /* bytes */
    bool more;     /* behind it */
};
/* A fragment came. true: its datagram is whole, and *p is that. Of UDP and ICMP alone; what overlaps
 * is refused with all of its datagram. */
bool fragment_join(struct packet *p, const struct fragment *f);
/* In fragments of at most `mtu` bytes with their headers. false: there is no room for all of them. */
bool fragment_send(const struct ip *from, const struct ip *to, uint8_t protocol,
                   const uint8_t *bytes, uint32_t n, uint32_t mtu);

/* The header of IPv6 for them. */
#define FRAGMENT_V6 8u
