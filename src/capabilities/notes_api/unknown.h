/* notes_api/unknown.h - types, tags and keys that a filter names and no note has.
 *
 * Private to the room.
 */
#pragma once
#include "calls/calls.h"
#include "evaluation/evaluation.h"

struct outcome;
struct vault;

/* A list or search is as long as its default limit: whoever gave none is told that there may
 * be more. `name`: what he knows it by; `options`: the call's; `found`: how many. Appends as told_put() does. */
void told_limit(const char *name, const struct host_call *c, const struct json *options,
                size_t found, struct buf *all);
/* A dry run that would change nothing, and why, where that is known. */
void told_dry(const char *call, const struct outcome *did, struct buf *all);
/* Appends warnings, the insides of a JSON array, each once: {rule, severity, message,
 * suggestion?}. `options`: of a list or search; `alone`: a string means the type. Best
 * effort. */
void unknown_tell(struct vault *vault, const char *call, const struct json *options,
                  bool alone, struct buf *all);
/* A host call is done: where a list or search was empty, v->told has why. Threads: safe. */
void unknown_noted(const struct calling *x);
/* Groups of the capability. */
extern const struct host_call_group notes_calls, writing_calls, search_calls,
    note_types_calls, links_calls, hierarchy_calls, relationships_calls;
