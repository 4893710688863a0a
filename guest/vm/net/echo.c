/* ICMP's echo of others (RFC 792, RFC 4443). The host sends each with an identifier of its own, so the
 * machine's stands here; the border carries the sequence number and the data. */
#include "vm/net/echo.h"
#include "vm/host.h"
#include "vm/net/flows.h"

#define HEADER 8u
#define NUMBER 2u /* of the border: the sequence number */
#define DATA_MAX 65507u
enum { REPLY = 0, REPLY_6 = 129 };
enum { REQUEST = 8, REQUEST_6 = 128 };

static struct flow echo_flows[ECHO_FLOWS];
static struct flows echoes = {echo_flows, ECHO_FLOWS, ECHO_FIRST, 0};

void echo_begin(void)
{
    flows_begin(&echoes);
}

/* The identifier stands for the machine's port. */
void echo_packet(const struct packet *p)
{
    if (plan_is_many(&p->to))
        return;
    struct flow *f = flow_of(&echoes, p, VM_NET_ECHO, be16(p->at + 4), 0);
    if (!f)
        return;
    f->last = be16(p->at + 6);
    if (host_net_send(flow_id(&echoes, f), p->at + HEADER - NUMBER,
                      p->n - HEADER + NUMBER) < 0) {
        icmp_unreachable(p, UNREACHABLE_HOST);
        flow_close(&echoes, f);
    }
}

/* The host heard that the last one did not arrive. */
static void tell(const struct flow *f)
{
    bool v4 = ip_is_v4(&f->to);
    uint8_t head[HEADER] = {v4 ? REQUEST : REQUEST_6};
    put16(head + 4, f->from_port);
    put16(head + 6, f->last);
    icmp_unreachable_later(&f->from, &f->to, v4 ? PROTOCOL_ICMP : PROTOCOL_ICMP6, head,
                           HEADER, UNREACHABLE_HOST);
}

void echo_event(uint32_t id, uint32_t events)
{
    struct flow *f = &echo_flows[id - ECHO_FIRST];
    f->readable |= f->open && events & VM_NET_READABLE;
    if (f->open && events & VM_NET_FAILED)
        tell(f);
}

/* As long as there is room for a frame. */
static void hand_on(struct flow *f)
{
    static uint8_t bytes[HEADER + DATA_MAX];
    bool v4 = ip_is_v4(&f->from);
    while (f->readable && card_has_room(CARD_MTU)) {
        int32_t n = flow_receive(&echoes, f, bytes + HEADER - NUMBER,
                                 (uint32_t)sizeof bytes - HEADER + NUMBER);
        if (n < (int32_t)NUMBER)
            continue;
        bytes[0] = v4 ? REPLY : REPLY_6;
        bytes[1] = 0;
        put16(bytes + 4, f->from_port);
        (void)lan_send(&f->to, &f->from, v4 ? PROTOCOL_ICMP : PROTOCOL_ICMP6, bytes,
                       HEADER + (uint32_t)n - NUMBER);
    }
}

void echo_work(void)
{
    flows_work(&echoes, hand_on);
}

uint64_t echo_due_ns(void)
{
    return flows_due_ns(&echoes);
}
