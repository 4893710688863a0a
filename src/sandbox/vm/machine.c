/* A machine's thread: it runs the computer in slices of about a millisecond, and sleeps
 * while there is nothing to do. Others leave what they have to say in its mailbox. */
#include <errno.h>
#include <time.h>

#include "os/os.h"
#include "vm/computer.h"
#include "vm/image.h"

#define SLICE 150000u                     /* instructions */
#define INBOX_MAX ((size_t)64 << 20)      /* whoever speaks keeps far below it */
#define LOOK_NS ((uint64_t)500 * 1000000) /* between two looks at its memory */
#define UNHEARD_NS \
    ((uint64_t)20 * 1000000) /* until what it did not take is offered anew */

struct machine {
    struct machine_events events;
    struct computer *computer;
    struct disk *disks[COMPUTER_DISKS];
    struct cancel cancel; /* takes its memory away */
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;
    struct buf inbox;
    size_t heard; /* bytes of it that were taken */
    bool stopping;
    struct err why; /* when it is stopping */
    struct machine_usage usage;
    bool lives; /* its thread does, of which `clock` tells what it computed */
    clockid_t clock;

    uint64_t looked_ns; /* its thread's */
    bool took;          /* it heard something in the slice that runs */
};

/* ---- its thread ------------------------------------------------------------------ */

static size_t machine_hear(void *arg, char *to, size_t n)
{
    struct machine *m = arg;
    pthread_mutex_lock(&m->lock);
    size_t left = m->inbox.n - m->heard;
    n = n < left ? n : left;
    if (n)
        memcpy(to, m->inbox.at + m->heard, n);
    m->heard += n;
    if (m->heard == m->inbox.n) {
        buf_clear(&m->inbox);
        m->heard = 0;
    }
    pthread_mutex_unlock(&m->lock);
    m->took |= n > 0;
    return n;
}

static void said(void *arg, struct str bytes)
{
    struct machine *m = arg;
    m->events.said(m->events.arg, bytes);
}

/* false and *why: it may not go on. */
static bool machine_wait_change(struct machine *m, struct err *why)
{
    struct computer_usage u = computer_usage(m->computer);
    uint64_t cpu_ns = os_thread_cpu_ns();
    pthread_mutex_lock(&m->lock);
    m->usage = (struct machine_usage){cpu_ns, u.memory_bytes, disk_used(m->disks[1])};
    pthread_mutex_unlock(&m->lock);
    m->looked_ns = os_mono_ns();
    return !m->events.computed || m->events.computed(m->events.arg, cpu_ns, why);
}

/* The clock of `wake`. */
static void machine_sleep_until(struct machine *m, uint64_t wake_ns)
{
    struct timespec t = {.tv_sec = (time_t)(wake_ns / 1000000000u),
                         .tv_nsec = (long)(wake_ns % 1000000000u)};
    if (wake_ns == UINT64_MAX)
        pthread_cond_wait(&m->wake, &m->lock);
    else
        (void)pthread_cond_timedwait(&m->wake, &m->lock, &t);
}

/* Bytes it has no room for raise no event: they are offered again a little later. */
static void machine_rest(struct machine *m, uint64_t wake_ns)
{
    uint64_t now = os_mono_ns();
    pthread_mutex_lock(&m->lock);
    size_t known = m->inbox.n;
    bool deaf = known > 0 && !m->took;
    if (deaf && wake_ns > now + UNHEARD_NS)
        wake_ns = now + UNHEARD_NS;
    while (!m->stopping && (deaf ? m->inbox.n == known : m->inbox.n == 0) &&
           os_mono_ns() < wake_ns)
        machine_sleep_until(m, wake_ns);
    pthread_mutex_unlock(&m->lock);
}

static bool is_stopping(struct machine *m)
{
    pthread_mutex_lock(&m->lock);
    bool stopping = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return stopping;
}

static void machine_loop(struct machine *m, struct err *why)
{
    uint64_t wake_ns;
    bool runs = computer_resume(m->computer, why);
    while (runs && !is_stopping(m)) {
        m->took = false;
        runs = computer_run(m->computer, SLICE, &wake_ns, why);
        if (runs && os_mono_ns() - m->looked_ns > LOOK_NS)
            runs = machine_wait_change(m, why);
        if (runs && wake_ns != COMPUTER_RUNS)
            machine_rest(m, wake_ns);
    }
}

static void *live(void *arg)
{
    struct machine *m = arg;
    struct err why = {0}, late = {0};
    pthread_mutex_lock(&m->lock);
    m->lives = pthread_getcpuclockid(pthread_self(), &m->clock) == 0;
    pthread_mutex_unlock(&m->lock);
    machine_loop(m, &why);
    (void)machine_wait_change(m, &late);
    pthread_mutex_lock(&m->lock);
    m->lives = false;
    if (m->stopping)
        why = m->why;
    m->stopping = true; /* nobody is heard any more */
    m->usage.memory_bytes = 0;
    m->usage.disk_bytes = 0;
    buf_done(&m->inbox);
    pthread_mutex_unlock(&m->lock);
    computer_close(take(m->computer));
    disk_close(take(m->disks[0]));
    disk_close(take(m->disks[1]));
    m->events.ended(m->events.arg, &why);
    return NULL;
}

/* ---- opening and closing ------------------------------------------------------------ */

static bool begin_thread(struct machine *m, struct err *e)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    int failed = pthread_create(&m->thread, &attr, live, m);
    pthread_attr_destroy(&attr);
    errno = failed;
    return !failed || err_set(e, ERR_BUSY, "there is no thread for a machine: %m");
}

static void machine_free(struct machine *m)
{
    computer_close(m->computer);
    disk_close(m->disks[0]);
    disk_close(m->disks[1]);
    buf_done(&m->inbox);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

static struct machine *machine_new(const struct machine_events *events)
{
    struct machine *m = mem_new(sizeof *m);
    m->events = *events;
    cancel_init(&m->cancel);
    buf_init(&m->inbox, INBOX_MAX);
    pthread_mutex_init(&m->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&m->wake, &attr);
    pthread_condattr_destroy(&attr);
    return m;
}

struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e)
{
    const struct baked *b = images_get(i, o->ram_mb, o->cancel, e);
    if (!b)
        return NULL;
    struct machine *m = machine_new(events);
    images_disks(i, &b->delta, o->disk_bytes, m->disks);
    struct computer_options options = {
        .module = b->module,
        .disks = {m->disks[0], m->disks[1]},
        .memory_bytes = b->memory_bytes,
        .cpu_ns = o->cpu_ns == UINT64_MAX ? 0 : o->cpu_ns,
        .cancel = &m->cancel,
        .wires = {machine_hear, said, m},
    };
    m->computer = computer_open(&options, e);
    if (m->computer && begin_thread(m, e))
        return m;
    machine_free(m);
    return NULL;
}

void machine_send(struct machine *m, struct str bytes)
{
    pthread_mutex_lock(&m->lock);
    bool lost = !m->stopping && !buf_str(&m->inbox, bytes);
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    if (lost)
        machine_stop(m, &(struct err){.code = ERR_LIMIT,
                                      .msg = "the machine takes nothing of what it is "
                                             "sent, and was stopped"});
}

void machine_stop(struct machine *m, const struct err *why)
{
    pthread_mutex_lock(&m->lock);
    bool first = !m->stopping;
    if (first) {
        m->stopping = true;
        m->why = *why;
        pthread_cond_signal(&m->wake);
    }
    pthread_mutex_unlock(&m->lock);
    if (first)
        cancel_fire(&m->cancel);
}

void machine_close(struct machine *m)
{
    if (!m)
        return;
    machine_stop(m,
                 &(struct err){.code = ERR_CANCELLED, .msg = "the machine was stopped"});
    pthread_join(m->thread, NULL);
    machine_free(m);
}

struct machine_usage machine_usage(struct machine *m)
{
    struct timespec t;
    pthread_mutex_lock(&m->lock);
    struct machine_usage u = m->usage;
    if (m->lives && clock_gettime(m->clock, &t) == 0)
        u.cpu_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    pthread_mutex_unlock(&m->lock);
    return u;
}
