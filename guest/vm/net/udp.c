/* UDP. What is for the gateway itself is answered by dhcp.c and dns.c. */
#include "vm/net/udp.h"
#include "vm/host.h"
#include "vm/net/dhcp.h"
#include "vm/net/dns.h"
#include "vm/net/ntp.h"

#define HEADER 8u
#define DATAGRAM_MAX 65507u
#define DATAGRAM_V4 (CARD_MTU - 20 - HEADER) /* in one frame */
#define SILENCE_NS (60ull * 1000000000)
enum { PORT_DHCP = 67 };

static struct flow {
    bool open, readable;
    struct ip from, to;
    uint16_t from_port, to_port;
    uint64_t used_ns;
} flows[UDP_FLOWS];
static uint32_t open_count;

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
    __builtin_memset(flows, 0, sizeof flows);
    open_count = 0;
}

static void close_flow(struct flow *f)
{
    host_net_close(UDP_FIRST + (uint32_t)(f - flows), false);
    *f = (struct flow){0};
    open_count--;
}

static struct flow *find(const struct packet *p)
{
    for (uint32_t i = 0; i < UDP_FLOWS; i++) {
        struct flow *f = &flows[i];
        if (f->open && f->from_port == be16(p->at) && f->to_port == be16(p->at + 2) &&
            ip_eq(&f->from, &p->from) && ip_eq(&f->to, &p->to))
            return f;
    }
    return 0;
}

/* The one that was silent for longest makes place. */
static struct flow *place(void)
{
    struct flow *oldest = &flows[0];
    for (uint32_t i = 0; i < UDP_FLOWS; i++) {
        if (!flows[i].open)
            return &flows[i];
        if (flows[i].used_ns < oldest->used_ns)
            oldest = &flows[i];
    }
    close_flow(oldest);
    return oldest;
}

static struct flow *open_flow(const struct packet *p)
{
    struct flow *f = place();
    int32_t done = host_net_connect(UDP_FIRST + (uint32_t)(f - flows), VM_NET_UDP,
                                    p->to.at, be16(p->at + 2));
    if (done < 0) {
        icmp_unreachable(p, done == VM_NET_UNREACHABLE ? UNREACHABLE_HOST
                                                       : UNREACHABLE_PROHIBITED);
        return 0;
    }
    *f = (struct flow){.open = true,
                       .from = p->from,
                       .to = p->to,
                       .from_port = be16(p->at),
                       .to_port = be16(p->at + 2)};
    open_count++;
    return f;
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
    struct flow *f = find(p);
    if (!f && !(f = open_flow(p)))
        return;
    f->used_ns = host_now_ns();
    if (host_net_send(UDP_FIRST + (uint32_t)(f - flows), p->at + HEADER, n - HEADER) <
        0) {
        icmp_unreachable(p, UNREACHABLE_PORT);
        close_flow(f);
    }
}

void udp_event(uint32_t id, uint32_t events)
{
    struct flow *f = &flows[id - UDP_FIRST];
    f->readable |= f->open && events & VM_NET_READABLE;
    if (!f->open || !(events & VM_NET_FAILED))
        return;
    uint8_t head[HEADER];
    put16(head, f->from_port);
    put16(head + 2, f->to_port);
    put16(head + 4, HEADER);
    put16(head + 6, 0);
    icmp_unreachable_later(&f->from, &f->to, PROTOCOL_UDP, head, HEADER,
                           UNREACHABLE_PORT);
}

/* As long as there is room for a frame. What needs several is lost where there is none for all. */
static void hand_on(struct flow *f)
{
    static uint8_t bytes[HEADER + DATAGRAM_MAX];
    uint32_t id = UDP_FIRST + (uint32_t)(f - flows);
    while (f->readable && card_has_room(LAN_HEAD_MAX + HEADER + DATAGRAM_V4)) {
        int32_t n = host_net_receive(id, bytes + HEADER, DATAGRAM_MAX);
        if (n < 0) {
            f->readable = false;
            if (n != VM_NET_NONE)
                close_flow(f);
            return;
        }
        f->used_ns = host_now_ns();
        udp_send(&f->to, f->to_port, &f->from, f->from_port, bytes + HEADER, (uint32_t)n);
    }
}

void udp_work(void)
{
    uint64_t now = open_count ? host_now_ns() : 0;
    for (uint32_t i = 0; open_count && i < UDP_FLOWS; i++) {
        if (flows[i].readable)
            hand_on(&flows[i]);
        if (flows[i].open && now > flows[i].used_ns &&
            now - flows[i].used_ns > SILENCE_NS)
            close_flow(&flows[i]);
    }
}

uint64_t udp_due_ns(void)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t i = 0; open_count && i < UDP_FLOWS; i++)
        if (flows[i].open && flows[i].used_ns + SILENCE_NS < due)
            due = flows[i].used_ns + SILENCE_NS + 1;
    return due;
}
