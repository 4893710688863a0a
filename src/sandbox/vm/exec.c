/* A command: its frames, its turn in a session, and its end. Whoever waits for it looks
 * at it when it is woken, which hands on what was printed, and gives the machine leave to
 * print more. A thread of its own is not needed for that; vm_exec() has one.
 *
 * Whatever the machine does, the wait ends: init ends a command that is out of time; one
 * that is cancelled is sent signals from here; and a machine that lets those pass, or that
 * answers nothing at all, is dropped. */
#include <signal.h>

#include "os/os.h"
#include "vm/table.h"

#define CREDIT_STEP (VM_WINDOW / 4) /* leave is given in steps, not for each line */

enum stage {
    STAGE_TURN, /* waits for it */
    STAGE_RUNS,
    STAGE_OVER, /* `ran` and `why` tell how */
};

struct vm_command {
    struct vm_command *next; /* of those that nobody waits for any more */
    struct vm *vm;
    struct vm_exec of; /* its texts are borrowed */
    struct cancel_stop stop;
    enum stage stage;
    struct vm_result result;
    struct err why;
    bool ran;
    struct exec exec;
    struct session *session; /* NULL: apart */
    struct turn turn;
    struct str input; /* what is left of it */
    struct keep kept[2];
    uint64_t until_ns; /* the end of its time */
    uint64_t cpu_ns;   /* of the machine when it began */
    uint32_t owed;     /* bytes handed on, for which no leave was given yet */
    bool begun, killed;
    struct batch taken; /* handed on, without the lock */
};

/* ---- its beginning ------------------------------------------------------------ */

static bool is_apart(const struct vm_exec *of)
{
    return of->apart || of->pty;
}

static uint32_t timeout_ms(const struct vm_command *c)
{
    if (c->until_ns == UINT64_MAX)
        return 0;
    uint64_t now = os_mono_ns();
    return c->until_ns > now ? (uint32_t)((c->until_ns - now) / 1000000 + 1) : 1;
}

static struct vm_exec_head head_of(const struct vm_command *c, size_t env_bytes)
{
    const struct vm_exec *of = &c->of;
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

static void put_exec(struct vm_command *c, struct buf *out)
{
    scoped_buf struct buf env, all;
    buf_init(&env, VM_ENV_BYTES);
    for (size_t i = 0; i < c->of.env_count; i++)
        buf_put(&env, c->of.env[i], strlen(c->of.env[i]) + 1);
    struct vm_exec_head head = head_of(c, env.n);
    buf_init(&all, VM_FRAME_MAX);
    buf_put(&all, &head, sizeof head);
    buf_cstr(&all, c->of.cwd ? c->of.cwd : "");
    buf_str(&all, buf_view(&env));
    out->failed |= env.failed || all.failed;
    frame_put(out, c->exec.id, VM_EXEC, buf_view(&all));
}

/* All frames for the machine go out in one piece: it is woken once. */
static bool command_begin(struct vm_command *c, struct err *e)
{
    struct vm *m = c->vm;
    struct exec *x = &c->exec;
    if (cancel_fired(c->of.cancel))
        return err_set(e, ERR_CANCELLED,
                       "cancelled before the command started; nothing was run");
    if (m->exec_count >= VM_EXECS_MAX)
        return err_set(e, ERR_LIMIT,
                       "the machine runs %u commands, as many as it may at once; nothing "
                       "was run",
                       VM_EXECS_MAX);
    scoped_buf struct buf out;
    buf_init(&out, 2 * (size_t)VM_COMMAND_MAX);
    x->id = ++m->last_id;
    frame_put_all(&out, x->id, VM_TEXT, c->of.command);
    put_exec(c, &out);
    if (!buf_check(&out, "the command", e))
        return false;
    if (m->exec_count++ == 0) { /* an idle machine was rightly silent */
        m->last_frame_ns = os_mono_ns();
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

static void hand_on(struct vm_command *c)
{
    size_t at[2] = {0, 0};
    for (size_t i = 0; i < c->taken.count; i++) {
        enum vm_stream which = c->taken.runs[i].which;
        struct str part = {c->taken.bytes[which].at + at[which], c->taken.runs[i].n};
        at[which] += part.n;
        if (!c->of.unkept)
            keep_put(&c->kept[which], part);
        if (c->of.output)
            c->of.output(c->of.output_arg, which, part);
    }
    c->owed += (uint32_t)(at[0] + at[1]);
    buf_clear(&c->taken.bytes[0]);
    buf_clear(&c->taken.bytes[1]);
    c->taken.count = 0;
}

static void give_leave(struct vm_command *c)
{
    if (c->owed < CREDIT_STEP || c->exec.ended)
        return;
    c->exec.uncredited -= c->owed;
    port_send_u32(c->vm, c->exec.id, VM_CREDIT, c->owed);
    c->owed = 0;
}

static bool take_output(struct vm_command *c)
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

static void send_input(struct vm_command *c)
{
    if (!c->of.input.at || !c->exec.takes_input)
        return;
    size_t n = input_send(c->vm, &c->exec, c->input);
    c->input.at += n;
    c->input.n -= n;
    if (c->input.n == 0)
        input_end(c->vm, &c->exec);
}

static void drop_machine(struct vm_command *c)
{
    struct err why = {0};
    (void)err_set(&why, ERR_GUEST,
                  "the machine did not end a command that was killed, and was stopped");
    port_end(c->vm, false, &why);
}

/* Sees to it that it ends; answers when to look again. */
static uint64_t press(struct vm_command *c)
{
    uint64_t now = os_mono_ns(), look = port_check(c->vm), end_ns = c->until_ns;
    const struct vm_timeouts *p = c->vm->timeouts;
    const struct exec *x = &c->exec;
    if (x->cancelled) {
        uint64_t kill_ns = x->cancelled_ns + p->kill_ns;
        end_ns = x->cancelled_ns < end_ns ? x->cancelled_ns : end_ns;
        if (!c->killed && now >= kill_ns) {
            c->killed = true;
            port_send_u32(c->vm, x->id, VM_SIGNAL, SIGKILL);
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

/* A terminal hangs up first, as one that is closed does: a shell at a prompt ignores SIGTERM,
 * and would go on with the rest of a line whose first command that ends. */
static void call_off(struct vm_command *c)
{
    if (c->of.pty)
        port_send_u32(c->vm, c->exec.id, VM_SIGNAL, SIGHUP);
    port_send_u32(c->vm, c->exec.id, VM_SIGNAL, SIGTERM);
}

/* On any thread, without the lock. */
static void cancelled(void *arg)
{
    struct vm_command *c = arg;
    pthread_mutex_lock(&c->vm->lock);
    if (c->begun && !c->exec.ended) {
        c->exec.cancelled = true;
        c->exec.cancelled_ns = os_mono_ns();
        call_off(c);
    }
    exec_wake(&c->exec);
    pthread_mutex_unlock(&c->vm->lock);
}

/* ---- its end ---------------------------------------------------------------------- */

static void end(struct vm_command *c)
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
static bool vm_is_spent(const struct vm *m, const struct exec *x)
{
    return m->exec_count == 0 && (str_starts(str_of(x->refusal), "the machine has no ") ||
                                  str_starts(str_of(x->refusal), "the session's shell"));
}

/* A directory that is not there is the caller's; else the machine has no room just now. */
static bool set_refusal(struct vm *m, const struct exec *x, struct err *e)
{
    if (vm_is_spent(m, x)) {
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

static uint64_t cpu_of(struct vm_command *c)
{
    uint64_t now = port_cpu_ns(c->vm), all = now > c->cpu_ns ? now - c->cpu_ns : 0;
    bool shared = c->exec.beside && c->exec.exit.cpu_ns < all;
    return shared ? c->exec.exit.cpu_ns : all;
}

static bool put_result(struct vm_command *c, struct err *e)
{
    const struct vm_exit *exit = &c->exec.exit;
    struct vm_result *r = &c->result;
    r->cpu_ns = cpu_of(c);
    if (!c->exec.ended)
        return port_over(c->vm, true, e);
    if (c->exec.refused)
        return set_refusal(c->vm, &c->exec, e);
    bool by_signal = exit->flags & VM_EXIT_SIGNAL;
    r->exit_code = (int)exit->status + (by_signal ? 128 : 0);
    r->timed_out = exit->flags & VM_EXIT_TIMEOUT;
    r->cancelled = c->exec.cancelled && !r->timed_out;
    r->shell_ended = exit->flags & VM_EXIT_SHELL;
    r->held = exit->flags & VM_EXIT_HELD;
    r->out_of_memory = exit->flags & VM_EXIT_OOM;
    /* The machine's own work for it, reading the command and telling its end, is computing
     * as well, but not in the time that the machine says. */
    r->wall_ns = exit->wall_ns > r->cpu_ns ? exit->wall_ns : r->cpu_ns;
    return true;
}

static void set_fresh(struct vm_command *c)
{
    struct vm *m = c->vm;
    c->result.fresh = m->before[0] && !m->reported_fresh;
    if (c->result.fresh)
        memcpy(c->result.before, m->before, sizeof m->before);
    m->reported_fresh = true;
}

/* ---- its stages. With the lock, which is let go while output is handed on -------- */

static void command_finish(struct vm_command *c, bool ran)
{
    if (c->session)
        session_leave(c->session);
    c->stage = STAGE_OVER;
    c->ran = ran;
}

static void command_start(struct vm_command *c)
{
    struct vm *m = c->vm;
    if (!command_begin(c, &c->why)) {
        command_finish(c, false);
        return;
    }
    c->stage = STAGE_RUNS;
    set_fresh(c);
    if (c->of.keyboard) {
        pthread_mutex_unlock(&m->lock);
        keyboard_attach(c->of.keyboard, m, &c->exec);
        pthread_mutex_lock(&m->lock);
    }
}

/* It is over without its turn. Answers false. */
static bool miss_turn(struct vm_command *c)
{
    session_unjoin(c->session, &c->turn, false);
    c->session = NULL;
    command_finish(c, false);
    return false;
}

/* false: it has to wait, or is over. */
static bool take_turn(struct vm_command *c)
{
    if (!port_over(c->vm, false, &c->why))
        return miss_turn(c);
    if (session_has_turn(c->session, &c->turn)) {
        session_unjoin(c->session, &c->turn, true);
        return true;
    }
    if (cancel_fired(c->of.cancel)) {
        (void)err_set(&c->why, ERR_CANCELLED,
                      "cancelled before its turn; nothing was run");
        return miss_turn(c);
    }
    if (os_mono_ns() < c->until_ns)
        return false;
    (void)err_set(&c->why, ERR_BUSY,
                  "session \"%s\" still runs another command; nothing was run: "
                  "try again, or use another session",
                  c->session->name);
    return miss_turn(c);
}

static uint64_t look_at_turn(struct vm_command *c)
{
    if (!take_turn(c))
        return c->stage == STAGE_OVER ? 0 : c->until_ns;
    command_start(c);
    return 0;
}

static uint64_t look_at_end(struct vm_command *c)
{
    if (take_output(c))
        return 0;
    if (c->exec.ended || c->vm->over) {
        end(c);
        command_finish(c, put_result(c, &c->why));
        return 0;
    }
    send_input(c);
    uint64_t look = press(c);
    return c->exec.printed.count || c->exec.ended || c->vm->over ? 0 : look;
}

/* As far as it comes now; true: it is over. Else *look is when to look again, should
 * nothing wake before. */
static bool command_go_on(struct vm_command *c, uint64_t *look)
{
    *look = 0;
    while (c->stage != STAGE_OVER && *look == 0)
        *look = c->stage == STAGE_TURN ? look_at_turn(c) : look_at_end(c);
    return c->stage == STAGE_OVER;
}

static void command_enter(struct vm_command *c)
{
    struct vm *m = c->vm;
    if (!port_over(m, false, &c->why)) {
        command_finish(c, false);
    } else if (is_apart(&c->of)) {
        command_start(c);
    } else {
        c->turn.of = &c->exec;
        c->session = session_join(m, c->of.session, &c->turn, &c->why);
        if (!c->session)
            command_finish(c, false);
    }
}

static void command_init(struct vm_command *c)
{
    const struct vm_exec *of = &c->of;
    uint64_t kept = of->output_bytes ? of->output_bytes : VM_OUTPUT_DEFAULT;
    for (int i = 0; i < 2; i++)
        keep_init(&c->kept[i], kept < VM_OUTPUT_MAX ? kept : VM_OUTPUT_MAX);
    batch_init(&c->taken);
    batch_init(&c->exec.printed);
    pthread_cond_init(&c->exec.changed, NULL);
    c->input = of->input;
    c->exec.takes_input = of->input.at || of->keyboard;
    uint64_t time = of->timeout_ns ? of->timeout_ns : VM_TIMEOUT_DEFAULT_NS;
    if (time != UINT64_MAX && time > VM_TIMEOUT_MAX_NS)
        time = VM_TIMEOUT_MAX_NS;
    c->until_ns = time == UINT64_MAX ? UINT64_MAX : os_mono_ns() + time;
}

static void command_free(struct vm_command *c)
{
    keep_done(&c->kept[0]);
    keep_done(&c->kept[1]);
    batch_done(&c->taken);
    batch_done(&c->exec.printed);
    pthread_cond_destroy(&c->exec.changed);
    free(c);
}

struct vm_command *vm_exec_begin(struct vm *m, const struct vm_exec *of,
                                 void (*wake)(void *arg), void *arg, struct err *e)
{
    if (!request_check(of, e)) {
        keyboard_detach(of->keyboard);
        return NULL;
    }
    struct vm_command *c = mem_new(sizeof *c);
    *c = (struct vm_command){.vm = m, .of = *of};
    command_init(c);
    c->exec.wake = wake;
    c->exec.wake_arg = arg;
    if (!cancel_on(of->cancel, &c->stop, cancelled, c)) {
        (void)err_set(&c->why, ERR_CANCELLED,
                      "cancelled before the command started; nothing was run");
        c->stage = STAGE_OVER;
        return c;
    }
    pthread_mutex_lock(&m->lock);
    command_enter(c);
    pthread_mutex_unlock(&m->lock);
    return c;
}

bool vm_exec_look(struct vm_command *c, uint64_t *look_ns)
{
    pthread_mutex_lock(&c->vm->lock);
    bool over = command_go_on(c, look_ns);
    pthread_mutex_unlock(&c->vm->lock);
    return over;
}

static void take_result(struct vm_command *c, struct vm_result *r)
{
    struct vm_result *own = &c->result;
    own->stdout_lost =
        keep_end(&c->kept[VM_STREAM_OUT], &own->stdout_bytes, &own->stdout_gap);
    own->stderr_lost =
        keep_end(&c->kept[VM_STREAM_ERR], &own->stderr_bytes, &own->stderr_gap);
    *r = c->result;
    c->result = (struct vm_result){0};
}

/* It is called off: the keeper sees to it that it ends. */
static void abandon(struct vm_command *c)
{
    struct vms *s = c->vm->in;
    c->of = (struct vm_exec){.unkept = true};
    pthread_mutex_lock(&s->lock);
    c->vm->holds++;
    c->next = s->left;
    s->left = c;
    s->noticed = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

bool vm_exec_end(struct vm_command *c, struct vm_result *r, struct err *e)
{
    cancel_off(c->of.cancel, &c->stop);
    keyboard_detach(c->of.keyboard);
    pthread_mutex_lock(&c->vm->lock);
    c->exec.wake = NULL;
    bool runs = c->stage == STAGE_RUNS, ran = c->ran || runs;
    if (c->stage == STAGE_TURN) {
        (void)err_set(&c->why, ERR_CANCELLED,
                      "cancelled before its turn; nothing was run");
        (void)miss_turn(c);
    }
    if (runs) {
        if (!c->exec.cancelled && !c->exec.ended)
            call_off(c);
        c->exec.cancelled_ns = c->exec.cancelled ? c->exec.cancelled_ns : os_mono_ns();
        c->exec.cancelled = c->result.cancelled = true;
        c->result.exit_code = 128 + SIGTERM;
        c->result.cpu_ns = cpu_of(c);
    }
    pthread_mutex_unlock(&c->vm->lock);
    *e = ran ? *e : c->why;
    take_result(c, r);
    if (runs)
        abandon(c);
    else
        command_free(c);
    return ran;
}

bool vm_exec(struct vm *m, const struct vm_exec *of, struct vm_result *r, struct err *e)
{
    uint64_t look;
    *r = (struct vm_result){0};
    struct vm_command *c = vm_exec_begin(m, of, NULL, NULL, e);
    if (!c)
        return false;
    pthread_mutex_lock(&m->lock);
    while (!command_go_on(c, &look))
        (void)os_cond_wait(&c->exec.changed, &m->lock, look);
    pthread_mutex_unlock(&m->lock);
    return vm_exec_end(c, r, e);
}

void vm_result_done(struct vm_result *r)
{
    buf_done(&r->stdout_bytes);
    buf_done(&r->stderr_bytes);
}

/* ---- abandoned commands ------------------------------------------------------------- */

#define LOOK_NS (SECOND_NS / 50)

static struct vm_command *take_ended(struct vms *s)
{
    uint64_t look;
    for (struct vm_command **at = &s->left, *c; (c = *at); at = &c->next)
        if (vm_exec_look(c, &look)) {
            *at = c->next;
            return c;
        }
    return NULL;
}

uint64_t exec_look_left(struct vms *s)
{
    for (struct vm_command *c; (c = take_ended(s));) {
        struct vm *m = c->vm;
        command_free(c);
        m->holds--;
        table_trim(s, m);
    }
    return s->left ? os_mono_ns() + LOOK_NS : UINT64_MAX;
}
