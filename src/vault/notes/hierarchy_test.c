/* The hierarchy: lists in frontmatter, by any author. */
#include <sys/wait.h>

#include "notes/fixture_test.h"

/* "parent>child@position:depth" of each row, joined. */
static const char *rows_of(const struct json *rows)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 4 << 20);
    struct json_iter it = json_iter(rows);
    while (json_next(&it))
        buf_printf(&b, "%s%s>%s@%d:%d", b.n ? "," : "", text(it.value, "parent_id"),
                   text(it.value, "child_id"),
                   (int)json_int(json_get(it.value, "position"), -1),
                   (int)json_int(json_get(it.value, "depth"), -1));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static const char *children(const char *id)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(call(hierarchy_get_children, "'%s'", id));
    while (json_next(&it))
        buf_printf(&b, "%s%s", b.n ? "," : "", text(it.value, "child_id"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static const char *parents(const char *id)
{
    return rows_of(call(hierarchy_get_parents, "'%s'", id));
}

static const struct json *add(const char *parent, const char *child)
{
    return call(hierarchy_add_subnote, "{'parent_id': '%s', 'child_id': '%s'}", parent,
                child);
}

static void put_list(const char *path, const char *entries)
{
    struct err e = {0};
    put(path, arena_printf(arena, &e, "---\nsubnotes: [%s]\n---\n", entries));
}

static void put_notes(const char *const *paths)
{
    for (; *paths; paths++)
        put(*paths, "text\n");
}

static const char *const four[] = {"a/P.md", "a/1.md", "a/2.md", "a/3.md", NULL};

static void a_subnote_stands_in_its_parents_frontmatter(void **state)
{
    (void)state;
    put("a/P.md", "---\n# mine\ncolour: red\nupdated: 2020-01-01T00:00:00Z\n---\nText\n");
    const struct json *made = call(notes_create, "{'type': 'a', 'title': 'Child'}");
    put("a/Bare.md", "");
    const struct json *done = add("a/P", text(made, "id"));
    assert_string_equal(keys_of(done), "success,parentId,childId,operation,timestamp,"
                                       "hierarchyUpdated,content_hash,previous_hash");
    assert_true(json_bool(json_get(done, "success"), false));
    assert_true(json_bool(json_get(done, "hierarchyUpdated"), false));
    assert_string_equal(text(done, "parentId"), "a/P");
    assert_string_equal(text(done, "childId"), "a/Child");
    assert_string_equal(text(done, "operation"), "add");
    assert_string_equal(text(done, "content_hash"), hash_of("a/P"));
    (void)add("a/P", "a/Bare");
    const struct json *p = call(notes_get, "'a/P'");
    const struct json *list = json_get(json_get(p, "metadata"), "subnotes");
    assert_string_equal(json_str(json_at(list, 0)).at,
                        text(call(notes_get, "'a/Child'"), "uid"));
    assert_string_equal(json_str(json_at(list, 1)).at, "a/Bare");
    assert_non_null(strstr(file("a/P.md"), "# mine\ncolour: red\nupdated: "));
    assert_null(strstr(file("a/P.md"), "2020-01-01"));
    assert_string_equal(text(p, "content"), "Text\n");
    assert_string_equal(rows_of(call(hierarchy_get_children, "'a/P'")),
                        "a/P>a/Child@0:1,a/P>a/Bare@1:1");
    assert_string_equal(parents("a/Bare"), "a/P>a/Bare@1:1");
}

static void positions_count_the_children(void **state)
{
    (void)state;
    put_notes(four);
    (void)add("a/P", "a/1");
    (void)add("a/P", "a/2");
    (void)call(hierarchy_add_subnote,
               "{'parent_id': 'a/P', 'child_id': 'a/3', 'position': 0}");
    assert_string_equal(children("a/P"), "a/3,a/1,a/2");
    (void)call(hierarchy_add_subnote,
               "{'parent_id': 'a/P', 'child_id': 'a/3', 'position': 1}");
    assert_string_equal(children("a/P"), "a/1,a/3,a/2");
    (void)call(hierarchy_add_subnote,
               "{'parent_id': 'a/P', 'child_id': 'a/1', 'position': 99}");
    assert_string_equal(children("a/P"), "a/3,a/2,a/1");
    const struct json *again = add("a/P", "a/3");
    assert_false(json_bool(json_get(again, "hierarchyUpdated"), true));
    assert_string_equal(text(again, "content_hash"), hash_of("a/P"));
    assert_string_equal(children("a/P"), "a/3,a/2,a/1");
    /* Ignored entries have no position, and stay where they are. */
    put_list("a/P.md", "a/gone, a/1, '', a/gone2, a/2, a/1");
    (void)call(hierarchy_add_subnote,
               "{'parent_id': 'a/P', 'child_id': 'a/3', 'position': 1}");
    assert_string_equal(children("a/P"), "a/1,a/3,a/2");
    assert_string_equal(
        shown(json_get(json_get(call(notes_get, "'a/P'"), "metadata"), "subnotes")),
        "[\"a/gone\",\"a/1\",\"\",\"a/gone2\",\"a/3\",\"a/2\",\"a/1\"]");
}

static void removing_takes_out_every_name_of_the_child(void **state)
{
    (void)state;
    put("a/1.md", "---\nid: u-1\ntitle: One\n---\n");
    put("a/2.md", "");
    put_list("a/P.md", "u-1, a/2, a/1, gone");
    assert_string_equal(children("a/P"), "a/1,a/2");
    const struct json *done =
        call(hierarchy_remove_subnote, "{'parent_id': 'a/P', 'child_id': 'One'}");
    assert_string_equal(text(done, "operation"), "remove");
    assert_string_equal(children("a/P"), "a/2");
    (void)call(hierarchy_remove_subnote, "{'parent_id': 'a/P', 'child_id': 'gone'}");
    (void)refused(ERR_NOT_FOUND, hierarchy_remove_subnote,
                  "{'parent_id': 'a/P', 'child_id': 'a/1'}");
    (void)call(hierarchy_remove_subnote, "{'parent_id': 'a/P', 'child_id': 'a/2'}");
    assert_null(strstr(file("a/P.md"), "subnotes"));
    assert_string_equal(children("a/P"), "");
    assert_true(exists("a/1.md") && exists("a/2.md"));
}

static void an_order_names_exactly_the_children(void **state)
{
    (void)state;
    put_notes(four);
    put_list("a/P.md", "a/1, gone, a/2, a/3");
    const struct json *done = call(
        hierarchy_reorder, "{'parent_id': 'a/P', 'child_ids': ['a/3', 'a/1', 'a/2']}");
    assert_string_equal(keys_of(done), "success,parentId,operation,timestamp,"
                                       "hierarchyUpdated,content_hash,previous_hash");
    assert_string_equal(text(done, "operation"), "reorder");
    assert_string_equal(children("a/P"), "a/3,a/1,a/2");
    const char *before = file("a/P.md");
    const char *why = refused(ERR_INVALID, hierarchy_reorder,
                              "{'parent_id': 'a/P', 'child_ids': ['a/3', 'a/P', 'a/3']}");
    assert_non_null(strstr(why, "missing: \"a/1\", \"a/2\""));
    assert_non_null(strstr(why, "not among them: \"a/P\", \"a/3\""));
    (void)refused(ERR_NOT_FOUND, hierarchy_reorder,
                  "{'parent_id': 'a/P', 'child_ids': ['a/3', 'a/9', 'a/2']}");
    (void)refused(ERR_INVALID, hierarchy_reorder, "{'parent_id': 'a/P'}");
    (void)refused(ERR_INVALID, hierarchy_reorder,
                  "{'parent_id': 'a/P', 'child_ids': [1]}");
    assert_string_equal(file("a/P.md"), before);
}

static void no_note_gets_beneath_itself(void **state)
{
    (void)state;
    put_notes(four);
    (void)add("a/1", "a/2");
    (void)add("a/2", "a/3");
    (void)add("a/3", "a/P");
    const char *why = refused(ERR_CONFLICT, hierarchy_add_subnote,
                              "{'parent_id': 'a/P', 'child_id': 'a/1'}");
    assert_non_null(strstr(why, "\"a/1\" > \"a/2\" > \"a/3\" > \"a/P\""));
    (void)refused(ERR_INVALID, hierarchy_add_subnote,
                  "{'parent_id': 'a/1', 'child_id': 'a/1'}");
    assert_null(strstr(file("a/P.md"), "subnotes"));
}

static void bad_options_change_nothing(void **state)
{
    (void)state;
    put_notes(four);
    static const char *const bad[] = {
        "{}",
        "{'parent_id': 'a/P'}",
        "{'parent_id': 'a/P', 'child_id': 1}",
        "{'parent_id': 'a/P', 'child_id': 'a/1', 'position': -1}",
        "{'parent_id': 'a/P', 'child_id': 'a/1', 'position': 'first'}",
        "{'parent_id': 'a/P', 'child_id': 'a/1', 'pos': 1}",
        "'a/P'",
    };
    for (size_t i = 0; i < LENGTH(bad); i++)
        (void)refused(ERR_INVALID, hierarchy_add_subnote, "%s", bad[i]);
    (void)refused(ERR_NOT_FOUND, hierarchy_add_subnote,
                  "{'parent_id': 'a/P', 'child_id': 'a/9'}");
    (void)refused(ERR_NOT_FOUND, hierarchy_add_subnote,
                  "{'parent_id': 'a/9', 'child_id': 'a/P'}");
    put("a/Broken.md", "---\n: [\n---\n");
    (void)refused(ERR_INVALID, hierarchy_add_subnote,
                  "{'parent_id': 'a/Broken', 'child_id': 'a/P'}");
    put("a/Map.md", "---\nsubnotes: {a: 1}\n---\n");
    (void)refused(ERR_INVALID, hierarchy_add_subnote,
                  "{'parent_id': 'a/Map', 'child_id': 'a/P'}");
    const struct json *dry =
        call(hierarchy_add_subnote,
             "{'parent_id': 'a/P', 'child_id': 'a/1', 'dry_run': true}");
    assert_true(json_bool(json_get(dry, "dry_run"), false));
    assert_string_equal(file("a/P.md"), "text\n");
    (void)refused(ERR_INVALID, hierarchy_get_children, "{}");
    (void)refused(ERR_NOT_FOUND, hierarchy_get_parents, "'a/9'");
    (void)refused(ERR_INVALID, hierarchy_get_descendants,
                  "{'note_id': 'a/P', 'max_depth': 0}");
    (void)refused(ERR_INVALID, hierarchy_get_descendants, "{'max_depth': 1}");
}

static void a_list_has_a_limit(void **state)
{
    (void)state;
    put("a/1.md", "");
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "%sx%d", i ? "," : "", i);
    put_list("a/P.md", buf_cz(&b));
    (void)refused(ERR_LIMIT, hierarchy_add_subnote,
                  "{'parent_id': 'a/P', 'child_id': 'a/1'}");
    buf_cstr(&b, ",a/1");
    put_list("a/P.md", buf_cz(&b));
    assert_string_equal(children("a/P"), "");
}

static const char *numbered(const char *prefix, int count)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < count; i++)
        buf_printf(&b, "%s%s%d", i ? "," : "", prefix, i);
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

/* The same notes beneath many: rows enough with few files. */
static void an_answer_of_descendants_has_a_limit(void **state)
{
    (void)state;
    enum { LISTS = 21, EACH = 5000 };
    char path[40];
    for (int i = 0; i < EACH; i++) {
        (void)snprintf(path, sizeof path, "c/%d.md", i);
        put(path, "");
    }
    for (int i = 0; i < LISTS; i++) {
        (void)snprintf(path, sizeof path, "p/%d.md", i);
        put_list(path, numbered("c/", EACH));
    }
    put_list("a/Top.md", numbered("p/", LISTS));
    (void)refused(ERR_LIMIT, hierarchy_get_descendants, "{'note_id': 'a/Top'}");
    assert_int_equal(json_length(call(hierarchy_get_descendants,
                                      "{'note_id': 'a/Top', 'max_depth': 1}")),
                     LISTS);
    (void)refused(ERR_INVALID, hierarchy_get_descendants,
                  "{'note_id': 'a/Top', 'max_depth': 1000001}");
}

/* ---- written by others --------------------------------------------------- */

static void entries_are_read_in_their_usual_forms(void **state)
{
    (void)state;
    put("a/1.md", "---\nid: 77\n---\n");
    put("a/2.md", "");
    put("a/3.md", "");
    put("Root.md", "");
    put("a/P.md", "---\nsubnotes:\n  - 77\n  - '[[a/2|two]]'\n  - a/3.md\n  - note/Root\n"
                  "  - {x: 1}\n  - [a/2]\n  - null\n  - a/P\n---\n");
    assert_string_equal(children("a/P"), "a/1,a/2,a/3,note/Root");
    (void)call(hierarchy_remove_subnote, "{'parent_id': 'a/P', 'child_id': 'a/3'}");
    assert_string_equal(children("a/P"), "a/1,a/2,note/Root");
    (void)call(hierarchy_add_subnote,
               "{'parent_id': 'a/P', 'child_id': 'a/3', 'position': 2}");
    put("a/Q.md", "---\nsubnotes: a/3\n---\n");
    assert_string_equal(children("a/Q"), "a/3");
    assert_string_equal(parents("a/3"), "a/P>a/3@2:1,a/Q>a/3@0:1");
    (void)call(notes_update, "{'identifier': 'a/Q', 'force': true,"
                             " 'metadata': {'subnotes': ['a/2', 'a/P']}}");
    assert_string_equal(children("a/Q"), "a/2,a/P");
}

/* Independent of the order in which the index reads the notes. */
static void a_circle_written_by_hand_is_cut_at_one_place(void **state)
{
    (void)state;
    put_list("a/1.md", "a/2");
    put_list("a/2.md", "a/3");
    put_list("a/3.md", "a/1");
    for (int pass = 0; pass < 2; pass++) {
        assert_string_equal(children("a/1"), "a/2");
        assert_string_equal(children("a/2"), "a/3");
        assert_string_equal(children("a/3"), "");
        assert_string_equal(shown(call(hierarchy_get_path, "'a/3'")),
                            "[\"a/1\",\"a/2\",\"a/3\"]");
        assert_int_equal(
            json_length(call(hierarchy_get_descendants, "{'note_id': 'a/1'}")), 2);
        put("a/1.md", "");
        put_list("a/2.md", "");
        assert_string_equal(children("a/3"), "a/1");
        put_list("a/2.md", "a/3");
        (void)call(hierarchy_get_children, "'a/2'");
        put_list("a/1.md", "a/2");
    }
    /* From the top it is entered elsewhere. */
    put_list("z/Top.md", "a/3");
    assert_string_equal(children("z/Top"), "a/3");
    assert_string_equal(children("a/3"), "a/1");
    assert_string_equal(children("a/2"), "");
    (void)refused(ERR_CONFLICT, hierarchy_add_subnote,
                  "{'parent_id': 'a/2', 'child_id': 'z/Top'}");
    assert_int_equal(unlink(full("a/1.md")), 0);
    assert_string_equal(children("a/2"), "a/3");
    put_list("a/2.md", "a/2, a/3");
    assert_string_equal(children("a/2"), "a/3");
}

static void a_moved_file_keeps_its_place(void **state)
{
    (void)state;
    (void)call(notes_create, "{'type': 'a', 'title': 'P'}");
    (void)call(notes_create, "{'type': 'a', 'title': 'Child'}");
    (void)add("a/P", "a/Child");
    assert_int_equal(mkdir(full("b"), 0755), 0);
    assert_int_equal(rename(full("a/Child.md"), full("b/New.md")), 0);
    assert_string_equal(children("a/P"), "b/New");
    assert_string_equal(shown(call(hierarchy_get_path, "'b/New'")),
                        "[\"a/P\",\"b/New\"]");
    assert_int_equal(rename(full("a/P.md"), full("b/P2.md")), 0);
    assert_string_equal(parents("b/New"), "b/P2>b/New@0:1");
    const char *uid = text(call(notes_get, "'b/New'"), "uid");
    assert_int_equal(unlink(full("b/New.md")), 0);
    assert_string_equal(children("b/P2"), "");
    put("c/Back.md", arena_printf(arena, &(struct err){0}, "---\nid: %s\n---\n", uid));
    assert_string_equal(children("b/P2"), "c/Back");
    /* Two notes with one uid: ambiguous. */
    put("c/Copy.md", file("c/Back.md"));
    assert_string_equal(children("b/P2"), "");
}

static void everything_beneath_comes_level_by_level(void **state)
{
    (void)state;
    put_list("a/Top.md", "a/L, a/R");
    put_list("a/L.md", "a/1, a/Both");
    put_list("a/R.md", "a/Both, a/2");
    put_list("a/Both.md", "a/3");
    put_notes(four);
    assert_string_equal(
        rows_of(call(hierarchy_get_descendants, "{'note_id': 'a/Top'}")),
        "a/Top>a/L@0:1,a/Top>a/R@1:1,a/L>a/1@0:2,a/L>a/Both@1:2,a/R>a/Both@0:2,"
        "a/R>a/2@1:2,a/Both>a/3@0:3");
    assert_string_equal(
        rows_of(call(hierarchy_get_descendants, "{'note_id': 'a/Top', 'max_depth': 1}")),
        "a/Top>a/L@0:1,a/Top>a/R@1:1");
    assert_string_equal(shown(call(hierarchy_get_path, "'a/3'")),
                        "[\"a/Top\",\"a/L\",\"a/Both\",\"a/3\"]");
    assert_string_equal(shown(call(hierarchy_get_path, "{'note_id': 'a/P'}")),
                        "[\"a/P\"]");
    assert_string_equal(rows_of(call(hierarchy_get_descendants, "'a/3'")), "");
}

/* Deeper than any stack, and than the limit of a lookup without a walk. */
static void a_long_chain_is_a_chain(void **state)
{
    (void)state;
    enum { LENGTH_OF_CHAIN = 3000 };
    char path[40], next[40];
    for (int i = 0; i < LENGTH_OF_CHAIN; i++) {
        (void)snprintf(path, sizeof path, "a/%d.md", i);
        (void)snprintf(next, sizeof next, "a/%d", i + 1);
        put_list(path, next);
    }
    put("a/3000.md", "");
    assert_int_equal(json_length(call(hierarchy_get_path, "'a/3000'")), 3001);
    assert_int_equal(json_length(call(hierarchy_get_descendants, "'a/0'")), 3000);
    (void)refused(ERR_CONFLICT, hierarchy_add_subnote,
                  "{'parent_id': 'a/3000', 'child_id': 'a/0'}");
    put_list("a/3000.md", "a/0, a/1500");
    assert_string_equal(children("a/3000"), ""); /* both lead back: begun at a/0 */
    assert_int_equal(json_length(call(hierarchy_get_path, "'a/3000'")), 3001);
    put_list("0/Top.md", "a/1500");
    assert_string_equal(children("a/3000"), "a/0");
    assert_string_equal(children("a/1499"), "");
}

/* ---- at once ------------------------------------------------------------- */

static void two_processes_lose_no_subnote(void **state)
{
    (void)state;
    enum { EACH = 20, PROCESSES = 3 };
    put("a/P.md", "");
    for (int i = 0; i < EACH * PROCESSES; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "a/c%d.md", i);
        put(path, "");
    }
    vault_close(vault);
    vault = NULL;
    pid_t all[PROCESSES];
    for (int p = 0; p < PROCESSES; p++) {
        all[p] = fork();
        assert_true(all[p] >= 0);
        if (all[p] > 0)
            continue;
        struct err e = {0};
        struct vault *own = vault_open(root, &e);
        for (int i = 0; own && !e.code && i < EACH; i++) {
            char o[100];
            (void)snprintf(o, sizeof o, "{\"parent_id\":\"a/P\",\"child_id\":\"a/c%d\"}",
                           p * EACH + i);
            scoped_buf struct buf b;
            buf_init(&b, 1 << 20);
            struct json_writer w = json_writer(&b);
            (void)hierarchy_add_subnote(own, json_read(str_of(o), arena, &e), &w, &e);
        }
        _exit(own && !e.code ? 0 : 1);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(all[p], &status, 0), all[p]);
        assert_int_equal(status, 0);
    }
    reopen();
    assert_int_equal(json_length(call(hierarchy_get_children, "'a/P'")),
                     EACH * PROCESSES);
}

static void a_note_with_subnotes_needs_a_confirmation(void **state)
{
    (void)state;
    put_notes(four);
    put_list("a/P.md", "a/1, a/2");
    const struct json *o = call(notes_delete, "{'identifier': 'a/P'}");
    assert_false(json_bool(json_get(o, "deleted"), true));
    const struct json *warnings = json_get(o, "warnings");
    assert_string_equal(json_str(json_at(warnings, 0)).at, "\"a/1\" is its subnote");
    assert_string_equal(json_str(json_at(warnings, 1)).at, "\"a/2\" is its subnote");
    o = call(notes_delete, "{'identifier': 'a/P', 'confirm': true}");
    assert_true(json_bool(json_get(o, "deleted"), false));
    assert_string_equal(parents("a/1"), "");
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_subnote_stands_in_its_parents_frontmatter),
        T(positions_count_the_children),
        T(removing_takes_out_every_name_of_the_child),
        T(an_order_names_exactly_the_children),
        T(no_note_gets_beneath_itself),
        T(bad_options_change_nothing),
        T(a_list_has_a_limit),
        T(an_answer_of_descendants_has_a_limit),
        T(entries_are_read_in_their_usual_forms),
        T(a_circle_written_by_hand_is_cut_at_one_place),
        T(a_moved_file_keeps_its_place),
        T(everything_beneath_comes_level_by_level),
        T(a_long_chain_is_a_chain),
        T(two_processes_lose_no_subnote),
        T(a_note_with_subnotes_needs_a_confirmation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
