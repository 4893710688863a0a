/* A few datagrams are put together at once; the oldest makes place. */
#include "vm/net/fragment.h"
#include "vm/host.h"
#include "vm/net/sum.h"

#include <stddef.h>

#define DATAGRAMS 4u
#define HEAD_V4 20u
#define HEAD_V6 40u
#define BYTES_MAX (65535u - HEAD_V4)
#define UNIT 8u /* bytes that offsets count */
#define UNITS ((BYTES_MAX + UNIT - 1) / UNIT)
#define LIFE_NS (30ull * 1000000000)
enum { ETHERNET = 14, MORE_V4 = 0x2000, MORE_V6 = 1 };

static struct datagram {
    bool used, refused;
    struct ip from, to;
    uint8_t protocol;
    uint32_t id;
    uint32_t end, got; /* end: 0, not known yet */
    uint32_t top;      /* behind the furthest byte that has come */
    uint64_t until_ns;
    uint8_t has[UNITS / 8 + 1]; /* a bit for each unit */
    uint8_t head[HEAD_V6];      /* of the first, ends right before its bytes */
    uint8_t bytes[BYTES_MAX];
} datagrams[DATAGRAMS];
_Static_assert(offsetof(struct datagram, bytes) ==
                   offsetof(struct datagram, head) + HEAD_V6,
               "a header is followed by its bytes");
static uint32_t next_id;

void fragment_begin(void)
{
    for (uint32_t i = 0; i < DATAGRAMS; i++)
        datagrams[i].used = false;
}

static bool is_of(const struct datagram *d, const struct packet *p, uint32_t id)
{
    return d->used && d->id == id && d->protocol == p->protocol &&
           ip_eq(&d->from, &p->from) && ip_eq(&d->to, &p->to);
}

static struct datagram *find(const struct packet *p, uint32_t id)
{
    uint64_t now = host_now_ns();
    struct datagram *place = &datagrams[0];
    for (uint32_t i = 0; i < DATAGRAMS; i++) {
        struct datagram *d = &datagrams[i];
        d->used &= d->until_ns > now;
        if (is_of(d, p, id))
            return d;
        if (place->used && (!d->used || d->until_ns < place->until_ns))
            place = d;
    }
    place->used = true;
    place->refused = false;
    place->from = p->from;
    place->to = p->to;
    place->protocol = p->protocol;
    place->id = id;
    place->end = place->got = place->top = 0;
    place->until_ns = now + LIFE_NS;
    __builtin_memset(place->has, 0, sizeof place->has);
    return place;
}

/* Does it lie where nothing is yet, and before the end? It is marked. */
static bool fits(struct datagram *d, uint32_t from, uint32_t n, bool more)
{
    uint32_t end = from + n;
    if (!n || end > BYTES_MAX || (more && n % UNIT) || (d->end && end > d->end) ||
        (!more && (d->end || end < d->top)))
        return false;
    for (uint32_t u = from / UNIT; u < (end + UNIT - 1) / UNIT; u++) {
        if (d->has[u / 8] & 1 << u % 8)
            return false;
        d->has[u / 8] |= (uint8_t)(1 << u % 8);
    }
    d->got += n;
    d->top = end > d->top ? end : d->top;
    if (!more)
        d->end = end;
    return true;
}

/* Its header, as if it had come whole. */
static void write_head(struct packet *p, struct datagram *d)
{
    p->ip = d->head + HEAD_V6 - p->ip_n;
    if (p->v6) {
        put16(p->ip + 4, d->end);
        p->ip[6] = p->protocol;
        return;
    }
    put16(p->ip + 2, HEAD_V4 + d->end);
    put16(p->ip + 6, 0);
}

bool fragment_join(struct packet *p, const struct fragment *f)
{
    if (p->protocol != PROTOCOL_UDP &&
        p->protocol != (p->v6 ? PROTOCOL_ICMP6 : PROTOCOL_ICMP))
        return false;
    p->joined = true;
    if (!f->from && !f->more)
        return true; /* the only one: others with its number are not of it (RFC 6946) */
    struct datagram *d = find(p, f->id);
    if (d->refused || !fits(d, f->from, p->n, f->more)) {
        d->refused = true;
        return false;
    }
    __builtin_memcpy(d->bytes + f->from, p->at, p->n);
    if (!f->from)
        __builtin_memcpy(d->head + HEAD_V6 - p->ip_n, p->ip, p->ip_n);
    if (d->got != d->end)
        return false;
    d->used = false;
    write_head(p, d);
    p->at = d->bytes;
    p->n = d->end;
    return true;
}

/* The headers of one of them; how long they are. */
static uint32_t put_heads(uint8_t *head, const struct ip *from, const struct ip *to,
                          uint8_t protocol, const struct fragment *f, uint32_t n)
{
    uint8_t *ip = head + ETHERNET;
    struct sum s = {0};
    if (!ip_is_v4(to)) {
        uint32_t head_n = lan_head(head, from, to, PROTOCOL_FRAGMENT, FRAGMENT_V6 + n);
        uint8_t *at = head + head_n;
        at[0] = protocol;
        at[1] = 0;
        put16(at + 2, f->from | (f->more ? MORE_V6 : 0u));
        put32(at + 4, f->id);
        return head_n + FRAGMENT_V6;
    }
    uint32_t head_n = lan_head(head, from, to, protocol, n);
    put16(ip + 4, f->id);
    put16(ip + 6, (f->more ? MORE_V4 : 0u) | f->from / UNIT);
    put16(ip + 10, 0);
    sum_add(&s, ip, HEAD_V4);
    sum_write(&s, ip + 10);
    return head_n;
}

bool fragment_send(const struct ip *from, const struct ip *to, uint8_t protocol,
                   const uint8_t *bytes, uint32_t n, uint32_t mtu)
{
    uint32_t piece =
        (mtu - (ip_is_v4(to) ? HEAD_V4 : HEAD_V6 + FRAGMENT_V6)) / UNIT * UNIT;
    next_id++;
    for (uint32_t at = 0; at < n; at += piece) {
        uint8_t head[LAN_HEAD_MAX + FRAGMENT_V6];
        struct fragment f = {next_id, at, n - at > piece};
        struct piece body = {bytes + at, f.more ? piece : n - at};
        uint32_t head_n = put_heads(head, from, to, protocol, &f, body.n);
        if (!card_send(&(struct card_frame){
                .head = head, .head_n = head_n, .body = &body, .body_count = 1}))
            return false;
    }
    return true;
}
