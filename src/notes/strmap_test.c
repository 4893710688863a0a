#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "notes/strmap.h"

static void numbers_are_given_in_order_and_kept(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_strmap struct strmap m = {0};
    scoped(arena_free) struct arena *a = arena_new(1u << 20);
    assert_int_equal(strmap_find(&m, STR("a")), STRMAP_NONE);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(strmap_add(&m, str_of(arena_printf(a, &e, "%zu", i)), &e), i);
    for (size_t i = 0; i < 5000; i++) {
        struct str key = str_of(arena_printf(a, &e, "%zu", i));
        assert_int_equal(strmap_find(&m, key), i);
        assert_int_equal(strmap_add(&m, key, &e), i);
    }
    assert_int_equal(m.count, 5000);
    assert_int_equal(strmap_find(&m, STR("5000")), STRMAP_NONE);
}

static void texts_differ_by_every_byte(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_strmap struct strmap m = {0};
    assert_int_equal(strmap_add(&m, STR(""), &e), 0);
    assert_int_equal(strmap_add(&m, (struct str){"\0", 1}, &e), 1);
    assert_int_equal(strmap_add(&m, (struct str){"a\0b", 3}, &e), 2);
    assert_int_equal(strmap_add(&m, (struct str){"a\0c", 3}, &e), 3);
    assert_int_equal(strmap_find(&m, STR("a")), STRMAP_NONE);
    assert_int_equal(strmap_find(&m, STR("")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_given_in_order_and_kept),
        cmocka_unit_test(texts_differ_by_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
