/* Which tags a note has, how they are found, and what else a search finds. */
#include "notes/fixture_test.h"

static const char *tags_of(const char *content)
{
    put("A.md", content);
    return shown(json_get(call(notes_get, "'A.md'"), "tags"));
}

static void tags_stand_in_the_text(void **state)
{
    (void)state;
    assert_string_equal(tags_of("#one and #two/three.\n\n- #four-4, (#five) x#six\n"),
                        "[\"one\",\"two/three\",\"four-4\"]");
    assert_string_equal(tags_of("# Heading #in/it\n\n## H\n#x #2026 #y2026 ##no #\n"),
                        "[\"in/it\",\"x\",\"y2026\"]");
    assert_string_equal(
        tags_of("#M\xc3\xbcll #\xe6\x97\xa5\xe6\x9c\xac\xe3\x80\x80#\xf0\x9f\x8d\x8e "
                "#a\xe2\x80\xa6 #b\n"),
        "[\"M\xc3\xbcll\",\"\xe6\x97\xa5\xe6\x9c\xac\",\"\xf0\x9f\x8d\x8e\","
        "\"a\",\"b\"]");
}

static void what_is_no_text_has_none(void **state)
{
    (void)state;
    assert_string_equal(tags_of("`#a` ``x #b``\n\n```\n#c\n```\n\n    #d\n"), "[]");
    assert_string_equal(
        tags_of("https://x.org/ #a\n<div>\n #b\n</div>\n\n[x #c](y) \\#e\n"), "[\"a\"]");
    assert_string_equal(tags_of("[[Note #f]] [x](<a b.md #g>) <b title=' #h'> #i\n"),
                        "[\"i\"]");
}

static void the_frontmatter_has_them_in_any_spelling(void **state)
{
    (void)state;
    assert_string_equal(tags_of("---\ntags: one two\n---\n"), "[\"one\",\"two\"]");
    assert_string_equal(tags_of("---\ntags: one, two words\n---\n"),
                        "[\"one\",\"two words\"]");
    assert_string_equal(
        tags_of("---\ntag: '#one'\nTags: [Two/, one]\n---\n#ONE #three\n"),
        "[\"one\",\"Two\",\"three\"]");
}

static void the_properties_at_the_head_have_them(void **state)
{
    (void)state;
    assert_string_equal(
        tags_of("type:: x\ntags:: [[one two]], #three, four\n\n- #five\n"),
        "[\"one two\",\"three\",\"four\",\"five\"]");
}

static const char *found(const char *tag)
{
    return ids(json_get(call(notes_search_advanced,
                             "{'tags': ['%s'], 'sort': "
                             "[{'field': 'path', 'order': 'asc'}]}",
                             tag),
                        "results"));
}

static void a_tag_finds_what_is_beneath_it(void **state)
{
    (void)state;
    put("A.md", "#project/active\n");
    put("B.md", "---\ntags: [Project]\n---\n");
    put("C.md", "#projects #project-x #project0\n");
    assert_string_equal(found("project"), "note/A,note/B");
    assert_string_equal(found("#PROJECT/Active"), "note/A");
    assert_string_equal(found("project/act"), "");
    put("A.md", "no more\n");
    assert_string_equal(found("project"), "note/B");
}

static void tags_beside_a_broken_frontmatter_are_found(void **state)
{
    (void)state;
    put("A.md", "---\nx: [\n---\n#project\n");
    assert_string_equal(found("project"), "note/A");
}

static void the_values_of_the_frontmatter_are_searched(void **state)
{
    (void)state;
    put("A.md", "---\nauthor: Grace Hopper\naliases: [Compiler, 'Old name']\n"
                "more: {deep: [harbour]}\nn: 1906\n---\n# Notes\n\nbody\n");
    put("B.md", "---\nauthor: nobody\n---\n");
    assert_string_equal(ids(call(notes_search, "'hopper'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'compiler body'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'harbour 1906'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'author'")), "");
    put("A.md", "---\nauthor: Ada\n---\n");
    assert_string_equal(ids(call(notes_search, "'hopper'")), "");
}

static void a_note_of_that_very_name_comes_first(void **state)
{
    (void)state;
    put("Garden.md", "much about other things, and more, and more, and more\n");
    put("B.md", "---\ntags: [garden]\n---\n# Garden garden\n\ngarden garden garden\n");
    put("C.md", "---\ntags: [garden]\n---\n# Garden garden\n\ngarden garden garden\n");
    assert_string_equal(ids(call(notes_search, "{'query': ' garden ', 'limit': 1}")),
                        "note/Garden");
    assert_int_equal(json_length(call(notes_search, "'garden'")), 3);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(tags_stand_in_the_text),
        T(what_is_no_text_has_none),
        T(the_frontmatter_has_them_in_any_spelling),
        T(the_properties_at_the_head_have_them),
        T(a_tag_finds_what_is_beneath_it),
        T(tags_beside_a_broken_frontmatter_are_found),
        T(the_values_of_the_frontmatter_are_searched),
        T(a_note_of_that_very_name_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
