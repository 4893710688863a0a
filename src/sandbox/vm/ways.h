/* vm/ways.h - which IP this computer has: what its machines are told of their networks, and which
 * addresses of a name lead anywhere. Nothing is sent to find out. Private to the room vm.
 * Threads: safe. */
#pragma once
#include "abi/plan.h"
#include "base/base.h"

uint32_t ways_here(void); /* now; enum lan_ways */
/* Is there a way from here to that address (IPv4 as ::ffff:a.b.c.d)? To the Internet by IPv6 alone
 * there is one only from an address of the Internet, or where there is no IPv4: a private network
 * that routes its own addresses leads no further. */
bool ways_lead_to(const uint8_t address[16]);
