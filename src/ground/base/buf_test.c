/* Growing buffers: the ceiling, the sticky failure, the uncounted NUL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/base.h"

static void what_is_put_is_there_in_order(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    assert_string_equal(buf_cz(&b), "");
    assert_int_equal(buf_view(&b).n, 0);
    assert_true(buf_put(&b, "ab", 2) && buf_cstr(&b, "cd") && buf_char(&b, 'e') &&
                buf_str(&b, STR("f\0g")) && buf_printf(&b, "%d", 42) &&
                buf_put(&b, NULL, 0));
    assert_int_equal(b.n, 10);
    assert_memory_equal(buf_cz(&b), "abcdef\0g42", 11);
    assert_true(str_eq(buf_view(&b), STR("abcdef\0g42")));
}

static void it_grows_to_exactly_its_ceiling(void **state)
{
    (void)state;
    for (size_t ceiling = 0; ceiling < 1100; ceiling += 37) {
        scoped_buf struct buf b;
        buf_init(&b, ceiling);
        for (size_t i = 0; i < ceiling; i++)
            assert_true(buf_char(&b, 'x'));
        assert_int_equal(b.n, ceiling);
        assert_int_equal(strlen(buf_cz(&b)), ceiling);
        assert_false(buf_char(&b, 'y'));
        assert_int_equal(b.n, ceiling);
    }
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 4);
    assert_true(buf_check(&b, "the text", &e));
    assert_true(buf_cstr(&b, "abc"));
    assert_false(buf_cstr(&b, "de"));
    assert_false(buf_char(&b, 'f')); /* would fit, but follows a failed write */
    assert_false(buf_printf(&b, "%s", "g"));
    assert_null(buf_room(&b, 0));
    assert_string_equal(buf_cz(&b), "abc");
    assert_false(buf_check(&b, "the text", &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "the text"));
    assert_non_null(strstr(e.msg, "4"));
    buf_clear(&b);
    assert_true(buf_cstr(&b, "abcd"));
}

static void formatted_text_is_there_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 5);
    assert_true(buf_printf(&b, "%s", "abcde"));
    buf_clear(&b);
    assert_false(buf_printf(&b, "%s", "abcdef"));
    assert_int_equal(b.n, 0);
}

static void the_largest_ceiling_is_no_overflow(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, SIZE_MAX);
    char text[300];
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 100; i++)
        assert_true(buf_put(&b, text, sizeof text));
    assert_int_equal(b.n, 30000);
    assert_int_equal(b.at[29999], 'x');
    assert_null(
        buf_room(&b, SIZE_MAX - 30000)); /* no such memory: fails, does not wrap */
    assert_true(b.failed);
}

static void room_is_counted_by_the_caller(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 100);
    char *room = buf_room(&b, 10);
    assert_non_null(room);
    memcpy(room, "1234567890", 10);
    assert_int_equal(b.n, 0);
    b.n += 7;
    assert_string_equal(buf_cz(&b), "1234567");
    assert_null(buf_room(&b, 94));
}

static void a_buf_that_is_done_is_empty(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    buf_cstr(&b, "x");
    buf_done(&b);
    assert_string_equal(buf_cz(&b), "");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there_in_order),
        cmocka_unit_test(it_grows_to_exactly_its_ceiling),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(formatted_text_is_there_as_a_whole_or_not_at_all),
        cmocka_unit_test(the_largest_ceiling_is_no_overflow),
        cmocka_unit_test(room_is_counted_by_the_caller),
        cmocka_unit_test(a_buf_that_is_done_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
