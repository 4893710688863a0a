#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcp/session.h"

static struct sessions all;

static int opened(void **state)
{
    (void)state;
    sessions_init(&all);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    sessions_done(&all);
    return 0;
}

static void add(const char *version, int64_t now_ms, struct session *out)
{
    *out = (struct session){.version = version};
    sessions_add(&all, now_ms, out);
}

static bool find(const struct session *s, int64_t now_ms)
{
    char text[SESSION_TEXT + 1];
    struct session found;
    session_text(s, text);
    return sessions_find(&all, str_of(text), now_ms, &found) &&
           memcmp(found.id, s->id, sizeof s->id) == 0 && found.version == s->version &&
           found.there;
}

static void a_session_is_found_by_its_id(void **state)
{
    (void)state;
    struct session a, b;
    add("x", 0, &a);
    add("y", 0, &b);
    assert_memory_not_equal(a.id, b.id, sizeof a.id);
    assert_true(find(&a, 1));
    assert_true(find(&b, 1));
}

static void what_is_no_id_finds_nothing(void **state)
{
    (void)state;
    struct session a, found;
    char text[SESSION_TEXT + 1];
    assert_false(sessions_find(&all, STR("00000000000000000000000000000000"), 0, &found));
    add("x", 0, &a);
    session_text(&a, text);
    assert_false(sessions_find(&all, (struct str){text, 31}, 0, &found));
    assert_false(sessions_find(&all, STR(""), 0, &found));
    assert_false(sessions_find(&all, STR("zz000000000000000000000000000000"), 0, &found));
    assert_false(sessions_find(&all, STR("00000000000000000000000000000000"), 0, &found));
    for (char *c = text; *c; c++)
        if (*c >= 'a')
            *c = (char)(*c - 'a' + 'A');
    if (strpbrk(text, "ABCDEF"))
        assert_false(sessions_find(&all, str_of(text), 0, &found));
}

static void what_was_removed_is_gone(void **state)
{
    (void)state;
    struct session a, b;
    add("x", 0, &a);
    add("x", 0, &b);
    assert_true(sessions_remove(&all, &a));
    assert_false(sessions_remove(&all, &a));
    assert_false(find(&a, 0));
    assert_true(find(&b, 0));
}

static void one_that_is_silent_for_a_day_is_gone(void **state)
{
    (void)state;
    struct session a, b;
    add("x", 0, &a);
    add("x", 0, &b);
    assert_true(find(&a, SESSION_IDLE_MS - 1)); /* and has spoken by this */
    assert_false(find(&b, SESSION_IDLE_MS));
    assert_true(find(&a, SESSION_IDLE_MS));
    assert_false(find(&a, 3 * SESSION_IDLE_MS));
}

static void a_full_table_lets_the_most_silent_go(void **state)
{
    (void)state;
    static struct session s[SESSIONS_MAX + 2];
    for (unsigned i = 0; i < SESSIONS_MAX; i++)
        add("x", i, &s[i]);
    assert_true(find(&s[0], SESSIONS_MAX));
    add("x", SESSIONS_MAX, &s[SESSIONS_MAX]);
    add("x", SESSIONS_MAX, &s[SESSIONS_MAX + 1]);
    assert_true(find(&s[0], SESSIONS_MAX));
    assert_false(find(&s[1], SESSIONS_MAX));
    assert_false(find(&s[2], SESSIONS_MAX));
    for (unsigned i = 3; i < LENGTH(s); i++)
        assert_true(find(&s[i], SESSIONS_MAX));
}

static void one_credentials_flood_is_its_own(void **state)
{
    (void)state;
    static struct session s[SESSIONS_OWNER_MAX + 1];
    struct session other = {.version = "x", .owner = "token b"}, person;
    sessions_add(&all, 0, &other);
    add("x", 0, &person);
    for (unsigned i = 0; i < LENGTH(s); i++) {
        s[i] = (struct session){.version = "x", .owner = "token a"};
        sessions_add(&all, 1 + i, &s[i]);
    }
    assert_false(find(&s[0], LENGTH(s)));
    for (unsigned i = 1; i < LENGTH(s); i++)
        assert_true(find(&s[i], LENGTH(s)));
    assert_true(find(&other, LENGTH(s)));
    assert_true(find(&person, LENGTH(s)));
    assert_int_equal(all.used, SESSIONS_OWNER_MAX + 2);
}

static void seats_are_used_again(void **state)
{
    (void)state;
    struct session s;
    for (unsigned i = 0; i < 3 * SESSIONS_MAX; i++) {
        add("x", 0, &s);
        assert_true(sessions_remove(&all, &s));
    }
    assert_int_equal(all.used, 1);
    assert_int_equal(all.newest, 0);
    assert_int_equal(all.oldest, 0);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_session_is_found_by_its_id),
        test(what_is_no_id_finds_nothing),
        test(what_was_removed_is_gone),
        test(one_that_is_silent_for_a_day_is_gone),
        test(a_full_table_lets_the_most_silent_go),
        test(one_credentials_flood_is_its_own),
        test(seats_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
