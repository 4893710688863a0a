/* notes_api/unknown.h - notices about filters by types, tags and keys that no note has.
 *
 * Private to the room. */
#pragma once
#include "calls/calls.h"
#include "evaluation/evaluation.h"

struct outcome;
struct vault;

/* A list or search is as long as its default limit: a call without one is told that there may
 * be more. `name`: what the caller knows it by; `options`: the call's; `found`: how many. */
void notice_limit(const char *name, const struct host_call *c, const struct json *options,
                  size_t found, struct notices *all);
/* Adds a notice that a dry run would change nothing, and why, if that is known. */
void notice_dry_run(const char *call, const struct outcome *did, struct notices *all);
/* Adds warnings. `options`: of a list or search; `alone`: a string means the type. Best
 * effort. */
void notice_unknown(struct vault *vault, const char *call, const struct json *options,
                    bool alone, struct notices *all);
/* Adds notices about an empty list or search, after the call. Threads: safe. */
void notice_empty(const struct calling *x);
extern const struct note_advice note_advice;
/* The capability's groups. */
extern const struct host_call_group notes_calls, writing_calls, search_calls,
    note_types_calls, links_calls, attachment_calls, hierarchy_calls, relationships_calls;
