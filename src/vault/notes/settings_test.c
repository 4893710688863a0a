/* What a vault says of itself: where titles stand, and what new notes get. */
#include "notes/copies.h"
#include "notes/fixture_test.h"

static const char *title_of(const char *id)
{
    return text(call(notes_get, "'%s'", id), "title");
}

static void make_obsidian(void)
{
    assert_int_equal(mkdir(full(".obsidian"), 0755), 0);
    reopen();
}

static void in_a_vault_of_obsidian_the_file_is_the_title(void **state)
{
    (void)state;
    put("MOC.md", "---\ntitle: The map\n---\n# Map\n");
    put("From.md", "[[MOC]] [[The map]] [[Map]]\n");
    assert_string_equal(title_of("MOC.md"), "The map");
    assert_int_equal(json_length(call(notes_search, "{'query': 'map', 'exact': true}")),
                     0);
    make_obsidian();
    assert_string_equal(title_of("MOC.md"), "MOC");
    assert_string_equal(shown(json_get(call(notes_get, "'the map'"), "aliases")),
                        "[\"The map\"]");
    assert_string_equal(ids(call(notes_search, "{'query': 'moc', 'exact': true}")),
                        "note/MOC");
    assert_int_equal(json_length(call(links_find_broken, "null")), 1); /* [[Map]] */
}

static void a_rename_there_changes_links_alone(void **state)
{
    (void)state;
    make_obsidian();
    put("MOC.md", "---\ntitle: The map\n---\n# MOC\n");
    put("From.md", "[[MOC|x]]\n");
    const struct json *done = call(
        notes_rename, "{'identifier': 'MOC', 'new_title': 'All/maps', 'force': true}");
    assert_string_equal(text(done, "path"), "All-maps.md");
    assert_string_equal(file("All-maps.md"), "---\ntitle: The map\n---\n# MOC\n");
    assert_string_equal(file("From.md"), "[[All-maps|x]]\n");
}

static void new_notes_get_nothing_there(void **state)
{
    (void)state;
    make_obsidian();
    const struct json *made =
        call(notes_create, "{'title': 'CI/CD', 'content': '# Other\\n'}");
    assert_string_equal(text(made, "title"), "CI-CD");
    assert_string_equal(file("note/CI-CD.md"), "# Other\n");
    (void)call(notes_create, "{'title': 'B', 'metadata': {'tags': ['x'], 'a': 1}}");
    assert_string_equal(file("note/B.md"), "---\ntags:\n  - x\na: 1\n---\n\n");
    assert_non_null(strstr(refused(ERR_INVALID, notes_create,
                                   "{'title': 'C', 'content': '---\\na: 1\\n---\\n'}"),
                           "markdown"));
}

static void the_settings_choose(void **state)
{
    (void)state;
    put(".cloche/settings.json", "{\"new_notes\": \"minimal\"}");
    reopen();
    (void)call(notes_create, "{'title': 'A'}");
    assert_int_equal(strncmp(file("note/A.md"), "---\nid: n-", 10), 0);
    put(".cloche/settings.json", "{\"new_notes\": \"none\", \"titles\": \"heading\"}");
    reopen();
    (void)call(notes_create, "{'title': 'B', 'content': '# Else\\n'}");
    assert_string_equal(file("note/B.md"), "---\ntitle: B\n---\n\n# Else\n");
    (void)call(notes_create, "{'title': 'C/D', 'content': '# C/D\\n'}");
    assert_string_equal(file("note/C-D.md"), "# C/D\n");
    assert_string_equal(title_of("note/C-D"), "C/D");
}

static void what_they_do_not_know_is_told(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"titels\": 1}", "titels"},
        {"{\"titles\": \"h1\"}", "\"heading\", \"file\""},
        {"{", "no JSON"},
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        put(".cloche/settings.json", bad[i][0]);
        assert_null(vault_open(root, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_non_null(strstr(e.msg, bad[i][1]));
    }
}

static void a_copy_has_the_vaults_settings(void **state)
{
    (void)state;
    make_obsidian();
    put("A.md", "# Heading\n");
    struct err e = {0};
    struct vault_copy *c = vault_copy_make(vault, NULL, &e);
    assert_non_null(c);
    struct vault *real = vault;
    vault = vault_copy_vault(c, NULL);
    assert_string_equal(title_of("A.md"), "A");
    vault = real;
    vault_copy_free(c);
}

static void a_synchronised_vault_keeps_its_index_in_the_cache(void **state)
{
    (void)state;
    put("a/N.md", "# N\n");
    call(notes_search, "'N'");
    assert_true(exists(".cloche/index.db"));
    put(".stfolder/x", "");
    assert_int_equal(unlink(full(".cloche/index.db")), 0);
    reopen();
    call(notes_search, "'N'");
    assert_false(exists(".cloche/index.db"));
    put(".cloche/settings.json", "{\"index\": \"vault\"}");
    reopen();
    call(notes_search, "'N'");
    assert_true(exists(".cloche/index.db"));
    put("Dropbox/notes/N.md", "# N\n");
    struct err e = {0};
    struct vault *v = vault_open(full("Dropbox/notes"), &e);
    scoped_buf struct buf out = buf_of(1 << 16);
    struct json_writer w = json_writer(&out);
    assert_true(notes_search(v, parse("\"N\""), &w, &e));
    vault_close(v);
    assert_false(exists("Dropbox/notes/.cloche/index.db"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_synchronised_vault_keeps_its_index_in_the_cache,
                                        set_up, tear_down),
        T(in_a_vault_of_obsidian_the_file_is_the_title),
        T(a_rename_there_changes_links_alone),
        T(new_notes_get_nothing_there),
        T(the_settings_choose),
        T(what_they_do_not_know_is_told),
        T(a_copy_has_the_vaults_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
