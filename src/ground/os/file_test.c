/* Files beneath a handle: what is written is read back, and nothing leads out. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/skip_test.h"
#include "os/beneath.h"
#include "os/root_test.h"

static void put(const char *name, const char *text)
{
    struct err e = {0};
    assert_true(os_write_file(dir, name, str_of(text), OS_REPLACE, 0644, NULL, &e));
}

static void assert_holds(const char *name, const char *text)
{
    struct err e = {0};
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    assert_true(os_read_file(dir, name, &b, NULL, &e));
    assert_string_equal(buf_cz(&b), text);
}

static void assert_open_fails(const char *name, enum err_code code)
{
    struct err e = {0};
    assert_int_equal(os_open_beneath(dir, name, O_RDONLY, 0, &e), -1);
    assert_int_equal(e.code, code);
    assert_true(e.msg[0] != '\0');
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct err e = {0};
    struct os_stat written, seen;
    assert_true(os_write_file(dir, "a", STR("one"), OS_REPLACE, 0600, &written, &e));
    assert_true(os_stat_beneath(dir, "a", &seen, &e));
    assert_int_equal(written.inode, seen.inode);
    assert_int_equal(written.mtime_ns, seen.mtime_ns);
    assert_int_equal(seen.size, 3);
    assert_true(seen.is_file && !seen.is_dir);
    assert_holds("a", "one");
    put("a", "");
    assert_holds("a", "");
}

static void a_replaced_file_keeps_its_mode(void **state)
{
    (void)state;
    put("a", "one");
    assert_int_equal(fchmodat(dir, "a", 0640, 0), 0);
    put("a", "two");
    struct stat st;
    assert_int_equal(fstatat(dir, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
}

static void a_replaced_file_hands_on_what_is_not_its_bytes(void **state)
{
    (void)state;
    put("a", "one");
    struct err e = {0};
    struct os_stat old, now;
    scoped_fd int before = openat(dir, "a", O_RDONLY);
    assert_true(os_stat_fd(before, &old, &e));
    bool attributes = fsetxattr(before, "user.colour", "red", 3, 0) == 0;
    if (geteuid() == 0)
        assert_int_equal(fchown(before, 1234, 5678), 0);
    for (int i = 0; i < 3; i++)
        put("a", "two");
    scoped_fd int after = openat(dir, "a", O_RDONLY);
    struct stat st;
    assert_int_equal(fstat(after, &st), 0);
    if (geteuid() == 0)
        assert_true(st.st_uid == 1234 && st.st_gid == 5678);
    if (!attributes)
        skip_system("the file system keeps no attributes");
    char colour[8];
    assert_int_equal(fgetxattr(after, "user.colour", colour, sizeof colour), 3);
    assert_true(os_stat_fd(after, &now, &e));
    assert_true(old.birth_ns != 0 && old.inode != now.inode);
    assert_int_equal(now.birth_ns, old.birth_ns);
}

static void a_new_file_gets_the_mode_less_the_umask(void **state)
{
    (void)state;
    struct err e = {0};
    mode_t old = umask(027);
    assert_true(os_write_file(dir, "a", STR("x"), OS_CREATE, 0666, NULL, &e));
    assert_true(os_write_file(dir, "b", STR("x"), OS_REPLACE, 0600, NULL, &e));
    assert_int_equal(umask(old), 027);
    struct stat st;
    assert_int_equal(fstatat(dir, "a", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(fstatat(dir, "b", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void creating_never_replaces(void **state)
{
    (void)state;
    put("a", "one");
    struct err e = {0};
    assert_false(os_write_file(dir, "a", STR("two"), OS_CREATE, 0644, NULL, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_holds("a", "one");
}

static void only_the_expected_file_is_replaced(void **state)
{
    (void)state;
    struct err e = {0};
    struct os_stat old, now;
    put("a", "one");
    assert_true(os_stat_beneath(dir, "a", &old, &e));
    assert_true(os_replace_file(dir, "a", STR("two"), &old, &now, &e));
    assert_holds("a", "two");
    assert_false(os_replace_file(dir, "a", STR("three"), &old, NULL, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_holds("a", "two");
    e = (struct err){0};
    assert_true(os_replace_file(dir, "a", STR("three"), &now, NULL, &e));
    assert_holds("a", "three");
    assert_true(os_remove_file(dir, "a", &e));
    assert_false(os_replace_file(dir, "a", STR("four"), &now, NULL, &e));
}

static int count_dot_files(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "ls -A %s | grep -c '^\\.'", root);
    FILE *p = popen(command, "r");
    int n = -1;
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%d", &n), 1);
    (void)pclose(p);
    return n;
}

static void a_failed_write_leaves_nothing_behind(void **state)
{
    (void)state;
    struct err e = {0};
    put("a", "one");
    assert_false(os_write_file(dir, "a", STR("two"), OS_CREATE, 0644, NULL, &e));
    assert_int_equal(mkdirat(dir, "folder", 0755), 0);
    e = (struct err){0};
    assert_false(os_write_file(dir, "folder", STR("x"), OS_REPLACE, 0644, NULL, &e));
    struct os_stat other = {.inode = 1};
    e = (struct err){0};
    assert_false(os_replace_file(dir, "a", STR("x"), &other, NULL, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    put("a", "two");
    assert_int_equal(count_dot_files(), 0);
}

static void names_that_lead_out_are_denied(void **state)
{
    (void)state;
    static const char *const names[] = {"..",          "../x",   "a/../../x", "a/..",
                                        "/etc/passwd", "./../x", "a/../b"};
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct err e = {0};
        assert_open_fails(names[i], ERR_DENIED);
        assert_false(os_write_file(dir, names[i], STR("x"), OS_REPLACE, 0644, NULL, &e));
        assert_int_equal(e.code, ERR_DENIED);
        e = (struct err){0};
        assert_false(os_make_dirs(dir, names[i], &e));
        assert_int_equal(e.code, ERR_DENIED);
    }
}

static void odd_names_are_invalid(void **state)
{
    (void)state;
    assert_open_fails("", ERR_INVALID);
    char longest[6000];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_open_fails(longest, ERR_INVALID);
    longest[256] = '\0';
    assert_open_fails(longest, ERR_INVALID);
    struct err e = {0};
    assert_false(os_write_file(dir, longest, STR("x"), OS_CREATE, 0644, NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(os_write_file(dir, "a/", STR("x"), OS_CREATE, 0644, NULL, &e));
}

static void links_that_lead_out_are_denied(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc", dir, "out"), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir, "file"), 0);
    assert_int_equal(symlinkat("../..", dir, "up"), 0);
    assert_open_fails("out/passwd", ERR_DENIED);
    assert_open_fails("file", ERR_DENIED);
    assert_open_fails("up", ERR_DENIED);

    struct err e = {0};
    struct os_stat st;
    assert_false(os_stat_beneath(dir, "file", &st, &e));
    e = (struct err){0};
    assert_false(os_write_file(dir, "out/x", STR("x"), OS_REPLACE, 0644, NULL, &e));
    assert_int_equal(e.code, ERR_DENIED);
    e = (struct err){0};
    assert_false(os_make_dirs(dir, "out/cloche-test", &e));
    e = (struct err){0};
    assert_false(os_make_dirs(dir, "out", &e));
    e = (struct err){0};
    assert_false(os_remove_file(dir, "out/passwd", &e));
    assert_int_equal(e.code, ERR_DENIED);
}

static void writing_over_a_link_replaces_the_link(void **state)
{
    (void)state;
    put("a", "one");
    assert_int_equal(symlinkat("a", dir, "link"), 0);
    put("link", "two");
    assert_holds("a", "one");
    assert_holds("link", "two");
}

static void inner_links_are_followed_only_without_nofollow(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir, "real", 0755), 0);
    put("real/a", "one");
    assert_int_equal(symlinkat("real", dir, "link"), 0);
    struct err e = {0};
    scoped_fd int followed = os_open_beneath(dir, "link/a", O_RDONLY, 0, &e);
    if (followed < 0 && e.code == ERR_DENIED)
        skip_system("the kernel has no openat2");
    assert_holds("link/a", "one");
    assert_int_equal(os_open_beneath(dir, "link/a", O_RDONLY | O_NOFOLLOW, 0, &e), -1);
    assert_int_equal(e.code, ERR_DENIED);
}

static void without_openat2_every_link_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir, "real", 0755), 0);
    put("real/a", "one");
    assert_int_equal(symlinkat("real", dir, "link"), 0);
    assert_int_equal(symlinkat("a", dir, "real/alias"), 0);

    scoped_fd int good = beneath_open_slow(dir, "real/a", O_RDONLY, 0);
    assert_true(good >= 0);
    scoped_fd int doubled = beneath_open_slow(dir, "real//a", O_RDONLY, 0);
    assert_true(doubled >= 0);
    static const char *const links[] = {"link/a", "link", "real/alias"};
    for (size_t i = 0; i < LENGTH(links); i++) {
        errno = 0;
        assert_int_equal(beneath_open_slow(dir, links[i], O_RDONLY, 0), -1);
        assert_int_equal(errno, ELOOP);
        errno = 0;
        assert_int_equal(beneath_open_slow(dir, links[i], O_PATH, 0), -1);
        assert_int_equal(errno, ELOOP);
    }
    assert_int_equal(beneath_open_slow(dir, "real/none", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(beneath_open_slow(dir, "real/a/x", O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void reading_a_pipe_or_folder_fails_at_once(void **state)
{
    (void)state;
    assert_int_equal(mkfifoat(dir, "pipe", 0644), 0);
    assert_int_equal(mkdirat(dir, "folder", 0755), 0);
    scoped_buf struct buf b;
    buf_init(&b, 100);
    static const char *const names[] = {"pipe", "folder"};
    for (size_t i = 0; i < 2; i++) {
        struct err e = {0};
        assert_false(os_read_file(dir, names[i], &b, NULL, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_file_over_the_ceiling_is_a_limit(void **state)
{
    (void)state;
    put("a", "12345");
    scoped_buf struct buf exact, less;
    buf_init(&exact, 5);
    buf_init(&less, 4);
    struct err e = {0};
    assert_true(os_read_file(dir, "a", &exact, NULL, &e));
    assert_int_equal(exact.n, 5);
    assert_false(os_read_file(dir, "a", &less, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void folders_are_made_with_those_on_the_way(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(os_make_dirs(dir, "a/b/c", &e));
    assert_true(os_make_dirs(dir, "a//b/c/", &e));
    put("a/b/c/file", "x");
    assert_holds("a/b/c/file", "x");
    assert_false(os_make_dirs(dir, "a/b/c/file/d", &e));
    e = (struct err){0};
    assert_false(os_make_dirs(dir, "a/b/c/file", &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void moving_never_replaces(void **state)
{
    (void)state;
    struct err e = {0};
    put("a", "one");
    put("b", "two");
    assert_false(os_move(dir, "a", "b", &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_holds("b", "two");
    e = (struct err){0};
    assert_true(os_make_dirs(dir, "x", &e));
    assert_true(os_move(dir, "a", "x/a", &e));
    assert_holds("x/a", "one");
    assert_open_fails("a", ERR_NOT_FOUND);
    assert_false(os_move(dir, "a", "c", &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void a_removed_file_is_gone(void **state)
{
    (void)state;
    struct err e = {0};
    put("a", "one");
    assert_true(os_remove_file(dir, "a", &e));
    assert_open_fails("a", ERR_NOT_FOUND);
    assert_false(os_remove_file(dir, "a", &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(mkdirat(dir, "folder", 0755), 0);
    e = (struct err){0};
    assert_false(os_remove_file(dir, "folder", &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static bool note_name(void *arg, const char *name, const struct os_stat *st,
                      struct err *e)
{
    (void)e;
    struct buf *b = arg;
    return buf_printf(b, "%s%s;", name, st->is_dir ? "/" : "");
}

static void a_walk_passes_over_dot_names_links_and_pipes(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(os_make_dirs(dir, "a/b", &e));
    assert_true(os_make_dirs(dir, "a/.hidden/b", &e));
    put("a/b/file", "x");
    put("a/.hidden/b/file", "x");
    put("a/b/.secret", "x");
    assert_int_equal(symlinkat("a", dir, "link"), 0);
    assert_int_equal(symlinkat("file", dir, "a/b/link"), 0);
    assert_int_equal(mkfifoat(dir, "a/pipe", 0644), 0);
    scoped_buf struct buf seen, part;
    buf_init(&seen, 1000);
    buf_init(&part, 1000);
    assert_true(os_walk(dir, note_name, &seen, &e));
    assert_string_equal(buf_cz(&seen), "a/;a/b/;a/b/file;");
    assert_true(os_walk_from(dir, "a/b", note_name, &part, &e));
    assert_string_equal(buf_cz(&part), "a/b/file;");
}

/* Files have as many bytes as their names say. */
#define MANY 2500u
struct seen_many {
    unsigned count, limit;
    bool seen[MANY];
};

static bool note_one_of_many(void *arg, const char *name, const struct os_stat *st,
                             struct err *e)
{
    (void)e;
    struct seen_many *s = arg;
    if (st->is_dir)
        return true;
    unsigned n = (unsigned)strtoul(strrchr(name, '/') + 1, NULL, 10);
    assert_true(n < MANY && !s->seen[n]);
    assert_int_equal(st->size, n % 7);
    s->seen[n] = true;
    return ++s->count < s->limit;
}

static void a_walk_of_many_files_looks_at_each_once(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(os_make_dirs(dir, "many/inner", &e));
    for (unsigned i = 0; i < MANY; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "many/%s%u", i % 50 ? "" : "inner/", i);
        scoped_fd int fd = openat(dir, name, O_WRONLY | O_CREAT, 0644);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, i % 7), 0);
    }
    struct seen_many all = {.limit = MANY + 1}, some = {.limit = 1500};
    assert_true(os_walk(dir, note_one_of_many, &all, &e));
    assert_int_equal(all.count, MANY);
    assert_false(os_walk(dir, note_one_of_many, &some, &e));
    assert_int_equal(some.count, 1500);
}

static bool stop_at_once(void *arg, const char *name, const struct os_stat *st,
                         struct err *e)
{
    (void)name;
    (void)st;
    (void)e;
    ++*(int *)arg;
    return false;
}

static void a_walk_stops_when_told(void **state)
{
    (void)state;
    struct err e = {0};
    put("a", "x");
    put("b", "x");
    int calls = 0;
    assert_false(os_walk(dir, stop_at_once, &calls, &e));
    assert_int_equal(calls, 1);
    assert_int_equal(e.code, ERR_NONE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_read_back),
        T(a_replaced_file_keeps_its_mode),
        T(a_replaced_file_hands_on_what_is_not_its_bytes),
        T(a_new_file_gets_the_mode_less_the_umask),
        T(creating_never_replaces),
        T(only_the_expected_file_is_replaced),
        T(a_failed_write_leaves_nothing_behind),
        T(names_that_lead_out_are_denied),
        T(odd_names_are_invalid),
        T(links_that_lead_out_are_denied),
        T(writing_over_a_link_replaces_the_link),
        T(inner_links_are_followed_only_without_nofollow),
        T(without_openat2_every_link_is_refused),
        T(reading_a_pipe_or_folder_fails_at_once),
        T(a_file_over_the_ceiling_is_a_limit),
        T(folders_are_made_with_those_on_the_way),
        T(moving_never_replaces),
        T(a_removed_file_is_gone),
        T(a_walk_passes_over_dot_names_links_and_pipes),
        T(a_walk_of_many_files_looks_at_each_once),
        T(a_walk_stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
