/* Links in the frontmatter: what counts as one, where it leads, and how it follows a rename. */
#include "notes/fixture_test.h"

static const char *targets(const char *id)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it =
        json_iter(json_get(call(links_get_for_note, "'%s'", id), "outgoing_internal"));
    while (json_next(&it))
        buf_printf(&b, "%s%s:%lld", b.n ? "," : "", text(it.value, "target"),
                   (long long)json_int(json_get(it.value, "line"), -1));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void links_of_properties_are_links(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## Goals\n");
    put("a/N.md", "---\n"
                  "up: \"[[Plan]]\"\n"
                  "also: ['[[p/Plan|the plan]]', \"see [[Plan#Goals]]\"]\n"
                  "bare: [[Plan]]\n"
                  "list:\n  - \"[[Bob's]]\"\n  - '[[Bob''s]]'\n"
                  "# [[comment]]\n"
                  "matrix: [[1, 2], [3, 4]]\n"
                  "subnotes:\n  - \"[[Plan]]\"\n"
                  "tail: x [[Nowhere]]\n"
                  "---\n\nand [[Plan]]\n");
    assert_string_equal(targets("a/N"), "Plan:0,p/Plan:0,Plan:0,Plan:0,Bob's:0,Bob's:0,"
                                        "Nowhere:0,Plan:1");
    assert_int_equal(json_length(call(links_get_backlinks, "'p/Plan'")), 5);
    assert_int_equal(json_length(call(links_find_broken, "null")), 3);
    assert_int_equal(json_length(json_get(call(notes_get, "'a/N'"), "links")), 8);
}

static void a_broken_frontmatter_has_none(void **state)
{
    (void)state;
    put("a/N.md", "---\nup: \"[[Plan]]\n---\n\n[[Plan]]\n");
    put("a/M.md", "[[Plan]]\n\n---\nup: \"[[Plan]]\"\n---\n");
    assert_string_equal(targets("a/N"), "Plan:1");
}

static void a_rename_leaves_every_other_byte(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## Goals\n");
    put("a/N.md", "---\r\n"
                  "up:   \"[[Plan]]\"   # up\r\n"
                  "also: ['[[p/Plan|the plan]]', \"see [[Plan#Goals]]\"]\r\n"
                  "bare: [[Plan]]\r\n"
                  "---\r\nand [[Plan]]\r\n");
    call(notes_rename,
         "{'identifier': 'p/Plan', 'new_title': 'Bob\\u0027s, plan', 'force': true}");
    assert_string_equal(file("a/N.md"),
                        "---\r\n"
                        "up:   \"[[Bob's, plan]]\"   # up\r\n"
                        "also: ['[[p/Bob''s, plan|the plan]]', \"see [[Bob's, "
                        "plan#Goals]]\"]\r\n"
                        "bare: [[\"Bob's, plan\"]]\r\n"
                        "---\r\nand [[Bob's, plan]]\r\n");
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
    call(notes_rename,
         "{'identifier': 'p/Bob\\u0027s, plan', 'new_title': 'Plan', 'force': true}");
    assert_string_equal(file("a/N.md"),
                        "---\r\n"
                        "up:   \"[[Plan]]\"   # up\r\n"
                        "also: ['[[p/Plan|the plan]]', \"see [[Plan#Goals]]\"]\r\n"
                        "bare: [[\"Plan\"]]\r\n"
                        "---\r\nand [[Plan]]\r\n");
}

static void subnotes_and_links_follow_together(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n");
    put("a/N.md",
        "---\nup: \"[[Plan]]\"\nsubnotes:\n  - Plan\nlast: \"[[Plan]]\"\n---\n");
    call(notes_rename, "{'identifier': 'p/Plan', 'new_title': 'Goal', 'force': true}");
    assert_string_equal(file("a/N.md"), "---\nup: \"[[Goal]]\"\nsubnotes:\n  - Goal\n"
                                        "last: \"[[Goal]]\"\n---\n");
}

static void a_batch_renames_them_too(void **state)
{
    (void)state;
    put("p/A.md", "# A\n");
    put("p/B.md", "# B\n");
    put("a/N.md", "---\nup: \"[[A]]\"\ndown: '[[B]]'\n---\n\n[[A]]\n");
    call(notes_batch,
         "{'changes': [{'action': 'rename', 'identifier': 'p/A', 'new_title': 'C',"
         " 'force': true}, {'action': 'rename', 'identifier': 'p/B', 'new_title': 'D',"
         " 'force': true}]}");
    assert_string_equal(file("a/N.md"),
                        "---\nup: \"[[C]]\"\ndown: '[[D]]'\n---\n\n[[C]]\n");
    assert_string_equal(targets("a/N"), "C:0,D:0,C:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(links_of_properties_are_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_frontmatter_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rename_leaves_every_other_byte, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(subnotes_and_links_follow_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_batch_renames_them_too, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
