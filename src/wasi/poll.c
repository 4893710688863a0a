/* poll_oneoff: waiting, for time to pass. Files and streams never make one wait. */
#include <time.h>

#include "os/os.h"
#include "wasi/internal.h"

#define SUBSCRIPTION_SIZE 48
#define EVENT_SIZE 32
#define SLICE_NS 20000000u /* how soon a cancelled sleep ends */
#define ABSOLUTE 1u

enum { EVENT_CLOCK, EVENT_READ, EVENT_WRITE, EVENTS };

struct subscription {
    uint64_t userdata;
    uint8_t type;
    uint32_t id; /* of the clock, or the file's number */
    uint64_t timeout_ns;
    uint16_t flags;
    uint64_t due_ns; /* os_mono_ns() */
    int failed;
};

static struct subscription read_subscription(const struct call *c, const char *from)
{
    struct subscription s = {.type = (uint8_t)from[8]};
    memcpy(&s.userdata, from, 8);
    memcpy(&s.id, from + 16, 4);
    if (s.type != EVENT_CLOCK) {
        s.failed = fd_at(c->wasi, s.id) ? 0 : EBADF;
        return s;
    }
    memcpy(&s.timeout_ns, from + 24, 8);
    memcpy(&s.flags, from + 40, 2);
    if (s.id > 3) {
        s.failed = EINVAL;
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
static void sleep_until(const struct call *c, uint64_t due_ns)
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

static void write_event(char *to, const struct subscription *s)
{
    uint16_t failed = wasi_errno(s->failed);
    uint64_t bytes = s->type != EVENT_CLOCK; /* at least one */
    memset(to, 0, EVENT_SIZE);
    memcpy(to, &s->userdata, 8);
    memcpy(to + 8, &failed, 2);
    to[10] = (char)s->type;
    memcpy(to + 16, &bytes, 8);
}

int poll_oneoff(const struct call *c)
{
    uint32_t n = arg32(c, 2), happened = 0;
    const char *from = slice(c, arg32(c, 0), (uint64_t)n * SUBSCRIPTION_SIZE);
    char *to = slice(c, arg32(c, 1), (uint64_t)n * EVENT_SIZE);
    if (!from || !to || !slice(c, arg32(c, 3), 4))
        return EFAULT;
    if (n == 0 || n > WASI_POLL_MAX)
        return EINVAL;
    struct subscription row[WASI_POLL_MAX];
    uint64_t first = UINT64_MAX, now;
    for (uint32_t i = 0; i < n; i++) {
        row[i] = read_subscription(c, from + (size_t)i * SUBSCRIPTION_SIZE);
        if (row[i].type >= EVENTS)
            return EINVAL;
        first = row[i].due_ns < first ? row[i].due_ns : first;
    }
    sleep_until(c, first);
    now = os_mono_ns();
    now = now < first ? first : now; /* stopped early: what was first is told */
    for (uint32_t i = 0; i < n; i++)
        if (row[i].due_ns <= now)
            write_event(to + (size_t)happened++ * EVENT_SIZE, &row[i]);
    return put_u32(c, arg32(c, 3), happened);
}
