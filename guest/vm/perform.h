/* guest/vm/perform.h - an instruction in all generality, when the executor cannot run it at
 * full speed: memory that no buffer has, atomic operations, floating point, the system's. */
#pragma once
#include "vm/hart.h"

/* Runs the instruction at h->pc, whose slot is `s`, and moves h->pc. true: it went on to the
 * next one and changed nothing but registers, so that the page's slots still hold. */
bool perform(struct hart *h, const struct slot *s);
