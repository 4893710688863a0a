/* poll_oneoff: waiting, for time to pass or for standard input. Files never make one
 * wait, and what is written always finds a taker, if only later. */
#include <time.h>

#include "os/os.h"
#include "wasi/internal.h"

#define SUBSCRIPTION_SIZE 48
#define EVENT_SIZE 32
#define SLICE_NS 20000000u /* how soon a cancelled sleep ends */
#define ABSOLUTE 1u
#define HANGUP 1u

enum { EVENT_CLOCK, EVENT_READ, EVENT_WRITE, EVENTS };

struct subscription {
    uint64_t userdata;
    uint64_t timeout_ns;
    uint64_t due_ns; /* os_mono_ns() */
    uint64_t bytes;  /* that can be read */
    uint32_t id;     /* of the clock, or the file's number */
    int failed;
    uint16_t flags;
    uint8_t type;
    bool waits; /* for standard input */
    bool ended;
};

/* Bytes to be read from any file but a live standard input. */
static void look_at_file(const struct call *c, struct subscription *s)
{
    const struct wasi *w = c->wasi;
    const struct fd *f = fd_at(c->wasi, s->id);
    struct vfs_stat st;
    s->bytes = 1;
    if (!f || s->type != EVENT_READ) {
        s->failed = f ? 0 : EBADF;
    } else if (f->kind == FD_OPEN) {
        if (vfs_type_of(f->file) == VFS_FILE && vfs_stat_of(f->file, &st) == 0)
            s->bytes = st.size > f->offset ? st.size - f->offset : 0;
    } else if (f->stream == 0 && w->options.read) {
        s->waits = w->options.ready != NULL;
    } else if (f->stream == 0) {
        s->bytes = w->options.input.n - w->input_at;
        s->ended = s->bytes == 0;
    }
    if (s->waits)
        s->due_ns = UINT64_MAX;
}

static struct subscription read_subscription(const struct call *c, const char *from)
{
    struct subscription s = {.type = (uint8_t)from[8]};
    memcpy(&s.userdata, from, 8);
    memcpy(&s.id, from + 16, 4);
    if (s.type != EVENT_CLOCK) {
        look_at_file(c, &s);
        return s;
    }
    memcpy(&s.timeout_ns, from + 24, 8);
    memcpy(&s.flags, from + 40, 2);
    if (s.id >= CLOCK_PROCESS) {
        /* Nobody's computing time passes while it sleeps. */
        s.failed = s.id < CLOCKS ? EOPNOTSUPP : EINVAL;
        return s;
    }
    uint64_t wait = s.timeout_ns;
    if (s.flags & ABSOLUTE) {
        uint64_t now = clock_ns(c->wasi, s.id);
        wait = wait > now ? wait - now : 0;
    }
    uint64_t now = os_mono_ns();
    s.due_ns = wait < UINT64_MAX - now ? now + wait : UINT64_MAX;
    return s;
}

/* Until then, or until the guest must end anyway: the engine stops it at our return. */
static void poll_sleep_until(const struct call *c, uint64_t due_ns)
{
    const struct wasi *s = c->wasi;
    uint64_t end = s->options.until_ns;
    if (end && due_ns > end)
        due_ns = end;
    for (uint64_t now; (now = os_mono_ns()) < due_ns;) {
        if (cancel_fired(s->options.cancel) || s->options.frozen ||
            world_is_stopped(c->world))
            return;
        uint64_t left = due_ns - now < SLICE_NS ? due_ns - now : SLICE_NS;
        struct timespec t = {.tv_nsec = (long)left};
        (void)nanosleep(&t, NULL);
        world_charge(c->world, os_mono_ns() - now);
    }
}

/* The same while one of them waits for standard input. */
static void wait_for_input(struct wasi *s, struct subscription *row, uint32_t n,
                           uint64_t due_ns)
{
    uint64_t end = s->options.until_ns;
    size_t bytes = 0;
    if (end && due_ns > end)
        due_ns = end;
    int failed = s->options.ready(s->options.stream_arg,
                                  due_ns > os_mono_ns() ? due_ns : 0, &bytes);
    if (failed == EAGAIN)
        return;
    for (uint32_t i = 0; i < n; i++)
        if (row[i].waits) {
            row[i].due_ns = 0;
            row[i].bytes = bytes;
            row[i].failed = failed;
            row[i].ended = !failed && bytes == 0;
        }
}

static void write_event(char *to, const struct subscription *s)
{
    uint16_t failed = wasi_errno(s->failed), flags = s->ended ? HANGUP : 0;
    memset(to, 0, EVENT_SIZE);
    memcpy(to, &s->userdata, 8);
    memcpy(to + 8, &failed, 2);
    to[10] = (char)s->type;
    memcpy(to + 16, &s->bytes, 8);
    memcpy(to + 24, &flags, 2);
}

/* All that is due by now; when it is none, which was stopped early, what was first. */
static uint32_t write_events(char *to, const struct subscription *row, uint32_t n,
                             uint64_t first)
{
    uint64_t now = os_mono_ns();
    uint32_t happened = 0;
    now = now < first ? first : now;
    for (uint32_t i = 0; i < n; i++)
        if (row[i].due_ns <= now)
            write_event(to + (size_t)happened++ * EVENT_SIZE, &row[i]);
    return happened;
}

int poll_oneoff(const struct call *c)
{
    uint32_t n = arg32(c, 2);
    const char *from = slice(c, arg32(c, 0), (uint64_t)n * SUBSCRIPTION_SIZE);
    char *to = slice(c, arg32(c, 1), (uint64_t)n * EVENT_SIZE);
    if (!from || !to || !slice(c, arg32(c, 3), 4))
        return EFAULT;
    if (n == 0 || n > WASI_POLL_MAX)
        return EINVAL;
    struct subscription row[WASI_POLL_MAX];
    uint64_t first = UINT64_MAX;
    bool waits = false;
    for (uint32_t i = 0; i < n; i++) {
        row[i] = read_subscription(c, from + (size_t)i * SUBSCRIPTION_SIZE);
        if (row[i].type >= EVENTS)
            return EINVAL;
        waits |= row[i].waits;
        first = row[i].due_ns < first ? row[i].due_ns : first;
    }
    if (waits)
        wait_for_input(c->wasi, row, n, first);
    else
        poll_sleep_until(c, first);
    for (uint32_t i = 0; i < n; i++)
        first = row[i].due_ns < first ? row[i].due_ns : first;
    return put_u32(c, arg32(c, 3), write_events(to, row, n, first));
}
