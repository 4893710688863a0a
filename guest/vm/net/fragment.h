/* guest/vm/net/fragment.h - IPv4's fragments, of UDP alone: datagrams that are larger than a frame.
 * Private to net/.
 */
#pragma once
#include "vm/net/lan.h"

void fragment_begin(void); /* there are none */
/* Takes the fragment *p, whose header has `flags` at its place. true: it was the last that was
 * missing, and *p is the whole now, until the next call. Those that overlap are refused, and what
 * they were to become with them (as RFC 5722 has it for IPv6). */
bool fragment_join(struct packet *p, uint16_t flags);
/* One whole packet in as many fragments as it needs. false: there was no room for all. */
bool fragment_send(const struct ip *from, const struct ip *to, uint8_t protocol,
                   const uint8_t *bytes, uint32_t n);
