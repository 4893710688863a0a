/* Reports of use: the counts beside each function, and the statistics. */
#include <math.h>
#include <stdio.h>

#include "os/os.h"
#include "usage/inner.h"

#define TOLD_MAX 100u /* functions; the most called ones */
#define SUGGESTIONS_MAX 50u
#define BESIDE 2u /* versions that suggestions compare */

/* ---- counts ---------------------------------------------------------------- */

struct counted {
    char id[USAGE_ID];
    struct usage_count count;
};
struct usage_counts {
    struct counted *all; /* by id */
    size_t count, capacity;
};

static bool add_count(struct usage_counts *c, struct str id, int64_t calls,
                      int64_t last_ms)
{
    if (c->count == c->capacity) {
        size_t more = c->capacity ? c->capacity * 2 : 64;
        struct counted *all = realloc(c->all, more * sizeof *all);
        if (!all)
            return false;
        c->all = all;
        c->capacity = more;
    }
    struct counted *one = &c->all[c->count++];
    (void)snprintf(one->id, sizeof one->id, "%.*s", STR_ARGS(str_cut(id, USAGE_ID - 1)));
    one->count = (struct usage_count){(uint64_t)calls, last_ms};
    return true;
}

static void read_counts(struct db *d, struct usage_counts *c)
{
    struct err none = {0};
    scoped(query_end) struct query *q = db_query(
        d, "SELECT id, sum(calls), max(last_ms) FROM usage GROUP BY id ORDER BY id",
        &none);
    while (q && query_next(q, &none) && c->count < 4 * (size_t)USAGE_FUNCTIONS)
        if (!add_count(c, query_str(q, 0), query_int(q, 1), query_int(q, 2)))
            return;
}

struct usage_counts *usage_count_all(struct usage *u)
{
    struct usage_counts *c = mem_new(sizeof *c);
    struct db *d = usage_begin_read(u);
    if (d)
        read_counts(d, c);
    usage_end_read(u);
    return c;
}

void usage_counts_free(struct usage_counts *c)
{
    if (c)
        free(c->all);
    free(c);
}

static int subjects_by_id(const void *key, const void *row)
{
    const struct str *id = key;
    return str_cmp(*id, str_of(((const struct counted *)row)->id));
}

struct usage_count usage_count_of(const struct usage_counts *c, struct str id)
{
    id = str_cut(id, USAGE_ID - 1);
    const struct counted *one =
        c->count ? bsearch(&id, c->all, c->count, sizeof *c->all, subjects_by_id) : NULL;
    return one ? one->count : (struct usage_count){0};
}

/* ---- figures ---------------------------------------------------------------- */

/* To a millionth: what is behind it was never measured. */
static void put_ms(struct json_writer *w, const char *key, double ms)
{
    json_pair_number(w, key, round(ms * 1e6) / 1e6);
}

static void put_figures(const struct usage_figures *x, struct json_writer *w)
{
    json_pair_int(w, "calls", (int64_t)x->calls);
    json_pair_int(w, "failed", (int64_t)x->failed);
    json_pair_int(w, "evaluations", (int64_t)x->evaluations);
    if (x->calls) {
        json_pair_number(w, "successRate",
                         (double)(x->calls - x->failed) / (double)x->calls);
        json_key(w, "durations");
        json_open_object(w);
        put_ms(w, "p50", usage_quantile(x->times, 0.5));
        put_ms(w, "p95", usage_quantile(x->times, 0.95));
        put_ms(w, "mean", x->ms / (double)x->calls);
        json_close(w);
    }
    json_key(w, "errors");
    json_open_array(w);
    for (size_t i = 0; i < x->kind_count; i++) {
        json_open_object(w);
        json_pair_cstr(w, "kind", x->kinds[i].kind);
        json_pair_int(w, "count", (int64_t)x->kinds[i].count);
        json_pair_time_known(w, "last", x->kinds[i].last_ms);
        json_close(w);
    }
    json_close(w);
}

static void usage_put_head(const struct usage_function *fn, const struct usage_detail *x,
                           struct json_writer *w)
{
    json_pair_str(w, "name", fn->name);
    json_pair_str(w, "id", fn->id);
    json_pair_int(w, "version", fn->version);
    json_pair_time_known(w, "lastUsed", x->all.last_ms);
    put_figures(&x->all, w);
    json_pair_int(w, "callsThisMonth", (int64_t)x->month_calls);
    json_pair_int(w, "failedThisMonth", (int64_t)x->month_failed);
}

static void usage_put_versions(const struct usage_detail *x, struct json_writer *w)
{
    json_key(w, "versions");
    json_open_array(w);
    for (size_t i = 0; i < x->version_count; i++) {
        const struct usage_figures *v = &x->versions[i];
        json_open_object(w);
        json_key(w, "version");
        if (v->version)
            json_put_int(w, v->version);
        else
            json_put_cstr(w, "older");
        json_pair_int(w, "lines", v->lines);
        json_pair_time_known(w, "firstUsed", v->first_ms);
        json_pair_time_known(w, "lastUsed", v->last_ms);
        put_figures(v, w);
        json_close(w);
    }
    json_close(w);
}

/* Puts the days with calls, in UTC. */
static void put_days(const struct usage_day *days, size_t count, struct json_writer *w)
{
    json_key(w, "days");
    json_open_array(w);
    for (size_t i = 0; i < count; i++) {
        char text[25];
        date_format(days[i].day * USAGE_DAY_MS, text);
        json_open_object(w);
        json_pair_str(w, "day", str_cut(str_of(text), 10));
        json_pair_int(w, "calls", (int64_t)days[i].calls);
        json_pair_int(w, "failed", (int64_t)days[i].failed);
        json_close(w);
    }
    json_close(w);
}

static void put_runs(const struct usage_detail *x, struct json_writer *w)
{
    json_key(w, "runs");
    json_open_array(w);
    for (size_t i = 0; i < x->run_count; i++) {
        const struct usage_run *r = &x->runs[i];
        json_open_object(w);
        json_pair_time_known(w, "at", r->at_ms);
        json_pair_int(w, "version", r->version);
        json_pair_int(w, "calls", r->calls);
        json_pair_int(w, "failed", r->failed);
        put_ms(w, "ms", r->ms);
        json_pair_cstr(w, "outcome", r->kind[0] ? r->kind : "ok");
        json_pair_cstr(w, "caller", r->caller);
        if (r->trial)
            json_pair_bool(w, "trial", true);
        json_close(w);
    }
    json_close(w);
}

/* ---- the statistics --------------------------------------------------------- */

/* All that is read of the database for one answer. */
struct reading {
    const struct usage_function *all;
    size_t count;
    struct arena *arena;
    struct usage_subject *subjects; /* of all */
    struct usage_totals totals;
    int64_t now_ms;
    size_t versions; /* of each, by themselves */
};

static bool read_subjects(struct db *d, struct reading *r, struct err *e)
{
    r->totals = (struct usage_totals){0};
    r->subjects = arena_get(r->arena, (r->count + 1) * sizeof *r->subjects, e);
    for (size_t i = 0; r->subjects && i < r->count; i++) {
        struct usage_detail *x = arena_get(r->arena, sizeof *x, e);
        r->subjects[i] = (struct usage_subject){&r->all[i], x};
        if (!x ||
            (d && !usage_detail(d, r->all[i].id, r->now_ms, r->versions, r->arena, x, e)))
            return false;
    }
    return r->subjects && (!d || usage_totals(d, r->now_ms, &r->totals, e));
}

/* A lost database is reported as no use, rather than as no statistics. */
static bool usage_read(struct usage *u, struct reading *r, struct err *e)
{
    struct err why = {0};
    struct db *d = usage_begin_read(u);
    bool ok = read_subjects(d, r, &why);
    usage_end_read(u);
    if (!ok && why.code == ERR_LIMIT)
        return err_set(e, ERR_LIMIT, "%s", why.msg);
    return ok || read_subjects(NULL, r, e);
}

static int by_calls(const void *a, const void *b)
{
    const struct usage_subject *x = a, *y = b;
    uint64_t n = x->used->all.calls, m = y->used->all.calls;
    return n != m ? (n < m ? 1 : -1) : str_cmp(x->fn->name, y->fn->name);
}

static void usage_put_totals(const struct reading *r, struct json_writer *w)
{
    const struct usage_totals *t = &r->totals;
    json_key(w, "totals");
    json_open_object(w);
    json_pair_int(w, "functions", (int64_t)r->count);
    json_pair_int(w, "calls", (int64_t)t->calls);
    json_pair_int(w, "failed", (int64_t)t->failed);
    json_pair_int(w, "evaluations", (int64_t)t->evaluations);
    json_pair_int(w, "callsThisMonth", (int64_t)t->month_calls);
    json_pair_int(w, "sessionsThisMonth", (int64_t)t->month_sessions);
    json_pair_time_known(w, "since", t->since_ms);
    json_close(w);
}

static void put_suggestions(const struct reading *r, struct json_writer *w)
{
    json_key(w, "suggestions");
    json_open_array(w);
    usage_advise(r->subjects, r->count, r->now_ms, SUGGESTIONS_MAX, w);
    json_close(w);
}

static void put_functions(const struct reading *r, struct json_writer *w)
{
    json_key(w, "functions");
    json_open_array(w);
    for (size_t i = 0; i < r->count && i < TOLD_MAX; i++) {
        json_open_object(w);
        usage_put_head(r->subjects[i].fn, r->subjects[i].used, w);
        json_close(w);
    }
    json_close(w);
    if (r->count > TOLD_MAX)
        json_pair_int(w, "more", (int64_t)(r->count - TOLD_MAX));
}

bool usage_stats(struct usage *u, const struct usage_function *all, size_t count,
                 struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    struct reading r = {.all = all,
                        .count = count,
                        .arena = arena,
                        .now_ms = os_real_ms(),
                        .versions = BESIDE};
    struct usage_file file = {0};
    if (!usage_read(u, &r, e))
        return false;
    usage_weigh(usage_vault(u), &file);
    if (count)
        qsort(r.subjects, count, sizeof *r.subjects, by_calls);
    json_open_object(out);
    put_functions(&r, out);
    usage_put_totals(&r, out);
    put_days(r.totals.days, r.totals.day_count, out);
    json_key(out, "metrics");
    json_open_object(out);
    usage_metrics(&r.totals, r.subjects, count, &file, r.now_ms, out);
    json_close(out);
    put_suggestions(&r, out);
    json_close(out);
    return true;
}

bool usage_stats_of(struct usage *u, const struct usage_function *one,
                    struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(ARENA_FILE);
    struct reading r = {.all = one,
                        .count = 1,
                        .arena = arena,
                        .now_ms = os_real_ms(),
                        .versions = USAGE_VERSIONS};
    if (!usage_read(u, &r, e))
        return false;
    json_open_object(out);
    usage_put_head(one, r.subjects[0].used, out);
    usage_put_versions(r.subjects[0].used, out);
    put_runs(r.subjects[0].used, out);
    put_days(r.subjects[0].used->days, r.subjects[0].used->day_count, out);
    put_suggestions(&r, out);
    json_close(out);
    return true;
}
