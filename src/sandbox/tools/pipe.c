/* A pipe between two threads: a ring of bytes, a lock, and two ways to be woken. */
#include "tools/pipe.h"

#include <errno.h>
#include <pthread.h>

#include "os/os.h"

struct pipe {
    pthread_mutex_t lock;
    pthread_cond_t filled, drained;
    uint64_t until_ns;
    size_t first, n; /* what lies in `bytes`: from `first` on, around its end */
    bool stopped, read_ended, write_ended;
    char bytes[PIPE_BYTES];
};

struct pipe *pipe_new(uint64_t until_ns)
{
    struct pipe *p = mem_new(sizeof *p);
    p->until_ns = until_ns ? until_ns : UINT64_MAX;
    pthread_cond_init(&p->filled, NULL);
    pthread_cond_init(&p->drained, NULL);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

void pipe_free(struct pipe *p)
{
    if (!p)
        return;
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->filled);
    pthread_cond_destroy(&p->drained);
    free(p);
}

static void pipe_wait(struct pipe *p, pthread_cond_t *news)
{
    if (!os_cond_wait(news, &p->lock, p->until_ns))
        p->stopped = true;
}

/* Copies between the ring, from `at` on, and `other`. */
static void copy_out(const struct pipe *p, char *to, size_t n)
{
    size_t straight = PIPE_BYTES - p->first < n ? PIPE_BYTES - p->first : n;
    memcpy(to, p->bytes + p->first, straight);
    memcpy(to + straight, p->bytes, n - straight);
}

static void copy_in(struct pipe *p, const char *from, size_t n)
{
    size_t at = (p->first + p->n) % PIPE_BYTES;
    size_t straight = PIPE_BYTES - at < n ? PIPE_BYTES - at : n;
    memcpy(p->bytes + at, from, straight);
    memcpy(p->bytes, from + straight, n - straight);
}

int pipe_read(struct pipe *p, void *to, size_t n, size_t *done)
{
    pthread_mutex_lock(&p->lock);
    while (n && !p->n && !p->write_ended && !p->stopped)
        pipe_wait(p, &p->filled);
    int failed = p->stopped ? EINTR : 0;
    *done = failed ? 0 : n < p->n ? n : p->n;
    copy_out(p, to, *done);
    p->first = (p->first + *done) % PIPE_BYTES;
    p->n -= *done;
    pthread_mutex_unlock(&p->lock);
    if (*done)
        pthread_cond_signal(&p->drained);
    return failed;
}

int pipe_ready(struct pipe *p, uint64_t until_ns, size_t *bytes)
{
    bool ends_first = p->until_ns <= until_ns, in_time = true;
    pthread_mutex_lock(&p->lock);
    while (in_time && !p->n && !p->write_ended && !p->stopped) {
        if (ends_first)
            pipe_wait(p, &p->filled);
        else
            in_time = os_cond_wait(&p->filled, &p->lock, until_ns);
    }
    *bytes = p->n;
    int failed = p->stopped ? EINTR : p->n || p->write_ended ? 0 : EAGAIN;
    pthread_mutex_unlock(&p->lock);
    return failed;
}

/* Puts in what there is room for. Called with the lock held. */
static size_t pipe_put_some(struct pipe *p, const char *from, size_t n)
{
    size_t room = PIPE_BYTES - p->n;
    n = n < room ? n : room;
    copy_in(p, from, n);
    p->n += n;
    return n;
}

int pipe_write(struct pipe *p, const void *from, size_t n, size_t *done)
{
    *done = 0;
    pthread_mutex_lock(&p->lock);
    while (*done < n && !p->read_ended && !p->stopped) {
        size_t put = pipe_put_some(p, (const char *)from + *done, n - *done);
        *done += put;
        if (put)
            pthread_cond_signal(&p->filled);
        else
            pipe_wait(p, &p->drained);
    }
    int failed = p->stopped ? EINTR : p->read_ended ? EPIPE : 0;
    pthread_mutex_unlock(&p->lock);
    return failed;
}

static void set_and_wake(struct pipe *p, bool *what)
{
    pthread_mutex_lock(&p->lock);
    *what = true;
    pthread_cond_broadcast(&p->filled);
    pthread_cond_broadcast(&p->drained);
    pthread_mutex_unlock(&p->lock);
}

void pipe_end_reading(struct pipe *p)
{
    set_and_wake(p, &p->read_ended);
}

void pipe_end_writing(struct pipe *p)
{
    set_and_wake(p, &p->write_ended);
}

void pipe_stop(struct pipe *p)
{
    set_and_wake(p, &p->stopped);
}
