/* A stream takes a question only while it has room for one more answer, so that whoever asks and
 * does not read waits. */
#include "vm/net/dns_stream.h"
#include "vm/host.h"
#include "vm/net/dns.h"
#include "vm/net/dns_message.h"
#include "vm/net/tcp.h"

#define STREAMS 8u
#define QUESTION_MAX 1024u /* bytes of a message; a longer one is nobody's question */
#define ANSWER_BYTES (2u + DNS_ANSWER_MAX)
#define ANSWERS 6u

static struct stream {
    bool open, broken, shut;
    bool full; /* it has taken less than all */
    uint32_t id, generation;
    uint8_t in[2 + QUESTION_MAX];
    uint32_t in_n;
    uint8_t out[ANSWERS * ANSWER_BYTES];
    uint32_t out_n;
    uint32_t asked; /* answers that are to come */
    uint64_t used_ns;
} streams[STREAMS];

static void clear(struct stream *s)
{
    *s = (struct stream){.generation = s->generation + 1};
}

void dns_stream_begin(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        clear(&streams[i]);
}

static struct stream *find(uint32_t id)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        if (streams[i].open && streams[i].id == id)
            return &streams[i];
    return 0;
}

static struct stream *place(void)
{
    struct stream *oldest = &streams[0];
    for (uint32_t i = 0; i < STREAMS; i++) {
        if (!streams[i].open)
            return &streams[i];
        if (streams[i].used_ns < oldest->used_ns)
            oldest = &streams[i];
    }
    uint32_t id = oldest->id;
    clear(oldest);
    tcp_event(id, VM_NET_READABLE); /* it asks, and is told that it is gone */
    return oldest;
}

void dns_stream_connect(uint32_t id)
{
    struct stream *s = place();
    s->open = true;
    s->id = id;
    s->used_ns = host_now_ns();
    tcp_event(id, VM_NET_OPENED);
}

/* One byte of a message that comes with its length before it. false: it is no question. */
static bool take(struct stream *s, uint8_t byte)
{
    s->in[s->in_n++] = byte;
    uint32_t n = s->in_n < 2 ? 0 : be16(s->in);
    if (s->in_n < 2)
        return true;
    if (!n || n > QUESTION_MAX)
        return false;
    if (s->in_n < 2 + n)
        return true;
    struct dns_client c = {
        .stream = true, .place = (uint32_t)(s - streams), .generation = s->generation};
    s->in_n = 0;
    s->asked++;
    return dns_query(&c, s->in + 2, n);
}

static bool has_room(const struct stream *s)
{
    return sizeof s->out - s->out_n >= (s->asked + 1) * ANSWER_BYTES;
}

int32_t dns_stream_send(uint32_t id, const uint8_t *at, uint32_t n)
{
    struct stream *s = find(id);
    uint32_t i = 0;
    if (!s || s->broken)
        return VM_NET_GONE;
    s->used_ns = host_now_ns();
    for (; i < n && has_room(s); i++)
        if (!take(s, at[i])) {
            s->broken = true;
            return VM_NET_GONE;
        }
    s->full = i < n;
    return (int32_t)i;
}

int32_t dns_stream_receive(uint32_t id, uint8_t *at, uint32_t n)
{
    struct stream *s = find(id);
    if (!s || s->broken)
        return VM_NET_GONE;
    if (!s->out_n)
        return s->shut && !s->asked ? 0 : VM_NET_NONE;
    n = n < s->out_n ? n : s->out_n;
    __builtin_memcpy(at, s->out, n);
    s->out_n -= n;
    __builtin_memmove(s->out, s->out + n, s->out_n);
    if (s->full && has_room(s)) {
        s->full = false;
        tcp_event(id, VM_NET_WRITABLE);
    }
    return (int32_t)n;
}

void dns_stream_shut(uint32_t id)
{
    struct stream *s = find(id);
    if (!s)
        return;
    s->shut = true;
    tcp_event(id, VM_NET_READABLE);
}

void dns_stream_close(uint32_t id)
{
    struct stream *s = find(id);
    if (s)
        clear(s);
}

void dns_stream_reply(uint32_t place, uint32_t generation, const uint8_t *at, uint32_t n)
{
    struct stream *s = &streams[place];
    if (!s->open || s->generation != generation)
        return;
    put16(s->out + s->out_n, n);
    __builtin_memcpy(s->out + s->out_n + 2, at, n);
    s->out_n += 2 + n;
    s->asked--;
    s->used_ns = host_now_ns();
    tcp_event(s->id, VM_NET_READABLE);
}
