/* How calls went: counted by minute and hour, and by what they were. */
#include "trends/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define NOW (INT64_C(1700000000000) / HOUR * HOUR)

static struct trends *trends;
static struct arena *arena;
static struct buf out;

static int begin(void **state)
{
    (void)state;
    trends = trends_new("page");
    arena = arena_new((size_t)64 << 20);
    buf_init(&out, (size_t)16 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    trends_free(trends);
    arena_free(arena);
    buf_done(&out);
    return 0;
}
#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void call(int64_t at, const char *action, const char *result, double ms,
                 const char *more)
{
    struct err e = {0};
    char time[25];
    scoped_buf struct buf text = buf_of(BUF_LIST);
    date_format(at, time);
    buf_printf(
        &text,
        "{\"event\":\"call\",\"time\":\"%s\",\"caller\":\"stdio\",\"action\":\"%s\","
        "\"result\":\"%s\",\"ms\":%g,\"mac\":\"%s%lld\"%s}",
        time, action, result, ms, action, (long long)at, more);
    scoped(arena_free) struct arena *a = arena_new(BUF_LIST);
    const struct json *r = json_read(buf_view(&text), a, &e);
    assert_non_null(r);
    trends_add(trends, r, NOW);
}

static const struct json *told(int64_t from, int64_t step, enum trend_kind kind,
                               const char *name)
{
    struct err e = {0};
    buf_clear(&out);
    struct json_writer w = json_writer(&out);
    const struct trend_range r = {.from_ms = from,
                                  .to_ms = NOW + MINUTE,
                                  .step_ms = step,
                                  .kind = kind,
                                  .name = str_of(name)};
    if (!trends_put(trends, &r, &w, &e))
        fail_msg("%s", e.msg);
    return json_read(buf_view(&out), arena, &e);
}

static int64_t number(const struct json *object, const char *key)
{
    return json_int(json_get(object, key), -1);
}

static const struct json *item(const struct json *list, size_t at)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        if (!at--)
            return it.value;
    return NULL;
}

static void calls_are_counted_by_what_they_were(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++)
        call(NOW - 10 * MINUTE, "get_note", "success", 5, ",\"calls\":{\"notes.get\":2}");
    call(NOW - 5 * MINUTE, "evaluate", "Timeout", 900,
         ",\"calls\":{\"notes.get\":1},\"denied\":{\"notes.delete\":3}");
    const struct json *x = told(NOW - HOUR, MINUTE, TREND_ALL, "");
    assert_int_equal(number(json_get(x, "total"), "calls"), 10);
    assert_int_equal(number(json_get(x, "total"), "failed"), 1);
    assert_int_equal(json_length(json_get(x, "points")), 2);
    assert_int_equal(number(item(json_get(x, "points"), 0), "at"), NOW - 10 * MINUTE);
    assert_string_equal(json_cstr(json_get(item(json_get(x, "actions"), 0), "name")),
                        "get_note");
    assert_int_equal(number(item(json_get(x, "methods"), 0), "calls"), 19);
    assert_int_equal(number(item(json_get(x, "methods"), 1), "denied"), 3);
    assert_string_equal(json_cstr(json_get(item(json_get(x, "errors"), 0), "name")),
                        "Timeout");
    assert_string_equal(json_cstr(json_get(item(json_get(x, "slowest"), 0), "action")),
                        "evaluate");
}

static void points_can_be_of_one_name(void **state)
{
    (void)state;
    call(NOW - 10 * MINUTE, "a", "success", 1, "");
    call(NOW - 10 * MINUTE, "b", "success", 1, "");
    assert_int_equal(
        number(json_get(told(NOW - HOUR, MINUTE, TREND_ACTION, "b"), "total"), "calls"),
        1);
    assert_int_equal(
        number(json_get(told(NOW - HOUR, MINUTE, TREND_ACTION, "c"), "total"), "calls"),
        0);
}

static void durations_are_told_to_a_sixth(void **state)
{
    (void)state;
    static const double ms[] = {0.2, 3, 40, 700, 20000};
    for (size_t i = 0; i < LENGTH(ms); i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "a%zu", i);
        call(NOW - MINUTE, name, "success", ms[i], "");
        const struct json *x = told(NOW - HOUR, MINUTE, TREND_ACTION, name);
        double p50 = json_number(json_get(json_get(x, "total"), "p50"), -1);
        if (ms[i] >= 1 && (p50 < ms[i] / 1.2 || p50 > ms[i] * 1.2))
            fail_msg("%g is told as %g", ms[i], p50);
        assert_true(ms[i] >= 1 || p50 <= 1);
    }
}

static const char *slowest(const struct json *x, size_t at)
{
    return json_cstr(json_get(item(json_get(x, "slowest"), at), "action"));
}

static void a_burst_does_not_hide_what_was_slow_beside_it(void **state)
{
    (void)state;
    call(NOW - 30 * HOUR, "earlier", "success", 300, "");
    for (int i = 0; i < 5; i++)
        call(NOW - 5 * MINUTE, "burst", "success", 900 + i, "");
    call(NOW - 5 * MINUTE, "beside", "success", 700, "");
    call(NOW - 5 * MINUTE, "seventh", "success", 600, "");
    call(NOW - 4 * MINUTE, "later", "success", 650, "");
    const struct json *x = told(NOW - 31 * 24 * HOUR, 12 * HOUR, TREND_ALL, "");
    static const char *const names[] = {"burst", "burst",  "burst", "burst",
                                        "burst", "beside", "later", "earlier"};
    assert_int_equal(json_length(json_get(x, "slowest")), LENGTH(names));
    for (size_t i = 0; i < LENGTH(names); i++)
        assert_string_equal(slowest(x, i), names[i]);
    assert_int_equal(number(item(json_get(x, "slowest"), 0), "ms"), 904);
}

static void slow_calls_stay_when_their_minutes_become_an_hour(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        call(NOW - 27 * HOUR + i * MINUTE, name, "success", 100 + i, "");
    }
    const struct json *x = told(NOW - 7 * 24 * HOUR, HOUR, TREND_ALL, "");
    assert_int_equal(json_length(json_get(x, "slowest")), 6);
    assert_string_equal(slowest(x, 0), "c8");
    assert_string_equal(slowest(x, 5), "c3");
}

static void old_minutes_become_hours_and_the_oldest_go(void **state)
{
    (void)state;
    call(NOW - 30 * HOUR + 7 * MINUTE, "a", "success", 1, "");
    call(NOW - 30 * HOUR + 50 * MINUTE, "a", "success", 1, "");
    call(NOW - 40 * 24 * HOUR, "a", "success", 1, "");
    const struct json *x = told(NOW - 31 * 24 * HOUR, 12 * HOUR, TREND_ALL, "");
    assert_int_equal(json_length(json_get(x, "points")), 1);
    assert_int_equal(number(json_get(x, "total"), "calls"), 2);
}

static void memory_is_bounded_whatever_comes(void **state)
{
    (void)state;
    for (int day = 30; day >= 0; day--)
        for (int i = 0; i < 2500; i++) {
            char name[24];
            (void)snprintf(name, sizeof name, "n%d", (day * 37 + i) % 3000);
            call(NOW - day * 24 * HOUR - (i % 24) * HOUR, name, "success", 1, "");
        }
    const struct json *x = told(NOW - 31 * 24 * HOUR, 12 * HOUR, TREND_ALL, "");
    assert_true(json_bool(json_get(x, "cut"), false));
    assert_true(number(json_get(x, "total"), "calls") > 2000); /* what is new is there */
    assert_true(json_length(json_get(x, "actions")) <= 100);
}

static void what_is_no_call_is_not_counted(void **state)
{
    (void)state;
    struct err e = {0};
    const char *const lines[] = {
        "{\"event\":\"call\",\"caller\":\"page\",\"time\":\"2023-11-14T22:00:00.000Z\"}",
        "{\"event\":\"policy set\",\"time\":\"2023-11-14T22:13:20.000Z\"}",
        "{\"event\":\"call\"}",
        "{\"event\":\"call\",\"time\":\"x\"}",
        "[]",
        "{\"event\":\"call\",\"time\":\"2099-01-01T00:00:00.000Z\"}"};
    for (size_t i = 0; i < LENGTH(lines); i++)
        trends_add(trends, json_read(str_of(lines[i]), arena, &e), NOW);
    assert_int_equal(
        number(json_get(told(NOW - HOUR, MINUTE, TREND_ALL, ""), "total"), "calls"), 0);
}

static void a_range_of_too_many_steps_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct json_writer w = json_writer(&out);
    const struct trend_range r = {.from_ms = 0, .to_ms = NOW, .step_ms = MINUTE};
    assert_false(trends_put(trends, &r, &w, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(calls_are_counted_by_what_they_were),
        test(points_can_be_of_one_name),
        test(durations_are_told_to_a_sixth),
        test(a_burst_does_not_hide_what_was_slow_beside_it),
        test(slow_calls_stay_when_their_minutes_become_an_hour),
        test(old_minutes_become_hours_and_the_oldest_go),
        test(memory_is_bounded_whatever_comes),
        test(what_is_no_call_is_not_counted),
        test(a_range_of_too_many_steps_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
