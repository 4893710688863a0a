/* guest/vm/generation.h - tells the guest's kernel that it continues as another machine:
 * 16 bytes to read, and an interrupt when they change. Linux (CONFIG_VMGENID) then
 * reseeds its random numbers before anything else runs.
 *
 * Source: Virtual Machine Generation ID; Linux's binding microsoft,vmgenid. */
#pragma once

#define GENERATION_BASE 0x10100000ull
#define GENERATION_SIZE 0x1000ull
#define GENERATION_LINE 30u

void generation_init(void); /* adds it to the devices */
void generation_renew(void);
