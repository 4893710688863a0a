/* Headings get other texts, and links follow. */
#include "notes/fixture_test.h"

static void links_that_name_a_heading_follow(void **state)
{
    (void)state;
    put("p/Plan.md",
        "---\nsee: \"[[Plan#My goals]]\"\n---\n# Plan\n\n## My goals\n\n[[#My goals]] "
        "[x](#my-goals) [[#Other]]\n\n## Other\n\n### My goals too\n");
    put("a/N.md",
        "[[Plan#My goals|x]] ![[Plan#Plan#my GOALS]] [y](../p/Plan.md#my-goals \"t\")\n"
        "[z](<../p/Plan.md#My%20goals>) [[Plan#^My]] `[[Plan#My goals]]` [[N#My goals]]\n");
    put("m.canvas",
        "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/Plan.md\",\"subpath\":\"#My goals\"},"
        "{\"type\":\"text\",\"text\":\"a\\n[[Plan#My goals]]\"}]}");
    const struct json *done = call(
        notes_rename_heading,
        "{'identifier': 'Plan', 'heading': 'My goals', 'new_heading': 'Ends: [a] & b', "
        "'force': true}");
    assert_string_equal(
        file("p/Plan.md"),
        "---\nsee: \"[[Plan#Ends a & b]]\"\n---\n# Plan\n\n## Ends: [a] & b\n\n[[#Ends a & b]] "
        "[x](#ends-a--b) [[#Other]]\n\n## Other\n\n### My goals too\n");
    assert_string_equal(
        file("a/N.md"),
        "[[Plan#Ends a & b|x]] ![[Plan#Plan#Ends a & b]] [y](../p/Plan.md#ends-a--b \"t\")\n"
        "[z](<../p/Plan.md#Ends%20a%20&%20b>) [[Plan#^My]] `[[Plan#My goals]]` [[N#My goals]]\n");
    assert_string_equal(
        file("m.canvas"),
        "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/Plan.md\",\"subpath\":\"#Ends a & b\"},"
        "{\"type\":\"text\",\"text\":\"a\\n[[Plan#Ends a & b]]\"}]}");
    assert_int_equal(json_int(json_get(done, "links_updated"), 0), 9);
    assert_int_equal(json_int(json_get(done, "notes_with_updated_links"), 0), 3);
    assert_string_equal(text(done, "content_hash"), hash_of("p/Plan"));
    /* What was broken before is broken still, and nothing else. */
    assert_int_equal(json_length(call(links_find_broken, "null")), 2);
}

static void what_cannot_be_done_changes_nothing(void **state)
{
    (void)state;
    static const char plan[] = "# Plan\n\n## A\n\n## A\n\nB\n-\n";
    put("Plan.md", plan);
    (void)refused(
        ERR_NOT_FOUND, notes_rename_heading,
        "{'identifier': 'Plan', 'heading': 'C', 'new_heading': 'D', 'force': true}");
    (void)refused(
        ERR_CONFLICT, notes_rename_heading,
        "{'identifier': 'Plan', 'heading': 'A', 'new_heading': 'D', 'force': true}");
    (void)refused(
        ERR_INVALID, notes_rename_heading,
        "{'identifier': 'Plan', 'heading': 'B', 'new_heading': '- x', 'force': true}");
    (void)refused(
        ERR_INVALID, notes_rename_heading,
        "{'identifier': 'Plan', 'heading': 'B', 'new_heading': '!!', 'force': true}");
    (void)refused(ERR_INVALID, notes_rename_heading,
                  "{'identifier': 'Plan', 'heading': 'B', 'new_heading': 'D'}");
    assert_string_equal(file("Plan.md"), plan);
    call(notes_rename_heading, "{'identifier': 'Plan', 'heading': 'A', 'occurrence': 2, "
                               "'new_heading': 'D', 'force': true}");
    assert_string_equal(file("Plan.md"), "# Plan\n\n## A\n\n## D\n\nB\n-\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_that_name_a_heading_follow, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_done_changes_nothing, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
