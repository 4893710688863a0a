/* guest/vm/net/inbound.h - connections of the host to the machine: each comes as a socket that the
 * host has accepted, and goes on as one to a port of the machine. Private to net/. */
#pragma once
#include <stdint.h>

/* Of the sockets from VM_NET_INBOUND on. */
void inbound_event(uint32_t id, uint32_t events);
