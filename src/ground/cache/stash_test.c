#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "cache/stash.h"
#include "os/os.h"

static char root[HOME_SIZE];

static struct stash *open_at(struct stash_limits limits)
{
    struct err e = {0};
    return stash_at(os_dir_make(root, 0700, &e), &limits);
}

static void key_of(char c, char key[CACHE_FILE_KEY])
{
    memset(key, c, CACHE_FILE_KEY - 1);
    key[CACHE_FILE_KEY - 1] = '\0';
}

static void put(struct stash *s, char c, size_t size)
{
    char key[CACHE_FILE_KEY], text[1000];
    memset(text, c, sizeof text);
    key_of(c, key);
    stash_put(s, key, (struct str){text, size});
}

static bool gets(struct stash *s, char c)
{
    char key[CACHE_FILE_KEY];
    key_of(c, key);
    scoped_buf struct buf out;
    buf_init(&out, 1000);
    return stash_get(s, key, &out) && out.n && out.at[0] == c;
}

static void path_of(char c, char path[static 200])
{
    char key[CACHE_FILE_KEY];
    key_of(c, key);
    (void)snprintf(path, 200, "%s/%s", root, key);
}

static void what_was_put_is_there_for_the_next(void **state)
{
    (void)state;
    scoped(stash_close) struct stash *s = open_at((struct stash_limits){1 << 20, 500});
    put(s, 'a', 500);
    put(s, 'b', 501); /* exceeds the limit of a file */
    scoped(stash_close) struct stash *other =
        open_at((struct stash_limits){1 << 20, 500});
    assert_true(gets(other, 'a'));
    assert_false(gets(other, 'b'));
    assert_false(gets(other, 'c'));
}

static void what_was_damaged_cut_or_renamed_is_not_there(void **state)
{
    (void)state;
    char path[200], to[200];
    scoped(stash_close) struct stash *s = open_at((struct stash_limits){1 << 20, 500});
    put(s, 'a', 100);
    put(s, 'b', 100);
    put(s, 'c', 100);
    path_of('a', path);
    scoped_fd int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 90), 1);
    path_of('b', path);
    assert_int_equal(truncate(path, 99), 0);
    path_of('c', path);
    path_of('d', to);
    assert_int_equal(rename(path, to), 0);
    for (char c = 'a'; c <= 'd'; c++)
        assert_false(gets(s, c));
    put(s, 'a', 100);
    assert_true(gets(s, 'a'));
}

static void the_oldest_go_when_it_is_too_much(void **state)
{
    (void)state;
    char path[200];
    /* Of 100 bytes and a sum of 32 (or 64), two fit. */
    scoped(stash_close) struct stash *s = open_at((struct stash_limits){330, 500});
    for (char c = 'a'; c <= 'c'; c++) {
        put(s, c, 100);
        path_of(c, path);
        struct timespec when[2] = {{.tv_sec = 1000 + c}, {.tv_sec = 1000 + c}};
        assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
    }
    stash_prune(s);
    assert_false(gets(s, 'a'));
    assert_true(gets(s, 'b'));
    assert_true(gets(s, 'c'));
}

static void without_a_folder_nothing_is_kept(void **state)
{
    (void)state;
    scoped(stash_close) struct stash *s =
        stash_at(-1, &(struct stash_limits){1 << 20, 500});
    put(s, 'a', 100);
    assert_false(gets(s, 'a'));
    stash_prune(s);
}

static int empty(void **state)
{
    (void)state;
    char path[200];
    for (char c = 'a'; c <= 'd'; c++) {
        path_of(c, path);
        (void)unlink(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_was_put_is_there_for_the_next, empty),
        cmocka_unit_test_teardown(what_was_damaged_cut_or_renamed_is_not_there, empty),
        cmocka_unit_test_teardown(the_oldest_go_when_it_is_too_much, empty),
        cmocka_unit_test_teardown(without_a_folder_nothing_is_kept, empty),
    };
    if (!folder_make(root))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL) + folder_remove(root);
}
