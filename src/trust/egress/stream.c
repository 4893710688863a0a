/* An answer that is passed on while it comes. Curl's callback waits until the receiver has taken what
 * came, so that a slow one slows the server down by TCP, and nothing piles up here. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "egress/internal.h"
#include "os/os.h"

#define LOOK_UP_MS 1000
#define PIECE_MAX \
    ((size_t)8 << 20) /* of what is sent at once: all that was held back, grown */

struct stream {
    const struct egress_sink *sink;
    struct hop_taker taker;
    bool (*head)(void *arg, bool *streams, struct err *e);
    bool (*may_go_on)(void *arg, const struct egress_rules *now, struct err *e);
    void *owner; /* of these two */
    bool begun;
    uint64_t asked_ns; /* when the rules were looked at */
    struct sieve sieve;
    struct buf clean, out;
};

/* Is the receiver there, and do the rules still allow it? */
static bool stream_goes_on(struct stream *s, struct err *e)
{
    struct pollfd p = {.fd = s->sink->fd};
    if (poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR | POLLNVAL))
        return err_set(e, ERR_CANCELLED, "the receiver takes no more of the answer");
    uint64_t now = os_mono_ns();
    if (!s->sink->rules || now - s->asked_ns < LOOK_UP_MS * (uint64_t)1000000)
        return true;
    s->asked_ns = now;
    scoped(egress_rules_free) struct egress_rules *r = s->sink->rules(s->sink->arg, e);
    return r && s->may_go_on(s->owner, r, e);
}

static bool stream_send(struct stream *s, struct err *e)
{
    struct str left = buf_view(&s->out);
    if (s->out.failed)
        return err_set(e, ERR_LIMIT,
                       "the answer cannot be passed on: a piece is too large");
    while (left.n) {
        ssize_t n = send(s->sink->fd, left.at, left.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(e, ERR_CANCELLED, "the receiver takes no more of the answer");
        if (n > 0) {
            left = (struct str){left.at + n, left.n - (size_t)n};
            continue;
        }
        struct pollfd p = {.fd = s->sink->fd, .events = POLLOUT};
        (void)poll(&p, 1, LOOK_UP_MS);
        if (!stream_goes_on(s, e))
            return false;
    }
    return true;
}

static bool pass_on(struct stream *s, struct str bytes, bool last, struct err *e)
{
    buf_clear(&s->clean);
    buf_clear(&s->out);
    if (!sieve_put(&s->sieve, bytes, last, &s->clean))
        return err_set(e, ERR_LIMIT,
                       "too much of the answer could be the beginning of a secret");
    if (s->clean.n)
        s->sink->body(s->sink->arg, buf_view(&s->clean), &s->out);
    return stream_send(s, e);
}

static bool head_taken(void *arg, bool *streams, struct err *e)
{
    const struct stream *s = arg;
    return s->head(s->owner, streams, e);
}

static bool body_taken(void *arg, struct str bytes, struct err *e)
{
    return pass_on(arg, bytes, false, e);
}

static bool asked_on(void *arg, struct err *e)
{
    return stream_goes_on(arg, e);
}

struct stream *stream_new(const struct egress_sink *sink)
{
    struct stream *s = mem_new(sizeof *s);
    *s = (struct stream){.sink = sink,
                         .taker = {head_taken, body_taken, asked_on, sink->fd, s},
                         .asked_ns = os_mono_ns()};
    buf_init(&s->clean, PIECE_MAX);
    buf_init(&s->out, PIECE_MAX);
    return s;
}

void stream_free(struct stream *s)
{
    if (s && s->begun)
        sieve_done(&s->sieve);
    if (s) {
        buf_done(&s->clean);
        buf_done(&s->out);
    }
    free(s);
}

void stream_of(struct stream *s, bool (*head)(void *arg, bool *streams, struct err *e),
               bool (*may_go_on)(void *arg, const struct egress_rules *now,
                                 struct err *e),
               void *owner)
{
    s->head = head;
    s->may_go_on = may_go_on;
    s->owner = owner;
}

const struct hop_taker *stream_taker(const struct stream *s)
{
    return &s->taker;
}

bool stream_begin(struct stream *s, const struct keys *k, const struct egress_response *r,
                  struct err *e)
{
    sieve_init(&s->sieve, k);
    s->begun = true;
    s->sink->head(s->sink->arg, r, &s->out);
    return stream_send(s, e);
}

bool stream_end(struct stream *s, struct err *e)
{
    return pass_on(s, (struct str){"", 0}, true, e);
}

bool stream_has_begun(const struct stream *s)
{
    return s->begun;
}
