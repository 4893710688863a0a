/* The connections themselves, as far as they take what others need: those that say
 * nothing make room for those that come, and who sends a request too slowly is cut off.
 *
 * The library tells when a connection begins and ends, not when the first byte of a head
 * came; the system counts bytes, and is asked once a second. It also knows of a client
 * that has sent its last byte, where the library, which waits for edges, overlooks an end
 * that came right behind what it has just read. All runs under one lock
 * that is held for some instructions; a descriptor is only shut under it, while the
 * library still holds it open.
 */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "http/server.h"
#include "os/os.h"

#define HEAD_S 10u      /* from a head's first byte to its last */
#define BODY_S 10u      /* for any body; and then */
#define BODY_RATE 2048u /* bytes a second at least */
#define CLOSE_WAIT \
    8u /* TCP_CLOSE_WAIT of netinet/tcp.h, which does not go with linux/tcp.h */
/* The part of all connections that one address, or this computer's other accounts, may
 * have. */
#define PEER_SHARE 4u

struct link {
    struct link *earlier, *later; /* in its list */
    int fd;
    uint8_t peer[16]; /* IPv4 as it is mapped into IPv6, IPv6 without its last half */
    bool is_local;
    enum account account; /* of who is on this machine */
    bool is_idle, is_cut;
    bool has_ended;   /* no more comes from it, as was seen while it was idle */
    uint64_t marked;  /* bytes that had come when the head was awaited; UINT64_MAX: ask */
    uint64_t head_ns; /* when its first byte was noticed; 0: not yet */
    uint64_t body_ns; /* when the body began; 0: none is awaited */
    atomic_size_t body;
};

/* ---- lists ---------------------------------------------------------------- */

static void link_append(struct link_list *l, struct link *k)
{
    k->later = NULL;
    k->earlier = l->last;
    *(l->last ? &l->last->later : &l->first) = k;
    l->last = k;
}

static void unlink_from(struct link_list *l, struct link *k)
{
    *(k->earlier ? &k->earlier->later : &l->first) = k->later;
    *(k->later ? &k->later->earlier : &l->last) = k->earlier;
}

/* The library sees its end, and lets go of it. */
static void link_cut(struct link *k)
{
    if (!k->is_cut)
        (void)shutdown(k->fd, SHUT_RDWR);
    k->is_cut = true;
}

/* ---- arrivals -------------------------------------------------------------- */

static void read_peer(struct link *k, const struct sockaddr *sa)
{
    k->is_local = endpoint_is_loopback(sa);
    if (k->is_local) /* one peer, whichever of its addresses it comes from */
        return;
    if (sa && sa->sa_family == AF_INET) {
        memset(k->peer + 10, 0xff, 2);
        memcpy(k->peer + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr,
               4);
    } else if (sa && sa->sa_family == AF_INET6) {
        const uint8_t *at =
            ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr;
        bool mapped = at[10] == 0xff && at[11] == 0xff && at[0] == 0;
        memcpy(k->peer, at, mapped ? 16 : 8);
    }
}

/* Once a connection, and before its first byte is looked at: later its client may have
 * gone, and nobody tells whose a closed socket was. */
static void ask_account(struct http_server *s, struct link *k)
{
    k->is_local = k->is_local || endpoint_is_unix(&s->self);
    if (endpoint_is_unix(&s->self))
        k->account = account_of_unix(&s->accounts, k->fd);
    else if (k->is_local && endpoint_is_loopback(&s->self.address) && !s->o.behind_proxy)
        k->account = account_of_tcp(&s->accounts, k->fd);
}

enum account link_account(const struct link *k)
{
    return k ? k->account : ACCOUNT_UNKNOWN;
}

static unsigned count_peer(const struct link_list *l, const struct link *k)
{
    unsigned n = 0;
    for (const struct link *other = l->first; other; other = other->later)
        n += !other->is_cut && other->account == k->account &&
             memcmp(other->peer, k->peer, sizeof k->peer) == 0;
    return n;
}

static bool is_greedy(const struct http_server *s, const struct link *k)
{
    unsigned share = s->o.connections_max / PEER_SHARE;
    bool may_be = k->is_local ? k->account == ACCOUNT_OTHER : !s->o.behind_proxy;
    return may_be &&
           count_peer(&s->links.idle, k) + count_peer(&s->links.busy, k) >= share;
}

/* The one that has said nothing for the longest time goes. */
static void links_evict(struct http_server *s)
{
    if (s->links.count < s->o.connections_max)
        return;
    for (struct link *k = s->links.idle.first; k; k = k->later) {
        if (!k->is_cut) {
            link_cut(k);
            return;
        }
    }
}

/* The newer library keeps one of these answers at a time: each is read at once. */
static const struct sockaddr *client_address(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static int socket_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static void link_begin(struct http_server *s, struct MHD_Connection *c, void **context)
{
    struct link *k = mem_new(sizeof *k);
    k->fd = socket_of(c);
    k->is_idle = true;
    read_peer(k, client_address(c));
    ask_account(s, k);
    *context = k;
    pthread_mutex_lock(&s->links.lock);
    links_evict(s);
    if (is_greedy(s, k))
        link_cut(k);
    link_append(&s->links.idle, k);
    bool first = s->links.count++ == 0;
    pthread_mutex_unlock(&s->links.lock);
    if (first) /* the watcher looks once a second from now on */
        (void)eventfd_write(s->watcher.wake, 1);
}

static void link_end(struct http_server *s, struct link *k)
{
    pthread_mutex_lock(&s->links.lock);
    unlink_from(k->is_idle ? &s->links.idle : &s->links.busy, k);
    s->links.count--;
    pthread_mutex_unlock(&s->links.lock);
    free(k);
}

void link_changed(void *cls, struct MHD_Connection *c, void **context,
                  enum MHD_ConnectionNotificationCode what)
{
    struct http_server *s = cls;
    if (s->tls)
        tls_serve_here(s->tls); /* its handshake comes next, on this thread */
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        link_begin(s, c, context);
    else if (*context)
        link_end(s, *context);
}

/* ---- requests on it --------------------------------------------------------- */

static struct link *link_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* Its first line alone does not make it busy: the rest of the head is still to come. */
void link_head(struct http_request *rq)
{
    struct link *k = rq->link = link_of(rq->connection);
    struct link_set *set = &rq->server->links;
    pthread_mutex_lock(&set->lock);
    unlink_from(&set->idle, k);
    link_append(&set->busy, k);
    k->is_idle = false;
    k->head_ns = 0;
    k->body_ns = os_mono_ns();
    atomic_store(&k->body, 0);
    pthread_mutex_unlock(&set->lock);
}

void link_body(struct http_request *rq, size_t n)
{
    if (rq->link)
        atomic_fetch_add(&rq->link->body, n);
}

void link_whole(struct http_request *rq)
{
    if (!rq->link)
        return;
    pthread_mutex_lock(&rq->server->links.lock);
    rq->link->body_ns = 0;
    pthread_mutex_unlock(&rq->server->links.lock);
}

void link_rest(struct http_request *rq)
{
    struct link *k = rq->link;
    struct link_set *set = &rq->server->links;
    if (!k)
        return;
    pthread_mutex_lock(&set->lock);
    unlink_from(&set->busy, k);
    link_append(&set->idle, k);
    k->is_idle = true;
    k->has_ended = false;
    k->marked = UINT64_MAX;
    k->head_ns = k->body_ns = 0;
    pthread_mutex_unlock(&set->lock);
}

/* ---- once a second ----------------------------------------------------------- */

/* false: this system does not tell, and only the usual silence ends a connection. */
static bool ask_system(int fd, struct tcp_info *out)
{
    socklen_t size = sizeof *out;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, out, &size) == 0 &&
           size >= offsetof(struct tcp_info, tcpi_bytes_received) + 8;
}

/* A head that has begun ends in time. What had come when the last request was done is
 * learnt only here, so a part of a head that comes right behind it does not count; who
 * sends no more of it is as silent as any. */
static bool head_is_late(struct link *k, uint64_t come, uint64_t now)
{
    if (k->head_ns)
        return now > k->head_ns + HEAD_S * 1000000000ull;
    if (k->marked == UINT64_MAX)
        k->marked = come;
    else if (come != k->marked)
        k->head_ns = now;
    return false;
}

/* Nothing more can come of it. The library has had a second to take what was there. */
static bool link_is_over(struct link *k, uint8_t state)
{
    bool again = k->has_ended;
    k->has_ended = state == CLOSE_WAIT;
    return again && k->has_ended;
}

static bool is_useless(struct link *k, uint64_t now)
{
    struct tcp_info info = {0};
    if (!ask_system(k->fd, &info))
        return false;
    bool over = link_is_over(k, info.tcpi_state);
    return head_is_late(k, info.tcpi_bytes_received, now) || over;
}

static bool body_is_late(struct link *k, uint64_t now)
{
    /* It may have begun since `now` was asked. */
    bool awaited = k->body_ns && now > k->body_ns;
    uint64_t took_s = awaited ? (now - k->body_ns) / 1000000000u : 0;
    return took_s > BODY_S && atomic_load(&k->body) < (took_s - BODY_S) * BODY_RATE;
}

bool links_sweep(struct http_server *s)
{
    uint64_t now = os_mono_ns();
    pthread_mutex_lock(&s->links.lock);
    for (struct link *k = s->links.idle.first; k; k = k->later)
        if (!k->is_cut && is_useless(k, now))
            link_cut(k);
    for (struct link *k = s->links.busy.first; k; k = k->later)
        if (!k->is_cut && body_is_late(k, now))
            link_cut(k);
    bool any = s->links.count > 0;
    pthread_mutex_unlock(&s->links.lock);
    return any;
}
