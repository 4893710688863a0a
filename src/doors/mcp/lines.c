#include "mcp/lines.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define USUAL_SIZE ((size_t)64 * 1024)

bool lines_init(struct lines *l, int in, int out, int stop, size_t max, struct err *e)
{
    *l = (struct lines){.in = in, .out = out, .stop = stop, .max = max};
    l->size = USUAL_SIZE;
    l->at = mem_new(l->size);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return l->wake >= 0 || err_set(e, ERR_IO, "cannot make an event descriptor: %m");
}

void lines_done(struct lines *l)
{
    free(l->at);
    if (l->wake >= 0)
        close(l->wake);
}

void lines_stop(struct lines *l)
{
    (void)eventfd_write(l->wake, 1);
}

/* ---- filling ------------------------------------------------------------ */

static bool wait_for_input(struct lines *l)
{
    enum { IN, OUT, STOP, WAKE, N };
    struct pollfd p[N] = {
        [IN] = {.fd = l->in, .events = POLLIN},
        [OUT] = {.fd = l->out}, /* only errors */
        [STOP] = {.fd = l->stop, .events = POLLIN},
        [WAKE] = {.fd = l->wake, .events = POLLIN},
    };
    while (poll(p, N, -1) < 0)
        if (errno != EINTR)
            return false;
    return !p[WAKE].revents && !p[STOP].revents &&
           !(p[OUT].revents & (POLLERR | POLLHUP | POLLNVAL));
}

/* Room for more behind `to`: what is done with goes, then the buffer grows. */
static bool lines_reserve(struct lines *l)
{
    if (l->from) {
        memmove(l->at, l->at + l->from, l->to - l->from);
        l->to -= l->from;
        l->seen -= l->from;
        l->from = 0;
    }
    if (l->to < l->size)
        return true;
    size_t size = l->size < USUAL_SIZE ? USUAL_SIZE : 2 * l->size;
    char *grown = realloc(l->at, size);
    if (!grown)
        return err_set(&l->failure, ERR_LIMIT, "out of memory for a line");
    l->at = grown;
    l->size = size;
    return true;
}

static void give_back(struct lines *l)
{
    l->from = l->to = l->seen = 0;
    if (l->size == USUAL_SIZE)
        return;
    char *usual = realloc(l->at, USUAL_SIZE);
    if (usual) {
        l->at = usual;
        l->size = USUAL_SIZE;
    }
}

/* Reads some more; false: there is no more. */
static bool lines_fill(struct lines *l)
{
    if (l->from == l->to)
        give_back(l);
    if (l->to == l->size && !lines_reserve(l))
        return false;
    for (;;) {
        if (!l->readable && !wait_for_input(l))
            return false;
        l->readable = false;
        ssize_t n = read(l->in, l->at + l->to, l->size - l->to);
        if (n > 0) {
            l->to += (size_t)n;
            return true;
        }
        if (n == 0)
            return false;
        if (errno != EINTR && errno != EAGAIN)
            return err_set(&l->failure, ERR_IO, "cannot read the input: %m");
    }
}

/* ---- lines -------------------------------------------------------------- */

/* The next line in the buffer; `at` is NULL when its end is not there yet. */
static struct str cut_line(struct lines *l)
{
    char *end = memchr(l->at + l->seen, '\n', l->to - l->seen);
    if (!end) {
        l->seen = l->to;
        return (struct str){0};
    }
    struct str line = {l->at + l->from, (size_t)(end - (l->at + l->from))};
    l->from = l->seen = (size_t)(end - l->at) + 1;
    return line;
}

static struct str last_line(struct lines *l)
{
    struct str line = {l->at + l->from, l->to - l->from};
    l->from = l->seen = l->to;
    return line;
}

enum lines_got lines_next(struct lines *l, struct str *line)
{
    for (;;) {
        struct str one = cut_line(l);
        if (!one.at) {
            size_t length = l->to - l->from;
            if (l->skipping || length > l->max) {
                l->from = l->seen = l->to;
                if (!l->skipping) {
                    l->skipping = true;
                    return LINES_TOO_LONG;
                }
            }
            if (!l->ended && lines_fill(l))
                continue;
            l->ended = true;
            if (l->from == l->to)
                return LINES_END;
            one = last_line(l);
        }
        if (l->skipping) {
            l->skipping = false;
            continue;
        }
        if (one.n > l->max)
            return LINES_TOO_LONG;
        *line = str_trim(one);
        if (line->n)
            return LINES_LINE;
    }
}

void lines_readable(struct lines *l)
{
    l->readable = true;
}

bool lines_are_there(const struct lines *l)
{
    return l->ended || memchr(l->at + l->seen, '\n', l->to - l->seen);
}
