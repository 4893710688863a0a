#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "notes/keymap.h"

static void numbers_are_given_in_order_and_kept(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_keymap struct keymap m = {0};
    assert_int_equal(keymap_find(&m, 7), KEYMAP_NONE);
    /* Keys that differ only in their high bits, or are negative, too. */
    for (int64_t i = 0; i < 5000; i++)
        assert_int_equal(keymap_add(&m, i % 2 ? i << 40 : -i, &e), i);
    for (int64_t i = 0; i < 5000; i++) {
        int64_t key = i % 2 ? i << 40 : -i;
        assert_int_equal(keymap_find(&m, key), i);
        assert_int_equal(keymap_add(&m, key, &e), i);
        assert_int_equal(m.keys[i], key);
    }
    assert_int_equal(m.count, 5000);
    assert_int_equal(keymap_find(&m, 1), KEYMAP_NONE);
}

static void a_map_that_is_full_says_so(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_keymap struct keymap m = {0};
    for (int64_t i = 0; i < KEYMAP_MAX; i++)
        if (keymap_add(&m, i, &e) != (size_t)i)
            fail_msg("%s", e.msg);
    assert_int_equal(keymap_add(&m, KEYMAP_MAX, &e), KEYMAP_NONE);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(keymap_find(&m, KEYMAP_MAX - 1), KEYMAP_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_given_in_order_and_kept),
        cmocka_unit_test(a_map_that_is_full_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
