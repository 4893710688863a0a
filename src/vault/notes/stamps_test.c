#include "notes/fixture_test.h"
#include "notes/stamps.h"

/* ---- files that were last changed long ago -------------------------------- */

static void put_at(const char *path, const char *text, long seconds, long ns)
{
    put(path, text);
    struct timespec when[2] = {{seconds, ns}, {seconds, ns}};
    assert_int_equal(utimensat(AT_FDCWD, full(path), when, 0), 0);
}

static const char *found(const char *word)
{
    return ids(call(notes_search, "'%s'", word));
}

/* The index has seen the files, and remembers its walk. */
static void make_known(void)
{
    put_at("A.md", "apples\n", 1600000000, 1);
    put_at("f/B.md", "bananas\n", 1600000000, 1);
    assert_string_equal(found("apples"), "note/A");
    reopen();
    assert_string_equal(found("apples"), "note/A");
}

static bool spoil_row(struct db *db, void *arg, struct err *e)
{
    (void)arg;
    return db_exec(db, "UPDATE notes SET size = size + 1", e);
}

static bool spoil_and_tell(struct db *db, void *arg, struct err *e)
{
    return spoil_row(db, arg, e) && stamps_forget(db, e);
}

static size_t files_read(void)
{
    struct err e = {0};
    struct index_counts counts = {0};
    assert_true(index_rebuild(vault, false, &counts, &e));
    assert_int_equal(counts.notes, 2);
    return counts.read;
}

static void spoil(index_work *how)
{
    struct err e = {0};
    vault_close(vault);
    vault = NULL;
    scoped_fd int own = open(full(".cloche"), O_RDONLY | O_DIRECTORY);
    assert_true(index_edit(own, how, NULL, &e));
    vault = vault_open(root, &e);
    assert_non_null(vault);
}

/* ---- tests ----------------------------------------------------------------- */

static void rows_are_not_compared_after_a_walk_that_is_remembered(void **state)
{
    (void)state;
    make_known();
    spoil(spoil_row);
    assert_int_equal(files_read(), 0);
}

static void rows_are_compared_once_one_was_written(void **state)
{
    (void)state;
    make_known();
    spoil(spoil_and_tell);
    assert_int_equal(files_read(), 2);
}

static void every_change_to_known_files_is_seen(void **state)
{
    (void)state;
    make_known();
    put_at("A.md", "oranges", 1600000000, 2); /* as long, one nanosecond later */
    reopen();
    assert_string_equal(found("oranges"), "note/A");
    assert_string_equal(found("apples"), "");

    put_at("C.tmp", "cherry\n", 1600000000, 2); /* as long, the same time, another file */
    assert_int_equal(rename(full("C.tmp"), full("A.md")), 0);
    reopen();
    assert_string_equal(found("cherry"), "note/A");

    put_at("D.md", "damsons\n", 1600000000, 1);
    reopen();
    assert_string_equal(found("damsons"), "note/D");

    assert_int_equal(rename(full("D.md"), full("f/D.md")), 0);
    reopen();
    assert_string_equal(found("damsons"), "f/D");

    assert_int_equal(unlink(full("f/D.md")), 0);
    reopen();
    assert_string_equal(found("damsons"), "");
}

static void two_known_files_that_change_places_are_seen(void **state)
{
    (void)state;
    make_known();
    assert_int_equal(rename(full("A.md"), full("X")), 0);
    assert_int_equal(rename(full("f/B.md"), full("A.md")), 0);
    assert_int_equal(rename(full("X"), full("f/B.md")), 0);
    reopen();
    assert_string_equal(found("apples"), "f/B");
    assert_string_equal(found("bananas"), "note/A");
}

static void a_brief_vault_sees_changes_between_its_calls(void **state)
{
    (void)state;
    make_known();
    reopen();
    vault_be_brief(vault);
    for (int i = 0; i < 4; i++) {
        char word[20];
        (void)snprintf(word, sizeof word, "word%02d\n", i);
        put("A.md", word);
        assert_string_equal(ids(call(notes_search, "'word%02d'", i)), "note/A");
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(rows_are_not_compared_after_a_walk_that_is_remembered),
        T(rows_are_compared_once_one_was_written),
        T(every_change_to_known_files_is_seen),
        T(two_known_files_that_change_places_are_seen),
        T(a_brief_vault_sees_changes_between_its_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
