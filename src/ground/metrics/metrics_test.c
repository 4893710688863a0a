/* Counters and histograms in the text format, as specified. */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "metrics/metrics.h"

static const char *const values[] = {"plain", "a \"quoted\"\\\n one", "never"};

static void counts_and_times_are_told_by_label_and_outcome(void **state)
{
    (void)state;
    struct metric_family *f =
        metric_family_new("x_calls", "calls\nby \\ value", "tool", values, 3);
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    metric_count(f, 0, METRIC_SUCCESS, 60000);
    metric_count(f, 0, METRIC_SUCCESS, 3000000);
    metric_count(f, 0, METRIC_DENIED, 100000000000);
    metric_count(f, 1, METRIC_LIMIT, 1);
    metric_count(f, 3, METRIC_LIMIT, 1);
    metric_family_write(f, &b);
    const char *text = buf_cz(&b);
    assert_non_null(strstr(text, "# HELP x_calls_total calls\\nby \\\\ value\n"));
    assert_non_null(strstr(text, "# TYPE x_calls_total counter\n"));
    assert_non_null(
        strstr(text, "x_calls_total{tool=\"plain\",outcome=\"success\"} 2\n"));
    assert_non_null(strstr(text, "x_calls_total{tool=\"plain\",outcome=\"denied\"} 1\n"));
    assert_non_null(strstr(text, "# TYPE x_calls_duration_seconds histogram\n"));
    assert_non_null(strstr(
        text, "x_calls_duration_seconds_bucket{tool=\"plain\",le=\"0.0001\"} 1\n"));
    assert_non_null(
        strstr(text, "x_calls_duration_seconds_bucket{tool=\"plain\",le=\"0.005\"} 2\n"));
    assert_non_null(
        strstr(text, "x_calls_duration_seconds_bucket{tool=\"plain\",le=\"60\"} 2\n"));
    assert_non_null(
        strstr(text, "x_calls_duration_seconds_bucket{tool=\"plain\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(text, "x_calls_duration_seconds_count{tool=\"plain\"} 3\n"));
    assert_non_null(
        strstr(text, "x_calls_duration_seconds_sum{tool=\"plain\"} 100.003060000\n"));
    assert_non_null(
        strstr(text, "{tool=\"a \\\"quoted\\\"\\\\\\n one\",outcome=\"limit\"} 1"));
    assert_null(strstr(text, "never"));
    metric_family_free(f);
}

static void one_by_itself_is_told_with_and_without_labels(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    metric_write(&b, "a_total", "counter", "all", NULL, 3);
    metric_write(&b, "b", "gauge", "some", "kind=\"x\"", 0.5);
    metric_write_more(&b, "b", "kind=\"y\"", 2);
    assert_string_equal(buf_cz(&b),
                        "# HELP a_total all\n# TYPE a_total counter\na_total 3\n"
                        "# HELP b some\n# TYPE b gauge\nb{kind=\"x\"} 0.5\n"
                        "b{kind=\"y\"} 2\n");
}

static void *count_many(void *arg)
{
    for (unsigned i = 0; i < 10000; i++)
        metric_count(arg, 0, METRIC_ERROR, i);
    return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
    (void)state;
    struct metric_family *f = metric_family_new("x", "x", "v", values, 1);
    pthread_t threads[4];
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, f), 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
    scoped_buf struct buf b;
    buf_init(&b, 1 << 16);
    metric_family_write(f, &b);
    assert_non_null(strstr(buf_cz(&b), "outcome=\"error\"} 40000\n"));
    metric_family_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_times_are_told_by_label_and_outcome),
        cmocka_unit_test(one_by_itself_is_told_with_and_without_labels),
        cmocka_unit_test(nothing_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
