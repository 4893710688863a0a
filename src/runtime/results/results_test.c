/* Kept results: their readers, lifetime and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "results/internal.h"
#include "results/results.h"

static struct results *results;
static struct caller mine = {.name = "http 127.0.0.1", .session = "a"};

static int begin(void **state)
{
    (void)state;
    results = results_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    results_free(results);
    return 0;
}

static enum err_code read_at(const struct caller *who, const char *uri, size_t offset,
                             size_t limit, int64_t now_ms, const char *want, size_t next)
{
    struct err e = {0};
    size_t after = 0, total = 0;
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    if (!results_read(results, who, str_of(uri), offset, limit, now_ms, &out, &after,
                      &total, &e))
        return e.code;
    assert_string_equal(buf_cz(&out), want);
    assert_int_equal(after, next);
    return ERR_NONE;
}

static void a_result_is_read_in_pieces_of_whole_characters(void **state)
{
    (void)state;
    char uri[RESULT_URI];
    assert_true(
        results_keep(results, &mine, STR("\"a\xe2\x82\xac\xe2\x82\xac\""), 0, uri));
    assert_true(str_starts(str_of(uri), "cloche://results/"));
    assert_int_equal(read_at(&mine, uri, 0, 100, 1, "\"a\xe2\x82\xac\xe2\x82\xac\"", 9),
                     0);
    assert_int_equal(read_at(&mine, uri, 0, 7, 1, "\"a\xe2\x82\xac", 5), 0);
    assert_int_equal(read_at(&mine, uri, 5, 7, 1, "\xe2\x82\xac\"", 9), 0);
    assert_int_equal(read_at(&mine, uri, 3, 7, 1, "\xe2\x82\xac\"", 9),
                     0); /* inside of a character */
    assert_int_equal(read_at(&mine, uri, 2, 1, 1, "\xe2\x82\xac", 5),
                     0); /* makes progress */
    assert_int_equal(read_at(&mine, uri, 9, 7, 1, "", 9), 0);
    assert_int_equal(read_at(&mine, uri, 10, 7, 1, "", 0), ERR_INVALID);
    assert_int_equal(read_at(&mine, uri, SIZE_MAX, 7, 1, "", 0), ERR_INVALID);
}

static void only_its_caller_reads_it(void **state)
{
    (void)state;
    char uri[RESULT_URI], other[RESULT_URI];
    assert_true(results_keep(results, &mine, STR("1"), 0, uri));
    assert_true(results_keep(results, &mine, STR("1"), 0, other));
    assert_string_not_equal(uri, other);
    struct caller strangers[] = {
        {.name = "stdio", .session = "a"},
        {.name = "http 127.0.0.1", .session = "b"},
        {.name = "http 127.0.0.1"},
        {.name = "http 127.0.0.1", .session = "a", .level = LEVEL_ZERO},
    };
    for (size_t i = 0; i < LENGTH(strangers); i++)
        assert_int_equal(read_at(&strangers[i], uri, 0, 9, 0, "", 0), ERR_NOT_FOUND);
    assert_int_equal(read_at(&mine, uri, 0, 9, 0, "1", 1), ERR_NONE);
    assert_int_equal(read_at(&mine, "cloche://results/", 0, 9, 0, "", 0), ERR_NOT_FOUND);
    assert_int_equal(read_at(&mine, "", 0, 9, 0, "", 0), ERR_NOT_FOUND);
}

static void a_result_is_forgotten_in_time(void **state)
{
    (void)state;
    char uri[RESULT_URI];
    assert_true(results_keep(results, &mine, STR("1"), 1000, uri));
    assert_int_equal(read_at(&mine, uri, 0, 9, 999 + RESULTS_MS, "1", 1), ERR_NONE);
    assert_int_equal(read_at(&mine, uri, 0, 9, 1000 + RESULTS_MS, "", 0), ERR_NOT_FOUND);
    assert_true(results_keep(results, &mine, STR("1"), 1000, uri));
    results_tidy(results, 1000 + RESULTS_MS);
    assert_int_equal(read_at(&mine, uri, 0, 9, 1000, "", 0), ERR_NOT_FOUND);
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
    (void)state;
    char uris[RESULTS_OWN_MAX + 1][RESULT_URI];
    for (size_t i = 0; i < LENGTH(uris); i++)
        assert_true(results_keep(results, &mine, STR("1"), 0, uris[i]));
    assert_int_equal(read_at(&mine, uris[0], 0, 9, 0, "", 0), ERR_NOT_FOUND);
    assert_int_equal(read_at(&mine, uris[1], 0, 9, 0, "1", 1), ERR_NONE);
}

static void the_oldest_go_when_they_are_too_large(void **state)
{
    (void)state;
    scoped_buf struct buf large;
    buf_init(&large, RESULT_KEPT_MAX + 1);
    memset(buf_room(&large, RESULT_KEPT_MAX + 1), '1', RESULT_KEPT_MAX + 1);
    large.n = RESULT_KEPT_MAX;
    enum { FIT = RESULTS_OWN_BYTES / RESULT_KEPT_MAX };
    char uris[FIT + 1][RESULT_URI], none[RESULT_URI];
    for (size_t i = 0; i < LENGTH(uris); i++)
        assert_true(results_keep(results, &mine, buf_view(&large), 0, uris[i]));
    assert_int_equal(read_at(&mine, uris[0], 0, 4, 0, "", 0), ERR_NOT_FOUND);
    assert_int_equal(read_at(&mine, uris[1], 0, 4, 0, "1111", 4), ERR_NONE);
    large.n++;
    assert_false(results_keep(results, &mine, buf_view(&large), 0, none));
}

/* A tenant's results evict only his own. */
static void one_principals_results_do_not_push_out_anothers(void **state)
{
    (void)state;
    static const struct grant a = {.principal = "token a"}, b = {.principal = "token b"};
    struct caller one = {.name = "http token a", .grant = &a, .session = "x"},
                  two = {.name = "http token b", .grant = &b, .session = "x"};
    char kept[RESULT_URI], uri[RESULT_URI];
    assert_true(results_keep(results, &two, STR("2"), 0, kept));
    char session[16];
    for (unsigned i = 0; i < 2 * RESULTS_MAX; i++) {
        (void)snprintf(session, sizeof session, "s%u", i);
        one.session = session;
        assert_true(results_keep(results, &one, STR("1"), 0, uri));
    }
    assert_int_equal(read_at(&two, kept, 0, 9, 0, "2", 1), ERR_NONE);
    assert_int_equal(read_at(&one, kept, 0, 9, 0, "", 0), ERR_NOT_FOUND);
    /* Nor to a caller of the same name with another credential. */
    two.grant = &a;
    assert_int_equal(read_at(&two, kept, 0, 9, 0, "", 0), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_result_is_read_in_pieces_of_whole_characters,
                                        begin, end),
        cmocka_unit_test_setup_teardown(only_its_caller_reads_it, begin, end),
        cmocka_unit_test_setup_teardown(a_result_is_forgotten_in_time, begin, end),
        cmocka_unit_test_setup_teardown(the_oldest_go_when_there_are_too_many, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_oldest_go_when_they_are_too_large, begin,
                                        end),
        cmocka_unit_test_setup_teardown(one_principals_results_do_not_push_out_anothers,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
