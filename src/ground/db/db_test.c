/* Databases: opened, migrated, shared between processes, and damaged. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "db/db.h"
#include "os/os.h"
#include "os/root_test.h"

static const char *const steps[] = {
    "CREATE TABLE a(id INTEGER PRIMARY KEY, n INTEGER NOT NULL, t TEXT);",
    "CREATE TABLE b(a INTEGER NOT NULL REFERENCES a(id));"
    "CREATE UNIQUE INDEX one ON a(n);",
};
static const struct db_options one_step = {.migrations = steps, .migration_count = 1};
static const struct db_options two_steps = {.migrations = steps, .migration_count = 2};

static struct db *open_it(const struct db_options *o)
{
    struct err e = {0};
    struct db *d = db_open(dir, "x.db", o, NULL, &e);
    if (!d)
        fail_msg("%s", e.msg);
    return d;
}

static int64_t ask(struct db *d, const char *sql)
{
    struct err e = {0};
    scoped(query_end) struct query *q = db_query(d, sql, &e);
    if (!q || !query_next(q, &e))
        fail_msg("%s: %s", sql, e.msg);
    return query_int(q, 0);
}

static void run(struct db *d, const char *sql)
{
    struct err e = {0};
    if (!db_exec(d, sql, &e))
        fail_msg("%s: %s", sql, e.msg);
}

static void a_database_is_made_and_keeps_what_was_put(void **state)
{
    (void)state;
    struct err e = {0};
    {
        scoped(db_close) struct db *d = open_it(&one_step);
        scoped(query_end) struct query *q =
            db_query(d, "INSERT INTO a(n, t) VALUES(?, ?)", &e);
        query_bind_int(q, 1, INT64_MAX);
        query_bind_str(q, 2, (struct str){"x\0y", 3});
        assert_true(query_run(q, &e));
        query_again(q);
        query_bind_int(q, 1, -1);
        query_bind_null(q, 2);
        assert_true(query_run(q, &e));
        assert_int_equal(db_last_id(d), 2);
    }
    scoped(db_close) struct db *d = open_it(&one_step);
    scoped(query_end) struct query *q = db_query(d, "SELECT n, t FROM a ORDER BY id", &e);
    assert_true(query_next(q, &e));
    assert_true(query_int(q, 0) == INT64_MAX);
    assert_int_equal(query_str(q, 1).n, 3);
    assert_true(query_next(q, &e));
    assert_true(query_is_null(q, 1));
    assert_int_equal(query_str(q, 1).n, 0);
    assert_false(query_next(q, &e));
    assert_int_equal(e.code, ERR_NONE);
}

static void migrations_run_once_and_in_order(void **state)
{
    (void)state;
    {
        scoped(db_close) struct db *d = open_it(&one_step);
        run(d, "INSERT INTO a(n) VALUES(5)");
        assert_int_equal(ask(d, "PRAGMA user_version"), 1);
    }
    {
        scoped(db_close) struct db *d = open_it(&two_steps);
        assert_int_equal(ask(d, "PRAGMA user_version"), 2);
        assert_int_equal(ask(d, "SELECT n FROM a"), 5);
    }
    scoped(db_close) struct db *again = open_it(&two_steps);
    assert_int_equal(ask(again, "PRAGMA user_version"), 2);
}

static void pages_are_as_large_as_when_the_file_was_made(void **state)
{
    (void)state;
    struct db_options large = one_step;
    large.large_pages = true;
    {
        scoped(db_close) struct db *d = open_it(&one_step);
        assert_int_equal(ask(d, "PRAGMA page_size"), 4096);
        run(d, "INSERT INTO a(n) VALUES(5)");
    }
    {
        scoped(db_close) struct db *d = open_it(&large);
        assert_int_equal(ask(d, "PRAGMA page_size"), 4096);
        assert_int_equal(ask(d, "SELECT n FROM a"), 5);
    }
    struct err e = {0};
    assert_true(db_remove(dir, "x.db", &e));
    scoped(db_close) struct db *d = open_it(&large);
    run(d, "INSERT INTO a(n) VALUES(6)");
    assert_int_equal(ask(d, "PRAGMA page_size"), 8192);
}

static void a_newer_database_is_refused_and_kept(void **state)
{
    (void)state;
    {
        scoped(db_close) struct db *d = open_it(&two_steps);
        run(d, "INSERT INTO a(n) VALUES(5)");
    }
    struct err e = {0};
    bool damaged;
    assert_null(db_open(dir, "x.db", &one_step, &damaged, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_false(damaged);
    scoped(db_close) struct db *d = open_it(&two_steps);
    assert_int_equal(ask(d, "SELECT n FROM a"), 5);
}

static void what_can_be_made_again_is_of_this_version(void **state)
{
    (void)state;
    struct db_options made[] = {{.schema = "CREATE TABLE a(n);", .version = 4},
                                {.schema = "CREATE TABLE b(n);", .version = 7},
                                {.schema = "CREATE TABLE a(n);", .version = 1}};
    for (size_t i = 0; i < LENGTH(made); i++) {
        scoped(db_close) struct db *open = open_it(&made[i]);
        run(open, i == 1 ? "INSERT INTO b VALUES(1)" : "INSERT INTO a VALUES(1)");
        scoped(db_close) struct db *same = open_it(&made[i]);
        assert_int_equal(ask(same, i == 1 ? "SELECT n FROM b" : "SELECT n FROM a"), 1);
        assert_int_equal(ask(same, "PRAGMA user_version"), made[i].version);
        const struct db_options *other = &made[(i + 1) % LENGTH(made)];
        scoped(db_close) struct db *d = open_it(other);
        assert_int_equal(ask(d, "PRAGMA user_version"), other->version);
        assert_int_equal(ask(d, "SELECT count(*) FROM sqlite_schema"), 1);
        /* A process that had it open goes on with the removed file. */
        assert_int_equal(ask(same, "SELECT count(*) FROM sqlite_schema"), 1);
        assert_int_equal(ask(same, "PRAGMA user_version"), made[i].version);
        struct err e = {0};
        assert_true(db_remove(dir, "x.db", &e));
    }
    /* Tables without a version, and files of another format. */
    {
        scoped(db_close) struct db *d = open_it(&two_steps);
        run(d, "PRAGMA user_version = 0");
    }
    {
        scoped(db_close) struct db *d = open_it(&made[0]);
        assert_int_equal(ask(d, "SELECT count(*) FROM a"), 0);
    }
    scoped_fd int fd = openat(dir, "x.db", O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "no database at all, but long enough to be read", 46), 46);
    scoped(db_close) struct db *d = open_it(&made[0]);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 0);
}

static void assert_private(void)
{
    static const char *const names[] = {"x.db", "x.db-wal", "x.db-shm"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct stat st;
        assert_int_equal(fstatat(dir, names[i], &st, 0), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
}

static void a_database_is_its_owners_alone(void **state)
{
    (void)state;
    mode_t old = umask(0);
    scoped(db_close) struct db *d = open_it(&one_step);
    (void)umask(old);
    run(d, "INSERT INTO a(n) VALUES(5)");
    assert_private();
    assert_int_equal(fchmodat(dir, "x.db", 0644, 0), 0);
    assert_int_equal(fchmodat(dir, "x.db-wal", 0666, 0), 0);
    assert_int_equal(fchmodat(dir, "x.db-shm", 0640, 0), 0);
    struct err e = {0};
    scoped_transaction struct transaction t = {0};
    assert_true(db_begin(&t, d, &e)); /* and what it holds stays held */
    scoped(db_close) struct db *again = open_it(&one_step);
    assert_private();
    struct transaction other = {0};
    struct cancel fired;
    cancel_init(&fired);
    cancel_fire(&fired);
    db_set_cancels(again, &fired, NULL);
    assert_false(db_begin(&other, again, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
}

static void a_failed_migration_changes_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {"CREATE TABLE x(y);", "CREATE TABLE z(y); oops;"};
    struct err e = {0};
    assert_null(db_open(dir, "x.db",
                        &(struct db_options){.migrations = bad, .migration_count = 2},
                        NULL, &e));
    scoped(db_close) struct db *d = open_it(&(struct db_options){0});
    assert_int_equal(ask(d, "SELECT count(*) FROM sqlite_schema"), 0);
}

static void a_transaction_ends_with_its_scope(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *d = open_it(&two_steps);
    {
        scoped_transaction struct transaction t = {0};
        assert_true(db_begin(&t, d, &e));
        run(d, "INSERT INTO a(n) VALUES(1)");
        assert_int_equal(ask(d, "SELECT count(*) FROM a"), 1);
    }
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 0);
    {
        scoped_transaction struct transaction t = {0};
        assert_true(db_begin(&t, d, &e));
        run(d, "INSERT INTO a(n) VALUES(1)");
        assert_true(db_commit(&t, &e));
    }
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 1);
}

static void what_the_schema_forbids_is_a_conflict(void **state)
{
    (void)state;
    scoped(db_close) struct db *d = open_it(&two_steps);
    run(d, "INSERT INTO a(n) VALUES(1)");
    struct err e = {0};
    assert_false(db_exec(d, "INSERT INTO a(n) VALUES(1)", &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    e = (struct err){0};
    assert_false(db_exec(d, "INSERT INTO b(a) VALUES(77)", &e)); /* foreign keys */
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void rubbish_is_reported_as_damaged(void **state)
{
    (void)state;
    struct err e = {0};
    char rubbish[8192];
    memset(rubbish, 'x', sizeof rubbish);
    assert_true(os_write_file(dir, "x.db", (struct str){rubbish, sizeof rubbish},
                              OS_REPLACE, 0644, NULL, &e));
    bool damaged = false;
    assert_null(db_open(dir, "x.db", &one_step, &damaged, &e));
    assert_true(damaged);
    assert_int_equal(e.code, ERR_IO);
    e = (struct err){0};
    assert_true(db_remove(dir, "x.db", &e));
    scoped(db_close) struct db *d = open_it(&one_step);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 0);
}

static void damage_met_later_latches(void **state)
{
    (void)state;
    struct err e = {0};
    {
        scoped(db_close) struct db *d = open_it(&one_step);
        run(d, "INSERT INTO a(n, t) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT "
               "i + 1 FROM c WHERE i < 2000) SELECT i, hex(zeroblob(200)) FROM c");
    }
    scoped_fd int fd = os_open_beneath(dir, "x.db", O_WRONLY, 0, &e);
    char rubbish[100 * 4096];
    memset(rubbish, 0x55, sizeof rubbish);
    assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, 8 * 4096), sizeof rubbish);
    scoped(db_close) struct db *d = open_it(&one_step);
    assert_false(db_is_damaged(d));
    assert_false(db_exec(d, "SELECT sum(length(t)) FROM a", &e));
    assert_true(db_is_damaged(d));
}

static void companions_of_a_deleted_database_do_no_harm(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *old = open_it(&one_step);
    run(old, "INSERT INTO a(n) VALUES(1)");
    assert_int_equal(unlinkat(dir, "x.db", 0), 0); /* while it is in use */
    scoped(db_close) struct db *d = open_it(&one_step);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 0);
    run(d, "INSERT INTO a(n) VALUES(2)");
    run(old, "INSERT INTO a(n) VALUES(3)");
    assert_int_equal(ask(d, "SELECT sum(n) FROM a"), 2);
    assert_int_equal(ask(old, "SELECT sum(n) FROM a"), 4);
    assert_true(db_exec(d, "PRAGMA integrity_check", &e));
}

static void foreign_tables_count_as_damage(void **state)
{
    (void)state;
    static const char *const other[] = {"CREATE TABLE other(x);"};
    {
        scoped(db_close) struct db *d =
            open_it(&(struct db_options){.migrations = other, .migration_count = 1});
    }
    struct err e = {0};
    scoped(db_close) struct db *d = open_it(&one_step);
    assert_null(db_query(d, "SELECT n FROM a", &e));
    assert_true(db_is_damaged(d));
}

static void a_link_in_the_place_of_a_database_is_denied(void **state)
{
    (void)state;
    {
        scoped(db_close) struct db *d = open_it(&one_step);
    }
    assert_int_equal(symlinkat("x.db", dir, "link.db"), 0);
    struct err e = {0};
    assert_null(db_open(dir, "link.db", &one_step, NULL, &e));
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_strangers_triggers_do_not_run(void **state)
{
    (void)state;
    scoped(db_close) struct db *d = open_it(&two_steps);
    run(d, "CREATE TRIGGER evil AFTER INSERT ON a BEGIN DELETE FROM a; END");
    run(d, "INSERT INTO a(n) VALUES(1)");
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 1);
    struct err e = {0};
    assert_false(db_exec(d, "ATTACH 'other.db' AS other", &e));
}

static void a_query_past_its_deadline_is_stopped(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *d = db_open_memory(&one_step, &e);
    assert_non_null(d);
    db_set_deadline(d, os_mono_ns() + 1000000);
    assert_false(db_exec(d,
                         "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                         "FROM c) SELECT sum(i) FROM c",
                         &e));
    assert_int_equal(e.code, ERR_TIMEOUT);
    db_set_deadline(d, 0);
    assert_int_equal(ask(d, "SELECT 7"), 7);
}

static void *fire(void *cancel)
{
    cancel_fire(cancel);
    return NULL;
}

static void a_cancel_ends_what_runs_and_what_waits(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *holder = open_it(&one_step), *d = open_it(&one_step);
    for (int waits = 0; waits < 2; waits++) {
        struct cancel c;
        pthread_t thread;
        scoped_transaction struct transaction held = {0}, t = {0};
        cancel_init(&c);
        e = (struct err){0};
        assert_true(!waits || db_begin(&held, holder, &e));
        db_set_cancels(d, NULL, &c);
        assert_int_equal(pthread_create(&thread, NULL, fire, &c), 0);
        assert_false(waits ? db_begin(&t, d, &e)
                           : db_exec(d,
                                     "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL"
                                     " SELECT i + 1 FROM c) SELECT sum(i) FROM c",
                                     &e));
        assert_int_equal(e.code, ERR_CANCELLED);
        e = (struct err){0};
        scoped(query_end) struct query *q = db_query(d, "SELECT 7", &e);
        assert_false(query_next(q, &e));
        assert_int_equal(e.code, ERR_CANCELLED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        db_set_cancels(d, NULL, NULL);
    }
    assert_int_equal(ask(d, "SELECT 7"), 7);
}

static void a_query_may_be_asked_inside_itself(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *d = open_it(&one_step);
    run(d, "INSERT INTO a(n) VALUES(1), (2), (3)");
    int64_t sum = 0;
    scoped(query_end) struct query *outer = db_query(d, "SELECT n FROM a", &e);
    while (query_next(outer, &e)) {
        scoped(query_end) struct query *inner = db_query(d, "SELECT n FROM a", &e);
        while (query_next(inner, &e))
            sum += query_int(outer, 0) * query_int(inner, 0);
    }
    assert_int_equal(sum, 36);
}

static void processes_that_open_and_write_at_once_all_succeed(void **state)
{
    (void)state;
    pid_t children[6];
    for (size_t i = 0; i < LENGTH(children); i++) {
        children[i] = fork();
        if (children[i] == 0) {
            for (int k = 0; k < 40; k++) {
                struct err e = {0};
                scoped(db_close) struct db *d =
                    db_open(dir, "x.db", &two_steps, NULL, &e);
                scoped_transaction struct transaction t = {0};
                if (!d || !db_begin(&t, d, &e) ||
                    !db_exec(d, "INSERT INTO a(n) SELECT 1 + coalesce(max(n), 0) FROM a",
                             &e) ||
                    !db_commit(&t, &e)) {
                    fprintf(stderr, "%s\n", e.msg);
                    _exit(1);
                }
            }
            _exit(0);
        }
    }
    for (size_t i = 0; i < LENGTH(children); i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    scoped(db_close) struct db *d = open_it(&two_steps);
    assert_int_equal(ask(d, "SELECT max(n) FROM a"), 240);
    assert_int_equal(ask(d, "SELECT count(*) FROM a"), 240);
}

static void a_pipe_in_its_place_is_refused_and_nobody_waits(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(mkfifoat(dir, "pipe.db", 0600), 0);
    assert_null(db_open_reader(dir, "pipe.db", &e));
    assert_int_equal(e.code, ERR_DENIED);
    e = (struct err){0};
    assert_null(db_open_frozen(dir, "pipe.db", &one_step, &e));
    assert_int_equal(e.code, ERR_DENIED);
    e = (struct err){0};
    assert_null(db_open(dir, "pipe.db", &one_step, NULL, &e));
    assert_int_equal(e.code, ERR_DENIED);
}

static void ranks_are_in_proportion_to_bm25_and_bounded(void **state)
{
    (void)state;
    static const char *const texts[] = {"CREATE VIRTUAL TABLE t USING fts5(title, body)"};
    const struct db_options o = {.migrations = texts, .migration_count = 1};
    struct err e = {0};
    scoped(db_close) struct db *d = db_open_memory(&o, &e);
    assert_true(db_add_rank(d, &e));
    run(d,
        "INSERT INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c "
        "WHERE i < 500) SELECT 'n' || (i % 7), 'a b ' || replace(hex(zeroblob(i % 50)), "
        "'00', 'x y ') || (i % 11) FROM c");
    /* Of one phrase, rare or in each row, they are in proportion to FTS5's own. */
    static const char *const phrases[] = {"5", "\"x y\"", "n3", "b"};
    for (size_t i = 0; i < LENGTH(phrases); i++) {
        char sql[400];
        (void)snprintf(
            sql, sizeof sql,
            "SELECT max(s / b) - min(s / b) < 1e-9 * max(s / b) AND max(s) < "
            "-0.0001 FROM (SELECT capped_bm25(t, 10.0, 2.0) AS s, bm25(t, 10.0, "
            "2.0) AS b FROM t WHERE t MATCH '%s' LIMIT 1000)",
            phrases[i]);
        assert_int_equal(ask(d, sql), 1);
    }
    /* 50 times the two million places of one word: 1.2 GB, where all are gathered. */
    run(d,
        "DELETE FROM t; INSERT INTO t VALUES('', replace(hex(zeroblob(2000000)), '00', "
        "'z '))");
    char sql[800] = "SELECT capped_bm25(t) < 0 FROM t WHERE t MATCH 'z";
    for (int i = 1; i < 50; i++)
        strcat(sql, " AND z");
    strcat(sql, "'");
    assert_int_equal(ask(d, sql), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        T(a_database_is_made_and_keeps_what_was_put),
        T(migrations_run_once_and_in_order),
        T(pages_are_as_large_as_when_the_file_was_made),
        T(a_newer_database_is_refused_and_kept),
        T(what_can_be_made_again_is_of_this_version),
        T(a_database_is_its_owners_alone),
        T(a_failed_migration_changes_nothing),
        T(a_transaction_ends_with_its_scope),
        T(what_the_schema_forbids_is_a_conflict),
        T(rubbish_is_reported_as_damaged),
        T(damage_met_later_latches),
        T(companions_of_a_deleted_database_do_no_harm),
        T(foreign_tables_count_as_damage),
        T(a_link_in_the_place_of_a_database_is_denied),
        T(a_strangers_triggers_do_not_run),
        T(a_query_past_its_deadline_is_stopped),
        T(a_cancel_ends_what_runs_and_what_waits),
        T(a_query_may_be_asked_inside_itself),
        T(processes_that_open_and_write_at_once_all_succeed),
        T(ranks_are_in_proportion_to_bm25_and_bounded),
        T(a_pipe_in_its_place_is_refused_and_nobody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
