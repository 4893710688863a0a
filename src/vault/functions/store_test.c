/* The file of custom functions: read, changed, recorded, and always whole. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"

static void a_vault_without_a_file_has_no_functions_and_gets_none(void **state)
{
    struct fixture *x = *state;
    scoped_set const struct function_set *s = now(x);
    assert_int_equal(function_count(s), 0);
    assert_null(function_named(s, STR("nothing")));
    assert_false(exists(x, ".cloche"));
}

static void what_is_put_is_there_for_everybody(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    scoped_set const struct function_set *s = now(x);
    const struct function *fn = function_named(s, STR("greet"));
    assert_non_null(fn);
    assert_int_equal(fn->version, 1);
    assert_true(str_is(fn->updated_by, "tester"));
    assert_ptr_equal(function_named(s, fn->id), fn);

    scoped(functions_close) struct functions *other = open_again(x);
    scoped_set const struct function_set *o = functions_now(other, &x->e);
    assert_non_null(o);
    assert_int_equal(function_count(o), 1);
    assert_true(str_eq(function_at(o, 0)->id, fn->id));
}

static void a_taken_name_is_a_conflict_and_a_next_version_is_not(void **state)
{
    struct fixture *x = *state;
    put(x, "greet", "one");
    struct function fn = made(x, "greet", "two");
    struct function_change c = {.fn = &fn};
    assert_false(functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "version 1");
    c.of = STR("greet");
    c.expected_version = 7;
    assert_false(functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_refused(x, ERR_CONFLICT, "not 7");
    c.expected_version = 1;
    assert_fine(x, functions_change(x->f, &c, 1, &tester, NULL, &x->e));
    assert_int_equal(c.version, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_vault_without_a_file_has_no_functions_and_gets_none),
        T(what_is_put_is_there_for_everybody),
        T(a_taken_name_is_a_conflict_and_a_next_version_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
