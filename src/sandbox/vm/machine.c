/* A machine's thread: runs the computer in slices of about a millisecond, and sleeps
 * while it is idle. Other threads put bytes into its inbox. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "engine/copies.h"
#include "os/os.h"
#include "vm/computer.h"
#include "vm/image.h"
#include "vm/network.h"
#include "vm/ways.h"

#define SLICE 150000u                     /* instructions */
#define INBOX_MAX ((size_t)64 << 20)      /* the protocol's windows are far below */
#define LOOK_NS ((uint64_t)500 * 1000000) /* between two measurements of its memory */
#define UNHEARD_NS \
    ((uint64_t)20 * 1000000) /* until bytes that were not taken are offered again */

/* Somebody waits for a copy. */
struct copying {
    void (*with)(void *arg);
    void *arg;
    bool done;
    struct machine_copy *copy; /* NULL: see `why` */
    struct err why;
};

struct machine {
    struct machine_events events;
    const struct baked *of;
    struct computer *computer;
    struct disk *disks[COMPUTER_DISKS];
    struct network *network; /* NULL: it has none */
    uint8_t mac[6];
    struct cancel cancel; /* takes its memory away */
    int wake;             /* eventfd: the inbox has bytes, or the machine stops */
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows */
    struct buf inbox;
    size_t heard; /* bytes of the inbox that were read */
    bool stopping;
    struct err why; /* reason of the stop */
    struct machine_usage usage;
    bool lives; /* the thread runs, and `clock` is its CPU clock */
    clockid_t clock;
    struct copying *copying; /* NULL: nobody waits for one */
    pthread_cond_t copied;   /* that changed */

    uint64_t looked_ns; /* of the thread */
    bool took;          /* it read input in this slice */
    bool copied_from;   /* it continues from a copy */
};

/* ---- its thread ------------------------------------------------------------------ */

static size_t machine_take_input(void *arg, char *to, size_t n)
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

static void machine_hear(void *arg, struct str bytes)
{
    struct machine *m = arg;
    m->events.output(m->events.arg, bytes);
}

/* false and *why: stop it. */
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

/* Sleeps until there is input, a socket is ready, or it is time. */
static void machine_sleep_until(struct machine *m, uint64_t wake_ns)
{
    struct pollfd p[2] = {
        {.fd = m->wake, .events = POLLIN},
        {.fd = m->network ? network_fd(m->network) : -1, .events = POLLIN}};
    uint64_t now = os_mono_ns(), ns = wake_ns > now ? wake_ns - now : 0, many;
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};
    (void)ppoll(p, LENGTH(p), wake_ns == UINT64_MAX ? NULL : &t, NULL);
    ssize_t got = p[0].revents ? read(m->wake, &many, sizeof many) : 0;
    (void)got; /* `inbox` and `stopping` are read anyway */
}

/* Unread bytes of the inbox; `stopping`: it has to end. */
static size_t machine_inbox(struct machine *m, bool *stopping)
{
    pthread_mutex_lock(&m->lock);
    size_t n = m->inbox.n;
    *stopping = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return n;
}

/* Refused bytes raise no event: they are offered again a little later. */
static void machine_rest(struct machine *m, uint64_t wake_ns)
{
    bool stopping;
    uint64_t now = os_mono_ns();
    size_t known = machine_inbox(m, &stopping);
    bool deaf = known > 0 && !m->took;
    if (stopping || (known > 0 && !deaf))
        return;
    if (deaf && wake_ns > now + UNHEARD_NS)
        wake_ns = now + UNHEARD_NS;
    machine_sleep_until(m, wake_ns);
}

static bool is_stopping(struct machine *m)
{
    pthread_mutex_lock(&m->lock);
    bool stopping = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return stopping;
}

static void machine_wake_up(struct machine *m)
{
    uint64_t one = 1;
    ssize_t put = write(m->wake, &one, sizeof one);
    (void)put; /* it is readable already */
}

/* ---- copies of it ------------------------------------------------------------------ */

struct machine_copy *machine_copy_new(void)
{
    struct machine_copy *c = mem_new(sizeof *c);
    atomic_init(&c->users, 1);
    buf_init(&c->inbox, INBOX_MAX);
    return c;
}

struct machine_copy *machine_copy_hold(struct machine_copy *c)
{
    atomic_fetch_add(&c->users, 1);
    return c;
}

void machine_copy_drop(struct machine_copy *c)
{
    if (!c || atomic_fetch_sub(&c->users, 1) > 1)
        return;
    memory_copy_drop(c->memory);
    disk_copy_drop(c->disk);
    buf_done(&c->inbox);
    free(c);
}

static struct machine_copy *copy_make(struct machine *m, const struct copying *w,
                                      struct err *e)
{
    scoped(machine_copy_drop) struct machine_copy *c = machine_copy_new();
    c->of = m->of;
    c->memory = computer_copy(m->computer, e);
    c->disk = c->memory ? disk_copy(m->disks[1], e) : NULL;
    if (!c->disk)
        return NULL;
    if (w->with)
        w->with(w->arg);
    pthread_mutex_lock(&m->lock);
    bool fits = m->inbox.n == m->heard ||
                buf_put(&c->inbox, m->inbox.at + m->heard, m->inbox.n - m->heard);
    pthread_mutex_unlock(&m->lock);
    if (!fits) {
        err_set(e, ERR_BUSY, "there is no memory for a copy of a machine");
        return NULL;
    }
    return take(c);
}

/* Gives the copy to the one who waits for it; none: it cannot be made, for `why`. */
static void copy_give(struct machine *m, const struct err *why)
{
    pthread_mutex_lock(&m->lock);
    struct copying *w = m->copying;
    pthread_mutex_unlock(&m->lock);
    if (!w)
        return;
    if (why)
        w->why = *why;
    else
        w->copy = copy_make(m, w, &w->why);
    pthread_mutex_lock(&m->lock);
    w->done = true;
    m->copying = NULL;
    pthread_cond_broadcast(&m->copied);
    pthread_mutex_unlock(&m->lock);
}

struct machine_copy *machine_copy(struct machine *m, void (*with)(void *arg), void *arg,
                                  struct err *e)
{
    struct copying mine = {.with = with, .arg = arg};
    pthread_mutex_lock(&m->lock);
    while (m->copying)
        pthread_cond_wait(&m->copied, &m->lock);
    bool late = m->stopping;
    if (late)
        mine.why = m->why;
    else
        m->copying = &mine;
    pthread_mutex_unlock(&m->lock);
    if (!late)
        machine_wake_up(m);
    pthread_mutex_lock(&m->lock);
    while (!late && !mine.done)
        pthread_cond_wait(&m->copied, &m->lock);
    pthread_mutex_unlock(&m->lock);
    if (!mine.copy)
        err_pass(e, &mine.why);
    return mine.copy;
}

/* ---- its course -------------------------------------------------------------------- */

static bool machine_begin(struct machine *m, struct err *why)
{
    if (m->network)
        return computer_connect(m->computer, ways_here(), m->mac, why);
    return !m->copied_from || computer_connect(m->computer, 0, m->mac, why);
}

static void machine_loop(struct machine *m, struct err *why)
{
    uint64_t wake_ns;
    bool runs = computer_resume(m->computer, why) && machine_begin(m, why);
    while (runs && !is_stopping(m)) {
        copy_give(m, NULL);
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
    else
        m->why = why;
    m->stopping = true; /* no more input, and no more copies */
    m->usage.memory_bytes = 0;
    m->usage.disk_bytes = 0;
    buf_done(&m->inbox);
    pthread_mutex_unlock(&m->lock);
    copy_give(m, &why);
    computer_close(take(m->computer));
    network_close(take(m->network));
    disk_close(take(m->disks[0]));
    disk_close(take(m->disks[1]));
    m->events.ended(m->events.arg, &why);
    return NULL;
}

/* ---- opening and closing ------------------------------------------------------------ */

static bool begin_thread(struct machine *m, struct err *e)
{
    return os_thread_start(&m->thread, "machine", ENGINE_THREAD_STACK, live, m) ||
           err_set(e, ERR_BUSY, "there is no thread for a machine: %m");
}

static void machine_free(struct machine *m)
{
    computer_close(m->computer);
    network_close(m->network);
    disk_close(m->disks[0]);
    disk_close(m->disks[1]);
    buf_done(&m->inbox);
    if (m->wake >= 0)
        (void)close(m->wake);
    pthread_cond_destroy(&m->copied);
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
    pthread_cond_init(&m->copied, NULL);
    m->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return m;
}

/* false: no descriptor to be had. */
static bool get_network(struct machine *m, const struct machine_options *o, struct err *e)
{
    const struct vm_network *rules = o->network;
    static const uint8_t none[6], usual[6] = LAN_MACHINE_MAC;
    if (m->wake < 0)
        return err_set(e, ERR_BUSY, "there is no descriptor for a machine: %m");
    if (!rules)
        return true;
    memcpy(m->mac, memcmp(rules->mac, none, 6) ? rules->mac : usual, 6);
    m->network = network_open(rules, o->account, e);
    return m->network != NULL;
}

/* The emulator forgets its connections itself, when it resumes. */
static bool show_copy(struct machine *m, const struct machine_copy *from, struct err *e)
{
    return computer_show(m->computer, from->memory, e) &&
           (buf_str(&m->inbox, buf_view(&from->inbox)) ||
            err_set(e, ERR_BUSY, "there is no memory for a copy of a machine"));
}

struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e)
{
    struct machine_copy *from = o->from;
    const struct baked *b = from ? from->of : images_get(i, o->ram_mb, o->cancel, e);
    if (!b)
        return NULL;
    struct machine *m = machine_new(events);
    m->of = b;
    m->copied_from = from != NULL;
    if (!get_network(m, o, e)) {
        machine_free(m);
        return NULL;
    }
    images_disks(i, &b->delta, from ? from->disk : NULL, o->disk_bytes, m->disks);
    struct computer_options options = {
        .module = b->module,
        .disks = {m->disks[0], m->disks[1]},
        .memory_bytes = b->memory_bytes,
        .cpu_ns = o->cpu_ns == UINT64_MAX ? 0 : o->cpu_ns,
        .cancel = &m->cancel,
        .wires = {machine_take_input, machine_hear, m},
        .network = m->network,
        .files = o->files,
    };
    m->computer = computer_open(&options, e);
    if (m->computer && (!from || show_copy(m, from, e)) && begin_thread(m, e))
        return m;
    machine_free(m);
    return NULL;
}

void machine_send(struct machine *m, struct str bytes)
{
    pthread_mutex_lock(&m->lock);
    bool lost = !m->stopping && !buf_str(&m->inbox, bytes);
    pthread_mutex_unlock(&m->lock);
    machine_wake_up(m);
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
    }
    pthread_mutex_unlock(&m->lock);
    if (!first)
        return;
    machine_wake_up(m);
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

/* ---- exposed ports ---------------------------------------------------------------- */

/* Its network, with the lock held, which keeps it; NULL: there is none, or not any more. */
static struct network *network_held(struct machine *m)
{
    return m->stopping ? NULL : m->network;
}

bool machine_expose(struct machine *m, struct vm_port *p, struct err *e)
{
    pthread_mutex_lock(&m->lock);
    struct network *n = network_held(m);
    bool ok = n ? network_expose(n, p, e)
                : err_set(e, ERR_NOT_FOUND, "the machine has no network card");
    pthread_mutex_unlock(&m->lock);
    return ok;
}

bool machine_unexpose(struct machine *m, uint16_t port)
{
    pthread_mutex_lock(&m->lock);
    struct network *n = network_held(m);
    bool was = n && network_unexpose(n, port);
    pthread_mutex_unlock(&m->lock);
    return was;
}

size_t machine_ports(struct machine *m, struct vm_port out[static VM_PORTS_MAX])
{
    pthread_mutex_lock(&m->lock);
    struct network *n = network_held(m);
    size_t count = n ? network_ports(n, out) : 0;
    pthread_mutex_unlock(&m->lock);
    return count;
}
