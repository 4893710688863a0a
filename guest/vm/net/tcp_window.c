/* lwIP knows one size of window for all connections, and tells of more room by that size and by its
 * largest segment. Both are done here in its place. */
#include "vm/net/tcp_window.h"
#include "vm/net/heap.h"
#include "vm/net/tcp.h"

#define PLAIN_MAX 65535u /* for who knows no window scale */
/* Bytes of all windows beyond the first. */
#define SPARE ((uint32_t)2 << 20)
/* Of memory: what a connection may always have, and up to which total it may have more. */
#define SHARE ((size_t)12 << 10) /* a first window, in blocks of the heap */
#define COMMON (HEAP_BYTES - HEAP_RESERVE - (TCP_CONNECTIONS + TCP_INBOUND) * SHARE)
#define OVERHEAD 64u /* of a segment: TCP's header and lwIP's */

static uint32_t spent; /* of SPARE */

void window_begin(struct window *w, struct tcp_pcb *p)
{
    *w = (struct window){.size = WINDOW_FIRST};
    p->rcv_wnd = p->rcv_ann_wnd = WINDOW_FIRST;
    p->rcv_ann_right_edge = p->rcv_nxt + WINDOW_FIRST;
}

void window_end(struct window *w)
{
    if (w->size > WINDOW_FIRST)
        spent -= w->size - WINDOW_FIRST;
    *w = (struct window){0};
}

static size_t out_of_order(const struct tcp_pcb *p)
{
    size_t n = 0;
    for (const struct tcp_seg *s = p->ooseq; s; s = s->next)
        for (const struct pbuf *b = s->p; b; b = b->next)
            n += heap_size(b);
    return n;
}

bool window_has_room(const struct window *w, const struct tcp_pcb *p, uint32_t seq,
                     uint32_t n)
{
    size_t used = heap_used(), more = n + OVERHEAD;
    if (used + more <= COMMON)
        return true;
    return used + more <= HEAP_BYTES - HEAP_RESERVE && seq == p->rcv_nxt &&
           w->held + out_of_order(p) + more <= SHARE;
}

/* Twice as much, if as much again stays for others. */
static void grow(struct window *w, struct tcp_pcb *p)
{
    uint32_t most = p->flags & TF_WND_SCALE ? TCP_WND : PLAIN_MAX;
    uint32_t more = w->size < most - w->size ? w->size : most - w->size;
    w->taken = 0;
    if (2 * more > SPARE - spent || heap_used() > COMMON)
        return;
    w->size += more;
    spent += more;
    p->rcv_wnd += more;
}

/* What was promised stays so: a window gets smaller by what is taken and not given again. */
static uint32_t shrink(struct window *w, uint32_t n)
{
    uint32_t over = w->size - WINDOW_FIRST;
    if (heap_used() <= COMMON || !over)
        return n;
    uint32_t less = n < over ? n : over;
    w->size -= less;
    spent -= less;
    return n - less;
}

void window_taken(struct window *w, struct tcp_pcb *p, uint32_t n)
{
    w->taken += n;
    p->rcv_wnd += shrink(w, n);
    if (p->rcv_wnd > w->size)
        p->rcv_wnd = w->size;
    if (w->taken >= w->size)
        grow(w, p);
}

void window_tell(const struct window *w, struct tcp_pcb *p)
{
    uint32_t edge = p->rcv_nxt + p->rcv_wnd;
    if (!w->size || TCP_SEQ_LT(edge, p->rcv_ann_right_edge + w->size / 4))
        return; /* the first: the machine has not taken it up yet */
    p->rcv_ann_wnd = p->rcv_wnd;
    tcp_ack_now(p);
    tcp_output(p);
}
