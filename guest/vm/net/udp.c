/* UDP. What is for the gateway itself is answered by dhcp.c and dns.c. */
#include "vm/net/udp.h"
#include "vm/host.h"
#include "vm/net/dhcp.h"
#include "vm/net/dns.h"
#include "vm/net/flows.h"
#include "vm/net/ntp.h"

#define HEADER 8u
#define DATAGRAM_MAX 65507u
enum { PORT_DHCP = 67 };

static struct flow udp_flows[UDP_FLOWS];
static struct flows flows = {udp_flows, UDP_FLOWS, UDP_FIRST, 0};

bool udp_send(const struct ip *from, uint16_t from_port, const struct ip *to,
              uint16_t to_port, uint8_t *bytes, uint32_t n)
{
    uint8_t *head = bytes - HEADER;
    put16(head, from_port);
    put16(head + 2, to_port);
    put16(head + 4, HEADER + n);
    return lan_send(from, to, PROTOCOL_UDP, head, HEADER + n);
}

void udp_begin(void)
{
    flows_begin(&flows);
}

static void to_gateway(const struct packet *p, uint8_t *bytes, uint32_t n)
{
    struct dns_client client = {.from = p->from, .to = p->to, .from_port = be16(p->at)};
    switch (be16(p->at + 2)) {
    case DNS_PORT:
        (void)dns_query(&client, bytes, n);
        break;
    case NTP_PORT:
        ntp_query(p, bytes, n);
        break;
    case PORT_DHCP:
        if (!p->v6) {
            dhcp_input(p, bytes, n);
            break;
        }
        /* fall through */
    default:
        icmp_unreachable(p, UNREACHABLE_PORT);
        break;
    }
}

static bool is_gateway(const struct packet *p)
{
    bool all = !p->v6 && ip_to_v4(&p->to) == UINT32_MAX;
    return plan_is_gateway(&p->to) || (all && be16(p->at + 2) == PORT_DHCP);
}

void udp_packet(const struct packet *p)
{
    uint32_t n = be16(p->at + 4);
    if (n < HEADER || n > p->n)
        return;
    if (is_gateway(p)) {
        to_gateway(p, p->at + HEADER, n - HEADER);
        return;
    }
    /* From 0.0.0.0 only DHCP is asked; many are asked by nobody. */
    if (plan_is_many(&p->to) || ip_is_none(&p->from))
        return;
    struct flow *f = flow_of(&flows, p, VM_NET_UDP, be16(p->at), be16(p->at + 2));
    if (!f)
        return;
    if (f->mtu && p->whole && !p->joined && p->ip_n + p->n > f->mtu) {
        icmp_too_big(p, f->mtu);
        return;
    }
    f->last = (uint16_t)(p->whole && !p->joined ? p->ip_n + p->n : 0);
    if (host_net_send(flow_id(&flows, f), p->at + HEADER, n - HEADER) < 0) {
        icmp_unreachable(p, UNREACHABLE_PORT);
        flow_close(&flows, f);
    }
}

/* Of a datagram that was sent, the header. */
static void put_header(const struct flow *f, uint8_t head[HEADER])
{
    put16(head, f->from_port);
    put16(head + 2, f->to_port);
    put16(head + 4, HEADER);
    put16(head + 6, 0);
}

void udp_event(uint32_t id, uint32_t events)
{
    struct flow *f = &udp_flows[id - UDP_FIRST];
    uint8_t head[HEADER];
    f->readable |= f->open && events & VM_NET_READABLE;
    if (!f->open || !(events & (VM_NET_FAILED | VM_NET_NARROW)))
        return;
    put_header(f, head);
    if (events & VM_NET_FAILED)
        icmp_unreachable_later(&f->from, &f->to, PROTOCOL_UDP, head, HEADER,
                               UNREACHABLE_PORT);
    if (!(events & VM_NET_NARROW))
        return;
    f->mtu = events >> 16;
    if (f->last > f->mtu)
        icmp_too_big_later(&f->from, &f->to, PROTOCOL_UDP, head, HEADER, f->mtu);
}

/* As long as there is room for a frame. What needs several is lost where there is none for all. */
static void hand_on(struct flow *f)
{
    static uint8_t bytes[HEADER + DATAGRAM_MAX];
    while (f->readable && card_has_room(CARD_MTU)) {
        int32_t n = flow_receive(&flows, f, bytes + HEADER, DATAGRAM_MAX);
        if (n >= 0)
            udp_send(&f->to, f->to_port, &f->from, f->from_port, bytes + HEADER,
                     (uint32_t)n);
    }
}

void udp_work(void)
{
    flows_work(&flows, hand_on);
}

uint64_t udp_due_ns(void)
{
    return flows_due_ns(&flows);
}
