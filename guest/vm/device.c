/* The table of devices, by address. */
#include "vm/device.h"

static struct device devices[DEVICES_MAX];
static uint32_t count;

void devices_init(void)
{
    count = 0;
}

void device_add(const struct device *d)
{
    if (count < DEVICES_MAX)
        devices[count++] = *d;
}

static const struct device *device_at(uint64_t address, uint32_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t offset = address - devices[i].base;
        if (offset < devices[i].size && size <= devices[i].size - offset)
            return &devices[i];
    }
    return 0;
}

bool device_read(uint64_t address, uint32_t size, uint64_t *out)
{
    const struct device *d = device_at(address, size);
    if (d)
        *out = d->read(d->self, address - d->base, size);
    return d;
}

bool device_write(uint64_t address, uint32_t size, uint64_t value)
{
    const struct device *d = device_at(address, size);
    if (d)
        d->write(d->self, address - d->base, size, value);
    return d;
}
