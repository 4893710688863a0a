/* The control port between a machine and its host: frames arrive on the machine's thread,
 * are checked, and wake the commands they are for. */
#include "vm/internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "os/os.h"

/* ---- sending --------------------------------------------------------------- */

void port_send(struct vm *m, const struct buf *frames)
{
    if (m->machine && !m->over)
        machine_send(m->machine, buf_view(frames));
}

void port_send_frame(struct vm *m, uint32_t id, uint16_t verb, struct str payload)
{
    scoped_buf struct buf frame;
    buf_init(&frame, FRAME_HEAD + VM_FRAME_MAX);
    frame_put(&frame, id, verb, payload);
    port_send(m, &frame);
}

void port_send_u32(struct vm *m, uint32_t id, uint16_t verb, uint32_t number)
{
    port_send_frame(m, id, verb, (struct str){(const char *)&number, sizeof number});
}

void exec_wake(struct exec *x)
{
    pthread_cond_broadcast(&x->changed);
    if (x->wake)
        x->wake(x->wake_arg);
}

/* ---- its end ------------------------------------------------------------------ */

static void wake_all(struct vm *m)
{
    for (struct exec *x = m->execs; x; x = x->next)
        exec_wake(x);
    session_wake(m);
    pthread_cond_broadcast(&m->ready);
}

void port_end(struct vm *m, bool stopped, const struct err *why)
{
    if (m->over)
        return;
    m->over = true;
    m->stopped = stopped;
    m->why = *why;
    if (m->machine)
        machine_stop(m->machine, why);
    wake_all(m);
}

void port_ended(void *vm, const struct err *why)
{
    struct vm *m = vm;
    pthread_mutex_lock(&m->lock);
    port_end(m, false, why);
    pthread_mutex_unlock(&m->lock);
    vms_notice(m->in);
}

bool port_computed(void *vm, uint64_t cpu_ns, struct err *why)
{
    struct vm *m = vm;
    uint64_t now = os_mono_ns();
    account_add(m->account, cpu_ns - m->charged_ns, now);
    m->charged_ns = cpu_ns;
    const struct vm_budget *b = &m->made_of.budget;
    return account_check(m->account, b->cpu_ns, now, why) || budget_refuse(b, why);
}

uint64_t port_cpu_ns(struct vm *m)
{
    return m->machine ? machine_usage(m->machine).cpu_ns : m->usage.cpu_ns;
}

bool port_over(struct vm *m, bool ran, struct err *e)
{
    if (!m->over)
        return true;
    const char *next =
        m->is_default ? "the next command starts a fresh one" : "start another";
    return err_set(e, m->why.code, "%.220s; %sits files and variables are gone: %s",
                   m->why.msg, ran ? "the command ran in part, and " : "", next);
}

bool port_await_ready(struct vm *m, uint64_t until_ns, struct cancel *cancel,
                      struct err *e)
{
    while (m->unready > 0 && !m->over) {
        if (cancel_fired(cancel))
            return err_set(e, ERR_CANCELLED, "cancelled while the machine started");
        if (!os_cond_wait(&m->ready, &m->lock, until_ns) && os_mono_ns() >= until_ns)
            return err_set(e, ERR_TIMEOUT, "the machine did not become ready in time");
    }
    return port_over(m, false, e);
}

uint64_t port_check(struct vm *m)
{
    const struct vm_timeouts *p = m->timeouts;
    uint64_t now = os_mono_ns();
    if (m->asked_ns == 0) {
        if (now < m->last_frame_ns + p->silence_ns)
            return m->last_frame_ns + p->silence_ns;
        m->asked_ns = now;
        port_send_frame(m, 0, VM_PING, (struct str){(const char *)&now, sizeof now});
    }
    if (now >= m->asked_ns + p->answer_ns) {
        struct err why = {0};
        (void)err_set(&why, ERR_GUEST,
                      "the machine has not answered for %u seconds, and was stopped",
                      (unsigned)((p->silence_ns + p->answer_ns) / SECOND_NS));
        port_end(m, false, &why);
    }
    return m->asked_ns + p->answer_ns;
}

/* ---- receiving -------------------------------------------------------------------- */

void batch_init(struct batch *b)
{
    b->count = 0;
    buf_init(&b->bytes[0], VM_WINDOW);
    buf_init(&b->bytes[1], VM_WINDOW);
}

void batch_done(struct batch *b)
{
    buf_done(&b->bytes[0]);
    buf_done(&b->bytes[1]);
}

bool batch_put(struct batch *b, enum vm_stream which, struct str bytes, struct err *e)
{
    if (!buf_str(&b->bytes[which], bytes))
        return err_set(e, ERR_BUSY, "there is no memory for what the machine prints");
    size_t at = b->count;
    if (at > 0 && b->runs[at - 1].which == which)
        at--;
    else if (at == BATCH_RUNS)
        at -= 2; /* the last run of the same stream: the two alternate */
    else
        b->runs[b->count++] = (typeof(b->runs[0])){.which = which};
    b->runs[at].n += (uint32_t)bytes.n;
    return true;
}

static struct exec *exec_of(struct vm *m, uint32_t id)
{
    struct exec *x = m->execs;
    while (x && x->id != id)
        x = x->next;
    return x && !x->ended ? x : NULL;
}

static bool broke(struct err *e, const char *how, uint64_t number)
{
    return err_set(e, ERR_GUEST,
                   "the machine broke the rules of its control port (%s, %" PRIu64
                   "), and was stopped",
                   how, number);
}

static bool on_output(struct exec *x, const struct frame *f, struct err *e)
{
    if (f->payload.n > VM_WINDOW - x->uncredited)
        return broke(e, "more output than asked for", f->payload.n);
    x->uncredited += (uint32_t)f->payload.n;
    return batch_put(&x->printed, f->verb == VM_OUT ? VM_STREAM_OUT : VM_STREAM_ERR,
                     f->payload, e);
}

static bool on_input_taken(struct exec *x, const struct frame *f, struct err *e)
{
    uint32_t n = 0;
    if (f->payload.n != sizeof n)
        return broke(e, "a length", f->payload.n);
    memcpy(&n, f->payload.at, sizeof n);
    if (n > x->untaken)
        return broke(e, "more input taken than sent", n);
    x->untaken -= n;
    return true;
}

static bool on_exit_frame(struct exec *x, const struct frame *f, struct err *e)
{
    if (f->payload.n != sizeof x->exit)
        return broke(e, "a length", f->payload.n);
    memcpy(&x->exit, f->payload.at, sizeof x->exit);
    bool by_signal = x->exit.flags & VM_EXIT_SIGNAL;
    if (by_signal ? x->exit.status < 1 || x->exit.status > 64 : x->exit.status > 255)
        return broke(e, "an exit status", x->exit.status);
    x->ended = true;
    return true;
}

/* The text becomes part of a message: one line, printable. */
static void on_refusal(struct exec *x, struct str text)
{
    text = str_cut(text, sizeof x->refusal - 1);
    bool fine = str_is_utf8(text);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        x->refusal[i] = c < ' ' || c == 0x7f || (!fine && c > 0x7e) ? '?' : (char)c;
    }
    x->refusal[text.n] = '\0';
    x->ended = x->refused = true;
}

/* Of a command that ran when the machine was copied, and is being killed. */
static bool on_past(struct vm *m, const struct frame *f)
{
    if (f->verb == VM_OUT || f->verb == VM_ERR)
        port_send_u32(m, f->id, VM_CREDIT, (uint32_t)f->payload.n);
    return true;
}

static bool on_exec_frame(struct vm *m, const struct frame *f, struct err *e)
{
    struct exec *x = exec_of(m, f->id);
    if (!x && f->id <= m->past_id)
        return on_past(m, f);
    if (!x)
        return broke(e, "a command that does not run", f->id);
    exec_wake(x);
    switch (f->verb) {
    case VM_STARTED:
        return true;
    case VM_OUT:
    case VM_ERR:
        return on_output(x, f, e);
    case VM_INPUT_TAKEN:
        return on_input_taken(x, f, e);
    case VM_EXIT:
        return on_exit_frame(x, f, e);
    case VM_REFUSED:
        on_refusal(x, f->payload);
        return true;
    default:
        return broke(e, "a verb", f->verb);
    }
}

static bool heard(struct vm *m, const struct frame *f, struct err *e)
{
    if (f->id != 0)
        return on_exec_frame(m, f, e);
    if (f->verb == VM_PONG)
        return true;
    if (f->verb == VM_MOUNTED)
        return mounts_heard(m, f->payload) || broke(e, "an answer", f->payload.n);
    if (f->verb != VM_READY || m->unready == 0)
        return broke(e, "a verb", f->verb);
    m->unready--;
    pthread_cond_broadcast(&m->ready);
    return true;
}

void port_output(void *vm, struct str bytes)
{
    struct vm *m = vm;
    struct err e = {0};
    struct frame f;
    pthread_mutex_lock(&m->lock);
    m->last_frame_ns = os_mono_ns();
    m->asked_ns = 0;
    while (!m->over && !e.code && frames_next(&m->frames, &bytes, &f, &e) == FRAMES_ONE)
        (void)heard(m, &f, &e);
    if (e.code)
        port_end(m, false, &e);
    pthread_mutex_unlock(&m->lock);
}
