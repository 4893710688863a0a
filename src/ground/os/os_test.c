/* Clocks, locks, change notices and the user's folders. */
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

#include "os/os.h"
#include "os/root_test.h"

/* ---- clocks ------------------------------------------------------------- */

static void clocks_go_forward(void **state)
{
    (void)state;
    uint64_t mono = os_mono_ns(), cpu = os_thread_cpu_ns();
    for (volatile int i = 0; i < 100000; i++)
        ;
    assert_true(os_mono_ns() > mono);
    assert_true(os_thread_cpu_ns() > cpu);
    assert_true(os_real_ms() > 1700000000000);
}

static void randomness_does_not_repeat(void **state)
{
    (void)state;
    unsigned char a[64] = {0}, b[64] = {0};
    os_random(a, sizeof a);
    os_random(b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
}

/* ---- locks -------------------------------------------------------------- */

static void a_held_lock_makes_others_busy(void **state)
{
    (void)state;
    struct err e = {0};
    int first = os_lock(dir, "lock", 7, 0, &e);
    assert_true(first >= 0);
    assert_int_equal(os_lock(dir, "lock", 7, 1, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);
    e = (struct err){0};
    scoped_fd int other_key = os_lock(dir, "lock", UINT64_MAX, 0, &e);
    assert_true(other_key >= 0);
    os_close(first);
    scoped_fd int again = os_lock(dir, "lock", 7, 0, &e);
    assert_true(again >= 0);
}

static atomic_int shared_count;

static void *count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        struct err e = {0};
        scoped_fd int held = os_lock(dir, "lock", 1, 30000, &e);
        if (held < 0)
            return "no lock";
        /* a read and a write: only the lock makes them atomic */
        int seen = atomic_load(&shared_count);
        sched_yield();
        atomic_store(&shared_count, seen + 1);
    }
    return NULL;
}

static void a_lock_holds_between_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    atomic_store(&shared_count, 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (size_t i = 0; i < LENGTH(threads); i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    assert_int_equal(atomic_load(&shared_count), 800);
}

static void a_lock_ends_with_its_process(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err e = {0};
        char ok = os_lock(dir, "lock", 1, 0, &e) >= 0 ? 'y' : 'n';
        (void)!write(ready[1], &ok, 1);
        pause();
        _exit(1);
    }
    char ok;
    assert_int_equal(read(ready[0], &ok, 1), 1);
    assert_int_equal(ok, 'y');
    struct err e = {0};
    assert_int_equal(os_lock(dir, "lock", 1, 0, &e), -1);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    e = (struct err){0};
    scoped_fd int held = os_lock(dir, "lock", 1, 0, &e);
    assert_true(held >= 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* ---- change notices ----------------------------------------------------- */

static void gather(void *arg, const char *name)
{
    struct buf *b = arg;
    char quoted[300];
    (void)snprintf(quoted, sizeof quoted, "<%s>", name);
    buf_put(b, quoted, strlen(quoted));
}

static void assert_noticed(struct os_watch *w, const char *const *names)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    assert_true(os_watch_drain(w, gather, &b));
    for (; *names; names++)
        if (!strstr(buf_cz(&b), *names))
            fail_msg("%s is not in %s", *names, buf_cz(&b));
}
#define ASSERT_NOTICED(w, ...) assert_noticed(w, (const char *const[]){__VA_ARGS__, NULL})

static void put(const char *name, const char *text)
{
    struct err e = {0};
    assert_true(os_write_file(dir, name, str_of(text), OS_REPLACE, 0644, NULL, &e));
}

static void changes_are_noticed_at_once(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(os_make_dirs(dir, "a/b", &e));
    put("a/b/old", "x");
    scoped(os_watch_close) struct os_watch *w = os_watch_open(dir, root, &e);
    assert_non_null(w);

    scoped_buf struct buf none;
    buf_init(&none, 1000);
    assert_true(os_watch_drain(w, gather, &none));
    assert_int_equal(none.n, 0);

    put("new", "x");
    put("a/b/new", "x");
    ASSERT_NOTICED(w, "<new>", "<a/b/new>");
    assert_int_equal(unlinkat(dir, "a/b/old", 0), 0);
    ASSERT_NOTICED(w, "<a/b/old>");
    assert_int_equal(renameat(dir, "new", dir, "a/newer"), 0);
    ASSERT_NOTICED(w, "<new>", "<a/newer>");

    scoped_fd int fd = openat(dir, "a/newer", O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "y", 1), 1);
    ASSERT_NOTICED(w, "<a/newer>"); /* before it is closed */
}

static void new_folders_are_watched_too(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(os_watch_close) struct os_watch *w = os_watch_open(dir, root, &e);
    assert_true(os_make_dirs(dir, "x/y", &e));
    ASSERT_NOTICED(w, "<x>");
    put("x/y/file", "1");
    ASSERT_NOTICED(w, "<x/y/file>");

    assert_int_equal(renameat(dir, "x", dir, "z"), 0);
    ASSERT_NOTICED(w, "<x>", "<z>");
    put("z/y/file", "2");
    ASSERT_NOTICED(w, "<z/y/file>");

    assert_true(os_make_dirs(dir, "z/.dot", &e));
    put("z/.dot/file", "1");
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    assert_true(os_watch_drain(w, gather, &b));
    assert_string_equal(buf_cz(&b), "");
}

static void a_folder_moved_out_is_no_longer_told_of(void **state)
{
    (void)state;
    struct err e = {0};
    char elsewhere[HOME_SIZE], target[64];
    assert_true(folder_make(elsewhere));
    (void)snprintf(target, sizeof target, "%s/x", elsewhere);
    assert_true(os_make_dirs(dir, "x/y", &e));
    scoped(os_watch_close) struct os_watch *w = os_watch_open(dir, root, &e);
    assert_int_equal(renameat(dir, "x", AT_FDCWD, target), 0);
    ASSERT_NOTICED(w, "<x>");
    scoped_fd int out = os_dir_open(elsewhere, &e);
    assert_true(os_write_file(out, "x/y/file", STR("1"), OS_CREATE, 0644, NULL, &e));
    scoped_buf struct buf b;
    buf_init(&b, 1000);
    assert_true(os_watch_drain(w, gather, &b));
    assert_string_equal(buf_cz(&b), "");
    assert_int_equal(folder_remove(elsewhere), 0);
}

static void lost_notices_are_owned_up_to(void **state)
{
    (void)state;
    struct err e = {0};
    put("a", "x");
    put("b", "x");
    scoped(os_watch_close) struct os_watch *w = os_watch_open(dir, root, &e);
    scoped_fd int a = openat(dir, "a", O_WRONLY), b = openat(dir, "b", O_WRONLY);
    for (int i = 0; i < 70000; i++) /* alternating: equal ones would be merged */
        assert_int_equal(pwrite(i & 1 ? a : b, "y", 1, 0), 1);
    assert_int_equal(mkdirat(dir, "unseen", 0755), 0);
    scoped_buf struct buf names;
    buf_init(&names, 1 << 22);
    assert_false(os_watch_drain(w, gather, &names));
    put("unseen/file", "x");
    ASSERT_NOTICED(w, "<unseen/file>"); /* the new folder is watched, too */
}

/* ---- the user's folders ------------------------------------------------- */

static void the_config_folder_is_made_for_its_user_alone(void **state)
{
    (void)state;
    struct err e = {0};
    char base[128];
    (void)snprintf(base, sizeof base, "%s/deep/config", root);
    assert_int_equal(setenv("XDG_CONFIG_HOME", base, 1), 0);
    __attribute__((cleanup(free_at))) char *path = NULL;
    scoped_fd int fd = os_config_dir(&path, &e);
    assert_true(fd >= 0);
    assert_true(str_ends(str_of(path), "/deep/config/cloche"));
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);

    assert_int_equal(fchmod(fd, 0770), 0);
    assert_int_equal(os_config_dir(NULL, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

static void a_relative_xdg_variable_is_ignored(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", root, 1), 0);
    __attribute__((cleanup(free_at))) char *path = NULL;
    scoped_fd int fd = os_cache_dir(&path, &e);
    assert_true(fd >= 0);
    assert_true(str_starts(str_of(path), root));
    assert_true(str_ends(str_of(path), "/.cache/cloche"));
}

static void the_program_knows_its_folder(void **state)
{
    (void)state;
    struct err e = {0};
    __attribute__((cleanup(free_at))) char *path = os_program_dir(&e);
    assert_non_null(path);
    scoped_fd int fd = os_dir_open(path, &e);
    assert_true(fd >= 0);
}

static void a_file_is_no_folder(void **state)
{
    (void)state;
    struct err e = {0};
    char path[128];
    put("a", "x");
    (void)snprintf(path, sizeof path, "%s/a", root);
    assert_int_equal(os_dir_open(path, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    (void)snprintf(path, sizeof path, "%s/none", root);
    assert_int_equal(os_dir_open(path, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void a_process_has_no_more_memory_than_the_computer(void **state)
{
    (void)state;
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_in_range(os_memory_bytes(), 1 << 20, all);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        T(a_process_has_no_more_memory_than_the_computer),
        T(clocks_go_forward),
        T(randomness_does_not_repeat),
        T(a_held_lock_makes_others_busy),
        T(a_lock_holds_between_threads),
        T(a_lock_ends_with_its_process),
        T(changes_are_noticed_at_once),
        T(new_folders_are_watched_too),
        T(a_folder_moved_out_is_no_longer_told_of),
        T(lost_notices_are_owned_up_to),
        T(the_config_folder_is_made_for_its_user_alone),
        T(a_relative_xdg_variable_is_ignored),
        T(the_program_knows_its_folder),
        T(a_file_is_no_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
