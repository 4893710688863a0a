/* vm/init/source.h - descriptors that init waits for, all of them in one epoll.
 *
 * A source lies inside of what it belongs to, which is never freed: an event that was
 * already taken from the kernel may come after it was closed, and then finds fd < 0, or,
 * if it was opened anew, a descriptor that has nothing to read. So all are non-blocking.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct source {
    int fd; /* -1: closed */
    uint32_t events;
    void (*ready)(struct source *s, uint32_t events);
};

#define source_of(type, member, s) \
    ((type *)((char *)(s) - __builtin_offsetof(type, member)))

/* Owns `fd`. false: no memory; `fd` is closed. */
bool source_open(struct source *s, int fd, uint32_t events,
                 void (*ready)(struct source *s, uint32_t events));
/* Waits for other events than before; 0: for hang-ups only. */
void source_want(struct source *s, uint32_t events);
void source_close(struct source *s); /* fine if it is closed */
/* Stops waiting and returns the descriptor, which the caller owns now. */
int source_take(struct source *s);

/* Waits until `until_ns` at most (UINT64_MAX: no limit), and calls the ready ones. */
void sources_wait(uint64_t until_ns);

uint64_t now_ns(void); /* CLOCK_MONOTONIC */
