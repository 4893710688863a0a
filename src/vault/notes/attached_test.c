/* Attachments: listed with their links, read, moved with them, and moved back. */
#include "notes/fixture_test.h"

static const char *list(const char *options)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it = json_iter(call(attachments_list, "%s", options));
    while (json_next(&it))
        buf_printf(&b, "%s%s:%lld", b.n ? "," : "", text(it.value, "path"),
                   (long long)json_int(json_get(it.value, "links"), -1));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void attachments_are_listed_with_their_links(void **state)
{
    (void)state;
    put("img/a.png", "x");
    put("img/deep/B.PNG", "xy");
    put("c.pdf", "x");
    put(".hidden/d.png", "x");
    put("n/N.md", "![[a.png]] ![](../img/a.png) [[b.png|300]] ![](../img/a%20.png)\n");
    put("m.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"img/a.png\"}]}");
    assert_string_equal(list("null"), "c.pdf:0,img/a.png:3,img/deep/B.PNG:1");
    assert_string_equal(list("{'orphans': true}"), "c.pdf:0");
    assert_string_equal(list("{'folder': 'img'}"), "img/a.png:3,img/deep/B.PNG:1");
    assert_string_equal(list("{'limit': 1, 'cursor': 'c.pdf'}"), "img/a.png:3");
    const struct json *row =
        json_at(call(attachments_list, "{'folder': 'img/deep/'}"), 0);
    assert_int_equal(json_int(json_get(row, "size"), 0), 2);
}

static void an_attachment_is_read(void **state)
{
    (void)state;
    put_bytes("img/a.png", "\x89PNG\0\1", 6);
    put("data/rain.csv", "day,mm\n");
    const struct json *a = call(attachments_read, "'A.png'");
    assert_string_equal(text(a, "path"), "img/a.png");
    assert_string_equal(text(a, "media_type"), "image/png");
    assert_string_equal(text(a, "base64"), "iVBORwAB");
    a = call(attachments_read, "{'path': 'data/rain.csv', 'as': 'text'}");
    assert_string_equal(text(a, "text"), "day,mm\n");
    refused(ERR_INVALID, attachments_read, "{'path': 'img/a.png', 'as': 'text'}");
    refused(ERR_NOT_FOUND, attachments_read, "'gone.png'");
    refused(ERR_NOT_FOUND, attachments_read, "'../a.png'");
    refused(ERR_NOT_FOUND, attachments_read, "'.cloche/index.db'");
    assert_int_equal(symlink("/etc/passwd", full("p.txt")), 0);
    refused(ERR_NOT_FOUND, attachments_read, "'p.txt'");
}

static const char linking[] =
    "---\npic: \"[[a b.png]]\"\n---\n"
    "![[a b.png|300]] ![](../img/a%20b.png \"t\") ![x](</img/a b.png>) [d](a%20b.png#page=2)\n"
    "[[img/a b.png]] `![[a b.png]]` %%![[a b.png]]%% ![](img/a%20b.png) ![[c.png]]\n";

static void links_follow_a_moved_attachment(void **state)
{
    (void)state;
    put("img/a b.png", "bytes");
    put("img/c.png", "x");
    put("n/N.md", linking);
    put("m.canvas", "{\"nodes\":[{\"type\":\"file\",\"file\":\"img/a b.png\"},"
                    "{\"type\":\"group\",\"background\":\"img/a b.png\"}]}");
    const struct json *moved =
        call(attachments_move, "{'path': 'img/a b.png', 'to': 'pics/e.png'}");
    assert_string_equal(text(moved, "path"), "pics/e.png");
    assert_int_equal(json_int(json_get(moved, "links_updated"), 0), 9);
    assert_int_equal(json_int(json_get(moved, "notes_with_updated_links"), 0), 2);
    assert_string_equal(
        file("n/N.md"),
        "---\npic: \"[[e.png]]\"\n---\n"
        "![[e.png|300]] ![](../pics/e.png \"t\") ![x](</pics/e.png>) [d](e.png#page=2)\n"
        "[[pics/e.png]] `![[a b.png]]` %%![[a b.png]]%% ![](pics/e.png) ![[c.png]]\n");
    assert_string_equal(file("m.canvas"),
                        "{\"nodes\":[{\"type\":\"file\",\"file\":\"pics/e.png\"},"
                        "{\"type\":\"group\",\"background\":\"pics/e.png\"}]}");
    assert_string_equal(file("pics/e.png"), "bytes");
    assert_false(exists("img/a b.png"));
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
    assert_string_equal(list("{'orphans': true}"), "");
    call(attachments_move, "{'path': 'pics/e.png', 'to': 'img/a b.png'}");
    assert_string_equal(file("n/N.md"), linking);
}

static void a_name_that_another_file_has_is_not_taken(void **state)
{
    (void)state;
    put("img/a.png", "1");
    put("img/c.png", "2");
    put("x/deep/c.png", "3");
    put("N.md", "![[a.png]] ![[c.png]]\n");
    refused(ERR_CONFLICT, attachments_move, "{'path': 'img/a.png', 'to': 'img/c.png'}");
    refused(ERR_CONFLICT, attachments_move, "{'path': 'img/a.png', 'to': 'c.png'}");
    refused(ERR_INVALID, attachments_move, "{'path': 'img/a.png', 'to': 'c [1].png'}");
    refused(ERR_INVALID, attachments_move, "{'path': 'img/a.png', 'to': 'x/c#1.png'}");
    refused(ERR_NOT_FOUND, attachments_move, "{'path': 'img/gone.png', 'to': 'd.png'}");
    refused(ERR_INVALID, attachments_move, "{'path': 'N.md', 'to': 'd.png'}");
    refused(ERR_INVALID, attachments_move, "{'path': 'img/a.png', 'to': 'd.md'}");
    refused(ERR_INVALID, attachments_move, "{'path': 'img/a.png', 'to': '../d.png'}");
    refused(ERR_INVALID, attachments_move, "{'path': '.cloche/index.db', 'to': 'd.db'}");
    assert_string_equal(file("N.md"), "![[a.png]] ![[c.png]]\n");
    call(attachments_move, "{'path': 'img/a.png', 'to': 'some/very/deep/folder/c.png'}");
    assert_string_equal(file("N.md"), "![[some/very/deep/folder/c.png]] ![[c.png]]\n");
    assert_string_equal(list("null"),
                        "img/c.png:1,some/very/deep/folder/c.png:1,x/deep/c.png:0");
}

static void undo_moves_an_attachment_back(void **state)
{
    (void)state;
    const struct vault_author by = {.name = "agent", .call = "c-1"};
    const struct vault_view view = {.author = &by, .notes = true, .types = true};
    struct err e = {0};
    scoped_buf struct buf out = buf_of(1 << 20);
    struct json_writer w = json_writer(&out);
    put("img/a b.png", "bytes");
    put("img/c.png", "x");
    put("n/N.md", linking);
    struct vault *mine = vault_as(vault, &view);
    bool ok = attachments_move(
        mine, parse("{\"path\":\"img/a b.png\",\"to\":\"pics/e.png\"}"), &w, &e);
    if (!ok)
        fail_msg("%s", e.msg);
    vault_close(mine);
    put("later.md", "![[e.png]]\n");
    call(notes_undo, "{'call': 'c-1'}");
    assert_string_equal(file("img/a b.png"), "bytes");
    assert_string_equal(file("n/N.md"), linking);
    assert_string_equal(file("later.md"), "![[a b.png]]\n");
    assert_false(exists("pics/e.png"));
}

static void a_dry_run_moves_nothing(void **state)
{
    (void)state;
    put("img/a.png", "x");
    put("N.md", "![[a.png]]\n");
    const struct json *would =
        call(attachments_move, "{'path': 'img/a.png', 'to': 'b.png', 'dry_run': true}");
    assert_int_equal(json_length(json_get(would, "changes")), 2);
    assert_true(exists("img/a.png"));
    assert_string_equal(file("N.md"), "![[a.png]]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(attachments_are_listed_with_their_links, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_attachment_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_follow_a_moved_attachment, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_that_another_file_has_is_not_taken, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(undo_moves_an_attachment_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dry_run_moves_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
