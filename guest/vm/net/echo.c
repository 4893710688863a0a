/* ICMP's echo of others (RFC 792, RFC 4443). The host sends each with an identifier of its own, so the
 * machine's stands here; the border carries the sequence number and the data. */
#include "vm/net/echo.h"
#include "vm/host.h"

#define HEADER 8u
#define NUMBER 2u /* of the border: the sequence number */
#define DATA_V4 (CARD_MTU - 20 - HEADER)
#define DATA_V6 (CARD_MTU - 40 - HEADER)
#define SILENCE_NS (60ull * 1000000000)
enum { REPLY = 0, REPLY_6 = 129 };
enum { REQUEST = 8, REQUEST_6 = 128 };

static struct flow {
    bool open, readable;
    struct ip from, to;
    uint16_t identifier, last; /* the sequence number that was sent last */
    uint64_t used_ns;
} flows[ECHO_FLOWS];
static uint32_t open_count;

void echo_begin(void)
{
    __builtin_memset(flows, 0, sizeof flows);
    open_count = 0;
}

static uint32_t id_of(const struct flow *f)
{
    return ECHO_FIRST + (uint32_t)(f - flows);
}

static void close_flow(struct flow *f)
{
    host_net_close(id_of(f), false);
    *f = (struct flow){0};
    open_count--;
}

static struct flow *find(const struct packet *p)
{
    for (uint32_t i = 0; i < ECHO_FLOWS; i++) {
        struct flow *f = &flows[i];
        if (f->open && f->identifier == be16(p->at + 4) && ip_eq(&f->from, &p->from) &&
            ip_eq(&f->to, &p->to))
            return f;
    }
    return 0;
}

/* The one that was silent for longest makes place. */
static struct flow *place(void)
{
    struct flow *oldest = &flows[0];
    for (uint32_t i = 0; i < ECHO_FLOWS; i++) {
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
    int32_t done = host_net_connect(id_of(f), VM_NET_ECHO, p->to.at, 0);
    if (done < 0) {
        icmp_unreachable(p, done == VM_NET_UNREACHABLE ? UNREACHABLE_HOST
                                                       : UNREACHABLE_PROHIBITED);
        return 0;
    }
    *f = (struct flow){
        .open = true, .from = p->from, .to = p->to, .identifier = be16(p->at + 4)};
    open_count++;
    return f;
}

void echo_packet(const struct packet *p)
{
    bool many =
        p->v6 ? p->to.at[0] == 0xff
              : ip_to_v4(&p->to) >= 0xe0000000u || ip_to_v4(&p->to) == (LAN_V4 | 0xffu);
    struct flow *f = many ? 0 : find(p);
    if (!f && (many || !(f = open_flow(p)))) {
        if (many)
            icmp_unreachable(p, UNREACHABLE_PROHIBITED);
        return;
    }
    f->used_ns = host_now_ns();
    f->last = be16(p->at + 6);
    if (host_net_send(id_of(f), p->at + HEADER - NUMBER, p->n - HEADER + NUMBER) < 0) {
        icmp_unreachable(p, UNREACHABLE_HOST);
        close_flow(f);
    }
}

/* The host heard that the last one did not arrive. */
static void tell(const struct flow *f)
{
    bool v4 = ip_is_v4(&f->to);
    uint8_t head[HEADER] = {v4 ? REQUEST : REQUEST_6};
    put16(head + 4, f->identifier);
    put16(head + 6, f->last);
    icmp_unreachable_later(&f->from, &f->to, v4 ? PROTOCOL_ICMP : PROTOCOL_ICMP6, head,
                           HEADER, UNREACHABLE_HOST);
}

void echo_event(uint32_t id, uint32_t events)
{
    struct flow *f = &flows[id - ECHO_FIRST];
    f->readable |= f->open && events & VM_NET_READABLE;
    if (f->open && events & VM_NET_FAILED)
        tell(f);
}

/* As long as there is room for a frame. */
static void hand_on(struct flow *f)
{
    static uint8_t bytes[HEADER + DATA_V4 + 1];
    bool v4 = ip_is_v4(&f->from);
    while (f->readable && card_has_room(LAN_HEAD_MAX + HEADER + DATA_V4)) {
        int32_t n = host_net_receive(id_of(f), bytes + HEADER - NUMBER,
                                     (uint32_t)sizeof bytes - HEADER + NUMBER);
        if (n < 0) {
            f->readable = false;
            if (n != VM_NET_NONE)
                close_flow(f);
            return;
        }
        f->used_ns = host_now_ns();
        uint32_t data = (uint32_t)n - NUMBER;
        if ((uint32_t)n < NUMBER || data > (v4 ? DATA_V4 : DATA_V6))
            continue;
        bytes[0] = v4 ? REPLY : REPLY_6;
        bytes[1] = 0;
        put16(bytes + 4, f->identifier);
        (void)lan_send(&f->to, &f->from, v4 ? PROTOCOL_ICMP : PROTOCOL_ICMP6, bytes,
                       HEADER + data);
    }
}

void echo_work(void)
{
    uint64_t now = open_count ? host_now_ns() : 0;
    for (uint32_t i = 0; open_count && i < ECHO_FLOWS; i++) {
        if (flows[i].readable)
            hand_on(&flows[i]);
        if (flows[i].open && now > flows[i].used_ns &&
            now - flows[i].used_ns > SILENCE_NS)
            close_flow(&flows[i]);
    }
}

uint64_t echo_due_ns(void)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t i = 0; open_count && i < ECHO_FLOWS; i++)
        if (flows[i].open && flows[i].used_ns + SILENCE_NS < due)
            due = flows[i].used_ns + SILENCE_NS + 1;
    return due;
}
