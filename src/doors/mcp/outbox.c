#include "mcp/outbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

/* Between looks of the thread at whether it shall end. */
#define LOOK_MS 100

struct piece {
    struct piece *next;
    struct buf line;
    size_t written;
};

/* Making the descriptor itself non-blocking would do so for all who share it. */
static int open_anew(int fd)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
}

void outbox_init(struct outbox *o, int fd, void (*lost)(void *arg), void *arg)
{
    struct stat st = {0};
    (void)fstat(fd, &st);
    *o = (struct outbox){.fd = fd,
                         .own = S_ISFIFO(st.st_mode) ? open_anew(fd) : -1,
                         .kind = S_ISFIFO(st.st_mode)   ? OUTBOX_PIPE
                                 : S_ISSOCK(st.st_mode) ? OUTBOX_SOCKET
                                                        : OUTBOX_FILE,
                         .lost = lost,
                         .arg = arg};
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->changed, NULL);
}

/* ---- the queue; the lock is held ---------------------------------------- */

static void drop_first(struct outbox *o)
{
    struct piece *p = o->first;
    o->first = p->next;
    if (!o->first)
        o->last = NULL;
    o->waiting -= p->line.n;
    buf_done(&p->line);
    free(p);
}

static void outbox_append(struct outbox *o, struct buf *line)
{
    struct piece *p = mem_new(sizeof *p);
    p->line = *line;
    *line = (struct buf){0};
    *(o->last ? &o->last->next : &o->first) = p;
    o->last = p;
    o->waiting += p->line.n;
}

static bool break_now(struct outbox *o)
{
    bool first = !o->broken;
    o->broken = true;
    pthread_cond_broadcast(&o->changed);
    return first;
}

/* ---- writing; without the lock ------------------------------------------ */

enum wrote { WROTE_ALL, WROTE_SOME, WROTE_NOTHING_MORE };

static bool takes_more(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    return poll(&p, 1, ms) > 0;
}

/* As much as goes without waiting: a pipe that can be written to takes PIPE_BUF bytes. */
static ssize_t write_some(const struct outbox *o, const char *at, size_t n)
{
    if (o->kind == OUTBOX_SOCKET)
        return send(o->fd, at, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (o->own >= 0)
        return write(o->own, at, n);
    if (o->kind == OUTBOX_PIPE) {
        if (!takes_more(o->fd, 0)) {
            errno = EAGAIN;
            return -1;
        }
        n = n < PIPE_BUF ? n : PIPE_BUF;
    }
    return write(o->fd, at, n);
}

static enum wrote write_piece(const struct outbox *o, struct piece *p)
{
    while (p->written < p->line.n) {
        ssize_t n = write_some(o, p->line.at + p->written, p->line.n - p->written);
        if (n > 0)
            p->written += (size_t)n;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return WROTE_SOME;
        else if (n < 0 && errno != EINTR)
            return WROTE_NOTHING_MORE;
    }
    return WROTE_ALL;
}

/* Writes what waits for as long as it is taken; the lock is held before and after.
 * false: the rest has to wait. */
static bool outbox_drain(struct outbox *o)
{
    while (o->first && !o->broken) {
        struct piece *p = o->first; /* nobody else takes it while we write */
        pthread_mutex_unlock(&o->lock);
        enum wrote wrote = write_piece(o, p);
        pthread_mutex_lock(&o->lock);
        if (wrote == WROTE_SOME)
            return false;
        if (wrote == WROTE_NOTHING_MORE && break_now(o)) {
            pthread_mutex_unlock(&o->lock);
            o->lost(o->arg);
            pthread_mutex_lock(&o->lock);
        } else if (wrote == WROTE_ALL) {
            drop_first(o);
            pthread_cond_broadcast(&o->changed);
        }
    }
    while (o->first)
        drop_first(o);
    return true;
}

static void *write_patiently(void *arg)
{
    struct outbox *o = arg;
    pthread_mutex_lock(&o->lock);
    while (!o->ending) {
        if (!o->stuck) {
            pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        pthread_mutex_unlock(&o->lock);
        (void)takes_more(o->fd, LOOK_MS);
        pthread_mutex_lock(&o->lock);
        if (o->ending || outbox_drain(o)) {
            o->stuck = o->writing = false;
            pthread_cond_broadcast(&o->changed);
        }
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

/* The lock is held. Without a thread there is nobody to wait for the client. */
static void outbox_hand_over(struct outbox *o)
{
    if (!o->started)
        o->started = os_thread_start(&o->thread, "mcp-outbox", 0, write_patiently, o);
    o->stuck = o->started;
    if (!o->started) {
        (void)break_now(o);
        (void)outbox_drain(o);
        o->writing = false;
    }
    pthread_cond_broadcast(&o->changed);
}

/* ---- the door ----------------------------------------------------------- */

static bool may_wait(struct outbox *o, enum outbox_weight weight)
{
    while (weight == OUTBOX_ANSWER && !o->broken && o->waiting > OUTBOX_ANSWER_MAX)
        pthread_cond_wait(&o->changed, &o->lock);
    return !o->broken &&
           (weight == OUTBOX_ANSWER ||
            o->waiting <= (weight == OUTBOX_LIGHT ? OUTBOX_LIGHT_MAX : OUTBOX_HEAVY_MAX));
}

bool outbox_put(struct outbox *o, struct buf *line, enum outbox_weight weight)
{
    pthread_mutex_lock(&o->lock);
    bool ok = may_wait(o, weight);
    if (ok) {
        outbox_append(o, line);
        if (!o->writing) {
            o->writing = true;
            if (outbox_drain(o))
                o->writing = false;
            else
                outbox_hand_over(o);
        }
        ok = !o->broken;
    }
    pthread_mutex_unlock(&o->lock);
    return ok;
}

bool outbox_is_empty(struct outbox *o, unsigned ms)
{
    uint64_t until_ns = os_in_ms(ms);
    pthread_mutex_lock(&o->lock);
    while (o->first && !o->broken && os_cond_wait(&o->changed, &o->lock, until_ns))
        continue;
    bool empty = !o->first || o->broken;
    pthread_mutex_unlock(&o->lock);
    return empty;
}

bool outbox_is_broken(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    bool broken = o->broken;
    pthread_mutex_unlock(&o->lock);
    return broken;
}

void outbox_break(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    (void)break_now(o);
    pthread_mutex_unlock(&o->lock);
}

void outbox_done(struct outbox *o)
{
    pthread_mutex_lock(&o->lock);
    o->ending = true;
    pthread_cond_broadcast(&o->changed);
    bool started = o->started;
    pthread_mutex_unlock(&o->lock);
    if (started)
        pthread_join(o->thread, NULL);
    while (o->first)
        drop_first(o);
    if (o->own >= 0)
        close(o->own);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
}
