/* Effects as data: by each call, once, and only of what was done. */
#include "notes/fixture_test.h"

static struct outcome did;
static struct buf heard;

static void hear(void *arg, const struct effect *e)
{
    static const char *const deeds[] = {"read", "made", "changed", "moved", "removed"};
    (void)arg;
    buf_printf(&heard, "%s%s %.*s", heard.n ? ", " : "", deeds[e->deed], STR_ARGS(e->id));
}

/* The changes, and after "; " the caller's knowledge besides, or "-" for "nothing". */
static const char *effects_of(notes_fn *f, const char *options)
{
    const struct vault_view view = {.notes = true, .types = true, .outcome = &did};
    struct vault *whole = vault;
    buf_done(&heard);
    buf_init(&heard, 10000);
    did = (struct outcome){.hear = hear, .arena = arena};
    vault = vault_as(whole, &view);
    (void)call(f, options);
    vault_close(vault);
    vault = whole;
    buf_cstr(&heard, ";");
    for (const struct effect_row *r = did.known; r; r = r->next) {
        buf_printf(&heard, " %.*s", STR_ARGS(r->of.id));
        assert_true(str_starts(r->of.after, "sha256:"));
    }
    return buf_cz(&heard);
}

static int begin(void **state)
{
    if (set_up(state))
        return -1;
    put("a/One.md", "# One\n\n[[a/Two]]\n");
    put("a/Two.md", "# Two\n");
    put("a/Three.md", "# Three\n");
    return 0;
}

static void reading_is_known_and_no_change(void **state)
{
    (void)state;
    assert_string_equal(effects_of(notes_get, "'a/One'"), "; a/One");
    assert_true(str_is(did.known->of.list, "null") && !did.changed && !did.absent);
    assert_string_equal(effects_of(notes_get_sections, "'a/One'"), "; a/One");
    assert_null(did.known->of.list.at);
    assert_string_equal(effects_of(notes_get, "'a/None'"), ";");
    assert_true(did.absent);
    assert_string_equal(effects_of(notes_list, "null"), ";");
    assert_int_equal(did.rows, 3);
}

static void a_change_tells_each_note_and_which_version_its_caller_knows(void **state)
{
    (void)state;
    assert_string_equal(
        effects_of(notes_create, "{'type': 'a', 'title': 'New', 'metadata': {'subnotes': "
                                 "['a/One']}}"),
        "made a/New; a/New");
    assert_true(str_is(did.known->of.list, "[\"a/One\"]"));
    assert_string_equal(effects_of(notes_update, "{'identifier': 'a/One', 'metadata': "
                                                 "{'x': 1}, 'force': true}"),
                        "changed a/One; a/One");
    assert_true(did.known->of.before.n && did.known->of.revision > 0);
    /* The links that follow are changed, but their new versions are not answered. */
    assert_string_equal(effects_of(notes_rename, "{'identifier': 'a/Two', 'new_title': "
                                                 "'Second', 'force': true}"),
                        "changed a/One, moved a/Second; a/Second");
    assert_string_equal(effects_of(hierarchy_add_subnote,
                                   "{'parent_id': 'a/One', 'child_id': 'a/Three'}"),
                        "changed a/One; a/One");
    assert_string_equal(
        effects_of(notes_batch,
                   "{'changes': [{'action': 'create', 'title': 'B', 'type': 'b'}, "
                   "{'action': 'update', 'identifier': 'a/Three', 'content': 'x', "
                   "'force': true}]}"),
        "made b/B, changed a/Three; a/Three b/B");
    assert_false(did.known->next->of.known);
    assert_string_equal(
        effects_of(notes_delete, "{'identifier': 'a/Second', 'confirm': true}"),
        "removed a/Second;");
    assert_int_equal(did.removed, 1);
}

static void what_changes_nothing_is_told_as_read(void **state)
{
    (void)state;
    assert_string_equal(effects_of(notes_rename, "{'identifier': 'a/One', 'new_title': "
                                                 "'One', 'force': true}"),
                        "; a/One");
    assert_string_equal(effects_of(notes_update,
                                   "{'identifier': 'a/Two', 'content': '# Two\\n', "
                                   "'force': true}"),
                        "; a/Two");
    assert_false(did.changed);
}

static void a_dry_run_and_what_is_held_back_change_nothing(void **state)
{
    (void)state;
    assert_string_equal(effects_of(notes_rename, "{'identifier': 'a/Two', 'new_title': "
                                                 "'Second', 'dry_run': true}"),
                        ";");
    assert_true(did.dry && did.changes == 2 && !did.changed);
    assert_string_equal(effects_of(notes_delete, "'a/Two'"), ";");
    assert_true(did.held && !did.dry && !did.changes);
    assert_string_equal(effects_of(notes_delete, "{'identifier': 'a/Two', 'dry_run': "
                                                 "true}"),
                        ";");
    assert_true(did.held && did.dry && !did.changes);
}

static void types_are_told_by_their_names(void **state)
{
    (void)state;
    assert_string_equal(
        effects_of(note_types_create, "{'type_name': 't', 'description': 'x'}"),
        "made t; t");
    assert_string_equal(
        effects_of(note_types_update, "{'type_name': 't', 'description': 'y'}"),
        "changed t;");
    assert_string_equal(effects_of(note_types_delete, "{'type_name': 'a', 'action': "
                                                      "'delete', 'confirm': true}"),
                        "removed a/One, removed a/Three, removed a/Two, removed a;");
    assert_int_equal(did.removed, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reading_is_known_and_no_change, begin, tear_down),
        cmocka_unit_test_setup_teardown(
            a_change_tells_each_note_and_which_version_its_caller_knows, begin,
            tear_down),
        cmocka_unit_test_setup_teardown(what_changes_nothing_is_told_as_read, begin,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_dry_run_and_what_is_held_back_change_nothing,
                                        begin, tear_down),
        cmocka_unit_test_setup_teardown(types_are_told_by_their_names, begin, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
