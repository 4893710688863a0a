/* The cache of answers: its contents and its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cache/cache.h"
#include "evaluating/answers.h"
#include "evaluating/evaluating.h"
#include "script/script.h"

static struct cache *cache;

static int begin(void **state)
{
    (void)state;
    cache = answers_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    cache_free(cache);
    return 0;
}

static struct answer_key key_of(unsigned n)
{
    struct answer_key key = {.usable = true};
    (void)snprintf(key.hex, sizeof key.hex, "%064u", n);
    return key;
}

static void keep(unsigned n, size_t size)
{
    struct answer_key key = key_of(n);
    struct script_outcome o;
    script_outcome_init(&o);
    while (o.result.n < size)
        buf_char(&o.result, (char)('0' + n % 10));
    buf_cstr(&o.logs, "[7]");
    answer_keep(cache, &key, &o);
    script_outcome_done(&o);
}

static bool finds(unsigned n, size_t size)
{
    struct answer_key key = key_of(n);
    struct script_outcome o;
    script_outcome_init(&o);
    bool found = answer_find(cache, &key, &o);
    if (found) {
        assert_true(o.success);
        assert_int_equal(o.result.n, size);
        assert_true(size == 0 || o.result.at[size - 1] == (char)('0' + n % 10));
        assert_string_equal(buf_cz(&o.logs), "[7]");
    }
    script_outcome_done(&o);
    return found;
}

static void what_is_kept_is_found_with_its_logs(void **state)
{
    (void)state;
    assert_false(finds(1, 5));
    keep(1, 5);
    keep(2, 0);
    assert_true(finds(1, 5));
    assert_true(finds(2, 0));
    keep(1, 6); /* replaces the other */
    assert_true(finds(1, 6));
    assert_false(finds(3, 5));
}

static void an_unusable_key_finds_and_keeps_nothing(void **state)
{
    (void)state;
    struct answer_key none = {.usable = false};
    struct script_outcome o;
    script_outcome_init(&o);
    answer_keep(cache, &none, &o);
    assert_false(answer_find(cache, &none, &o));
    script_outcome_done(&o);
}

static void the_longest_unused_goes_when_there_are_too_many(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 256u; i++)
        keep(i, 1);
    assert_true(finds(0, 1)); /* used: not the oldest any more */
    keep(256u, 1);
    assert_true(finds(0, 1));
    assert_false(finds(1, 1));
    assert_true(finds(2, 1));
}

static void the_longest_unused_go_when_they_are_too_large(void **state)
{
    (void)state;
    enum { LARGE = ((size_t)32 << 20) / 5 };
    for (unsigned i = 0; i < 5; i++)
        keep(i, LARGE);
    assert_false(finds(0, LARGE)); /* five of them, with their overhead */
    assert_true(finds(1, LARGE));
    keep(9, ((size_t)32 << 20) / 4);
    assert_false(finds(9, ((size_t)32 << 20) / 4)); /* one answer must not fill it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_kept_is_found_with_its_logs, begin, end),
        cmocka_unit_test_setup_teardown(an_unusable_key_finds_and_keeps_nothing, begin,
                                        end),
        cmocka_unit_test_setup_teardown(the_longest_unused_goes_when_there_are_too_many,
                                        begin, end),
        cmocka_unit_test_setup_teardown(the_longest_unused_go_when_they_are_too_large,
                                        begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
