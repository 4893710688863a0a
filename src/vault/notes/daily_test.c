/* The note of a day, new notes and what is no note, by the settings of the vault's program. */
#include "notes/copies.h"
#include "notes/fixture_test.h"
#include "notes/moment.h"

static void zone(const char *name)
{
    assert_int_equal(setenv("TZ", name, 1), 0);
    tzset();
}

static const char *moment(const char *pattern, const char *day)
{
    struct tm t;
    struct err e = {0}, none = {0};
    scoped_buf struct buf b = buf_of(1000);
    assert_true(moment_read_day(str_of(day), &t));
    return moment_put(str_of(pattern), &t, &b, &e)
               ? arena_printf(arena, &none, "%s", buf_cz(&b))
               : "refused";
}

static void patterns_are_moments(void **state)
{
    (void)state;
    static const char *const all[][3] = {
        {"YYYY-MM-DD", "2026-03-01", "2026-03-01"},
        {"dddd, MMMM Do YYYY", "2026-03-02", "Monday, March 2nd 2026"},
        {"ddd MMM D YY", "2026-12-11", "Fri Dec 11 26"},
        {"Do", "2026-12-13", "13th"},
        {"Do", "2026-12-23", "23rd"},
        {"GGGG-[W]WW-E", "2027-01-03", "2026-W53-7"},
        {"gggg-ww", "2027-01-03", "2027-02"},
        {"gggg-ww", "2026-12-31", "2027-01"},
        {"[Day] DDDD [of] Y, Qo", "2026-02-01", "Day 032 of 2026, 1st"},
        {"YYYY/MM/[week] W", "2026-01-01", "2026/01/week 1"},
        {"YYYY b", "2026-01-01", "refused"},
        {"MMMMM", "2026-01-01", "refused"},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_string_equal(moment(all[i][0], all[i][1]), all[i][2]);
}

static const char *daily(const char *options)
{
    const struct json *d = call(notes_daily, "%s", options);
    struct err e = {0};
    return arena_printf(arena, &e, "%s%s", text(d, "path"),
                        json_bool(json_get(d, "created"), false)  ? " made"
                        : json_bool(json_get(d, "exists"), false) ? " there"
                                                                  : "");
}

static void without_settings_it_is_at_the_root(void **state)
{
    (void)state;
    assert_string_equal(daily("{'date': '2026-12-01'}"), "2026-12-01.md");
    assert_false(exists("2026-12-01.md"));
    assert_string_equal(daily("{'date': '2026-12-01', 'create': true}"),
                        "2026-12-01.md made");
    assert_string_equal(daily("{'date': '2026-12-01', 'create': true}"),
                        "2026-12-01.md there");
    refused(ERR_INVALID, notes_daily, "{'date': '2026-13-01'}");
    refused(ERR_INVALID, notes_daily, "{'date': 'soon'}");
}

static void obsidians_settings_are_obeyed(void **state)
{
    (void)state;
    put(".obsidian/daily-notes.json",
        "{\"folder\": \"Journal/\", \"format\": \"YYYY/MM/DD-ddd\", "
        "\"template\": \"Templates/Day\"}");
    put("Templates/Day.md",
        "---\ntags: [day]\n---\n# {{title}}\n\n{{date:dddd, Do MMMM}} "
        "{{date}} {{other}} {{\n");
    reopen();
    assert_string_equal(daily("{'date': '2026-12-01', 'create': true}"),
                        "Journal/2026/12/01-Tue.md made");
    assert_string_equal(file("Journal/2026/12/01-Tue.md"),
                        "---\ntags: [day]\n---\n# 01-Tue\n\nTuesday, 1st December "
                        "2026-12-01 {{other}} {{\n");
    const struct json *trial =
        call(notes_daily, "{'date': '2026-12-02', 'create': true, 'dry_run': true}");
    assert_int_equal(json_length(json_get(trial, "changes")), 1);
    assert_false(exists("Journal/2026/12/02-Wed.md"));
}

static void a_format_that_is_none_is_told(void **state)
{
    (void)state;
    put(".obsidian/daily-notes.json", "{\"format\": \"YYYY-bb\"}");
    reopen();
    assert_non_null(strstr(refused(ERR_INVALID, notes_daily, "null"), "\"bb\""));
    put(".obsidian/daily-notes.json", "{\"format\": \"../[x]\"}");
    reopen();
    (void)refused(ERR_INVALID, notes_daily, "null");
}

static void logseqs_settings_are_obeyed(void **state)
{
    (void)state;
    put("logseq/config.edn",
        "{:meta/version 1\n ;; :journals-directory \"no\"\n"
        " :journals-directory \"days\"\n :journal/file-name-format \"EEEE, dd.MM.yyyy\"\n"
        " :hidden [\"/archived\" \"/secret.md\"]}\n");
    put("logseq/bak/pages/old.md", "[[x]]\n");
    put("archived/a.md", "a\n");
    put("secret.md", "a\n");
    put("secret stays.md", "a\n");
    put("pages/P.md", "a\n");
    reopen();
    assert_string_equal(daily("{'date': '2026-12-01'}"), "days/Tuesday, 01.12.2026.md");
    assert_string_equal(ids(call(notes_list, "{'order': 'path'}")),
                        "pages/P,note/secret stays");
    assert_string_equal(text(call(notes_create, "{'title': 'New'}"), "path"),
                        "pages/New.md");
}

static void logseqs_pages_have_the_titles_that_it_shows(void **state)
{
    (void)state;
    put("logseq/config.edn", "{:meta/version 1}\n");
    put("pages/garden___Plan.md", "- # Another heading\n");
    put("pages/a%3Ab.md", "- x\n");
    put("journals/2026_12_01.md",
        "- [[garden/Plan]] [[a:b]] [[Dec 1st, 2026]] [[2026_12_01]]\n");
    reopen();
    assert_string_equal(text(call(notes_get, "'garden/Plan'"), "path"),
                        "pages/garden___Plan.md");
    assert_string_equal(text(call(notes_get, "'journals/2026_12_01'"), "title"),
                        "Dec 1st, 2026");
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
    call(notes_rename,
         "{'identifier': 'garden/Plan', 'new_title': 'garden/My plan?', 'force': true}");
    assert_string_equal(
        file("journals/2026_12_01.md"),
        "- [[garden/My plan?]] [[a:b]] [[Dec 1st, 2026]] [[2026_12_01]]\n");
    assert_string_equal(file("pages/garden___My plan%3F.md"), "- # Another heading\n");
    assert_string_equal(text(call(notes_create, "{'title': 'x/y'}"), "path"),
                        "pages/x___y.md");
    assert_string_equal(file("pages/x___y.md"), "");
}

static void foams_settings_are_obeyed(void **state)
{
    (void)state;
    put(".vscode/settings.json", "{\"foam.openDailyNote.directory\": \"log\", "
                                 "\"foam.openDailyNote.filenameFormat\": \"yyyy-mm\"}");
    reopen();
    assert_string_equal(daily("{'date': '2026-12-01'}"), "log/2026-12.md");
}

static void new_notes_go_where_the_vault_has_them(void **state)
{
    (void)state;
    put(".obsidian/app.json",
        "{\"newFileLocation\": \"folder\", \"newFileFolderPath\": "
        "\"Inbox\", \"userIgnoreFilters\": [\"Templates/\", \"/x.*/\"]}");
    put("Templates/T.md", "[[nowhere]]\n");
    put("x/N.md", "n\n");
    reopen();
    assert_string_equal(text(call(notes_create, "{'title': 'A'}"), "path"), "Inbox/A.md");
    assert_string_equal(
        text(call(notes_create, "{'title': 'A', 'type': 'idea'}"), "path"), "idea/A.md");
    assert_string_equal(text(call(notes_create, "{'title': 'A', 'folder': ''}"), "path"),
                        "A.md");
    assert_string_equal(ids(call(notes_list, "{'order': 'path'}")),
                        "note/A,Inbox/A,idea/A,x/N");
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
    put(".obsidian/app.json", "{}");
    reopen();
    assert_string_equal(text(call(notes_create, "{'title': 'B'}"), "path"), "B.md");
    assert_int_equal(json_length(call(links_find_broken, "null")), 1);
}

static void our_own_settings_come_first(void **state)
{
    (void)state;
    put(".obsidian/daily-notes.json", "{\"folder\": \"Journal\"}");
    put(".cloche/settings.json",
        "{\"daily_folder\": \"D\", \"daily_format\": \"YYYYMMDD\", "
        "\"new_folder\": \"in/box\", \"ignore\": [\"old\"]}");
    put("old/N.md", "n\n");
    put("older/N.md", "n\n");
    reopen();
    assert_string_equal(daily("{'date': '2026-12-01'}"), "D/20261201.md");
    assert_string_equal(ids(call(notes_list, "null")), "older/N");
    assert_string_equal(text(call(notes_create, "{'title': 'A'}"), "path"),
                        "in/box/A.md");
    put(".cloche/settings.json", "{\"daily_folder\": \"../x\"}");
    struct err e = {0};
    assert_null(vault_open(root, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void today_is_the_persons(void **state)
{
    (void)state;
    zone("Pacific/Auckland");
    vault_set_clock(vault, 1796034600000); /* 2026-11-30T10:30Z: 23:30 there */
    assert_string_equal(daily("null"), "2026-11-30.md");
    assert_string_equal(daily("{'date': 'tomorrow'}"), "2026-12-01.md");
    vault_set_clock(vault, 1796034600000 + 3600000);
    assert_string_equal(daily("{'date': 'today'}"), "2026-12-01.md");
    zone("America/Los_Angeles");
    assert_string_equal(daily("null"), "2026-11-30.md");
    assert_string_equal(daily("{'date': 'yesterday'}"), "2026-11-29.md");
    zone("UTC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(patterns_are_moments, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_settings_it_is_at_the_root, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(obsidians_settings_are_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_format_that_is_none_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logseqs_settings_are_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logseqs_pages_have_the_titles_that_it_shows,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(foams_settings_are_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_notes_go_where_the_vault_has_them, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(our_own_settings_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(today_is_the_persons, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
