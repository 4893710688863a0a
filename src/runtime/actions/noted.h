/* actions/noted.h - what is noted of host calls for the words of a failure. Private to
 * actions. */
#pragma once
#include "actions/calls.h"

/* A host call has failed, or is done: remembered for what follows. Threads: safe. */
void advice_failed(const struct calling *x, const struct err *why);
void advice_done(const struct calling *x);
