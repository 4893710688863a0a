/* vm/init/exec.c - commands: turns frames of the host into orders for shells, and their
 * replies into frames. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vm/init/exec.h"
#include "vm/init/log.h"
#include "vm/init/port.h"

#define MS ((uint64_t)1000000)
/* Background processes may keep the outputs open for so long; then the reply is sent
 * without them. */
#define GRACE (200 * MS)
#define UNTIL_KILLED (1000 * MS)
#define LOOK_AGAIN (20 * MS)
/* For a shell to return from a command whose other processes were killed: two thousand of
 * them take a while to end. */
#define UNTIL_GIVEN_UP (3000 * MS)

enum { EXECS = VM_EXECS_MAX };

static struct exec execs[EXECS];
static uint64_t turns;

/* ---- the table --------------------------------------------------------------------------- */

static struct exec *find(uint32_t id)
{
    for (int i = 0; i < EXECS; i++)
        if (execs[i].state != EXEC_FREE && execs[i].id == id)
            return &execs[i];
    return NULL;
}

/* The command whose text, or exec, has arrived. */
static struct exec *begin(uint32_t id)
{
    struct exec *x = find(id);
    if (id == 0 || (x != NULL && x->state != EXEC_TEXT))
        die("the host used id %u twice", id);
    for (int i = 0; i < EXECS && x == NULL; i++)
        if (execs[i].state == EXEC_FREE)
            x = &execs[i];
    if (x == NULL)
        die("the host began more than %u commands at once", VM_EXECS_MAX);
    if (x->state == EXEC_FREE)
        *x = (struct exec){
            .id = id,
            .state = EXEC_TEXT,
            .file = -1,
            .out.source.fd = -1,
            .err.source.fd = -1,
            .in.source.fd = -1,
        };
    return x;
}

static void forget(struct exec *x)
{
    streams_close(x);
    if (x->file >= 0)
        close(x->file);
    free(x->text);
    free(x->rest);
    x->state = EXEC_FREE;
}

static void refuse(struct exec *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse(struct exec *x, const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    port_say(x->id, VM_REFUSED, why, (uint32_t)strlen(why));
    forget(x);
}

static void write_file(struct exec *x, const void *bytes, uint32_t n)
{
    for (uint32_t at = 0; at < n;) {
        ssize_t written = write(x->file, (const char *)bytes + at, n - at);
        if (written <= 0)
            die("no memory for a command: %m");
        at += (uint32_t)written;
    }
}

/* A longer text goes to a file, which the shell reads. */
static void keep_text(struct exec *x, const void *bytes, uint32_t n)
{
    if (x->file < 0 && n <= ORDER_TEXT_MAX - x->text_length) {
        if (x->text == NULL && (x->text = malloc(ORDER_TEXT_MAX)) == NULL)
            die("no memory for a command");
        memcpy(x->text + x->text_length, bytes, n);
    } else {
        if (x->file < 0) {
            if ((x->file = memfd_create("command", MFD_CLOEXEC)) < 0)
                die("no memory for a command: %m");
            write_file(x, x->text, x->text_length);
        }
        write_file(x, bytes, n);
    }
    x->text_length += n;
}

static void take_text(uint32_t id, const uint8_t *bytes, uint32_t n)
{
    struct exec *x = begin(id);
    if (n > VM_COMMAND_MAX - x->text_length)
        die("the host sent a command of more than %u bytes", VM_COMMAND_MAX);
    x->has_nul |= memchr(bytes, '\0', n) != NULL;
    keep_text(x, bytes, n);
}

/* ---- requests ---------------------------------------------------------------------------- */

static bool is_name(const char *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return n > 0;
}

/* The entry that is not NAME=value, or NULL. */
static const char *odd_variable(const char *env, uint32_t length)
{
    for (uint32_t at = 0; at < length; at += (uint32_t)strlen(env + at) + 1) {
        const char *is = strchr(env + at, '=');
        if (is == NULL || !is_name(env + at, (size_t)(is - env - at)))
            return env + at;
    }
    return NULL;
}

/* Copies cwd, env and the terminal's name in the form that the shell expects. */
static bool keep_rest(struct exec *x, const uint8_t *payload)
{
    static const char term[] = "TERM=xterm-256color";
    const struct vm_exec_head *h = &x->head;
    bool terminal = h->flags & VM_EXEC_PTY;
    x->rest = malloc((size_t)h->cwd_length + h->env_length + 1 + sizeof term);
    if (x->rest == NULL)
        return false;
    char *at = x->rest;
    if (h->cwd_length > 0) {
        memcpy(at, payload, h->cwd_length);
        at[h->cwd_length] = '\0';
        x->cwd_length = h->cwd_length + 1;
        at += x->cwd_length;
    }
    char *env = at;
    if (terminal) {
        memcpy(at, term, sizeof term);
        at += sizeof term;
    }
    memcpy(at, payload + h->cwd_length, h->env_length);
    x->env_length = (uint32_t)(at - env) + h->env_length;
    return true;
}

static void start_next(struct session *s);

/* NULL, or why it is refused. */
static const char *odd_request(const struct exec *x, const char **which)
{
    const struct vm_exec_head *h = &x->head;
    *which = "";
    if (x->has_nul)
        return "the command has a NUL byte in it, which no shell takes";
    if (h->cwd_length > 0 && strlen(x->rest) != h->cwd_length)
        return "cwd has a NUL byte in it";
    if (x->env_length > 0 && x->rest[x->cwd_length + x->env_length - 1] != '\0')
        return "the last variable has no end";
    const char *odd = odd_variable(x->rest + x->cwd_length, x->env_length);
    if (odd != NULL) {
        *which = odd;
        return "env takes NAME=value with letters, digits and _ in NAME, not ";
    }
    return NULL;
}

static void take_exec(uint32_t id, const uint8_t *payload, uint32_t n)
{
    struct exec *x = begin(id);
    if (n < sizeof x->head)
        die("the host sent an exec of %u bytes", n);
    memcpy(&x->head, payload, sizeof x->head);
    const struct vm_exec_head *h = &x->head;
    if ((uint64_t)h->cwd_length + h->env_length != n - sizeof *h)
        die("the host sent an exec whose lengths do not add up");
    if (!keep_rest(x, payload + sizeof *h))
        die("no memory for a command");
    const char *which, *why = odd_request(x, &which);
    if (why != NULL) {
        refuse(x, "%s%.100s", why, which);
        return;
    }
    bool apart = h->flags & (VM_EXEC_APART | VM_EXEC_PTY);
    if (!apart && h->session == 0)
        die("the host named session 0");
    x->session = session_of(apart ? 0 : h->session);
    if (x->session == NULL) {
        refuse(x, "there are %u sessions already: close one", VM_SESSIONS_MAX);
        return;
    }
    x->state = EXEC_QUEUED;
    x->turn = turns++;
    start_next(x->session);
}

/* ---- turns ------------------------------------------------------------------------------- */

static struct exec *first_queued(const struct session *s)
{
    struct exec *first = NULL;
    for (int i = 0; i < EXECS; i++) {
        struct exec *x = &execs[i];
        if (x->state == EXEC_QUEUED && x->session == s &&
            (first == NULL || x->turn < first->turn))
            first = x;
    }
    return first;
}

static bool give_order(struct exec *x)
{
    /* which runs commands from the terminal */
    static const char person[] = "exec bash -i";
    struct session *s = x->session;
    bool terminal = x->head.flags & VM_EXEC_PTY;
    if (terminal && x->text_length == 0)
        keep_text(x, person, sizeof person - 1);
    int fds[4];
    bool sent = false;
    if (streams_open(x, fds)) {
        size_t n = fds[2] >= 0 ? 3 : 2;
        struct order o = {
            .kind = ORDER_RUN,
            .flags = (n == 3 ? ORDER_INPUT : 0u) | (x->file >= 0 ? ORDER_FILE : 0u) |
                     (terminal ? ORDER_TERMINAL : 0u) |
                     (s->number == 0 ? ORDER_LAST : 0u),
            .cwd_length = x->cwd_length,
            .env_length = x->env_length,
            .text_length = x->text_length,
        };
        if (x->file >= 0)
            fds[n++] = x->file;
        sent = shell_order(s, &o, x->rest, x->text, fds, n);
    }
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && fds[i] != x->file)
            close(fds[i]);
    return sent;
}

static void start(struct exec *x)
{
    struct session *s = x->session;
    struct leaf *leaf = s->leaf;
    if (leaf == NULL || s->forked) /* else nothing else can be in it */
        leaf = leaf_enter(leaf, s->pid, s->number == 0 ? UINT32_MAX : s->number);
    if (leaf != NULL)
        s->leaf = leaf;
    s->forked = false;
    if (leaf == NULL || !give_order(x)) {
        source_close(&x->out.source);
        source_close(&x->err.source);
        source_close(&x->in.source);
        kill(s->pid, SIGKILL); /* a shell that takes no orders is useless */
        if (x->tries++ == 2)
            refuse(x, "the machine has no processes, files or memory left for it");
        return;
    }
    x->state = EXEC_RUNS;
    x->ooms = leaf_ooms(s->leaf);
    x->began_ns = now_ns();
    x->due_ns =
        x->head.timeout_ms > 0 ? x->began_ns + x->head.timeout_ms * MS : UINT64_MAX;
    s->running = x;
    port_mention(x->id, VM_STARTED, NULL, 0);
}

/* Starts a session's shell if a command is waiting, or ends the session. */
static void start_next(struct session *s)
{
    if (s->running != NULL || s->state == SHELL_ASKED)
        return;
    struct exec *x = first_queued(s);
    if (s->state == SHELL_READY && x != NULL)
        start(x);
    else if (s->state == SHELL_NONE && x != NULL)
        shell_ask(s);
    else if (s->state == SHELL_NONE)
        session_free(s);
    else if (s->state == SHELL_READY && (s->number == 0 || s->closed))
        kill(s->pid, SIGKILL); /* no command will come for it */
}

/* ---- end of a command -------------------------------------------------------------------- */

static void finish(struct exec *x)
{
    struct session *s = x->session;
    x->exit.wall_ns = now_ns() - x->began_ns;
    port_say(x->id, VM_EXIT, &x->exit, sizeof x->exit);
    forget(x);
    s->running = NULL;
    start_next(s);
}

void exec_output_ended(struct exec *x)
{
    if (x->state == EXEC_ENDS && x->out.source.fd < 0 && x->err.source.fd < 0)
        finish(x);
}

/* Ends the command once its processes have ended or may stay; outputs may still be
 * open. */
static void settle(struct exec *x)
{
    x->state = EXEC_ENDS;
    x->due_ns = now_ns() + GRACE;
    if (x->out.source.fd < 0 && x->err.source.fd < 0)
        finish(x);
    else
        streams_drain(x);
}

/* The command's shell is done. The rest of its processes have until the end of the
 * second. */
static void ends(struct exec *x, uint32_t status, uint32_t flags, uint64_t cpu_ns)
{
    struct session *s = x->session;
    x->exit.status = status;
    x->exit.flags |= flags;
    if (leaf_ooms(s->leaf) != x->ooms)
        x->exit.flags |= VM_EXIT_OOM;
    x->exit.cpu_ns = cpu_ns - s->cpu_ns;
    s->cpu_ns = cpu_ns;
    if (!x->condemned || leaf_is_alone(s->leaf)) {
        settle(x);
        return;
    }
    uint64_t now = now_ns();
    x->kill_ns = x->stage == EXEC_TERMINATED ? x->due_ns
                 : x->stage == EXEC_GOES     ? now + UNTIL_KILLED
                                             : now;
    x->state = EXEC_LINGERS;
    x->due_ns = now;
}

static void look_again(struct exec *x)
{
    struct session *s = x->session;
    uint64_t now = now_ns();
    if (!leaf_is_alone(s->leaf) && now < x->kill_ns) {
        x->due_ns = now + LOOK_AGAIN;
        return;
    }
    if (now >= x->kill_ns)
        s->leaf = leaf_kill(s->leaf);
    settle(x);
}

static void replied(struct session *s, const struct reply *r)
{
    struct exec *x = s->running;
    if (x == NULL || x->state != EXEC_RUNS)
        return;
    s->forked = r->forked != 0;
    if (r->kind != REPLY_NOT_BEGUN) {
        ends(x, r->status & 0xff, 0, r->cpu_ns);
        return;
    }
    refuse(x, "cwd %.100s: %s", x->cwd_length > 0 ? x->rest : "",
           strerror((int)r->status));
    s->running = NULL;
    start_next(s);
}

/* A shell that a command has ended (exit, exec, a signal) has sent no reply. */
static void ended(struct session *s, int status, uint64_t cpu_ns)
{
    struct exec *x = s->running;
    if (x == NULL || x->state != EXEC_RUNS) {
        start_next(s);
        return;
    }
    uint32_t flags = s->number == 0 ? 0 : VM_EXIT_SHELL;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number == ORDER_SIGNAL) /* it was meant for a shell that another has replaced */
        number = SIGTERM;
    if (number != 0)
        ends(x, (uint32_t)number, flags | VM_EXIT_SIGNAL, cpu_ns);
    else
        ends(x, (uint32_t)WEXITSTATUS(status), flags, cpu_ns);
}

static void failed(struct session *s, const char *why)
{
    for (struct exec *x; (x = first_queued(s)) != NULL;)
        refuse(x, "the session's shell: %s", why);
    session_free(s);
}

/* ---- signals and time -------------------------------------------------------------------- */

/* A session's shell gets a signal of its own. If its socket is closed it is no shell any
 * more: the command has replaced it (exec). */
static void send_signal(struct exec *x, int number)
{
    struct session *s = x->session;
    bool is_process = s->number == 0 || s->socket.fd < 0;
    x->condemned |= number == SIGTERM || number == SIGKILL;
    /* None sees another end before its own signal has come: a shell, in the command as around
     * it, would go on. */
    leaf_freeze(s->leaf, true);
    if (is_process)
        kill(s->pid, number);
    else
        sigqueue(s->pid, ORDER_SIGNAL, (union sigval){.sival_int = number});
    struct leaf *frozen = s->leaf;
    if (number == SIGKILL)
        s->leaf = leaf_kill(s->leaf);
    else
        leaf_signal(s->leaf, number);
    leaf_freeze(frozen, false);
    if (number == SIGTERM || number == SIGKILL) { /* also for stopped processes */
        leaf_signal(s->leaf, SIGCONT);
        kill(s->pid, SIGCONT);
    }
}

static void take_signal(struct exec *x, int number)
{
    if (number < 1 || number > 64)
        die("the host sent signal %d", number);
    if (x->state == EXEC_QUEUED) {
        struct session *s = x->session;
        refuse(x, "it was called off before its turn");
        start_next(s);
    } else if (x->state == EXEC_LINGERS && number == SIGKILL) {
        x->kill_ns = 0;
        x->due_ns = 0;
    } else if (x->state == EXEC_RUNS && x->session->state == SHELL_READY) {
        send_signal(x, number);
        if (number == SIGKILL && x->stage < EXEC_KILLED) {
            x->stage = EXEC_KILLED;
            x->due_ns = now_ns() + UNTIL_GIVEN_UP;
        }
    }
}

static void next_stage(struct exec *x)
{
    struct session *s = x->session;
    switch (x->stage) {
    case EXEC_GOES:
        x->exit.flags |= VM_EXIT_TIMEOUT;
        x->stage = EXEC_TERMINATED;
        x->due_ns = now_ns() + UNTIL_KILLED;
        send_signal(x, SIGTERM);
        break;
    case EXEC_TERMINATED:
        x->stage = EXEC_KILLED;
        x->due_ns = now_ns() + UNTIL_GIVEN_UP;
        send_signal(x, SIGKILL);
        break;
    case EXEC_KILLED:
    case EXEC_GIVEN_UP:
        x->stage = EXEC_GIVEN_UP;
        x->due_ns = UINT64_MAX;
        kill(s->pid, SIGKILL);
        break;
    }
}

uint64_t execs_due(void)
{
    uint64_t due = UINT64_MAX;
    for (int i = 0; i < EXECS; i++)
        if (execs[i].state >= EXEC_RUNS && execs[i].due_ns < due)
            due = execs[i].due_ns;
    return due;
}

void execs_tick(void)
{
    uint64_t now = now_ns();
    for (int i = 0; i < EXECS; i++) {
        struct exec *x = &execs[i];
        if (x->state < EXEC_RUNS || x->due_ns > now)
            continue;
        if (x->state == EXEC_RUNS) {
            next_stage(x);
        } else if (x->state == EXEC_LINGERS) {
            look_again(x);
        } else {
            x->due_ns = UINT64_MAX;
            streams_release(x);
        }
    }
}

/* ---- frames ------------------------------------------------------------------------------ */

static void close_session(uint32_t number)
{
    for (int i = 0; i < EXECS; i++)
        if (execs[i].state == EXEC_QUEUED && execs[i].session->number == number)
            refuse(&execs[i], "its session was closed before its turn");
    session_close(number);
    leaves_kill(number);
    port_say(0, VM_READY, NULL, 0);
}

static uint32_t number_in(const struct vm_frame *f, const uint8_t *payload)
{
    uint32_t n;
    if (f->length != sizeof n)
        die("the host sent %u bytes with verb %u", f->length, f->verb);
    memcpy(&n, payload, sizeof n);
    return n;
}

static void about_one(struct exec *x, const struct vm_frame *f, const uint8_t *payload)
{
    uint16_t size[2];
    if (x == NULL) /* it has ended meanwhile */
        return;
    switch (f->verb) {
    case VM_INPUT:
        stream_input(x, payload, f->length);
        break;
    case VM_SIGNAL:
        take_signal(x, (int)number_in(f, payload));
        break;
    case VM_CREDIT:
        stream_credit(x, number_in(f, payload));
        break;
    case VM_RESIZE:
        number_in(f, payload);
        memcpy(size, payload, sizeof size);
        stream_resize(x, size[0], size[1]);
        break;
    }
}

void execs_frame(const struct vm_frame *f, const uint8_t *payload)
{
    switch (f->verb) {
    case VM_TEXT:
        take_text(f->id, payload, f->length);
        break;
    case VM_EXEC:
        take_exec(f->id, payload, f->length);
        break;
    case VM_CLOSE:
        close_session(number_in(f, payload));
        break;
    case VM_INPUT:
    case VM_SIGNAL:
    case VM_RESIZE:
    case VM_CREDIT:
        about_one(find(f->id), f, payload);
        break;
    default:
        die("the host sent verb %u", f->verb);
    }
}

void execs_end_all(void)
{
    for (int i = 0; i < EXECS; i++)
        if (execs[i].state == EXEC_QUEUED)
            refuse(&execs[i], "the machine is about to rest");
    session_close(0);
    leaves_kill(0);
}

void execs_open(const char *library)
{
    static const struct shell_events events = {
        .ready = start_next, .failed = failed, .replied = replied, .ended = ended};
    shells_open(library, &events);
}
