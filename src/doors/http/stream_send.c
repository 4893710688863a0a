/* The bytes of a stream: put, sent as far as its client takes them, or read by the library.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "http/stream.h"
#include "os/os.h"

void hub_wake(struct stream_hub *hub)
{
    (void)eventfd_write(hub->wake, 1);
}

/* Its thread sees it at once: a lost socket is shut, and an empty one can be written. */
static void attend(struct http_stream *st, uint32_t events)
{
    struct epoll_event ev = {.events = EPOLLRDHUP | events, .data.ptr = st};
    (void)epoll_ctl(st->server->hub.epoll, EPOLL_CTL_MOD, st->fd, &ev);
}

void stream_set_waits(struct http_stream *st, bool waits)
{
    if (st->waits == waits)
        return;
    st->waits = waits;
    struct stream_hub *hub = &st->server->hub;
    /* With none it sleeps without a tick. */
    if (!waits)
        atomic_fetch_sub(&hub->waiting, 1);
    else if (atomic_fetch_add(&hub->waiting, 1) == 0)
        hub_wake(hub);
}

/* The library comes and reads. */
static void rouse(struct http_stream *st)
{
    if (st->asleep)
        MHD_resume_connection(st->connection);
    st->asleep = false;
}

void stream_lose(struct http_stream *st)
{
    st->phase = PHASE_LOST;
    pthread_cond_broadcast(&st->emptied);
    buf_done(&st->out);
    buf_init(&st->out, PUT_MAX);
    st->sent = 0;
    (void)shutdown(st->fd, SHUT_RDWR); /* which its thread is told as a hang-up */
    attend(st, 0);
    rouse(st);
}

/* Sends all that can leave, or marks the stream lost. */
void stream_flush(struct http_stream *st)
{
    if (st->carried) {
        rouse(st);
        return;
    }
    while (st->sent < st->out.n) {
        ssize_t n = send(st->fd, st->out.at + st->sent, st->out.n - st->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            stream_lose(st);
            break;
        }
        if (n < 0)
            return;
        st->sent += (size_t)n;
        st->moved_ns = os_mono_ns();
    }
    /* Memory only for those whose bytes wait. */
    buf_done(&st->out);
    buf_init(&st->out, PUT_MAX);
    st->sent = 0;
    pthread_cond_broadcast(&st->emptied);
}

/* After anything was put or sent. */
void stream_settle(struct http_stream *st)
{
    bool waits = st->out.n > 0;
    if (st->carried) {
        stream_set_waits(st, waits || st->phase == PHASE_ENDING);
    } else if (!waits && st->phase == PHASE_ENDING) {
        st->phase = PHASE_LINGER;
        st->moved_ns = os_mono_ns();
        (void)shutdown(st->fd, SHUT_WR);
        stream_set_waits(st, true); /* for a tick that ends the wait */
        attend(st, EPOLLIN);
    } else if (st->phase == PHASE_OPEN || st->phase == PHASE_ENDING) {
        if (waits != st->waits)
            attend(st, waits ? EPOLLOUT : 0);
        stream_set_waits(st, waits);
    }
}

/* Sent bytes are dropped now and then, or a slow client's would grow without end. */
void stream_put_chunk(struct http_stream *st, struct str bytes)
{
    if (st->out.n == 0)
        st->moved_ns = os_mono_ns();
    if (st->sent > st->out.n / 2) {
        st->out.n -= st->sent;
        memmove(st->out.at, st->out.at + st->sent, st->out.n);
        st->sent = 0;
    }
    if (st->chunked)
        buf_printf(&st->out, "%zx\r\n", bytes.n);
    buf_str(&st->out, bytes);
    if (st->chunked)
        buf_cstr(&st->out, "\r\n");
}

bool http_stream_put(struct http_stream *st, struct str bytes)
{
    pthread_mutex_lock(&st->lock);
    if (st->phase == PHASE_OPEN && st->out.n - st->sent >= HTTP_STREAM_WAITING)
        stream_lose(st);
    if (st->phase == PHASE_OPEN && bytes.n) {
        stream_put_chunk(st, bytes);
        if (st->out.failed)
            stream_lose(st);
        else if (!st->waits || st->carried)
            stream_flush(st);
        stream_settle(st);
    }
    bool open = st->phase == PHASE_OPEN;
    pthread_mutex_unlock(&st->lock);
    return open;
}

bool http_stream_drain(struct http_stream *st)
{
    pthread_mutex_lock(&st->lock);
    while (st->phase == PHASE_OPEN && st->out.n > 0)
        pthread_cond_wait(&st->emptied, &st->lock);
    bool open = st->phase == PHASE_OPEN;
    pthread_mutex_unlock(&st->lock);
    return open;
}

void http_stream_break(struct http_stream *st)
{
    pthread_mutex_lock(&st->lock);
    if (st->phase == PHASE_OPEN)
        stream_lose(st);
    pthread_mutex_unlock(&st->lock);
}

/* ---- carried by the library ------------------------------------------------ */

static ssize_t carry_rest(struct http_stream *st, char *to, size_t max)
{
    size_t n = st->out.n - st->sent;
    n = n < max ? n : max;
    memcpy(to, st->out.at + st->sent, n);
    st->sent += n;
    st->moved_ns = os_mono_ns();
    if (st->sent == st->out.n) {
        buf_done(&st->out);
        buf_init(&st->out, PUT_MAX);
        st->sent = 0;
        pthread_cond_broadcast(&st->emptied);
        stream_settle(st);
    }
    return (ssize_t)n;
}

/* The library wants more, on the connection's thread. */
ssize_t stream_carry(void *arg, uint64_t at, char *to, size_t max)
{
    (void)at;
    struct http_stream *st = arg;
    ssize_t n = 0;
    pthread_mutex_lock(&st->lock);
    if (st->out.n) {
        n = carry_rest(st, to, max);
    } else if (st->phase == PHASE_OPEN) {
        st->asleep = true;
        MHD_suspend_connection(st->connection);
    } else if (st->phase == PHASE_ENDING) {
        st->phase = PHASE_DONE;
        attend(st, EPOLLOUT); /* its thread lets go of the descriptor */
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        n = st->phase == PHASE_DONE ? MHD_CONTENT_READER_END_OF_STREAM
                                    : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    pthread_mutex_unlock(&st->lock);
    return n;
}
