/* guest/vm/fp.h - the hart's floating-point instructions: registers, rounding, flags. */
#pragma once
#include "vm/hart.h"

/* Runs one of the F2 and F3 operations. false: it trapped (h->pc is the
 * instruction's). */
bool fp_execute(struct hart *h, const struct slot *s);
/* Sets f register `i` and marks the state dirty. */
void set_f(struct hart *h, unsigned i, uint64_t bits);
