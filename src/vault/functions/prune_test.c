/* Versions are bounded, and one author's changes do not evict another's latest
 * versions. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "functions/fixture_test.h"
#include "functions/internal.h"

static void put_by(struct fixture *x, const char *who, const char *name, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char what[60];
        (void)snprintf(what, sizeof what, "%s %u", who, i);
        struct function fn = made(x, name, what);
        struct function_change c = {.fn = &fn, .replace = true};
        const struct function_author author = {.by = str_of(who)};
        assert_fine(x, functions_change(x->f, &c, 1, &author, NULL, &x->e));
    }
}

static int64_t number(struct fixture *x, const char *sql)
{
    struct db *db = versions_open(x->f, &x->e);
    scoped(query_end) struct query *q = db ? db_query(db, sql, &x->e) : NULL;
    assert_fine(x, q && query_next(q, &x->e));
    return query_int(q, 0);
}

static void change(struct fixture *x, const char *sql)
{
    struct db *db = versions_open(x->f, &x->e);
    assert_fine(x, db && db_exec(db, sql, &x->e));
}

static const char *description_of(struct fixture *x, const char *name, uint32_t version)
{
    struct function fn;
    assert_fine(x, functions_version(x->f, str_of(name), version, x->arena, &fn, &x->e));
    return str_cz(fn.description, x->arena, &x->e);
}

static void versions_of_one_function_are_bounded(void **state)
{
    struct fixture *x = *state;
    put_by(x, "ann", "greet", 30);
    put_by(x, "eve", "greet", FUNCTION_VERSIONS + 20);
    assert_int_equal(number(x, "SELECT count(*) FROM versions"), FUNCTION_VERSIONS);
    assert_int_equal(number(x, "SELECT count(*) FROM versions WHERE by = 'ann'"), 30);
    assert_string_equal(description_of(x, "greet", 30), "says ann 29");
    assert_string_equal(description_of(x, "greet", 0), "says eve 219");
    assert_fine(x, functions_rollback(x->f, STR("greet"), 30, 0, &tester, NULL, &x->e));
    assert_string_equal(description_of(x, "greet", 0), "says ann 29");
}

static void versions_of_all_take_so_much(void **state)
{
    struct fixture *x = *state;
    put_by(x, "ann", "greet", 3);
    put_by(x, "eve", "leave", 10);
    put_by(x, "eve", "gone", 2);
    const struct function_author eve = {.by = STR("eve")};
    struct function_change c = {.of = STR("gone")};
    assert_fine(x, functions_change(x->f, &c, 1, &eve, NULL, &x->e));
    change(x, "UPDATE versions SET size = 5 << 20"); /* 75 MB */
    put_by(x, "ben", "greet", 1);
    /* She has most: removing her older ones is enough. */
    assert_int_equal(number(x, "SELECT count(*) FROM versions WHERE by = 'ann'"), 3);
    assert_int_equal(number(x, "SELECT count(*) FROM versions WHERE by = 'eve'"), 9);
    assert_string_equal(description_of(x, "leave", 0), "says eve 9");
    /* and then versions of deleted functions */
    change(x, "UPDATE versions SET size = 40 << 20");
    put_by(x, "ben", "greet", 2);
    assert_int_equal(number(x, "SELECT count(*) FROM versions WHERE name = 'gone'"), 0);
    assert_string_equal(description_of(x, "leave", 0), "says eve 9");
    assert_string_equal(description_of(x, "greet", 3), "says ann 2");
}

static void of_what_is_gone_the_last_are_known(void **state)
{
    struct fixture *x = *state;
    put_by(x, "ann", "greet", 1);
    change(x, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE"
              " i < 2500) INSERT INTO functions SELECT 'fn_' || i, 'f' || i, 1, '', i"
              " FROM n");
    put_by(x, "ann", "greet", 2);
    assert_int_equal(number(x, "SELECT count(*) FROM functions WHERE gone"),
                     FUNCTIONS_REMOVED);
    assert_int_equal(number(x, "SELECT min(gone) FROM functions WHERE gone"), 501);
    assert_int_equal(number(x, "SELECT count(*) FROM functions WHERE name = 'greet'"), 1);
}

static bool refuses(void *arg, size_t bytes, struct err *e)
{
    *(size_t *)arg += bytes;
    return err_set(e, ERR_LIMIT, "no more");
}

static void what_is_not_admitted_changes_nothing(void **state)
{
    struct fixture *x = *state;
    size_t asked = 0;
    char name[FUNCTION_BACKUP_NAME];
    put_by(x, "ann", "greet", 1);
    const char *before = file_text(x, FILE_PATH);
    const struct function_author eve = {
        .by = STR("eve"), .admits = refuses, .arg = &asked};
    struct function fn = made(x, "greet", "two");
    struct function_change c = {.fn = &fn, .replace = true};
    assert_false(functions_change(x->f, &c, 1, &eve, NULL, &x->e));
    assert_refused(x, ERR_LIMIT, "no more");
    assert_in_range(asked, 100, 400);
    assert_false(functions_backup(x->f, &eve, name, &x->e));
    assert_refused(x, ERR_LIMIT, "no more");
    assert_fine(x, functions_backup(x->f, NULL, name, &x->e));
    scoped_buf struct buf out;
    buf_init(&out, 1 << 16);
    struct json_writer w = json_writer(&out);
    assert_false(functions_restore(x->f, str_of(name), &eve, &w, &x->e));
    assert_refused(x, ERR_LIMIT, "no more");
    assert_string_equal(file_text(x, FILE_PATH), before);
    assert_int_equal(number(x, "SELECT count(*) FROM versions"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(versions_of_one_function_are_bounded),
        T(versions_of_all_take_so_much),
        T(of_what_is_gone_the_last_are_known),
        T(what_is_not_admitted_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
