/* metrics/metrics.h - counters and latency histograms, told in Prometheus' text format.
 *
 * A family counts one kind of thing by one label whose values are all known when it is
 * made, so that nothing from outside can make it grow. Counting takes no lock.
 * Source: the Prometheus exposition formats, text format 0.0.4.
 * Threads: safe, except making and freeing.
 */
#pragma once
#include "base/base.h"

/* How something ended; the label "outcome". */
enum metric_outcome {
    METRIC_SUCCESS,
    METRIC_ERROR,
    METRIC_DENIED,
    METRIC_LIMIT, /* of time, memory, size or number */
    METRIC_CANCELLED,
};
enum metric_outcome metric_outcome(enum err_code code);

struct metric_family;

/* "NAME_total" and "NAME_duration_seconds" by `label`. All texts are borrowed; `name` and
 * `label` are names as Prometheus wants them, `help` and values may be any text. */
struct metric_family *metric_family_new(const char *name, const char *help,
                                        const char *label, const char *const *values,
                                        size_t count);
void metric_family_free(struct metric_family *f); /* NULL is fine */

/* Counts the value with this number; numbers beyond the last are not counted. */
void metric_count(struct metric_family *f, size_t value, enum metric_outcome outcome,
                  uint64_t ns);

/* Appends what was counted; values that never were are left out. */
void metric_family_write(const struct metric_family *f, struct buf *out);

/* Writes a single metric: HELP, TYPE ("counter" or "gauge") and its value. `labels`: as
 * they stand between the braces, or NULL. */
void metric_write(struct buf *out, const char *name, const char *type, const char *help,
                  const char *labels, double value);
/* A further one of the same name. */
void metric_write_more(struct buf *out, const char *name, const char *labels,
                       double value);
