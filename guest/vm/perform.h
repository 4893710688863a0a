/* guest/vm/perform.h - an instruction in full generality, where the executor has no fast
 * path: memory that no buffer has, atomic operations, floating point, system
 * instructions. */
#pragma once
#include "vm/hart.h"

/* Runs the instruction at h->pc, whose slot is `s`, and moves h->pc. true: it went on to
 * the next one and changed nothing but registers, so that the page's slots are still
 * valid. */
bool perform(struct hart *h, const struct slot *s);
