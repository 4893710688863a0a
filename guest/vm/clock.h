/* guest/vm/clock.h - the time that the guest sees: the `time` CSR, and its timer (Sstc).
 *
 * It runs with the host's clock, from where it was left; or counts instructions, so that a
 * machine does the same each time.
 */
#pragma once
#include "vm/hart.h"

#define CLOCK_HZ 10000000u /* `time` counts units of 100 ns */
#define CLOCK_UNIT_NS 100u

void clock_init(const struct hart *h); /* from 0, with the host's clock */
void clock_count(void);                /* from 0, by instructions */
void clock_resume(void);               /* with the host's clock, from where it stands */
/* Notes where it stands: before a pause that the machine may be copied in. */
void clock_pause(void);

uint64_t clock_time(void); /* the `time` CSR */
/* Is stimecmp due? Sets or clears the hart's INT_TIMER. */
void clock_check(struct hart *h);
/* On host_now_ns(), when stimecmp is due; UINT64_MAX: never. */
uint64_t clock_due_ns(const struct hart *h);
/* Where it counts: leaps to the timer, if one is set. */
bool clock_leap(const struct hart *h);
