/* The least that a server can do: one fixed answer to every POST, by one thread. What
 * `load` reaches against it is the most that it can measure.
 *
 *   blank          prints its port, and serves until it is killed */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#define CONNECTIONS_MAX 1100
#define REQUEST_MAX 8192

#define BODY "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[],\"content\":[]}}"
#define HEAD \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 59\r\n\r\n"
_Static_assert(sizeof BODY == 59 + 1, "as the header says");
static const char answer[] = HEAD BODY;

struct peer {
    int fd;
    size_t n;
    char request[REQUEST_MAX];
};

/* How many bytes the first request has, 0 while it is not whole. */
static size_t request_size(const struct peer *p)
{
    const char *blank = memmem(p->request, p->n, "\r\n\r\n", 4);
    const char *length = memmem(p->request, p->n, "Content-Length: ", 16);
    if (!blank || !length)
        return 0;
    size_t size = (size_t)(blank - p->request) + 4 + strtoul(length + 16, NULL, 10);
    return size <= p->n ? size : 0;
}

static void serve(struct peer *p)
{
    ssize_t got = recv(p->fd, p->request + p->n, sizeof p->request - 1 - p->n, 0);
    if (got <= 0) {
        close(p->fd);
        return;
    }
    p->n += (size_t)got;
    p->request[p->n] = '\0';
    for (size_t size; (size = request_size(p)) != 0;) {
        must(send(p->fd, answer, sizeof answer - 1, MSG_NOSIGNAL) > 0);
        p->n -= size;
        memmove(p->request, p->request + size, p->n);
    }
}

static void welcome(int epoll, int listener, struct peer *p)
{
    p->fd = accept(listener, NULL, NULL);
    struct epoll_event want = {.events = EPOLLIN, .data.ptr = p};
    must(p->fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, p->fd, &want) == 0);
}

int main(void)
{
    static struct peer peers[CONNECTIONS_MAX];
    size_t count = 0;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    struct epoll_event want = {.events = EPOLLIN};
    must(bind(listener, (struct sockaddr *)&at, size) == 0 &&
         listen(listener, 512) == 0 &&
         getsockname(listener, (struct sockaddr *)&at, &size) == 0 &&
         epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &want) == 0);
    printf("%u\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event ready[64];
        int got = epoll_wait(epoll, ready, LENGTH(ready), -1);
        for (int i = 0; i < got; i++)
            if (ready[i].data.ptr)
                serve(ready[i].data.ptr);
            else if (count < CONNECTIONS_MAX)
                welcome(epoll, listener, &peers[count++]);
    }
}
