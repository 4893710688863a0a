/* guest/vm/net/lan.h - the network that the machine's cable leads to: who is on it, and packets
 * of IP. Private to net/.
 *
 * Whatever comes from the machine is checked here once: lengths, versions, its own addresses,
 * sums. Fragments of UDP and ICMP are put together; those of TCP, source routes and other extension
 * headers are dropped.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "vm/net/card.h"
#include "vm/net/plan.h"

enum {
    PROTOCOL_ICMP = 1,
    PROTOCOL_TCP = 6,
    PROTOCOL_UDP = 17,
    PROTOCOL_FRAGMENT = 44, /* of IPv6: a header before another */
    PROTOCOL_ICMP6 = 58
};

/* Of a packet that came from the machine; its bytes may be changed. */
struct packet {
    bool v6;
    bool joined; /* of fragments */
    bool whole;  /* no way may cut it up */
    uint8_t protocol;
    struct ip from, to;
    uint8_t *ip; /* its header, and how long that is */
    uint32_t ip_n;
    uint8_t *at; /* what is in it: at least 8 bytes, of TCP 20 */
    uint32_t n;
};

struct lan {
    uint8_t mac[6]; /* the machine's */
    uint32_t ways;  /* enum lan_ways; 0: there is no network */
};
extern struct lan lan;

/* There is no network. */
void lan_init(const uint8_t mac[6]);
/* There is one from now on, with these ways (enum lan_ways), or none. What the machine has open
 * from before is reset; the host knows nothing of it. The card's link is up, so that this arrives. */
void lan_switch(uint32_t ways, const uint8_t mac[6]);
/* On host_now_ns(), when lan_poll() has to be called; UINT64_MAX: when something has happened. */
uint64_t lan_due_ns(void);

static inline uint16_t be16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}
static inline uint32_t be32(const uint8_t *at)
{
    return (uint32_t)be16(at) << 16 | be16(at + 2);
}
static inline void put16(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}
static inline void put32(uint8_t *at, uint32_t v)
{
    put16(at, v >> 16);
    put16(at + 2, v);
}

/* The sum of the pseudo header, to which that of the bytes is added. */
struct sum;
void lan_pseudo(struct sum *s, const struct ip *from, const struct ip *to,
                uint8_t protocol, uint32_t n);
#define LAN_HEAD_MAX 54u /* Ethernet's header and IP's */
/* Ethernet's header and IP's for n bytes in it, to the machine; how long they are. */
uint32_t lan_head(uint8_t *head, const struct ip *from, const struct ip *to,
                  uint8_t protocol, uint32_t n);
/* How long a packet to the machine may be. */
uint32_t lan_mtu(bool v6);
/* A packet to it was too long, and is to have at most `mtu` bytes. true: that is news. */
bool lan_narrow(bool v6, uint32_t mtu);
/* One whole packet, in fragments if it is longer than lan_mtu(); of ICMP, ICMPv6 and UDP the sum is
 * filled in. false: there is no room. */
bool lan_send(const struct ip *from, const struct ip *to, uint8_t protocol,
              uint8_t *bytes, uint32_t n);
/* Something that is no IP. */
bool lan_send_raw(uint16_t type, const uint8_t *bytes, uint32_t n);

/* What is for each. */
void arp_input(const uint8_t *at, uint32_t n);
void icmp_input(const struct packet *p); /* ICMPv6 as well */
/* The machine is told that what it sent did not arrive. */
enum unreachable { UNREACHABLE_HOST, UNREACHABLE_PORT, UNREACHABLE_PROHIBITED };
void icmp_unreachable(const struct packet *p, enum unreachable why);
/* And that a packet that may not be cut up was longer than so many bytes. */
void icmp_too_big(const struct packet *p, uint32_t mtu);
/* The same of a packet that is not there any more, but for the first bytes in it. */
void icmp_unreachable_later(const struct ip *from, const struct ip *to, uint8_t protocol,
                            const uint8_t *at, uint32_t n, enum unreachable why);
void icmp_too_big_later(const struct ip *from, const struct ip *to, uint8_t protocol,
                        const uint8_t *at, uint32_t n, uint32_t mtu);
