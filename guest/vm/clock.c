/* Guest time. */
#include "vm/clock.h"
#include "vm/host.h"

/* 200 million instructions a second. */
#define COUNTED_NS 5u

static struct {
    const struct hart *hart;
    bool counts;
    uint64_t
        offset_ns; /* guest time less the host's or, while counting, the instructions' */
    uint64_t stands_ns; /* guest time of the last pause */
} clock;

/* The clock that guest time is derived from. */
static uint64_t base_ns(void)
{
    return clock.counts ? clock.hart->retired * COUNTED_NS : host_now_ns();
}

static uint64_t now_ns(void)
{
    return base_ns() + clock.offset_ns;
}

void clock_init(const struct hart *h)
{
    clock.hart = h;
    clock.counts = false;
    clock.offset_ns = 0 - base_ns();
    clock.stands_ns = 0;
}

void clock_count(void)
{
    clock.counts = true;
    clock.offset_ns = 0 - base_ns();
}

void clock_pause(void)
{
    clock.stands_ns = now_ns();
}

void clock_resume(void)
{
    clock.counts = false;
    clock.offset_ns = clock.stands_ns - base_ns();
}

uint64_t clock_time(void)
{
    return now_ns() / CLOCK_UNIT_NS;
}

void clock_check(struct hart *h)
{
    bool due = h->stimecmp != UINT64_MAX && now_ns() / CLOCK_UNIT_NS >= h->stimecmp;
    h->sip = due ? h->sip | INT_TIMER : h->sip & ~(uint64_t)INT_TIMER;
}

/* When stimecmp is due, in guest time; UINT64_MAX: in more than 500 years, so never. */
static uint64_t due_ns(const struct hart *h)
{
    uint64_t ns;
    return __builtin_mul_overflow(h->stimecmp, CLOCK_UNIT_NS, &ns) ? UINT64_MAX : ns;
}

uint64_t clock_due_ns(const struct hart *h)
{
    uint64_t ns = due_ns(h);
    return ns == UINT64_MAX || clock.counts ? ns : ns - clock.offset_ns;
}

bool clock_leap(const struct hart *h)
{
    uint64_t ns = due_ns(h), now = now_ns();
    if (!clock.counts || ns == UINT64_MAX)
        return false;
    clock.offset_ns += ns > now ? ns - now : 0;
    return true;
}
