/* Changes and their history: writes by other programs, states after a crash, forged
 * journals, and retention. */
#include <sys/wait.h>

#include "notes/apply.h"
#include "notes/change.h"
#include "notes/fixture_test.h"
#include "notes/history.h"

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void hash_text(const char *text, char out[static HASH_SIZE])
{
    note_hash(str_of(text), out);
}

static struct step step_of(const char *from, const char *to, const char *old,
                           const char *now)
{
    struct step s = {.from = from, .to = to};
    if (old)
        hash_text(old, s.old_hash);
    if (now)
        hash_text(now, s.new_hash);
    return s;
}

static struct db *locked(void)
{
    struct err e = {0};
    struct db *db = history_lock(vault->history, vault, &e);
    if (!db)
        fail_msg("%s", e.msg);
    return db;
}

static void keep(struct db *db, const char *text)
{
    struct err e = {0};
    char hash[HASH_SIZE];
    int64_t id;
    hash_text(text, hash);
    assert_true(history_keep(db, str_of(text), hash, &id, &e));
}

/* Writes steps into the journal, as a process does that dies then. */
static void pend(struct db *db, const struct step *s, size_t count)
{
    struct err e = {0};
    for (size_t i = 0; i < count; i++) {
        scoped(query_end) struct query *q =
            db_query(db, "INSERT INTO pending VALUES(?, ?, ?, ?, ?, 0)", &e);
        assert_non_null(q);
        query_bind_int(q, 1, (int64_t)i);
        query_bind_cstr(q, 2, s[i].from);
        query_bind_cstr(q, 3, s[i].to);
        query_bind_cstr(q, 4, s[i].old_hash);
        query_bind_cstr(q, 5, s[i].new_hash);
        assert_true(query_run(q, &e));
    }
}

static const char *history_of(const char *id)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_iter it = json_iter(call(notes_history, "'%s'", id));
    while (json_next(&it))
        buf_printf(&b, "%s%s:%s", b.n ? " " : "", text(it.value, "author"),
                   text(it.value, "action"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static const char *revision_of(const char *id, int number)
{
    return text(
        call(notes_get_revision, "{'identifier': '%s', 'revision': %d}", id, number),
        "text");
}

/* ---- steps --------------------------------------------------------------- */

static void many_steps_are_all_done_or_none(void **state)
{
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++)
        for (size_t count = 3; count <= 6; count += 3) { /* one by one, and together */
            struct err e = {0};
            put("a/1.md", "one");
            put("a/2.md", "two");
            put("a/3.md", "three");
            put("last.md", foreign ? "another program's" : "last");
            struct step steps[6] = {
                step_of("a/1.md", "b/1.md", "one", "ONE"),
                step_of("a/2.md", "a/2.md", "two", "TWO"),
                step_of("last.md", "last.md", "last", "LAST"),
                step_of("", "c/new.md", NULL, "new"),
                step_of("a/3.md", ".cloche/trash/t/a/3.md", "three", "three"),
                step_of("last.md", "last.md", "last", "LAST"),
            };
            struct db *db = locked();
            static const char *const texts[] = {"one", "two",  "three", "ONE",
                                                "TWO", "last", "LAST",  "new"};
            for (size_t i = 0; i < LENGTH(texts); i++)
                keep(db, texts[i]);
            if (count == 6)
                steps[2] = step_of("a/2.md", "a/2.md", "TWO", "TWO");
            bool ok = apply_all(vault, db, steps, count, &e);
            history_unlock(vault->history);
            assert_int_equal(ok, !foreign);
            assert_int_equal(e.code, foreign ? ERR_CONFLICT : ERR_NONE);
            assert_string_equal(file("last.md"), foreign ? "another program's" : "LAST");
            assert_string_equal(file("a/2.md"), foreign ? "two" : "TWO");
            assert_string_equal(file(foreign ? "a/1.md" : "b/1.md"),
                                foreign ? "one" : "ONE");
            assert_int_equal(exists("b/1.md"), !foreign);
            assert_int_equal(exists("c/new.md"), !foreign && count == 6);
            assert_int_equal(exists("a/3.md"), foreign || count == 3);
            char command[200];
            (void)snprintf(command, sizeof command, "cd %s && rm -rf a b c .cloche/trash",
                           root);
            assert_int_equal(system(command), 0);
        }
}

static void what_a_crash_left_is_ended_by_the_next_reader(void **state)
{
    (void)state;
    put("a/1.md", "one");
    put("a/2.md", "TWO"); /* done already */
    put("a/3.md", "another program's");
    struct db *db = locked();
    static const char *const texts[] = {"one", "ONE", "two", "TWO", "three", "THREE"};
    for (size_t i = 0; i < LENGTH(texts); i++)
        keep(db, texts[i]);
    const struct step steps[] = {
        step_of("a/1.md", "b/1.md", "one", "ONE"),
        step_of("a/2.md", "a/2.md", "two", "TWO"),
        step_of("a/3.md", "a/3.md", "three", "THREE"),
    };
    pend(db, steps, 3);
    history_unlock(vault->history);
    reopen();
    assert_string_equal(text(call(notes_get, "'b/1.md'"), "content"), "ONE");
    assert_false(exists("a/1.md"));
    assert_string_equal(file("a/2.md"), "TWO");
    assert_string_equal(file("a/3.md"), "another program's");
}

static void what_was_abandoned_is_undone_by_the_next_reader(void **state)
{
    (void)state;
    struct err e = {0};
    put("a/1.md", "one");
    call(notes_create, "{'title': 'N', 'content': 'x'}");
    struct db *db = locked();
    keep(db, "one");
    keep(db, "ONE");
    /* Half done: moved, and the content not. */
    put("b/1.md", "one");
    assert_int_equal(unlink(full("a/1.md")), 0);
    const struct step step = step_of("a/1.md", "b/1.md", "one", "ONE");
    pend(db, &step, 1);
    assert_true(history_mark(vault->history, HISTORY_ABANDONED, &e));
    history_unlock(vault->history);
    reopen();
    assert_string_equal(text(call(notes_get, "'a/1.md'"), "content"), "one");
    assert_false(exists("b/1.md"));
}

static unsigned staged(void)
{
    char command[200];
    (void)snprintf(command, sizeof command, "exit $(ls %s/.cloche/history/stage | wc -l)",
                   root);
    int status = system(command);
    return (unsigned)WEXITSTATUS(status);
}

static void what_many_files_left_behind_goes_little_by_little(void **state)
{
    (void)state;
    put("Hub.md", "x");
    for (int i = 0; i < 20; i++) {
        char path[20];
        (void)snprintf(path, sizeof path, "N%d.md", i);
        put(path, "[[Hub]]\n");
    }
    call(notes_rename, "{'identifier': 'Hub.md', 'new_title': 'Centre', 'force': true}");
    unsigned before = staged();
    assert_true(before <= 20);
    for (int i = 0; i < 8; i++)
        call(notes_update, "{'identifier': 'N1.md', 'content': 'v%d', 'force': true}", i);
    assert_int_equal(staged(), 0);
}

static void a_strangers_journal_touches_nothing_but_notes(void **state)
{
    (void)state;
    put("a/1.md", "one");
    put("a/plain.txt", "one");
    struct db *db = locked();
    keep(db, "evil");
    const struct step steps[] = {
        step_of("a/1.md", "../out.md", "one", "one"),
        step_of("a/plain.txt", "a/x.md", "one", "one"),
        step_of("a/plain.txt", "", "one", NULL),
        step_of("a/plain.txt", "a/plain.txt", "one", "evil"),
        step_of("a/1.md", "a/1.txt", "one", "one"),
        step_of("", "a/b.canvas", NULL, "evil"),
        step_of("", ".cloche/policy.json", NULL, "evil"),
        step_of("", ".cloche/trash/../x.md", NULL, "evil"),
        step_of("", "/etc/x.md", NULL, "evil"),
        step_of("", "a/missing.md", NULL, "not kept"),
    };
    pend(db, steps, LENGTH(steps));
    history_unlock(vault->history);
    reopen();
    struct err e = {0};
    call(notes_get, "'a/1.md'");
    db = history_lock(vault->history, vault, &e);
    if (db)
        history_unlock(vault->history);
    assert_true(exists("a/1.md") && exists("a/plain.txt"));
    assert_false(exists(".cloche/policy.json") || exists(".cloche/x.md") ||
                 exists("a/missing.md"));
}

/* ---- history ------------------------------------------------------------- */

static void every_byte_that_is_replaced_can_be_had_back(void **state)
{
    (void)state;
    static const char first[] = "---\nx: [\n---\r\nby hand \xff\n";
    put("a/N.md", first);
    struct vault_author author = {.name = "an agent"};
    scoped(vault_close) struct vault *mine = vault_as(
        vault, &(struct vault_view){.author = &author, .notes = true, .types = true});
    struct vault *whole = vault;
    vault = mine;
    call(notes_update, "{'identifier': 'a/N', 'content': 'two', 'force': true}");
    put("a/N.md", "three, by hand");
    call(notes_update, "{'identifier': 'a/N', 'content': 'four', 'force': true}");
    call(notes_delete, "'a/N'");
    vault = whole;
    assert_string_equal(history_of("a/N"),
                        "an agent:delete an agent:update external:external "
                        "an agent:update external:external");
    const struct json *h = call(notes_history, "'a/N'");
    assert_string_equal(
        keys_of(json_at(h, 1)),
        "revision,updated_at,author,content_hash,summary,size,action,path");
    assert_string_equal(revision_of("a/N", 3), "three, by hand");
    const struct json *r = call(notes_restore, "{'identifier': 'a/N', 'revision': 1}");
    assert_string_equal(file("a/N.md"), first);
    assert_string_equal(text(r, "content_hash"), hash_of("a/N"));
    assert_int_equal(json_length(call(notes_history, "'a/N'")), 6);
    assert_int_equal(json_length(call(notes_history,
                                      "{'identifier': 'a/N', 'limit': 2, 'cursor': 2}")),
                     1);
}

static void a_history_follows_its_note(void **state)
{
    (void)state;
    call(notes_create, "{'type': 'a', 'title': 'N', 'content': 'one'}");
    call(notes_rename, "{'identifier': 'a/N', 'new_title': 'M', 'force': true}");
    call(notes_move, "{'identifier': 'a/M', 'new_type': 'b', 'force': true}");
    /* Renamed by another program, and known by its uid. */
    assert_int_equal(rename(full("b/M.md"), full("b/O.md")), 0);
    call(notes_update, "{'identifier': 'b/O', 'content': 'two', 'force': true}");
    assert_string_equal(history_of("b/O"),
                        "unknown:update unknown:move unknown:rename unknown:create");
    /* A copy with the same uid is a note of its own. */
    put("b/Copy.md", file("b/O.md"));
    call(notes_update, "{'identifier': 'b/Copy.md', 'content': 'x', 'force': true}");
    assert_string_equal(history_of("b/Copy.md"), "unknown:update external:external");
    /* A new note with its old name is another one. */
    call(notes_create, "{'type': 'a', 'title': 'N', 'content': 'new'}");
    assert_string_equal(history_of("a/N"), "unknown:create");
    refused(ERR_NOT_FOUND, notes_history, "'none'");
    refused(ERR_NOT_FOUND, notes_get_revision, "{'identifier': 'a/N', 'revision': 9}");
    refused(ERR_INVALID, notes_get_revision, "{'identifier': 'a/N', 'revision': 0}");
}

static void the_trash_gives_back(void **state)
{
    (void)state;
    put("a/s/N.md", "one");
    put("B.md", "two");
    assert_int_equal(json_length(call(notes_list_trash, "null")), 0);
    const char *backup = text(call(notes_delete, "'a/s/N'"), "backup_path");
    call(notes_delete, "'B.md'");
    const struct json *all = call(notes_list_trash, "null");
    assert_int_equal(json_length(all), 2);
    assert_int_equal(json_length(call(notes_list_trash, "{'limit': 1}")), 1);
    const struct json *rest = call(notes_list_trash, "{'limit': 1, 'cursor': '%s'}",
                                   text(json_at(all, 0), "backup_path"));
    assert_true(json_equal(json_at(rest, 0), json_at(all, 1)));
    put("a/s/N.md", "taken");
    refused(ERR_CONFLICT, notes_restore, "{'backup_path': '%s'}", backup);
    assert_int_equal(unlink(full("a/s/N.md")), 0);
    const struct json *r = call(notes_restore, "{'backup_path': '%s'}", backup);
    assert_string_equal(text(r, "id"), "a/s/N");
    assert_string_equal(file("a/s/N.md"), "one");
    assert_int_equal(json_length(call(notes_list_trash, "null")), 1);
    assert_string_equal(history_of("a/s/N"),
                        "unknown:restore unknown:delete external:external");
    refused(ERR_NOT_FOUND, notes_restore, "{'backup_path': '%s'}", backup);
    static const char *const bad[] = {"a/s/N.md", ".cloche/trash/N.md",
                                      ".cloche/trash/x/../../../etc/p.md",
                                      ".cloche/trash/x/.hidden/N.md", ".cloche/index.db"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_restore, "{'backup_path': '%s'}", bad[i]);
}

static int64_t count_revisions(struct db *db, int64_t key)
{
    struct err e = {0};
    scoped(query_end) struct query *q =
        db_query(db, "SELECT count(*) FROM revisions WHERE note = ?", &e);
    assert_non_null(q);
    query_bind_int(q, 1, key);
    assert_true(query_next(q, &e));
    return query_int(q, 0);
}

static void add_revisions_by(struct db *db, const char *author, int64_t key,
                             int64_t time_ms, unsigned count)
{
    struct err e = {0};
    for (unsigned i = 0; i < count; i++) {
        char text[32], hash[HASH_SIZE];
        (void)snprintf(text, sizeof text, "%.9s%lld %u", author, (long long)time_ms, i);
        hash_text(text, hash);
        struct revision_note r = {.key = key,
                                  .time_ms = time_ms,
                                  .author = author,
                                  .action = "update",
                                  .summary = "",
                                  .path = STR("A.md"),
                                  .hash = hash,
                                  .size = strlen(text)};
        assert_true(history_keep(db, str_of(text), hash, &r.content, &e));
        assert_true(history_add(db, &r, &e));
    }
}

static void add_revisions(struct db *db, int64_t key, int64_t time_ms, unsigned count)
{
    add_revisions_by(db, "x", key, time_ms, count);
}

static int64_t one_number(struct db *db, const char *sql)
{
    struct err e = {0};
    scoped(query_end) struct query *q = db_query(db, sql, &e);
    assert_true(q && query_next(q, &e));
    return query_int(q, 0);
}

static void old_revisions_go_and_the_last_ones_stay(void **state)
{
    (void)state;
    struct err e = {0};
    struct db *db = locked();
    scoped_transaction struct transaction t = {0};
    assert_true(db_begin(&t, db, &e));
    int64_t key, now = os_real_ms();
    put("A.md", "x");
    assert_true(history_key(db, vault, STR("A.md"), STR(""), &key, &e));
    /* Long ago: only so many stay. */
    add_revisions(db, key, now - (HISTORY_DAYS + 1) * INT64_C(86400000), 80);
    assert_int_equal(count_revisions(db, key), HISTORY_LEAST);
    /* Of these days all stay, up to a number. */
    add_revisions(db, key, now, HISTORY_MOST + 20);
    assert_int_equal(count_revisions(db, key), HISTORY_MOST);
    assert_int_equal(one_number(db, "SELECT count(*) FROM contents"), HISTORY_MOST);
    assert_int_equal(one_number(db, "SELECT bytes = (SELECT sum(length(bytes)) FROM"
                                    " contents) FROM totals"),
                     1);
    /* If the total is too large, each note keeps the last few. */
    assert_true(db_exec(db, "UPDATE totals SET bytes = bytes + (1 << 30)", &e));
    add_revisions(db, key, now + 1, 6);
    assert_int_equal(count_revisions(db, key), HISTORY_LEAST_FULL);
    db_rollback(&t);
    history_unlock(vault->history);
}

/* In a transaction that is rolled back; `a` and `b` are keys of notes. */
struct writing {
    struct db *db;
    int64_t a, b, now, long_ago;
};

static struct writing begin_writing(struct transaction *t)
{
    struct err e = {0};
    int64_t now = os_real_ms();
    struct writing w = {.db = locked(),
                        .now = now,
                        .long_ago = now - (HISTORY_DAYS + 1) * INT64_C(86400000)};
    put("A.md", "x");
    put("B.md", "y");
    assert_true(db_begin(t, w.db, &e));
    assert_true(history_key(w.db, vault, STR("A.md"), STR(""), &w.a, &e));
    assert_true(history_key(w.db, vault, STR("B.md"), STR(""), &w.b, &e));
    return w;
}

static int64_t count_by(struct db *db, const char *author, int64_t note)
{
    char sql[200];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM revisions WHERE author = '%s' AND note = %lld",
                   author, (long long)note);
    return one_number(db, sql);
}

static void nobodys_run_ends_what_another_wrote(void **state)
{
    (void)state;
    scoped_transaction struct transaction t = {0};
    struct writing w = begin_writing(&t);
    add_revisions_by(w.db, "external", w.a, w.long_ago, 1);
    add_revisions_by(w.db, "ben", w.a, w.now, 200);
    add_revisions_by(w.db, "eve", w.a, w.now, 2 * HISTORY_MOST - 201);
    assert_int_equal(count_revisions(w.db, w.a), HISTORY_MOST);
    assert_int_equal(count_by(w.db, "external", w.a), 1);
    assert_int_equal(count_by(w.db, "ben", w.a), 200);
    /* Of hers the first and the last ones. */
    assert_int_equal(count_by(w.db, "eve", w.a), HISTORY_MOST - 201);
    assert_int_equal(
        one_number(w.db, "SELECT min(number) FROM revisions WHERE author = 'eve'"), 202);
    assert_int_equal(
        one_number(w.db, "SELECT count(*) FROM revisions WHERE number > 2000 - 798"),
        798);
    db_rollback(&t);
    history_unlock(vault->history);
}

static void of_old_ones_each_author_keeps_the_last(void **state)
{
    (void)state;
    scoped_transaction struct transaction t = {0};
    struct writing w = begin_writing(&t);
    add_revisions_by(w.db, "external", w.a, w.long_ago, HISTORY_LEAST + 10);
    add_revisions_by(w.db, "eve", w.a, w.long_ago, 2 * HISTORY_LEAST);
    assert_int_equal(count_by(w.db, "external", w.a), HISTORY_LEAST);
    assert_int_equal(count_by(w.db, "eve", w.a), HISTORY_LEAST);
    db_rollback(&t);
    history_unlock(vault->history);
}

static void many_authors_keep_their_last_ones(void **state)
{
    (void)state;
    scoped_transaction struct transaction t = {0};
    struct writing w = begin_writing(&t);
    char name[20];
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof name, "of %d", i);
        add_revisions_by(w.db, name, w.a, w.now, 150);
    }
    add_revisions_by(w.db, "eve", w.a, w.now, HISTORY_MOST);
    assert_int_equal(count_revisions(w.db, w.a), HISTORY_MOST);
    assert_int_equal(one_number(w.db, "SELECT count(DISTINCT author) FROM revisions"),
                     13);
    assert_true(count_by(w.db, "of 0", w.a) > 50);
    db_rollback(&t);
    history_unlock(vault->history);
}

static void who_has_most_of_a_full_history_gives_first(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_transaction struct transaction t = {0};
    struct writing w = begin_writing(&t);
    add_revisions_by(w.db, "external", w.a, w.now, 120);
    add_revisions_by(w.db, "ben", w.a, w.now, 60);
    add_revisions_by(w.db, "eve", w.b, w.now, 100);
    assert_true(db_exec(w.db, "UPDATE totals SET bytes = bytes + (1 << 30)", &e));
    add_revisions_by(w.db, "ben", w.a, w.now + 1, 1);
    assert_int_equal(count_by(w.db, "eve", w.b), HISTORY_LEAST_FULL);
    assert_int_equal(count_by(w.db, "ben", w.a), 61);
    add_revisions_by(w.db, "eve", w.b, w.now + 2, 40); /* now he has more */
    assert_int_equal(count_by(w.db, "ben", w.a), HISTORY_LEAST_FULL);
    assert_int_equal(count_by(w.db, "external", w.a), 120);
    add_revisions_by(w.db, "dan", w.a, w.now + 3, 1);
    assert_int_equal(count_by(w.db, "eve", w.b), HISTORY_LEAST_FULL);
    assert_int_equal(count_by(w.db, "external", w.a), 120);
    assert_int_equal(one_number(w.db,
                                "SELECT count(*) FROM authors a WHERE bytes <> (SELECT"
                                " sum(size) FROM revisions WHERE author = a.author)"),
                     0);
    db_rollback(&t);
    history_unlock(vault->history);
}

static void what_other_programs_wrote_goes_last(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_transaction struct transaction t = {0};
    struct writing w = begin_writing(&t);
    add_revisions_by(w.db, "external", w.a, w.now, 120);
    add_revisions_by(w.db, "eve", w.b, w.now, 20);
    assert_true(db_exec(w.db, "UPDATE totals SET bytes = bytes + (1 << 30)", &e));
    add_revisions_by(w.db, "ben", w.a, w.now, 1);
    assert_int_equal(count_by(w.db, "external", w.a), 120);
    assert_int_equal(count_by(w.db, "eve", w.b), HISTORY_LEAST_FULL);
    add_revisions_by(w.db, "ben", w.a, w.now, 4); /* no author has any to spare */
    assert_int_equal(count_by(w.db, "external", w.a), 1);
    db_rollback(&t);
    history_unlock(vault->history);
}

static void a_damaged_history_is_put_aside(void **state)
{
    (void)state;
    call(notes_create, "{'title': 'A'}");
    vault_close(vault);
    vault = NULL;
    (void)unlink(full(".cloche/history/history.db-wal"));
    put(".cloche/history/history.db",
        "no database at all, but long enough to be read as "
        "one: ...............................................");
    reopen();
    call(notes_create, "{'title': 'B'}");
    assert_string_equal(history_of("note/B"), "unknown:create");
    char command[200];
    (void)snprintf(command, sizeof command,
                   "ls %s/.cloche/history/damaged-*.db >/dev/null", root);
    assert_int_equal(system(command), 0);
}

static void the_history_may_be_deleted_at_any_time(void **state)
{
    (void)state;
    call(notes_create, "{'title': 'A', 'content': 'one'}");
    assert_int_equal(folder_remove(full(".cloche")), 0);
    call(notes_update, "{'identifier': 'note/A', 'content': 'two', 'force': true}");
    assert_string_equal(history_of("note/A"), "unknown:update external:external");
}

/* ---- edges --------------------------------------------------------------- */

static void large_and_unusual_notes_are_changed_like_others(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 64u << 20);
    buf_cstr(&b, "---\r\n\xc3\xa9: [\r\n---\r\n");
    while (b.n < 10u << 20)
        buf_cstr(&b, "line \xf0\x9f\x8c\xb1\r\n");
    put_bytes("\xc3\xa9\xe4\xbd\xa0/\xf0\x9f\x8c\xb1.md", b.at, b.n);
    put("L.md", "[[\xf0\x9f\x8c\xb1]]\n");
    call(notes_rename,
         "{'identifier': '\xc3\xa9\xe4\xbd\xa0/\xf0\x9f\x8c\xb1', 'new_title': "
         "'\xe5\xa5\xbd', 'force': true}");
    struct err e = {0};
    scoped_buf struct buf now;
    buf_init(&now, 64u << 20);
    assert_true(
        os_read_file(vault->dir, "\xc3\xa9\xe4\xbd\xa0/\xe5\xa5\xbd.md", &now, NULL, &e));
    assert_true(str_eq(buf_view(&now), buf_view(&b)));
    assert_string_equal(file("L.md"), "[[\xe5\xa5\xbd]]\n");
    /* Too large to be read; it can still be deleted. */
    while (b.n <= NOTE_SIZE_MAX)
        buf_cstr(&b, "line \xf0\x9f\x8c\xb1\r\n");
    put_bytes("Huge.md", b.at, b.n);
    const struct json *d = call(notes_delete, "'Huge.md'");
    assert_true(exists(text(d, "backup_path")));
    refused(ERR_NOT_FOUND, notes_get_revision,
            "{'identifier': 'Huge.md', 'revision': 1}");
    call(notes_restore, "{'backup_path': '%s'}", text(d, "backup_path"));
    assert_true(exists("Huge.md"));
}

static void a_batch_is_all_or_nothing(void **state)
{
    (void)state;
    put("a/1.md", "one\n");
    put("a/2.md", "see [[1]]\n");
    const char *why = refused(
        ERR_CONFLICT, notes_batch,
        "{'changes': [{'action': 'update', 'identifier': 'a/1', 'content': 'x', 'force': "
        "true}, {'action': 'create', 'title': 'N'}, {'action': 'delete', 'identifier': "
        "'a/1'}]}");
    assert_non_null(strstr(why, "changes[2]"));
    assert_string_equal(file("a/1.md"), "one\n");
    assert_false(exists("note/N.md"));
    const struct json *r = call(
        notes_batch,
        "{'changes': [{'action': 'create', 'title': 'N', 'content': '[[a/1]]'}, {'action': "
        "'rename', 'identifier': 'a/1', 'new_title': 'One', 'force': true}, {'action': "
        "'update', 'identifier': 'note/N', 'content': 'y', 'force': true}, {'action': "
        "'delete', 'identifier': 'a/2', 'confirm': true}]}");
    assert_int_equal(json_length(json_get(r, "results")), 4);
    assert_true(exists("a/One.md") && !exists("a/1.md") && !exists("a/2.md"));
    assert_string_equal(text(call(notes_get, "'note/N'"), "content"), "y");
    assert_string_equal(history_of("note/N"), "unknown:create");
    /* Two of one name; a name that is free only because of the batch. */
    refused(
        ERR_CONFLICT, notes_batch,
        "{'changes': [{'action': 'create', 'title': 'T'}, {'action': 'create', 'title': "
        "'T'}]}");
    call(
        notes_batch,
        "{'changes': [{'action': 'move', 'identifier': 'a/One', 'new_type': 'b', 'force': "
        "true}, {'action': 'create', 'type': 'a', 'title': 'One', 'content': 'new'}]}");
    assert_string_equal(text(call(notes_get, "'a/One'"), "content"), "new");
    assert_string_equal(file("b/One.md"), "one\n");
    static const char *const bad[] = {
        "[]",
        "null",
        "[1]",
        "[{'title': 'x'}]",
        "[{'action': 'list'}]",
        "[{'action': 'create', 'title': 'x', 'oops': 1}]",
        "[{'action': 'create', 'title': 'x', 'dry_run': true}]"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_batch, "{'changes': %s}", bad[i]);
}

static void a_dry_run_writes_nothing_at_all(void **state)
{
    (void)state;
    put("a/1.md", "one\n");
    static const struct {
        vault_call *call;
        const char *options, *action, *diff;
    } rows[] = {
        {notes_update, "'identifier': 'a/1', 'content': 'two'", "update",
         "@@ -1,1 +1,1 @@\n-one\n+two\n\\ No newline at end of file\n"},
        {notes_delete, "'identifier': 'a/1'", "delete", "@@ -1,1 +0,0 @@\n-one\n"},
        {notes_move, "'identifier': 'a/1', 'new_type': 'b'", "move", ""},
        {notes_rename, "'identifier': 'a/1', 'new_title': '2'", "rename", ""},
        {notes_update_section,
         "'identifier': 'a/1', 'heading': 'H', 'content': 'x', 'mode': 'create'",
         "update", "@@ -1,1 +1,5 @@\n one\n+\n+## H\n+\n+x\n"},
        {notes_batch,
         "'changes': [{'action': 'delete', 'identifier': 'a/1', 'confirm': true}]",
         "delete", "@@ -1,1 +0,0 @@\n-one\n"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct json *d =
            call(rows[i].call, "{%s, 'dry_run': true}", rows[i].options);
        assert_string_equal(keys_of(d), "dry_run,changes");
        const struct json *change = json_at(json_get(d, "changes"), 0);
        assert_string_equal(text(change, "action"), rows[i].action);
        assert_string_equal(text(change, "diff"), rows[i].diff);
    }
    refused(ERR_CONFLICT, notes_update,
            "{'identifier': 'a/1', 'content': '', 'contentHash': '00', 'dry_run': true}");
    const struct json *made = call(notes_create, "{'title': 'N', 'dry_run': true}");
    assert_string_equal(text(json_at(json_get(made, "changes"), 0), "action"), "create");
    assert_string_equal(file("a/1.md"), "one\n");
    assert_false(exists("note") || exists(".cloche/trash") || exists(".cloche/history"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(many_steps_are_all_done_or_none),
        T(what_a_crash_left_is_ended_by_the_next_reader),
        T(what_was_abandoned_is_undone_by_the_next_reader),
        T(what_many_files_left_behind_goes_little_by_little),
        T(a_strangers_journal_touches_nothing_but_notes),
        T(every_byte_that_is_replaced_can_be_had_back),
        T(a_history_follows_its_note),
        T(the_trash_gives_back),
        T(old_revisions_go_and_the_last_ones_stay),
        T(nobodys_run_ends_what_another_wrote),
        T(of_old_ones_each_author_keeps_the_last),
        T(many_authors_keep_their_last_ones),
        T(who_has_most_of_a_full_history_gives_first),
        T(what_other_programs_wrote_goes_last),
        T(a_damaged_history_is_put_aside),
        T(the_history_may_be_deleted_at_any_time),
        T(large_and_unusual_notes_are_changed_like_others),
        T(a_batch_is_all_or_nothing),
        T(a_dry_run_writes_nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
