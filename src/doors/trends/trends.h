/* trends/trends.h - how calls went over time: a ring of aggregates of one trail's records.
 *
 * Counts, failures and durations, by action, caller, method and kind of error: a cell a minute
 * for the last 26 hours, and one an hour for the last 32 days, each with its six slowest
 * calls. It is made of the trail's records, so it has the calls of all processes and is
 * written nowhere; what a trail has no longer, it never knew. Memory is bounded
 * (TRENDS_CELLS): with more, the oldest hours go.
 *
 * Threads: one object belongs to one thread at a time.
 */
#pragma once
#include "audit/audit.h"
#include "base/base.h"
#include "json/json.h"

#define TRENDS_CELLS 32768u     /* about 150 bytes each, with slow calls 1 KB */
#define TRENDS_NAMES 1000u      /* different ones; further ones count as "other" */
#define TRENDS_DAYS 32u         /* how far it reaches back */
#define TRENDS_RECORDS 2000000u /* that are read of a trail at first */

struct trends;
/* `without`: a caller whose calls do not count, a literal; NULL: none. */
struct trends *trends_new(const char *without);
void trends_free(struct trends *t); /* NULL is fine */
SCOPED(trends, trends_free);

/* Counts what the trail has: all of the last TRENDS_DAYS the first time, and then what was
 * written since. Always the same trail. false and *e as trail_back(); what was read is counted. */
bool trends_catch_up(struct trends *t, struct trail *trail, int64_t now_ms,
                     struct err *e);

enum trend_kind { TREND_ALL, TREND_ACTION, TREND_CALLER, TREND_METHOD, TREND_ERROR };
#define TREND_KINDS 5
struct trend_range {
    int64_t from_ms, to_ms, step_ms; /* a step: whole minutes, or whole hours */
    enum trend_kind kind;            /* of `points`: of one name, or of all */
    struct str name;
};
#define TREND_POINTS_MAX 800u
/* {from, to, step, points: [{at, calls, failed, p50, p95, memory}], total: {calls, failed, p50,
 * p95, ms}, actions, callers: [{name, client?, calls, failed, p50, p95, ms}], methods: [{name,
 * calls, failed, denied}], errors: [{name, calls}], slowest: [{mac, time, action, caller,
 * client?, ms, cpu_ms?, host_calls?, asked?}], cut}; times in ms since 1970, durations in ms
 * (accurate to a sixth), `memory` the peak in bytes. Points without calls are left out; `cut`:
 * hours had to go. ERR_INVALID: no range of so many points. */
bool trends_put(const struct trends *t, const struct trend_range *r,
                struct json_writer *w, struct err *e);
