/* Who is next: each caller has a line of its own, and the lines take turns, so that one
 * caller's flood is its own delay.
 *
 * Workers cannot be taken away again from who has them, so some stay free: nobody has
 * more than half of them, and the last quarter is for those who have hardly any. */
#include "http/server.h"

/* Workers that any caller may have, however many are taken. */
#define FEW 3u

struct line {
    struct line *next;
    uint64_t share; /* whose it is */
    struct http_request *first, *last;
    unsigned queued, running;
};

static struct line **find(struct http_server *s, uint64_t share)
{
    struct line **at = &s->lines;
    while (*at && (*at)->share != share)
        at = &(*at)->next;
    return at;
}

bool fair_put(struct http_server *s, struct http_request *rq)
{
    struct line **at = find(s, rq->share), *x = *at;
    unsigned most = rq->share ? s->o.queue_max / 4 + 1 : s->o.queue_max;
    if (s->queued >= s->o.queue_max || (x && x->queued >= most))
        return false;
    if (!x) {
        x = *at = mem_new(sizeof *x);
        x->share = rq->share;
    }
    rq->next_queued = NULL;
    if (x->last)
        x->last->next_queued = rq;
    else
        x->first = rq;
    x->last = rq;
    x->queued++;
    s->queued++;
    return true;
}

static bool may_run(const struct http_server *s, const struct line *x)
{
    unsigned all = s->o.workers, idle = all - s->running;
    return x->share == 0 || s->ending || x->running < FEW ||
           (x->running < all / 2 && idle > all / 4);
}

/* The first line that has somebody who may run; NULL: none has. */
static struct line **next_line(struct http_server *s)
{
    for (struct line **at = &s->lines; *at; at = &(*at)->next)
        if ((*at)->queued && may_run(s, *at))
            return at;
    return NULL;
}

bool fair_is_ready(struct http_server *s)
{
    return s->queued && next_line(s);
}

struct http_request *fair_take(struct http_server *s)
{
    struct line **at = s->queued ? next_line(s) : NULL, *x = at ? *at : NULL;
    if (!x)
        return NULL;
    struct http_request *rq = x->first;
    x->first = rq->next_queued;
    if (!x->first)
        x->last = NULL;
    x->queued--;
    x->running++;
    s->queued--;
    s->running++;
    /* Behind all others. */
    *at = x->next;
    x->next = NULL;
    while (*at)
        at = &(*at)->next;
    *at = x;
    return rq;
}

void fair_done(struct http_server *s, uint64_t share)
{
    struct line **at = find(s, share), *x = *at;
    must(x && x->running);
    s->running--;
    if (--x->running || x->queued)
        return;
    *at = x->next;
    free(x);
}
