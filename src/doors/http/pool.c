/* The workers: a fixed number of threads, a bounded queue before them, and the
 * list of all requests that are with them.
 */
#include <errno.h>

#include "http/server.h"
#include "os/os.h"

/* ---- the flight: what waits or runs ------------------------------------- */

static void enter_flight(struct http_server *s, struct http_request *rq)
{
    rq->serial = ++s->serials;
    rq->later = NULL;
    rq->earlier = s->flight_last;
    if (rq->earlier)
        rq->earlier->later = rq;
    else
        s->flight_first = rq;
    s->flight_last = rq;
    s->n_flight++;
    watch_enter(s, rq);
}

static void leave_flight(struct http_server *s, struct http_request *rq)
{
    /* Whoever is firing its cancel still needs it. */
    while (rq->pins)
        pthread_cond_wait(&s->quiet, &s->lock);
    watch_leave(s, rq);
    *(rq->earlier ? &rq->earlier->later : &s->flight_first) = rq->later;
    *(rq->later ? &rq->later->earlier : &s->flight_last) = rq->earlier;
}

/* The lock is held before and after, not while it is fired. */
static void cancel_fire_pinned(struct http_server *s, struct http_request *rq,
                               struct cancel *which)
{
    rq->pins++;
    pthread_mutex_unlock(&s->lock);
    cancel_fire(which);
    pthread_mutex_lock(&s->lock);
    rq->pins--;
    pthread_cond_broadcast(&s->quiet);
}

void pool_fire(struct http_server *s, struct http_request *rq)
{
    if (rq->gone)
        return;
    rq->gone = true;
    cancel_fire_pinned(s, rq, &rq->cancel);
}

void pool_pin(struct http_server *s, struct http_request *rq)
{
    pthread_mutex_lock(&s->lock);
    rq->pins++;
    rq->gone = true;
    pthread_mutex_unlock(&s->lock);
}

void pool_fire_pinned(struct http_server *s, struct http_request *rq)
{
    cancel_fire(&rq->cancel);
    pthread_mutex_lock(&s->lock);
    rq->pins--;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
}

void pool_detach(struct http_server *s, struct http_request *rq)
{
    pthread_mutex_lock(&s->lock);
    watch_leave(s, rq);
    rq->detached = true;
    rq->watched = false;
    pthread_mutex_unlock(&s->lock);
}

void pool_expel(struct http_server *s, bool (*stays)(void *arg, const void *left),
                void *arg)
{
    pthread_mutex_lock(&s->lock);
    /* From the start after each: the lock was given away in between. */
    for (struct http_request *rq = s->flight_first; rq;) {
        if (rq->out || stays(arg, rq->admitted)) {
            rq = rq->later;
        } else {
            rq->out = true;
            rq->pins++; /* over both */
            cancel_fire_pinned(s, rq, &rq->expelled);
            pool_fire(s, rq);
            rq->pins--;
            pthread_cond_broadcast(&s->quiet);
            rq = s->flight_first;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

static bool nobody_stays(void *arg, const void *left)
{
    (void)arg;
    (void)left;
    return false;
}

void pool_cancel_all(struct http_server *s)
{
    pool_expel(s, nobody_stays, NULL);
}

bool pool_wait(struct http_server *s, uint64_t until_ns)
{
    pthread_mutex_lock(&s->lock);
    while (s->n_flight && os_cond_wait(&s->quiet, &s->lock, until_ns))
        continue;
    bool quiet = s->n_flight == 0;
    pthread_mutex_unlock(&s->lock);
    return quiet;
}

/* ---- the queue ---------------------------------------------------------- */

/* Workers are woken one at a time; each wakes the next if there is still work when it
 * comes: for short requests that is seldom so, and switching between threads would cost
 * more than the requests. */
static bool may_wake(struct http_server *s)
{
    bool wake = s->idle > 0 && !s->waking;
    s->waking = s->waking || wake;
    return wake;
}

bool pool_put(struct http_server *s, struct http_request *rq)
{
    pthread_mutex_lock(&s->lock);
    bool room = !s->ending && fair_put(s, rq);
    if (room)
        enter_flight(s, rq);
    bool wake = room && fair_is_ready(s) && may_wake(s);
    pthread_mutex_unlock(&s->lock);
    if (wake)
        pthread_cond_signal(&s->work);
    return room;
}

/* `*wake`: another worker is to be woken, once the lock is given back: it would only
 * wait for it. */
static struct http_request *next_request(struct http_server *s, bool *wake)
{
    struct http_request *rq;
    while (!(rq = fair_take(s)) && !s->ending) {
        s->idle++;
        pthread_cond_wait(&s->work, &s->lock);
        s->idle--;
        s->waking = false;
    }
    *wake = fair_is_ready(s) && may_wake(s);
    return rq;
}

static void request_run(struct http_request *rq, bool gone)
{
    const struct http_route *route = rq->route;
    struct http_response rs;
    response_init(&rs);
    void *work = take(rq->work);
    if (gone) {
        if (work && route->drop)
            route->drop(route->arg, work);
        http_say(&rs, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is stopping");
    } else {
        route->work(route->arg, rq, work, &rs);
    }
    (void)response_put(rq, &rs);
}

static void *worker_main(void *arg)
{
    struct http_server *s = arg;
    struct http_request *rq;
    pthread_mutex_lock(&s->lock);
    bool wake;
    while ((rq = next_request(s, &wake))) {
        bool gone = rq->gone;
        pthread_mutex_unlock(&s->lock);
        if (wake)
            pthread_cond_signal(&s->work);
        request_run(rq, gone);
        pthread_mutex_lock(&s->lock);
        fair_done(s, rq->share);
        leave_flight(s, rq);
        pthread_mutex_unlock(&s->lock);
        /* From here on the request is its connection's again. It is counted
         * until then: once nothing is in flight, no connection is suspended,
         * which the end of the server relies on. */
        if (rq->detached)
            request_done(rq);
        else
            MHD_resume_connection(rq->connection);
        pthread_mutex_lock(&s->lock);
        if (--s->n_flight == 0)
            pthread_cond_broadcast(&s->quiet);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- threads ------------------------------------------------------------ */

/* Starts one more. false: errno says why. */
static bool start_worker(struct http_server *s)
{
    bool ok = os_thread_start(&s->threads[s->n_threads], "http-work", s->o.worker_stack,
                              worker_main, s);
    s->n_threads += ok;
    return ok;
}

bool pool_start(struct http_server *s, struct err *e)
{
    s->threads = mem_new((s->o.workers + HTTP_PARKED_MAX) * sizeof *s->threads);
    while (s->n_threads < s->o.workers)
        if (!start_worker(s))
            return err_set(e, ERR_IO, "cannot start worker %u of %u: %m",
                           s->n_threads + 1, s->o.workers);
    return true;
}

/* Threads that were made once stay: as many as were ever parked at a time. */
static bool has_substitute(struct http_server *s)
{
    return s->n_threads - s->parked > s->o.workers || start_worker(s);
}

bool http_park(struct http_request *rq, struct err *e)
{
    struct http_server *s = rq->server;
    pthread_mutex_lock(&s->lock);
    bool ok =
        rq->parks > 0 || (!s->ending && has_substitute(s) && fair_park(s, rq->share));
    rq->parks += ok;
    bool wake = ok && rq->parks == 1 && fair_is_ready(s) && may_wake(s);
    pthread_mutex_unlock(&s->lock);
    if (wake)
        pthread_cond_signal(&s->work);
    return ok || err_set(e, ERR_BUSY,
                         "too many calls wait for a person (%u may, and of one caller a "
                         "quarter of that); nothing ran; ask again when some are decided",
                         HTTP_PARKED_MAX);
}

void http_unpark(struct http_request *rq)
{
    struct http_server *s = rq->server;
    pthread_mutex_lock(&s->lock);
    if (--rq->parks == 0)
        fair_unpark(s, rq->share);
    pthread_mutex_unlock(&s->lock);
}

void pool_end(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->ending = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void pool_join(struct http_server *s)
{
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    free(s->threads);
}
