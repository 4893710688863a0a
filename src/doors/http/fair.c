/* The order of requests: each caller has a line of its own, and the lines take turns, so
 * that one caller's flood is its own delay.
 *
 * Workers cannot be taken away again from who has them, so some stay free: nobody has
 * more than half of them, and the last quarter is for those who have hardly any. So it is
 * with the memory for bodies, which who sends slowly holds for long: nobody's large ones
 * have more than half of it, and the last eighth is for small ones. */
#include "http/server.h"

/* Workers that any caller may have, however many are taken. */
#define FEW 3u
#define SMALL_BODY ((size_t)16 * 1024) /* bytes */

struct line {
    struct line *next;
    uint64_t share; /* whose it is */
    struct http_request *first, *last;
    unsigned queued, running;
    unsigned parked; /* that wait for a person */
    size_t held;     /* bytes of large bodies */
};

static struct line **line_find(struct http_server *s, uint64_t share)
{
    struct line **at = &s->lines;
    while (*at && (*at)->share != share)
        at = &(*at)->next;
    return at;
}

static struct line *line_need(struct http_server *s, uint64_t share)
{
    struct line **at = line_find(s, share);
    if (!*at) {
        *at = mem_new(sizeof **at);
        (*at)->share = share;
    }
    return *at;
}

/* Forgets a line that nothing is in. */
static void line_drop_idle(struct line **at)
{
    struct line *x = *at;
    if (x->running || x->queued || x->held || x->parked)
        return;
    *at = x->next;
    free(x);
}

bool fair_put(struct http_server *s, struct http_request *rq)
{
    struct line *x = *line_find(s, rq->share);
    unsigned most = rq->share ? s->o.queue_max / 4 + 1 : s->o.queue_max;
    if (s->queued >= s->o.queue_max || (x && x->queued >= most))
        return false;
    x = line_need(s, rq->share);
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
    unsigned all = s->o.workers;
    /* When some came back from a person, more may run than there are workers. */
    unsigned idle = s->running < all ? all - s->running : 0;
    return s->ending || (idle && (x->share == 0 || x->running < FEW ||
                                  (x->running < all / 2 && idle > all / 4)));
}

/* The first line that has somebody who may run; NULL: none has. */
static struct line **fair_next_line(struct http_server *s)
{
    for (struct line **at = &s->lines; *at; at = &(*at)->next)
        if ((*at)->queued && may_run(s, *at))
            return at;
    return NULL;
}

bool fair_is_ready(struct http_server *s)
{
    return s->queued && fair_next_line(s);
}

struct http_request *fair_take(struct http_server *s)
{
    struct line **at = s->queued ? fair_next_line(s) : NULL, *x = at ? *at : NULL;
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
    struct line **at = line_find(s, share), *x = *at;
    must(x && x->running);
    s->running--;
    x->running--;
    line_drop_idle(at);
}

void fair_again(struct http_server *s, uint64_t share)
{
    s->running++;
    line_need(s, share)->running++;
}

/* ---- places for those who wait for a person ------------------------------ */

bool fair_park(struct http_server *s, uint64_t share)
{
    struct line **at = line_find(s, share), *x = *at;
    must(x && x->running);
    if (!share_fits(x->parked, s->parked, HTTP_PARKED_MAX))
        return false;
    x->parked++;
    s->parked++;
    fair_done(s, share);
    return true;
}

void fair_unpark(struct http_server *s, uint64_t share)
{
    struct line *x = *line_find(s, share);
    must(x && x->parked);
    x->parked--;
    s->parked--;
    fair_again(s, share);
}

/* ---- memory for bodies --------------------------------------------------- */

bool fair_hold(struct http_server *s, struct http_request *rq, size_t n)
{
    size_t most = s->o.bodies_max, all = atomic_fetch_add(&s->bodies, n) + n;
    rq->body_held += n;
    if (rq->body_held <= SMALL_BODY)
        return all <= most;
    pthread_mutex_lock(&s->lock);
    struct line *x = line_need(s, rq->share);
    x->held += rq->body_held - rq->body_share;
    rq->body_share = rq->body_held;
    bool has_half = rq->share && x->held > most / 2;
    pthread_mutex_unlock(&s->lock);
    return !has_half && all <= most - most / 8;
}

void fair_let_go(struct http_server *s, struct http_request *rq)
{
    atomic_fetch_sub(&s->bodies, rq->body_held);
    rq->body_held = 0;
    if (!rq->body_share)
        return;
    pthread_mutex_lock(&s->lock);
    struct line **at = line_find(s, rq->share);
    must(*at && (*at)->held >= rq->body_share);
    (*at)->held -= rq->body_share;
    rq->body_share = 0;
    line_drop_idle(at);
    pthread_mutex_unlock(&s->lock);
}
