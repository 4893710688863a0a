/* The interrupt controller: 31 lines, one context, the hart's S mode. */
#include "vm/plic.h"
#include "vm/device.h"

enum {
    PRIORITIES = 0,
    PENDING = 0x1000,
    ENABLED = 0x2000,
    THRESHOLD = 0x200000,
    CLAIM = 0x200004
};
#define PRIORITY_MAX 7u

static struct {
    struct hart *hart;
    uint8_t priority[PLIC_LINES + 1]; /* 0: never */
    uint32_t up, pulsed;              /* a bit a line */
    uint32_t claimed, enabled;
    uint8_t threshold;
} plic;

static uint32_t pending(void)
{
    return (plic.up | plic.pulsed) & ~plic.claimed;
}

/* The line to claim: highest priority, then lowest number; 0: none. */
static uint32_t best(void)
{
    uint32_t open = pending() & plic.enabled, found = 0;
    uint8_t least = plic.threshold;
    for (uint32_t i = 1; i <= PLIC_LINES; i++)
        if (open >> i & 1 && plic.priority[i] > least) {
            least = plic.priority[i];
            found = i;
        }
    return found;
}

static void update(void)
{
    uint64_t others = plic.hart->sip & ~(uint64_t)INT_EXTERNAL;
    plic.hart->sip = best() ? others | INT_EXTERNAL : others;
}

void plic_line(uint32_t line, bool up)
{
    plic.up = up ? plic.up | 1u << line : plic.up & ~(1u << line);
    update();
}

void plic_pulse(uint32_t line)
{
    plic.pulsed |= 1u << line;
    update();
}

static uint32_t claim(void)
{
    uint32_t line = best();
    if (line) {
        plic.claimed |= 1u << line;
        plic.pulsed &= ~(1u << line);
    }
    update();
    return line;
}

static uint64_t read_register(void *self, uint64_t offset, uint32_t size)
{
    (void)self;
    if (size != 4)
        return 0;
    if (offset < 4 * (PLIC_LINES + 1))
        return plic.priority[offset / 4];
    switch (offset) {
    case PENDING:
        return pending();
    case ENABLED:
        return plic.enabled;
    case THRESHOLD:
        return plic.threshold;
    case CLAIM:
        return claim();
    default:
        return 0;
    }
}

static void write_register(void *self, uint64_t offset, uint32_t size, uint64_t value)
{
    (void)self;
    if (size != 4)
        return;
    if (offset >= 4 && offset < 4 * (PLIC_LINES + 1))
        plic.priority[offset / 4] = value & PRIORITY_MAX;
    else if (offset == ENABLED)
        plic.enabled = (uint32_t)value & ~1u;
    else if (offset == THRESHOLD)
        plic.threshold = value & PRIORITY_MAX;
    else if (offset == CLAIM && value >= 1 && value <= PLIC_LINES)
        plic.claimed &= ~(plic.enabled & 1u << value);
    update();
}

void plic_init(struct hart *h)
{
    __builtin_memset(&plic, 0, sizeof plic);
    plic.hart = h;
    device_add(&(struct device){.base = PLIC_BASE,
                                .size = PLIC_SIZE,
                                .read = read_register,
                                .write = write_register});
}
