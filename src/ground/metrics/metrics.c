#include "metrics/metrics.h"

#include <inttypes.h>

#define OUTCOMES 5u
#define BUCKETS 14u

/* Upper bounds; what takes longer is in +Inf alone. */
static const struct {
    uint64_t ns;
    const char *le;
} buckets[BUCKETS] = {
    {50000, "0.00005"},  {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},
    {1000000, "0.001"},  {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},
    {25000000, "0.025"}, {100000000, "0.1"},  {500000000, "0.5"},  {2000000000, "2"},
    {10000000000, "10"}, {60000000000, "60"},
};

static const char *const outcomes[OUTCOMES] = {"success", "error", "denied", "limit",
                                               "cancelled"};

/* A cache line's beginning of its own: neighbours are counted by other threads. */
struct series {
    _Alignas(64) atomic_uint_least64_t ended[OUTCOMES];
    atomic_uint_least64_t took[BUCKETS + 1]; /* each for itself; summed when told */
    atomic_uint_least64_t ns;
};

struct metric_family {
    const char *name, *help, *label;
    const char *const *values;
    size_t count;
    struct series *series;
};

enum metric_outcome metric_outcome(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return METRIC_SUCCESS;
    case ERR_DENIED:
        return METRIC_DENIED;
    case ERR_CANCELLED:
        return METRIC_CANCELLED;
    case ERR_TIMEOUT:
    case ERR_FUEL:
    case ERR_MEMORY:
    case ERR_STACK:
    case ERR_OUTPUT:
    case ERR_HOST_CALLS:
    case ERR_LIMIT:
        return METRIC_LIMIT;
    default:
        return METRIC_ERROR;
    }
}

/* ---- counting ----------------------------------------------------------- */

struct metric_family *metric_family_new(const char *name, const char *help,
                                        const char *label, const char *const *values,
                                        size_t count)
{
    struct metric_family *f = mem_new(sizeof *f);
    *f = (struct metric_family){name, help, label, values, count, NULL};
    f->series = aligned_alloc(64, (count + 1) * sizeof *f->series);
    must(f->series != NULL);
    memset((void *)f->series, 0, (count + 1) * sizeof *f->series);
    return f;
}

void metric_family_free(struct metric_family *f)
{
    if (f)
        free(f->series);
    free(f);
}

static void counter_add(atomic_uint_least64_t *n, uint64_t more)
{
    atomic_fetch_add_explicit(n, more, memory_order_relaxed);
}

void metric_count(struct metric_family *f, size_t value, enum metric_outcome outcome,
                  uint64_t ns)
{
    if (value >= f->count)
        return;
    struct series *s = &f->series[value];
    size_t b = 0;
    while (b < BUCKETS && ns > buckets[b].ns)
        b++;
    counter_add(&s->ended[outcome], 1);
    counter_add(&s->took[b], 1);
    counter_add(&s->ns, ns);
}

/* ---- telling ------------------------------------------------------------ */

/* In a label's value backslash, quote and line end are escaped; in a help text a quote
 * stands for itself. */
static void put_escaped(struct buf *out, const char *text, bool in_label)
{
    for (; *text; text++) {
        if (*text == '\\' || (in_label && *text == '"'))
            buf_char(out, '\\');
        if (*text == '\n')
            buf_cstr(out, "\\n");
        else
            buf_char(out, *text);
    }
}

static void metric_put_head(struct buf *out, const char *name, const char *suffix,
                            const char *type, const char *help)
{
    buf_printf(out, "# HELP %s%s ", name, suffix);
    put_escaped(out, help, false);
    buf_printf(out, "\n# TYPE %s%s %s\n", name, suffix, type);
}

static uint64_t get(const atomic_uint_least64_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

static uint64_t total(const struct series *s)
{
    uint64_t n = 0;
    for (size_t b = 0; b <= BUCKETS; b++)
        n += get(&s->took[b]);
    return n;
}

static void metric_put_label(const struct metric_family *f, size_t value, struct buf *out)
{
    buf_printf(out, "{%s=\"", f->label);
    put_escaped(out, f->values[value], true);
    buf_char(out, '"');
}

static void put_histogram(const struct metric_family *f, size_t value, struct buf *out)
{
    const struct series *s = &f->series[value];
    uint64_t n = 0;
    for (size_t b = 0; b <= BUCKETS; b++) {
        n += get(&s->took[b]);
        buf_printf(out, "%s_duration_seconds_bucket", f->name);
        metric_put_label(f, value, out);
        buf_printf(out, ",le=\"%s\"} %" PRIu64 "\n", b < BUCKETS ? buckets[b].le : "+Inf",
                   n);
    }
    buf_printf(out, "%s_duration_seconds_sum", f->name);
    metric_put_label(f, value, out);
    buf_printf(out, "} %.9f\n%s_duration_seconds_count", (double)get(&s->ns) / 1e9,
               f->name);
    metric_put_label(f, value, out);
    /* The sum of the same buckets: what is counted meanwhile must not come between. */
    buf_printf(out, "} %" PRIu64 "\n", n);
}

void metric_family_write(const struct metric_family *f, struct buf *out)
{
    metric_put_head(out, f->name, "_total", "counter", f->help);
    for (size_t i = 0; i < f->count; i++)
        for (size_t o = 0; o < OUTCOMES; o++) {
            uint64_t n = get(&f->series[i].ended[o]);
            if (!n)
                continue;
            buf_printf(out, "%s_total", f->name);
            metric_put_label(f, i, out);
            buf_printf(out, ",outcome=\"%s\"} %" PRIu64 "\n", outcomes[o], n);
        }
    metric_put_head(out, f->name, "_duration_seconds", "histogram", f->help);
    for (size_t i = 0; i < f->count; i++)
        if (total(&f->series[i]))
            put_histogram(f, i, out);
}

void metric_write_more(struct buf *out, const char *name, const char *labels,
                       double value)
{
    buf_cstr(out, name);
    if (labels)
        buf_printf(out, "{%s}", labels);
    buf_printf(out, " %.17g\n", value);
}

void metric_write(struct buf *out, const char *name, const char *type, const char *help,
                  const char *labels, double value)
{
    metric_put_head(out, name, "", type, help);
    metric_write_more(out, name, labels, value);
}
