/* guest/vm/net/ndp.h - Neighbour Discovery (RFC 4861): who answers for an address of IPv6, and what
 * network this is. Private to net/. */
#pragma once
#include "vm/net/lan.h"

void ndp_begin(void); /* nobody has asked yet */
/* ICMPv6 of the types 133 to 137. */
void ndp_input(const struct packet *p);
void ndp_work(void);
uint64_t ndp_due_ns(void); /* when ndp_work() has to be called; UINT64_MAX: never */
