/* Reads the stored use into figures. */
#include <stdio.h>

#include "usage/inner.h"

static void read_figures(struct query *q, struct usage_figures *x)
{
    x->version = (uint32_t)query_int(q, 0);
    x->calls = (uint64_t)query_int(q, 1);
    x->failed = (uint64_t)query_int(q, 2);
    x->evaluations = (uint64_t)query_int(q, 3);
    x->ms = query_number(q, 4);
    x->loads = (uint64_t)query_int(q, 5);
    x->load_ms = query_number(q, 6);
    x->lines = (uint32_t)query_int(q, 7);
    x->in_a_row = (uint32_t)query_int(q, 8);
    x->first_ms = query_int(q, 9);
    x->last_ms = query_int(q, 10);
}

#define FIGURES                                                                 \
    "version, calls, failed, evaluations, ms, loads, load_ms, lines, in_a_row," \
    " first_ms, last_ms"

static void add_up(struct usage_figures *all, const struct usage_figures *v)
{
    all->calls += v->calls;
    all->failed += v->failed;
    all->evaluations += v->evaluations;
    all->ms += v->ms;
    all->loads += v->loads;
    all->load_ms += v->load_ms;
    if (!all->first_ms || (v->first_ms && v->first_ms < all->first_ms))
        all->first_ms = v->first_ms;
    all->last_ms = v->last_ms > all->last_ms ? v->last_ms : all->last_ms;
}

/* The newest `most` by themselves, all of them together. */
static bool read_versions(struct db *d, struct str id, size_t most, struct arena *a,
                          struct usage_detail *out, struct err *e)
{
    scoped(query_end) struct query *count =
        db_query(d, "SELECT count(*) FROM usage WHERE id = ?", e);
    scoped(query_end) struct query *q = db_query(
        d, "SELECT " FIGURES " FROM usage WHERE id = ? ORDER BY version DESC", e);
    if (!count || !q)
        return false;
    query_bind_str(count, 1, id);
    query_bind_str(q, 1, id);
    size_t room = query_next(count, e) ? (size_t)query_int(count, 0) : 0;
    room = room < most ? room : most;
    out->versions = arena_get(a, (room + 1) * sizeof *out->versions, e);
    while (out->versions && query_next(q, e)) {
        struct usage_figures *x = &out->versions[out->version_count];
        *x = (struct usage_figures){0};
        read_figures(q, x);
        add_up(&out->all, x);
        out->version_count += out->version_count < room;
    }
    return out->versions && !e->code;
}

static struct usage_figures *of_version(struct usage_detail *x, int64_t version)
{
    for (size_t i = 0; i < x->version_count; i++)
        if (x->versions[i].version == version)
            return &x->versions[i];
    return NULL;
}

static bool read_times(struct db *d, struct str id, struct usage_detail *out,
                       struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d, "SELECT version, bucket, count FROM times WHERE id = ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    while (query_next(q, e)) {
        struct usage_figures *x = of_version(out, query_int(q, 0));
        int64_t bucket = query_int(q, 1);
        if (bucket < 0 || bucket >= USAGE_BUCKETS)
            continue;
        out->all.times[bucket] += (uint64_t)query_int(q, 2);
        if (x)
            x->times[bucket] += (uint64_t)query_int(q, 2);
    }
    return !e->code;
}

static void add_kind(struct usage_figures *x, struct str kind, uint64_t count,
                     int64_t last_ms)
{
    size_t i = 0;
    while (i < x->kind_count && !str_is(kind, x->kinds[i].kind))
        i++;
    if (i == LENGTH(x->kinds))
        return;
    struct usage_kind *k = &x->kinds[i];
    if (i == x->kind_count) {
        x->kind_count++;
        (void)snprintf(k->kind, sizeof k->kind, "%.*s",
                       STR_ARGS(str_cut(kind, USAGE_KIND - 1)));
    }
    k->count += count;
    k->last_ms = last_ms > k->last_ms ? last_ms : k->last_ms;
}

static int by_count(const void *a, const void *b)
{
    const struct usage_kind *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : strcmp(x->kind, y->kind);
}

static bool read_kinds(struct db *d, struct str id, struct usage_detail *out,
                       struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        d, "SELECT version, kind, count, last_ms FROM kinds WHERE id = ? ORDER BY count",
        e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    while (query_next(q, e)) {
        struct usage_figures *x = of_version(out, query_int(q, 0));
        uint64_t count = (uint64_t)query_int(q, 2);
        add_kind(&out->all, query_str(q, 1), count, query_int(q, 3));
        if (x)
            add_kind(x, query_str(q, 1), count, query_int(q, 3));
    }
    qsort(out->all.kinds, out->all.kind_count, sizeof *out->all.kinds, by_count);
    for (size_t i = 0; i < out->version_count; i++)
        qsort(out->versions[i].kinds, out->versions[i].kind_count,
              sizeof *out->versions[i].kinds, by_count);
    return !e->code;
}

static void usage_keep_text(char *to, size_t size, struct str s)
{
    (void)snprintf(to, size, "%.*s", STR_ARGS(str_cut(s, size - 1)));
}

static bool read_runs(struct db *d, struct str id, struct usage_detail *out,
                      struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "SELECT at_ms, version, calls, failed, ms, kind, caller, trial FROM runs"
                 " WHERE id = ? ORDER BY key DESC LIMIT ?",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    query_bind_int(q, 2, 2 * USAGE_RUNS);
    while (query_next(q, e)) {
        struct usage_run *r = &out->runs[out->run_count++];
        r->at_ms = query_int(q, 0);
        r->version = (uint32_t)query_int(q, 1);
        r->calls = (uint32_t)query_int(q, 2);
        r->failed = (uint32_t)query_int(q, 3);
        r->ms = query_number(q, 4);
        r->trial = query_int(q, 7) != 0;
        usage_keep_text(r->kind, sizeof r->kind, query_str(q, 5));
        usage_keep_text(r->caller, sizeof r->caller, query_str(q, 6));
    }
    return !e->code;
}

/* The last days on which it (empty: any) was called. */
static bool read_days(struct db *d, struct str id, int64_t now_ms, struct usage_day *out,
                      size_t *count, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "SELECT day, sum(calls), sum(failed) FROM days"
                 " WHERE day > ?2 AND (?1 = '' OR id = ?1) GROUP BY day ORDER BY day",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    query_bind_int(q, 2, now_ms / USAGE_DAY_MS - USAGE_DAYS);
    while (*count <= USAGE_DAYS && query_next(q, e))
        out[(*count)++] = (struct usage_day){query_int(q, 0), (uint64_t)query_int(q, 1),
                                             (uint64_t)query_int(q, 2)};
    return !e->code;
}

static bool read_month(struct db *d, struct str id, int64_t now_ms,
                       struct usage_detail *out, struct err *e)
{
    scoped(query_end) struct query *q = db_query(
        d, "SELECT sum(calls), sum(failed) FROM days WHERE id = ? AND day > ?", e);
    if (!q)
        return false;
    query_bind_str(q, 1, id);
    query_bind_int(q, 2, (now_ms - USAGE_MONTH_MS) / USAGE_DAY_MS);
    if (query_next(q, e)) {
        out->month_calls = (uint64_t)query_int(q, 0);
        out->month_failed = (uint64_t)query_int(q, 1);
    }
    return !e->code;
}

bool usage_detail(struct db *d, struct str id, int64_t now_ms, size_t versions,
                  struct arena *a, struct usage_detail *out, struct err *e)
{
    *out = (struct usage_detail){0};
    scoped_transaction struct transaction t = {0};
    return db_begin_read(&t, d, e) && read_versions(d, id, versions, a, out, e) &&
           read_times(d, id, out, e) && read_kinds(d, id, out, e) &&
           (versions < USAGE_VERSIONS ||
            (read_runs(d, id, out, e) &&
             read_days(d, id, now_ms, out->days, &out->day_count, e))) &&
           read_month(d, id, now_ms, out, e);
}

/* ---- of the vault ---------------------------------------------------------- */

/* Reads one row of whole numbers. */
static bool usage_read_row(struct db *d, const char *sql, int64_t value, uint64_t *out,
                           size_t count, struct err *e)
{
    scoped(query_end) struct query *q = db_query(d, sql, e);
    if (!q)
        return false;
    if (query_parameters(q))
        query_bind_int(q, 1, value);
    if (query_next(q, e))
        for (size_t i = 0; i < count; i++)
            out[i] = (uint64_t)query_int(q, (int)i);
    return !e->code;
}

static bool read_trials(struct db *d, int64_t month, struct usage_totals *out,
                        struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "SELECT outcome, sum(count), sum(ms), sum(count) FILTER (WHERE day > ?)"
                 " FROM trials GROUP BY outcome",
                 e);
    if (!q)
        return false;
    query_bind_int(q, 1, month);
    while (query_next(q, e)) {
        int64_t which = query_int(q, 0);
        if (which < 0 || which >= USAGE_TRIALS)
            continue;
        out->trials[which] = (uint64_t)query_int(q, 1);
        out->month_trials[which] = (uint64_t)query_int(q, 3);
        if (which == USAGE_KEPT)
            out->trial_ms = query_number(q, 2);
    }
    return !e->code;
}

static bool read_sums(struct db *d, struct usage_totals *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d,
                 "SELECT sum(calls), sum(failed), sum(evaluations), sum(ms), sum(loads),"
                 " sum(load_ms), min(first_ms) FROM usage",
                 e);
    if (!q)
        return false;
    if (query_next(q, e)) {
        out->calls = (uint64_t)query_int(q, 0);
        out->failed = (uint64_t)query_int(q, 1);
        out->evaluations = (uint64_t)query_int(q, 2);
        out->ms = query_number(q, 3);
        out->loads = (uint64_t)query_int(q, 4);
        out->load_ms = query_number(q, 5);
        out->since_ms = query_int(q, 6);
    }
    return !e->code;
}

static bool read_all_times(struct db *d, struct usage_totals *out, struct err *e)
{
    scoped(query_end) struct query *q =
        db_query(d, "SELECT bucket, sum(count) FROM times GROUP BY bucket", e);
    while (q && query_next(q, e))
        if (query_int(q, 0) >= 0 && query_int(q, 0) < USAGE_BUCKETS)
            out->times[query_int(q, 0)] = (uint64_t)query_int(q, 1);
    return !e->code;
}

bool usage_totals(struct db *d, int64_t now_ms, struct usage_totals *out, struct err *e)
{
    *out = (struct usage_totals){0};
    int64_t month_ms = now_ms - USAGE_MONTH_MS, month = month_ms / USAGE_DAY_MS;
    uint64_t days[2] = {0}, sessions[3] = {0}, size[2] = {0};
    scoped_transaction struct transaction t = {0};
    if (!db_begin_read(&t, d, e) || !read_sums(d, out, e) || !read_all_times(d, out, e) ||
        !read_trials(d, month, out, e) ||
        !read_days(d, STR(""), now_ms, out->days, &out->day_count, e) ||
        !usage_read_row(d, "SELECT sum(calls), sum(failed) FROM days WHERE day > ?",
                        month, days, 2, e) ||
        !usage_read_row(d,
                        "SELECT count(*), sum(reused), sum(lines) FROM sessions"
                        " WHERE last_ms > ?",
                        month_ms, sessions, 3, e) ||
        !usage_read_row(d, "PRAGMA page_count", 0, &size[0], 1, e) ||
        !usage_read_row(d, "PRAGMA page_size", 0, &size[1], 1, e))
        return false;
    out->month_calls = days[0];
    out->month_failed = days[1];
    out->month_sessions = sessions[0];
    out->month_reusing = sessions[1];
    out->month_lines = sessions[2];
    out->bytes = size[0] * size[1];
    return true;
}
