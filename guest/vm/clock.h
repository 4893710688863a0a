/* guest/vm/clock.h - guest time: the `time` CSR and its timer (Sstc).
 *
 * It follows the host's clock, continuing from the last pause; or it counts instructions,
 * for reproducible runs. */
#pragma once
#include "vm/hart.h"

#define CLOCK_HZ 10000000u /* `time` counts units of 100 ns */
#define CLOCK_UNIT_NS 100u

void clock_init(const struct hart *h); /* from 0, with the host's clock */
void clock_count(void);                /* from 0, by instructions */
void clock_resume(void);               /* by the host's clock, continuing */
/* Stores the time, before a pause in which the machine may be copied. */
void clock_pause(void);

uint64_t clock_time(void); /* the `time` CSR */
/* Sets or clears the hart's INT_TIMER, as stimecmp is due or not. */
void clock_check(struct hart *h);
/* When stimecmp is due, on host_now_ns(); UINT64_MAX: never. */
uint64_t clock_due_ns(const struct hart *h);
/* While counting: skips to the timer, if one is set. */
bool clock_leap(const struct hart *h);
