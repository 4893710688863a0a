/* MCP over a pair of descriptors: a message a line.
 *
 * The threads take turns at reading: the one that reads a call runs it itself, so that no
 * call waits for a thread to wake up. Another is always there to read on, lest a ping or a
 * cancellation be left lying behind long calls: it watches the input, asleep, and nobody
 * wakes it but what comes. When no other is free, the reader queues calls instead.
 *
 * Most clients send the next request when they have the answer to the last one. A watcher
 * would be woken by it, on another processor, before the thread that answered is back. So
 * while one call runs after the other, the watcher looks at the input only when a call takes
 * longer than PUT_OFF_MS, and until then the thread that runs it is the one that reads on.
 * A request that came while a call ran ends that: the next calls are watched at once.
 * Source: 2025-11-25 basic/transports (stdio), 2026-07-28 basic/transports/stdio.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "mcp/core.h"
#include "mcp/lines.h"
#include "mcp/mcp.h"
#include "mcp/outbox.h"
#include "os/os.h"

#define THREAD_STACK ((size_t)4 * 1024 * 1024)
#define THREADS_MAX 64u
#define RESTING_MAX 64u /* calls that wait for a person */
#define WATCHERS_MAX 2u /* one while another runs a call; both when all is quiet */
#define PUT_OFF_MS 2u   /* until what comes during a single call is read */
/* The most bytes of an answer's line. */
#define LINE_CEILING ((size_t)256 * 1024 * 1024)
/* Between looks at whether the client is still there to be answered. */
#define DRAIN_LOOK_MS 50u

/* A thread that waits for its turn. The last to wait is the first to be woken:
 * its caches are warm. */
struct waiter {
    pthread_cond_t wake;
    struct waiter *below;
    bool woken;
};

struct stdio {
    struct mcp *m;
    struct mcp_stdio_options o;
    struct session session; /* the one client's */
    struct lines lines;     /* the reader's */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the end: nothing left, or nobody there */
    struct waiter *waiting; /* a stack */
    /* Threads that wait for input. It wakes one, the last that came, and then is not
     * watched until armed again. -1: it is no input that can be watched (a file), and the
     * reader waits for it. */
    int watch;
    int kick; /* wakes them otherwise */
    unsigned watching;
    bool armed;
    int timer;  /* wakes one, where the turn was given up and reading put off */
    bool timed; /* it is set */
    uint64_t read_again_ns; /* put off until then, unless somebody reads before */
    bool parallel;          /* something came during the last call, or others ran */
    bool reading;           /* a thread has the turn */
    uint64_t turns;         /* that were taken */
    bool ending;            /* the next to read will find that */
    bool ended;             /* no more input */
    unsigned running;
    unsigned resting; /* of these, wait for a person */
    pthread_t threads[THREADS_MAX + RESTING_MAX];
    unsigned n_threads;
    struct call *first, *last; /* calls that wait for a thread */
    unsigned queued;
    struct err failure;

    struct outbox outbox;
};

/* ---- writing ------------------------------------------------------------ */

static void client_is_lost(void *arg)
{
    struct stdio *s = arg;
    lines_stop(&s->lines);
}

static bool stdio_put_line(struct stdio *s, struct buf *line, enum outbox_weight weight)
{
    /* Within JSON a line end can only stand between values. */
    for (char *c = line->at; (c = memchr(c, '\n', (size_t)(line->at + line->n - c)));)
        *c = ' ';
    return buf_char(line, '\n') && outbox_put(&s->outbox, line, weight);
}

/* Writes a message to a call's client before its answer. */
static bool say_line(void *arg, struct str message, enum outlet_weight weight)
{
    struct stdio *s = arg;
    scoped_buf struct buf line = buf_of(LINE_CEILING);
    return buf_str(&line, message) &&
           stdio_put_line(s, &line, weight == OUTLET_LIGHT ? OUTBOX_LIGHT : OUTBOX_HEAVY);
}

static void *stdio_thread_main(void *arg);

/* A running call, for the messages to its client. */
struct running {
    struct stdio *s;
    unsigned rests; /* of those who wait for a person in it */
};

static bool running_send(void *arg, struct str message, enum outlet_weight weight)
{
    struct running *r = arg;
    return say_line(r->s, message, weight);
}

/* Starts one more. false: errno says why. The lock is held. */
static bool stdio_start_thread(struct stdio *s)
{
    bool ok = os_thread_start(&s->threads[s->n_threads], "mcp-stdio", s->o.thread_stack,
                              stdio_thread_main, s);
    s->n_threads += ok;
    return ok;
}

/* Another thread takes the place of its own. Those that were made once stay. */
static bool running_rest(void *arg, struct err *e)
{
    struct running *r = arg;
    struct stdio *s = r->s;
    pthread_mutex_lock(&s->lock);
    bool ok = r->rests > 0 ||
              (s->resting < RESTING_MAX &&
               (s->n_threads - s->resting > s->o.threads || stdio_start_thread(s)));
    r->rests += ok;
    s->resting += ok && r->rests == 1;
    pthread_mutex_unlock(&s->lock);
    return ok || err_set(e, ERR_BUSY,
                         "too many calls wait for a person (%u may); nothing ran; ask "
                         "again when some are decided",
                         RESTING_MAX);
}

static void running_resume(void *arg)
{
    struct running *r = arg;
    pthread_mutex_lock(&r->s->lock);
    r->s->resting -= --r->rests == 0;
    pthread_mutex_unlock(&r->s->lock);
}

/* Writes a notification of a change. */
static bool tell_line(void *arg, struct str message)
{
    return say_line(arg, message, OUTLET_HEAVY);
}

static void stdio_attach(void *arg, struct listener *l, struct str first)
{
    struct sink sink = {.say = tell_line, .arg = arg};
    (void)tell_line(arg, first);
    listener_start(l, &sink, NULL);
}

static void refuse_line(struct stdio *s)
{
    scoped_buf struct buf line = buf_of(LINE_CEILING);
    struct envelope env = {.session = &s->session};
    struct json_writer w = unread_open(&line, &env, RPC_REQUEST);
    json_pair_cstr(&w, "message", "Invalid Request: a message is larger than 16 MiB");
    json_close(&w);
    json_close(&w);
    (void)stdio_put_line(s, &line, OUTBOX_ANSWER);
}

static void refuse_call(struct stdio *s, struct call *c)
{
    scoped_buf struct buf line = buf_of(LINE_CEILING);
    struct reply r = {.out = &line};
    call_refuse(c, ERR_BUSY,
                "too many calls are waiting; this one did not run, try again", &r);
    (void)stdio_put_line(s, &line, OUTBOX_ANSWER);
}

static bool has_input(const struct stdio *s)
{
    struct pollfd p = {.fd = s->o.in, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Had a call, which began at that turn, company until now, just before its answer? Then the
 * next ones are watched from their beginning. */
static void note_company(struct stdio *s, uint64_t turns)
{
    bool input = has_input(s);
    pthread_mutex_lock(&s->lock);
    s->parallel = input || s->running > 1 || s->turns != turns;
    pthread_mutex_unlock(&s->lock);
}

static void stdio_run_call(struct stdio *s, struct call *c, uint64_t turns)
{
    scoped_buf struct buf line = buf_of(LINE_CEILING);
    struct reply r = {.out = &line};
    struct running running = {.s = s};
    struct outlet outlet = {.say = running_send,
                            .rest = running_rest,
                            .resume = running_resume,
                            .arg = &running};
    struct front front = {
        .who = "stdio", .outlet = &outlet, .attach = stdio_attach, .attach_arg = s};
    call_run(c, &front, &r);
    note_company(s, turns);
    if (line.n)
        (void)stdio_put_line(s, &line, OUTBOX_ANSWER);
}

/* ---- taking turns ------------------------------------------------------- */

/* The lock is held here and below. */
static void wake_one(struct stdio *s)
{
    struct waiter *top = s->waiting;
    if (!top)
        return;
    s->waiting = top->below;
    top->woken = true;
    pthread_cond_signal(&top->wake);
}

static void wait_turn(struct stdio *s, struct waiter *self)
{
    self->woken = false;
    self->below = s->waiting;
    s->waiting = self;
    while (!self->woken)
        pthread_cond_wait(&self->wake, &s->lock);
}

/* ---- watching the input --------------------------------------------------- */

enum watched { WATCHED_INPUT, WATCHED_KICK, WATCHED_TIMER, WATCHED_END };

static bool stdio_watch(struct stdio *s, int fd, enum watched what, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = what};
    return fd >= 0 && epoll_ctl(s->watch, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void watch_done(struct stdio *s)
{
    if (s->watch >= 0)
        close(s->watch);
    if (s->kick >= 0)
        close(s->kick);
    if (s->timer >= 0)
        close(s->timer);
    s->watch = s->kick = s->timer = -1;
}

/* Not armed yet. Where it cannot be watched, the turn's holder waits. */
static void watch_init(struct stdio *s)
{
    s->watch = epoll_create1(EPOLL_CLOEXEC);
    s->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->watch < 0 || !stdio_watch(s, s->kick, WATCHED_KICK, EPOLLIN) ||
        !stdio_watch(s, s->timer, WATCHED_TIMER, EPOLLIN | EPOLLET) ||
        !stdio_watch(s, s->o.in, WATCHED_INPUT, EPOLLONESHOT) ||
        !stdio_watch(s, s->lines.wake, WATCHED_END, EPOLLIN) ||
        (s->o.has_stop && !stdio_watch(s, s->o.stop, WATCHED_END, EPOLLIN))) {
        watch_done(s);
        return;
    }
    (void)stdio_watch(s, s->o.out, WATCHED_END, 0); /* errors alone; a file has none */
}

static void arm(struct stdio *s)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT,
                                .data.u32 = WATCHED_INPUT};
    if (!s->armed)
        s->armed = epoll_ctl(s->watch, EPOLL_CTL_MOD, s->o.in, &event) == 0;
}

static void set_timer(struct stdio *s, uint64_t at_ns)
{
    const struct itimerspec at = {.it_value = {.tv_sec = (time_t)(at_ns / 1000000000u),
                                               .tv_nsec = (long)(at_ns % 1000000000u)}};
    s->timed = timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL) == 0;
}

static bool is_put_off(const struct stdio *s)
{
    return !s->reading && !s->armed && !s->ended;
}

/* The timer has run out. Has a call run for so long that another thread has to read? The
 * timer stays as it was set while calls come and go, so there may be time left. */
static bool must_read(struct stdio *s)
{
    s->timed = false;
    if (!is_put_off(s))
        return false;
    if (os_mono_ns() >= s->read_again_ns)
        return true;
    set_timer(s, s->read_again_ns);
    return !s->timed;
}

/* Sleeps until something is to be read, or done. Is it to be read? While another has the turn
 * this only waits for that one to put reading off. */
static bool watch_input(struct stdio *s)
{
    struct epoll_event event;
    eventfd_t kicks;
    uint64_t turns = s->reading ? UINT64_MAX : s->turns;
    int n;
    if (!s->reading)
        arm(s);
    s->watching++;
    do {
        event.data.u32 = WATCHED_KICK;
        pthread_mutex_unlock(&s->lock);
        n = epoll_wait(s->watch, &event, 1, -1);
        pthread_mutex_lock(&s->lock);
    } while (n == 1 && event.data.u32 == WATCHED_TIMER && !must_read(s));
    s->watching--;
    if (n == 1 && event.data.u32 == WATCHED_INPUT) {
        s->armed = false;
        if (s->turns == turns)
            lines_readable(&s->lines);
    }
    s->ending |= n == 1 && event.data.u32 == WATCHED_END;
    if (n == 1 && event.data.u32 == WATCHED_KICK && !s->ended)
        (void)eventfd_read(s->kick, &kicks);
    return n == 1 && event.data.u32 != WATCHED_KICK;
}

/* The turn is free: sees to it that what is there, or what comes, is read. */
static void let_read(struct stdio *s)
{
    if (s->watching && !lines_are_there(&s->lines))
        arm(s);
    else if (s->waiting)
        wake_one(s);
    else if (s->watching)
        (void)eventfd_write(s->kick, 1);
}

/* The same after a call was read that is probably over before more comes: its thread will
 * read on, or a watcher if it takes long. */
static void put_off(struct stdio *s)
{
    s->read_again_ns = os_in_ms(PUT_OFF_MS);
    if (!s->timed)
        set_timer(s, s->read_again_ns);
    if (!s->timed)
        let_read(s);
}

static bool is_quiet(const struct stdio *s)
{
    return s->ended && !s->reading && !s->running && !s->first;
}

/* Hands a call that was read to whoever can run it soonest: true, this thread
 * (which has given up its turn); false, a thread that is busy now. */
static bool place_call(struct stdio *s, struct call *c, bool *full)
{
    pthread_mutex_lock(&s->lock);
    bool mine = s->waiting || s->watching;
    bool alone = s->watching && !s->armed && !s->running && !s->parallel &&
                 !lines_are_there(&s->lines);
    *full = !mine && s->queued >= s->o.queue_max;
    if (mine) {
        s->reading = false;
        s->running++;
        if (alone)
            put_off(s);
        else
            let_read(s);
    } else if (!*full) {
        c->next = NULL;
        *(s->last ? &s->last->next : &s->first) = c;
        s->last = c;
        s->queued++;
    }
    pthread_mutex_unlock(&s->lock);
    return mine;
}

static struct call *next_queued(struct stdio *s)
{
    struct call *c = s->first;
    if (c) {
        s->first = c->next;
        if (!s->first)
            s->last = NULL;
        s->queued--;
    }
    return c;
}

/* ---- reading ------------------------------------------------------------ */

static struct call *stdio_take_line(struct stdio *s, struct str text)
{
    scoped_buf struct buf line = buf_of(LINE_CEILING);
    struct reply r = {.out = &line};
    struct sink sink = {.say = tell_line, .arg = s};
    struct envelope env = {.session = &s->session, .sink = &sink};
    struct call *c = take_message(s->m, text, &env, &r);
    if (line.n)
        (void)stdio_put_line(s, &line, OUTBOX_ANSWER);
    return c;
}

/* Reads until there is a call for this thread to run (the turn is then given
 * up), or the input has ended: NULL, still with the turn. */
static struct call *read_turn(struct stdio *s)
{
    struct str text;
    for (;;) {
        switch (lines_next(&s->lines, &text)) {
        case LINES_END:
            return NULL;
        case LINES_TOO_LONG:
            refuse_line(s);
            continue;
        case LINES_LINE:
            break;
        }
        struct call *c = stdio_take_line(s, text);
        bool full = false;
        if (c && place_call(s, c, &full))
            return c;
        if (full)
            refuse_call(s, c);
    }
}

static void end_input(struct stdio *s)
{
    s->reading = false;
    s->ended = true;
    while (s->waiting)
        wake_one(s);
    if (s->kick >= 0)
        (void)eventfd_write(s->kick, 1); /* stays: all of them have to see it */
    pthread_cond_signal(&s->changed);
}

/* Waits for what may be read, or for the turn, or both. Has this thread the turn now? One that
 * finds reading put off waits for the input itself, with the turn. */
static bool take_turn(struct stdio *s, struct waiter *self)
{
    bool there = !s->reading && (s->watch < 0 || lines_are_there(&s->lines) ||
                                 (is_put_off(s) && s->watching > 0));
    unsigned watchers = !s->reading ? WATCHERS_MAX : s->ending ? 0 : 1;
    if (!there && (s->watch < 0 || s->watching >= watchers)) {
        wait_turn(s, self);
        return false;
    }
    if (!there)
        there = watch_input(s);
    if (!there || s->reading || s->ended)
        return false;
    s->turns++;
    return s->reading = true;
}

static void *stdio_thread_main(void *arg)
{
    struct stdio *s = arg;
    struct waiter self = {.wake = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&s->lock);
    for (;;) {
        struct call *c = next_queued(s);
        if (c) {
            s->running++;
        } else if (s->ended) {
            break;
        } else if (!take_turn(s, &self)) {
            continue;
        }
        uint64_t turns = s->turns;
        if (!c) {
            pthread_mutex_unlock(&s->lock);
            c = read_turn(s);
            pthread_mutex_lock(&s->lock);
            if (!c) {
                end_input(s);
                continue;
            }
        }
        pthread_mutex_unlock(&s->lock);
        stdio_run_call(s, c, turns);
        pthread_mutex_lock(&s->lock);
        s->running--;
        if (is_quiet(s))
            pthread_cond_signal(&s->changed);
    }
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&self.wake);
    return NULL;
}

/* ---- the whole ---------------------------------------------------------- */

/* Nobody reads at the other end any more, or we were told to stop. */
static bool is_in_vain(struct stdio *s)
{
    struct pollfd p[2] = {{.fd = s->o.out},
                          {.fd = s->o.has_stop ? s->o.stop : -1, .events = POLLIN}};
    return outbox_is_broken(&s->outbox) ||
           (poll(p, 2, 0) > 0 &&
            ((p[0].revents & (POLLERR | POLLHUP | POLLNVAL)) || p[1].revents));
}

static void stdio_wait(struct stdio *s)
{
    (void)os_cond_wait(&s->changed, &s->lock, os_in_ms(DRAIN_LOOK_MS));
}

/* Until all that was read is answered; calls that take too long, or whose
 * answers nobody would read, are cancelled. */
static void stdio_drain(struct stdio *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->ended)
        pthread_cond_wait(&s->changed, &s->lock);
    asks_abandon(&s->m->asks, &s->session);
    for (unsigned waited = 0; !is_quiet(s); waited += DRAIN_LOOK_MS) {
        if (waited >= s->o.drain_ms || is_in_vain(s)) {
            pthread_mutex_unlock(&s->lock);
            calls_cancel(&s->m->calls, &s->session, NULL, false);
            if (waited >= s->o.drain_ms && is_in_vain(s))
                outbox_break(&s->outbox); /* one may wait for room to answer in */
            pthread_mutex_lock(&s->lock);
            if (is_quiet(s))
                break;
        }
        stdio_wait(s);
    }
    pthread_mutex_unlock(&s->lock);
}

static void put_alert(void *arg, const struct alert *alert)
{
    struct stdio *s = arg;
    enum client_level level = alert_level(alert);
    unsigned least = sessions_log_least(&s->m->sessions, &s->session);
    if (!atomic_load(&s->m->greeted) || (least != LOG_UNASKED && level < least))
        return;
    scoped_buf struct buf line = buf_of(ALERT_MAX);
    put_log_of_alert(&line, alert);
    if (!line.failed)
        (void)stdio_put_line(s, &line, OUTBOX_LIGHT);
}

/* Until the client has read its answers, however long it takes, unless we were told to
 * stop. */
static void stdio_flush(struct stdio *s)
{
    for (unsigned waited = 0; !outbox_is_empty(&s->outbox, DRAIN_LOOK_MS);
         waited += DRAIN_LOOK_MS)
        if (waited >= s->o.drain_ms && is_in_vain(s))
            outbox_break(&s->outbox);
}

static bool stdio_serve(struct stdio *s, struct err *e)
{
    int failed = 0;
    watch_init(s);
    pthread_mutex_lock(&s->lock);
    while (!failed && s->n_threads < s->o.threads)
        failed = stdio_start_thread(s) ? 0 : errno;
    unsigned n = s->n_threads;
    pthread_mutex_unlock(&s->lock);
    if (n >= 2)
        stdio_drain(s); /* fewer threads than wished for do */
    else
        lines_stop(&s->lines);
    /* By those that are joined here no more are made: no call runs any more. */
    for (unsigned i = 0; i < s->n_threads; i++)
        pthread_join(s->threads[i], NULL);
    if (n >= 2)
        return true;
    errno = failed;
    return err_set(e, ERR_IO, "cannot start threads to serve with: %m");
}

static void put_defaults(struct mcp_stdio_options *o)
{
    if (!o->in && !o->out)
        o->out = STDOUT_FILENO;
    if (!o->threads)
        o->threads = 8;
    o->threads = o->threads < 2 ? 2 : o->threads > THREADS_MAX ? THREADS_MAX : o->threads;
    if (o->thread_stack < THREAD_STACK)
        o->thread_stack = THREAD_STACK;
    if (!o->queue_max)
        o->queue_max = 256;
    if (!o->drain_ms)
        o->drain_ms = 6000;
}

bool mcp_serve_stdio(struct mcp *m, const struct mcp_stdio_options *o, struct err *e)
{
    struct stdio s = {.m = m,
                      .o = *o,
                      .session = {.there = true},
                      .watch = -1,
                      .kick = -1,
                      .timer = -1};
    put_defaults(&s.o);
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);

    /* A client that goes away is an error of write(), not the end of the
     * program. */
    sigset_t pipe, before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    /* Nothing but MCP may reach the client. */
    int own = s.o.out == STDOUT_FILENO ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (own >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        s.o.out = own;

    outbox_init(&s.outbox, s.o.out, client_is_lost, &s);
    const struct backend *b = &m->backend;
    if (b->listen)
        b->listen(b->arg, put_alert, &s, true);
    bool ok = lines_init(&s.lines, s.o.in, s.o.out, s.o.has_stop ? s.o.stop : -1,
                         MCP_LINE_MAX, e) &&
              stdio_serve(&s, e);
    changes_end(&m->changes);
    if (b->listen)
        b->listen(b->arg, put_alert, &s, false);
    stdio_flush(&s);
    outbox_done(&s.outbox);
    if (ok && s.lines.failure.code) {
        *e = s.lines.failure;
        ok = false;
    }
    lines_done(&s.lines);
    watch_done(&s);
    if (own >= 0) {
        (void)dup2(own, STDOUT_FILENO);
        close(own);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_cond_destroy(&s.changed);
    pthread_mutex_destroy(&s.lock);
    return ok;
}
