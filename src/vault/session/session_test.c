/* Sessions: lookup by owner, their end, and damaged files. */
#include "session/session.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/home_test.h"
#include "os/os.h"

static char home[HOME_SIZE];
static struct sessions *store;
static const struct session_owner ada = {"stdio", "work"},
                                  bob = {"http 127.0.0.1", "work"},
                                  elsewhere = {"stdio", "home"};
static struct session_limits limits;

static int begin(void **state)
{
    (void)state;
    if (!home_make(home))
        return -1;
    limits = (struct session_limits){
        .idle_ms = 60000, .bytes = 1 << 20, .one_bytes = 1 << 19, .max = 4, .wait_ms = 0};
    struct err e = {0};
    store = sessions_open(&e);
    assert_non_null(store);
    return 0;
}

static int clean(void **state)
{
    (void)state;
    sessions_close(store);
    return folder_remove(home);
}

static struct session *must_take(const struct session_owner *o, const char *name)
{
    struct err e = {0};
    struct session *x = session_take(store, o, &limits, str_of(name), NULL, &e);
    if (!x)
        fail_msg("%s: %s", name, e.msg);
    return x;
}

static enum err_code refused(const struct session_owner *o, const char *name)
{
    struct err e = {0};
    scoped(session_release) struct session *x =
        session_take(store, o, &limits, str_of(name), NULL, &e);
    assert_null(x);
    assert_true(e.msg[0] != '\0');
    return e.code;
}

static void keep(const struct session_owner *o, const char *name, const char *text)
{
    struct err e = {0};
    scoped(session_release) struct session *x = must_take(o, name);
    if (!session_keep(x, str_of(text), &e))
        fail_msg("%s", e.msg);
}

static void holds(const struct session_owner *o, const char *name, const char *text)
{
    scoped(session_release) struct session *x = must_take(o, name);
    assert_string_equal(buf_cz(&x->saved), text);
}

static size_t count(const struct session_owner *o)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)8 << 20);
    struct session_info *all;
    size_t n = 0;
    struct err e = {0};
    assert_true(sessions_list(store, o, &limits, a, &all, &n, &e));
    return n;
}

/* The session's file, by its path. */
static void path_of(const struct session_owner *o, const char *name, char out[static 300])
{
    scoped(session_release) struct session *x = must_take(o, name);
    (void)snprintf(out, 300, "%s/cloche/sessions/%s.session", home, x->handle);
}

static void make_idle(const struct session_owner *o, const char *name)
{
    char path[300];
    path_of(o, name, path);
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
}

static void a_session_is_what_its_last_call_kept(void **state)
{
    (void)state;
    scoped(session_release) struct session *x = must_take(&ada, "a");
    assert_int_equal(x->saved.n, 0);
    assert_int_equal(x->calls, 0);
    assert_int_equal(x->used_ms, 0);
    struct err e = {0};
    assert_int_equal(x->kind, 0);
    x->kind = 7;
    assert_true(session_keep(x, STR("one"), &e));
    session_release(take(x));
    keep(&ada, "a", "two");
    x = must_take(&ada, "a");
    assert_int_equal(x->kind, 7);
    assert_string_equal(buf_cz(&x->saved), "two");
    assert_int_equal(x->calls, 2);
    assert_true(x->created_ms > 0 && x->used_ms > 0);
    session_release(take(x)); /* released unchanged */
    holds(&ada, "a", "two");
}

static void names_belong_to_a_caller_and_a_vault(void **state)
{
    (void)state;
    keep(&ada, "a", "hers");
    holds(&bob, "a", "");
    holds(&elsewhere, "a", "");
    keep(&bob, "a", "his");
    holds(&ada, "a", "hers");
    assert_int_equal(count(&ada), 1);
    assert_int_equal(count(&bob), 1);
    assert_int_equal(count(&elsewhere), 0);
    assert_int_equal(count(NULL), 2);
    char handle[SESSION_HANDLE];
    scoped(session_release) struct session *x = must_take(&ada, "a");
    memcpy(handle, x->handle, sizeof handle);
    session_release(take(x));
    holds(&ada, handle, "hers");
    assert_int_equal(refused(&bob, handle), ERR_NOT_FOUND);
    assert_int_equal(refused(&elsewhere, handle), ERR_NOT_FOUND);
    struct err e = {0};
    assert_false(sessions_end(store, &bob, &limits, str_of(handle), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    holds(&ada, "a", "hers");
}

static void names_are_short_and_plain(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "a/b",
                                        "a b",
                                        "../x",
                                        "\xc3\xa4",
                                        "a\n",
                                        "abcdefghijabcdefghijabcdefghijabcdefghijk"};
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_int_equal(refused(&ada, wrong[i]), ERR_INVALID);
    static const char *const right[] = {"a", ".", "..", "A-b_9.",
                                        "abcdefghijabcdefghijabcdefghijabcdefghij"};
    for (size_t i = 0; i < LENGTH(right); i++)
        holds(&ada, right[i], "");
    assert_int_equal(refused(&ada, "ses_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
                     ERR_NOT_FOUND);
}

static void idle_ones_are_gone(void **state)
{
    (void)state;
    keep(&ada, "a", "old");
    keep(&ada, "b", "new");
    make_idle(&ada, "a");
    assert_int_equal(count(&ada), 1);
    holds(&ada, "a", "");
    holds(&ada, "b", "new");
    /* Unused ones as well: the next new one removes them. */
    keep(&bob, "c", "old");
    make_idle(&bob, "c");
    char path[300];
    (void)snprintf(path, sizeof path, "%s/cloche/sessions", home);
    keep(&ada, "d", "x");
    limits.idle_ms = UINT64_MAX;
    assert_int_equal(count(&bob), 0);
}

static void an_idle_one_that_a_call_is_in_stays(void **state)
{
    (void)state;
    keep(&ada, "a", "old");
    make_idle(&ada, "a");
    limits.idle_ms = UINT64_MAX;
    scoped(session_release) struct session *x = must_take(&ada, "a");
    limits.idle_ms = 60000;
    keep(&ada, "b", "x");
    session_release(take(x));
    limits.idle_ms = UINT64_MAX;
    holds(&ada, "a", "old");
}

static void there_are_no_more_than_may_be(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < LENGTH(names); i++)
        keep(&ada, names[i], "x");
    assert_int_equal(refused(&ada, "e"), ERR_LIMIT);
    assert_int_equal(refused(&bob, "a"), ERR_LIMIT);
    holds(&ada, "d", "x");
    struct err e = {0};
    assert_true(sessions_end(store, &ada, &limits, STR("b"), &e));
    keep(&ada, "e", "x");
    assert_false(sessions_end(store, &ada, &limits, STR("b"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    limits.max = 0;
    assert_int_equal(refused(&ada, "a"), ERR_DENIED);
}

static void those_of_others_take_no_room_where_each_has_his_own(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < LENGTH(names); i++)
        keep(&ada, names[i], "x");
    limits.each = true;
    assert_int_equal(refused(&ada, "e"), ERR_LIMIT);
    keep(&bob, "a", "x");
    holds(&bob, "a", "x");
}

static void they_are_no_larger_than_may_be(void **state)
{
    (void)state;
    scoped_buf struct buf big;
    buf_init(&big, 1 << 20);
    memset(buf_room(&big, 1 << 19), 'x', 1 << 19);
    big.n = 1 << 19;
    struct err e = {0};
    keep(&ada, "a", "small");
    scoped(session_release) struct session *x = must_take(&ada, "a");
    assert_true(session_keep(x, buf_view(&big), &e));
    buf_char(&big, 'x');
    assert_false(session_keep(x, buf_view(&big), &e));
    assert_int_equal(e.code, ERR_LIMIT);
    big.n = 1 << 19;
    session_release(take(x));
    x = must_take(&ada, "a");
    assert_int_equal(x->saved.n, 1 << 19); /* as it was before */
    session_release(take(x));
    /* All of them together. */
    e = (struct err){0};
    x = must_take(&ada, "b");
    assert_false(session_keep(x, buf_view(&big), &e));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    assert_true(session_keep(x, STR("small"), &e));
}

static void one_call_is_in_a_session_at_a_time(void **state)
{
    (void)state;
    scoped(session_release) struct session *x = must_take(&ada, "a");
    limits.wait_ms = 250;
    assert_int_equal(refused(&ada, "a"), ERR_BUSY);
    struct err e = {0};
    assert_false(sessions_end(store, &ada, &limits, STR("a"), &e));
    assert_int_equal(e.code, ERR_BUSY);
    holds(&ada, "b", "");
    struct cancel cancel;
    cancel_init(&cancel);
    cancel_fire(&cancel);
    limits.wait_ms = 60000;
    e = (struct err){0};
    assert_null(session_take(store, &ada, &limits, STR("a"), &cancel, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    session_release(take(x));
    holds(&ada, "a", "");
}

static void *add_one(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        struct err e = {0};
        scoped(session_release) struct session *x =
            session_take(store, &ada, &limits, STR("n"), NULL, &e);
        if (!x)
            return "not taken";
        char text[20];
        int n = x->saved.n ? atoi(buf_cz(&x->saved)) : 0;
        (void)snprintf(text, sizeof text, "%d", n + 1);
        if (!session_keep(x, str_of(text), &e))
            return "not kept";
    }
    return NULL;
}

static void calls_of_all_threads_and_processes_take_turns(void **state)
{
    (void)state;
    limits.wait_ms = 60000;
    pthread_t threads[3];
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        store = sessions_open(&e);
        _exit(store && !add_one(NULL) ? 0 : 1);
    }
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_one, NULL), 0);
    for (size_t i = 0; i < LENGTH(threads); i++) {
        void *why;
        pthread_join(threads[i], &why);
        assert_null(why);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    holds(&ada, "n", "200");
}

static void a_damaged_file_is_found_and_dropped(void **state)
{
    (void)state;
    char path[300];
    for (off_t at = 0; at < 290; at += 7) {
        keep(&ada, "a", "some text that is kept for the next call");
        path_of(&ada, "a", path);
        scoped_fd int fd = open(path, O_RDWR);
        char c;
        assert_int_equal(pread(fd, &c, 1, at), 1);
        c ^= 1;
        assert_int_equal(pwrite(fd, &c, 1, at), 1);
        assert_int_equal(refused(&ada, "a"), ERR_CONFLICT);
        holds(&ada, "a", "");
    }
    keep(&ada, "a", "text");
    path_of(&ada, "a", path);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(refused(&ada, "a"), ERR_CONFLICT);
    keep(&ada, "a", "text");
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(count(&ada), 0);
    assert_int_equal(refused(&ada, "a"), ERR_CONFLICT);
}

static void one_session_is_not_taken_for_another(void **state)
{
    (void)state;
    char a[300], b[300];
    keep(&ada, "a", "hers");
    keep(&bob, "b", "his");
    path_of(&ada, "a", a);
    path_of(&bob, "b", b);
    assert_int_equal(rename(a, b), 0);
    assert_int_equal(refused(&bob, "b"), ERR_CONFLICT);
    assert_int_equal(symlink("/etc/passwd", b), 0);
    assert_true(refused(&bob, "b") != ERR_NONE);
    assert_int_equal(unlink(b), 0);
}

static void a_new_secret_loses_all_sessions(void **state)
{
    (void)state;
    char path[300];
    keep(&ada, "a", "text");
    (void)snprintf(path, sizeof path, "%s/cloche/sessions/secret", home);
    assert_int_equal(truncate(path, 5), 0);
    struct err e = {0};
    sessions_close(store);
    store = sessions_open(&e);
    assert_non_null(store);
    holds(&ada, "a", "");
}

static void what_is_forgotten_is_gone(void **state)
{
    (void)state;
    keep(&ada, "a", "text");
    scoped(session_release) struct session *x = must_take(&ada, "a");
    struct err e = {0};
    assert_true(session_forget(x, &e));
    assert_true(session_forget(x, &e));
    session_release(take(x));
    holds(&ada, "a", "");
}

static void others_cannot_read_them(void **state)
{
    (void)state;
    char path[300];
    struct stat st;
    keep(&ada, "a", "text");
    path_of(&ada, "a", path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    (void)snprintf(path, sizeof path, "%s/cloche/sessions", home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, begin, clean)
    const struct CMUnitTest tests[] = {
        test(a_session_is_what_its_last_call_kept),
        test(names_belong_to_a_caller_and_a_vault),
        test(names_are_short_and_plain),
        test(idle_ones_are_gone),
        test(an_idle_one_that_a_call_is_in_stays),
        test(there_are_no_more_than_may_be),
        test(those_of_others_take_no_room_where_each_has_his_own),
        test(they_are_no_larger_than_may_be),
        test(one_call_is_in_a_session_at_a_time),
        test(calls_of_all_threads_and_processes_take_turns),
        test(a_damaged_file_is_found_and_dropped),
        test(one_session_is_not_taken_for_another),
        test(a_new_secret_loses_all_sessions),
        test(what_is_forgotten_is_gone),
        test(others_cannot_read_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
