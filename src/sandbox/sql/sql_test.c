/* Untrusted queries: what they may read, how they end, and malformed replies of their
 * processes. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "os/os.h"
#include "sql/pool.h"
#include "sql/sql.h"
#include "sql/wire.h"

static const char *const tables[] = {
    "CREATE TABLE notes(key INTEGER PRIMARY KEY, name TEXT, hidden TEXT);"
    "CREATE TABLE secret(name TEXT, hidden TEXT);"
    "CREATE VIRTUAL TABLE texts USING fts5(body);"
    "INSERT INTO notes(name, hidden) VALUES('a', 'h1'), ('b', 'h2'), ('notes', 'h3');"
    "INSERT INTO secret VALUES('a', 'xyzzy'), ('z', 'plugh');"};
static const struct db_options options = {.migrations = tables, .migration_count = 1};
static const struct sql_view views[] = {
    {"notes", "SELECT n.name AS name, '[1,2]' AS list FROM @.notes n"},
    {"tags", "SELECT n.name AS name, n.key AS number FROM @.notes n"},
};

static char root[HOME_SIZE];
static int dir;
static struct db *db;
static struct sql_pool *pool;
static struct sql_source source;

/* The pool whose program is this test itself, as `how`; or the real one. */
static struct sql_pool *pool_of(const char *how)
{
    char guests[200], self[PATH_MAX], program[300];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    (void)snprintf(guests, sizeof guests, "%s/%s", root, how);
    (void)snprintf(program, sizeof program, "%s/cloche-sql", guests);
    assert_int_equal(mkdir(guests, 0700), 0);
    assert_int_equal(symlink(self, program), 0);
    (void)snprintf(guests, sizeof guests, "%s/%s/guest", root, how);
    assert_int_equal(mkdir(guests, 0700), 0);
    return sql_pool_new(guests);
}

static int set_up(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(root) || (dir = os_dir_open(root, &e)) < 0 ||
        !(db = db_open(dir, "x.db", &options, NULL, &e)))
        return -1;
    struct os_stat st;
    if (!os_stat_beneath(dir, "x.db", &st, &e))
        return -1;
    source = (struct sql_source){
        .inode = st.inode,
        .copy = -1,
        .views = views,
        .view_count = LENGTH(views),
        .inner = "SELECT 1 FROM main.texts, json_each('[]'), json_tree('[]') LIMIT 0"};
    (void)snprintf(source.path, sizeof source.path, "%s/x.db", root);
    pool = sql_pool_new("build/guest");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sql_pool_free(pool);
    db_close(db);
    os_close(dir);
    return folder_remove(root);
}

static bool ask_in(struct sql_pool *p, const char *sql, unsigned ms, struct buf *out,
                   struct err *e)
{
    const struct sql_caller by = {.pool = p};
    struct sql_query q = {.sql = str_of(sql),
                          .limit = 100,
                          .answer_bytes = 1 << 20,
                          .until_ns = os_mono_ns() + ms * 1000000ull};
    buf_clear(out);
    return sql_ask(&by, &source, &q, out, e);
}

static void answers(const char *sql, const char *rows)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    if (!ask_in(pool, sql, 20000, &out, &e))
        fail_msg("%s: %s", sql, e.msg);
    if (!strstr(buf_cz(&out), rows))
        fail_msg("%s: %s", sql, buf_cz(&out));
}

static void fails_in(struct sql_pool *p, const char *sql, unsigned ms, enum err_code code,
                     const char *part)
{
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    if (ask_in(p, sql, ms, &out, &e))
        fail_msg("%s: %s", sql, buf_cz(&out));
    if (e.code != code || !strstr(e.msg, part))
        fail_msg("%s: %d %s", sql, e.code, e.msg);
    assert_int_equal(out.n, 0);
}

static void fails(const char *sql, enum err_code code, const char *part)
{
    fails_in(pool, sql, 20000, code, part);
}

/* ---- what may be read ------------------------------------------------------------ */

static void views_are_read(void **state)
{
    (void)state;
    answers("SELECT name FROM notes ORDER BY name LIMIT 1", "[{\"name\":\"a\"}]");
    answers("SELECT count(*) AS n FROM notes JOIN tags USING(name)", "[{\"n\":3}]");
    answers("SELECT count(*) AS n FROM notes NATURAL JOIN tags", "[{\"n\":3}]");
    answers("SELECT count(*) AS n FROM notes FULL JOIN tags USING(name)", "[{\"n\":3}]");
    answers("SELECT sum(value) AS n FROM notes, json_each(notes.list)", "[{\"n\":9}]");
    answers("SELECT count(*) AS n FROM notes, json_tree(list)", "[{\"n\":9}]");
    answers("SELECT count(*) AS n FROM temp.notes", "[{\"n\":3}]");
    answers("WITH secret AS (SELECT 7 AS name) SELECT name FROM secret",
            "[{\"name\":7}]");
    answers("SELECT (SELECT max(number) FROM tags t WHERE t.name = notes.name) AS m FROM "
            "notes WHERE name = 'b'",
            "[{\"m\":2}]");
}

static void nothing_else_is_read_however_it_is_spelt(void **state)
{
    (void)state;
    static const char *const tried[] = {"sqlite_master",
                                        "sqlite_schema",
                                        "main.sqlite_master",
                                        "temp.sqlite_master",
                                        "sqlite_temp_schema",
                                        "secret",
                                        "main.secret",
                                        "main.notes",
                                        "texts",
                                        "texts_content",
                                        "pragma_table_list",
                                        "pragma_database_list()",
                                        "dbstat",
                                        "sqlite_stmt",
                                        "json_each('[]') AS j JOIN secret"};
    static const char *const ways[] = {
        "SELECT * FROM %s",
        "SELECT count(*) FROM %s",
        "SELECT 1 FROM notes, %s",
        "SELECT name FROM (SELECT 1 AS name) FULL JOIN %s USING(name)",
        "SELECT name FROM (SELECT 'a' AS name) JOIN %s USING(name)",
        "SELECT name FROM (SELECT 'a' AS name) NATURAL JOIN %s",
        "SELECT name FROM notes NATURAL FULL JOIN %s",
        "SELECT name FROM notes LEFT JOIN %s USING(name)",
        "SELECT name FROM notes WHERE name IN (SELECT name FROM tags JOIN %s USING(name))",
        "SELECT EXISTS(SELECT 1 FROM %s)",
        "WITH x AS (SELECT name FROM tags FULL JOIN %s USING(name)) SELECT * FROM x",
        "SELECT name FROM notes UNION SELECT name FROM tags FULL JOIN %s USING(name)",
        "SELECT 1 FROM notes ORDER BY (SELECT name FROM tags FULL JOIN %s USING(name))",
    };
    for (size_t i = 0; i < LENGTH(tried); i++)
        for (size_t k = 0; k < LENGTH(ways); k++) {
            char sql[400];
            struct err e = {0};
            scoped_buf struct buf out;
            buf_init(&out, 1 << 20);
            (void)snprintf(sql, sizeof sql, ways[k], tried[i]);
            if (ask_in(pool, sql, 20000, &out, &e))
                fail_msg("%s: %s", sql, buf_cz(&out));
            /* If the columns do not fit, the query is invalid. */
            if (e.code != ERR_DENIED && e.code != ERR_INVALID)
                fail_msg("%s: %d %s", sql, e.code, e.msg);
        }
    fails("SELECT name FROM (SELECT 1 AS name) FULL JOIN secret USING(name)", ERR_DENIED,
          "read");
}

/* ---- how they end ------------------------------------------------------------------- */

static void no_function_outlasts_its_time(void **state)
{
    (void)state;
    static const char *const endless[] = {
        "SELECT instr(zeroblob(19000000), CAST(zeroblob(9000000)||x'01' AS BLOB))",
        "SELECT rtrim(replace(hex(zeroblob(300000)), '0', 'a'), "
        "replace(hex(zeroblob(50000)), '0', 'b') || 'a')",
    };
    for (size_t i = 0; i < LENGTH(endless); i++) {
        uint64_t begun = os_mono_ns();
        fails_in(pool, endless[i], 200, ERR_TIMEOUT, "longer");
        assert_true(os_mono_ns() - begun < 5000000000u);
        answers("SELECT 1 AS n", "[{\"n\":1}]");
    }
}

struct asker {
    pthread_t thread;
    struct sql_caller by;
    unsigned ms;
    const char *sql;
    struct err e;
    bool ok;
};

static void *run_asker(void *arg)
{
    struct asker *a = arg;
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct sql_query q = {.sql = str_of(a->sql),
                          .limit = 10,
                          .answer_bytes = 1 << 20,
                          .until_ns = os_mono_ns() + a->ms * 1000000ull};
    a->ok = sql_ask(&a->by, &source, &q, &out, &a->e);
    return NULL;
}

#define ENDLESS "SELECT instr(zeroblob(19000000), CAST(zeroblob(9000000)||x'01' AS BLOB))"

/* A caller that polls. */
static bool is_fifth_look(void *looks)
{
    return ++*(unsigned *)looks >= 5;
}

static void a_query_that_nobody_wants_is_ended(void **state)
{
    (void)state;
    unsigned looks = 0;
    struct cancel cancel;
    cancel_init(&cancel);
    cancel_set_due(&cancel, is_fifth_look, &looks);
    struct asker a = {
        .by = {.pool = pool, .cancels = {&cancel}}, .ms = 600000, .sql = ENDLESS};
    (void)run_asker(&a);
    assert_int_equal(a.e.code, ERR_CANCELLED);
}

static void one_caller_leaves_processes_to_others(void **state)
{
    (void)state;
    struct cancel cancel;
    struct asker many[20];
    cancel_init(&cancel);
    for (size_t i = 0; i < LENGTH(many); i++) {
        many[i] = (struct asker){
            .by = {.pool = pool, .cancels = {&cancel}, .principal = "token many"},
            .ms = 600000,
            .sql = ENDLESS};
        assert_int_equal(pthread_create(&many[i].thread, NULL, run_asker, &many[i]), 0);
    }
    struct asker one = {
        .by = {.pool = pool, .principal = "token one"}, .ms = 60000, .sql = "SELECT 1"};
    (void)run_asker(&one);
    if (!one.ok)
        fail_msg("%s", one.e.msg);
    /* Its own wait, until their time is over. */
    struct asker late = {
        .by = {.pool = pool, .principal = "token many"}, .ms = 300, .sql = "SELECT 1"};
    (void)run_asker(&late);
    if (!late.ok)
        assert_int_equal(late.e.code, ERR_BUSY);
    cancel_fire(&cancel);
    for (size_t i = 0; i < LENGTH(many); i++) {
        assert_int_equal(pthread_join(many[i].thread, NULL), 0);
        assert_int_equal(many[i].e.code, ERR_CANCELLED);
    }
}

static void memory_is_the_querys_own(void **state)
{
    (void)state;
    fails(
        "SELECT group_concat(hex(randomblob(9000000)), '') OVER () FROM notes a, notes b, "
        "notes c",
        ERR_LIMIT, "");
    fails(
        "SELECT count(*) FROM (SELECT hex(zeroblob(9000000)) || a.name || b.name || c.name "
        "|| d.name AS x FROM notes a, notes b, notes c, notes d ORDER BY x)",
        ERR_LIMIT, "256 MB");
    answers("SELECT 1 AS n", "[{\"n\":1}]");
}

/* ---- sources ------------------------------------------------------------------------- */

static void what_was_written_is_seen_by_the_next(void **state)
{
    (void)state;
    struct err e = {0};
    for (int i = 4; i < 300; i++) {
        char sql[100], rows[40];
        (void)snprintf(sql, sizeof sql, "INSERT INTO notes(name) VALUES('n%d')", i);
        assert_true(db_exec(db, sql, &e));
        if (i % 50 == 0) /* the log is truncated */
            assert_true(db_exec(db, "PRAGMA wal_checkpoint(RESTART)", &e));
        (void)snprintf(rows, sizeof rows, "[{\"n\":%d}]", i);
        answers("SELECT count(*) AS n FROM notes", rows);
    }
    assert_true(db_exec(db, "BEGIN; INSERT INTO notes(name) VALUES('x')", &e));
    answers("SELECT count(*) AS n FROM notes", "[{\"n\":299}]");
    assert_true(db_exec(db, "ROLLBACK", &e));
}

static void a_database_in_memory_is_copied(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(db_close) struct db *memory = db_open_memory(&options, &e);
    assert_true(db_exec(memory, "INSERT INTO notes(name) VALUES('only here')", &e));
    scoped_fd int copy = memfd_create("copy", MFD_CLOEXEC);
    assert_true(db_write_to(memory, copy, &e));
    source.path[0] = '\0';
    source.copy = copy;
    answers("SELECT count(*) AS n FROM notes WHERE name = 'only here'", "[{\"n\":1}]");
    fails("SELECT name FROM tags FULL JOIN secret USING(name)", ERR_DENIED, "secret");
}

static void a_file_that_was_replaced_is_not_read(void **state)
{
    (void)state;
    struct err e = {0};
    answers("SELECT count(*) AS n FROM notes", "[{\"n\":3}]");
    assert_int_equal(renameat(dir, "x.db", dir, "old.db"), 0);
    scoped(db_close) struct db *other = db_open(dir, "x.db", &options, NULL, &e);
    assert_true(db_exec(other, "DELETE FROM notes", &e));
    struct os_stat st;
    assert_true(os_stat_beneath(dir, "x.db", &st, &e));
    source.inode = st.inode;
    answers("SELECT count(*) AS n FROM notes", "[{\"n\":0}]");
    source.inode++;
    fails("SELECT 1", ERR_BUSY, "rebuilt");
}

static void params_come_as_they_are(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    const struct sql_caller by = {.pool = pool};
    struct sql_query q = {
        .sql = STR("SELECT ? AS a, ? AS b, ? AS c, ? AS d, ? AS e, typeof(?) AS f"),
        .params = json_read(
            STR("[9007199254740993, 1.5, \"x\\u0000\\\"y\", null, true, 2.0]"), a, &e),
        .limit = 1,
        .answer_bytes = 1000,
        .until_ns = os_mono_ns() + 20000000000u};
    assert_true(sql_ask(&by, &source, &q, &out, &e));
    assert_non_null(strstr(buf_cz(&out), "{\"a\":\"9007199254740993\",\"b\":1.5,\"c\":"
                                         "\"x\\u0000\\\"y\",\"d\":null,\"e\":1,"));
}

/* ---- processes that were taken over ------------------------------------------------------ */

static const struct lie {
    const char *how;
    uint32_t kind, size; /* of the head; 0: as the text's */
    const char *text;
    enum err_code code;
    const char *part;
} lies[] = {
    {"ends", 0, 0, NULL, ERR_IO, "has failed"},
    {"other-kind", 77, 0, "{}", ERR_IO, "has failed"},
    {"too-long", FRAME_ANSWER, 0xffffffffu, "{}", ERR_IO, "has failed"},
    {"nothing", FRAME_ANSWER, 0, "", ERR_IO, "has failed"},
    {"no-json", FRAME_ANSWER, 0, "{\"columns\":", ERR_IO, "has failed"},
    {"no-answer", FRAME_ANSWER, 0, "[1]", ERR_IO, "has failed"},
    {"more-keys", FRAME_ANSWER, 0,
     "{\"columns\":[\"a\"],\"rows\":[{\"a\":1}],\"row_count\":1,\"truncated\":false,\"x\":1}",
     ERR_IO, "has failed"},
    {"nested", FRAME_ANSWER, 0,
     "{\"columns\":[\"a\"],\"rows\":[{\"a\":[]}],\"row_count\":1,\"truncated\":false}",
     ERR_IO, "has failed"},
    {"more-columns", FRAME_ANSWER, 0,
     "{\"columns\":[\"a\"],\"rows\":[{\"a\":1,\"b\":2}],\"row_count\":1,\"truncated\":false}",
     ERR_IO, "has failed"},
    {"wrong-count", FRAME_ANSWER, 0,
     "{\"columns\":[\"a\"],\"rows\":[{\"a\":1}],\"row_count\":2,\"truncated\":false}",
     ERR_IO, "has failed"},
    {"no-utf8", FRAME_ANSWER, 0,
     "{\"columns\":[\"\xff\"],\"rows\":[],\"row_count\":0,\"truncated\":false}", ERR_IO,
     "has failed"},
    {"odd-error", FRAME_ERROR, 0, "{\"code\":\"BUG\",\"message\":\"m\"}", ERR_IO,
     "unknown way"},
    {"error", FRAME_ERROR, 0, "{\"code\":\"INVALID\",\"message\":\"m\\n\\u001b[2Jn\"}",
     ERR_INVALID, "m"},
    {"half", FRAME_ANSWER, 1000, "{\"columns\":", ERR_IO, "that ran the query"},
};

/* This program, started as cloche-sql. */
static int lie(const char *path)
{
    for (size_t i = 0; i < LENGTH(lies); i++) {
        char end[100];
        (void)snprintf(end, sizeof end, "/%s/guest/../cloche-sql", lies[i].how);
        if (!str_ends(str_of(path), end))
            continue;
        if (!lies[i].text)
            return 0;
        struct frame_head head = {
            lies[i].kind, lies[i].size ? lies[i].size : (uint32_t)strlen(lies[i].text)};
        (void)!write(0, &head, sizeof head);
        (void)!write(0, lies[i].text, strlen(lies[i].text));
        (void)shutdown(0, SHUT_WR);
        char rest[4096];
        while (read(0, rest, sizeof rest) > 0)
            ;
        return 0;
    }
    return 1;
}

static void what_a_process_answers_is_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(lies); i++) {
        struct sql_pool *p = pool_of(lies[i].how);
        fails_in(p, "SELECT 1", 5000, lies[i].code, lies[i].part);
        sql_pool_free(p);
    }
}

static void without_the_program_it_says_so(void **state)
{
    (void)state;
    struct err e = {0};
    struct sql_pool *p = sql_pool_new("/nowhere/guest");
    fails_in(p, "SELECT 1", 5000, ERR_IO, "cloche-sql");
    assert_false(sql_try(p, &e));
    e = (struct err){0};
    if (!sql_try(pool, &e))
        fail_msg("%s", e.msg);
    sql_pool_free(p);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (str_ends(str_of(argv[0]), "/cloche-sql"))
        return lie(argv[0]);
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(views_are_read),
        T(nothing_else_is_read_however_it_is_spelt),
        T(no_function_outlasts_its_time),
        T(a_query_that_nobody_wants_is_ended),
        T(one_caller_leaves_processes_to_others),
        T(memory_is_the_querys_own),
        T(what_was_written_is_seen_by_the_next),
        T(a_database_in_memory_is_copied),
        T(a_file_that_was_replaced_is_not_read),
        T(params_come_as_they_are),
        T(what_a_process_answers_is_checked),
        T(without_the_program_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
