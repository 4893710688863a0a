/* The network behind the card: frames in and out, and which of the protocols they are for. */
#include "vm/net/lan.h"
#include "vm/host.h"
#include "vm/net/dns.h"
#include "vm/net/echo.h"
#include "vm/net/fragment.h"
#include "vm/net/inbound.h"
#include "vm/net/ndp.h"
#include "vm/net/sum.h"
#include "vm/net/tcp.h"
#include "vm/net/udp.h"

enum { ETHERNET = 14, TYPE_V4 = 0x0800, TYPE_ARP = 0x0806, TYPE_V6 = 0x86dd };
enum { HEAD_V4 = 20, HEAD_V6 = 40 };

struct lan lan;

/* Somebody behind the machine that it routes for may have a shorter one; a while later it is tried
 * again. The least are those that Linux and RFC 8200 know. */
#define PATH_NS (600ull * 1000000000)
enum { MTU_LEAST_V4 = 552, MTU_LEAST_V6 = 1280 };
static struct path {
    uint32_t mtu;
    uint64_t until_ns; /* 0: nothing is known */
} paths[2];            /* of IPv4, of IPv6 */

/* `mac` may be lan.mac. */
void lan_init(const uint8_t mac[6])
{
    struct lan begun = {0};
    __builtin_memcpy(begun.mac, mac, 6);
    lan = begun;
}

/* ---- what the machine sends -------------------------------------------------------- */

enum { WHOLE_V4 = 0x4000, MORE_V4 = 0x2000, OFFSET_V4 = 0x1fff };
enum { MORE_V6 = 1, OFFSET_V6 = 0xfff8 };

static bool read_v4(struct packet *p, uint8_t *at, uint32_t n)
{
    if (n < HEAD_V4 || at[0] >> 4 != 4)
        return false;
    uint32_t head = (at[0] & 15) * 4u, total = be16(at + 2);
    struct sum s = {0};
    uint16_t flags = be16(at + 6);
    if (head != HEAD_V4 || total > n || total < head)
        return false;
    sum_add(&s, at, head);
    if (sum_value(&s) != 0xffff)
        return false;
    *p = (struct packet){
        .protocol = at[9], .ip = at, .ip_n = head, .at = at + head, .n = total - head};
    p->whole = flags & WHOLE_V4;
    p->from = ip_v4(be32(at + 12));
    p->to = ip_v4(be32(at + 16));
    if (!(flags & (MORE_V4 | OFFSET_V4)))
        return true;
    struct fragment f = {be16(at + 4), (flags & OFFSET_V4) * 8u, flags & MORE_V4};
    return plan_is_machine(&p->from) && fragment_join(p, &f);
}

static bool read_fragment(struct packet *p)
{
    if (p->n < FRAGMENT_V6 || !plan_is_machine(&p->from))
        return false;
    uint16_t place = be16(p->at + 2);
    struct fragment f = {be32(p->at + 4), place & OFFSET_V6, place & MORE_V6};
    p->protocol = p->at[0];
    p->at += FRAGMENT_V6;
    p->n -= FRAGMENT_V6;
    return fragment_join(p, &f);
}

/* An IPv4 address in the spelling of IPv6 is none on a wire. */
static bool read_v6(struct packet *p, uint8_t *at, uint32_t n)
{
    if (n < HEAD_V6 || at[0] >> 4 != 6)
        return false;
    uint32_t inside = be16(at + 4);
    if (inside > n - HEAD_V6)
        return false;
    *p = (struct packet){.v6 = true,
                         .whole = true,
                         .protocol = at[6],
                         .ip = at,
                         .ip_n = HEAD_V6,
                         .at = at + HEAD_V6,
                         .n = inside};
    __builtin_memcpy(p->from.at, at + 8, 16);
    __builtin_memcpy(p->to.at, at + 24, 16);
    if (ip_is_v4(&p->from) || ip_is_v4(&p->to))
        return false;
    return p->protocol != PROTOCOL_FRAGMENT || read_fragment(p);
}

void lan_pseudo(struct sum *s, const struct ip *from, const struct ip *to,
                uint8_t protocol, uint32_t n)
{
    uint8_t end[8] = {0};
    uint32_t skip = ip_is_v4(to) ? 12 : 0;
    put32(end, n);
    end[7] = protocol;
    sum_add(s, from->at + skip, 16 - skip);
    sum_add(s, to->at + skip, 16 - skip);
    sum_add(s, end, sizeof end);
}

/* Is it what its sum says? One that is open says nothing. UDP over IPv4 may have none. */
static bool is_whole(const struct packet *p, bool open)
{
    struct sum s = {0};
    bool none = p->protocol == PROTOCOL_UDP && !p->v6 && p->n >= 8 && !be16(p->at + 6);
    if (open || none)
        return true;
    if (p->protocol != PROTOCOL_ICMP)
        lan_pseudo(&s, &p->from, &p->to, p->protocol, p->n);
    sum_add(&s, p->at, p->n);
    return sum_value(&s) == 0xffff;
}

/* Is it from one of its addresses, or from none while it asks for one? */
static bool is_from_machine(const struct packet *p)
{
    return ip_is_none(&p->from) ? p->protocol == (p->v6 ? PROTOCOL_ICMP6 : PROTOCOL_UDP)
                                : plan_is_machine(&p->from);
}

/* Packets of TCP may stand for several, and what may be cut up comes as it was put together. */
static bool is_too_long(const struct packet *p)
{
    return p->ip_n + p->n > CARD_MTU && p->whole && !p->joined &&
           p->protocol != PROTOCOL_TCP;
}

static void take(struct packet *p, bool sum_is_open)
{
    uint32_t least = p->protocol == PROTOCOL_TCP ? 20 : 8;
    if (p->n < least || !is_from_machine(p))
        return;
    if (is_too_long(p)) {
        icmp_too_big(p, CARD_MTU);
        return;
    }
    if (!is_whole(p, sum_is_open && !p->joined))
        return;
    switch (p->protocol) {
    case PROTOCOL_ICMP:
    case PROTOCOL_ICMP6:
        if (p->v6 == (p->protocol == PROTOCOL_ICMP6))
            icmp_input(p);
        break;
    case PROTOCOL_TCP:
        tcp_packet(p);
        tcp_work();
        break;
    case PROTOCOL_UDP:
        udp_packet(p);
        break;
    default:
        break;
    }
}

void lan_input(uint8_t *frame, uint32_t n, bool sum_is_open)
{
    struct packet p;
    if (n < ETHERNET || __builtin_memcmp(frame + 6, lan.mac, 6) != 0)
        return;
    bool for_us = frame[0] & 1 || __builtin_memcmp(frame, lan_gateway_mac, 6) == 0;
    uint8_t *at = frame + ETHERNET;
    n -= ETHERNET;
    if (!for_us)
        return;
    switch (be16(frame + 12)) {
    case TYPE_ARP:
        arp_input(at, n);
        break;
    case TYPE_V4:
        if (read_v4(&p, at, n))
            take(&p, sum_is_open);
        break;
    case TYPE_V6:
        if (lan.ways & LAN_WAY_V6 && read_v6(&p, at, n))
            take(&p, sum_is_open);
        break;
    default:
        break;
    }
}

/* ---- what it receives -------------------------------------------------------------- */

static void ethernet(uint8_t *head, uint16_t type)
{
    __builtin_memcpy(head, lan.mac, 6);
    __builtin_memcpy(head + 6, lan_gateway_mac, 6);
    put16(head + 12, type);
}

/* Which cards a packet to many is for. */
static void to_many(uint8_t *head, const struct ip *to)
{
    __builtin_memset(head, ip_is_v4(to) ? 0xff : 0x33, 6);
    if (!ip_is_v4(to))
        __builtin_memcpy(head + 2, to->at + 12, 4);
}

static uint32_t head_v4(uint8_t *at, const struct ip *from, const struct ip *to,
                        uint8_t protocol, uint32_t n)
{
    struct sum s = {0};
    __builtin_memset(at, 0, HEAD_V4);
    at[0] = 0x45;
    put16(at + 2, HEAD_V4 + n);
    at[6] = 0x40; /* not to be cut */
    at[8] = 64;
    at[9] = protocol;
    put32(at + 12, ip_to_v4(from));
    put32(at + 16, ip_to_v4(to));
    sum_add(&s, at, HEAD_V4);
    sum_write(&s, at + 10);
    return HEAD_V4;
}

static uint32_t head_v6(uint8_t *at, const struct ip *from, const struct ip *to,
                        uint8_t protocol, uint32_t n)
{
    put32(at, 0x60000000);
    put16(at + 4, n);
    at[6] = protocol;
    at[7] = 255;
    __builtin_memcpy(at + 8, from->at, 16);
    __builtin_memcpy(at + 24, to->at, 16);
    return HEAD_V6;
}

uint32_t lan_head(uint8_t *head, const struct ip *from, const struct ip *to,
                  uint8_t protocol, uint32_t n)
{
    bool v4 = ip_is_v4(to);
    ethernet(head, v4 ? TYPE_V4 : TYPE_V6);
    if (plan_is_many(to))
        to_many(head, to);
    return ETHERNET + (v4 ? head_v4 : head_v6)(head + ETHERNET, from, to, protocol, n);
}

/* ---- how long packets to the machine may be ---------------------------------------- */

uint32_t lan_mtu(bool v6)
{
    const struct path *p = &paths[v6];
    return p->until_ns > host_now_ns() ? p->mtu : CARD_MTU;
}

bool lan_narrow(bool v6, uint32_t mtu)
{
    uint32_t least = v6 ? MTU_LEAST_V6 : MTU_LEAST_V4;
    if (mtu >= lan_mtu(v6))
        return false;
    paths[v6] = (struct path){mtu < least ? least : mtu, host_now_ns() + PATH_NS};
    return true;
}

static void fill_sum(const struct ip *from, const struct ip *to, uint8_t protocol,
                     uint8_t *bytes, uint32_t n)
{
    struct sum s = {0};
    uint8_t *at = bytes + (protocol == PROTOCOL_UDP ? 6 : 2);
    put16(at, 0);
    if (protocol != PROTOCOL_ICMP)
        lan_pseudo(&s, from, to, protocol, n);
    sum_add(&s, bytes, n);
    sum_write(&s, at);
    if (protocol == PROTOCOL_UDP && !be16(at))
        put16(at, 0xffff); /* 0 would say that there is none */
}

bool lan_send(const struct ip *from, const struct ip *to, uint8_t protocol,
              uint8_t *bytes, uint32_t n)
{
    uint8_t head[LAN_HEAD_MAX];
    struct piece body = {bytes, n};
    fill_sum(from, to, protocol, bytes, n);
    uint32_t mtu = lan_mtu(!ip_is_v4(to));
    if (n > mtu - (ip_is_v4(to) ? HEAD_V4 : HEAD_V6))
        return fragment_send(from, to, protocol, bytes, n, mtu);
    struct card_frame f = {.head = head,
                           .head_n = lan_head(head, from, to, protocol, n),
                           .body = &body,
                           .body_count = 1};
    return card_send(&f);
}

bool lan_send_raw(uint16_t type, const uint8_t *bytes, uint32_t n)
{
    uint8_t head[ETHERNET];
    struct piece body = {bytes, n};
    ethernet(head, type);
    return card_send(&(struct card_frame){
        .head = head, .head_n = sizeof head, .body = &body, .body_count = 1});
}

void lan_room(void)
{
    tcp_resume_sending();
    udp_work();
    echo_work();
}

static void happened(uint32_t id, uint32_t events)
{
    if (id < TCP_CONNECTIONS)
        tcp_event(id, events);
    else if (id < UDP_FIRST + UDP_FLOWS)
        udp_event(id, events);
    else if (id < ECHO_FIRST + ECHO_FLOWS)
        echo_event(id, events);
    else if (id < DNS_FIRST + DNS_PENDING)
        dns_event(id, events);
    else if (id >= VM_NET_INBOUND && id < VM_NET_IDS)
        inbound_event(id, events);
}

void lan_poll(void)
{
    struct vm_net_event events[64];
    uint32_t n;
    do {
        n = host_net_events(events, sizeof events / sizeof *events);
        n = n < sizeof events / sizeof *events ? n : sizeof events / sizeof *events;
        for (uint32_t i = 0; i < n; i++)
            happened(events[i].id, events[i].events);
    } while (n == sizeof events / sizeof *events);
    tcp_work();
    udp_work();
    echo_work();
    ndp_work();
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t lan_due_ns(void)
{
    if (!lan.ways)
        return UINT64_MAX;
    return earlier(earlier(tcp_due_ns(), udp_due_ns()),
                   earlier(echo_due_ns(), ndp_due_ns()));
}

void lan_switch(uint32_t ways, const uint8_t mac[6])
{
    bool had = lan.ways != 0;
    lan_init(mac);
    lan.ways = ways;
    __builtin_memset(paths, 0, sizeof paths);
    if (!ways && !had)
        return;
    ndp_begin();
    tcp_begin();
    udp_begin();
    echo_begin();
    dns_begin();
    fragment_begin();
}
