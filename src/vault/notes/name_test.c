/* Valid paths, file names made from titles, parsed dates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "notes/name.h"

static void paths_beneath_the_vault_are_accepted(void **state)
{
    (void)state;
    static const char *const good[] = {"X.md",       "project/Plan.md",
                                       "a/b/c/d.md", "Überblick/日本 語.md",
                                       "a/x..md",    "a\\b.md"};
    for (size_t i = 0; i < LENGTH(good); i++)
        assert_true(name_is_path(str_of(good[i])));
}

static void paths_that_could_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",         ".md",    "/X.md",        "../X.md",   "a/../X.md", "a//X.md",
        "a/./X.md", "./X.md", ".cloche/X.md", "a/.b/X.md", "a/.X.md",   "X.txt",
        "X",        "a/",     "a/X.md/",      "..",        "X.MD",      "\xff\xfe.md"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        if (name_is_path(str_of(bad[i])))
            fail_msg("accepted %s", bad[i]);
    assert_false(name_is_path((struct str){"a\0b.md", 6}));
    char longest[5000];
    memset(longest, 'a', sizeof longest);
    memcpy(longest + 256, ".md", 3);
    assert_false(name_is_path((struct str){longest, 259}));
    for (size_t i = 100; i < sizeof longest; i += 100)
        longest[i] = '/';
    memcpy(longest + sizeof longest - 3, ".md", 3);
    assert_false(name_is_path((struct str){longest, sizeof longest}));
}

static void an_id_is_the_path_without_its_ending(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    name_put_id(STR("project/sub/Plan.md"), &b);
    buf_char(&b, ' ');
    name_put_id(STR("Root.md"), &b);
    assert_string_equal(buf_cz(&b), "project/sub/Plan note/Root");
    assert_true(str_is(name_type(STR("project/sub/Plan.md")), "project"));
    assert_true(str_is(name_type(STR("Root.md")), "note"));
    assert_true(str_is(name_stem(STR("project/sub/Plan.md")), "Plan"));
    assert_true(str_is(name_file(STR("project/sub/Plan.md")), "Plan.md"));
}

static void titles_become_safe_file_names(void **state)
{
    (void)state;
    static const struct {
        const char *title, *name;
    } rows[] = {
        {"Weekly Standup", "Weekly Standup"},
        {"  a \t\n b  ", "a b"},
        {"../../etc/passwd", "etc-passwd"},
        {"..\\..\\x", "x"},
        {"and\\or / not", "and-or - not"},
        {"Q1/Q2: \"Plan\"?", "Q1-Q2 Plan"},
        {".hidden", "hidden"},
        {"ends. . .", "ends"},
        {"CON", "CON_"},
        {"com1.txt", "com1_.txt"},
        {"nul .x.y", "nul_ .x.y"},
        {"com1_.txt", "com1_.txt"},
        {"console", "console"},
        {"Grüße, 世界 🌍 (2026) & co!", "Grüße, 世界 🌍 (2026) & co!"},
        {"a\x01\x7f\xe2\x80\xae"
         "b",
         "ab"},
        {"[[x]]#y^z|w", "xyzw"},
        {"👩‍👩‍👧", "👩‍👩‍👧"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        scoped_buf struct buf b;
        buf_init(&b, 1000);
        assert_true(name_from_title(str_of(rows[i].title), &b));
        assert_string_equal(buf_cz(&b), rows[i].name);
    }
    static const char *const empty[] = {"",      "  ",           "...", "///",
                                        ". . .", "\xe2\x80\x8b", "?*"};
    for (size_t i = 0; i < LENGTH(empty); i++) {
        scoped_buf struct buf b;
        buf_init(&b, 1000);
        assert_false(name_from_title(str_of(empty[i]), &b));
    }
}

static void long_titles_are_cut_between_characters(void **state)
{
    (void)state;
    char title[3 * 400 + 1];
    for (size_t i = 0; i < 400; i++)
        memcpy(title + 3 * i, "語", 3);
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    assert_true(name_from_title((struct str){title, 1200}, &b));
    assert_int_equal(b.n, 198);
    assert_true(str_is_utf8(buf_view(&b)));
}

static void a_long_device_name_stays_within_the_limit(void **state)
{
    (void)state;
    char title[401] = "lpt1.";
    memset(title + 5, 'x', 395);
    scoped_buf struct buf b, again;
    buf_init(&b, 1000);
    buf_init(&again, 1000);
    assert_true(name_from_title(str_of(title), &b));
    assert_int_equal(b.n, NAME_STEM_MAX);
    assert_memory_equal(b.at, "lpt1_.x", 7);
    assert_true(name_from_title(buf_view(&b), &again));
    assert_true(str_eq(buf_view(&b), buf_view(&again)));
}

static void a_type_is_one_plain_folder_name(void **state)
{
    (void)state;
    static const char *const good[] = {"project", "daily-note", "Über uns", "a.b"};
    static const char *const bad[] = {"",   "..", ".",   ".cloche", "a/b", "a\\b",
                                      " a", "a.", "a:b", "nul",     "a\n"};
    for (size_t i = 0; i < LENGTH(good); i++)
        assert_true(name_is_type(str_of(good[i])));
    for (size_t i = 0; i < LENGTH(bad); i++)
        if (name_is_type(str_of(bad[i])))
            fail_msg("accepted %s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_beneath_the_vault_are_accepted),
        cmocka_unit_test(paths_that_could_lead_elsewhere_are_refused),
        cmocka_unit_test(an_id_is_the_path_without_its_ending),
        cmocka_unit_test(titles_become_safe_file_names),
        cmocka_unit_test(long_titles_are_cut_between_characters),
        cmocka_unit_test(a_long_device_name_stays_within_the_limit),
        cmocka_unit_test(a_type_is_one_plain_folder_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
