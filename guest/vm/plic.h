/* guest/vm/plic.h - the interrupt controller: routes the devices' lines to the hart.
 *
 * Lines are levels: one that is still up when the kernel has completed it is raised
 * again.
 *
 * Source: RISC-V Platform-Level Interrupt Controller Specification 1.0. */
#pragma once
#include "vm/hart.h"

#define PLIC_BASE 0x0c000000ull
#define PLIC_SIZE 0x00400000ull
#define PLIC_LINES 31u /* numbered from 1 */

void plic_init(struct hart *h); /* adds it to the devices */
void plic_line(uint32_t line, bool up);
/* raises a line once, for a device that cannot lower it */
void plic_pulse(uint32_t line);
