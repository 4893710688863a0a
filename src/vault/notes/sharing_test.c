/* A vault that other programs, processes and threads change at the same time. */
#include <pthread.h>
#include <sys/wait.h>

#include "notes/fixture_test.h"

#include "base/home_test.h"
#include "base/kill_test.h"
#include "base/skip_test.h"

/* ---- other programs ----------------------------------------------------- */

static void an_edit_by_another_program_is_seen_by_the_next_call(void **state)
{
    (void)state;
    put("project/Plan.md", "apples\n");
    assert_string_equal(ids(call(notes_search, "'apples'")), "project/Plan");
    put("project/Plan.md", "pears\n");
    assert_string_equal(ids(call(notes_search, "'apples'")), "");
    assert_string_equal(ids(call(notes_search, "'pears'")), "project/Plan");
    for (int i = 0; i < 50; i++) { /* the same size, within one tick of the clock */
        char word[20];
        (void)snprintf(word, sizeof word, "word%02d\n", i);
        put("project/Plan.md", word);
        assert_string_equal(ids(call(notes_search, "'word%02d'", i)), "project/Plan");
    }
    put("new/folder/deep/Note.md", "plums\n");
    assert_string_equal(ids(call(notes_search, "'plums'")), "new/folder/deep/Note");
    assert_int_equal(rename(full("new/folder"), full("project/moved")), 0);
    assert_string_equal(ids(call(notes_search, "'plums'")), "project/moved/deep/Note");
    assert_int_equal(rename(full("project/Plan.md"), full("project/Plot.md")), 0);
    assert_string_equal(ids(call(notes_search, "'word49'")), "project/Plot");
    assert_int_equal(unlink(full("project/Plot.md")), 0);
    assert_int_equal(rename(full("project/moved"), full(".hidden")), 0);
    assert_int_equal(json_length(call(notes_list, "null")), 0);
}

static void changes_while_nobody_looked_are_seen(void **state)
{
    (void)state;
    put("A.md", "first\n");
    put("B.md", "second\n");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
    vault_close(vault);
    put("A.md", "third\n"); /* the same size, perhaps the same time */
    put("C.md", "fourth\n");
    assert_int_equal(unlink(full("B.md")), 0);
    struct err e = {0};
    vault = vault_open(root, &e);
    assert_string_equal(ids(call(notes_search, "'third'")), "note/A");
    assert_string_equal(ids(call(notes_search, "'second'")), "");
    assert_string_equal(ids(call(notes_search, "'fourth'")), "note/C");
}

static void a_second_change_within_one_tick_is_seen_by_the_next_opening(void **state)
{
    (void)state;
    put("A.md", "first\n");
    struct timespec now[2];
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now[0]), 0);
    now[1] = now[0];
    assert_int_equal(utimensat(AT_FDCWD, full("A.md"), now, 0), 0);
    assert_int_equal(json_length(call(notes_search, "'first'")), 1);
    vault_close(vault);
    int fd = open(full("A.md"), O_WRONLY); /* the same inode, size and time */
    assert_int_equal(write(fd, "other\n", 6), 6);
    (void)close(fd);
    assert_int_equal(utimensat(AT_FDCWD, full("A.md"), now, 0), 0);
    struct err e = {0};
    vault = vault_open(root, &e);
    assert_int_equal(json_length(call(notes_search, "'other'")), 1);
}

static void the_index_may_be_deleted_at_any_time(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    assert_true(exists(".cloche/index.db"));
    assert_int_equal(unlink(full(".cloche/index.db")), 0); /* while it is in use */
    put("B.md", "second\n");
    assert_int_equal(json_length(call(notes_list, "null")), 2);
    assert_true(exists(".cloche/index.db"));
    char own[100];
    (void)snprintf(own, sizeof own, "%s", full(".cloche"));
    assert_int_equal(folder_remove(own), 0);
    assert_int_equal(json_length(call(notes_search, "'second'")), 1);
    assert_true(exists(".cloche/index.db"));
}

static void a_damaged_index_is_made_anew(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    vault_close(vault);
    vault = NULL;
    put(".cloche/index.db",
        "this is no database at all, whatever its name may say ..........");
    reopen();
    assert_int_equal(json_length(call(notes_search, "'first'")), 1);

    for (int i = 0; i < 300; i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "n/N%03d.md", i);
        put(path,
            "some words that fill the pages of the index with what can be spoilt\n");
    }
    assert_int_equal(json_length(call(notes_list, "null")), 301);
    vault_close(vault);
    vault = NULL;
    int fd = open(full(".cloche/index.db"), O_WRONLY);
    char rubbish[4096];
    memset(rubbish, 0x5a, sizeof rubbish);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t at = 4096; at < st.st_size; at += 4096)
        assert_int_equal(pwrite(fd, rubbish, sizeof rubbish, at), sizeof rubbish);
    (void)close(fd);
    reopen();
    assert_int_equal(json_length(call(notes_list, "null")), 301);
    assert_int_equal(
        json_length(call(notes_search, "{'query': 'spoilt', 'limit': 1000}")), 300);
}

static void reindexing_counts_what_it_did(void **state)
{
    (void)state;
    put("A.md", "---\n[\n---\nfirst [[B]]\n");
    put("b/B.md", "second\n");
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 10000);
    struct json_writer w = json_writer(&b);
    assert_true(notes_reindex(vault, false, &w, &e));
    const struct json *r = parse(buf_cz(&b));
    assert_int_equal(json_int(json_get(r, "notes"), -1), 2);
    assert_int_equal(json_int(json_get(r, "read"), -1), 2);
    assert_string_equal(text(r, "index"), "vault");
    buf_clear(&b);
    w = json_writer(&b);
    assert_int_equal(unlink(full("b/B.md")), 0);
    assert_true(notes_reindex(vault, true, &w, &e));
    r = parse(buf_cz(&b));
    assert_int_equal(json_int(json_get(r, "notes"), -1), 1);
    assert_int_equal(json_int(json_get(r, "read"), -1), 1);
}

/* ---- other processes and threads ---------------------------------------- */

static int run_children(int count, int (*work)(int number))
{
    pid_t children[16];
    for (int i = 0; i < count; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct err e = {0};
            vault = vault_open(root, &e); /* each its own */
            _exit(vault ? work(i) : 99);
        }
    }
    int failed = 0;
    for (int i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        failed += status != 0;
    }
    return failed;
}

static bool quietly(notes_fn *f, const char *o, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    buf_clear(out);
    struct json_writer w = json_writer(out);
    const struct json *v = json_read(str_of(o), a, e);
    return v && f(vault, v, &w, e);
}

/* Reads a number and writes the next one, until it was the first to do so. */
static int count_up(int number)
{
    (void)number;
    for (int done = 0; done < 100;) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 100000);
        scoped(arena_free) struct arena *a = arena_new(1 << 20);
        if (!quietly(notes_get, "\"note/Count\"", &b, &e))
            return 1;
        const struct json *n = json_read(buf_view(&b), a, &e);
        if (!n)
            return 2;
        char o[300];
        (void)snprintf(o, sizeof o,
                       "{\"identifier\":\"note/Count\",\"content\":\"%d\","
                       "\"contentHash\":\"%.*s\"}",
                       atoi(json_str(json_get(n, "content")).at) + 1,
                       STR_ARGS(json_str(json_get(n, "content_hash"))));
        if (quietly(notes_update, o, &b, &e))
            done++;
        else if (e.code != ERR_CONFLICT)
            return fprintf(stderr, "%s\n", e.msg), 3;
    }
    return 0;
}

static void two_processes_lose_no_update(void **state)
{
    (void)state;
    put("note/Count.md", "---\nk: 1\nupdated: 2020-01-01\n---\n0");
    assert_int_equal(run_children(2, count_up), 0);
    assert_string_equal(text(call(notes_get, "'note/Count'"), "content"), "200");
    assert_true(str_starts(str_of(file("note/Count.md")), "---\nk: 1\nupdated: 2"));
}

static int create_and_list(int number)
{
    for (int i = 0; i < 20; i++) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 1000000);
        char o[200];
        (void)snprintf(o, sizeof o,
                       "{\"type\":\"t%d\",\"title\":\"Note %d\",\"content\":\"word%d\"}",
                       number, i, number);
        if (!quietly(notes_create, o, &b, &e) || !quietly(notes_list, "null", &b, &e) ||
            !quietly(notes_search, "\"word\"", &b, &e))
            return fprintf(stderr, "%s\n", e.msg), 1;
        /* One's own note is always seen. */
        char id[40];
        (void)snprintf(id, sizeof id, "t%d/Note %d\"", number, i);
        if (!strstr(buf_cz(&b), id) && i < 10)
            return 2;
    }
    return 0;
}

static void processes_on_one_vault_are_never_busy(void **state)
{
    (void)state;
    assert_int_equal(run_children(4, create_and_list), 0);
    assert_int_equal(json_length(call(notes_list, "null")), 80);
    assert_int_equal(json_length(call(notes_search, "{'query': 'word', 'limit': 1000}")),
                     80);
}

static int only_one_creates(int number)
{
    (void)number;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 100000);
    if (quietly(notes_create, "{\"type\":\"t\",\"title\":\"Same\",\"content\":\"x\"}", &b,
                &e))
        return 0;
    return e.code == ERR_CONFLICT ? 7 : 8;
}

static void of_many_that_create_one_name_one_succeeds(void **state)
{
    (void)state;
    assert_int_equal(run_children(8, only_one_creates), 7);
    assert_true(exists("t/Same.md"));
}

static void *work_in_thread(void *arg)
{
    int number = *(int *)arg;
    return create_and_list(number) == 0 ? NULL : "failed";
}

static void threads_share_a_vault(void **state)
{
    (void)state;
    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work_in_thread, &numbers[i]),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(json_length(call(notes_list, "null")), 80);
}

/* Writes without pause until it is killed. */
static int write_for_ever(int number)
{
    (void)number;
    for (int i = 0;; i++) {
        struct err e = {0};
        scoped_buf struct buf b;
        buf_init(&b, 1000000);
        char o[300];
        (void)snprintf(
            o, sizeof o,
            "{\"identifier\":\"note/Long\",\"content\":\"%0200d\",\"force\":true}", i);
        (void)quietly(notes_update, o, &b, &e);
        (void)quietly(notes_list, "null", &b, &e);
    }
    return 0;
}

static void a_killed_process_leaves_whole_notes_and_no_lock(void **state)
{
    (void)state;
    put("note/Long.md", "---\nk: v\n---\n\nstart");
    for (int round = 0; round < 15; round++) {
        pid_t child = fork();
        if (child == 0) {
            struct err e = {0};
            vault = vault_open(root, &e);
            _exit(write_for_ever(0));
        }
        /* Killed at its first write, or a little later. */
        const char *before = file("note/Long.md");
        while (!strcmp(before, file("note/Long.md")))
            ;
        assert_true(kill_at_stop(child, 1 + 9 * (unsigned)round));
        const struct json *n = call(notes_get, "'note/Long'");
        assert_int_equal(json_str(json_get(n, "content")).n, 200);
        assert_string_equal(text(json_get(n, "metadata"), "k"), "v");
        call(notes_update,
             "{'identifier': 'note/Long', 'content': 'round %d', 'force': true}", round);
        assert_int_equal(json_length(call(notes_search, "'round %d'", round)), 1);
    }
}

/* Not root, in a vault that it may only read; its history it may not where that is another's. */
static int read_only_child(bool mine)
{
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 9;
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1000000);
    vault = vault_open(root, &e);
    if (!vault || !quietly(notes_get, "\"project/Plan\"", &b, &e) ||
        !strstr(buf_cz(&b), "text") || !quietly(notes_list, "null", &b, &e) ||
        !strstr(buf_cz(&b), "project/Plan"))
        return fprintf(stderr, "%s\n", e.msg), 1;
    if (!quietly(notes_search, "\"text\"", &b, &e) || !strstr(buf_cz(&b), "project/Plan"))
        return 2;
    if (!mine &&
        (quietly(notes_history, "\"project/Plan\"", &b, &e) || e.code != ERR_DENIED))
        return fprintf(stderr, "%s\n", e.msg), 7;
    e = (struct err){0};
    if (mine &&
        (!quietly(notes_history, "\"project/Plan\"", &b, &e) ||
         !strstr(buf_cz(&b), "external") ||
         !quietly(notes_get_revision, "{\"identifier\":\"project/Plan\",\"revision\":1}",
                  &b, &e) ||
         !strstr(buf_cz(&b), "before") || !quietly(notes_list_trash, "null", &b, &e) ||
         !quietly(notes_restore,
                  "{\"identifier\":\"project/Plan\",\"revision\":1,\"force\":true,"
                  "\"dry_run\":true}",
                  &b, &e)))
        return fprintf(stderr, "%s\n", e.msg), 6;
    if (quietly(notes_create, "{\"title\":\"x\"}", &b, &e) || e.code != ERR_DENIED)
        return fprintf(stderr, "%s\n", e.msg), 3;
    e = (struct err){0};
    if (quietly(notes_update,
                "{\"identifier\":\"project/Plan\",\"content\":\"x\",\"force\":true}", &b,
                &e) ||
        e.code != ERR_DENIED)
        return 4;
    vault_close(vault);
    return 0;
}

static void a_vault_that_cannot_be_written_is_still_read(void **state)
{
    (void)state;
    put("project/Plan.md", "before\n");
    call(notes_update,
         "{'identifier': 'project/Plan', 'content': 'text', 'force': true}");
    vault_close(vault);
    vault = NULL;
    assert_int_equal(chmod(full("project"), 0555), 0);
    assert_int_equal(chmod(root, 0555), 0);
    for (int round = geteuid() ? 2 : 0; round < 4; round++) {
        bool mine = round >= 2;
        assert_int_equal(chmod(cache, round % 2 ? 0777 : 0555), 0);
        const char *history = full(".cloche/history/history.db");
        if (mine && geteuid() == 0)
            assert_int_equal(chown(history, 65534, 65534), 0);
        assert_int_equal(chmod(history, mine ? 0400 : 0600), 0);
        pid_t child = fork();
        if (child == 0)
            _exit(read_only_child(mine));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void a_strangers_index_names_nothing_outside(void **state)
{
    (void)state;
    put("A.md", "first\n");
    assert_int_equal(json_length(call(notes_list, "null")), 1);
    vault_close(vault);
    vault = NULL;
    char command[700];
    (void)snprintf(
        command, sizeof command,
        "python3 -c \"import sqlite3; d = sqlite3.connect('%s/.cloche/index.db');"
        " d.execute('INSERT INTO notes SELECT 100, \\'../../etc/x.md\\', \\'evil/x\\',"
        " \\'evil\\', type, stem, \\'Evil\\', id_key, stem_key, \\'evil\\', created, updated, size, mtime_ns, inode,"
        " racy, state, hash, tags, metadata, properties, cut FROM notes'); d.commit()\"",
        root);
    assert_int_equal(system(command), 0);
    reopen();
    assert_string_equal(ids(call(notes_list, "null")), "note/A");
    assert_true(json_is(call(notes_get, "'evil'"), JSON_NULL));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(an_edit_by_another_program_is_seen_by_the_next_call),
        T(changes_while_nobody_looked_are_seen),
        T(a_second_change_within_one_tick_is_seen_by_the_next_opening),
        T(the_index_may_be_deleted_at_any_time),
        T(a_damaged_index_is_made_anew),
        T(reindexing_counts_what_it_did),
        T(two_processes_lose_no_update),
        T(processes_on_one_vault_are_never_busy),
        T(of_many_that_create_one_name_one_succeeds),
        T(threads_share_a_vault),
        T(a_killed_process_leaves_whole_notes_and_no_lock),
        T(a_vault_that_cannot_be_written_is_still_read),
        T(a_strangers_index_names_nothing_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
