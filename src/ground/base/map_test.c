#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/base.h"

static void numbers_are_given_in_order_and_kept(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_map struct map texts = {0}, ints = {0}, hashes = {0};
    scoped(arena_free) struct arena *a = arena_new(1u << 20);
    assert_int_equal(map_find(&texts, STR("a")), MAP_NONE);
    assert_int_equal(map_find_int(&ints, 7), MAP_NONE);
    assert_int_equal(map_find_hash(&hashes, STR("a")), MAP_NONE);
    for (int64_t turn = 0; turn < 2; turn++)
        for (int64_t i = 0; i < 5000; i++) {
            /* Numbers that differ only in their high bits, or are negative, too. */
            int64_t number = i % 2 ? i << 40 : -i;
            struct str text = str_of(arena_printf(a, &e, "%d", (int)i));
            assert_int_equal(map_add(&texts, text, &e), i);
            assert_int_equal(map_add_int(&ints, number, &e), i);
            assert_int_equal(map_add_hash(&hashes, text, &e), i);
            assert_int_equal(map_find(&texts, text), i);
            assert_int_equal(map_find_int(&ints, number), i);
            assert_int_equal(map_find_hash(&hashes, text), i);
        }
    assert_int_equal(texts.count, 5000);
    assert_int_equal(map_find(&texts, STR("5000")), MAP_NONE);
    assert_int_equal(map_find_int(&ints, 1), MAP_NONE);
    assert_int_equal(map_find_hash(&hashes, STR("5000")), MAP_NONE);
}

static void texts_differ_by_every_byte(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_map struct map m = {0};
    assert_int_equal(map_add(&m, STR(""), &e), 0);
    assert_int_equal(map_add(&m, (struct str){"\0", 1}, &e), 1);
    assert_int_equal(map_add(&m, (struct str){"a\0b", 3}, &e), 2);
    assert_int_equal(map_add(&m, (struct str){"a\0c", 3}, &e), 3);
    assert_int_equal(map_find(&m, STR("a")), MAP_NONE);
    assert_int_equal(map_find(&m, (struct str){NULL, 0}), 0);
}

static void a_map_that_is_full_says_so(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_map struct map m = {0};
    for (int64_t i = 0; i < MAP_MAX; i++)
        if (map_add_int(&m, i, &e) != (size_t)i)
            fail_msg("%s", e.msg);
    assert_int_equal(map_add_int(&m, MAP_MAX, &e), MAP_NONE);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_int_equal(map_find_int(&m, MAP_MAX - 1), MAP_MAX - 1);
}

/* By the paper on SipHash, and the draft on FNV. */
static void hashes_are_the_published_ones(void **state)
{
    (void)state;
    static const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    char bytes[15];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    assert_true(hash_keyed(key, (struct str){bytes, 15}) == 0xa129ca6149be45e5u);
    assert_true(hash_keyed(key, (struct str){bytes, 8}) == 0x93f5f5799a932462u);
    assert_true(hash_keyed(key, STR("")) == 0x726fdb47dd0e0e31u);
    assert_true(hash_fnv(HASH_FNV, STR("")) == HASH_FNV);
    assert_true(hash_fnv(HASH_FNV, STR("foobar")) == 0x85944171f73967e8u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_given_in_order_and_kept),
        cmocka_unit_test(texts_differ_by_every_byte),
        cmocka_unit_test(a_map_that_is_full_says_so),
        cmocka_unit_test(hashes_are_the_published_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
