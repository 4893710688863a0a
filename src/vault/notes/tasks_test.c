/* Tasks: what is one, in the conventions of four programs, and how they are listed. */
#include "notes/fixture_test.h"

static const char *tasks(const char *options)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it = json_iter(call(notes_tasks, "%s", options));
    while (json_next(&it))
        buf_printf(&b, "%s%s:%lld %s", b.n ? "|" : "", text(it.value, "note_id"),
                   (long long)json_int(json_get(it.value, "line"), 0),
                   text(it.value, "text"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void items_with_a_mark_are_tasks(void **state)
{
    (void)state;
    put("a/N.md", "---\nx: y\n---\n# Tasks\n\n"
                  "- [ ] one\n"
                  "* [x] two\n"
                  "  1. [/] three #t/x\n"
                  "+ [-] four\n"
                  "- [ ]five\n- [] six\n- [link](x) seven\n[ ] eight\n\n"
                  "> - [ ] nine\n\n"
                  "```\n- [ ] ten\n```\n\n    - [ ] eleven\n\n- `[ ] twelve`\n- [ ]\n");
    assert_string_equal(tasks("null"), "a/N:3 one|a/N:5 three #t/x|a/N:12 nine");
    assert_string_equal(tasks("{'status': 'done'}"), "a/N:4 two");
    assert_string_equal(tasks("{'status': 'cancelled'}"), "a/N:6 four");
    assert_string_equal(tasks("{'tag': 't'}"), "a/N:5 three #t/x");
    assert_string_equal(tasks("{'tag': '#T/X', 'folder': 'a/', 'query': 'THREE'}"),
                        "a/N:5 three #t/x");
    assert_string_equal(tasks("{'folder': 'b'}"), "");
}

static void dates_are_read_as_four_programs_write_them(void **state)
{
    (void)state;
    put("a/N.md", "- [ ] emoji \U0001F4C5 2026-12-03 \u23F3 2026-12-01 \u23EB\n"
                  "- [x] field [due:: 2026-12-02] (completion:: 2026-11-01)\n"
                  "- TODO [#A] logseq\n  DEADLINE: <2026-12-01 Tue>\n"
                  "- DONE word\n"
                  "- TODOs are none\n"
                  "- [ ] no date \U0001F4C5 soon\n");
    assert_string_equal(tasks("{'status': 'all'}"),
                        "a/N:3 [#A] logseq|a/N:2 field [due:: 2026-12-02] (completion:: "
                        "2026-11-01)|a/N:1 emoji \U0001F4C5 2026-12-03 \u23F3 2026-12-01 "
                        "\u23EB|a/N:5 word|a/N:7 no date \U0001F4C5 soon");
    const struct json *first = json_at(call(notes_tasks, "null"), 0);
    assert_string_equal(shown(first),
                        "{\"note_id\":\"a/N\",\"path\":\"a/N.md\",\"line\":3,\"status\":"
                        "\"open\",\"mark\":\"TODO\",\"text\":\"[#A] logseq\",\"tags\":[],"
                        "\"due\":\"2026-12-01\",\"priority\":1}");
    assert_string_equal(tasks("{'due_before': '2026-12-03'}"), "a/N:3 [#A] logseq");
    assert_string_equal(tasks("{'due_after': '2026-12-01'}"),
                        "a/N:1 emoji \U0001F4C5 2026-12-03 \u23F3 2026-12-01 \u23EB");
}

static void a_changed_or_removed_note_changes_the_list(void **state)
{
    (void)state;
    put("a/N.md", "- [ ] one\n");
    put("a/M.md", "- [ ] two\n");
    assert_string_equal(tasks("null"), "a/M:1 two|a/N:1 one");
    put("a/N.md", "- [x] one\n- [ ] three\n");
    assert_string_equal(tasks("null"), "a/M:1 two|a/N:2 three");
    assert_int_equal(unlink(full("a/M.md")), 0);
    assert_string_equal(tasks("null"), "a/N:2 three");
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    assert_non_null(
        strstr(refused(ERR_INVALID, notes_tasks, "{'status': 'late'}"), "'cancelled'"));
    assert_non_null(
        strstr(refused(ERR_INVALID, notes_tasks, "{'due_before': 'May'}"), "2026-12-01"));
    assert_non_null(
        strstr(refused(ERR_INVALID, notes_tasks, "{'overdue': true}"), "overdue"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(items_with_a_mark_are_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dates_are_read_as_four_programs_write_them,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_or_removed_note_changes_the_list,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_options_are_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
