/* Names that differ only in case or Unicode normalization: no change creates a second
 * one. */
#include "notes/fixture_test.h"

#include "notes/fold.h"

#define O_DIAERESIS "\xc3\xb6" /* composed */
#define O_AND_MARK "o\xcc\x88" /* decomposed */

static void is_folded(const char *from, const char *to)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 16);
    fold_put(str_of(from), &b);
    assert_string_equal(buf_cz(&b), to);
    assert_true(fold_is(str_of(from), str_of(to)));
    assert_false(fold_is(str_of(from), STR("other")));
}

static void folding_is_simple_and_decomposes(void **state)
{
    (void)state;
    is_folded("Project/Oona.md", "project/oona.md");
    is_folded("\xc3\x96rn", "o\xcc\x88rn");
    is_folded("O\xcc\x88rn", "o\xcc\x88rn");
    is_folded("Stra\xc3\x9f"
              "e",
              "stra\xc3\x9f"
              "e");                                    /* not "strasse" */
    is_folded("\xe1\xba\x9e", "\xc3\x9f");             /* the capital of it */
    is_folded("\xce\xa3\xcf\x82", "\xcf\x83\xcf\x83"); /* sigmas */
    is_folded("\xc4\xb1", "\xc4\xb1");                 /* without a dot, not "i" */
    is_folded("\xff\xc3", "\xff\xc3");                 /* no UTF-8 */
}

static void create(const char *title, const char *type)
{
    (void)call(notes_create, "{'title': '%s', 'type': '%s'}", title, type);
}

static void not_created(const char *title, const char *type, const char *because_of)
{
    const char *told =
        refused(ERR_CONFLICT, notes_create, "{'title': '%s', 'type': '%s'}", title, type);
    if (!strstr(told, because_of))
        fail_msg("%s", told);
}

static void a_second_spelling_is_a_conflict(void **state)
{
    (void)state;
    create("Oona", "person");
    not_created("oona", "person", "\"person/Oona\"");
    create("oona", "project"); /* another folder */
    create("B" O_AND_MARK "rn", "person");
    not_created("B" O_DIAERESIS "rn", "person", "spelt with other capitals or accents");
    create("Stra\xc3\x9f"
           "e",
           "person");
    create("Strasse", "person");
}

static void folders_may_be_spelt_otherwise_as_well(void **state)
{
    (void)state;
    put("Person/Deep/Oona.md", "x\n");
    put("person/deep/Else.md", "x\n");
    (void)refused(
        ERR_CONFLICT, notes_rename,
        "{'identifier': 'person/deep/Else', 'new_title': 'oona', 'force': true}");
    assert_true(exists("person/deep/Else.md"));
    put("Root.md", "x\n");
    not_created("root", "note", "\"note/Root\"");
    put("task/root.md", "x\n");
    (void)refused(ERR_CONFLICT, notes_move,
                  "{'identifier': 'task/root', 'new_type': 'note', 'force': true}");
}

static void a_note_itself_may_be_respelt(void **state)
{
    (void)state;
    put("person/Oona.md", "x\n");
    (void)call(notes_rename,
               "{'identifier': 'person/Oona', 'new_title': 'oona', 'force': true}");
    assert_true(exists("person/oona.md") && !exists("person/Oona.md"));
    /* Two existing ones stay, and a rename can tell them apart. */
    put("person/OONA.md", "y\n");
    (void)call(notes_rename,
               "{'identifier': 'person/OONA', 'new_title': 'Other', 'force': true}");
    (void)call(notes_delete, "'person/oona'");
    create("OOna", "person");
}

static void what_is_deleted_is_not_put_beside_its_twin(void **state)
{
    (void)state;
    put("person/Oona.md", "x\n");
    const char *backup = text(call(notes_delete, "'person/Oona'"), "backup_path");
    create("oona", "person");
    (void)refused(ERR_CONFLICT, notes_restore, "{'backup_path': '%s'}", backup);
}

static void one_change_makes_no_twins(void **state)
{
    (void)state;
    const char *told =
        refused(ERR_CONFLICT, notes_batch,
                "{'changes': [{'action': 'create', 'title': 'Oona', 'type': 'person'},"
                " {'action': 'create', 'title': 'OONA', 'type': 'person'}]}");
    assert_non_null(strstr(told, "person/Oona"));
    put("person/Oona.md", "x\n");
    (void)call(notes_batch,
               "{'changes': [{'action': 'delete', 'identifier': 'person/Oona'},"
               " {'action': 'create', 'title': 'OONA', 'type': 'person'}]}");
    assert_true(exists("person/OONA.md") && !exists("person/Oona.md"));
}

/* Few names are looked up one by one, many in a table. */
static void a_large_change_makes_none_either(void **state)
{
    (void)state;
    put("Person/N7.md", "x\n");
    put("person/N1.md", "x\n");
    for (int last = 1; last <= 7; last += 6) {
        scoped_buf struct buf b;
        buf_init(&b, 1 << 16);
        for (int i = 2; i < 7; i++)
            buf_printf(&b, "{'action': 'create', 'title': 'm%d', 'type': 'person'}, ", i);
        const char *told = refused(ERR_CONFLICT, notes_batch,
                                   "{'changes': [%s{'action': 'create', 'title': 'n%d',"
                                   " 'type': 'person'}]}",
                                   buf_cz(&b), last);
        assert_non_null(strstr(told, last == 1 ? "person/N1" : "Person/N7"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_is_simple_and_decomposes),
        cmocka_unit_test_setup_teardown(a_second_spelling_is_a_conflict, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(folders_may_be_spelt_otherwise_as_well, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_note_itself_may_be_respelt, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_large_change_makes_none_either, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(one_change_makes_no_twins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_deleted_is_not_put_beside_its_twin,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
