/* Each machine has a loopback address of its own: a browser sends the cookies of a host to all of
 * its ports, so at 127.0.0.1 the machine would receive those of this computer's other servers. */
#include "vm/inbound.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/os.h"

#define LOOPBACK_FIRST \
    0x7f400000u /* 127.64.0.0/10, of which the last 22 bits are random */
#define BACKLOG 64
#define BOTH_TRIES 32 /* for a number that is free at both addresses of "localhost" */

/* One whose last byte is neither 0 nor 255. */
static void choose_address(char out[static VM_PORT_ADDRESS])
{
    uint32_t random;
    os_random(&random, sizeof random);
    struct in_addr a = {.s_addr = htonl(LOOPBACK_FIRST | (random >> 10 & 0x3fff00u) |
                                        (1 + (random & 0xff) % 254))};
    must(inet_ntop(AF_INET, &a, out, VM_PORT_ADDRESS));
}

void inbound_init(struct inbound *i, int epoll, uint32_t first_id)
{
    *i = (struct inbound){.epoll = epoll, .first_id = first_id};
    pthread_mutex_init(&i->lock, NULL);
    for (size_t k = 0; k < VM_PORTS_MAX; k++)
        i->fds[k] = i->fds_6[k] = -1;
    choose_address(i->address);
}

/* With the lock. */
static void close_place(struct inbound *i, size_t k)
{
    os_close(i->fds[k]);
    os_close(i->fds_6[k]);
    i->fds[k] = i->fds_6[k] = -1;
}

void inbound_done(struct inbound *i)
{
    for (size_t k = 0; k < VM_PORTS_MAX; k++)
        close_place(i, k);
    pthread_mutex_destroy(&i->lock);
}

/* ---- listening ---------------------------------------------------------------- */

/* 127.0.0.1, and [::1] where there is IPv6. */
static bool is_localhost(const struct vm_port *p)
{
    return !strcmp(p->address, "localhost");
}

static bool read_address(const struct vm_port *p, struct sockaddr_in *out, struct err *e)
{
    const char *address = is_localhost(p) ? "127.0.0.1" : p->address;
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(p->host_port)};
    if (inet_pton(AF_INET, address, &out->sin_addr) == 1 &&
        ntohl(out->sin_addr.s_addr) >> 24 == 127)
        return true;
    return err_set(e, ERR_INVALID,
                   "'%.40s' is no loopback address; 127.0.0.1 and others of 127.0.0.0/8, "
                   "and localhost, are accepted; no port was exposed",
                   p->address);
}

static bool refuse_bind(const struct vm_port *p, struct err *e)
{
    enum err_code code = errno == EADDRINUSE ? ERR_BUSY
                         : errno == EACCES   ? ERR_DENIED
                                             : ERR_IO;
    return err_set(e, code, "no port was exposed: %s:%u cannot be listened on: %m",
                   p->address, p->host_port);
}

/* A socket that listens there; -1 and errno. */
static int socket_listening(const struct sockaddr *a, socklen_t size)
{
    int on = 1;
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                   bind(fd, a, size) == 0 && listen(fd, BACKLOG) == 0))
        return fd;
    int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

/* At [::1], with that number. false and errno: not there, though this computer has it. */
static bool listen_6(uint16_t port, int *fd)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6,
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                             .sin6_port = htons(port)};
    *fd = socket_listening((struct sockaddr *)&a, sizeof a);
    return *fd >= 0 || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
}

/* Once: sockets that listen at the port's addresses, whose number is filled in. */
static bool listen_once(struct vm_port *p, int *fd, int *fd_6, struct err *e)
{
    struct sockaddr_in a;
    socklen_t size = sizeof a;
    *fd = *fd_6 = -1;
    if (!read_address(p, &a, e))
        return false;
    *fd = socket_listening((struct sockaddr *)&a, sizeof a);
    bool ok = *fd >= 0 && getsockname(*fd, (struct sockaddr *)&a, &size) == 0 &&
              (!is_localhost(p) || listen_6(ntohs(a.sin_port), fd_6));
    if (!ok) {
        (void)refuse_bind(p, e);
        os_close(*fd);
        return false;
    }
    p->host_port = ntohs(a.sin_port);
    return true;
}

/* Of "localhost" both, or none. */
static bool listen_at(struct vm_port *p, int *fd, int *fd_6, struct err *e)
{
    for (int i = 0; i < BOTH_TRIES && is_localhost(p) && !p->host_port; i++) {
        struct err busy = {0};
        if (listen_once(p, fd, fd_6, &busy))
            return true;
    }
    return listen_once(p, fd, fd_6, e);
}

/* The index of that port of the machine, or, of 0, of a free place; VM_PORTS_MAX: none. */
static size_t place_of(const struct inbound *i, uint16_t port)
{
    size_t k = 0;
    while (k < VM_PORTS_MAX &&
           (port ? i->fds[k] < 0 || i->ports[k].port != port : i->fds[k] >= 0))
        k++;
    return k;
}

/* With the lock. */
static bool add(struct inbound *i, struct vm_port *p, struct err *e)
{
    size_t k = place_of(i, 0);
    struct epoll_event v = {.events = EPOLLIN, .data.u32 = i->first_id - (uint32_t)k};
    if (place_of(i, p->port) < VM_PORTS_MAX)
        return err_set(e, ERR_CONFLICT, "port %u of the machine is exposed already",
                       p->port);
    if (k == VM_PORTS_MAX)
        return err_set(e, ERR_LIMIT, "%u ports of the machine are exposed already",
                       VM_PORTS_MAX);
    bool ok = listen_at(p, &i->fds[k], &i->fds_6[k], e);
    i->ports[k] = *p;
    if (!ok)
        i->fds[k] = i->fds_6[k] = -1;
    if (!ok ||
        (epoll_ctl(i->epoll, EPOLL_CTL_ADD, i->fds[k], &v) == 0 &&
         (i->fds_6[k] < 0 || epoll_ctl(i->epoll, EPOLL_CTL_ADD, i->fds_6[k], &v) == 0)))
        return ok;
    close_place(i, k);
    return err_set(e, ERR_BUSY, "no port was exposed: %m");
}

bool inbound_listen(struct inbound *i, struct vm_port *p, struct err *e)
{
    if (!p->port)
        return err_set(e, ERR_INVALID,
                       "0 is no port of a machine; 1 to 65535 are accepted");
    if (!*p->address)
        memcpy(p->address, i->address, sizeof p->address);
    pthread_mutex_lock(&i->lock);
    bool ok = add(i, p, e);
    pthread_mutex_unlock(&i->lock);
    return ok;
}

bool inbound_close(struct inbound *i, uint16_t port)
{
    pthread_mutex_lock(&i->lock);
    size_t k = port ? place_of(i, port) : VM_PORTS_MAX;
    if (k < VM_PORTS_MAX)
        close_place(i, k);
    pthread_mutex_unlock(&i->lock);
    return k < VM_PORTS_MAX;
}

size_t inbound_list(struct inbound *i, struct vm_port out[static VM_PORTS_MAX])
{
    size_t n = 0;
    pthread_mutex_lock(&i->lock);
    for (size_t k = 0; k < VM_PORTS_MAX; k++)
        if (i->fds[k] >= 0)
            out[n++] = i->ports[k];
    pthread_mutex_unlock(&i->lock);
    return n;
}

/* ---- accepting ------------------------------------------------------------------ */

bool inbound_is_id(const struct inbound *i, uint32_t id)
{
    return i->first_id - id < VM_PORTS_MAX;
}

int inbound_accept(struct inbound *i, uint32_t id, uint16_t *port)
{
    uint32_t k = i->first_id - id;
    pthread_mutex_lock(&i->lock);
    int fd = -1, from[] = {i->fds[k], i->fds_6[k]};
    for (size_t n = 0; n < LENGTH(from) && fd < 0; n++)
        if (from[n] >= 0)
            fd = accept4(from[n], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    *port = i->ports[k].port;
    pthread_mutex_unlock(&i->lock);
    return fd;
}
