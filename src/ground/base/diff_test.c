#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

static struct arena *arena;

static const char *diff_of(const char *old, const char *now)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    assert_true(diff_put(str_of(old), str_of(now), 1 << 19, &b));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void diffs_are_unified(void **state)
{
    (void)state;
    arena = arena_new((size_t)1 << 20);
    assert_string_equal(diff_of("a\nb\n", "a\nb\n"), "");
    assert_string_equal(diff_of("", "a\n"), "@@ -0,0 +1,1 @@\n+a\n");
    assert_string_equal(diff_of("a\n", ""), "@@ -1,1 +0,0 @@\n-a\n");
    assert_string_equal(
        diff_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    assert_string_equal(
        diff_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve\n"),
        "@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -9,4 +9,4 @@\n 9\n 10\n "
        "11\n-12\n+twelve\n");
    assert_string_equal(diff_of("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n"),
                        "@@ -1,7 +1,6 @@\n-a\n-b\n c\n+b\n a\n b\n-b\n a\n+c\n");
    scoped_buf struct buf b, many, other;
    buf_init(&b, 1 << 20);
    buf_init(&many, 8u << 20);
    buf_init(&other, 8u << 20);
    for (int i = 0; i < 100000; i++) {
        buf_printf(&many, "%d\n", i);
        buf_printf(&other, "%d\n", -i);
    }
    assert_false(diff_put(buf_view(&many), buf_view(&other), 1000, &b));
    assert_true(b.n <= 1000 && b.n > 900 && b.at[b.n - 1] == '\n');
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diffs_are_unified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
