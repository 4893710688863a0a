/* A few datagrams are put together at once; the oldest makes place. */
#include "vm/net/fragment.h"
#include "vm/host.h"
#include "vm/net/sum.h"

#include <stddef.h>

#define DATAGRAMS 4u
#define HEAD 20u
#define BYTES_MAX (65535u - HEAD)
#define UNIT 8u /* bytes that offsets count */
#define UNITS ((BYTES_MAX + UNIT - 1) / UNIT)
#define LIFE_NS (30ull * 1000000000)
#define PIECE ((CARD_MTU - HEAD) / UNIT * UNIT)
enum { ETHERNET = 14, MORE = 0x2000, OFFSET = 0x1fff };

static struct datagram {
    bool used, refused;
    struct ip to;
    uint16_t id;
    uint32_t end, got; /* end: 0, not known yet */
    uint32_t top;      /* behind the furthest byte that has come */
    uint64_t until_ns;
    uint8_t has[UNITS / 8 + 1]; /* a bit for each unit */
    uint8_t head[HEAD];         /* of the first, right before its bytes */
    uint8_t bytes[BYTES_MAX];
} datagrams[DATAGRAMS];
_Static_assert(offsetof(struct datagram, bytes) == offsetof(struct datagram, head) + HEAD,
               "a header is followed by its bytes");
static uint16_t next_id;

void fragment_begin(void)
{
    for (uint32_t i = 0; i < DATAGRAMS; i++)
        datagrams[i].used = false;
}

static struct datagram *find(const struct packet *p, uint16_t id)
{
    uint64_t now = host_now_ns();
    struct datagram *place = &datagrams[0];
    for (uint32_t i = 0; i < DATAGRAMS; i++) {
        struct datagram *d = &datagrams[i];
        d->used &= d->until_ns > now;
        if (d->used && d->id == id && ip_eq(&d->to, &p->to))
            return d;
        if (place->used && (!d->used || d->until_ns < place->until_ns))
            place = d;
    }
    place->used = true;
    place->refused = false;
    place->to = p->to;
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

bool fragment_join(struct packet *p, uint16_t flags)
{
    uint32_t from = (flags & OFFSET) * UNIT;
    if (p->protocol != PROTOCOL_UDP)
        return false;
    struct datagram *d = find(p, be16(p->ip + 4));
    if (d->refused || !fits(d, from, p->n, flags & MORE)) {
        d->refused = true;
        return false;
    }
    __builtin_memcpy(d->bytes + from, p->at, p->n);
    if (!from)
        __builtin_memcpy(d->head, p->ip, HEAD);
    if (d->got != d->end)
        return false;
    d->used = false;
    put16(d->head + 2, HEAD + d->end);
    put16(d->head + 6, 0);
    p->ip = d->head;
    p->at = d->bytes;
    p->n = d->end;
    return true;
}

bool fragment_send(const struct ip *from, const struct ip *to, uint8_t protocol,
                   const uint8_t *bytes, uint32_t n)
{
    next_id++;
    for (uint32_t at = 0; at < n; at += PIECE) {
        uint8_t head[LAN_HEAD_MAX], *ip = head + ETHERNET;
        struct sum s = {0};
        bool more = n - at > PIECE;
        struct piece body = {bytes + at, more ? PIECE : n - at};
        uint32_t head_n = lan_head(head, from, to, protocol, body.n);
        put16(ip + 4, next_id);
        put16(ip + 6, (more ? MORE : 0u) | at / UNIT);
        put16(ip + 10, 0);
        sum_add(&s, ip, HEAD);
        sum_write(&s, ip + 10);
        if (!card_send(&(struct card_frame){
                .head = head, .head_n = head_n, .body = &body, .body_count = 1}))
            return false;
    }
    return true;
}
