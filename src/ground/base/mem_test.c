/* Arenas: a ceiling that holds, zeroed and aligned memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/base.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

/* Sizes that no allocator has are refused, as without the sanitizer. */
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

#ifdef __SANITIZE_THREAD__
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

static void memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    unsigned char *all[200];
    for (size_t i = 0; i < LENGTH(all); i++) {
        all[i] = arena_get(a, i + 1, &e);
        assert_non_null(all[i]);
        assert_int_equal((uintptr_t)all[i] % 16, 0);
        for (size_t k = 0; k <= i; k++)
            assert_int_equal(all[i][k], 0);
        memset(all[i], (int)i, i + 1);
    }
    for (size_t i = 0; i < LENGTH(all); i++)
        for (size_t k = 0; k <= i; k++)
            assert_int_equal(all[i][k], (unsigned char)i);
}

static void large_pieces_do_not_waste_the_rest_of_a_chunk(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new((size_t)1 << 20);
    char *small = arena_get(a, 100, &e);
    char *large = arena_get(a, 100000, &e);
    assert_non_null(large);
    memset(large, 1, 100000);
    char *next = arena_get(a, 100, &e);
    assert_non_null(next);
    assert_true(next + 100 <= large || next >= large + 100000);
#ifndef __SANITIZE_ADDRESS__
    assert_ptr_equal(next, small + 112);
#endif
    assert_int_equal(small[0], 0);
}

static void the_ceiling_holds_over_all_pieces_together(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1024);
    for (int i = 0; i < 64; i++)
        assert_non_null(arena_get(a, 16, &e));
    assert_null(arena_get(a, 1, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void exactly_the_ceiling_is_allowed_and_one_more_is_not(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(4096);
    assert_null(arena_get(a, 4097, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    assert_non_null(arena_get(a, 4096, &e));
    assert_null(arena_get(a, 16, &e));
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX,      SIZE_MAX - 1,  SIZE_MAX - 15,
                                   SIZE_MAX - 16, SIZE_MAX - 31, SIZE_MAX / 2 + 1};
    static const size_t ceilings[] = {1000, SIZE_MAX};
    for (size_t c = 0; c < LENGTH(ceilings); c++) {
        scoped(arena_free) struct arena *a = arena_new(ceilings[c]);
        for (size_t i = 0; i < LENGTH(sizes); i++) {
            struct err e = {0};
            assert_null(arena_get(a, sizes[i], &e));
            assert_int_equal(e.code, ERR_LIMIT);
            e = (struct err){0};
            assert_null(arena_copy(a, "", sizes[i], &e));
            assert_int_equal(e.code, ERR_LIMIT);
        }
    }
}

static void copies_and_formatted_text_end_in_a_nul(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1024);
    assert_string_equal(arena_copy(a, "abcdef", 3, &e), "abc");
    assert_string_equal(arena_copy(a, NULL, 0, &e), "");
    assert_string_equal(arena_printf(a, &e, "%d-%s", 7, "x"), "7-x");
    assert_null(arena_printf(a, &e, "%2000d", 7));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void text_with_a_nul_is_no_c_string(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1024);
    assert_string_equal(str_cz(STR("plain"), a, &e), "plain");
    assert_string_equal(str_cz(STR(""), a, &e), "");
    assert_null(str_cz(STR("a\0b"), a, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

#ifdef __SANITIZE_ADDRESS__
static void under_the_sanitizer_an_overrun_is_seen_at_once(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1024);
    char *p = arena_get(a, 5, &e);
    assert_false(__asan_address_is_poisoned(p + 4));
    assert_true(__asan_address_is_poisoned(p + 5));
}
#endif

static void ownership_is_handed_out_of_a_scope(void **state)
{
    (void)state;
    scoped(free) char *kept = NULL;
    {
        scoped(free) char *p = mem_strdup("kept");
        kept = take(p);
        assert_null(p);
    }
    assert_string_equal(kept, "kept");
    arena_free(NULL);
}

static void an_array_grows_and_keeps_what_it_holds(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(free) uint32_t *all = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(array_fit(all, capacity, i, &e) && capacity > i);
        all[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(all[i], i);
    size_t before = capacity;
    assert_false(array_fit(all, capacity, SIZE_MAX / 2, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(capacity == before && all[999] == 999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(large_pieces_do_not_waste_the_rest_of_a_chunk),
        cmocka_unit_test(the_ceiling_holds_over_all_pieces_together),
        cmocka_unit_test(exactly_the_ceiling_is_allowed_and_one_more_is_not),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(copies_and_formatted_text_end_in_a_nul),
        cmocka_unit_test(text_with_a_nul_is_no_c_string),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(under_the_sanitizer_an_overrun_is_seen_at_once),
#endif
        cmocka_unit_test(ownership_is_handed_out_of_a_scope),
        cmocka_unit_test(an_array_grows_and_keeps_what_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
