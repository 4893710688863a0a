/* Properties: sections and frontmatter as one object, in notes and in lists of them. */
#include "notes/fixture_test.h"
#include "notes/outline.h"

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* Those of the note "A" in notes.get. */
static const char *properties(const char *note)
{
    put("A.md", note);
    return shown(json_get(call(notes_get, "{'identifier': 'A.md', 'properties': true}"),
                          "properties"));
}

static const char *listed(const char *key)
{
    const struct json *rows = call(notes_list, "{'fields': ['properties']}");
    return shown(json_get(json_at(rows, 0), key));
}

static void a_section_is_a_property_and_goes_before_the_frontmatter(void **state)
{
    (void)state;
    assert_string_equal(
        properties(
            "---\nid: u1\ntitle: T\ntags: [x]\nDate: old\nn: 1\n---\n# A\n\n## Date\n"
            "  2025-11-29\n\n### deeper\n## Attendees ##\n- Alice\n- Bob\n\n# B\nno\n"),
        "{\"Date\":\"2025-11-29\\n\\n### deeper\",\"Attendees\":\"- Alice\\n- Bob\","
        "\"tags\":[\"x\"],\"n\":1}");
    assert_string_equal(listed("properties"),
                        shown(json_get(call(notes_get, "{'identifier': 'A.md', "
                                                       "'properties': true}"),
                                       "properties")));
}

static void headings_in_code_and_empty_ones_are_none(void **state)
{
    (void)state;
    assert_string_equal(
        properties("```\n## No\n```\n    ## No\n> ## No\n## \nx\n## Yes\n"),
        "{\"Yes\":\"\"}");
    assert_string_equal(properties("## A\n1\n## B\n2\n## A\n3\n"),
                        "{\"A\":\"1\",\"B\":\"2\"}");
    assert_string_equal(properties("---\na: [\n---\n## A\n1\n"), "{\"A\":\"1\"}");
    assert_null(json_get(call(notes_get, "'A.md'"), "properties"));
}

static void a_list_tells_long_texts_in_part_and_says_so(void **state)
{
    (void)state;
    scoped_buf struct buf note;
    buf_init(&note, 1 << 20);
    buf_cstr(&note, "## Short\n1\n## Long\n");
    for (unsigned i = 0; i < PROPERTY_MAX / 2 + 1; i++)
        buf_cstr(&note, "\xc3\xa4");
    put("A.md", buf_cz(&note));
    assert_string_equal(listed("properties_cut"), "[\"Long\"]");
    const struct json *p = json_get(
        json_at(call(notes_list, "{'fields': ['properties']}"), 0), "properties");
    assert_int_equal(json_str(json_get(p, "Long")).n, PROPERTY_MAX + 3);
    assert_true(str_ends(json_str(json_get(p, "Long")), "\xc3\xa4..."));
    assert_string_equal(text(p, "Short"), "1");
    const struct json *whole = json_get(
        call(notes_get, "{'identifier': 'A.md', 'properties': true}"), "properties");
    assert_int_equal(json_str(json_get(whole, "Long")).n, PROPERTY_MAX + 2);
}

static void many_sections_end_at_a_limit(void **state)
{
    (void)state;
    scoped_buf struct buf note;
    buf_init(&note, 8 << 20);
    for (unsigned i = 0; i < 100000; i++)
        buf_printf(&note, "## Key %u\nx\n", i);
    put("A.md", buf_cz(&note));
    const struct json *row = json_at(call(notes_list, "{'fields': ['properties']}"), 0);
    size_t told = json_length(json_get(row, "properties"));
    assert_in_range(told, 1000, 20000);
}

static void lists_by_path_go_on_where_a_note_has_gone(void **state)
{
    (void)state;
    put("b/2.md", "x");
    put("a/1.md", "x");
    put("b/3.md", "x");
    assert_string_equal(ids(call(notes_list, "{'order': 'path', 'limit': 2}")),
                        "a/1,b/2");
    assert_string_equal(ids(call(notes_list, "{'order': 'path', 'cursor': 'b/1.md'}")),
                        "b/2,b/3");
    assert_string_equal(
        ids(call(notes_list, "{'order': 'path', 'type': 'b', 'cursor': 'b/2.md'}")),
        "b/3");
    refused(ERR_INVALID, notes_list, "{'order': 'size'}");
}

static void links_are_listed_where_they_lead_to_a_note(void **state)
{
    (void)state;
    put("a/1.md", "[[2]] and [two](../b/2.md)\n[[nobody]] https://example.com\n");
    put("b/2.md", "\n[[1|one]]\n");
    assert_string_equal(
        shown(call(links_list, "null")),
        "[{\"source\":\"a/1\",\"target\":\"b/2\",\"text\":\"2\",\"kind\":\"wiki\",\"line\":1},"
        "{\"source\":\"a/1\",\"target\":\"b/2\",\"text\":\"two\",\"kind\":\"markdown\","
        "\"line\":1},"
        "{\"source\":\"b/2\",\"target\":\"a/1\",\"text\":\"one\",\"kind\":\"wiki\",\"line\":2}]");
    assert_int_equal(json_length(call(links_list, "{'limit': 1}")), 2);
    assert_int_equal(json_length(call(links_list, "{'cursor': 'a/1'}")), 1);
    refused(ERR_INVALID, links_list, "{'cursor': 'c/9'}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_section_is_a_property_and_goes_before_the_frontmatter),
        T(headings_in_code_and_empty_ones_are_none),
        T(a_list_tells_long_texts_in_part_and_says_so),
        T(many_sections_end_at_a_limit),
        T(lists_by_path_go_on_where_a_note_has_gone),
        T(links_are_listed_where_they_lead_to_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
