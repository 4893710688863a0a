/* Asking the kernel. Source: sock_diag(7), netlink(7), unix(7), user_namespaces(7).
 *
 * The peer's socket is the one whose own address is our peer's and whose peer is we. It must
 * be that very socket, with an inode: one that its process has closed, while bytes are still
 * on their way, belongs to nobody, and the kernel says 0 for its account, which is root's.
 */
#include "http/account.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#define ANSWER_MAX 8192 /* bytes; netlink(7) */
#define ANSWERS_MAX 8   /* left behind by questions that were broken off */

/* ---- this process's account ------------------------------------------------ */

static bool read_number(const char *path, unsigned *out)
{
    FILE *f = fopen(path, "re");
    bool ok = f && fscanf(f, "%u", out) == 1;
    if (f)
        (void)fclose(f);
    return ok;
}

/* Are all accounts there are told by their own numbers? */
static bool maps_all(void)
{
    unsigned inside = 1, outside = 1, count = 0;
    FILE *f = fopen("/proc/self/uid_map", "re");
    bool all = f && fscanf(f, "%u %u %u", &inside, &outside, &count) == 3 &&
               inside == 0 && outside == 0 && count == UINT32_MAX;
    if (f)
        (void)fclose(f);
    return all;
}

void accounts_init(struct accounts *a)
{
    unsigned overflow = 65534;
    (void)read_number("/proc/sys/kernel/overflowuid", &overflow);
    *a = (struct accounts){
        .own = geteuid(),
        .has_overflow = !maps_all(),
        .overflow = (uid_t)overflow,
        .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
    pthread_mutex_init(&a->lock, NULL);
}

void accounts_done(struct accounts *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    pthread_mutex_destroy(&a->lock);
}

static enum account judge(const struct accounts *a, uid_t uid)
{
    if (a->has_overflow && uid == a->overflow)
        return ACCOUNT_UNKNOWN;
    return uid == a->own || uid == 0 ? ACCOUNT_OWN : ACCOUNT_OTHER;
}

/* ---- addresses --------------------------------------------------------------- */

/* An endpoint, IPv4 also where it was written as IPv6; the port in network order. */
struct end {
    int family;
    uint8_t address[16]; /* of IPv4 the first four */
    uint16_t port;
};

static void put_v4(struct end *e, const void *address)
{
    e->family = AF_INET;
    memset(e->address, 0, sizeof e->address);
    memcpy(e->address, address, 4);
}

static void put_v6(struct end *e, const void *address)
{
    struct in6_addr v6;
    memcpy(&v6, address, sizeof v6);
    e->family = AF_INET6;
    memcpy(e->address, &v6, sizeof v6);
    if (IN6_IS_ADDR_V4MAPPED(&v6))
        put_v4(e, v6.s6_addr + 12);
}

static bool read_end(const struct sockaddr_storage *sa, struct end *e)
{
    *e = (struct end){0};
    if (sa->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
        put_v4(e, &in->sin_addr);
        e->port = in->sin_port;
    } else if (sa->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sa;
        put_v6(e, &in6->sin6_addr);
        e->port = in6->sin6_port;
    }
    return e->family != 0;
}

/* As the kernel told it, of a socket of either family. */
static struct end told_end(int family, const uint32_t address[static 4], uint16_t port)
{
    struct end e = {.port = port};
    if (family == AF_INET)
        put_v4(&e, address);
    else
        put_v6(&e, address);
    return e;
}

static bool same_end(const struct end *a, const struct end *b)
{
    return a->family == b->family && a->port == b->port &&
           memcmp(a->address, b->address, sizeof a->address) == 0;
}

/* ---- a query --------------------------------------------------------------------- */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
};

static struct question question_of(const struct end *peer, const struct end *self,
                                   uint32_t serial)
{
    struct question q = {
        .head = {.nlmsg_len = sizeof q,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST,
                 .nlmsg_seq = serial},
        .body = {.sdiag_family = (uint8_t)peer->family,
                 .sdiag_protocol = IPPROTO_TCP,
                 .idiag_states = UINT32_MAX,
                 .id = {.idiag_sport = peer->port,
                        .idiag_dport = self->port,
                        .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    memcpy(q.body.id.idiag_src, peer->address, sizeof peer->address);
    memcpy(q.body.id.idiag_dst, self->address, sizeof self->address);
    return q;
}

/* Where there is no such connection the kernel tells of who listens there instead. */
static enum account reply_read(const struct accounts *a, const struct nlmsghdr *head,
                               const struct end *peer, const struct end *self)
{
    struct inet_diag_msg m;
    if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        head->nlmsg_len < NLMSG_LENGTH(sizeof m))
        return ACCOUNT_UNKNOWN;
    memcpy(&m, NLMSG_DATA(head), sizeof m);
    struct end from = told_end(m.idiag_family, m.id.idiag_src, m.id.idiag_sport),
               to = told_end(m.idiag_family, m.id.idiag_dst, m.id.idiag_dport);
    bool is_it = same_end(&from, peer) && same_end(&to, self) && m.idiag_inode != 0;
    return is_it ? judge(a, m.idiag_uid) : ACCOUNT_UNKNOWN;
}

/* The kernel answers before send() returns, so that nothing is waited for. */
static enum account netlink_query(struct accounts *a, const struct end *peer,
                                  const struct end *self)
{
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct question q = question_of(peer, self, ++a->serial);
    if (sendto(a->fd, &q, sizeof q, MSG_DONTWAIT, (const struct sockaddr *)&kernel,
               sizeof kernel) != (ssize_t)sizeof q)
        return ACCOUNT_UNKNOWN;
    _Alignas(struct nlmsghdr) char text[ANSWER_MAX];
    for (int i = 0; i < ANSWERS_MAX; i++) {
        struct sockaddr_nl from = {0};
        socklen_t size = sizeof from;
        ssize_t n = recvfrom(a->fd, text, sizeof text, MSG_DONTWAIT,
                             (struct sockaddr *)&from, &size);
        const struct nlmsghdr *head = (const struct nlmsghdr *)text;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ACCOUNT_UNKNOWN;
        if (from.nl_pid == 0 && n >= (ssize_t)sizeof *head && NLMSG_OK(head, (size_t)n) &&
            head->nlmsg_seq == a->serial)
            return reply_read(a, head, peer, self);
    }
    return ACCOUNT_UNKNOWN;
}

enum account account_of_tcp(struct accounts *a, int fd)
{
    struct sockaddr_storage own = {0}, other = {0};
    socklen_t own_size = sizeof own, other_size = sizeof other;
    struct end self, peer;
    if (a->fd < 0 || getsockname(fd, (struct sockaddr *)&own, &own_size) < 0 ||
        getpeername(fd, (struct sockaddr *)&other, &other_size) < 0 ||
        !read_end(&own, &self) || !read_end(&other, &peer))
        return ACCOUNT_UNKNOWN;
    pthread_mutex_lock(&a->lock);
    enum account account = netlink_query(a, &peer, &self);
    pthread_mutex_unlock(&a->lock);
    /* As long as ours is there, nobody else's socket can have had these addresses. */
    other_size = sizeof other;
    bool still = getpeername(fd, (struct sockaddr *)&other, &other_size) == 0;
    return still ? account : ACCOUNT_UNKNOWN;
}

enum account account_of_unix(const struct accounts *a, int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || size != sizeof who)
        return ACCOUNT_UNKNOWN;
    return judge(a, who.uid);
}

/* ---- does it work? ------------------------------------------------------------------ */

/* Connects to a listener of its own. -1: it cannot. */
static int connect_to_self(int listener, int *accepted)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof sa;
    if (bind(listener, (struct sockaddr *)&sa, size) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&sa, &size) < 0)
        return -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, size) == 0)
        *accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    return fd;
}

bool accounts_work(struct accounts *a, struct err *e)
{
    int accepted = -1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = listener >= 0 ? connect_to_self(listener, &accepted) : -1;
    bool works = accepted >= 0 && account_of_tcp(a, accepted) == ACCOUNT_OWN;
    int all[] = {accepted, fd, listener};
    for (size_t i = 0; i < LENGTH(all); i++)
        if (all[i] >= 0)
            close(all[i]);
    return works || err_set(e, ERR_IO,
                            "the system does not report which account opened a "
                            "connection (sock_diag%s)",
                            a->fd < 0 ? " is refused" : "");
}
