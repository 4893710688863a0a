/* Streams: responses that go on after their handler has returned.
 *
 * The library has 16 KiB a connection, and walks through all suspended ones whenever one
 * goes on; ten thousand silent streams would cost every other request. So a stream takes
 * its socket with it (a second descriptor of it; the library is told to let go of its
 * own, MHD_USE_TURBO keeps it from shutting the socket down), and one thread with an
 * epoll set waits for hang-ups and for slow clients to read on. Bytes leave on the thread
 * that puts them, as far as the client takes them.
 *
 * Under TLS the session is the library's, and cannot be taken along: there the stream is
 * "carried", an ordinary response that the library reads from us, suspended while there
 * is nothing. Hang-ups and the rest are seen by the same thread on the same descriptor.
 *
 * Three hold a stream: its owner by the handle, its request until the handler is done,
 * and the thread for as long as the socket is open. Only that thread closes sockets and
 * takes them out of its set, so an event never meets a stream that is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http/stream.h"
#include "os/os.h"

/* After the last byte: until the client has hung up, too. A socket that is closed with
 * bytes unread would take back what the client has not read yet. */
#define LINGER_S 2u
#define TICK_MS 1000
#define CARRIED_AT_ONCE ((size_t)4096) /* bytes the library reads at a time */

/* ---- holders -------------------------------------------------------------- */

static void stream_free(struct http_stream *st)
{
    buf_done(&st->out);
    pthread_cond_destroy(&st->emptied);
    pthread_mutex_destroy(&st->lock);
    free(st);
}

/* The hub's lock is held before and after. */
static void let_go(struct http_stream *st)
{
    struct http_server *s = st->server;
    if (--st->holders)
        return;
    *(st->earlier ? &st->earlier->later : &s->hub.first) = st->later;
    *(st->later ? &st->later->earlier : &s->hub.last) = st->earlier;
    pthread_mutex_unlock(&s->hub.lock);
    if (st->admitted)
        s->o.release(s->o.admit_arg, st->admitted);
    stream_free(st);
    pthread_mutex_lock(&s->hub.lock);
    s->hub.count--;
    pthread_cond_broadcast(&s->hub.changed);
}

/* Tells the owner. The hub's lock is held before and after, not meanwhile. */
static void stream_notify(struct http_stream *st)
{
    struct stream_hub *hub = &st->server->hub;
    if (st->ended || !st->gone)
        return;
    void (*gone)(void *arg) = st->gone;
    st->gone = NULL;
    st->telling = true;
    st->teller = pthread_self();
    st->holders++;
    pthread_mutex_unlock(&hub->lock);
    gone(st->arg);
    pthread_mutex_lock(&hub->lock);
    st->telling = false;
    pthread_cond_broadcast(&hub->changed);
    let_go(st);
}

void stream_handled(struct http_stream *st)
{
    struct stream_hub *hub = &st->server->hub;
    pthread_mutex_lock(&hub->lock);
    st->handled = true;
    st->rq = NULL;
    if (st->over || hub->closed)
        stream_notify(st);
    let_go(st);
    pthread_mutex_unlock(&hub->lock);
}

/* ---- its end ----------------------------------------------------------------- */

void http_stream_end(struct http_stream *st)
{
    if (!st)
        return;
    struct stream_hub *hub = &st->server->hub;
    pthread_mutex_lock(&hub->lock);
    st->ended =
        true; /* first: the socket may be closed as soon as the last byte is sent */
    pthread_mutex_unlock(&hub->lock);

    pthread_mutex_lock(&st->lock);
    if (st->phase == PHASE_OPEN) {
        if (st->chunked)
            buf_cstr(&st->out, "0\r\n\r\n");
        st->phase = PHASE_ENDING;
        st->moved_ns = os_mono_ns();
        if (!st->waits || st->carried)
            stream_flush(st);
        stream_settle(st);
    }
    pthread_mutex_unlock(&st->lock);

    pthread_mutex_lock(&hub->lock);
    while (st->telling && !pthread_equal(pthread_self(), st->teller))
        pthread_cond_wait(&hub->changed, &hub->lock);
    let_go(st);
    pthread_mutex_unlock(&hub->lock);
}

static void give_up(struct http_stream *st)
{
    pthread_mutex_lock(&st->lock);
    if (st->phase < PHASE_LOST)
        stream_lose(st);
    pthread_mutex_unlock(&st->lock);
}

void streams_expel(struct http_server *s)
{
    struct stream_hub *hub = &s->hub;
    pthread_mutex_lock(&hub->lock);
    for (struct http_stream *st = hub->first; st; st = st->later) {
        if (s->o.stays(s->o.admit_arg, st->admitted))
            continue;
        give_up(st);
    }
    pthread_mutex_unlock(&hub->lock);
}

/* ---- carried by the library ------------------------------------------------ */

/* The library needs it no more: it was sent, or its connection is gone. */
static void carried_off(void *arg)
{
    struct http_stream *st = arg;
    pthread_mutex_lock(&st->lock);
    if (st->phase == PHASE_OPEN || st->phase == PHASE_ENDING)
        stream_lose(st);
    pthread_mutex_unlock(&st->lock);
    struct stream_hub *hub = &st->server->hub;
    pthread_mutex_lock(&hub->lock);
    let_go(st);
    pthread_mutex_unlock(&hub->lock);
}

struct MHD_Response *stream_response(struct http_stream *st)
{
    struct MHD_Response *answer = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, CARRIED_AT_ONCE, stream_carry, st, carried_off);
    must(answer != NULL); /* only ever out of memory */
    return answer;
}

bool stream_is_carried(const struct http_stream *st)
{
    return st->carried;
}

/* ---- the thread ------------------------------------------------------------ */

/* The socket's end; the stream may be gone with it. */
static void close_socket(struct http_stream *st)
{
    struct stream_hub *hub = &st->server->hub;
    pthread_mutex_lock(&st->lock);
    (void)epoll_ctl(hub->epoll, EPOLL_CTL_DEL, st->fd, NULL);
    close(st->fd);
    st->fd = -1;
    st->phase = PHASE_CLOSED;
    pthread_cond_broadcast(&st->emptied);
    stream_set_waits(st, false);
    pthread_mutex_unlock(&st->lock);

    pthread_mutex_lock(&hub->lock);
    st->over = true;
    struct http_request *rq = st->rq;
    if (rq && rq->detached) {
        pool_pin(st->server, rq); /* its handler has not returned, and now cannot yet */
        pthread_mutex_unlock(&hub->lock);
        pool_fire_pinned(st->server, rq);
        pthread_mutex_lock(&hub->lock);
    }
    if (st->handled)
        stream_notify(st);
    hub->open--;
    let_go(st);
    pthread_mutex_unlock(&hub->lock);
}

/* Bytes that a client sends after its request, or after our end, are dropped. */
static bool drained(int fd)
{
    char waste[16 * 1024];
    ssize_t n = 1;
    for (unsigned i = 0; i < 16 && n > 0; i++) /* others wait, too */
        n = recv(fd, waste, sizeof waste, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void on_event(struct http_stream *st, uint32_t events)
{
    pthread_mutex_lock(&st->lock);
    bool over = st->phase == PHASE_LOST || st->phase == PHASE_DONE ||
                (events & (EPOLLERR | EPOLLHUP));
    if (!over && !st->carried && (events & EPOLLOUT)) {
        stream_flush(st);
        stream_settle(st);
    }
    /* A client that closes its side while we send is gone; after the end we wait for
     * that. */
    if ((events & EPOLLRDHUP) && !over) {
        over = true;
        if (st->carried)
            stream_lose(st);
    }
    if (!over && st->phase == PHASE_LINGER)
        over = drained(st->fd);
    over = over || st->phase == PHASE_LOST;
    pthread_mutex_unlock(&st->lock);
    if (over)
        close_socket(st);
}

static bool is_late(struct http_stream *st, uint64_t now)
{
    pthread_mutex_lock(&st->lock);
    unsigned patience = st->server->hub.closed      ? 1
                        : st->phase == PHASE_LINGER ? LINGER_S
                                                    : HTTP_STREAM_STUCK_S;
    /* It may have moved since `now` was asked. */
    bool late = st->waits && now > st->moved_ns + patience * 1000000000ull;
    pthread_mutex_unlock(&st->lock);
    return late;
}

/* Marks those for which nothing moves; their events come right after. */
static void give_up_late(struct stream_hub *hub)
{
    uint64_t now = os_mono_ns();
    pthread_mutex_lock(&hub->lock);
    for (struct http_stream *st = hub->first; st; st = st->later) {
        if (!is_late(st, now))
            continue;
        give_up(st);
    }
    pthread_mutex_unlock(&hub->lock);
}

static void *hub_main(void *arg)
{
    struct stream_hub *hub = arg;
    uint64_t looked = 0;
    for (;;) {
        struct epoll_event ev[64];
        int n = epoll_wait(hub->epoll, ev, LENGTH(ev),
                           atomic_load(&hub->waiting) ? TICK_MS : -1);
        for (int i = 0; i < n; i++) {
            eventfd_t count;
            if (ev[i].data.ptr)
                on_event(ev[i].data.ptr, ev[i].events);
            else
                (void)eventfd_read(hub->wake, &count);
        }
        if (atomic_load(&hub->ending))
            return NULL;
        uint64_t now = os_mono_ns();
        if (atomic_load(&hub->waiting) && now - looked > TICK_MS * 1000000ull) {
            give_up_late(hub);
            looked = now;
        }
    }
}

static int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* With the first stream: most servers never have one. The lock is held. */
static bool hub_start_thread(struct stream_hub *hub)
{
    if (hub->running)
        return true;
    if (hub->epoll < 0) {
        hub->epoll = epoll_create1(EPOLL_CLOEXEC);
        hub->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = NULL};
        if (epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->wake, &ev) < 0) {
            os_close(take_fd(&hub->epoll));
            os_close(take_fd(&hub->wake));
            return false;
        }
    }
    hub->running = os_thread_start(&hub->thread, "http-stream", 0, hub_main, hub);
    return hub->running;
}

/* ---- opening --------------------------------------------------------------- */

static void stream_put_head(struct http_stream *st, const struct http_response *rs)
{
    char date[40];
    time_t now = (time_t)(os_real_ms() / 1000);
    struct tm tm;
    (void)gmtime_r(&now, &tm);
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    buf_printf(&st->out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", rs->status,
               MHD_get_reason_phrase_for((unsigned)rs->status), date);
    if (rs->type)
        buf_printf(&st->out, "Content-Type: %s\r\n", rs->type);
    const char *end = rs->head.at + rs->head.n;
    for (const char *at = rs->head.at; at && at < end;) {
        const char *value = at + strlen(at) + 1;
        buf_printf(&st->out, "%s: %s\r\n", at, value);
        at = value + strlen(value) + 1;
    }
    buf_printf(&st->out, "%sConnection: close\r\n\r\n",
               st->chunked ? "Transfer-Encoding: chunked\r\n" : "");
}

static int second_descriptor(struct http_request *rq)
{
    int fd = request_socket(rq);
    int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (own < 0)
        return -1;
    int on = 1;
    unsigned silence_ms = HTTP_STREAM_STUCK_S * 1000;
    (void)setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A machine that vanished is noticed although nothing is said. */
    (void)setsockopt(own, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(own, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    return own;
}

/* Counted and listed; false: there is no room. */
static bool hub_enter(struct http_server *s, struct http_stream *st)
{
    struct stream_hub *hub = &s->hub;
    pthread_mutex_lock(&hub->lock);
    bool in = !hub->closed && hub->open < s->o.streams_max && hub_start_thread(hub);
    if (in) {
        st->admitted = st->rq->admitted; /* whoever is expelled from now on is found */
        st->earlier = hub->last;
        *(hub->last ? &hub->last->later : &hub->first) = st;
        hub->last = st;
        hub->count++;
        hub->open++;
    }
    pthread_mutex_unlock(&hub->lock);
    return in;
}

/* It could not be watched, and nobody has heard of it. */
static void withdraw(struct http_server *s, struct http_stream *st)
{
    pthread_mutex_lock(&s->hub.lock);
    s->hub.open--;
    st->admitted = NULL; /* still the request's */
    st->holders = 1;
    let_go(st);
    pthread_mutex_unlock(&s->hub.lock);
}

static struct http_stream *stream_new(struct http_request *rq, void (*gone)(void *arg),
                                      void *arg)
{
    struct http_stream *st = mem_new(sizeof *st);
    *st = (struct http_stream){.server = rq->server,
                               .fd = second_descriptor(rq),
                               .carried = rq->server->tls != NULL,
                               .chunked = !rq->old_version && !rq->server->tls,
                               .connection = rq->connection,
                               .rq = rq,
                               .holders = rq->server->tls ? 4 : 3,
                               .gone = gone,
                               .arg = arg};
    os_brief_mutex(&st->lock);
    pthread_cond_init(&st->emptied, NULL);
    buf_init(&st->out, PUT_MAX);
    return st;
}

/* With the first bytes; false: it cannot be watched. An event that comes now waits for
 * the lock. */
static bool begin_sending(struct http_stream *st, struct http_response *rs)
{
    struct epoll_event ev = {.events = EPOLLRDHUP, .data.ptr = st};
    pthread_mutex_lock(&st->lock);
    bool watched = epoll_ctl(st->server->hub.epoll, EPOLL_CTL_ADD, st->fd, &ev) == 0;
    if (watched) {
        if (!st->carried)
            stream_put_head(st, rs);
        if (rs->body.n)
            stream_put_chunk(st, buf_view(&rs->body));
        stream_flush(st);
        stream_settle(st);
    }
    pthread_mutex_unlock(&st->lock);
    return watched;
}

/* A hang-up before the request was detached went unseen: it is looked for now. */
static void set_out(struct http_stream *st, struct http_request *rq,
                    struct http_response *rs)
{
    response_carry(rq, rs);
    pthread_mutex_lock(&st->server->hub.lock);
    bool over = st->over;
    pthread_mutex_unlock(&st->server->hub.lock);
    if (over)
        cancel_fire(&rq->cancel);
}

struct http_stream *http_stream_open(struct http_request *rq, struct http_response *rs,
                                     void (*gone)(void *arg), void *arg)
{
    must(!rq->stream);
    struct http_stream *st = stream_new(rq, gone, arg);
    bool entered = st->fd >= 0 && hub_enter(rq->server, st);
    if (entered && begin_sending(st, rs)) {
        buf_clear(&rs->body);
        rq->stream = st;
        rq->streamed = true; /* what was admitted is the stream's to release */
        if (st->carried)
            set_out(st, rq, rs);
        return st;
    }
    int fd = st->fd;
    if (entered)
        withdraw(rq->server, st);
    else
        stream_free(st);
    os_close(fd); /* once nobody can find it there */
    buf_clear(&rs->head);
    http_refuse(rq, rs, MHD_HTTP_SERVICE_UNAVAILABLE,
                "no more streams can be open at a time: try again later");
    return NULL;
}

/* ---- the server's end ------------------------------------------------------- */

void streams_init(struct http_server *s)
{
    s->hub.epoll = s->hub.wake = -1;
    os_brief_mutex(&s->hub.lock);
    pthread_cond_init(&s->hub.changed, NULL);
}

/* Tells all owners, on this thread; their streams end as they end them. */
static void tell_all(struct stream_hub *hub)
{
    for (struct http_stream *st = hub->first; st;) {
        if (st->ended || !st->gone || !st->handled) {
            st = st->later;
        } else {
            stream_notify(st);
            st = hub->first; /* the lock was given away */
        }
    }
}

void streams_end(struct http_server *s)
{
    struct stream_hub *hub = &s->hub;
    pthread_mutex_lock(&hub->lock);
    hub->closed = true;
    tell_all(hub);
    /* The thread sends what waits, and lingers, as always, but not for long. */
    while (hub->count)
        pthread_cond_wait(&hub->changed, &hub->lock);
    pthread_mutex_unlock(&hub->lock);
}

void streams_close(struct http_server *s)
{
    struct stream_hub *hub = &s->hub;
    if (hub->running) {
        atomic_store(&hub->ending, true);
        hub_wake(hub);
        pthread_join(hub->thread, NULL);
    }
    os_close(hub->epoll);
    os_close(hub->wake);
    pthread_cond_destroy(&hub->changed);
    pthread_mutex_destroy(&hub->lock);
}
