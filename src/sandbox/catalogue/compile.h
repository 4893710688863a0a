/* catalogue/compile.h - strangers' modules are compiled in a process apart, which has
 * little memory, little time, and nothing to open. Private to catalogue. */
#pragma once
#include "catalogue/internal.h"

/* Appends the compiled form, for engines like this one, of a module that can run as a
 * tool: its imports are all there, and it has a start. ERR_INVALID: it is none; ERR_LIMIT:
 * compiling it takes too much; ERR_IO. */
bool compile_apart(struct catalogue *c, const struct work *w, struct buf *out,
                   struct err *e);
