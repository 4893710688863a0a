/* guest/vm/net/tcp.h - TCP: each connection of the machine ends here, and goes on as a socket of
 * the host. Private to net/.
 */
#pragma once
#include "vm/host.h"
#include "vm/net/lan.h"

/* Its sockets are those from 0 on, and those from VM_NET_INBOUND on. */
#define TCP_CONNECTIONS 256u
#define TCP_INBOUND (VM_NET_IDS - VM_NET_INBOUND)

/* Begins, or begins anew: connections that there were are reset, and the host has none of them. */
void tcp_begin(void);
void tcp_packet(const struct packet *p);
void tcp_event(uint32_t id, uint32_t events);
/* A segment to the machine was too long; `segment` is the first 8 bytes of it. */
void tcp_too_big(const struct ip *from, const struct ip *to, const uint8_t *segment);
void tcp_resume_sending(void); /* the card has room again */
void tcp_work(void);       /* what is due, and what followed from packets and events */
uint64_t tcp_due_ns(void); /* when tcp_work() has to be called; UINT64_MAX: never */

/* For inbound.c. Takes the host's socket `id` and a connection that was not begun yet, to join
 * them. NULL: there is no memory for it, or the socket is in use. */
struct connection;
struct tcp_pcb;
struct connection *tcp_join(uint32_t id, struct tcp_pcb *p);
void tcp_joined(struct connection *c); /* the machine has accepted it */
