/* Bytes of a machine's sockets: what the rate allows, and a connection's first bytes, which are held
 * back until they name its server. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "os/os.h"
#include "vm/lookup.h"
#include "vm/peek.h"
#include "vm/sockets.h"

#define BURST_MIN ((uint64_t)65536)

static int32_t count(struct network *n, struct socket *s, uint64_t *which, ssize_t moved)
{
    uint64_t now = os_mono_ns();
    if (moved > 0) {
        *which += (uint64_t)moved;
        s->moved_ns = now;
        n->may_move -= (uint64_t)moved < n->may_move ? (uint64_t)moved : n->may_move;
        account_add_bytes(n->account, (uint64_t)moved, now);
    }
    return (int32_t)moved;
}

/* So much of `want` as the rate allows now. 0: `then` comes when it allows more. */
static size_t rated(struct network *n, struct socket *s, size_t want, uint32_t then)
{
    uint64_t rate = n->rules->rate_max, now = os_mono_ns();
    if (!rate)
        return want;
    uint64_t burst = rate / 20 > BURST_MIN ? rate / 20 : BURST_MIN;
    uint64_t ns = now - n->moved_ns < SECOND ? now - n->moved_ns : SECOND;
    uint64_t more = (uint64_t)((double)rate * (double)ns / (double)SECOND);
    if (more) {
        n->may_move = n->may_move + more < burst ? n->may_move + more : burst;
        n->moved_ns = now;
    }
    if (n->may_move)
        return want < n->may_move ? want : n->may_move;
    s->held |= then;
    network_tick(n, HOLD_NS);
    return 0;
}

bool socket_cut(struct socket *s, enum vm_flow_end end)
{
    s->over = true;
    s->flow.end = end;
    return true;
}

bool socket_flush(struct network *n, struct socket *s)
{
    while (s->first.n) {
        ssize_t sent = send(s->fd, s->first.at, s->first.n, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        (void)count(n, s, &s->flow.sent_bytes, sent);
        memmove(s->first.at, s->first.at + sent, s->first.n - (size_t)sent);
        s->first.n -= (size_t)sent;
    }
    if (s->shut)
        (void)shutdown(s->fd, SHUT_WR);
    return true;
}

/* Who is meant? Until that is known, all that the machine says is kept back. */
static int32_t hear_name(struct network *n, struct socket *s, struct str bytes)
{
    char name[PEEK_NAME];
    struct err why = {0};
    struct vm_peer p = {.port = s->flow.port, .speaks = s->speaks};
    size_t most = PEEK_MAX - s->first.n;
    bytes.n = bytes.n < most ? bytes.n : most;
    if (!s->first.n)
        buf_init(&s->first, PEEK_MAX);
    if (!buf_str(&s->first, bytes))
        return VM_NET_GONE;
    struct str all = buf_view(&s->first);
    enum peek found =
        s->speaks == VM_SPEAKS_TLS ? peek_tls(all, name) : peek_http(all, name);
    memcpy(p.address, s->flow.address, sizeof p.address);
    if (found == PEEK_MORE)
        return (int32_t)bytes.n;
    if (found == PEEK_NOTHING)
        (void)err_set(&why, ERR_DENIED,
                      "its first bytes name no server of %s; another protocol takes "
                      "'tcp://NAME:%u' among the hosts",
                      s->speaks == VM_SPEAKS_TLS ? "TLS" : "HTTP", s->flow.port);
    if (found == PEEK_FOUND && n->rules->may_speak &&
        n->rules->may_speak(n->rules->arg, &p, name, &why)) {
        s->speaks = VM_SPEAKS_ANYTHING;
        return socket_flush(n, s) ? (int32_t)bytes.n : VM_NET_GONE;
    }
    (void)snprintf(s->flow.why, sizeof s->flow.why, "%s", why.msg);
    (void)socket_cut(s, VM_FLOW_REFUSED);
    return VM_NET_GONE;
}

/* What is not sent of a datagram is lost, as on any way. */
static int32_t send_datagram(struct network *n, struct socket *s, struct str bytes)
{
    ssize_t sent = rated(n, s, bytes.n, 0) == bytes.n
                       ? send(s->fd, bytes.at, bytes.n, MSG_NOSIGNAL)
                       : 0;
    (void)count(n, s, &s->flow.sent_bytes, sent);
    return (int32_t)bytes.n;
}

static int32_t send_stream(struct network *n, struct socket *s, struct str bytes)
{
    if (s->speaks != VM_SPEAKS_ANYTHING)
        return hear_name(n, s, bytes);
    if (!socket_flush(n, s))
        return VM_NET_GONE;
    if (s->first.n)
        return 0;
    size_t most = rated(n, s, bytes.n, VM_NET_WRITABLE);
    ssize_t sent = most ? send(s->fd, bytes.at, most, MSG_NOSIGNAL) : 0;
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return VM_NET_GONE;
    if (sent > 0 && (size_t)sent == most && most < bytes.n) {
        s->held |= VM_NET_WRITABLE; /* the socket has room, and tells nothing */
        network_tick(n, HOLD_NS);
    }
    return count(n, s, &s->flow.sent_bytes, sent < 0 ? 0 : sent);
}

static bool moves(const struct network *n, const struct socket *s)
{
    return (s->state == STREAM || s->state == DATAGRAMS) && !s->over &&
           !network_is_spent(n);
}

bool network_send(struct network *n, uint32_t id, struct str bytes, int32_t *out,
                  struct err *e)
{
    struct socket *s = network_socket(n, id, true, e);
    if (!s)
        return false;
    *out = !moves(n, s)            ? VM_NET_GONE
           : s->state == DATAGRAMS ? send_datagram(n, s, bytes)
                                   : send_stream(n, s, bytes);
    return true;
}

static int32_t receive_answer(struct network *n, struct socket *s, void *at,
                              uint32_t room)
{
    struct vm_net_answer a = {.status = 5};
    if (room < sizeof a)
        return VM_NET_GONE;
    if (!s->refused && !lookup_done(s->lookup, &a))
        return VM_NET_NONE;
    size_t text = s->refused ? strlen(s->why) : 0;
    a.text_n = (uint32_t)(text < room - sizeof a ? text : room - sizeof a);
    led_add(&n->led, s->name, &a);
    memcpy(at, &a, sizeof a);
    memcpy((char *)at + sizeof a, s->why, a.text_n);
    return (int32_t)(sizeof a + a.text_n);
}

bool network_receive(struct network *n, uint32_t id, void *at, uint32_t room,
                     int32_t *out, struct err *e)
{
    struct socket *s = network_socket(n, id, true, e);
    if (!s)
        return false;
    *out = VM_NET_GONE;
    if (s->state == LOOKUP)
        *out = receive_answer(n, s, at, room);
    if (!moves(n, s))
        return true;
    size_t most = rated(n, s, room, VM_NET_READABLE);
    ssize_t got = most ? recv(s->fd, at, s->state == STREAM ? most : room, 0) : 0;
    bool later = got < 0 && (errno == EAGAIN || errno == EINTR || s->state == DATAGRAMS);
    if (later || !most)
        *out = VM_NET_NONE;
    else if (got >= 0)
        *out = count(n, s, &s->flow.received_bytes, got);
    return true;
}

bool network_shut(struct network *n, uint32_t id, struct err *e)
{
    struct socket *s = network_socket(n, id, true, e);
    if (!s || s->state != STREAM)
        return s != NULL;
    s->shut = true;
    if (s->speaks == VM_SPEAKS_ANYTHING)
        (void)socket_flush(n, s);
    return true;
}
