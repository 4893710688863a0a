/* The host calls of a call in time: kept beside its record for a while, by name, without
 * arguments. Of more than ACCOUNT_STEPS the longest stay: they say why a call was slow. */
#include "audit/audit.h"
#include "calls/calls.h"
#include "record/internal.h"
#include "record/record.h"
#include "json/json.h"

static size_t shortest_of(const struct account_steps *s)
{
    size_t k = 0;
    for (size_t i = 1; i < s->count; i++)
        k = s->at[i].us < s->at[k].us ? i : k;
    return k;
}

static void leave_out(struct account_steps *s, uint32_t us)
{
    s->left++;
    s->left_us += us;
}

/* It takes the place of the shortest one, unless it is shorter itself. */
static void steps_add(struct account_steps *s, const struct account_step *one)
{
    if (s->count < ACCOUNT_STEPS) {
        s->at[s->count++] = *one;
        if (s->count == ACCOUNT_STEPS)
            s->shortest = shortest_of(s);
        return;
    }
    struct account_step *place = &s->at[s->shortest];
    leave_out(s, one->us > place->us ? place->us : one->us);
    if (one->us <= place->us)
        return;
    *place = *one;
    s->shortest = shortest_of(s);
}

static uint32_t us_between(uint64_t from_ns, uint64_t to_ns)
{
    uint64_t us = to_ns > from_ns ? (to_ns - from_ns) / 1000 : 0;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

void account_step(struct account_part *p, uint32_t row, enum err_code outcome,
                  uint64_t begun_ns, uint64_t ended_ns)
{
    if (!p)
        return;
    struct account_step one = {.at_us = us_between(p->of->begun_ns, begun_ns),
                               .us = us_between(begun_ns, ended_ns),
                               .row = (uint16_t)row,
                               .outcome = (uint16_t)outcome};
    pthread_mutex_lock(&p->of->lock);
    if (!p->steps)
        p->steps = mem_new(sizeof *p->steps);
    steps_add(p->steps, &one);
    pthread_mutex_unlock(&p->of->lock);
}

/* ---- writing ----------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct account_step *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

static int by_length(const void *a, const void *b)
{
    const struct account_step *x = a, *y = b;
    return (x->us < y->us) - (x->us > y->us);
}

/* Names are written once, and stand in the steps as numbers. */
static void put_names(const struct account_steps *s, uint16_t number[HOST_CALLS_MAX],
                      struct json_writer *w)
{
    size_t count, named = 0;
    const struct host_call *const *calls = host_call_all(&count);
    json_key(w, "names");
    json_open_array(w);
    for (size_t i = 0; i < s->count; i++) {
        uint16_t *n = &number[s->at[i].row];
        if (*n)
            continue;
        *n = (uint16_t)++named;
        json_put_cstr(w, calls[s->at[i].row]->row.name);
    }
    json_close(w);
}

static void put_steps(const struct account_steps *s, struct buf *out)
{
    uint16_t number[HOST_CALLS_MAX] = {0};
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    put_names(s, number, &w);
    json_key(&w, "steps");
    json_open_array(&w);
    for (size_t i = 0; i < s->count; i++) {
        const struct account_step *one = &s->at[i];
        json_open_array(&w);
        json_put_int(&w, number[one->row] - 1);
        json_put_int(&w, one->at_us);
        json_put_int(&w, one->us);
        if (one->outcome != ERR_NONE)
            json_put_cstr(&w, account_word((enum err_code)one->outcome));
        json_close(&w);
    }
    json_close(&w);
    if (s->left) {
        json_pair_int(&w, "left", (int64_t)s->left);
        json_pair_int(&w, "left_us", (int64_t)s->left_us);
    }
    json_close(&w);
}

void account_write_steps(struct account_part *p, struct buf *out)
{
    struct account_steps *s = p->steps;
    if (!s || !p->of->has_stats)
        return;
    qsort(s->at, s->count, sizeof *s->at, by_start);
    put_steps(s, out);
    while (out->n > TRAIL_BESIDE_MAX) {
        buf_clear(out);
        qsort(s->at, s->count, sizeof *s->at, by_length);
        for (size_t most = s->count / 4 * 3; s->count > most; s->count--)
            leave_out(s, s->at[s->count - 1].us);
        qsort(s->at, s->count, sizeof *s->at, by_start);
        put_steps(s, out);
    }
}

/* ---- reading ----------------------------------------------------------------- */

/* A host call as a trace has it. What lies in a vault may be anything. */
static void tell_step(const struct json *names, const struct json *step,
                      struct json_writer *w)
{
    const struct json *name = json_at(names, (size_t)json_int(json_at(step, 0), -1));
    if (!json_is(name, JSON_STRING))
        return;
    json_open_object(w);
    json_pair(w, "call", name);
    json_pair_number(w, "at", (double)json_int(json_at(step, 1), 0) / 1e3);
    json_pair_number(w, "ms", (double)json_int(json_at(step, 2), 0) / 1e3);
    if (json_is(json_at(step, 3), JSON_STRING))
        json_pair(w, "outcome", json_at(step, 3));
    json_close(w);
}

void account_tell_steps(struct trail *trail, const struct json *record, struct arena *a,
                        struct json_writer *w)
{
    struct err none = {0};
    scoped_buf struct buf text = buf_of(TRAIL_BESIDE_MAX);
    bool kept = trail_beside(trail, (uint64_t)json_int(json_get(record, "n"), 0),
                             json_str(json_get(record, "mac")), &text, &none);
    const struct json *said = kept ? json_read(buf_view(&text), a, &none) : NULL;
    const struct json *steps = json_get(said, "steps");
    int64_t left = json_int(json_get(said, "left"), 0);
    if (!json_is(steps, JSON_ARRAY))
        return;
    json_key(w, "timeline");
    json_open_object(w);
    json_key(w, "calls");
    json_open_array(w);
    for (size_t i = 0; i < json_length(steps); i++)
        tell_step(json_get(said, "names"), json_at(steps, i), w);
    json_close(w);
    if (left > 0) {
        json_pair_int(w, "left", left);
        json_pair_number(w, "leftMs",
                         (double)json_int(json_get(said, "left_us"), 0) / 1e3);
    }
    json_close(w);
}
