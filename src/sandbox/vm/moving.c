/* Bytes of a machine's sockets: what the rate allows; a connection's first bytes, and heads of HTTP's
 * requests, are held back until they name its server. */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "os/os.h"
#include "vm/lookup.h"
#include "vm/peek.h"
#include "vm/sockets.h"

#define ECHO_HEAD 8u /* of ICMP, with its sequence number */
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
    s->cleared = false;
    if (s->shut)
        (void)shutdown(s->fd, SHUT_WR);
    return true;
}

/* ---- servers that have to be named ------------------------------------------------- */

static int32_t cut_nameless(struct socket *s, const char *why)
{
    (void)snprintf(s->flow.why, sizeof s->flow.why, "%s", why);
    (void)socket_cut(s, VM_FLOW_REFUSED);
    return VM_NET_GONE;
}

/* Keeps back as many as may be looked at. How many; below 0: there is no memory. */
static int32_t keep_back(struct socket *s, struct str bytes)
{
    size_t most = PEEK_MAX - s->first.n;
    bytes.n = bytes.n < most ? bytes.n : most;
    if (!s->first.at) /* it may be empty, and kept from the request before */
        buf_init(&s->first, PEEK_MAX);
    return buf_str(&s->first, bytes) ? (int32_t)bytes.n : VM_NET_GONE;
}

static bool may_speak(struct network *n, struct socket *s, const char *name,
                      struct err *why)
{
    struct vm_peer p = {.port = s->flow.port, .speaks = s->speaks};
    memcpy(p.address, s->flow.address, sizeof p.address);
    return n->rules->may_speak ? n->rules->may_speak(n->rules->arg, &p, name, why)
                               : err_set(why, ERR_DENIED, "no name is allowed");
}

/* TLS: until its name is known, all that the machine says is kept back. */
static int32_t hear_hello(struct network *n, struct socket *s, struct str bytes)
{
    char name[PEEK_NAME];
    struct err why = {0};
    int32_t taken = keep_back(s, bytes);
    enum peek found = taken < 0 ? PEEK_MORE : peek_tls(buf_view(&s->first), name);
    if (found == PEEK_MORE)
        return taken;
    if (found == PEEK_NOTHING)
        (void)err_set(&why, ERR_DENIED,
                      "its first bytes name no server of TLS; another protocol takes "
                      "'tcp://NAME:%u' among the hosts",
                      s->flow.port);
    if (found == PEEK_NOTHING || !may_speak(n, s, name, &why))
        return cut_nameless(s, why.msg);
    s->speaks = VM_SPEAKS_ANYTHING;
    s->cleared = true;
    return socket_flush(n, s) ? taken : VM_NET_GONE;
}

/* A head of HTTP, or a line of a body, as soon as all of it is there. */
static int32_t hear_part(struct network *n, struct socket *s, struct str bytes)
{
    char name[PEEK_NAME];
    const char *wrong;
    struct err why = {0};
    size_t had = s->first.n, used;
    int32_t taken = keep_back(s, bytes);
    enum peek found =
        taken < 0 ? PEEK_MORE
                  : follow_part(&s->request, buf_view(&s->first), &used, name, &wrong);
    if (found == PEEK_MORE)
        return taken;
    if (found == PEEK_NOTHING)
        (void)err_set(
            &why, ERR_DENIED,
            "a request of HTTP could not be followed: %s; another protocol takes "
            "'tcp://NAME:%u' among the hosts",
            wrong, s->flow.port);
    if (found == PEEK_NOTHING || (*name && !may_speak(n, s, name, &why)))
        return cut_nameless(s, why.msg);
    s->first.n = used;
    s->cleared = true;
    return (int32_t)(used - had);
}

/* As the kernel takes it, which fills in its identifier and sum. */
static ssize_t send_echo(struct socket *s, struct str bytes)
{
    bool v4 =
        IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)s->flow.address);
    unsigned char head[ECHO_HEAD] = {v4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST};
    struct iovec parts[] = {{head, sizeof head},
                            {(void *)(uintptr_t)(bytes.at + 2), bytes.n - 2}};
    memcpy(head + 6, bytes.at, 2);
    return sendmsg(s->fd, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2},
                   MSG_NOSIGNAL);
}

/* One reply, without its head. As recv(). */
static ssize_t receive_echo(const struct socket *s, void *at, size_t room)
{
    unsigned char head[ECHO_HEAD];
    struct iovec parts[] = {{head, sizeof head}, {(char *)at + 2, room - 2}};
    ssize_t got = recvmsg(s->fd, &(struct msghdr){.msg_iov = parts, .msg_iovlen = 2}, 0);
    if (got >= 0 && (size_t)got < sizeof head) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(at, head + 6, 2);
    return got < 0 ? got : got - (ssize_t)sizeof head + 2;
}

/* What is not sent of a datagram is lost, as on any way. */
static int32_t send_datagram(struct network *n, struct socket *s, struct str bytes)
{
    bool echo = s->flow.kind == VM_NET_ECHO;
    ssize_t sent = rated(n, s, bytes.n, 0) != bytes.n || (echo && bytes.n < 2) ? 0
                   : echo ? send_echo(s, bytes)
                          : send(s->fd, bytes.at, bytes.n, MSG_NOSIGNAL);
    (void)count(n, s, &s->flow.sent_bytes, sent);
    return (int32_t)bytes.n;
}

/* As much as the rate allows and the socket takes. Below 0: its peer is gone. */
static int32_t send_some(struct network *n, struct socket *s, struct str bytes)
{
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

/* Bodies pass; of all else each part, once it is known to be allowed. */
static int32_t send_requests(struct network *n, struct socket *s, struct str bytes)
{
    size_t taken = 0;
    do {
        if (s->cleared && !socket_flush(n, s))
            return VM_NET_GONE;
        struct str rest = {bytes.at + taken, bytes.n - taken};
        uint64_t body = follow_body(&s->request);
        bool waits = s->request.asks && s->request.state == FOLLOW_HEAD;
        if (s->cleared || !rest.n || waits)
            break;
        rest.n = body && body < rest.n ? (size_t)body : rest.n;
        int32_t some = (body ? send_some : hear_part)(n, s, rest);
        if (some < 0)
            return some;
        if (body)
            follow_passed(&s->request, (uint64_t)some);
        taken += (size_t)some;
        if (body && (size_t)some < rest.n)
            break;
    } while (s->cleared || taken < bytes.n);
    return (int32_t)taken;
}

static int32_t send_stream(struct network *n, struct socket *s, struct str bytes)
{
    if (s->speaks == VM_SPEAKS_TLS)
        return hear_hello(n, s, bytes);
    if (s->speaks == VM_SPEAKS_HTTP)
        return send_requests(n, s, bytes);
    if (!socket_flush(n, s))
        return VM_NET_GONE;
    return s->first.n ? 0 : send_some(n, s, bytes);
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

/* The answer to a request for another protocol decides whether what the machine says next is a request
 * of HTTP. */
static void hear_answer(struct network *n, struct socket *s, struct str bytes)
{
    enum peek found = follow_answer(&s->request, bytes);
    if (found == PEEK_MORE)
        return;
    if (found == PEEK_FOUND) {
        s->speaks = VM_SPEAKS_ANYTHING;
        s->flow.upgraded = true;
    }
    s->held |= VM_NET_WRITABLE;
    network_tick(n, HOLD_NS);
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
    bool echo = s->flow.kind == VM_NET_ECHO;
    if (echo && room < 2)
        return true;
    ssize_t got = !most  ? 0
                  : echo ? receive_echo(s, at, room)
                         : recv(s->fd, at, s->state == STREAM ? most : room, 0);
    bool later = got < 0 && (errno == EAGAIN || errno == EINTR || s->state == DATAGRAMS);
    if (later || !most)
        *out = VM_NET_NONE;
    else if (got >= 0)
        *out = count(n, s, &s->flow.received_bytes, got);
    if (got > 0 && s->speaks == VM_SPEAKS_HTTP && s->request.asks)
        hear_answer(n, s, (struct str){at, (size_t)got});
    return true;
}

bool network_shut(struct network *n, uint32_t id, struct err *e)
{
    struct socket *s = network_socket(n, id, true, e);
    if (!s || s->state != STREAM)
        return s != NULL;
    s->shut = true;
    if (!s->first.n || s->cleared) {
        (void)socket_flush(n, s);
        return true;
    }
    (void)cut_nameless(s, "it ended before it named a server");
    s->held |= VM_NET_READABLE | VM_NET_WRITABLE;
    network_tick(n, HOLD_NS);
    return true;
}
