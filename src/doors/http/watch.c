/* Notices clients that hang up while a worker has their request: the library
 * does not look at a suspended connection.
 *
 * Most requests are done in less than a tick, so a socket enters the watched
 * set only once its request has been there for one: a short request costs no
 * system call here. With nothing new in flight the thread looks once a second for those
 * who are too slow (links.c), and without a connection it sleeps for good.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "http/server.h"
#include "os/os.h"

#define TICK_MS 5
#define SWEEP_MS 1000
#define WAKE_SERIAL 0u /* requests count from 1 */

static bool watch_fd(struct watcher *w, int fd, uint32_t events, uint64_t serial)
{
    struct epoll_event ev = {.events = events, .data.u64 = serial};
    return epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

void watch_enter(struct http_server *s, struct http_request *rq)
{
    rq->tick = s->watcher.tick;
    rq->watched = false;
    if (s->watcher.asleep) {
        s->watcher.asleep = false;
        (void)eventfd_write(s->watcher.wake, 1);
    }
}

void watch_leave(struct http_server *s, struct http_request *rq)
{
    if (rq->watched && !rq->detached)
        (void)epoll_ctl(s->watcher.epoll, EPOLL_CTL_DEL, request_socket(rq), NULL);
}

/* Takes in what has been there for a tick. Newer requests stand behind older
 * ones, so those that are not watched yet are all at the end. */
static bool watch_older(struct http_server *s)
{
    struct watcher *w = &s->watcher;
    bool newer = false;
    for (struct http_request *rq = s->flight_last; rq && !rq->watched; rq = rq->earlier) {
        if (w->tick - rq->tick < 2) {
            newer = true;
            continue;
        }
        /* A descriptor that cannot be watched is not tried again: its request
         * only ends by itself. */
        rq->watched = true;
        if (!rq->detached) /* else its stream is watched */
            (void)watch_fd(w, request_socket(rq), EPOLLRDHUP | EPOLLONESHOT, rq->serial);
    }
    return newer;
}

static void hung_up(struct http_server *s, uint64_t serial)
{
    /* The request may be gone by now, its descriptor another's: serials are
     * never used twice. */
    for (struct http_request *rq = s->flight_first; rq; rq = rq->later) {
        if (rq->serial == serial) {
            pool_fire(s, rq);
            return;
        }
    }
}

/* How long it may sleep: forever only while there is no connection at all. */
static int next_tick(struct http_server *s, bool newer)
{
    struct watcher *w = &s->watcher;
    uint64_t now = os_mono_ns();
    bool any = true;
    if (now - w->swept_ns >= SWEEP_MS * 1000000ull) {
        w->swept_ns = now;
        any = links_sweep(s);
    }
    return newer ? TICK_MS : any ? SWEEP_MS : -1;
}

static void *watch_main(void *arg)
{
    struct http_server *s = arg;
    struct watcher *w = &s->watcher;
    int timeout = -1;
    for (;;) {
        struct epoll_event ev[64];
        int n = epoll_wait(w->epoll, ev, LENGTH(ev), timeout);
        if (n < 0 && errno != EINTR)
            return NULL;
        pthread_mutex_lock(&s->lock);
        if (!w->running) {
            pthread_mutex_unlock(&s->lock);
            return NULL;
        }
        for (int i = 0; i < n; i++) {
            eventfd_t count;
            if (ev[i].data.u64 == WAKE_SERIAL)
                (void)eventfd_read(w->wake, &count);
            else
                hung_up(s, ev[i].data.u64);
        }
        w->tick++;
        bool newer = watch_older(s);
        w->asleep = !newer;
        pthread_mutex_unlock(&s->lock);
        timeout = next_tick(s, newer);
    }
}

bool watch_start(struct http_server *s, struct err *e)
{
    struct watcher *w = &s->watcher;
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll < 0 || w->wake < 0 || !watch_fd(w, w->wake, EPOLLIN, WAKE_SERIAL))
        return err_set(e, ERR_IO, "cannot watch connections: %m");
    w->running = true;
    w->asleep = true;
    if (os_thread_start(&w->thread, "http-watch", 0, watch_main, s))
        return true;
    w->running = false;
    return err_set(e, ERR_IO, "cannot start a thread: %m");
}

void watch_stop(struct http_server *s)
{
    struct watcher *w = &s->watcher;
    pthread_mutex_lock(&s->lock);
    bool running = w->running;
    w->running = false;
    pthread_mutex_unlock(&s->lock);
    if (running) {
        (void)eventfd_write(w->wake, 1);
        pthread_join(w->thread, NULL);
    }
    if (w->epoll >= 0)
        close(w->epoll);
    if (w->wake >= 0)
        close(w->wake);
}
