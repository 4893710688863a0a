/* A machine's sockets. They are watched edge by edge: the machine hears of an event once, and
 * asks until there is nothing more. */
#include "vm/network.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "abi/plan.h"
#include "os/os.h"
#include "vm/lookup.h"
#include "vm/sockets.h"

#define LOOKUP_ID UINT32_MAX /* of what lookups write to */
#define LOOKUPS_MAX 8u       /* at once */
#define ASKED_MAX 256u
#define TIMER_ID (UINT32_MAX - 1)    /* of what is looked at now and then */
#define LISTENER_ID (UINT32_MAX - 2) /* of the first exposed port, the others below it */
#define MTU_USUAL 1500               /* the machine's own */
#define IDLE_NS (3600 * SECOND)
#define IDLE_UDP_NS (60 * SECOND)

/* ---- opening ------------------------------------------------------------------- */

static struct socket *socket_new(struct network *n, uint32_t id)
{
    struct socket *s = mem_new(sizeof *s);
    *s = (struct socket){.id = id, .fd = -1};
    if (id < VM_NET_IDS)
        n->sockets[id] = s;
    return s;
}

/* What a socket of that number is; NULL: it breaks a rule. */
struct socket *network_socket(struct network *n, uint32_t id, bool used, struct err *e)
{
    struct socket *s = id < VM_NET_IDS ? n->sockets[id] : NULL;
    if (used ? s != NULL : !s && id < VM_NET_INBOUND)
        return used ? s : socket_new(n, id);
    err_set(e, ERR_GUEST, "the emulator named a socket that is %s",
            used ? "not there" : "there already");
    return NULL;
}

static bool watch(struct network *n, int fd, uint32_t id)
{
    struct epoll_event v = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                            .data.u32 = id};
    return epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &v) == 0;
}

/* More than may be begun in this second, or be there? */
static bool is_too_many(struct network *n)
{
    uint64_t now = os_mono_ns();
    if (now - n->second_ns >= SECOND) {
        n->second_ns = now;
        n->in_second = 0;
    }
    return n->in_second++ >= n->rules->per_second;
}

/* More bytes than the payer's machines may move end what they have open. */
bool network_is_spent(const struct network *n)
{
    return account_bytes(n->account, os_mono_ns()) >= n->rules->bytes_max;
}

/* May no other be begun? Then the flow says why. Asked before the rules, which so are not asked more
 * often either. */
static bool is_barred(struct network *n, struct vm_flow *f)
{
    bool many = is_too_many(n);
    f->end = VM_FLOW_LIMIT;
    if (many)
        (void)snprintf(f->why, sizeof f->why,
                       "%u connections were begun within a second, and no more may be",
                       n->rules->per_second);
    else if (network_is_spent(n))
        network_say_spent(n, f);
    return *f->why != '\0';
}

/* Is there no place for it? Else the account counts it. */
static bool is_full(struct network *n, struct vm_flow *f)
{
    unsigned most = n->rules->connections_max;
    f->end = VM_FLOW_LIMIT;
    if (account_connect(n->account, most))
        return false;
    (void)snprintf(f->why, sizeof f->why,
                   "%u connections are open, and no more may be at once", most);
    return true;
}

void network_say_spent(const struct network *n, struct vm_flow *f)
{
    (void)snprintf(f->why, sizeof f->why,
                   "%llu bytes were moved within 24 hours, and no more may be",
                   (unsigned long long)n->rules->bytes_max);
}

/* Something is under way: it is looked at each second, or soon. */
void network_tick(struct network *n, uint64_t after_ns)
{
    struct itimerspec t = {.it_value = {.tv_sec = (time_t)(after_ns / SECOND),
                                        .tv_nsec = (long)(after_ns % SECOND)}};
    (void)timerfd_settime(n->timer, 0, &t, NULL);
    n->ticks = true;
}

static void tell(struct network *n, struct socket *s, enum vm_flow_end end)
{
    if (!s->over)
        s->flow.end = end;
    s->flow.name = s->name ? s->name : "";
    if (n->rules->tell && !s->proxied)
        n->rules->tell(n->rules->arg, &s->flow);
}

static void clear(struct network *n, struct socket *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    if (s->state == LOOKUP)
        n->lookups -= s->lookup != NULL;
    else if (s->state != UNUSED) {
        n->open--;
        account_disconnect(n->account);
    }
    lookup_free(s->lookup);
    free(s->name);
    buf_done(&s->first);
    if (s->id < VM_NET_IDS)
        n->sockets[s->id] = NULL;
    free(s);
}

static int32_t refuse(struct network *n, struct socket *s, enum vm_flow_end end,
                      int32_t how)
{
    tell(n, s, end);
    clear(n, s);
    return how;
}

/* Asks the rules, of one of its names. */
static bool ask_rules(struct network *n, struct socket *s, const char *name, bool again,
                      struct err *why)
{
    struct vm_peer p = {.kind = s->flow.kind,
                        .names = &name,
                        .name_count = name != NULL,
                        .port = s->flow.port,
                        .again = again};
    memcpy(p.address, s->flow.address, sizeof p.address);
    bool may = n->rules->may_connect(n->rules->arg, &p, why);
    if (!again)
        (void)snprintf(s->flow.mark, sizeof s->flow.mark, "%s", p.mark);
    if (!again)
        s->speaks = s->flow.kind == VM_NET_TCP ? p.speaks : VM_SPEAKS_ANYTHING;
    return may;
}

/* Is it allowed? Then the name that it goes by, if it has one, is noted. */
static bool may_connect(struct network *n, struct socket *s, enum err_code *why)
{
    const char *names[LED_NAMES];
    size_t count = led_find(&n->led, s->flow.address, names), i = 0;
    bool may = false;
    struct err first = {0};
    for (; !may && (i < count || i == 0); i++) {
        struct err e = {0};
        may = ask_rules(n, s, count ? names[i] : NULL, false, &e);
        if (i == 0)
            first = e;
    }
    if (count) {
        const char *name = names[may ? i - 1 : 0];
        s->name = mem_new(strlen(name) + 1);
        memcpy(s->name, name, strlen(name) + 1);
    }
    if (!may)
        (void)snprintf(s->flow.why, sizeof s->flow.why, "%s", first.msg);
    *why = first.code;
    return may;
}

/* It is among those that are open; the account counts it already. */
static void join(struct network *n, struct socket *s, int state)
{
    s->state = state;
    s->moved_ns = os_mono_ns();
    n->open++;
    if (!n->ticks)
        network_tick(n, SECOND);
}

/* Its socket. -1: there is none, and errno. */
static int socket_for(const struct socket *s, int family)
{
    static const int on = 1;
    bool echo = s->flow.kind == VM_NET_ECHO;
    int type = s->flow.kind == VM_NET_TCP ? SOCK_STREAM : SOCK_DGRAM;
    int protocol = !echo ? 0 : family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
    if (fd >= 0 && s->flow.kind == VM_NET_TCP)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* Linux lets programs send echoes where net.ipv4.ping_group_range has their group. */
static int32_t refuse_socket(struct network *n, struct socket *s, int failed)
{
    if (s->flow.kind != VM_NET_ECHO || failed == EMFILE || failed == ENFILE)
        return refuse(n, s, VM_FLOW_FAILED,
                      failed == EAFNOSUPPORT ? VM_NET_UNREACHABLE : VM_NET_FULL);
    (void)snprintf(s->flow.why, sizeof s->flow.why,
                   "this computer lets no program ping (%s): 'sysctl -w "
                   "net.ipv4.ping_group_range=\"0 2147483647\"' allows it",
                   strerrorname_np(failed));
    return refuse(n, s, VM_FLOW_FAILED, VM_NET_DENIED);
}

static int32_t begin(struct network *n, struct socket *s, uint32_t id, uint16_t port)
{
    struct sockaddr_storage sa;
    socklen_t size = sockaddr_of(s->flow.address, port, &sa);
    s->fd = socket_for(s, sa.ss_family);
    if (s->fd < 0)
        return refuse_socket(n, s, errno);
    bool begun =
        connect(s->fd, (struct sockaddr *)&sa, size) == 0 || errno == EINPROGRESS;
    if (!begun || !watch(n, s->fd, id))
        return refuse(n, s, VM_FLOW_FAILED, VM_NET_UNREACHABLE);
    join(n, s, s->flow.kind == VM_NET_TCP ? CONNECTING : DATAGRAMS);
    return 0;
}

static bool is_proxy(const struct network *n, const uint8_t address[16], uint32_t kind,
                     uint32_t port)
{
    static const uint8_t v6[16] = LAN_V6(LAN_END_GATEWAY);
    uint8_t v4[16] = {[10] = 0xff, 0xff};
    uint32_t gateway = htonl(LAN_GATEWAY);
    memcpy(v4 + 12, &gateway, 4);
    return n->rules->proxy && kind == VM_NET_TCP && port == VM_PROXY_PORT &&
           (!memcmp(address, v4, sizeof v4) || !memcmp(address, v6, sizeof v6));
}

/* The proxy has the other end of a pair of sockets. */
static int32_t connect_proxy(struct network *n, struct socket *s, uint32_t id)
{
    int ends[2];
    s->proxied = true;
    if (is_barred(n, &s->flow) || is_full(n, &s->flow))
        return refuse(n, s, VM_FLOW_LIMIT, VM_NET_FULL);
    join(n, s, CONNECTING);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return refuse(n, s, VM_FLOW_FAILED, VM_NET_FULL);
    s->fd = ends[0];
    if (fcntl(s->fd, F_SETFL, O_NONBLOCK) == 0 && watch(n, s->fd, id) &&
        n->rules->proxy(n->rules->arg, ends[1]))
        return 0;
    (void)close(ends[1]);
    return refuse(n, s, VM_FLOW_REFUSED, VM_NET_UNREACHABLE);
}

bool network_connect(struct network *n, uint32_t id, uint32_t kind, const void *address,
                     uint32_t port, int32_t *out, struct err *e)
{
    enum err_code why;
    if (kind > VM_NET_ECHO || port > UINT16_MAX || (kind == VM_NET_ECHO && port))
        return err_set(e, ERR_GUEST, "the emulator asked for no such connection");
    struct socket *s = network_socket(n, id, false, e);
    if (!s)
        return false;
    s->flow =
        (struct vm_flow){.kind = kind, .port = (uint16_t)port, .began_ns = os_mono_ns()};
    bool is = address_here(address, s->flow.address);
    if (is_proxy(n, address, kind, port))
        *out = connect_proxy(n, s, id);
    else if (!is || (!port && kind != VM_NET_ECHO))
        *out = refuse(n, s, VM_FLOW_REFUSED, VM_NET_UNREACHABLE);
    else if (is_barred(n, &s->flow))
        *out = refuse(n, s, VM_FLOW_LIMIT, VM_NET_FULL);
    else if (!may_connect(n, s, &why))
        *out = refuse(n, s, VM_FLOW_REFUSED,
                      why == ERR_NOT_FOUND ? VM_NET_UNREACHABLE : VM_NET_DENIED);
    else if (is_full(n, &s->flow))
        *out = refuse(n, s, VM_FLOW_LIMIT, VM_NET_FULL);
    else
        *out = begin(n, s, id, (uint16_t)port);
    return true;
}

/* There are lookups that have an answer. */
static void network_wake(const struct network *n)
{
    uint64_t one = 1;
    ssize_t done = write(n->tell, &one, sizeof one);
    (void)done; /* it is readable already */
}

bool network_resolve(struct network *n, uint32_t id, struct str name, uint32_t type,
                     int32_t *out, struct err *e)
{
    struct err why = {0};
    if (name.n >= ASKED_MAX || memchr(name.at, '\0', name.n) || (type != 1 && type != 28))
        return err_set(e, ERR_GUEST, "the emulator asked for what is not a valid name");
    struct socket *s = network_socket(n, id, false, e);
    if (!s)
        return false;
    s->name = mem_new(name.n + 1);
    memcpy(s->name, name.at, name.n);
    s->state = LOOKUP;
    *out = 0;
    if (n->rules->may_resolve(n->rules->arg, s->name, &why)) {
        s->lookup =
            n->lookups < LOOKUPS_MAX ? lookup_begin(s->name, type, n->tell) : NULL;
        n->lookups += s->lookup != NULL;
        *out = s->lookup ? 0 : VM_NET_FULL;
        if (*out)
            clear(n, s);
        return true;
    }
    s->refused = true;
    (void)snprintf(s->why, sizeof s->why, "%s", why.msg);
    network_wake(n);
    return true;
}

/* ---- connections to the machine --------------------------------------------------- */

/* A connection to an exposed port is for the machine, if the rules and limits allow it. */
static bool let_in(struct network *n, struct socket *s)
{
    struct err why = {0};
    struct vm_flow *f = &s->flow;
    if (is_barred(n, f))
        return false;
    f->end = VM_FLOW_REFUSED;
    if (!n->rules->may_accept ||
        !n->rules->may_accept(n->rules->arg, f->port, f->mark, &why)) {
        (void)snprintf(f->why, sizeof f->why, "%s", why.msg);
        return false;
    }
    if (is_full(n, f))
        return false;
    join(n, s, STREAM);
    return watch(n, s->fd, s->id);
}

/* VM_NET_IDS: all are in use. */
static uint32_t free_inbound(const struct network *n)
{
    uint32_t id = VM_NET_INBOUND;
    while (id < VM_NET_IDS && n->sockets[id])
        id++;
    return id;
}

/* One that is not let in is reset. false: there is nothing for the machine. */
static bool accept_one(struct network *n, uint32_t listener, struct vm_net_event *out)
{
    static const struct linger reset = {1, 0};
    static const uint8_t loopback[16] = {[10] = 0xff, 0xff, 127, 0, 0, 1};
    uint16_t port;
    int fd = inbound_accept(&n->inbound, listener, &port);
    if (fd < 0)
        return false;
    struct socket *s = socket_new(n, free_inbound(n));
    s->fd = fd;
    s->flow = (struct vm_flow){.inbound = true, .port = port, .began_ns = os_mono_ns()};
    memcpy(s->flow.address, loopback, sizeof s->flow.address);
    s->flow.end = VM_FLOW_LIMIT;
    if (s->id < VM_NET_IDS && let_in(n, s)) {
        *out = (struct vm_net_event){s->id, VM_NET_ACCEPTED | VM_NET_READABLE |
                                                (uint32_t)port << 16};
        return true;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    tell(n, s, s->flow.end);
    clear(n, s);
    return false;
}

bool network_expose(struct network *n, struct vm_port *p, struct err *e)
{
    return inbound_listen(&n->inbound, p, e);
}

bool network_unexpose(struct network *n, uint16_t port)
{
    return inbound_close(&n->inbound, port);
}

size_t network_ports(struct network *n, struct vm_port out[static VM_PORTS_MAX])
{
    return inbound_list(&n->inbound, out);
}

/* ---- ends ---------------------------------------------------------------------- */

bool network_end(struct network *n, uint32_t id, bool reset, struct err *e)
{
    struct socket *s = network_socket(n, id, true, e);
    if (!s)
        return false;
    if (reset && s->state == STREAM)
        (void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0},
                         sizeof(struct linger));
    if (s->state != LOOKUP && !s->over && network_is_spent(n))
        network_say_spent(n, &s->flow);
    if (s->state != LOOKUP)
        tell(n, s,
             s->state == CONNECTING ? VM_FLOW_FAILED
             : network_is_spent(n)  ? VM_FLOW_LIMIT
             : reset                ? VM_FLOW_RESET
                                    : VM_FLOW_ENDED);
    clear(n, s);
    return true;
}

/* ---- events ------------------------------------------------------------------------ */

/* It is taken, and 0 from then on. */
static int socket_error(const struct socket *s)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    return getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &failed, &size) < 0 ? errno : failed;
}

/* What became of a connection that was begun. */
static uint32_t connected(struct socket *s)
{
    int failed = socket_error(s);
    if (failed)
        return failed == ECONNREFUSED || failed == ECONNRESET ? VM_NET_FAILED
                                                              : VM_NET_LOST;
    s->state = STREAM;
    return VM_NET_OPENED | VM_NET_READABLE;
}

/* Of UDP: VM_NET_NARROW, when that is news. */
static uint32_t narrowed(struct socket *s)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool v4 = memcmp(s->flow.address, mapped, sizeof mapped) == 0;
    int mtu = 0;
    socklen_t size = sizeof mtu;
    if (getsockopt(s->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
                   &size) < 0 ||
        mtu <= 0 || mtu >= MTU_USUAL || (uint32_t)mtu == s->mtu)
        return 0;
    s->mtu = (uint32_t)mtu;
    return VM_NET_NARROW | s->mtu << 16;
}

static uint32_t events_of(struct network *n, struct socket *s, uint32_t polled)
{
    uint32_t out = 0;
    if (s->over)
        return 0;
    if (s->state == CONNECTING)
        return polled & (EPOLLOUT | EPOLLERR | EPOLLHUP) ? connected(s) : 0;
    bool echo = s->flow.kind == VM_NET_ECHO;
    int failed = s->state == DATAGRAMS && polled & EPOLLERR ? socket_error(s) : 0;
    if (failed == ECONNREFUSED || (failed && echo))
        out |= VM_NET_FAILED; /* nobody took a datagram */
    if (polled & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
        out |= VM_NET_READABLE;
    if (s->state == DATAGRAMS && !echo && polled & (EPOLLOUT | EPOLLERR))
        out |= narrowed(s);
    if (polled & EPOLLOUT)
        out |= VM_NET_WRITABLE;
    if (s->cleared && polled & EPOLLOUT)
        (void)socket_flush(n, s);
    return out;
}

static bool review(struct network *n, struct socket *s, uint64_t now)
{
    struct err why = {0};
    uint64_t idle = n->rules->idle_ns ? n->rules->idle_ns : IDLE_NS;
    if (s->flow.kind != VM_NET_TCP && idle > IDLE_UDP_NS)
        idle = IDLE_UDP_NS;
    uint64_t idle_udp = n->rules->idle_udp_ns;
    if (s->flow.kind != VM_NET_TCP && idle_udp && idle_udp < idle)
        idle = idle_udp;
    if (s->over || s->state == UNUSED || s->state == LOOKUP)
        return false;
    if (now - s->moved_ns > idle)
        return socket_cut(s, VM_FLOW_IDLE);
    if (s->proxied)
        return false;
    if (s->flow.inbound ? n->rules->may_accept(n->rules->arg, s->flow.port, NULL, &why)
                        : ask_rules(n, s, s->name, true, &why))
        return false;
    (void)snprintf(s->flow.why, sizeof s->flow.why, "%s", why.msg);
    return socket_cut(s, VM_FLOW_REFUSED);
}

/* What the rate held up, and each second what has to end. */
static uint32_t timer_events(struct network *n, struct vm_net_event *at, uint32_t room)
{
    uint64_t now = os_mono_ns(), many;
    uint32_t count = 0;
    ssize_t got = read(n->timer, &many, sizeof many);
    bool all = now - n->reviewed_ns >= SECOND;
    (void)got;
    n->ticks = false;
    for (uint32_t i = 0; i < VM_NET_IDS && count < room; i++) {
        struct socket *s = n->sockets[i];
        if (!s)
            continue;
        uint32_t events = s->state == STREAM || s->state == DATAGRAMS ? s->held : 0;
        bool connecting = s->state == CONNECTING;
        s->held = 0;
        if (all && review(n, s, now))
            events |= connecting ? VM_NET_LOST : VM_NET_READABLE | VM_NET_WRITABLE;
        if (events)
            at[count++] = (struct vm_net_event){i, events};
    }
    if (all && count < room)
        n->reviewed_ns = now;
    if (count == room)
        network_tick(n, HOLD_NS);
    if (n->open && !n->ticks)
        network_tick(n, SECOND);
    return count;
}

/* Those of lookups that are done. */
static uint32_t lookup_events(struct network *n, struct vm_net_event *at, uint32_t room)
{
    uint64_t many;
    struct vm_net_answer a;
    uint32_t count = 0;
    ssize_t got = read(n->tell, &many, sizeof many);
    (void)got;
    for (uint32_t i = 0; i < VM_NET_IDS && count < room; i++) {
        struct socket *s = n->sockets[i];
        if (s && s->state == LOOKUP && (s->refused || lookup_done(s->lookup, &a)))
            at[count++] = (struct vm_net_event){i, VM_NET_READABLE};
    }
    if (count == room)
        network_wake(n); /* there may be more */
    return count;
}

uint32_t network_events(struct network *n, struct vm_net_event *at, uint32_t room)
{
    struct epoll_event polled[64];
    uint32_t count = 0;
    int most = room < LENGTH(polled) ? (int)room : (int)LENGTH(polled);
    int got = most ? epoll_wait(n->epoll, polled, most, 0) : 0;
    bool lookups = false, timer = false;
    for (int i = 0; i < got; i++) {
        uint32_t id = polled[i].data.u32;
        lookups |= id == LOOKUP_ID;
        timer |= id == TIMER_ID;
        if (inbound_is_id(&n->inbound, id))
            count += accept_one(n, id, &at[count]);
        uint32_t events = id < VM_NET_IDS && n->sockets[id]
                              ? events_of(n, n->sockets[id], polled[i].events)
                              : 0;
        if (events)
            at[count++] = (struct vm_net_event){id, events};
    }
    if (lookups)
        count += lookup_events(n, at + count, room - count);
    if (timer)
        count += timer_events(n, at + count, room - count);
    return count;
}

/* ---- the whole --------------------------------------------------------------------- */

static bool watch_own(struct network *n, int fd, uint32_t id)
{
    struct epoll_event v = {.events = EPOLLIN, .data.u32 = id};
    return fd >= 0 && epoll_ctl(n->epoll, EPOLL_CTL_ADD, fd, &v) == 0;
}

struct network *network_open(const struct vm_network *rules, struct account *account,
                             struct err *e)
{
    scoped(network_close) struct network *n = mem_new(sizeof *n);
    n->rules = rules;
    n->account = account;
    n->tell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    n->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    n->epoll = epoll_create1(EPOLL_CLOEXEC);
    inbound_init(&n->inbound, n->epoll, LISTENER_ID);
    if (!watch_own(n, n->tell, LOOKUP_ID) || !watch_own(n, n->timer, TIMER_ID)) {
        err_set(e, ERR_BUSY, "there is no descriptor for a machine's network: %m");
        return NULL;
    }
    return take(n);
}

void network_close(struct network *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < VM_NET_IDS; i++) {
        struct socket *s = n->sockets[i];
        if (!s)
            continue;
        if (s->state != UNUSED && s->state != LOOKUP)
            tell(n, s, VM_FLOW_ENDED);
        clear(n, s);
    }
    inbound_done(&n->inbound);
    led_done(&n->led);
    if (n->epoll >= 0)
        (void)close(n->epoll);
    if (n->tell >= 0)
        (void)close(n->tell);
    if (n->timer >= 0)
        (void)close(n->timer);
    free(n);
}

int network_fd(const struct network *n)
{
    return n->epoll;
}
