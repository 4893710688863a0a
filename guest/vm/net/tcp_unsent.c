/* lwIP keeps its queue in order as long as windows do not shrink. Linux shrinks them when it is short
 * of memory. Without what is done here, such a connection sends nothing any more. */
#include "vm/net/tcp_unsent.h"

#include <lwip/priv/tcp_priv.h>

static uint32_t number(const struct tcp_seg *s)
{
    return lwip_ntohl(s->tcphdr->seqno);
}

void unsent_merge(struct tcp_pcb *p)
{
    struct tcp_seg **at = &p->unacked;
    while (p->unsent && *at) {
        struct tcp_seg *s = p->unsent;
        if (TCP_SEQ_LT(number(s), number(*at))) {
            p->unsent = s->next;
            s->next = *at;
            *at = s;
        }
        at = &(*at)->next;
    }
    if (!p->unsent)
        p->unsent_oversize = 0;
}

static void drop_first(struct tcp_pcb *p)
{
    struct tcp_seg *s = p->unsent;
    p->unsent = s->next;
    p->snd_queuelen = (u16_t)(p->snd_queuelen - pbuf_clen(s->p));
    p->snd_buf += s->len;
    tcp_seg_free(s);
    if (p->unsent)
        return;
    p->unsent_oversize = 0;
    p->persist_backoff = 0;
}

static void drop_acknowledged(struct tcp_pcb *p)
{
    for (struct tcp_seg *s; (s = p->unsent) && TCP_SEQ_LT(number(s), p->lastack);) {
        uint32_t known = p->lastack - number(s);
        if (s->len > known && tcp_split_unsent_seg(p, (u16_t)known) != ERR_OK)
            return; /* there is no memory now */
        if (TCP_TCPLEN(s) > known)
            return; /* it is an end, which any window takes */
        drop_first(p);
    }
}

void unsent_tick(struct tcp_pcb *p)
{
    if (p->persist_backoff)
        drop_acknowledged(p);
    else if (p->unsent && p->rtime >= 0 && p->rtime + 1 >= p->rto)
        unsent_merge(p);
}
