/* One command: its frames, and the wait for its end on the caller's thread, which hands on
 * what is printed and gives the machine leave to print more.
 *
 * Whatever the machine does, the wait ends: init ends a command that is out of time; one
 * that is cancelled is sent signals from here; and a machine that lets those pass, or that
 * answers nothing at all, is dropped. */
#include "vm/internal.h"

#include <signal.h>

#include "os/os.h"

#define CWD_MAX ((size_t)4096)
#define CREDIT_STEP (VM_WINDOW / 4) /* leave is given in steps, not for each line */

struct call {
    struct vm *vm;
    const struct vm_exec *of;
    struct vm_result *result;
    struct exec exec;
    struct session *session; /* NULL: apart */
    struct str input;        /* what is left of it */
    struct keep kept[2];
    uint64_t until_ns; /* the end of its time */
    uint64_t cpu_ns;   /* of the machine when it began */
    uint32_t owed;     /* bytes handed on, for which no leave was given yet */
    bool begun, killed;
    struct batch taken; /* handed on, without the lock */
};

/* ---- what may be asked for ------------------------------------------------- */

static bool check_variable(const char *v, struct err *e)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t n =
        strspn(v, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_");
    if (v[0] && strchr(first, v[0]) && v[n] == '=')
        return true;
    return err_set(e, ERR_INVALID,
                   "\"%.*s\" is no variable: NAME=value, the name of letters, digits and "
                   "'_'; nothing was run",
                   STR_ARGS(str_cut(str_of(v), 60)));
}

static bool check_env(const struct vm_exec *of, struct err *e)
{
    size_t all = of->cwd ? strlen(of->cwd) : 0;
    for (size_t i = 0; i < of->env_count; i++) {
        if (!check_variable(of->env[i], e))
            return false;
        all += strlen(of->env[i]) + 1;
    }
    return all <= VM_ENV_BYTES ||
           err_set(
               e, ERR_LIMIT,
               "variables and working directory have %zu bytes, of at most %zu; nothing "
               "was run",
               all, VM_ENV_BYTES);
}

static bool check(const struct vm_exec *of, struct err *e)
{
    if (of->command.n > VM_COMMAND_MAX)
        return err_set(e, ERR_LIMIT,
                       "the command has %zu bytes, of at most %u: put it into a file, or "
                       "hand it over as standard input; nothing was run",
                       of->command.n, VM_COMMAND_MAX);
    if (of->command.n > 0 && memchr(of->command.at, 0, of->command.n))
        return err_set(e, ERR_INVALID,
                       "the command has a NUL byte, which no shell can read; nothing was "
                       "run");
    if (of->cwd && (!of->cwd[0] || strlen(of->cwd) > CWD_MAX))
        return err_set(
            e, ERR_INVALID,
            "the working directory is empty or has more than %zu bytes; nothing "
            "was run",
            CWD_MAX);
    if (of->input.at && of->keyboard)
        return err_set(e, ERR_INVALID,
                       "standard input comes as bytes or from a keyboard, not both");
    return check_env(of, e);
}

/* ---- its beginning ------------------------------------------------------------ */

static bool is_apart(const struct vm_exec *of)
{
    return of->apart || of->pty;
}

static uint32_t timeout_ms(const struct call *c)
{
    if (c->until_ns == UINT64_MAX)
        return 0;
    uint64_t now = os_mono_ns();
    return c->until_ns > now ? (uint32_t)((c->until_ns - now) / 1000000 + 1) : 1;
}

static struct vm_exec_head head_of(const struct call *c, size_t env_bytes)
{
    const struct vm_exec *of = c->of;
    bool input = c->exec.takes_input;
    return (struct vm_exec_head){
        .session = c->session ? c->session->number : 0,
        .flags = (of->pty ? VM_EXEC_PTY : 0u) | (input ? VM_EXEC_INPUT : 0u) |
                 (is_apart(of) ? VM_EXEC_APART : 0u),
        .timeout_ms = timeout_ms(c),
        .rows = of->rows ? of->rows : 24,
        .columns = of->columns ? of->columns : 80,
        .cwd_length = (uint32_t)(of->cwd ? strlen(of->cwd) : 0),
        .env_length = (uint32_t)env_bytes,
    };
}

static void put_exec(struct call *c, struct buf *out)
{
    scoped_buf struct buf env, all;
    buf_init(&env, VM_ENV_BYTES);
    for (size_t i = 0; i < c->of->env_count; i++)
        buf_put(&env, c->of->env[i], strlen(c->of->env[i]) + 1);
    struct vm_exec_head head = head_of(c, env.n);
    buf_init(&all, VM_FRAME_MAX);
    buf_put(&all, &head, sizeof head);
    buf_cstr(&all, c->of->cwd ? c->of->cwd : "");
    buf_str(&all, buf_view(&env));
    out->failed |= env.failed || all.failed;
    frame_put(out, c->exec.id, VM_EXEC, buf_view(&all));
}

/* What the machine has to hear goes out in one piece: it is woken once. */
static bool begin(struct call *c, struct err *e)
{
    struct vm *m = c->vm;
    struct exec *x = &c->exec;
    if (cancel_fired(c->of->cancel))
        return err_set(e, ERR_CANCELLED, "cancelled before it began; nothing was run");
    if (m->exec_count >= VM_EXECS_MAX)
        return err_set(e, ERR_LIMIT,
                       "the machine runs %u commands, as many as it may at once; nothing "
                       "was run",
                       VM_EXECS_MAX);
    scoped_buf struct buf out;
    buf_init(&out, 2 * (size_t)VM_COMMAND_MAX);
    x->id = ++m->last_id;
    frame_put_all(&out, x->id, VM_TEXT, c->of->command);
    put_exec(c, &out);
    if (!buf_check(&out, "the command", e))
        return false;
    if (m->exec_count++ == 0) { /* an idle machine was rightly silent */
        m->heard_ns = os_mono_ns();
        m->asked_ns = 0;
    }
    x->next = m->execs;
    m->execs = x;
    x->beside = x->next != NULL;
    for (struct exec *other = x->next; other; other = other->next)
        other->beside = true;
    c->cpu_ns = port_cpu_ns(m);
    c->begun = true;
    port_send(m, &out);
    return true;
}

/* ---- while it runs ------------------------------------------------------------- */

static void hand_on(struct call *c)
{
    size_t at[2] = {0, 0};
    for (size_t i = 0; i < c->taken.count; i++) {
        enum vm_stream which = c->taken.runs[i].which;
        struct str part = {c->taken.bytes[which].at + at[which], c->taken.runs[i].n};
        at[which] += part.n;
        if (!c->of->unkept)
            keep_put(&c->kept[which], part);
        if (c->of->output)
            c->of->output(c->of->output_arg, which, part);
    }
    c->owed += (uint32_t)(at[0] + at[1]);
    buf_clear(&c->taken.bytes[0]);
    buf_clear(&c->taken.bytes[1]);
    c->taken.count = 0;
}

static void give_leave(struct call *c)
{
    if (c->owed < CREDIT_STEP || c->exec.ended)
        return;
    c->exec.uncredited -= c->owed;
    port_tell_u32(c->vm, c->exec.id, VM_CREDIT, c->owed);
    c->owed = 0;
}

static bool take_output(struct call *c)
{
    struct batch empty = c->taken;
    if (c->exec.printed.count == 0)
        return false;
    c->taken = c->exec.printed;
    c->exec.printed = empty;
    pthread_mutex_unlock(&c->vm->lock);
    hand_on(c);
    pthread_mutex_lock(&c->vm->lock);
    give_leave(c);
    return true;
}

static void send_input(struct call *c)
{
    if (!c->of->input.at || !c->exec.takes_input)
        return;
    size_t n = input_send(c->vm, &c->exec, c->input);
    c->input.at += n;
    c->input.n -= n;
    if (c->input.n == 0)
        input_end(c->vm, &c->exec);
}

static void drop_machine(struct call *c)
{
    struct err why = {0};
    (void)err_set(&why, ERR_GUEST,
                  "the machine did not end a command that was killed, and was stopped");
    port_end(c->vm, false, &why);
}

/* Sees to it that it ends; answers when to look again. */
static uint64_t press(struct call *c)
{
    uint64_t now = os_mono_ns(), look = port_check(c->vm), end_ns = c->until_ns;
    const struct patience *p = c->vm->patience;
    const struct exec *x = &c->exec;
    if (x->cancelled) {
        uint64_t kill_ns = x->cancelled_ns + p->kill_ns;
        end_ns = x->cancelled_ns < end_ns ? x->cancelled_ns : end_ns;
        if (!c->killed && now >= kill_ns) {
            c->killed = true;
            port_tell_u32(c->vm, x->id, VM_SIGNAL, SIGKILL);
        }
        look = !c->killed && kill_ns < look ? kill_ns : look;
    }
    if (end_ns == UINT64_MAX)
        return look;
    end_ns += p->kill_ns + p->grace_ns;
    if (now >= end_ns)
        drop_machine(c);
    return look < end_ns ? look : end_ns;
}

static void wait_for_end(struct call *c)
{
    while (take_output(c) || (!c->exec.ended && !c->vm->over)) {
        if (c->exec.ended || c->vm->over)
            continue; /* what it printed last is still to be taken */
        send_input(c);
        uint64_t look = press(c);
        if (c->exec.printed.count == 0 && !c->vm->over)
            (void)cond_wait_until(&c->exec.changed, &c->vm->lock, look);
    }
}

/* On any thread, without the lock. */
static void cancelled(void *arg)
{
    struct call *c = arg;
    pthread_mutex_lock(&c->vm->lock);
    session_wake(c->vm);
    if (c->begun && !c->exec.ended) {
        c->exec.cancelled = true;
        c->exec.cancelled_ns = os_mono_ns();
        port_tell_u32(c->vm, c->exec.id, VM_SIGNAL, SIGTERM);
        pthread_cond_broadcast(&c->exec.changed);
    }
    pthread_mutex_unlock(&c->vm->lock);
}

/* ---- its end ---------------------------------------------------------------------- */

static void end(struct call *c)
{
    struct vm *m = c->vm;
    struct exec **at = &m->execs;
    while (*at != &c->exec)
        at = &(*at)->next;
    *at = c->exec.next;
    m->exec_count--;
    m->used_ns = os_mono_ns();
    c->begun = false;
}

/* It could not so much as begin, though nothing else was under way: root inside has taken
 * from init what it needs for that, and the next command would fare no better. Init says
 * so with these words, of which guest/vm/init/exec.c has the rest. */
static bool is_spent(const struct vm *m, const struct exec *x)
{
    return m->exec_count == 0 && (str_starts(str_of(x->refusal), "the machine has no ") ||
                                  str_starts(str_of(x->refusal), "the session's shell"));
}

/* A directory that is not there is the caller's; else the machine has no room just now. */
static bool tell_refusal(struct vm *m, const struct exec *x, struct err *e)
{
    if (is_spent(m, x)) {
        struct err why = {0};
        (void)err_set(&why, ERR_GUEST,
                      "the machine could begin no command any more (%s), and was stopped",
                      x->refusal);
        port_end(m, false, &why);
        return port_over(m, false, e);
    }
    enum err_code code = x->cancelled                             ? ERR_CANCELLED
                         : str_starts(str_of(x->refusal), "cwd ") ? ERR_INVALID
                                                                  : ERR_BUSY;
    return err_set(e, code, "%s; nothing was run", x->refusal);
}

static uint64_t cpu_of(struct call *c)
{
    uint64_t now = port_cpu_ns(c->vm), all = now > c->cpu_ns ? now - c->cpu_ns : 0;
    bool shared = c->exec.beside && c->exec.exit.cpu_ns < all;
    return shared ? c->exec.exit.cpu_ns : all;
}

static bool tell_result(struct call *c, struct err *e)
{
    const struct vm_exit *exit = &c->exec.exit;
    struct vm_result *r = c->result;
    r->cpu_ns = cpu_of(c);
    if (!c->exec.ended)
        return port_over(c->vm, true, e);
    if (c->exec.refused)
        return tell_refusal(c->vm, &c->exec, e);
    bool by_signal = exit->flags & VM_EXIT_SIGNAL;
    r->exit_code = (int)exit->status + (by_signal ? 128 : 0);
    r->timed_out = exit->flags & VM_EXIT_TIMEOUT;
    r->cancelled = c->exec.cancelled && !r->timed_out;
    r->shell_ended = exit->flags & VM_EXIT_SHELL;
    r->held = exit->flags & VM_EXIT_HELD;
    r->out_of_memory = exit->flags & VM_EXIT_OOM;
    r->wall_ns = exit->wall_ns;
    return true;
}

static void tell_fresh(struct call *c)
{
    struct vm *m = c->vm;
    c->result->fresh = m->before[0] && !m->told_fresh;
    if (c->result->fresh)
        memcpy(c->result->before, m->before, sizeof m->before);
    m->told_fresh = true;
}

/* With the lock, which is let go while output is handed on. */
static bool run(struct call *c, struct err *e)
{
    struct vm *m = c->vm;
    if (!port_over(m, false, e))
        return false;
    if (!is_apart(c->of)) {
        c->session = session_enter(m, c->of->session, c->until_ns, c->of->cancel, e);
        if (!c->session)
            return false;
    }
    bool ran = begin(c, e);
    if (ran) {
        tell_fresh(c);
        pthread_mutex_unlock(&m->lock);
        keyboard_attach(c->of->keyboard, m, &c->exec);
        pthread_mutex_lock(&m->lock);
        wait_for_end(c);
        end(c);
        ran = tell_result(c, e);
    }
    if (c->session)
        session_leave(c->session);
    return ran;
}

static void call_init(struct call *c)
{
    const struct vm_exec *of = c->of;
    uint64_t kept = of->output_bytes ? of->output_bytes : VM_OUTPUT_DEFAULT;
    for (int i = 0; i < 2; i++)
        keep_init(&c->kept[i], kept < VM_OUTPUT_MAX ? kept : VM_OUTPUT_MAX);
    batch_init(&c->taken);
    batch_init(&c->exec.printed);
    cond_init(&c->exec.changed);
    c->input = of->input;
    c->exec.takes_input = of->input.at || of->keyboard;
    uint64_t time = of->timeout_ns ? of->timeout_ns : VM_TIMEOUT_DEFAULT_NS;
    if (time != UINT64_MAX && time > VM_TIMEOUT_MAX_NS)
        time = VM_TIMEOUT_MAX_NS;
    c->until_ns = time == UINT64_MAX ? UINT64_MAX : os_mono_ns() + time;
}

static void call_done(struct call *c)
{
    c->result->stdout_lost = keep_end(&c->kept[VM_STREAM_OUT], &c->result->stdout_bytes);
    c->result->stderr_lost = keep_end(&c->kept[VM_STREAM_ERR], &c->result->stderr_bytes);
    keep_done(&c->kept[0]);
    keep_done(&c->kept[1]);
    batch_done(&c->taken);
    batch_done(&c->exec.printed);
    pthread_cond_destroy(&c->exec.changed);
}

bool vm_exec(struct vm *m, const struct vm_exec *of, struct vm_result *r, struct err *e)
{
    *r = (struct vm_result){0};
    if (!check(of, e)) {
        keyboard_detach(of->keyboard);
        return false;
    }
    struct call c = {.vm = m, .of = of, .result = r};
    call_init(&c);
    bool ran = false;
    struct cancel_stop stop;
    if (!cancel_on(of->cancel, &stop, cancelled, &c)) {
        (void)err_set(e, ERR_CANCELLED, "cancelled before it began; nothing was run");
    } else {
        pthread_mutex_lock(&m->lock);
        ran = run(&c, e);
        pthread_mutex_unlock(&m->lock);
    }
    cancel_off(of->cancel, &stop);
    keyboard_detach(of->keyboard);
    call_done(&c);
    return ran;
}

void vm_result_done(struct vm_result *r)
{
    buf_done(&r->stdout_bytes);
    buf_done(&r->stderr_bytes);
}
