#include "vm/keep.h"

void keep_init(struct keep *k, size_t max)
{
    *k = (struct keep){.max = max};
    buf_init(&k->head, max - max / 2);
    buf_init(&k->tail, max / 2);
}

void keep_done(struct keep *k)
{
    buf_done(&k->head);
    buf_done(&k->tail);
}

static struct str keep_put_part(struct buf *b, struct str bytes)
{
    size_t room = b->ceiling - b->n, n = bytes.n < room ? bytes.n : room;
    buf_put(b, bytes.at, n);
    return (struct str){bytes.at + n, bytes.n - n};
}

/* Overwrites the oldest bytes of a full ring. */
static void put_round(struct keep *k, struct str bytes)
{
    size_t size = k->tail.n;
    if (bytes.n > size) {
        bytes.at += bytes.n - size;
        bytes.n = size;
    }
    while (bytes.n > 0) {
        size_t room = size - k->ring_at, n = bytes.n < room ? bytes.n : room;
        memcpy(k->tail.at + k->ring_at, bytes.at, n);
        k->ring_at = (k->ring_at + n) % size;
        bytes.at += n;
        bytes.n -= n;
    }
}

void keep_put(struct keep *k, struct str bytes)
{
    k->all += bytes.n;
    bytes = keep_put_part(&k->head, bytes);
    bytes = keep_put_part(&k->tail, bytes);
    if (bytes.n > 0 && !k->tail.failed)
        put_round(k, bytes);
}

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes at the end of `s` that begin an incomplete character; 0 if it is not UTF-8. */
static size_t begun(struct str s)
{
    for (size_t n = 1; n <= 3 && n <= s.n; n++) {
        unsigned char c = (unsigned char)s.at[s.n - n];
        if (continues((char)c))
            continue;
        size_t want = c >= 0xf5 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return want > n ? n : 0;
    }
    return 0;
}

/* Bytes at the beginning of `s` that continue a character. */
static size_t ends(struct str s)
{
    size_t n = 0;
    while (n < 3 && n < s.n && continues(s.at[n]))
        n++;
    return n;
}

uint64_t keep_end(struct keep *k, struct buf *out, size_t *gap)
{
    struct str head = buf_view(&k->head);
    uint64_t lost = k->all - k->head.n - k->tail.n;
    *gap = 0;
    if (k->all == k->head.n) {
        *out = k->head;
        k->head = (struct buf){0};
        return 0;
    }
    buf_init(out, k->max);
    if (lost == 0) {
        buf_str(out, head);
        buf_str(out, buf_view(&k->tail));
        return 0;
    }
    /* The ring in order: from the oldest byte to its end, then its beginning. */
    struct buf last;
    buf_init(&last, k->max);
    buf_put(&last, k->tail.at + k->ring_at, k->tail.n - k->ring_at);
    buf_put(&last, k->tail.at, k->ring_at);
    size_t before = begun(head), behind = ends(buf_view(&last));
    *gap = head.n - before;
    buf_put(out, head.at, *gap);
    buf_put(out, last.at + behind, last.n - behind);
    buf_done(&last);
    return lost + before + behind;
}
