/* vm/init/source.c - one epoll. */
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "vm/init/log.h"
#include "vm/init/source.h"

static int poller = -1;

static int the_poller(void)
{
    if (poller < 0 && (poller = epoll_create1(EPOLL_CLOEXEC)) < 0)
        die("no epoll: %m");
    return poller;
}

bool source_open(struct source *s, int fd, uint32_t events,
                 void (*ready)(struct source *s, uint32_t events))
{
    *s = (struct source){.fd = fd, .events = events, .ready = ready};
    if (events == 0)
        return true;
    struct epoll_event e = {.events = events, .data.ptr = s};
    if (epoll_ctl(the_poller(), EPOLL_CTL_ADD, fd, &e) == 0)
        return true;
    source_close(s);
    return false;
}

/* Without any event epoll would still report hang-ups, again and again. */
void source_want(struct source *s, uint32_t events)
{
    if (s->fd < 0 || s->events == events)
        return;
    struct epoll_event e = {.events = events, .data.ptr = s};
    int how = s->events == 0 ? EPOLL_CTL_ADD
              : events == 0  ? EPOLL_CTL_DEL
                             : EPOLL_CTL_MOD;
    if (epoll_ctl(the_poller(), how, s->fd, &e) == 0)
        s->events = events;
}

int source_take(struct source *s)
{
    int fd = s->fd;
    if (fd >= 0 && s->events != 0)
        epoll_ctl(the_poller(), EPOLL_CTL_DEL, fd, NULL);
    s->fd = -1;
    return fd;
}

/* Closing removes it from the epoll: no other process keeps it open for longer than a
 * moment. */
void source_close(struct source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int until_ms(uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return -1;
    uint64_t now = now_ns();
    if (until_ns <= now)
        return 0;
    uint64_t ms = (until_ns - now + 999999) / 1000000;
    return ms > 3600000 ? 3600000 : (int)ms;
}

void sources_wait(uint64_t until_ns)
{
    struct epoll_event events[16];
    int n = epoll_wait(the_poller(), events, 16, until_ms(until_ns));
    for (int i = 0; i < n; i++) {
        struct source *s = events[i].data.ptr;
        if (s->fd >= 0)
            s->ready(s, events[i].events);
    }
}
