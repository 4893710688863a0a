/* mcp/outbox.h - lines on their way to a client that may not read for a while.
 *
 * A thread with a line writes it itself, as long as the descriptor takes it without
 * waiting. From then on a thread of the outbox's own writes what gathers, within bounds:
 * nobody else is stopped by a client that does not read, above all not the one who
 * reads what it has to say.
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"

/* Bytes that may wait when one more line is put. */
#define OUTBOX_LIGHT_MAX ((size_t)1024 * 1024)
#define OUTBOX_HEAVY_MAX ((size_t)16 * 1024 * 1024)
#define OUTBOX_ANSWER_MAX ((size_t)64 * 1024 * 1024)

enum outbox_weight {
    OUTBOX_LIGHT,  /* left out beyond OUTBOX_LIGHT_MAX */
    OUTBOX_HEAVY,  /* refused beyond OUTBOX_HEAVY_MAX */
    OUTBOX_ANSWER, /* waits beyond OUTBOX_ANSWER_MAX */
};

struct outbox {
    int fd;
    int own; /* of a pipe: opened anew, and never waits; -1: it cannot be */
    enum { OUTBOX_PIPE, OUTBOX_SOCKET, OUTBOX_FILE } kind;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct piece *first, *last;
    size_t waiting; /* bytes */
    bool writing;   /* somebody is at it */
    bool stuck;     /* and it is the thread */
    bool broken, ending, started;
    pthread_t thread;
    void (*lost)(void *arg); /* once: the client reads no more; must not wait */
    void *arg;
};

void outbox_init(struct outbox *o, int fd, void (*lost)(void *arg), void *arg);
/* Lines that still wait are dropped. */
void outbox_done(struct outbox *o);
/* Takes over a line, with its end and its memory. false: it will not be read. */
bool outbox_put(struct outbox *o, struct buf *line, enum outbox_weight weight);
/* Has all that was put been written? Waits for at most `ms`. */
bool outbox_is_empty(struct outbox *o, unsigned ms);
bool outbox_is_broken(struct outbox *o);
/* Nobody will read any more: what waits is dropped, and who waits goes on. */
void outbox_break(struct outbox *o);
