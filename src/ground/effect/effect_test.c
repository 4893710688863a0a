/* An outcome counts, tells and keeps what a call did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "effect/effect.h"

static char heard[200];

static void hear(void *arg, const struct effect *e)
{
    (void)arg;
    size_t n = strlen(heard);
    (void)snprintf(heard + n, sizeof heard - n, "%.*s ", STR_ARGS(e->id));
}

static struct effect effect(enum effect_deed deed, const char *id)
{
    return (struct effect){.what = "note", .deed = deed, .id = str_of(id)};
}

static void changes_are_counted_and_heard_and_reading_is_neither(void **state)
{
    (void)state;
    struct outcome o = {.hear = hear};
    struct effect read = effect(EFFECT_READ, "a"), made = effect(EFFECT_MADE, "b");
    struct effect gone = effect(EFFECT_REMOVED, "c");
    heard[0] = '\0';
    outcome_add(&o, &read);
    assert_false(o.changed);
    outcome_add(&o, &made);
    outcome_add(&o, &gone);
    outcome_add(NULL, &made);
    assert_string_equal(heard, "b c ");
    assert_true(o.changed && o.changes == 2 && o.removed == 1);
}

static void a_dry_run_is_counted_and_not_told(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new(4096);
    struct outcome o = {.hear = hear, .arena = a};
    struct effect gone = effect(EFFECT_REMOVED, "c");
    gone.dry = gone.known = true;
    heard[0] = '\0';
    outcome_add(&o, &gone);
    assert_string_equal(heard, "");
    assert_true(o.changes == 1 && !o.removed && !o.changed && !o.known);
}

static void what_is_known_is_copied_up_to_a_bound(void **state)
{
    (void)state;
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct outcome o = {.arena = a};
    char id[20];
    for (unsigned i = 0; i < EFFECT_KNOWN_MAX + 5; i++) {
        (void)snprintf(id, sizeof id, "n%u", i);
        struct effect e = effect(EFFECT_CHANGED, id);
        e.known = i != 0;
        outcome_add(&o, &e);
    }
    assert_int_equal(o.changes, EFFECT_KNOWN_MAX + 5);
    assert_int_equal(o.known_count, EFFECT_KNOWN_MAX);
    assert_true(str_is(o.known->of.id, "n1024"));
    assert_null(o.known->of.list.at);
}

static void of_a_failed_command_the_first_line_is_kept(void **state)
{
    (void)state;
    struct outcome o = {0};
    outcome_fail(&o, 2, STR(" \nno such file\nat line 3\n"));
    assert_true(o.failed && o.exit_code == 2);
    assert_string_equal(o.said, "no such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_counted_and_heard_and_reading_is_neither),
        cmocka_unit_test(a_dry_run_is_counted_and_not_told),
        cmocka_unit_test(what_is_known_is_copied_up_to_a_bound),
        cmocka_unit_test(of_a_failed_command_the_first_line_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
