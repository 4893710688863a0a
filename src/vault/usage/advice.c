/* Suggestions to the functions' owner: few sentences, each with the
 * figures that led to it.
 */
#include <stdio.h>

#include "usage/inner.h"
#include "usage/shape.h"

#define SLOW_MS 1000.0    /* of the 95th of 100 */
#define SLOWER_TIMES 1.5  /* than the version before */
#define ENOUGH_CALLS 10u  /* to speak of durations */
#define FAILING_SHARE 0.1 /* of calls, from five on */
#define FAILING_CALLS 5u
#define NEVER_DAYS 7 /* since it was registered */
#define UNUSED_DAYS 60
#define IN_A_ROW 3u /* host calls that were awaited one after the other */

struct advising {
    struct json_writer *w;
    size_t left;
    int64_t now_ms;
};

/* Opens a suggestion, whose figures follow; false: enough was said. */
static bool suggest(struct advising *a, const char *kind, const struct usage_function *fn,
                    const char *message)
{
    if (!a->left)
        return false;
    a->left--;
    json_open_object(a->w);
    json_pair_cstr(a->w, "kind", kind);
    json_pair_str(a->w, "function", fn->name);
    json_pair_cstr(a->w, "message", message);
    json_key(a->w, "figures");
    json_open_object(a->w);
    return true;
}

static void advising_end(struct advising *a)
{
    json_close(a->w);
    json_close(a->w);
}

static uint64_t timed(const struct usage_figures *x)
{
    uint64_t n = 0;
    for (size_t i = 0; i < USAGE_BUCKETS; i++)
        n += x->times[i];
    return n;
}

static const struct usage_figures *current(const struct usage_subject *s)
{
    const struct usage_detail *d = s->used;
    return d->version_count && d->versions[0].version == s->fn->version ? &d->versions[0]
                                                                        : NULL;
}

static void advise_slow(struct advising *a, const struct usage_subject *s)
{
    const struct usage_figures *x = current(s);
    double p95 = x ? usage_quantile(x->times, 0.95) : 0;
    if (!x || timed(x) < ENOUGH_CALLS || p95 < SLOW_MS)
        return;
    const char *message =
        x->in_a_row >= IN_A_ROW
            ? "it is slow, and awaits host calls one after the other; where none needs the "
              "answer of the one before, await Promise.all(...) of them"
            : "it is slow; ask for less (fields, limit), or do the work for many at once";
    if (!suggest(a, "slow", s->fn, message))
        return;
    json_pair_number(a->w, "p95", p95);
    json_pair_int(a->w, "calls", (int64_t)x->calls);
    if (x->in_a_row)
        json_pair_int(a->w, "inARow", x->in_a_row);
    advising_end(a);
}

static void advise_slower(struct advising *a, const struct usage_subject *s)
{
    const struct usage_figures *x = current(s);
    const struct usage_figures *before =
        x && s->used->version_count > 1 ? &s->used->versions[1] : NULL;
    if (!before || !before->version || timed(x) < ENOUGH_CALLS ||
        timed(before) < ENOUGH_CALLS)
        return;
    double now = usage_quantile(x->times, 0.5), then = usage_quantile(before->times, 0.5);
    if (then <= 0 || now < then * SLOWER_TIMES ||
        !suggest(a, "slower", s->fn,
                 "it became slower with its last version; compare the two with "
                 "custom_function_versions, or roll it back"))
        return;
    json_pair_int(a->w, "version", x->version);
    json_pair_number(a->w, "p50", now);
    json_pair_int(a->w, "before", before->version);
    json_pair_number(a->w, "p50Before", then);
    advising_end(a);
}

static void advise_failing(struct advising *a, const struct usage_subject *s)
{
    const struct usage_figures *x = current(s);
    if (!x || x->calls < FAILING_CALLS ||
        (double)x->failed < FAILING_SHARE * (double)x->calls)
        return;
    const struct usage_kind *worst = x->kind_count ? &x->kinds[0] : NULL;
    if (!suggest(a, "failing", s->fn,
                 "many of its calls fail; run it with test_custom_function, and add "
                 "an example with such arguments"))
        return;
    json_pair_int(a->w, "calls", (int64_t)x->calls);
    json_pair_int(a->w, "failed", (int64_t)x->failed);
    if (worst) {
        json_pair_cstr(a->w, "commonest", worst->kind);
        json_pair_int(a->w, "times", (int64_t)worst->count);
    }
    advising_end(a);
}

static void advise_unused(struct advising *a, const struct usage_subject *s)
{
    const struct usage_figures *x = &s->used->all;
    int64_t age = s->fn->made_ms ? (a->now_ms - s->fn->made_ms) / USAGE_DAY_MS : 0;
    int64_t idle = x->last_ms ? (a->now_ms - x->last_ms) / USAGE_DAY_MS : 0;
    bool never = !x->calls && !s->fn->counted && age >= NEVER_DAYS;
    if ((never || idle >= UNUSED_DAYS) &&
        suggest(a, never ? "never used" : "unused", s->fn,
                never ? "nothing has called it since it was registered; its description "
                        "may not say when it helps, or it can be deleted"
                      : "nothing has called it for long; it can be deleted, and its "
                        "versions are kept")) {
        json_pair_int(a->w, "days", never ? age : idle);
        json_pair_int(a->w, "calls", (int64_t)x->calls);
        advising_end(a);
    }
}

/* Also for functions that are fast enough: the loop is a needless cost. */
static void advise_batch(struct advising *a, const struct usage_subject *s)
{
    const struct usage_figures *x = current(s);
    if (!x || x->in_a_row < 2 * IN_A_ROW || x->calls < FAILING_CALLS ||
        usage_quantile(x->times, 0.95) >= SLOW_MS ||
        !suggest(a, "in a row", s->fn,
                 "it awaits host calls one after the other; where none needs the answer "
                 "of the one before, await Promise.all(...) of them"))
        return;
    json_pair_int(a->w, "inARow", x->in_a_row);
    json_pair_int(a->w, "calls", (int64_t)x->calls);
    advising_end(a);
}

/* ---- the same code twice --------------------------------------------------- */

struct body {
    uint64_t sum;
    const struct usage_function *fn;
};

static int by_sum(const void *a, const void *b)
{
    const struct body *x = a, *y = b;
    return x->sum != y->sum ? (x->sum < y->sum ? -1 : 1)
                            : str_cmp(x->fn->name, y->fn->name);
}

static void advise_twins(struct advising *a, const struct usage_subject *of, size_t count)
{
    scoped(free) struct body *bodies = calloc(count + 1, sizeof *bodies);
    for (size_t i = 0; bodies && i < count; i++)
        bodies[i] = (struct body){code_sum(of[i].fn->code, of[i].fn->name), of[i].fn};
    if (bodies)
        qsort(bodies, count, sizeof *bodies, by_sum);
    for (size_t i = 1; bodies && i < count; i++) {
        if (bodies[i].sum != bodies[i - 1].sum)
            continue;
        if (!suggest(a, "same code", bodies[i].fn,
                     "it has the same code as another one; one of them is enough"))
            return;
        json_pair_str(a->w, "other", bodies[i - 1].fn->name);
        advising_end(a);
    }
}

void usage_advise(const struct usage_subject *of, size_t count, int64_t now_ms,
                  size_t most, struct json_writer *w)
{
    struct advising a = {.w = w, .left = most, .now_ms = now_ms};
    static void (*const each[])(struct advising *, const struct usage_subject *) = {
        advise_failing, advise_slow, advise_slower, advise_batch, advise_unused};
    /* By weight: what fails first, of all functions. */
    for (size_t k = 0; k < LENGTH(each); k++) {
        for (size_t i = 0; i < count; i++)
            each[k](&a, &of[i]);
        if (k == 2)
            advise_twins(&a, of, count);
    }
}
