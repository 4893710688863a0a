/* Canvases: what of them is a link, and how it follows. */
#include "notes/fixture_test.h"

static const char board[] =
    "{\n\t\"nodes\":[\n"
    "\t\t{\"id\":\"1\",\"x\":0,\"type\":\"file\",\"file\":\"p/Plan.md\",\"subpath\":\"#Goals\"},\n"
    "\t\t{\"id\":\"2\",\"type\":\"text\",\"text\":\"see [[Plan]]\\nand \\\"[it](../p/Plan.md)\\\" \\u00e9 [[Plan|x]]\"},\n"
    "\t\t{\"id\":\"3\",\"type\":\"file\",\"file\":\"img/a.png\"},\n"
    "\t\t{\"id\":\"4\",\"type\":\"link\",\"url\":\"https://example.com/[[Plan]]\"},\n"
    "\t\t{\"id\":\"5\",\"type\":\"text\",\"text\":\"`[[Plan]]`\"},\n"
    "\t\t{\"id\":\"[[Plan]]\",\"type\":\"group\",\"label\":\"[[Plan]]\"}\n"
    "\t],\n\t\"edges\":[{\"id\":\"e\",\"label\":\"[[Plan]]\"}]\n}";

static const char *sources(const char *id)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it = json_iter(call(links_get_backlinks, "'%s'", id));
    while (json_next(&it))
        buf_printf(&b, "%s%s", b.n ? "," : "", text(it.value, "source_note_id"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void cards_link_to_notes(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## Goals\n");
    put("b/board.canvas", board);
    assert_string_equal(sources("p/Plan"),
                        "b/board.canvas,b/board.canvas,b/board.canvas,b/board.canvas");
    put("b/board.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/Plan.md\"}]}");
    assert_string_equal(sources("p/Plan"), "b/board.canvas");
    put("b/board.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/Plan.md\"}]");
    assert_string_equal(sources("p/Plan"), "");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
}

static void a_canvas_that_goes_has_no_links(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n");
    put("board.canvas", board);
    assert_string_equal(sources("p/Plan"),
                        "board.canvas,board.canvas,board.canvas"); /* ../ leads out */
    assert_int_equal(unlink(full("board.canvas")), 0);
    assert_string_equal(sources("p/Plan"), "");
}

static void cards_follow_a_rename_and_every_other_byte_stays(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## Goals\n");
    put("b/board.canvas", board);
    put("img/a.png", "x");
    call(notes_rename,
         "{'identifier': 'p/Plan', 'new_title': 'My \u00e4 goal', 'force': true}");
    assert_string_equal(
        file("b/board.canvas"),
        "{\n\t\"nodes\":[\n"
        "\t\t{\"id\":\"1\",\"x\":0,\"type\":\"file\",\"file\":\"p/My \u00e4 goal.md\",\"subpath\":\"#Goals\"},\n"
        "\t\t{\"id\":\"2\",\"type\":\"text\",\"text\":\"see [[My \u00e4 goal]]\\nand \\\"[it](../p/My%20\u00e4%20goal.md)\\\" \\u00e9 [[My \u00e4 goal|x]]\"},\n"
        "\t\t{\"id\":\"3\",\"type\":\"file\",\"file\":\"img/a.png\"},\n"
        "\t\t{\"id\":\"4\",\"type\":\"link\",\"url\":\"https://example.com/[[Plan]]\"},\n"
        "\t\t{\"id\":\"5\",\"type\":\"text\",\"text\":\"`[[Plan]]`\"},\n"
        "\t\t{\"id\":\"[[Plan]]\",\"type\":\"group\",\"label\":\"[[Plan]]\"}\n"
        "\t],\n\t\"edges\":[{\"id\":\"e\",\"label\":\"[[Plan]]\"}]\n}");
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
    call(notes_rename,
         "{'identifier': 'My \u00e4 goal', 'new_title': 'Plan', 'force': true}");
    assert_string_equal(file("b/board.canvas"), board);
}

static void a_card_keeps_the_whole_path(void **state)
{
    (void)state;
    put("Plan.md", "# Plan\n");
    put("board.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"Plan.md\"}]}");
    call(notes_move, "{'identifier': 'Plan', 'folder': 'p/q', 'force': true}");
    assert_string_equal(file("board.canvas"),
                        "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/q/Plan.md\"}]}");
    call(notes_move, "{'identifier': 'Plan', 'folder': '', 'force': true}");
    assert_string_equal(file("board.canvas"),
                        "{\"nodes\":[{\"type\":\"file\",\"file\":\"Plan.md\"}]}");
}

static void several_renames_of_one_batch_reach_a_card(void **state)
{
    (void)state;
    put("p/A.md", "# A\n");
    put("p/B.md", "# B\n");
    put("board.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/A.md\"},"
                        "{\"type\":\"text\",\"text\":\"[[A]] [[B]]\"}]}");
    call(
        notes_batch,
        "{'changes': [{'action': 'rename', 'identifier': 'p/A', 'new_title': 'C', 'force': true},"
        "{'action': 'rename', 'identifier': 'p/B', 'new_title': 'A', 'force': true}]}");
    assert_string_equal(file("board.canvas"),
                        "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/C.md\"},"
                        "{\"type\":\"text\",\"text\":\"[[C]] [[A]]\"}]}");
    assert_string_equal(sources("p/A"), "board.canvas");
    assert_string_equal(sources("p/C"), "board.canvas,board.canvas");
}

static void a_note_on_a_canvas_is_not_deleted_unasked(void **state)
{
    (void)state;
    put("p/A.md", "# A\n");
    put("board.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/A.md\"}]}");
    const struct json *held = call(notes_delete, "'p/A'");
    assert_false(json_bool(json_get(held, "deleted"), true));
    assert_string_equal(json_cstr(json_at(json_get(held, "warnings"), 0)),
                        "\"board.canvas\" links to it");
}

static void broken_cards_are_told(void **state)
{
    (void)state;
    put("p/A.md", "# A\n\n## Here\n");
    put("z.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"p/Gone.md\"},"
                    "{\"type\":\"file\",\"file\":\"p/A.md\",\"subpath\":\"#There\"},"
                    "{\"type\":\"file\",\"file\":\"p/A.md\",\"subpath\":\"#Here\"},"
                    "{\"type\":\"file\",\"file\":\"img/gone.png\"}]}");
    const struct json *rows = call(links_find_broken, "null");
    assert_int_equal(json_length(rows), 3);
    static const char *const reasons[] = {"missing", "heading", "file"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(text(json_at(rows, i), "reason"), reasons[i]);
        assert_string_equal(text(json_at(rows, i), "source_note_id"), "z.canvas");
    }
    rows = call(links_find_broken, "{'cursor': 'z.canvas'}");
    assert_int_equal(json_length(rows), 0);
    rows = call(links_list, "null");
    assert_int_equal(json_length(rows), 2);
    assert_string_equal(text(json_at(rows, 0), "source"), "z.canvas");
}

static void undo_puts_a_canvas_back(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## Goals\n");
    put("b/board.canvas", board);
    put("img/a.png", "x");
    const struct vault_author by = {.name = "agent", .call = "c-1"};
    const struct vault_view view = {.author = &by, .notes = true, .types = true};
    struct vault *mine = vault_as(vault, &view);
    struct err e = {0};
    scoped_buf struct buf out = buf_of(1 << 20);
    struct json_writer w = json_writer(&out);
    assert_true(notes_rename(
        mine, parse("{\"identifier\":\"p/Plan\",\"new_title\":\"Goal\",\"force\":true}"),
        &w, &e));
    vault_close(mine);
    assert_null(strstr(file("b/board.canvas"), "p/Plan.md"));
    call(notes_undo, "{'call': 'c-1'}");
    assert_string_equal(file("b/board.canvas"), board);
    assert_string_equal(file("p/Plan.md"), "# Plan\n\n## Goals\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cards_link_to_notes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_canvas_that_goes_has_no_links, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(cards_follow_a_rename_and_every_other_byte_stays,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_card_keeps_the_whole_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_renames_of_one_batch_reach_a_card, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_note_on_a_canvas_is_not_deleted_unasked, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(broken_cards_are_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(undo_puts_a_canvas_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
