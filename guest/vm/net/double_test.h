/* vm/net/double_test.h - what stands in for the host and the card in this folder's tests: sockets
 * that are scripted, and a card whose frames are read by the test. A small TCP of the test's own
 * stands for the machine's kernel. Only for *_test.c.
 */
#pragma once
#include "vm/host.h"
#include "vm/net/dns.h"
#include "vm/net/lan.h"
#include "vm/net/sum.h"
#include "vm/net/tcp.h"
#include "vm/net/udp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32 };

/* ---- a host ------------------------------------------------------------------------ */

#define STREAM_MAX (1u << 24)
static struct {
    uint64_t now_ns, wall_ns;
    uint64_t chance;
    struct vm_net_event events[64];
    uint32_t event_count;
    struct end {
        bool there, shut, reset;
        uint8_t address[16];
        uint32_t port, kind;
        uint32_t takes; /* bytes at once; 0: none */
        uint8_t *got;   /* of the machine */
        uint32_t got_n, got_max;
        const uint8_t *has; /* for the machine */
        uint32_t has_n, has_at;
        bool ends;      /* behind that */
        bool gone;      /* reset by its peer */
    } ends[VM_NET_IDS]; /* what has to be so when one is connected is set before */
    int32_t answer;     /* to the next connection, and the next name */
    bool waits;         /* names have no answer until the test says so */
    uint32_t closes, asks;
    struct vm_net_answer told;
    char why[64], asked[300];
    uint32_t asked_type;
} host;

static inline struct end *end_of(uint32_t id)
{
    assert_in_range(id, 0, VM_NET_IDS - 1);
    if (!host.ends[id].there)
        fail_msg("socket %u is not there", id);
    return &host.ends[id];
}

uint64_t host_now_ns(void)
{
    return host.now_ns;
}

uint64_t host_wall_ns(void)
{
    return host.wall_ns;
}

static inline uint32_t chance(uint32_t below)
{
    host.chance = host.chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((host.chance >> 33) % below);
}

void host_entropy(void *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ((uint8_t *)at)[i] = (uint8_t)chance(256);
}

int32_t host_net_connect(uint32_t id, enum vm_net_kind kind, const void *address,
                         uint32_t port)
{
    assert_in_range(id, 0, DNS_FIRST - 1);
    struct end *d = &host.ends[id];
    assert_false(d->there);
    if (host.answer < 0)
        return host.answer;
    d->there = true;
    d->shut = d->reset = false;
    d->kind = kind;
    d->port = port;
    d->got_n = d->has_at = 0;
    memcpy(d->address, address, 16);
    return 0;
}

int32_t host_net_send(uint32_t id, const void *at, uint32_t n)
{
    struct end *d = end_of(id);
    assert_in_range(n, 0, HOST_BYTES_MAX);
    if (d->gone)
        return VM_NET_GONE;
    if (d->kind == VM_NET_TCP && n > d->takes)
        n = d->takes;
    assert_in_range(d->got_n + n, 0, STREAM_MAX);
    if (d->got_n + n > d->got_max) {
        d->got_max = 2 * (d->got_n + n);
        d->got = realloc(d->got, d->got_max);
        assert_non_null(d->got);
    }
    if (n)
        memcpy(d->got + d->got_n, at, n);
    d->got_n += n;
    return (int32_t)n;
}

static inline int32_t receive_answer(void *at, uint32_t n)
{
    host.told.text_n = (uint32_t)strlen(host.why);
    assert_true(n >= sizeof host.told + host.told.text_n);
    memcpy(at, &host.told, sizeof host.told);
    memcpy((char *)at + sizeof host.told, host.why, host.told.text_n);
    return (int32_t)(sizeof host.told + host.told.text_n);
}

int32_t host_net_receive(uint32_t id, void *at, uint32_t n)
{
    struct end *d = end_of(id);
    if (id >= DNS_FIRST && id < VM_NET_INBOUND)
        return receive_answer(at, n);
    if (d->gone)
        return VM_NET_GONE;
    uint32_t left = d->has_n - d->has_at;
    if (!left)
        return d->ends ? 0 : VM_NET_NONE;
    n = n < left ? n : left;
    memcpy(at, d->has + d->has_at, n);
    d->has_at += n;
    return (int32_t)n;
}

void host_net_shut(uint32_t id)
{
    end_of(id)->shut = true;
}

void host_net_close(uint32_t id, bool reset)
{
    struct end *d = end_of(id);
    host.closes++;
    d->there = false;
    d->reset = reset;
}

int32_t host_net_resolve(uint32_t id, const void *name, uint32_t n, uint32_t type)
{
    assert_in_range(id, DNS_FIRST, VM_NET_INBOUND - 1);
    assert_true(n < sizeof host.asked && (type == 1 || type == 28));
    assert_false(host.ends[id].there);
    if (host.answer < 0)
        return host.answer;
    memcpy(host.asked, name, n);
    host.asked[n] = 0;
    host.asked_type = type;
    host.asks++;
    host.ends[id].there = true;
    if (!host.waits)
        host.events[host.event_count++] = (struct vm_net_event){id, VM_NET_READABLE};
    return 0;
}

uint32_t host_net_events(struct vm_net_event *at, uint32_t n)
{
    uint32_t count = host.event_count < n ? host.event_count : n;
    memcpy(at, host.events, count * sizeof *at);
    host.event_count = 0;
    return count;
}

static inline void happens(uint32_t id, uint32_t events)
{
    host.events[host.event_count++] = (struct vm_net_event){id, events};
    lan_poll();
}

/* ---- a card ------------------------------------------------------------------------ */

#define FRAMES 256u
static struct {
    struct {
        uint8_t bytes[CARD_FRAME_MAX];
        uint32_t n;
    } frames[FRAMES];
    uint32_t first, count;
    bool full, segments;
} card;

bool card_has_room(uint32_t n)
{
    (void)n;
    return !card.full && card.count < FRAMES;
}

bool card_takes_segments(bool v6)
{
    (void)v6;
    return card.segments;
}

bool card_send(const struct card_frame *f)
{
    if (!card_has_room(0))
        return false;
    uint32_t at = (card.first + card.count++) % FRAMES;
    uint8_t *to = card.frames[at].bytes;
    memcpy(to, f->head, f->head_n);
    uint32_t n = f->head_n;
    for (uint32_t i = 0; i < f->body_count; i++) {
        assert_true(n + f->body[i].n <= CARD_FRAME_MAX);
        memcpy(to + n, f->body[i].at, f->body[i].n);
        n += f->body[i].n;
    }
    assert_true(f->segment || n <= 14 + CARD_MTU);
    if (f->sum_from) { /* as a driver would close it */
        struct sum s = {0};
        sum_add(&s, to + f->sum_from, n - f->sum_from);
        sum_write(&s, to + f->sum_at);
    }
    card.frames[at].n = n;
    return true;
}

/* The next frame that the machine receives; NULL: there is none. */
static inline uint8_t *received(uint32_t *n)
{
    *n = 0;
    if (!card.count)
        return NULL;
    uint32_t at = card.first;
    card.first = (card.first + 1) % FRAMES;
    card.count--;
    *n = card.frames[at].n;
    return card.frames[at].bytes;
}

/* ---- a machine --------------------------------------------------------------------- */

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
static struct ip own, server;
static struct ip own_v6, server_v6; /* the same by IPv6 */

static inline void set_up(void)
{
    for (uint32_t i = 0; i < VM_NET_IDS; i++)
        free(host.ends[i].got);
    memset(&host, 0, sizeof host);
    host.now_ns = 5000000000ull;
    for (uint32_t i = 0; i < LENGTH(host.ends); i++)
        host.ends[i].takes = UINT32_MAX;
    card.full = false;
    lan_switch(LAN_WAY_V4 | LAN_WAY_V6 | LAN_WAY_V6_FAR, mac);
    host.closes = 0;
    card.first = card.count = 0;
    card.segments = false;
    own = ip_v4(LAN_MACHINE);
    server = ip_v4(0x5db8d70e);
    own_v6 = (struct ip){LAN_V6(LAN_END_MACHINE)};
    server_v6 = (struct ip){{0x20, 1, 0x48, 0x60, [15] = 0x88}};
}

/* A packet with a whole sum; `at` has room for n bytes behind the headers. */
static inline uint32_t make(uint8_t *frame, const struct ip *to, uint8_t protocol,
                            const uint8_t *bytes, uint32_t n)
{
    const struct ip *from = ip_is_v4(to) ? &own : &own_v6;
    uint32_t head = lan_head(frame, from, to, protocol, n);
    if (!(frame[0] & 1))
        memcpy(frame, lan_gateway_mac, 6);
    memcpy(frame + 6, mac, 6);
    memcpy(frame + head, bytes, n);
    uint8_t *at = frame + head +
                  (protocol == PROTOCOL_TCP   ? 16
                   : protocol == PROTOCOL_UDP ? 6
                                              : 2);
    struct sum s = {0};
    put16(at, 0);
    if (protocol != PROTOCOL_ICMP)
        lan_pseudo(&s, from, to, protocol, n);
    sum_add(&s, frame + head, n);
    sum_write(&s, at);
    return head + n;
}

#define NO_WINDOW UINT16_MAX /* for 0, which stands for 60,000 */
struct segment {
    uint32_t seq, ack, n;
    uint8_t flags;
    uint16_t window, urgent, from_port, to_port;
    const uint8_t *data;
    const struct ip *to; /* NULL: the server */
    const uint8_t *options;
    uint32_t options_n; /* a multiple of 4 */
};

static inline uint32_t make_segment(uint8_t *frame, const struct segment *s)
{
    static uint8_t bytes[20 + 40 + 1500];
    uint32_t head = 20 + s->options_n;
    memset(bytes, 0, 20);
    put16(bytes, s->from_port);
    put16(bytes + 2, s->to_port);
    put32(bytes + 4, s->seq);
    put32(bytes + 8, s->ack);
    bytes[12] = (uint8_t)(head << 2);
    bytes[13] = s->flags;
    put16(bytes + 14, s->window);
    put16(bytes + 18, s->urgent);
    if (s->options_n)
        memcpy(bytes + 20, s->options, s->options_n);
    if (s->n)
        memcpy(bytes + head, s->data, s->n);
    return make(frame, s->to ? s->to : &server, PROTOCOL_TCP, bytes, head + s->n);
}

static uint8_t frame[CARD_FRAME_MAX];

static inline void send_segment(struct segment s)
{
    s.from_port = s.from_port ? s.from_port : 40000;
    s.to_port = s.to_port ? s.to_port : 80;
    s.window = s.window == NO_WINDOW ? 0 : s.window ? s.window : 60000;
    uint32_t n = make_segment(frame, &s);
    lan_input(frame, n, false);
}

/* Where its bytes lie behind a whole header of IP, and from whom to whom it goes. 0: there is none. */
static inline uint32_t read_ip(const uint8_t *f, uint32_t n, uint8_t protocol,
                               struct ip *from, struct ip *to, uint32_t *bytes)
{
    struct sum header = {0};
    if (n >= 34 && be16(f + 12) == 0x0800) {
        sum_add(&header, f + 14, 20);
        *from = ip_v4(be32(f + 26));
        *to = ip_v4(be32(f + 30));
        *bytes = be16(f + 16) - 20u;
        return f[14] == 0x45 && f[23] == protocol && *bytes <= n - 34 &&
                       sum_value(&header) == 0xffff
                   ? 34
                   : 0;
    }
    if (n < 54 || be16(f + 12) != 0x86dd || f[14] >> 4 != 6 || f[20] != protocol)
        return 0;
    memcpy(from->at, f + 22, 16);
    memcpy(to->at, f + 38, 16);
    *bytes = be16(f + 18);
    return *bytes <= n - 54 ? 54 : 0;
}

/* false: the frame is no segment that is whole. */
static inline bool read_segment(const uint8_t *f, uint32_t n, struct segment *s)
{
    struct sum sum = {0};
    struct ip from, to;
    uint32_t tcp_n, at = read_ip(f, n, PROTOCOL_TCP, &from, &to, &tcp_n);
    if (!at || tcp_n < 20)
        return false;
    const uint8_t *t = f + at;
    uint32_t head = (t[12] >> 4) * 4u;
    lan_pseudo(&sum, &from, &to, PROTOCOL_TCP, tcp_n);
    sum_add(&sum, t, tcp_n);
    if (sum_value(&sum) != 0xffff || head < 20 || head > tcp_n)
        return false;
    *s = (struct segment){.from_port = be16(t),
                          .to_port = be16(t + 2),
                          .seq = be32(t + 4),
                          .ack = be32(t + 8),
                          .flags = t[13],
                          .window = be16(t + 14),
                          .data = t + head,
                          .n = tcp_n - head};
    return true;
}

static inline struct segment next_segment(void)
{
    struct segment s = {0};
    uint32_t n;
    const uint8_t *f = received(&n);
    if (!f || !read_segment(f, n, &s))
        fail_msg("a segment was expected, not %s", f ? "another frame" : "nothing");
    return s;
}

static inline void nothing_comes(void)
{
    uint32_t n;
    uint8_t *f = received(&n);
    if (f)
        fail_msg("a frame of %u bytes came, of type %02x%02x, protocol %u, TCP flags %x",
                 n, f[12], f[13], f[23], f[47]);
}

static inline void wait_ms(uint64_t ms)
{
    host.now_ns += ms * 1000000;
    lan_poll();
}

/* Opens a connection, the first of the host; what the gateway's numbers begin with. */
static inline uint32_t open_connection(void)
{
    send_segment((struct segment){.seq = 1000, .flags = SYN});
    nothing_comes();
    happens(0, VM_NET_OPENED | VM_NET_READABLE);
    struct segment s = next_segment();
    assert_int_equal(s.flags, SYN | ACK);
    assert_int_equal(s.ack, 1001);
    send_segment((struct segment){.seq = 1001, .ack = s.seq + 1, .flags = ACK});
    return s.seq + 1;
}

static inline void send_udp(const struct ip *to, uint16_t from_port, uint16_t to_port,
                            const void *bytes, uint32_t n)
{
    uint8_t datagram[8 + 1400];
    put16(datagram, from_port);
    put16(datagram + 2, to_port);
    put16(datagram + 4, 8 + n);
    put16(datagram + 6, 0);
    memcpy(datagram + 8, bytes, n);
    n = make(frame, to, PROTOCOL_UDP, datagram, 8 + n);
    lan_input(frame, n, false);
}
