/* vm/double_test.h - what stands in for machine.c in this room's tests: a machine that is
 * a thread, and does what the command says by the rules of abi/vm.h, or breaks them. Only
 * for *_test.c.
 *
 *   echo T, err T   prints T and a line end     exit N    ends its shell with N
 *   number          its session's number        length    its own length
 *   flood N         N bytes, as there is leave  wait      until it is sent SIGTERM
 *   cat             prints what is typed
 *   size            prints each resize, until its input ends
 *   deaf            for ever, whatever the signal; pings are answered
 *   mute            nothing is said any more    panic     the machine ends
 *   compute MS      has computed for so long    (all: for 2 ms)
 * The rest stands in `rogues`. With a timeout, what would wait is out of time at once.
 */
#pragma once
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <pthread.h>

#include "os/os.h"
#include "vm/internal.h"
#include "vm/no_copies_test.h"

/* ---- commands ---------------------------------------------------------------- */

struct job {
    struct job *next;
    uint32_t id;
    struct buf text;
    struct vm_exec_head head;
    uint64_t flood;   /* bytes to print */
    int64_t window;   /* bytes that may be printed */
    struct buf typed; /* and not printed yet */
    bool reads, ready, typed_all;
};

struct machine {
    struct machine_options o;
    struct machine_events events;
    pthread_t thread;
    pthread_mutex_t lock; /* guards: */
    pthread_cond_t changed;
    struct buf in;
    bool stopped;
    struct err why;
    /* Used by the thread only. */
    struct frames frames;
    struct job *jobs;
    struct buf out;
    bool mute;
    atomic_ullong cpu_ns; /* 2 ms a command, and what `compute` says */
};

struct images {
    int unused;
};

/* Properties of the next machines, set before they start. */
static struct {
    bool no_image, no_machine, never_ready, garbage_first;
    atomic_uint mount_fails; /* the errno of the next mounts */
    bool mounts_twice;       /* and each is answered twice */
    atomic_uint opened, closed;
} doubles;

/* ---- output ---------------------------------------------------------------------- */

static inline void job_free(struct machine *d, struct job *j)
{
    struct job **at = &d->jobs;
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    buf_done(&j->text);
    buf_done(&j->typed);
    free(j);
}

static inline void say_exit(struct machine *d, struct job *j, uint32_t status,
                            uint32_t flags)
{
    struct vm_exit exit = {status, flags, 3000000, 1000000};
    atomic_fetch_add(&d->cpu_ns, 2000000);
    frame_put(&d->out, j->id, VM_EXIT, (struct str){(const char *)&exit, sizeof exit});
    job_free(d, j);
}

static inline void say_out(struct machine *d, struct job *j, uint16_t verb,
                           struct str text)
{
    frame_put_all(&d->out, j->id, verb, text);
    j->window -= (int64_t)text.n;
}

static inline void say_flood(struct machine *d, struct job *j)
{
    static char bytes[VM_FRAME_MAX];
    memset(bytes, 'x', sizeof bytes);
    while (j->flood > 0 && j->window > 0) {
        uint64_t n = j->flood < sizeof bytes ? j->flood : sizeof bytes;
        n = n < (uint64_t)j->window ? n : (uint64_t)j->window;
        say_out(d, j, j->flood % 2 ? VM_ERR : VM_OUT, (struct str){bytes, (size_t)n});
        j->flood -= n;
    }
    if (j->flood == 0)
        say_exit(d, j, 0, 0);
}

static inline struct str word_behind(struct job *j, const char *verb)
{
    struct str text = {buf_cz(&j->text), j->text.n};
    size_t n = strlen(verb);
    bool is = str_starts(text, verb) && (text.n == n || text.at[n] == ' ');
    return is ? (struct str){text.at + n + (text.n > n), text.n - n - (text.n > n)}
              : (struct str){0};
}

static inline void say_line(struct machine *d, struct job *j, uint16_t verb,
                            struct str text)
{
    say_out(d, j, verb, text);
    say_out(d, j, verb, STR("\n"));
    say_exit(d, j, 0, 0);
}

/* Machines that violate the protocol. */
static inline void say_rogue(struct machine *d, struct job *j)
{
    static char much[VM_FRAME_MAX];
    struct str text = buf_view(&j->text);
    uint32_t huge[3] = {VM_FRAME_MAX + 1, j->id, VM_OUT}, zero[3] = {0, 0, 0x10000};
    struct vm_exit bad = {.status = str_is(text, "status") ? 256 : 65,
                          .flags = str_is(text, "status") ? 0 : VM_EXIT_SIGNAL};
    if (str_is(text, "refuse"))
        frame_put(&d->out, j->id, VM_REFUSED, STR("no process\nleft \x7f\xff"));
    else if (str_is(text, "spent"))
        frame_put(&d->out, j->id, VM_REFUSED,
                  STR("the machine has no files left for it"));
    else if (str_is(text, "overrun"))
        for (int i = 0; i < 20; i++) /* in pieces, the last of which exceeds the window */
            say_out(d, j, VM_OUT, (struct str){much, sizeof much});
    else if (str_is(text, "stranger"))
        frame_put(&d->out, j->id + 1, VM_OUT, STR("x"));
    else if (str_is(text, "huge"))
        buf_put(&d->out, huge, sizeof huge);
    else if (str_is(text, "garbage"))
        buf_put(&d->out, zero, sizeof zero);
    else if (str_is(text, "verb"))
        frame_put(&d->out, j->id, 99, STR(""));
    else if (str_is(text, "unasked"))
        frame_put(&d->out, 0, VM_READY, STR(""));
    else if (str_is(text, "taken"))
        frame_put_u32(&d->out, j->id, VM_INPUT_TAKEN, 1);
    else if (str_is(text, "status") || str_is(text, "signal"))
        frame_put(&d->out, j->id, VM_EXIT, (struct str){(const char *)&bad, sizeof bad});
    else
        frame_put(&d->out, j->id, VM_EXIT, STR("short"));
}

static const char *const rogues[] = {"overrun", "stranger", "huge",   "garbage", "verb",
                                     "unasked", "taken",    "status", "signal",  "short"};

static inline bool waits(struct job *j)
{
    struct str text = buf_view(&j->text);
    return str_is(text, "cat") || str_is(text, "wait") || str_is(text, "size") ||
           str_is(text, "deaf");
}

static inline void do_job(struct machine *d, struct job *j)
{
    char number[32];
    struct str arg;
    j->ready = true;
    if ((arg = word_behind(j, "echo")).at) {
        say_line(d, j, VM_OUT, arg);
    } else if ((arg = word_behind(j, "err")).at) {
        say_line(d, j, VM_ERR, arg);
    } else if ((arg = word_behind(j, "exit")).at) {
        say_exit(d, j, (uint32_t)atoi(arg.at), VM_EXIT_SHELL);
    } else if ((arg = word_behind(j, "compute")).at) {
        atomic_fetch_add(&d->cpu_ns, strtoull(arg.at, NULL, 10) * 1000000);
        say_line(d, j, VM_OUT, arg);
    } else if ((arg = word_behind(j, "flood")).at) {
        j->flood = strtoull(arg.at, NULL, 10);
        say_flood(d, j);
    } else if (word_behind(j, "number").at) {
        (void)snprintf(number, sizeof number, "%u", j->head.session);
        say_line(d, j, VM_OUT, str_of(number));
    } else if (word_behind(j, "length").at) {
        (void)snprintf(number, sizeof number, "%zu", j->text.n);
        say_line(d, j, VM_OUT, str_of(number));
    } else if (word_behind(j, "panic").at) {
        ;
    } else if (word_behind(j, "mute").at) {
        d->mute = true;
    } else if (waits(j)) {
        if (j->head.timeout_ms && !j->reads && !word_behind(j, "deaf").at &&
            j->head.timeout_ms <= 1000)
            say_exit(d, j, SIGTERM, VM_EXIT_SIGNAL | VM_EXIT_TIMEOUT);
    } else {
        say_rogue(d, j);
    }
}

/* ---- input ------------------------------------------------------------------------- */

static inline struct job *job_of(struct machine *d, uint32_t id)
{
    struct job *j = d->jobs;
    while (j && j->id != id)
        j = j->next;
    return j;
}

static inline struct job *job_new(struct machine *d, uint32_t id)
{
    struct job *j = mem_new(sizeof *j);
    *j = (struct job){.id = id, .window = VM_WINDOW, .next = d->jobs};
    buf_init(&j->text, VM_COMMAND_MAX);
    buf_init(&j->typed, VM_INPUT_WINDOW);
    return d->jobs = j;
}

/* Echoes as much input as the window allows. */
static inline void say_typed(struct machine *d, struct job *j)
{
    bool cat = str_is(buf_view(&j->text), "cat");
    size_t n = j->typed.n;
    if (cat && (int64_t)n > j->window)
        n = (size_t)j->window;
    if (cat)
        say_out(d, j, VM_OUT, (struct str){j->typed.at, n});
    if (n > 0) {
        memmove(j->typed.at, j->typed.at + n, j->typed.n - n);
        j->typed.n -= n;
        frame_put_u32(&d->out, j->id, VM_INPUT_TAKEN, (uint32_t)n);
    }
    if (j->typed_all && j->typed.n == 0)
        say_exit(d, j, 0, 0);
}

static inline void hear_signal(struct machine *d, struct job *j, uint32_t number)
{
    if (str_is(buf_view(&j->text), "deaf"))
        return;
    if (number == SIGTERM || number == SIGKILL)
        say_exit(d, j, number, VM_EXIT_SIGNAL);
}

static inline void hear_of_job(struct machine *d, struct job *j, const struct frame *f)
{
    uint32_t number = 0;
    char text[40];
    if (f->payload.n == sizeof number)
        memcpy(&number, f->payload.at, sizeof number);
    if (f->verb == VM_INPUT) {
        must(buf_str(&j->typed, f->payload));
        j->typed_all |= f->payload.n == 0;
        say_typed(d, j);
    } else if (f->verb == VM_SIGNAL) {
        hear_signal(d, j, number);
    } else if (f->verb == VM_CREDIT) {
        j->window += number;
        must(j->window <= VM_WINDOW);
        if (j->ready && j->flood)
            say_flood(d, j);
        else
            say_typed(d, j);
    } else if (f->verb == VM_RESIZE) {
        (void)snprintf(text, sizeof text, "%ux%u\n", number & 0xffff, number >> 16);
        say_out(d, j, VM_OUT, str_of(text));
    }
}

static inline void say_mounted(struct machine *d, const struct frame *f)
{
    struct vm_mounted said = {
        .failed = f->verb == VM_MOUNT ? atomic_load(&doubles.mount_fails) : 0};
    must(f->payload.n > sizeof(struct vm_mount_head));
    memcpy(&said.number, f->payload.at, sizeof said.number);
    for (int i = 0; i < 1 + doubles.mounts_twice; i++)
        frame_put(&d->out, 0, VM_MOUNTED, (struct str){(const char *)&said, sizeof said});
}

static inline void hear(struct machine *d, const struct frame *f)
{
    struct job *j = f->id ? job_of(d, f->id) : NULL;
    if (f->verb == VM_RESUME || f->verb == VM_CLOSE) {
        if (doubles.garbage_first)
            frame_put(&d->out, 7, VM_OUT, STR("?"));
        if (!doubles.never_ready)
            frame_put(&d->out, 0, VM_READY, STR(""));
    } else if (f->verb == VM_MOUNT || f->verb == VM_UNMOUNT) {
        say_mounted(d, f);
    } else if (f->verb == VM_PING) {
        frame_put(&d->out, 0, VM_PONG, f->payload);
    } else if (f->verb == VM_TEXT) {
        buf_str(&(j ? j : job_new(d, f->id))->text, f->payload);
    } else if (f->verb == VM_EXEC) {
        j = j ? j : job_new(d, f->id);
        must(f->payload.n >= sizeof j->head);
        memcpy(&j->head, f->payload.at, sizeof j->head);
        must(f->payload.n == sizeof j->head + j->head.cwd_length + j->head.env_length);
        j->reads = j->head.flags & VM_EXEC_INPUT;
        do_job(d, j);
    } else if (j) {
        hear_of_job(d, j, f);
    }
}

/* Sends output in pieces of any size. */
static inline void speak(struct machine *d)
{
    struct str out = buf_view(&d->out);
    size_t step = 1;
    while (out.n > 0 && !d->mute) {
        size_t n = step < out.n ? step : out.n;
        d->events.output(d->events.arg, (struct str){out.at, n});
        out.at += n;
        out.n -= n;
        step = step * 3 + 1;
    }
    buf_clear(&d->out);
}

static inline bool has_panicked(struct machine *d)
{
    for (struct job *j = d->jobs; j; j = j->next)
        if (str_is(buf_view(&j->text), "panic"))
            return true;
    return false;
}

static inline bool next_bytes(struct machine *d, struct buf *into)
{
    pthread_mutex_lock(&d->lock);
    while (d->in.n == 0 && !d->stopped)
        pthread_cond_wait(&d->changed, &d->lock);
    struct buf empty = *into;
    *into = d->in;
    d->in = empty;
    bool goes_on = !d->stopped;
    pthread_mutex_unlock(&d->lock);
    return goes_on;
}

static inline void *live(void *arg)
{
    struct machine *d = arg;
    struct buf bytes;
    struct frame f;
    struct err e = {0}, spent = {0};
    buf_init(&bytes, (size_t)64 << 20);
    while (!has_panicked(d) && next_bytes(d, &bytes)) {
        struct str rest = buf_view(&bytes);
        while (frames_next(&d->frames, &rest, &f, &e) == FRAMES_ONE)
            hear(d, &f);
        buf_clear(&bytes);
        speak(d);
        if (!d->events.computed(d->events.arg, d->cpu_ns, &spent))
            break;
    }
    pthread_mutex_lock(&d->lock);
    struct err why = spent.code ? spent : d->why;
    pthread_mutex_unlock(&d->lock);
    if (!why.code)
        (void)err_set(&why, ERR_GUEST, "Kernel panic: as was asked for");
    d->events.ended(d->events.arg, &why);
    while (d->jobs)
        job_free(d, d->jobs);
    buf_done(&bytes);
    return NULL;
}

/* ---- machine.h ------------------------------------------------------------------------ */

struct images *images_open(struct engine *g, const char *folder, const char *cache,
                           struct err *e)
{
    (void)g, (void)folder, (void)cache;
    if (!doubles.no_image)
        return mem_new(sizeof(struct images));
    err_set(e, ERR_NOT_FOUND, "no image of a machine is installed");
    return NULL;
}

void images_close(struct images *i)
{
    free(i);
}

struct machine *machine_open(struct images *i, const struct machine_options *o,
                             const struct machine_events *events, struct err *e)
{
    (void)i;
    if (doubles.no_machine) {
        err_set(e, ERR_BUSY, "no memory for a machine");
        return NULL;
    }
    struct machine *d = mem_new(sizeof *d);
    d->o = *o;
    d->events = *events;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    frames_init(&d->frames);
    buf_init(&d->in, (size_t)64 << 20);
    buf_init(&d->out, (size_t)64 << 20);
    must(pthread_create(&d->thread, NULL, live, d) == 0);
    atomic_fetch_add(&doubles.opened, 1);
    return d;
}

void machine_send(struct machine *d, struct str bytes)
{
    pthread_mutex_lock(&d->lock);
    buf_str(&d->in, bytes);
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void machine_stop(struct machine *d, const struct err *why)
{
    pthread_mutex_lock(&d->lock);
    if (!d->stopped)
        d->why = *why;
    d->stopped = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

void machine_close(struct machine *d)
{
    struct err why = {0};
    if (!d)
        return;
    (void)err_set(&why, ERR_CANCELLED, "closed");
    machine_stop(d, &why);
    must(pthread_join(d->thread, NULL) == 0);
    frames_done(&d->frames);
    buf_done(&d->in);
    buf_done(&d->out);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
    atomic_fetch_add(&doubles.closed, 1);
}

struct machine_usage machine_usage(struct machine *d)
{
    return (struct machine_usage){
        .cpu_ns = d->cpu_ns, .memory_bytes = 6, .disk_bytes = 7};
}

/* They have no network, and let every port be exposed. */
bool machine_expose(struct machine *d, struct vm_port *p, struct err *e)
{
    (void)d, (void)e;
    p->host_port = 1;
    return true;
}

bool machine_unexpose(struct machine *d, uint16_t port)
{
    (void)d;
    return port == 80;
}

size_t machine_ports(struct machine *d, struct vm_port out[static VM_PORTS_MAX])
{
    (void)d, (void)out;
    return 0;
}
