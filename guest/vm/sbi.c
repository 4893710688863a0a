/* The SBI of a machine with one hart, number 0. */
#include "vm/sbi.h"
#include "vm/clock.h"
#include "vm/host.h"
#include "vm/ram.h"

#define VERSION (2u << 24) /* 2.0 */
#define OURS 0x636c6f63u   /* an unassigned implementation id */

enum extension {
    LEGACY_SET_TIMER = 0,
    LEGACY_PUTCHAR = 1,
    LEGACY_GETCHAR = 2,
    LEGACY_SHUTDOWN = 8,
    BASE = 0x10,
    TIME = 0x54494d45,
    IPI = 0x735049,
    RFENCE = 0x52464e43,
    HSM = 0x48534d,
    SRST = 0x53525354,
    DBCN = 0x4442434e,
};

enum { DONE = 0, FAILED = -1, NOT_SUPPORTED = -2, INVALID = -3, AVAILABLE = -6 };

struct answer {
    int64_t error;
    uint64_t value;
};

static bool there;
static enum sbi_end ended;

void sbi_init(bool is_there)
{
    there = is_there;
    ended = SBI_RUNS;
}

enum sbi_end sbi_ended(void)
{
    return ended;
}

static struct answer done(uint64_t value)
{
    return (struct answer){DONE, value};
}

static struct answer failed(int64_t error)
{
    return (struct answer){error, 0};
}

static void end(struct hart *h, enum sbi_end how)
{
    ended = how;
    h->attention = true;
}

static void set_timer(struct hart *h, uint64_t at)
{
    h->stimecmp = at;
    clock_check(h);
}

static bool is_extension(uint64_t number)
{
    switch (number) {
    case LEGACY_SET_TIMER:
    case LEGACY_PUTCHAR:
    case LEGACY_GETCHAR:
    case LEGACY_SHUTDOWN:
    case BASE:
    case TIME:
    case IPI:
    case RFENCE:
    case HSM:
    case SRST:
    case DBCN:
        return true;
    default:
        return false;
    }
}

static struct answer base(uint64_t function, uint64_t argument)
{
    switch (function) {
    case 0:
        return done(VERSION);
    case 1:
        return done(OURS);
    case 2: /* implementation version */
        return done(1);
    case 3:
        return done(is_extension(argument));
    case 4: /* mvendorid, marchid, mimpid: none */
    case 5:
    case 6:
        return done(0);
    default:
        return failed(NOT_SUPPORTED);
    }
}

/* Whether hart 0 is among those of a mask and its base. */
static bool is_meant(uint64_t mask, uint64_t first)
{
    return first == UINT64_MAX || (first == 0 && mask & 1);
}

/* Whether a mask names harts that do not exist. */
static bool is_wrong(uint64_t mask, uint64_t first)
{
    return first != UINT64_MAX && mask && !(first == 0 && mask == 1);
}

static struct answer send_interrupt(struct hart *h, uint64_t mask, uint64_t first)
{
    if (is_wrong(mask, first))
        return failed(INVALID);
    if (is_meant(mask, first))
        h->sip |= INT_SOFTWARE;
    return done(0);
}

/* Whatever the range, everything is flushed: a kernel with one hart does not use
 * these. */
static struct answer remote_fence(struct hart *h, uint64_t function)
{
    if (function > 2) /* those of a hypervisor */
        return failed(NOT_SUPPORTED);
    if (is_wrong(h->x[10], h->x[11]))
        return failed(INVALID);
    if (function && is_meant(h->x[10], h->x[11]))
        tlb_flush(h);
    return done(0);
}

static struct answer hart_state(struct hart *h, uint64_t function, uint64_t argument)
{
    enum { START, STOP, STATUS, SUSPEND };
    switch (function) {
    case START:
        return failed(argument ? INVALID : AVAILABLE);
    case STOP: /* the only hart cannot stop */
        return failed(FAILED);
    case STATUS: /* 0: started */
        return argument ? failed(INVALID) : done(0);
    case SUSPEND: /* type 0 is retentive: like wfi */
        if (argument)
            return failed(NOT_SUPPORTED);
        h->waiting = !(h->sip & h->sie);
        return done(0);
    default:
        return failed(NOT_SUPPORTED);
    }
}

static struct answer reset(struct hart *h, uint64_t type, uint64_t reason)
{
    if (type > 2 || reason > 1)
        return failed(INVALID);
    end(h, type ? SBI_REBOOT : SBI_SHUTDOWN);
    return done(0);
}

static struct answer console(struct hart *h, uint64_t function)
{
    enum { WRITE, READ, WRITE_BYTE };
    uint64_t n = h->x[10];
    if (function == READ)
        return done(0);
    if (function == WRITE_BYTE) {
        uint8_t one = (uint8_t)n;
        host_write(VM_LOG, &one, 1);
        return done(0);
    }
    if (function != WRITE)
        return failed(NOT_SUPPORTED);
    n = n < HOST_BYTES_MAX ? n : HOST_BYTES_MAX;
    const uint8_t *at = h->x[12] ? 0 : ram_at(h->x[11], n);
    if (!at)
        return failed(INVALID);
    if (n)
        host_write(VM_LOG, at, (uint32_t)n);
    return done(n);
}

/* Legacy calls return in a0 only. false: another call. */
static bool legacy(struct hart *h)
{
    uint8_t one = (uint8_t)h->x[10];
    switch (h->x[17]) {
    case LEGACY_SET_TIMER:
        set_timer(h, h->x[10]);
        break;
    case LEGACY_PUTCHAR:
        host_write(VM_LOG, &one, 1);
        break;
    case LEGACY_GETCHAR:
        h->x[10] = UINT64_MAX;
        return true;
    case LEGACY_SHUTDOWN:
        end(h, SBI_SHUTDOWN);
        break;
    default:
        return false;
    }
    h->x[10] = 0;
    return true;
}

static struct answer answer(struct hart *h)
{
    uint64_t function = h->x[16], a0 = h->x[10], a1 = h->x[11];
    switch (h->x[17]) {
    case BASE:
        return base(function, a0);
    case TIME:
        if (function)
            return failed(NOT_SUPPORTED);
        set_timer(h, a0);
        return done(0);
    case IPI:
        return function ? failed(NOT_SUPPORTED) : send_interrupt(h, a0, a1);
    case RFENCE:
        return remote_fence(h, function);
    case HSM:
        return hart_state(h, function, a0);
    case SRST:
        return function ? failed(NOT_SUPPORTED) : reset(h, a0, a1);
    case DBCN:
        return console(h, function);
    default:
        return failed(NOT_SUPPORTED);
    }
}

bool sbi_call(struct hart *h)
{
    if (!there)
        return false;
    if (legacy(h))
        return true;
    struct answer a = answer(h);
    h->x[10] = (uint64_t)a.error;
    h->x[11] = a.value;
    return true;
}
