/* Counts of calls, beside the definition. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"

static void call_it(struct fixture *x, const struct function *fn, uint32_t calls)
{
    struct usage_function of = {.id = fn->id, .version = fn->version, .code = fn->code};
    struct usage_use use = {.of = &of, .calls = calls};
    struct usage_evaluation v = {
        .caller = STR("stdio"), .at_ms = os_real_ms(), .uses = &use, .use_count = 1};
    usage_note(functions_usage(x->f), &v);
}

static void the_file_tells_the_calls_until_it_was_changed(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    {
        scoped_set const struct function_set *s = now(x);
        const struct function *fn = function_named(s, STR("greet"));
        call_it(x, fn, 3);
        assert_int_equal(fn->usage_count, 0);
    }
    assert_int_equal(put(x, "greet", "two"), 2);
    scoped_set const struct function_set *s = now(x);
    const struct function *fn = function_named(s, STR("greet"));
    assert_int_equal(fn->usage_count, 3);
    assert_true(fn->last_used_ms > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_file_tells_the_calls_until_it_was_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
