/* actions/unknown.h - types, tags and keys that a filter names and no note has.
 *
 * Private to the room actions.
 */
#pragma once
#include "actions/internal.h"

/* Appends warnings, the insides of a JSON array, each once: {rule, severity, message,
 * suggestion?}. `options`: of a list or search; `alone`: a string means the type. Best
 * effort. */
void unknown_tell(struct vault *vault, const char *call, const struct json *options,
                  bool alone, struct buf *all);
/* A host call is done: where a list or search was empty, v->told has why. Threads: safe. */
void unknown_noted(const struct calling *x);
