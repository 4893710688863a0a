#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cache/cache.h"

static unsigned dropped;

static void drop(struct cached *v)
{
    dropped++;
    free(v);
}

static void put(struct cache *c, const char *key, size_t bytes)
{
    struct cached *v = mem_new(sizeof *v);
    cached_init(v, bytes, drop);
    cache_put(c, str_of(key), v);
    cached_release(v);
}

static bool finds(struct cache *c, const char *key)
{
    const struct cached *v = cache_find(c, str_of(key));
    cached_release(v);
    return v != NULL;
}

static void memory_forgets_what_was_used_longest_ago(void **state)
{
    (void)state;
    struct cache *c = cache_new(&(struct cache_limits){.entries = 2, .bytes = 1000});
    put(c, "a", 1);
    put(c, "b", 1);
    assert_true(finds(c, "a"));
    put(c, "c", 1);
    assert_true(finds(c, "a"));
    assert_false(finds(c, "b"));
    assert_true(finds(c, "c"));
    cache_free(c);
}

static void memory_has_a_ceiling_in_bytes(void **state)
{
    (void)state;
    struct cache *c =
        cache_new(&(struct cache_limits){.entries = 9, .bytes = 3000, .one_bytes = 2500});
    put(c, "a", 2000);
    put(c, "b", 2000);
    assert_false(finds(c, "a"));
    assert_true(finds(c, "b"));
    put(c, "c", 2501); /* more than one may have */
    assert_false(finds(c, "c"));
    assert_true(finds(c, "b"));
    cache_free(c);
}

static void a_value_takes_the_place_of_the_one_before(void **state)
{
    (void)state;
    struct cache *c = cache_new(&(struct cache_limits){.entries = 2, .bytes = 3000});
    put(c, "a", 2000);
    put(c, "a", 2001);
    struct cached *v = cache_find(c, STR("a"));
    assert_int_equal(v->bytes, 2001);
    cached_release(v);
    cache_free(c);
}

static void a_value_that_is_held_outlives_the_cache(void **state)
{
    (void)state;
    dropped = 0;
    struct cache *c = cache_new(&(struct cache_limits){.entries = 2, .bytes = 3000});
    put(c, "a", 1);
    put(c, "b", 1);
    struct cached *v = cache_find(c, STR("a"));
    cache_free(c);
    assert_int_equal(dropped, 1);
    cached_release(v);
    assert_int_equal(dropped, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_forgets_what_was_used_longest_ago),
        cmocka_unit_test(memory_has_a_ceiling_in_bytes),
        cmocka_unit_test(a_value_takes_the_place_of_the_one_before),
        cmocka_unit_test(a_value_that_is_held_outlives_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
