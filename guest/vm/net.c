/* Virtio's network card (section 5.1). What it sends is taken at once, what it receives lies in
 * as many of its buffers as are needed (MRG_RXBUF): a frame for which there are not enough is
 * not taken from whoever sends it. */
#include "vm/kinds.h"
#include "vm/net/card.h"
#include "vm/net/sum.h"

enum { RECEIVE = 0, TRANSMIT = 1, QUEUES = 2 };
enum feature {
    FEATURE_CSUM = 0,
    FEATURE_GUEST_CSUM = 1,
    FEATURE_MAC = 5,
    FEATURE_GUEST_TSO4 = 7,
    FEATURE_GUEST_TSO6 = 8,
    FEATURE_HOST_TSO4 = 11,
    FEATURE_HOST_TSO6 = 12,
    FEATURE_MRG_RXBUF = 15,
    FEATURE_STATUS = 16,
};
enum { CONFIG_MAC = 0, CONFIG_STATUS = 6 };
enum { LINK_UP = 1 };
/* A frame's header: flags 1, gso_type 1, hdr_len 2, gso_size 2, csum_start 2, csum_offset 2,
 * num_buffers 2. */
#define HEADER 12u
enum { NEEDS_SUM = 1 };
enum { SEGMENTS_TCP4 = 1, SEGMENTS_TCP6 = 4 };

static struct virtio device;
static uint8_t sent[CARD_FRAME_MAX];

static bool is_up(void)
{
    return device.config[CONFIG_STATUS] & LINK_UP;
}

/* ---- transmission ------------------------------------------------------------------ */

/* A frame that is longer than any is dropped. */
static void send(struct chain *c)
{
    uint8_t header[HEADER];
    if (chain_read(c, header, HEADER) != HEADER || c->to_read > sizeof sent)
        return;
    uint32_t n = chain_read(c, sent, sizeof sent);
    if (is_up())
        lan_input(sent, n, header[0] & NEEDS_SUM);
}

static void send_all(struct virtio *v)
{
    struct chain c;
    while (virtio_front(v, TRANSMIT, &c)) {
        send(&c);
        virtio_give(v, TRANSMIT, &c);
    }
}

/* ---- reception --------------------------------------------------------------------- */

/* How many of its waiting buffers hold n bytes; 0: not all there are. */
static uint32_t buffers_for(uint64_t n)
{
    struct chain c;
    bool one = !virtio_has(&device, FEATURE_MRG_RXBUF);
    uint64_t room = 0;
    for (uint32_t i = 0; virtio_peek(&device, RECEIVE, i, &c); i++) {
        if (c.to_write <= HEADER) {
            virtio_break(&device);
            return 0;
        }
        room += c.to_write;
        if (room >= n)
            return i + 1;
        if (one) {
            virtio_break(&device);
            return 0;
        }
    }
    virtio_want_more(&device, RECEIVE);
    return 0;
}

bool card_has_room(uint32_t n)
{
    return is_up() && buffers_for((uint64_t)n + HEADER) > 0;
}

bool card_takes_segments(bool v6)
{
    return virtio_has(&device, FEATURE_GUEST_CSUM) &&
           virtio_has(&device, v6 ? FEATURE_GUEST_TSO6 : FEATURE_GUEST_TSO4);
}

/* Bytes into one buffer after the other, each given back when it is full. false: there are none
 * any more, though they were counted, since rings and buffers lie one over the other. */
static bool put(struct chain *c, const void *from, uint32_t n)
{
    const uint8_t *at = from;
    while (n) {
        uint32_t done = chain_write(c, at, n);
        at += done, n -= done;
        if (n) {
            virtio_give(&device, RECEIVE, c);
            if (!virtio_front(&device, RECEIVE, c))
                return false;
        }
    }
    return true;
}

/* A driver that knows no open sums gets whole ones. */
static void close_sum(const struct card_frame *f)
{
    struct sum s = {0};
    sum_add(&s, f->head + f->sum_from, f->head_n - f->sum_from);
    for (uint32_t i = 0; i < f->body_count; i++)
        sum_add(&s, f->body[i].at, f->body[i].n);
    sum_write(&s, f->head + f->sum_at);
}

static void write_header(uint8_t *h, const struct card_frame *f, uint32_t buffers)
{
    __builtin_memset(h, 0, HEADER);
    virtio_put(h + 10, 2, buffers);
    if (!f->sum_from)
        return;
    if (!virtio_has(&device, FEATURE_GUEST_CSUM)) {
        close_sum(f);
        return;
    }
    h[0] = NEEDS_SUM;
    virtio_put(h + 6, 2, f->sum_from);
    virtio_put(h + 8, 2, f->sum_at - f->sum_from);
    if (f->segment) {
        h[1] = f->v6 ? SEGMENTS_TCP6 : SEGMENTS_TCP4;
        virtio_put(h + 2, 2, f->head_n);
        virtio_put(h + 4, 2, f->segment);
    }
}

bool card_send(const struct card_frame *f)
{
    struct chain c;
    uint8_t header[HEADER];
    uint64_t n = HEADER + f->head_n;
    for (uint32_t i = 0; i < f->body_count; i++)
        n += f->body[i].n;
    uint32_t buffers = is_up() ? buffers_for(n) : 0;
    if (!buffers || !virtio_front(&device, RECEIVE, &c))
        return false;
    write_header(header, f, buffers);
    bool fits = put(&c, header, HEADER) && put(&c, f->head, f->head_n);
    for (uint32_t i = 0; fits && i < f->body_count; i++)
        fits = put(&c, f->body[i].at, f->body[i].n);
    if (fits)
        virtio_give(&device, RECEIVE, &c);
    return true;
}

/* ---- the device -------------------------------------------------------------------- */

static void notify(struct virtio *v, uint32_t q)
{
    if (q == TRANSMIT)
        send_all(v);
    else if (is_up())
        lan_room();
}

static void poll(struct virtio *v)
{
    if (is_up() && virtio_is_live(v))
        lan_poll();
}

void net_init(uint32_t place, const uint8_t mac[6])
{
    static const struct virtio_kind kind = {
        .number = 1,
        .queues = QUEUES,
        .features = 1u << FEATURE_CSUM | 1u << FEATURE_GUEST_CSUM | 1u << FEATURE_MAC |
                    1u << FEATURE_GUEST_TSO4 | 1u << FEATURE_GUEST_TSO6 |
                    1u << FEATURE_HOST_TSO4 | 1u << FEATURE_HOST_TSO6 |
                    1u << FEATURE_MRG_RXBUF | 1u << FEATURE_STATUS,
        .notify = notify,
        .poll = poll,
    };
    virtio_add(&device, &kind, place);
    __builtin_memcpy(device.config + CONFIG_MAC, mac, 6);
    virtio_put(device.config + CONFIG_STATUS, 2, 0);
}

void net_switch(bool on)
{
    virtio_put(device.config + CONFIG_STATUS, 2, on ? LINK_UP : 0);
    virtio_reconfigured(&device);
}
