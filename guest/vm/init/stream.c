/* vm/init/stream.c - input and output of commands.
 *
 * Outputs are read as far as the host has given credit, so a slow caller delays only his
 * command. If a background process keeps an output open after the command, it is read and
 * dropped: closing it would kill the writer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "vm/init/exec.h"
#include "vm/init/log.h"
#include "vm/init/port.h"

enum { READ_MAX = 32 << 10, HELD_MAX = 256, END_OF_FILE = 0x04 };

/* ---- abandoned outputs ------------------------------------------------------------------- */

static struct source held[HELD_MAX];
static unsigned held_next;

static void throw_away(struct source *s, uint32_t events)
{
    (void)events;
    static char nowhere[64 << 10];
    ssize_t n = read(s->fd, nowhere, sizeof nowhere);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        source_close(s);
}

/* Of too many, the oldest is closed. */
static void hold(int fd)
{
    struct source *s = NULL;
    for (int i = 0; i < HELD_MAX && s == NULL; i++)
        if (held[i].ready == NULL || held[i].fd < 0)
            s = &held[i];
    if (s == NULL) {
        s = &held[held_next++ % HELD_MAX];
        source_close(s);
    }
    source_open(s, fd, EPOLLIN, throw_away);
}

/* ---- outputs ----------------------------------------------------------------------------- */

static void release(struct exec *x, struct output *o)
{
    x->exit.flags |= VM_EXIT_HELD;
    hold(source_take(&o->source));
}

/* Reads one piece. false: there is no more for now. */
static bool read_some(struct exec *x, struct output *o)
{
    uint32_t most = x->window < READ_MAX ? x->window : READ_MAX;
    if (o->counted && o->left < most)
        most = o->left;
    if (most == 0) {
        source_want(&o->source, 0);
        return false;
    }
    ssize_t n = read(o->source.fd, port_room(most), most);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) { /* a terminal without a process gives EIO */
        source_close(&o->source);
        return false;
    }
    port_said(x->id, o->verb, (uint32_t)n);
    x->window -= (uint32_t)n;
    if (o->counted && (o->left -= (uint32_t)n) == 0) {
        release(x, o);
        return false;
    }
    return true;
}

static void take_output(struct exec *x, struct output *o)
{
    for (int i = 0; i < 4 && o->source.fd >= 0; i++)
        if (!read_some(x, o))
            break;
    if (o->source.fd < 0)
        exec_output_ended(x);
}

static void out_ready(struct source *s, uint32_t events)
{
    (void)events;
    struct exec *x = source_of(struct exec, out.source, s);
    take_output(x, &x->out);
}

static void err_ready(struct source *s, uint32_t events)
{
    (void)events;
    struct exec *x = source_of(struct exec, err.source, s);
    take_output(x, &x->err);
}

void streams_drain(struct exec *x)
{
    if (x->out.source.fd >= 0)
        take_output(x, &x->out);
    if (x->state == EXEC_ENDS && x->err.source.fd >= 0)
        take_output(x, &x->err);
}

static void release_after(struct exec *x, struct output *o)
{
    int waiting = 0;
    if (o->source.fd < 0 || o->counted)
        return;
    ioctl(o->source.fd, FIONREAD, &waiting);
    if (waiting > 0) {
        o->counted = true;
        o->left = (uint32_t)waiting;
    } else {
        release(x, o);
    }
}

void streams_release(struct exec *x)
{
    release_after(x, &x->out);
    release_after(x, &x->err);
    if (x->out.source.fd < 0 && x->err.source.fd < 0)
        exec_output_ended(x);
}

void stream_credit(struct exec *x, uint32_t bytes)
{
    if (bytes > VM_WINDOW - x->window)
        die("the host gave credit for %u bytes that were not sent", bytes);
    x->window += bytes;
    source_want(&x->out.source, EPOLLIN);
    source_want(&x->err.source, EPOLLIN);
}

/* ---- input ------------------------------------------------------------------------------- */

static void write_input(struct exec *x)
{
    struct input *in = &x->in;
    uint32_t taken = 0;
    while (in->n > 0) {
        ssize_t n = write(in->source.fd, in->bytes + in->at, in->n);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        /* No process reads it any more: dropped as by /dev/null. */
        uint32_t done = n < 0 ? in->n : (uint32_t)n;
        in->at += done;
        in->n -= done;
        taken += done;
    }
    if (taken > 0)
        port_say(x->id, VM_INPUT_TAKEN, &taken, sizeof taken);
    if (in->n == 0)
        in->at = 0;
    if (in->n > 0) {
        source_want(&in->source, EPOLLOUT);
    } else if (!in->ends) {
        source_want(&in->source, 0);
    } else if (!in->is_terminal) {
        source_close(&in->source);
    } else {
        char end = END_OF_FILE;
        ssize_t n = write(in->source.fd, &end, 1);
        in->ends = n < 0 && errno == EAGAIN;
        source_want(&in->source, in->ends ? EPOLLOUT : 0);
    }
}

/* Acknowledges input without a reader, so that the host does not wait. */
static void drop_input(struct exec *x)
{
    if (x->in.n > 0)
        port_say(x->id, VM_INPUT_TAKEN, &x->in.n, sizeof x->in.n);
    x->in.n = 0;
}

static void input_ready(struct source *s, uint32_t events)
{
    (void)events;
    write_input(source_of(struct exec, in.source, s));
}

void stream_input(struct exec *x, const uint8_t *bytes, uint32_t n)
{
    struct input *in = &x->in;
    if (n > VM_INPUT_WINDOW - in->n)
        die("the host sent more input than it has leave for");
    if (in->bytes == NULL && (in->bytes = malloc(VM_INPUT_WINDOW)) == NULL)
        die("no memory for input");
    if (in->at > 0)
        memmove(in->bytes, in->bytes + in->at, in->n);
    in->at = 0;
    memcpy(in->bytes + in->n, bytes, n);
    in->n += n;
    in->ends |= n == 0;
    if (in->source.fd >= 0)
        write_input(x);
    else if (x->state >= EXEC_RUNS)
        drop_input(x);
}

/* ---- pipes and terminals ----------------------------------------------------------------- */

static bool open_output(struct output *o, uint16_t verb, int *given,
                        void (*ready)(struct source *s, uint32_t events))
{
    int ends[2];
    o->verb = verb;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *given = ends[1];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return source_open(&o->source, ends[0], EPOLLIN, ready);
}

static bool open_input(struct exec *x, int *given)
{
    if (!(x->head.flags & VM_EXEC_INPUT))
        return true;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *given = ends[0];
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    return source_open(&x->in.source, ends[1], 0, input_ready);
}

void stream_resize(struct exec *x, uint16_t rows, uint16_t columns)
{
    struct winsize size = {.ws_row = rows, .ws_col = columns};
    int fd = x->in.is_terminal ? x->in.source.fd : -1;
    if (fd >= 0)
        ioctl(fd, TIOCSWINSZ, &size); /* which sends SIGWINCH */
}

static int open_other_side(int master)
{
    char name[64];
    if (grantpt(master) < 0 || unlockpt(master) < 0 ||
        ptsname_r(master, name, sizeof name) != 0)
        return -1;
    int fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios t;
    if (fd >= 0 && tcgetattr(fd, &t) == 0) {
        t.c_iflag |= IUTF8;
        tcsetattr(fd, TCSANOW, &t);
    }
    return fd;
}

static bool open_terminal(struct exec *x, int given[3])
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (master < 0)
        return false;
    given[0] = open_other_side(master);
    for (int i = 1; i < 3; i++)
        given[i] = fcntl(given[0], F_DUPFD_CLOEXEC, 0);
    int to_write = fcntl(master, F_DUPFD_CLOEXEC, 0);
    x->out.verb = VM_OUT;
    x->in.is_terminal = true;
    if (!source_open(&x->out.source, master, EPOLLIN, out_ready) || to_write < 0 ||
        !source_open(&x->in.source, to_write, 0, input_ready) || given[2] < 0)
        return false;
    stream_resize(x, x->head.rows > 0 ? x->head.rows : 24,
                  x->head.columns > 0 ? x->head.columns : 80);
    return true;
}

bool streams_open(struct exec *x, int given[3])
{
    given[0] = given[1] = given[2] = -1;
    x->window = VM_WINDOW;
    bool opened = x->head.flags & VM_EXEC_PTY
                      ? open_terminal(x, given)
                      : open_input(x, &given[2]) &&
                            open_output(&x->out, VM_OUT, &given[0], out_ready) &&
                            open_output(&x->err, VM_ERR, &given[1], err_ready);
    if (opened && (x->in.n > 0 || x->in.ends)) { /* input that came before its turn */
        if (x->in.source.fd >= 0)
            write_input(x);
        else
            drop_input(x);
    }
    return opened;
}

void streams_close(struct exec *x)
{
    source_close(&x->out.source);
    source_close(&x->err.source);
    source_close(&x->in.source);
    free(x->in.bytes);
    x->in.bytes = NULL;
}
