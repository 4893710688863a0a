/* Renaming and moving: the links that follow, those that stay, and what is refused. */
#include "notes/fixture_test.h"

static const struct json *rename_to(const char *id, const char *title)
{
    return call(notes_rename, "{'identifier': '%s', 'new_title': '%s', 'force': true}",
                id, title);
}

static const struct json *move_to(const char *id, const char *type)
{
    return call(notes_move, "{'identifier': '%s', 'new_type': '%s', 'force': true}", id,
                type);
}

static int64_t count(const struct json *o, const char *key)
{
    return json_int(json_get(o, key), -1);
}

/* ---- rename -------------------------------------------------------------- */

static void every_form_of_a_link_is_kept(void **state)
{
    (void)state;
    put("project/Plan A.md", "---\ntitle: The Plan\nid: u-1\n---\ntext\n");
    put("project/Near.md",
        "[[project/Plan A]] [[project/Plan A.md|x]] [[Plan A]] [[Plan A.md]] [[The Plan]]\n"
        "[[Plan A#Head|label]] ![[Plan A]] [[u-1]] [[ Plan A ]]\n"
        "[a](Plan%20A.md) [b](./Plan%20A.md#h) [c](<Plan A.md> \"t\")"
        " [d](/project/Plan%20A.md?q)\n\n[ref]: Plan%20A.md\n");
    put("Far.md", "[a](project/Plan%20A.md) ![i](project/Plan%20A.png)\n");
    const struct json *r = rename_to("project/Plan A", "Plan B");
    assert_string_equal(keys_of(r),
                        "success,notesUpdated,linksUpdated,new_id,path,content_hash");
    assert_string_equal(text(r, "new_id"), "project/Plan B");
    assert_int_equal(count(r, "notesUpdated"), 2);
    assert_int_equal(count(r, "linksUpdated"), 14);
    assert_string_equal(
        file("project/Near.md"),
        "[[project/Plan B]] [[project/Plan B.md|x]] [[Plan B]] [[Plan B.md]] [[Plan B]]\n"
        "[[Plan B#Head|label]] ![[Plan B]] [[u-1]] [[ Plan B ]]\n"
        "[a](Plan%20B.md) [b](./Plan%20B.md#h) [c](<Plan B.md> \"t\")"
        " [d](/project/Plan%20B.md?q)\n\n[ref]: Plan%20B.md\n");
    assert_string_equal(file("Far.md"),
                        "[a](project/Plan%20B.md) ![i](project/Plan%20A.png)\n");
    assert_string_equal(file("project/Plan B.md"),
                        "---\ntitle: Plan B\nid: u-1\n---\ntext\n");
    assert_false(exists("project/Plan A.md"));
    assert_int_equal(json_length(call(notes_list, "null")), 3);
}

static void links_in_code_and_to_others_stay(void **state)
{
    (void)state;
    static const char others[] =
        "`[[Plan]]` and [[Planet]] [[other/Plan]]\r\n\r\n"
        "    [[Plan]]\r\n\r\n```\r\n[[Plan]] [x](project/Plan.md)\r\n```\r\n"
        "\\[[Plan]] [x](https://example.com/Plan.md) [y](other/Plan.md) <x@Plan>\r\n";
    put("project/Plan.md", "x\n");
    put("other/Plan.md", "y\n");
    put("Planet.md", "z\n");
    put("A.md", others);
    assert_int_equal(count(rename_to("project/Plan", "New"), "linksUpdated"), 0);
    assert_string_equal(file("A.md"), others);
}

static void no_other_byte_changes(void **state)
{
    (void)state;
    static const char broken[] =
        "---\nx: [\n---\r\na [[Old]]\rb\xff\xfe [[Old|\xff]]\r\n";
    static const char marked[] = "\xef\xbb\xbf---\r\nt: 1 # why\r\n---\r\n\r\n[[Old]]";
    put("Old.md", "x");
    put("Broken.md", broken);
    put("Marked.md", marked);
    assert_int_equal(count(rename_to("Old.md", "Neu \xc3\xa4"), "linksUpdated"), 3);
    assert_string_equal(file("Broken.md"),
                        "---\nx: [\n---\r\na [[Neu \xc3\xa4]]\rb\xff\xfe [[Neu \xc3\xa4|"
                        "\xff]]\r\n");
    assert_string_equal(file("Marked.md"),
                        "\xef\xbb\xbf---\r\nt: 1 # why\r\n---\r\n\r\n[[Neu \xc3\xa4]]");
    assert_string_equal(file("Neu \xc3\xa4.md"), "x");
}

static void a_title_is_changed_where_it_stands(void **state)
{
    (void)state;
    put("A.md", "# Old *name* #\n\ntext\n");
    put("B.md", "Old name\n===\n");
    put("C.md", "---\nk: v\n---\n# Old\n");
    rename_to("A.md", "New?");
    assert_string_equal(file("New.md"), "# New? #\n\ntext\n");
    assert_string_equal(text(call(notes_get, "'New.md'"), "title"), "New?");
    rename_to("B.md", "Other");
    assert_string_equal(file("Other.md"), "Other\n===\n");
    put("E.md", "Two\nlines\n===\nx\n");
    assert_string_equal(text(call(notes_get, "'E.md'"), "title"), "Two lines");
    rename_to("E.md", "One");
    assert_string_equal(file("One.md"), "One\n===\nx\n");
    /* The heading cannot hold it: the closing marks would be cut off. */
    rename_to("C.md", "C #");
    assert_string_equal(text(call(notes_get, "'C.md'"), "title"), "C #");
    put("D.md", "---\nx: [\n---\n# Old\n");
    refused(ERR_INVALID, notes_rename,
            "{'identifier': 'D.md', 'new_title': 'D #', 'force': true}");
    assert_string_equal(file("D.md"), "---\nx: [\n---\n# Old\n");
}

static void a_note_in_a_folder_of_its_type_stays_there(void **state)
{
    (void)state;
    put("project/sub/Plan.md", "[self](Plan.md) [[Plan]]\n");
    const struct json *r = rename_to("project/sub/Plan", "New");
    assert_string_equal(text(r, "new_id"), "project/sub/New");
    assert_string_equal(file("project/sub/New.md"), "[self](New.md) [[New]]\n");
    assert_int_equal(count(r, "notesUpdated"), 1);
}

static void only_the_case_of_a_name_may_change(void **state)
{
    (void)state;
    put("project/plan.md", "x\n");
    put("A.md", "[[project/plan]] [x](project/plan.md)\n");
    assert_string_equal(text(rename_to("project/plan", "Plan"), "new_id"),
                        "project/Plan");
    assert_string_equal(file("A.md"), "[[project/Plan]] [x](project/Plan.md)\n");
}

static void a_taken_name_is_refused_and_nothing_changes(void **state)
{
    (void)state;
    put("project/A.md", "x\n");
    put("project/B.md", "[[A]]\n");
    const char *why =
        refused(ERR_CONFLICT, notes_rename,
                "{'identifier': 'project/A', 'new_title': 'B', 'force': true}");
    assert_non_null(strstr(why, "project/B"));
    assert_string_equal(file("project/B.md"), "[[A]]\n");
    put("Root.md", "x");
    put("note/Leaf.md", "x");
    refused(ERR_CONFLICT, notes_rename,
            "{'identifier': 'Root.md', 'new_title': 'Leaf', 'force': true}");
    refused(ERR_CONFLICT, notes_rename,
            "{'identifier': 'note/Leaf', 'new_title': 'Root', 'force': true}");
}

static void links_to_others_are_never_captured(void **state)
{
    (void)state;
    put("bb/Plan.md", "x\n");
    put("a/Old.md", "y\n");
    put("ccc/Old.md", "z\n");
    put("Links.md", "[[Plan]] [[a/Old]] [[ccc/Old]]\n");
    const char *why =
        refused(ERR_CONFLICT, notes_rename,
                "{'identifier': 'a/Old', 'new_title': 'Plan', 'force': true}");
    assert_non_null(strstr(why, "bb/Plan"));
    assert_string_equal(file("Links.md"), "[[Plan]] [[a/Old]] [[ccc/Old]]\n");
    assert_true(exists("a/Old.md"));
    /* A longer path takes no link; its own link by name becomes one by id. */
    put("Links.md", "[[Plan]] [[Old]]\n");
    rename_to("a/Old", "New");
    assert_string_equal(file("Links.md"), "[[Plan]] [[New]]\n");
    put("Links.md", "[[Plan]] [[Old]]\n");
    rename_to("ccc/Old", "Plan");
    assert_string_equal(file("Links.md"), "[[Plan]] [[ccc/Plan]]\n");
}

static void a_title_that_no_link_can_hold_gives_links_by_name(void **state)
{
    (void)state;
    put("project/Old.md", "---\ntitle: Old\n---\n");
    put("A.md", "[[Old]]\n");
    rename_to("project/Old", "Was: [ist] #1 | das?");
    assert_string_equal(text(call(notes_get, "'project/Was ist 1 das'"), "title"),
                        "Was: [ist] #1 | das?");
    assert_string_equal(file("A.md"), "[[Was ist 1 das]]\n");
}

static void parents_keep_their_subnotes(void **state)
{
    (void)state;
    put("project/Child.md", "x\n");
    put("project/Parent.md",
        "---\nsubnotes:\n  - project/Child\n  - '[[project/Else]]'\n---\n");
    rename_to("project/Child", "Kid");
    assert_string_equal(
        file("project/Parent.md"),
        "---\nsubnotes:\n  - project/Kid\n  - \"[[project/Else]]\"\n---\n");
}

static void a_rename_needs_the_version_that_was_read(void **state)
{
    (void)state;
    put("A.md", "x\n");
    const char *hash = hash_of("A.md");
    refused(ERR_INVALID, notes_rename, "{'identifier': 'A.md', 'new_title': 'B'}");
    put("A.md", "other\n");
    const char *why =
        refused(ERR_CONFLICT, notes_rename,
                "{'identifier': 'A.md', 'new_title': 'B', 'content_hash': '%s'}", hash);
    assert_non_null(strstr(why, hash));
    assert_non_null(strstr(why, hash_of("A.md")));
    refused(ERR_NOT_FOUND, notes_rename,
            "{'identifier': 'none', 'new_title': 'B', 'force': true}");
    static const char *const bad[] = {"''", "'///'", "5", "null", "'a\\nb'"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_rename,
                "{'identifier': 'A.md', 'new_title': %s, 'force': true}", bad[i]);
    refused(ERR_INVALID, notes_move,
            "{'identifier': 'A.md', 'new_type': '../x', 'force': true}");
    assert_string_equal(file("A.md"), "other\n");
}

static void a_dry_run_tells_all_and_writes_nothing(void **state)
{
    (void)state;
    put("A.md", "---\ntitle: A\n---\n");
    put("B.md", "one\n[[A]]\n");
    const struct json *d =
        call(notes_rename,
             "{'identifier': 'A.md', 'new_title': 'C', 'force': true, 'dry_run': true}");
    assert_true(json_bool(json_get(d, "dry_run"), false));
    const struct json *changes = json_get(d, "changes");
    assert_int_equal(json_length(changes), 2);
    const struct json *own = json_at(changes, 1), *other = json_at(changes, 0);
    if (strcmp(text(own, "path"), "A.md") != 0)
        own = json_at(changes, 0), other = json_at(changes, 1);
    assert_string_equal(text(own, "action"), "rename");
    assert_string_equal(text(own, "new_path"), "C.md");
    assert_string_equal(text(own, "diff"),
                        "@@ -1,3 +1,3 @@\n ---\n-title: A\n+title: C\n ---\n");
    assert_string_equal(text(other, "diff"), "@@ -1,2 +1,2 @@\n one\n-[[A]]\n+[[C]]\n");
    assert_true(exists("A.md"));
    assert_string_equal(file("B.md"), "one\n[[A]]\n");
    assert_false(exists(".cloche/history"));
}

/* ---- move ---------------------------------------------------------------- */

static void a_moved_note_keeps_its_relative_links(void **state)
{
    (void)state;
    put("project/sub/Plan.md",
        "---\ntype: project\n---\n[a](../Near.md) [b](Here.md#x) ![i](../../img/a%20b.png)\n"
        "[![j](pic.png)](../Near.md) [[Near]] [[../Near]] [w](https://x.org/a.md) [s](#x)\n"
        "[gone](nowhere.md) [root](/project/Near.md)\n");
    put("project/Near.md", "[p](sub/Plan.md)\n");
    put("project/sub/Here.md", "x\n");
    put("img/a b.png", "x");
    put("project/sub/pic.png", "x");
    const struct json *m = move_to("project/sub/Plan", "done");
    assert_string_equal(
        keys_of(m), "success,old_id,new_id,old_type,new_type,filename,title,timestamp,"
                    "links_updated,notes_with_updated_links,path,content_hash");
    assert_string_equal(text(m, "old_id"), "project/sub/Plan");
    assert_string_equal(text(m, "new_id"), "done/sub/Plan");
    assert_string_equal(
        file("done/sub/Plan.md"),
        "---\ntype: done\n---\n[a](../../project/Near.md) [b](../../project/sub/Here.md#x) "
        "![i](../../img/a%20b.png)\n"
        "[![j](../../project/sub/pic.png)](../../project/Near.md) [[Near]] "
        "[[../../project/Near]] [w](https://x.org/a.md) [s](#x)\n"
        "[gone](../../project/sub/nowhere.md) [root](/project/Near.md)\n");
    assert_string_equal(file("project/Near.md"), "[p](../done/sub/Plan.md)\n");
}

static void a_note_of_the_root_moves_into_its_type(void **state)
{
    (void)state;
    put("Start.md", "[x](project/A.md)\n");
    put("project/A.md", "[[note/Start]] [s](../Start.md) [[Start]]\n");
    const struct json *m = move_to("note/Start", "project");
    assert_string_equal(text(m, "old_id"), "note/Start");
    assert_string_equal(text(m, "new_id"), "project/Start");
    assert_string_equal(file("project/Start.md"), "[x](A.md)\n");
    assert_string_equal(file("project/A.md"),
                        "[[project/Start]] [s](Start.md) [[Start]]\n");
    /* Where it is already, nothing happens. */
    const char *hash = hash_of("project/Start");
    assert_string_equal(text(move_to("project/Start", "project"), "content_hash"), hash);
}

/* ---- several at once ----------------------------------------------------- */

static void notes_of_a_batch_that_link_to_each_other_keep_their_links(void **state)
{
    (void)state;
    put("note/A.md", "[[note/B]] [b](B.md)\n");
    put("note/B.md", "[[note/A]] [a](A.md) [[note/B]]\n");
    (void)call(notes_batch,
               "{'changes': ["
               "{'action': 'move', 'identifier': 'A', 'new_type': 'x', 'force': true},"
               "{'action': 'move', 'identifier': 'B', 'new_type': 'x', 'force': true}]}");
    assert_string_equal(file("x/A.md"), "[[x/B]] [b](B.md)\n");
    assert_string_equal(file("x/B.md"), "[[x/A]] [a](A.md) [[x/B]]\n");
}

static void a_rename_sees_what_its_batch_has_done(void **state)
{
    (void)state;
    put("note/A.md", "a\n");
    put("note/Old.md", "[[A]]\n");
    (void)call(
        notes_batch,
        "{'changes': ["
        "{'action': 'create', 'type': 'note', 'title': 'New', 'content': 'to [[A]]'},"
        "{'action': 'delete', 'identifier': 'Old'},"
        "{'action': 'rename', 'identifier': 'A', 'new_title': 'B', 'force': true},"
        "{'action': 'rename', 'identifier': 'New', 'new_title': 'A', 'force': true},"
        "{'action': 'rename', 'identifier': 'B', 'new_title': 'C', 'force': true}]}");
    assert_true(exists("note/A.md"));
    assert_non_null(strstr(file("note/A.md"), "to [[C]]"));
    assert_string_equal(file("note/C.md"), "a\n");
    assert_false(exists("note/Old.md"));
    assert_int_equal(json_length(call(links_find_broken, "null")), 0);
}

static void names_that_change_hands_in_a_batch_lead_where_they_did(void **state)
{
    (void)state;
    put("A.md", "one to [[B]]\n");
    put("B.md", "two to [[A]]\n");
    put("C.md", "[[A]] [[B]]\n");
    static const char changes[] =
        "{'changes': ["
        "{'action': 'rename', 'identifier': 'A', 'new_title': 'T', 'force': true},"
        "{'action': 'rename', 'identifier': 'B', 'new_title': 'A', 'force': true},"
        "{'action': 'rename', 'identifier': 'T', 'new_title': 'B', 'force': true}]%s}";
    (void)call(notes_batch, changes, ", 'dry_run': true");
    assert_string_equal(file("C.md"), "[[A]] [[B]]\n");
    (void)call(notes_batch, changes, "");
    assert_string_equal(file("C.md"), "[[B]] [[A]]\n");
    assert_string_equal(file("B.md"), "one to [[A]]\n");
    assert_string_equal(file("A.md"), "two to [[B]]\n");
    assert_int_equal(json_length(call(notes_list_trash, "null")), 0);
    /* Each keeps its past. */
    const struct json *first =
        call(notes_get_revision, "{'identifier': 'B.md', 'revision': 1}");
    assert_string_equal(text(first, "content"), "one to [[B]]\n");
    first = call(notes_get_revision, "{'identifier': 'A.md', 'revision': 1}");
    assert_string_equal(text(first, "content"), "two to [[A]]\n");
}

static void a_batch_knows_the_subnotes_of_its_steps_before(void **state)
{
    (void)state;
    put("A.md", "a\n");
    put("B.md", "b\n");
    put("Parent.md", "---\nsubnotes:\n  - A\n---\n");
    static const char *const steps[] = {
        "{'action': 'move', 'identifier': 'A', 'new_type': 'x', 'force': true},"
        "{'action': 'delete', 'identifier': 'Parent'}",
        "{'action': 'rename', 'identifier': 'B', 'new_title': 'C', 'force': true},"
        "{'action': 'create', 'title': 'Other', 'metadata': {'subnotes': ['C']}},"
        "{'action': 'delete', 'identifier': 'Other'}",
    };
    for (size_t i = 0; i < LENGTH(steps); i++) {
        const char *why =
            refused(ERR_CONFLICT, notes_batch, "{'changes': [%s]}", steps[i]);
        assert_non_null(strstr(why, "without confirm"));
    }
    (void)call(notes_batch,
               "{'changes': [{'action': 'move', 'identifier': 'A', 'new_type': 'x',"
               " 'force': true}, {'action': 'rename', 'identifier': 'x/A',"
               " 'new_title': 'Z', 'force': true}]}");
    assert_string_equal(file("Parent.md"), "---\nsubnotes:\n  - Z\n---\n");
    refused(ERR_CONFLICT, notes_batch,
            "{'changes': [{'action': 'rename', 'identifier': 'B', 'new_title': 'C',"
            " 'force': true}, {'action': 'delete', 'identifier': 'Parent'}]}");
}

static void links_by_title_follow_in_a_batch_too(void **state)
{
    (void)state;
    put("project/Plan A.md", "---\ntitle: The Plan\n---\n[[note/C]]\n");
    put("C.md", "[[The Plan]] ![[The Plan|x]] [[Plan A]]\n");
    const struct json *done = json_get(
        call(notes_batch,
             "{'changes': [{'action': 'rename', 'identifier': 'project/Plan A',"
             " 'new_title': 'Plan B', 'force': true},"
             "{'action': 'rename', 'identifier': 'C.md', 'new_title': 'D', 'force': true}"
             "]}"),
        "results");
    assert_int_equal(count(json_at(done, 0), "linksUpdated"), 3);
    assert_string_equal(file("D.md"), "[[Plan B]] ![[Plan B|x]] [[Plan B]]\n");
    assert_string_equal(file("project/Plan B.md"),
                        "---\ntitle: Plan B\n---\n[[note/D]]\n");
    assert_string_equal(text(json_at(done, 1), "content_hash"), hash_of("D.md"));
}

static void a_ring_that_cannot_be_ended_is_undone(void **state)
{
    (void)state;
    put("A.md", "one\n");
    put("B.md", "two\n");
    put("C.md", "three\n");
    put("blocked", "a file where a folder should be made\n");
    (void)call(notes_update, "{'identifier': 'A', 'content': 'first', 'force': true}");
    refused(ERR_CONFLICT, notes_batch,
            "{'changes': ["
            "{'action': 'rename', 'identifier': 'A', 'new_title': 'T', 'force': true},"
            "{'action': 'rename', 'identifier': 'B', 'new_title': 'A', 'force': true},"
            "{'action': 'rename', 'identifier': 'T', 'new_title': 'B', 'force': true},"
            "{'action': 'move', 'identifier': 'C', 'new_type': 'blocked', 'force': "
            "true}]}");
    assert_string_equal(file("A.md"), "first");
    assert_string_equal(file("B.md"), "two\n");
    assert_string_equal(file("C.md"), "three\n");
    assert_int_equal(json_length(call(notes_list_trash, "null")), 0);
    assert_int_equal(json_length(call(notes_history, "'A.md'")), 2);
    const struct json *r =
        call(notes_get_revision, "{'identifier': 'A.md', 'revision': 1}");
    assert_string_equal(text(r, "content"), "one\n");
}

/* ---- many ---------------------------------------------------------------- */

static void a_thousand_links_follow_or_none(void **state)
{
    (void)state;
    put("project/Hub.md", "x\n");
    for (int i = 0; i < 1000; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "note/N%d.md", i);
        put(path, "see [[Hub]] and [h](../project/Hub.md)\n");
    }
    const struct json *r = rename_to("project/Hub", "Centre");
    assert_int_equal(count(r, "notesUpdated"), 1000);
    assert_int_equal(count(r, "linksUpdated"), 2000);
    assert_string_equal(file("note/N999.md"),
                        "see [[Centre]] and [h](../project/Centre.md)\n");
    /* One file that cannot be replaced, and nothing has happened. */
    if (geteuid() == 0)
        return;
    assert_int_equal(chmod(full("note"), 0555), 0);
    refused(ERR_DENIED, notes_rename,
            "{'identifier': 'project/Centre', 'new_title': 'Hub', 'force': true}");
    assert_int_equal(chmod(full("note"), 0755), 0);
    assert_true(exists("project/Centre.md"));
    assert_string_equal(file("note/N0.md"),
                        "see [[Centre]] and [h](../project/Centre.md)\n");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(every_form_of_a_link_is_kept),
        T(links_in_code_and_to_others_stay),
        T(no_other_byte_changes),
        T(a_title_is_changed_where_it_stands),
        T(a_note_in_a_folder_of_its_type_stays_there),
        T(only_the_case_of_a_name_may_change),
        T(a_taken_name_is_refused_and_nothing_changes),
        T(links_to_others_are_never_captured),
        T(a_title_that_no_link_can_hold_gives_links_by_name),
        T(parents_keep_their_subnotes),
        T(a_rename_needs_the_version_that_was_read),
        T(a_dry_run_tells_all_and_writes_nothing),
        T(a_moved_note_keeps_its_relative_links),
        T(a_note_of_the_root_moves_into_its_type),
        T(notes_of_a_batch_that_link_to_each_other_keep_their_links),
        T(a_rename_sees_what_its_batch_has_done),
        T(names_that_change_hands_in_a_batch_lead_where_they_did),
        T(a_batch_knows_the_subnotes_of_its_steps_before),
        T(links_by_title_follow_in_a_batch_too),
        T(a_ring_that_cannot_be_ended_is_undone),
        T(a_thousand_links_follow_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
