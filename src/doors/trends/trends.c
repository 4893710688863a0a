/* Cells of time, kind and name in one hash table; minutes become hours as they grow old. */
#include "trends/internal.h"

#include <math.h>
#include <stdio.h>

#define MINUTE_MS INT64_C(60000)
#define HOUR_MS INT64_C(3600000)
#define MINUTES_KEPT_MS (26 * HOUR_MS)
#define BUCKETS 40u /* of durations: below 1 ms, and then each 1.37 times the last */
#define FACTOR 1.37
#define MAC_MAX 80u
#define TOP 100u     /* names of a kind that are told */
#define SLOWEST 20u  /* calls */
#define SLOW_KEPT 6u /* slow calls of a minute or an hour */
#define FIRST_MACS 256u
#define NAME_BYTES 220u

struct slow {
    double ms, cpu_ms;
    int64_t time_ms, host_calls, asked;
    uint16_t action, caller;
    char mac[MAC_MAX];
};

/* The slowest calls of a cell, the slowest first. */
struct slows {
    size_t count;
    struct slow at[SLOW_KEPT];
};

struct cell {
    int64_t at; /* the beginning of its minute or hour; ms */
    uint16_t name;
    uint8_t kind;
    bool used, hour;
    uint32_t calls, failed, denied;
    uint16_t durations[BUCKETS]; /* never more than they can hold */
    double ms;
    uint64_t memory;
    struct slows *slow; /* of TREND_ALL; or NULL */
};

struct trends {
    const char *without; /* NULL: all callers count */
    struct cell *cells;  /* TRENDS_CELLS, with room for as many */
    size_t count;
    char *names[TRENDS_NAMES + 1]; /* 0 is "other" */
    size_t name_count;
    int64_t compacted_ms; /* when that was done last */
    bool cut, begun;
    struct trail_place place;
    char (*seen)
        [MAC_MAX]; /* the newest records of the first reading, so none counts twice */
    size_t seen_count;
    size_t read;
    int64_t since_ms, now_ms;
};

struct trends *trends_new(const char *without)
{
    struct trends *t = mem_new(sizeof *t);
    t->without = without;
    t->cells = mem_new(2 * TRENDS_CELLS * sizeof *t->cells);
    t->seen = mem_new(FIRST_MACS * sizeof *t->seen);
    t->names[t->name_count++] = mem_strdup("other");
    return t;
}

static void cells_free(struct cell *cells)
{
    for (size_t i = 0; cells && i < 2 * TRENDS_CELLS; i++)
        free(cells[i].slow);
    free(cells);
}

void trends_free(struct trends *t)
{
    if (!t)
        return;
    cells_free(t->cells);
    for (size_t i = 0; i < t->name_count; i++)
        free(t->names[i]);
    free(t->seen);
    free(t);
}

/* ---- cells ----------------------------------------------------------------------- */

static uint16_t name_number(struct trends *t, struct str name)
{
    char text[NAME_BYTES];
    struct str cut = str_cut(name, sizeof text - 1);
    memcpy(text, cut.at, cut.n);
    text[cut.n] = '\0';
    for (size_t i = 1; i < t->name_count; i++)
        if (!strcmp(t->names[i], text))
            return (uint16_t)i;
    if (t->name_count > TRENDS_NAMES)
        return 0;
    t->names[t->name_count] = mem_strdup(text);
    return (uint16_t)t->name_count++;
}

static size_t slot_of(int64_t at, bool hour, enum trend_kind kind, uint16_t name)
{
    uint64_t h = (uint64_t)at / (uint64_t)MINUTE_MS;
    h = (h * 31 + name) * 7 + (unsigned)kind * 2u + hour;
    h *= UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(h >> 40) % (2 * TRENDS_CELLS);
}

/* The cell of this key, or the free one where it goes. */
static struct cell *cell_find(struct cell *cells, int64_t at, bool hour,
                              enum trend_kind kind, uint16_t name)
{
    size_t i = slot_of(at, hour, kind, name);
    while (cells[i].used && (cells[i].at != at || cells[i].hour != hour ||
                             cells[i].kind != kind || cells[i].name != name))
        i = (i + 1) % (2 * TRENDS_CELLS);
    return &cells[i];
}

static void add_saturating(uint16_t *to, uint16_t n)
{
    *to = (uint16_t)(*to > UINT16_MAX - n ? UINT16_MAX : *to + n);
}

/* Puts it where it belongs among `n`, the slowest first, of which at most `most` stay;
 * answers how many there are then. */
static size_t slow_insert(struct slow *all, size_t n, size_t most, const struct slow *one)
{
    size_t at = n;
    while (at && all[at - 1].ms < one->ms)
        at--;
    if (at == most)
        return n;
    n = n < most ? n + 1 : n;
    memmove(&all[at + 1], &all[at], (n - at - 1) * sizeof *all);
    all[at] = *one;
    return n;
}

static void cell_add_slow(struct cell *c, const struct slow *one)
{
    if (!c->slow)
        c->slow = mem_new(sizeof *c->slow);
    c->slow->count = slow_insert(c->slow->at, c->slow->count, SLOW_KEPT, one);
}

/* `from->slow` stays its own. */
static void cell_join(struct cell *to, const struct cell *from)
{
    to->calls += from->calls;
    to->failed += from->failed;
    to->denied += from->denied;
    to->ms += from->ms;
    to->memory = to->memory > from->memory ? to->memory : from->memory;
    for (size_t i = 0; i < BUCKETS; i++)
        add_saturating(&to->durations[i], from->durations[i]);
    for (size_t i = 0; from->slow && i < from->slow->count; i++)
        cell_add_slow(to, &from->slow->at[i]);
}

/* Joins minutes that are old to their hours, and drops hours of before `oldest_ms`. */
static void cells_compact(struct trends *t, int64_t now_ms, int64_t oldest_ms)
{
    struct cell *old = t->cells;
    t->cells = mem_new(2 * TRENDS_CELLS * sizeof *t->cells);
    t->count = 0;
    for (size_t i = 0; i < 2 * TRENDS_CELLS; i++) {
        struct cell *c = &old[i];
        bool hour = c->hour || c->at < now_ms - MINUTES_KEPT_MS;
        int64_t at = hour ? c->at - c->at % HOUR_MS : c->at;
        if (!c->used || at + (hour ? HOUR_MS : MINUTE_MS) <= oldest_ms)
            continue;
        struct cell *to = cell_find(t->cells, at, hour, c->kind, c->name);
        t->count += !to->used;
        to->used = true;
        to->at = at;
        to->hour = hour;
        to->kind = c->kind;
        to->name = c->name;
        cell_join(to, c);
    }
    cells_free(old);
}

static void cells_make_room(struct trends *t, int64_t now_ms)
{
    int64_t reach = (int64_t)TRENDS_DAYS * 24 * HOUR_MS;
    if (t->count < TRENDS_CELLS && now_ms - t->compacted_ms < HOUR_MS)
        return;
    t->compacted_ms = now_ms;
    cells_compact(t, now_ms, now_ms - reach);
    for (reach /= 2; t->count > TRENDS_CELLS - TRENDS_CELLS / 8 && reach > HOUR_MS;
         reach /= 2) {
        t->cut = true;
        cells_compact(t, now_ms, now_ms - reach);
    }
}

/* NULL: nothing can be counted any more, in this minute alone. */
static struct cell *cell_at(struct trends *t, int64_t time_ms, int64_t now_ms,
                            enum trend_kind kind, uint16_t name)
{
    bool hour = time_ms < now_ms - MINUTES_KEPT_MS;
    int64_t at = time_ms - time_ms % (hour ? HOUR_MS : MINUTE_MS);
    struct cell *c = cell_find(t->cells, at, hour, kind, name);
    if (!c->used && t->count >= TRENDS_CELLS) {
        cells_make_room(t, now_ms);
        c = cell_find(t->cells, at, hour, kind, name);
        if (!c->used && t->count >= TRENDS_CELLS)
            return NULL;
    }
    if (!c->used) {
        *c = (struct cell){
            .at = at, .hour = hour, .kind = (uint8_t)kind, .name = name, .used = true};
        t->count++;
    }
    return c;
}

/* ---- counting -------------------------------------------------------------------- */

static size_t bucket_of(double ms)
{
    if (!(ms >= 1))
        return 0;
    double i = log(ms) / log(FACTOR) + 1;
    return i < BUCKETS ? (size_t)i : BUCKETS - 1;
}

static void count(struct trends *t, int64_t time_ms, int64_t now_ms, enum trend_kind kind,
                  uint16_t name, double ms, bool failed, uint64_t memory)
{
    struct cell *c = cell_at(t, time_ms, now_ms, kind, name);
    if (!c)
        return;
    c->calls++;
    c->failed += failed;
    c->ms += ms;
    c->memory = c->memory > memory ? c->memory : memory;
    add_saturating(&c->durations[bucket_of(ms)], 1);
}

static void count_methods(struct trends *t, int64_t time_ms, int64_t now_ms,
                          const struct json *r)
{
    static const char *const members[] = {"calls", "failed", "denied"};
    for (size_t k = 0; k < LENGTH(members); k++) {
        struct json_iter it = json_iter(json_get(r, members[k]));
        while (json_next(&it)) {
            int64_t n = json_int(it.value, 0);
            struct cell *c =
                n <= 0 || it.key.n == 0 || it.key.n >= NAME_BYTES
                    ? NULL
                    : cell_at(t, time_ms, now_ms, TREND_METHOD, name_number(t, it.key));
            if (!c)
                continue;
            uint32_t *to = k == 0 ? &c->calls : k == 1 ? &c->failed : &c->denied;
            *to += (uint32_t)(n > 1000000 ? 1000000 : n);
        }
    }
}

static void keep_slowest(struct trends *t, int64_t time_ms, int64_t now_ms, double ms,
                         uint16_t action, uint16_t caller, const struct json *r)
{
    struct cell *c = cell_at(t, time_ms, now_ms, TREND_ALL, 0);
    if (!c)
        return;
    struct slow one = {.ms = ms,
                       .cpu_ms = json_number(json_get(r, "cpu_ms"), 0),
                       .host_calls = json_int(json_get(r, "host_calls"), 0),
                       .asked = json_int(json_get(r, "asked"), 0),
                       .time_ms = time_ms,
                       .action = action,
                       .caller = caller};
    struct str mac = str_cut(json_str(json_get(r, "mac")), MAC_MAX - 1);
    memcpy(one.mac, mac.at, mac.n);
    cell_add_slow(c, &one);
}

void trends_add(struct trends *t, const struct json *r, int64_t now_ms)
{
    int64_t time_ms;
    char who[NAME_BYTES];
    struct str time = json_str(json_get(r, "time")),
               result = json_str(json_get(r, "result"));
    if (!str_is(json_str(json_get(r, "event")), "call") || !date_read(time, &time_ms) ||
        time_ms < now_ms - (int64_t)TRENDS_DAYS * 24 * HOUR_MS ||
        time_ms > now_ms + HOUR_MS)
        return;
    if (t->without && str_is(json_str(json_get(r, "caller")), t->without))
        return;
    double ms = json_number(json_get(r, "ms"), 0);
    bool failed = !str_is(result, "success");
    uint64_t memory = (uint64_t)json_int(json_get(r, "peak_memory_bytes"), 0);
    (void)snprintf(
        who, sizeof who, "%.*s\t%.*s",
        STR_ARGS(str_cut(json_str(json_get(r, "caller")), 100)),
        STR_ARGS(str_cut(json_str(json_get(json_get(r, "client"), "name")), 100)));
    uint16_t action = name_number(t, json_str(json_get(r, "action"))),
             caller = name_number(t, str_of(who));
    cells_make_room(t, now_ms);
    count(t, time_ms, now_ms, TREND_ALL, 0, ms, failed, memory);
    count(t, time_ms, now_ms, TREND_ACTION, action, ms, failed, memory);
    count(t, time_ms, now_ms, TREND_CALLER, caller, ms, failed, memory);
    if (failed && result.n)
        count(t, time_ms, now_ms, TREND_ERROR, name_number(t, result), ms, true, memory);
    count_methods(t, time_ms, now_ms, r);
    keep_slowest(t, time_ms, now_ms, ms, action, caller, r);
}

/* ---- the trail --------------------------------------------------------------------- */

static bool was_seen(const struct trends *t, struct str mac)
{
    for (size_t i = 0; i < t->seen_count; i++)
        if (mac.n && str_is(mac, t->seen[i]))
            return true;
    return false;
}

static bool see_record(struct trends *t, struct str line, bool first)
{
    static const char mark[] = "\"event\":\"call\"";
    struct err none = {0};
    int64_t time_ms;
    if (!memmem(line.at, line.n, mark, sizeof mark - 1))
        return true;
    scoped(arena_free) struct arena *a = arena_new(ARENA_SMALL);
    const struct json *r = json_read(line, a, &none);
    struct str mac = json_str(json_get(r, "mac"));
    if (!r)
        return true;
    if (!first && was_seen(t, mac))
        return true;
    if (first && date_read(json_str(json_get(r, "time")), &time_ms) &&
        time_ms < t->since_ms)
        return false;
    if (first && t->seen_count < FIRST_MACS && mac.n < MAC_MAX)
        memcpy(t->seen[t->seen_count++], mac.at, mac.n);
    trends_add(t, r, t->now_ms);
    return !first || ++t->read < TRENDS_RECORDS;
}

static bool see_old(void *arg, struct str line, struct err *e)
{
    (void)e;
    return see_record(arg, line, true);
}

static bool see_new(void *arg, struct str line, struct err *e)
{
    (void)e;
    return see_record(arg, line, false);
}

bool trends_catch_up(struct trends *t, struct trail *trail, int64_t now_ms, struct err *e)
{
    t->now_ms = now_ms;
    t->since_ms = now_ms - (int64_t)TRENDS_DAYS * 24 * HOUR_MS;
    bool ok = trail_follow(trail, &t->place, see_new, t, e);
    if (t->begun)
        return ok;
    t->begun = true;
    return ok && trail_back(trail, see_old, t, e);
}

/* ---- telling ----------------------------------------------------------------------- */

/* The duration that `part` of the calls did not exceed; -1: there are none. */
static double quantile(const struct cell *c, double part)
{
    uint64_t all = 0, below = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        all += c->durations[i];
    if (!all)
        return -1;
    for (size_t i = 0; i < BUCKETS; i++) {
        below += c->durations[i];
        if ((double)below >= part * (double)all)
            return i ? pow(FACTOR, (double)i - 0.5) : 0.5;
    }
    return -1;
}

static void put_figures(const struct cell *c, struct json_writer *w)
{
    json_pair_int(w, "calls", c->calls);
    json_pair_int(w, "failed", c->failed);
    if (quantile(c, 0.5) >= 0) {
        json_pair_number(w, "p50", quantile(c, 0.5));
        json_pair_number(w, "p95", quantile(c, 0.95));
    }
    json_pair_number(w, "ms", c->ms);
}

static void put_who(const struct trends *t, const char *key, uint16_t name,
                    struct json_writer *w)
{
    const char *text = t->names[name], *tab = strchr(text, '\t');
    size_t n = tab ? (size_t)(tab - text) : strlen(text);
    json_pair_str(w, key, (struct str){text, n});
    if (tab && tab[1])
        json_pair_cstr(w, "client", tab + 1);
}

static bool in_range(const struct cell *c, const struct trend_range *r)
{
    return c->used && c->at + (c->hour ? HOUR_MS : MINUTE_MS) > r->from_ms &&
           c->at < r->to_ms;
}

static int compare_calls(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    uint64_t m = (uint64_t)x->calls + x->denied, n = (uint64_t)y->calls + y->denied;
    return m != n ? (m < n ? 1 : -1) : (int)x->name - (int)y->name;
}

/* All names of a kind, the most called first. */
static void put_kind(const struct trends *t, const struct trend_range *r,
                     enum trend_kind kind, const char *key, struct json_writer *w)
{
    scoped(free) struct cell *sums = mem_new((TRENDS_NAMES + 1) * sizeof *sums);
    for (size_t i = 0; i < 2 * TRENDS_CELLS; i++) {
        struct cell c = t->cells[i];
        if (!in_range(&c, r) || c.kind != kind)
            continue;
        c.slow = NULL;
        sums[c.name].used = true;
        sums[c.name].name = c.name;
        cell_join(&sums[c.name], &c);
    }
    qsort(sums, TRENDS_NAMES + 1, sizeof *sums, compare_calls);
    json_key(w, key);
    json_open_array(w);
    for (size_t i = 0; i < TOP && sums[i].used; i++) {
        json_open_object(w);
        if (kind == TREND_CALLER)
            put_who(t, "name", sums[i].name, w);
        else
            json_pair_cstr(w, "name", t->names[sums[i].name]);
        if (kind == TREND_METHOD) {
            json_pair_int(w, "calls", sums[i].calls);
            json_pair_int(w, "failed", sums[i].failed);
            json_pair_int(w, "denied", sums[i].denied);
        } else {
            put_figures(&sums[i], w);
        }
        json_close(w);
    }
    json_close(w);
}

static void put_slowest(const struct trends *t, const struct trend_range *r,
                        struct json_writer *w)
{
    struct slow all[SLOWEST];
    size_t n = 0;
    for (size_t i = 0; i < 2 * TRENDS_CELLS; i++) {
        const struct cell *c = &t->cells[i];
        for (size_t k = 0; in_range(c, r) && c->slow && k < c->slow->count; k++)
            if (c->slow->at[k].time_ms >= r->from_ms)
                n = slow_insert(all, n, SLOWEST, &c->slow->at[k]);
    }
    json_key(w, "slowest");
    json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        json_open_object(w);
        json_pair_cstr(w, "mac", all[i].mac);
        json_pair_time(w, "time", all[i].time_ms);
        json_pair_cstr(w, "action", t->names[all[i].action]);
        put_who(t, "caller", all[i].caller, w);
        json_pair_number(w, "ms", all[i].ms);
        json_pair_number(w, "cpu_ms", all[i].cpu_ms);
        json_pair_int(w, "host_calls", all[i].host_calls);
        json_pair_int(w, "asked", all[i].asked);
        json_close(w);
    }
    json_close(w);
}

/* The number of the name that points are asked for; -1: it never was. */
static int name_wanted(const struct trends *t, const struct trend_range *r)
{
    if (r->kind == TREND_ALL)
        return 0;
    for (size_t i = 0; i < t->name_count; i++)
        if (str_is(r->name, t->names[i]))
            return (int)i;
    return -1;
}

static void put_points(const struct trends *t, const struct trend_range *r,
                       struct json_writer *w)
{
    size_t n = (size_t)((r->to_ms - r->from_ms + r->step_ms - 1) / r->step_ms);
    int name = name_wanted(t, r);
    struct cell total = {0};
    scoped(free) struct cell *points = mem_new((n + 1) * sizeof *points);
    for (size_t i = 0; i < 2 * TRENDS_CELLS; i++) {
        struct cell c = t->cells[i];
        if (!in_range(&c, r) || c.kind != r->kind || c.name != name)
            continue;
        int64_t at = c.at < r->from_ms ? 0 : (c.at - r->from_ms) / r->step_ms;
        c.slow = NULL;
        cell_join(&points[at], &c);
        cell_join(&total, &c);
    }
    json_key(w, "points");
    json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        if (!points[i].calls)
            continue;
        json_open_object(w);
        json_pair_int(w, "at", r->from_ms + (int64_t)i * r->step_ms);
        put_figures(&points[i], w);
        json_pair_int(w, "memory", (int64_t)points[i].memory);
        json_close(w);
    }
    json_close(w);
    json_key(w, "total");
    json_open_object(w);
    put_figures(&total, w);
    json_pair_int(w, "memory", (int64_t)total.memory);
    json_close(w);
}

bool trends_put(const struct trends *t, const struct trend_range *r,
                struct json_writer *w, struct err *e)
{
    if (r->step_ms < MINUTE_MS || r->to_ms <= r->from_ms ||
        (r->to_ms - r->from_ms) / r->step_ms >= TREND_POINTS_MAX)
        return err_set(e, ERR_INVALID, "at most %u steps, each of a minute or more",
                       TREND_POINTS_MAX);
    json_open_object(w);
    json_pair_int(w, "from", r->from_ms);
    json_pair_int(w, "to", r->to_ms);
    json_pair_int(w, "step", r->step_ms);
    put_points(t, r, w);
    put_kind(t, r, TREND_ACTION, "actions", w);
    put_kind(t, r, TREND_CALLER, "callers", w);
    put_kind(t, r, TREND_METHOD, "methods", w);
    put_kind(t, r, TREND_ERROR, "errors", w);
    put_slowest(t, r, w);
    json_pair_bool(w, "cut", t->cut);
    json_close(w);
    return true;
}
