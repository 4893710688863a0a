/* guest/vm/net/udp.h - UDP: a socket of the host for each pair of the machine's port and what it
 * speaks with, until that is silent for a while. Private to net/.
 */
#pragma once
#include "vm/net/lan.h"

/* Its sockets are those from here on. */
#define UDP_FIRST 256u
#define UDP_FLOWS 112u

void udp_begin(void); /* there are none, and the host has none */
void udp_packet(const struct packet *p);
void udp_event(uint32_t id, uint32_t events);
void udp_work(void);       /* ends those that were silent, and hands on what waits */
uint64_t udp_due_ns(void); /* UINT64_MAX: never */
/* Sends a datagram to the machine; `bytes` has room for its header of 8 bytes before it. */
bool udp_send(const struct ip *from, uint16_t from_port, const struct ip *to,
              uint16_t to_port, uint8_t *bytes, uint32_t n);
