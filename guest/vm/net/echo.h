/* guest/vm/net/echo.h - ICMP's echo (ping) of others than the gateway: a socket of the host for each
 * identifier and address, until that is silent for a while. Private to net/.
 */
#pragma once
#include "vm/net/lan.h"

/* Its sockets are those from here on. */
#define ECHO_FIRST 368u
#define ECHO_FLOWS 16u

void echo_begin(void); /* there are none, and the host has none */
/* An echo request of ICMP, or of ICMPv6, of 8 bytes at least. Its bytes are changed. */
void echo_packet(const struct packet *p);
void echo_event(uint32_t id, uint32_t events);
void echo_work(void);       /* ends those that were silent, and hands on replies */
uint64_t echo_due_ns(void); /* UINT64_MAX: never */
