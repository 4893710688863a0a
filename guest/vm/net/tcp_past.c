/* A program that only reads would never learn of a reset that was lost, so none is sent without
 * room. Meanwhile lwIP has the connection, at a priority that no other has. */
#include "vm/net/tcp_past.h"
#include "vm/net/card.h"

#include <lwip/priv/tcp_priv.h>

#define PAST TCP_PRIO_MIN
#define RESET_BYTES (14u + 40u + 20u)

void past_begin(void)
{
    while (tcp_tw_pcbs)
        tcp_abort(tcp_tw_pcbs);
    for (struct tcp_pcb *p = tcp_active_pcbs; p; p = p->next)
        tcp_setprio(p, PAST);
}

static struct tcp_pcb *next_past(void)
{
    struct tcp_pcb *p = tcp_active_pcbs;
    while (p && p->prio != PAST)
        p = p->next;
    return p;
}

void past_work(void)
{
    struct tcp_pcb *p;
    while ((p = next_past()) && card_has_room(RESET_BYTES))
        tcp_abort(p);
}
