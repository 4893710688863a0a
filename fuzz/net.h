/* fuzz/net.h - the machine's network (guest/vm/net) between a card and a host, for frames.c and
 * border.c. An input is a row of steps, each a byte and what belongs to it:
 *
 *   0 n2 BYTES       the machine sends a frame as it is
 *   1 n2 BYTES       the same with addresses of Ethernet, the length of IP and the sum of IPv4 made
 *                    right, and the sum of what is in it left open
 *   2 id2 events1    something happens to a socket; of those of connections to the machine first
 *                    that it is there, at port 8080
 *   3 ms2            time passes
 *   4 flags1         the card: 1 it is full, 2 it takes frames that stand for several
 *   5 n2 BYTES       the host's next answers, a few bytes each
 *   6                the network begins anew, as when a machine is resumed
 *
 * Numbers are of 2 bytes, the lower one first. All random numbers are 0x11111111.
 */
#pragma once
#include "driver.h"
#include "vm/host.h"
#include "vm/net/dns.h"
#include "vm/net/heap.h"
#include "vm/net/lan.h"
#include "vm/net/sum.h"
#include "vm/net/tcp.h"
#include "vm/net/udp.h"

#define STEPS_AFTER 5000u /* in which TCP comes to its end */

static struct {
    uint64_t now_ns;
    bool there[VM_NET_IDS], shut[VM_NET_IDS];
    uint8_t kind[VM_NET_IDS];
    struct vm_net_event events[64];
    uint32_t event_count;
    struct buf answers;
    size_t answers_at;
    bool full, segments;
} world;

/* The host's next answer; 0 when there is none. */
static inline uint32_t next_answer(unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes && world.answers_at < world.answers.n; i++)
        v |= (uint32_t)(uint8_t)world.answers.at[world.answers_at++] << 8 * i;
    return v;
}

static inline void next_bytes(void *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)to)[i] = (uint8_t)next_answer(1);
}

static inline bool has_answers(void)
{
    return world.answers_at < world.answers.n;
}

static inline void happens(uint32_t id, uint32_t events)
{
    if (world.event_count < LENGTH(world.events))
        world.events[world.event_count++] = (struct vm_net_event){id, events};
}

uint64_t host_now_ns(void)
{
    return world.now_ns;
}

uint64_t host_wall_ns(void)
{
    return 1700000000000000000u + world.now_ns;
}

void host_entropy(void *at, uint32_t n)
{
    memset(at, 0x11, n);
}

/* What the machine may do with a socket, whatever the host answers. */
static inline void holds_socket(uint32_t id, bool there)
{
    holds(id < VM_NET_IDS);
    holds(world.there[id] == there);
}

static inline void socket_opens(uint32_t id, uint8_t kind)
{
    world.there[id] = true;
    world.shut[id] = false;
    world.kind[id] = kind;
}

uint32_t host_files(const void *at, uint32_t n, void *to, uint32_t room)
{
    (void)at, (void)n, (void)to, (void)room;
    return 0;
}

void host_net_shut(uint32_t id)
{
    holds_socket(id, true);
    holds(!world.shut[id]);
    world.shut[id] = true;
}

void host_net_close(uint32_t id, bool reset)
{
    (void)reset;
    holds_socket(id, true);
    world.there[id] = false;
}

/* ---- the card ---------------------------------------------------------------------- */

bool card_has_room(uint32_t n)
{
    holds(n <= CARD_FRAME_MAX);
    return !world.full;
}

bool card_takes_segments(bool v6)
{
    (void)v6;
    return world.segments;
}

/* Whole, as long as a frame may be, and from the gateway to the machine. */
bool card_send(const struct card_frame *f)
{
    static uint8_t whole[CARD_FRAME_MAX];
    uint32_t n = f->head_n;
    holds(f->head_n >= 14 && f->head_n <= CARD_FRAME_MAX);
    memcpy(whole, f->head, f->head_n);
    for (uint32_t i = 0; i < f->body_count; i++) {
        holds(f->body[i].n <= CARD_FRAME_MAX - n);
        memcpy(whole + n, f->body[i].at, f->body[i].n);
        n += f->body[i].n;
    }
    holds(memcmp(whole + 6, lan_gateway_mac, 6) == 0);
    holds(whole[0] & 1 || memcmp(whole, lan.mac, 6) == 0);
    holds(n <= 14 + CARD_MTU || f->segment);
    if (be16(whole + 12) == 0x0800)
        holds(be16(whole + 16) == n - 14);
    if (f->sum_from)
        holds(f->sum_at >= f->sum_from && f->sum_at + 2u <= f->head_n);
    return !world.full;
}

/* ---- steps ------------------------------------------------------------------------- */

static inline void make_right(uint8_t *f, uint32_t n)
{
    struct sum s = {0};
    if (n < 34)
        return;
    memcpy(f, lan_gateway_mac, 6);
    memcpy(f + 6, lan.mac, 6);
    if (be16(f + 12) == 0x86dd && n >= 54)
        put16(f + 18, n - 54);
    if (be16(f + 12) != 0x0800)
        return;
    put16(f + 16, n - 14);
    put16(f + 24, 0);
    sum_add(&s, f + 14, 20);
    sum_write(&s, f + 24);
}

static inline uint32_t take_number(struct str *in, unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < bytes && in->n; i++, in->at++, in->n--)
        v |= (uint32_t)(uint8_t)*in->at << 8 * i;
    return v;
}

static inline struct str take_bytes(struct str *in)
{
    size_t n = take_number(in, 2);
    struct str out = {in->at, n < in->n ? n : in->n};
    in->at += out.n;
    in->n -= out.n;
    return out;
}

static inline void send_frame(struct str bytes, bool right)
{
    /* Of its exact size, so that the sanitizer sees a look past its end. */
    uint8_t *exact = malloc(bytes.n ? bytes.n : 1);
    must(exact != NULL);
    memcpy(exact, bytes.at, bytes.n);
    if (right)
        make_right(exact, (uint32_t)bytes.n);
    lan_input(exact, (uint32_t)bytes.n, right);
    free(exact);
}

static inline void begin_anew(void)
{
    static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
    memset(world.there, 0, sizeof world.there);
    world.event_count = 0;
    lan_switch(LAN_WAY_V4 | LAN_WAY_V6 | LAN_WAY_V6_FAR, mac);
}

/* To a connection to the machine that there is not, that it has come. */
static inline void something_happens(uint32_t id, uint32_t events)
{
    if (id >= VM_NET_INBOUND && id < VM_NET_IDS && !world.there[id]) {
        socket_opens(id, VM_NET_TCP);
        events |= VM_NET_ACCEPTED | 8080u << 16;
    } else
        events &= ~(uint32_t)VM_NET_ACCEPTED;
    happens(id, events);
}

static inline void step(struct str *in)
{
    uint32_t kind = take_number(in, 1) % 7, id;
    switch (kind) {
    case 0:
    case 1:
        send_frame(take_bytes(in), kind == 1);
        break;
    case 2:
        id = take_number(in, 2);
        something_happens(id, take_number(in, 1));
        lan_poll();
        break;
    case 3:
        world.now_ns += take_number(in, 2) * 1000000ull;
        lan_poll();
        break;
    case 4:
        kind = take_number(in, 1);
        world.full = kind & 1;
        world.segments = kind & 2;
        if (!world.full)
            lan_room();
        break;
    case 5: {
        struct str more = take_bytes(in);
        buf_put(&world.answers, more.at, more.n);
        break;
    }
    default:
        begin_anew();
        break;
    }
    holds(heap_used() <= HEAP_BYTES);
}

/* Time passes until nothing is due any more, or for so many steps: never backwards. */
static inline void come_to_an_end(void)
{
    for (uint32_t i = 0; i < STEPS_AFTER; i++) {
        uint64_t due = lan_due_ns();
        if (due == UINT64_MAX)
            break;
        if (due > world.now_ns)
            world.now_ns = due;
        else
            world.now_ns += 1000000;
        lan_poll();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str in = {(const char *)data, size};
    buf_init(&world.answers, (size_t)1 << 20);
    world.answers_at = 0;
    world.now_ns = 5000000000ull;
    world.full = world.segments = false;
    begin_anew();
    size_t before = heap_used();
    while (in.n)
        step(&in);
    come_to_an_end();
    world.full = false; /* else what is of the past waits for room */
    begin_anew();
    holds(heap_used() == before);
    buf_done(&world.answers);
    return 0;
}
