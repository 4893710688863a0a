/* Undoing the changes of calls. */
#include "notes/fixture_test.h"

static const struct json *by(const char *name, const char *id, notes_fn *f,
                             const char *fmt, ...)
{
    const struct vault_author author = {.name = name, .call = id};
    const struct vault_view view = {.author = &author, .notes = true, .types = true};
    struct vault *whole = vault;
    va_list ap;
    va_start(ap, fmt);
    const struct json *o = options(fmt, ap);
    va_end(ap);
    vault = vault_as(whole, &view);
    const struct json *answer = call_with(f, o);
    vault_close(vault);
    vault = whole;
    return answer;
}

static int number(const struct json *o, const char *key)
{
    return (int)json_int(json_get(o, key), -1);
}

static const struct json *refusal(const struct json *answer)
{
    return json_at(json_get(answer, "refused"), 0);
}

static int begin(void **state)
{
    if (set_up(state))
        return -1;
    put("a/One.md", "# One\n\n[[a/Two]] and [x](Two.md)\n");
    put("a/Two.md", "---\ntags: [x] # mine\n---\r\n# Two\r\n");
    put("a/Three.md", "# Three\n");
    return 0;
}

static void all_that_a_call_did_is_taken_back_byte_for_byte(void **state)
{
    (void)state;
    by("ann", "c1", notes_create, "{'type': 'a', 'title': 'New'}");
    by("ann", "c1", notes_rename,
       "{'identifier': 'a/Two', 'new_title': 'Second', 'force': true}");
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Second', 'content': 'gone', 'force': true}");
    by("ann", "c1", notes_delete, "'a/Three'");
    assert_non_null(strstr(file("a/One.md"), "[[a/Second]]"));
    const struct json *done = by("ben", "u1", notes_undo, "{'call': 'c1'}");
    assert_int_equal(number(done, "undone"), 4);
    assert_int_equal(number(done, "kept"), 0);
    assert_string_equal(file("a/One.md"), "# One\n\n[[a/Two]] and [x](Two.md)\n");
    assert_string_equal(file("a/Two.md"), "---\ntags: [x] # mine\n---\r\n# Two\r\n");
    assert_string_equal(file("a/Three.md"), "# Three\n");
    assert_false(exists("a/New.md") || exists("a/Second.md"));
    /* The created note is in the trash, and history goes on. */
    assert_int_equal(json_length(call(notes_list_trash, "null")), 1);
    const struct json *last = json_at(call(notes_history, "'a/Two'"), 0);
    assert_string_equal(text(last, "action"), "undo");
    assert_string_equal(text(last, "author"), "ben");
    assert_int_equal(number(json_at(call(notes_history, "'a/Three'"), 0), "revision"), 3);
}

static void what_was_undone_once_is_not_undone_again_but_the_undoing_is(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'x', 'force': true}");
    by("ann", "c1", notes_create, "{'type': 'a', 'title': 'New', 'content': 'y'}");
    by("ben", "u1", notes_undo, "{'call': 'c1'}");
    const struct json *again = by("ben", "u2", notes_undo, "{'call': 'c1'}");
    assert_int_equal(number(again, "undone"), 0);
    assert_int_equal(number(again, "kept"), 0);
    assert_int_equal(number(by("ben", "u3", notes_undo, "{'call': 'u1'}"), "undone"), 2);
    assert_string_equal(file("a/Three.md"), "x");
    assert_true(exists("a/New.md"));
}

static bool all_but(const void *arg, const char *name, struct err *e)
{
    return strcmp(name, arg) != 0 || err_set(e, ERR_DENIED, "%s is denied", name);
}

static const struct json *undo_without(const char *denied, const char *more)
{
    const struct vault_view view = {
        .notes = true, .types = true, .permits = all_but, .permits_arg = denied};
    struct vault *whole = vault;
    vault = vault_as(whole, &view);
    const struct json *answer = call(notes_undo, "{'call': 'c1'%s}", more);
    vault_close(vault);
    vault = whole;
    return answer;
}

static void what_the_caller_may_not_do_by_a_call_is_not_done_by_undoing(void **state)
{
    (void)state;
    static const struct {
        const char *denied, *stays;
    } rows[] = {{"notes.delete", "b/New"},
                {"notes.create", "b/Gone"},
                {"notes.rename", "b/Second"},
                {"notes.move", "c/Moved"},
                {"notes.update", "b/Text"}};
    put("b/Gone.md", "# Gone\n");
    put("b/First.md", "first\n");
    put("b/Moved.md", "# Moved\n");
    put("b/Text.md", "# Text\n");
    by("ann", "c1", notes_create, "{'type': 'b', 'title': 'New'}");
    by("ann", "c1", notes_delete, "'b/Gone'");
    by("ann", "c1", notes_rename,
       "{'identifier': 'b/First', 'new_title': 'Second', 'force': true}");
    by("ann", "c1", notes_move,
       "{'identifier': 'b/Moved', 'new_type': 'c', 'force': true}");
    by("ann", "c1", notes_update,
       "{'identifier': 'b/Text', 'content': 'new', 'force': true}");
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct json *done = undo_without(rows[i].denied, ", 'dry_run': true"),
                          *kept = refusal(done);
        assert_int_equal(json_length(json_get(done, "changes")), 4);
        assert_int_equal(number(done, "kept"), 1);
        assert_string_equal(text(kept, "id"), rows[i].stays);
        assert_non_null(strstr(text(kept, "reason"), rows[i].denied));
    }
    assert_int_equal(number(undo_without("notes.delete", ""), "undone"), 4);
    assert_true(exists("b/New.md"));
    assert_false(exists("b/Second.md") || exists("c/Moved.md"));
    assert_string_equal(file("b/Text.md"), "# Text\n");
}

static void what_a_person_changed_since_stays_and_both_versions_are_shown(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'by ann\\n', 'force': true}");
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Two', 'content': 'by ann\\n', 'force': true}");
    put("a/Three.md", "by a person\n");
    const struct json *done = by("ben", "u1", notes_undo, "{'call': 'c1'}"),
                      *kept = refusal(done);
    assert_int_equal(number(done, "undone"), 1);
    assert_int_equal(number(done, "kept"), 1);
    assert_string_equal(text(kept, "id"), "a/Three");
    assert_non_null(strstr(text(kept, "reason"), "changed it since"));
    assert_non_null(strstr(text(kept, "diff"), "-# Three"));
    assert_non_null(strstr(text(kept, "diff"), "+by ann"));
    assert_non_null(strstr(text(kept, "diff_since"), "+by a person"));
    assert_string_equal(file("a/Three.md"), "by a person\n");
    /* The revision that it names is what undoing would have made of it. */
    by("ben", "", notes_restore,
       "{'identifier': 'a/Three', 'revision': %d, 'force': true}",
       number(kept, "revision"));
    assert_string_equal(file("a/Three.md"), "# Three\n");
}

static void links_in_notes_that_stay_follow_a_name_that_comes_back(void **state)
{
    (void)state;
    by("ann", "c1", notes_rename,
       "{'identifier': 'a/Two', 'new_title': 'Second', 'force': true}");
    put("a/One.md", "a person, of [[a/Second]]\n");
    put("a/Newer.md", "[[Second#Two|label]] [x](Second.md)\n");
    const struct json *done = by("ben", "u1", notes_undo, "{'call': 'c1'}");
    assert_int_equal(number(done, "undone"), 1);
    assert_int_equal(number(done, "kept"), 1);
    assert_true(exists("a/Two.md"));
    assert_string_equal(file("a/One.md"), "a person, of [[a/Two]]\n");
    assert_string_equal(file("a/Newer.md"), "[[Two#Two|label]] [x](Two.md)\n");
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
}

static void what_another_call_built_on_is_undone_after_it(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'x', 'force': true}");
    by("cid", "c2", notes_update,
       "{'identifier': 'a/Three', 'content': 'xy', 'force': true}");
    const struct json *kept = refusal(by("ben", "u1", notes_undo, "{'call': 'c1'}"));
    assert_string_equal(text(kept, "changed_by"), "cid");
    assert_string_equal(text(kept, "call"), "c2");
    assert_int_equal(number(by("ben", "u2", notes_undo, "{'call': 'c2'}"), "undone"), 1);
    assert_int_equal(number(by("ben", "u3", notes_undo, "{'call': 'c1'}"), "undone"), 1);
    assert_string_equal(file("a/Three.md"), "# Three\n");
    /* A user's change between two of one agent's is kept. */
    by("ann", "c3", notes_update,
       "{'identifier': 'a/Three', 'content': '1', 'force': true}");
    put("a/Three.md", "a person's");
    by("ann", "c4", notes_update,
       "{'identifier': 'a/Three', 'content': '2', 'force': true}");
    kept = refusal(by("ben", "u4", notes_undo, "{'agent': 'ann', 'since': '1h'}"));
    assert_non_null(strstr(text(kept, "reason"), "in between"));
    by("ben", "u5", notes_undo, "{'call': 'c4'}");
    assert_string_equal(file("a/Three.md"), "a person's");
}

static void a_time_and_a_name_say_what_is_undone(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'x', 'force': true}");
    by("cid", "c2", notes_update,
       "{'identifier': 'a/Two', 'content': 'x', 'force': true}");
    assert_int_equal(number(by("ben", "", notes_undo, "{'agent': 'cid'}"), "undone"), 1);
    assert_string_equal(file("a/Three.md"), "x");
    assert_int_equal(number(by("ben", "", notes_undo, "{'since': '1h'}"), "undone"), 1);
    assert_string_equal(file("a/Three.md"), "# Three\n");
    refused(ERR_NOT_FOUND, notes_undo, "{'since': '2090-01-01T00:00:00Z'}");
    refused(ERR_NOT_FOUND, notes_undo, "{'call': 'c9'}");
    refused(ERR_INVALID, notes_undo, "{}");
    refused(ERR_INVALID, notes_undo, "{'since': 'yesterday'}");
    refused(ERR_INVALID, notes_undo, "{'calls': 'c1'}");
}

static void names_that_went_round_go_back(void **state)
{
    (void)state;
    by("ann", "c1", notes_batch,
       "{'changes': [{'action': 'rename', 'identifier': 'a/Two', 'new_title': 'Spare', "
       "'force': true}, {'action': 'rename', 'identifier': 'a/Three', 'new_title': 'Two', "
       "'force': true}, {'action': 'rename', 'identifier': 'a/Spare', 'new_title': 'Three', "
       "'force': true}]}");
    assert_string_equal(file("a/Two.md"), "# Two\n");
    put("a/Late.md", "[[a/Two]] was three, [[a/Three]] was two\n");
    assert_int_equal(number(by("ben", "", notes_undo, "{'call': 'c1'}"), "kept"), 0);
    assert_string_equal(file("a/Two.md"), "---\ntags: [x] # mine\n---\r\n# Two\r\n");
    assert_string_equal(file("a/Three.md"), "# Three\n");
    assert_string_equal(file("a/One.md"), "# One\n\n[[a/Two]] and [x](Two.md)\n");
    assert_string_equal(file("a/Late.md"), "[[a/Three]] was three, [[a/Two]] was two\n");
}

static void a_name_that_another_note_has_now_is_not_taken_from_it(void **state)
{
    (void)state;
    by("ann", "c1", notes_delete, "'a/Three'");
    by("ann", "c1", notes_rename,
       "{'identifier': 'a/Two', 'new_title': 'Second', 'force': true}");
    put("a/Three.md", "another");
    put("a/Two.md", "another, too");
    const struct json *done = by("ben", "", notes_undo, "{'call': 'c1'}");
    assert_int_equal(number(done, "kept"), 2);
    assert_non_null(strstr(text(refusal(done), "reason"), "another note has its name"));
    assert_string_equal(file("a/Three.md"), "another");
    assert_string_equal(file("a/Two.md"), "another, too");
}

static void a_trial_tells_all_and_writes_nothing(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'x', 'force': true}");
    by("ann", "c1", notes_rename,
       "{'identifier': 'a/Two', 'new_title': 'Second', 'force': true}");
    put("a/Three.md", "a person's");
    const struct json *told =
        by("ben", "", notes_undo, "{'call': 'c1', 'dry_run': true}");
    assert_int_equal(json_length(json_get(told, "changes")), 2);
    assert_int_equal(json_length(json_get(told, "refused")), 1);
    assert_true(exists("a/Second.md") && !exists("a/Two.md"));
    assert_int_equal(json_length(call(notes_history, "'a/Second'")), 2);
}

static void whoever_may_not_read_is_told_no_contents(void **state)
{
    (void)state;
    by("ann", "c1", notes_update,
       "{'identifier': 'a/Three', 'content': 'x', 'force': true}");
    put("a/Three.md", "a person's secret");
    const struct vault_view view = {0};
    struct vault *whole = vault;
    vault = vault_as(whole, &view);
    const struct json *done = call(notes_undo, "{'call': 'c1'}");
    vault_close(vault);
    vault = whole;
    assert_string_equal(keys_of(done), "undone,timestamp,kept,hidden");
}

static void the_log_tells_what_each_call_changed(void **state)
{
    (void)state;
    assert_string_equal(shown(call(notes_log, "null")), "[]");
    by("ann", "c1", notes_rename,
       "{'identifier': 'a/Two', 'new_title': 'Second', 'force': true}");
    by("cid", "c2", notes_delete, "'a/Three'");
    const struct json *log = call(notes_log, "{'diff': true}"), *call1 = json_at(log, 1),
                      *changes = json_get(call1, "changes"), *row = json_at(changes, 0),
                      *link = json_at(changes, 1);
    assert_int_equal(json_length(log), 2);
    assert_string_equal(text(json_at(log, 0), "author"), "cid");
    assert_string_equal(keys_of(call1), "call,author,time,notes,cursor,changes");
    assert_int_equal(number(call1, "notes"), 2);
    if (!json_get(row, "old_path")) {
        link = row;
        row = json_at(changes, 1);
    }
    assert_string_equal(text(row, "old_path"), "a/Two.md");
    assert_non_null(strstr(text(row, "diff"), "-# Two"));
    assert_non_null(strstr(text(link, "diff"), "[[a/Second]]"));
    log = call(notes_log, "{'limit': 1}");
    log = call(notes_log, "{'cursor': %d}", number(json_at(log, 0), "cursor"));
    assert_string_equal(text(json_at(log, 0), "call"), "c1");
    assert_null(json_get(json_at(json_get(json_at(log, 0), "changes"), 0), "diff"));
    assert_int_equal(json_length(call(notes_log, "{'agent': 'cid'}")), 1);
    refused(ERR_INVALID, notes_log, "{'cursor': 'x'}");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, begin, tear_down)
    const struct CMUnitTest tests[] = {
        T(all_that_a_call_did_is_taken_back_byte_for_byte),
        T(what_was_undone_once_is_not_undone_again_but_the_undoing_is),
        T(what_the_caller_may_not_do_by_a_call_is_not_done_by_undoing),
        T(what_a_person_changed_since_stays_and_both_versions_are_shown),
        T(links_in_notes_that_stay_follow_a_name_that_comes_back),
        T(what_another_call_built_on_is_undone_after_it),
        T(a_time_and_a_name_say_what_is_undone),
        T(names_that_went_round_go_back),
        T(a_name_that_another_note_has_now_is_not_taken_from_it),
        T(a_trial_tells_all_and_writes_nothing),
        T(whoever_may_not_read_is_told_no_contents),
        T(the_log_tells_what_each_call_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
