/* The machine's generation: a guest that has read other bytes before is a copy now. */
#include "vm/generation.h"
#include "vm/device.h"
#include "vm/host.h"
#include "vm/plic.h"

static uint8_t id[16];

static uint64_t read_register(void *self, uint64_t offset, uint32_t size)
{
    (void)self;
    uint64_t v = 0;
    for (uint32_t i = 0; i < size && offset + i < sizeof id; i++)
        v |= (uint64_t)id[offset + i] << 8 * i;
    return v;
}

static void write_register(void *self, uint64_t offset, uint32_t size, uint64_t value)
{
    (void)self, (void)offset, (void)size, (void)value; /* read-only */
}

void generation_init(void)
{
    host_entropy(id, sizeof id);
    device_add(&(struct device){.base = GENERATION_BASE,
                                .size = GENERATION_SIZE,
                                .read = read_register,
                                .write = write_register});
}

void generation_renew(void)
{
    host_entropy(id, sizeof id);
    plic_pulse(GENERATION_LINE);
}
