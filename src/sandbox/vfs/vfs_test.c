/* The tree in memory: paths, links, quotas, and unlinked files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "vfs/internal.h"
#include "vfs/tree_test.h"

static int make(void **state)
{
    (void)state;
    v = vfs_new(&(struct vfs_quota){.bytes = 1000, .files = 20, .open = 4});
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_int_equal(vfs_usage(v).open, 0);
    vfs_free(v);
    return 0;
}

static enum vfs_type type_at(const char *path)
{
    struct vfs_stat st;
    assert_int_equal(vfs_stat(v, NULL, S(path), false, &st), 0);
    return st.type;
}

static int look(const char *path)
{
    struct vfs_stat st;
    return vfs_stat(v, NULL, S(path), true, &st);
}

static struct vfs_file *opened(struct vfs_file *base, const char *path, unsigned how)
{
    struct vfs_file *f = NULL;
    assert_int_equal(vfs_open(v, base, S(path), how, &f), 0);
    return f;
}

static int open_fails(const char *path, unsigned how)
{
    struct vfs_file *f = NULL;
    return vfs_open(v, NULL, S(path), how, &f);
}

/* ---- files and folders -------------------------------------------------- */

static void what_is_written_is_read(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("/a")), 0);
    assert_int_equal(vfs_put(v, S("/a/b"), S("hello")), 0);
    assert_string_equal(content("a/./b"), "hello");
    assert_int_equal(vfs_put(v, S("/a/b"), S("")), 0);
    assert_string_equal(content("/a//b"), "");
    assert_int_equal(vfs_usage(v).bytes, 0);
}

static void a_write_behind_the_end_leaves_zeros(void **state)
{
    (void)state;
    scoped(vfs_close) struct vfs_file *f =
        opened(NULL, "f", VFS_CREATE | VFS_WRITE | VFS_READ);
    size_t n;
    char bytes[8] = "xxxxxxx";
    assert_int_equal(vfs_write(f, 4, "yz", 2, &n), 0);
    assert_int_equal(vfs_write(f, VFS_AT_END, "!", 1, &n), 0);
    assert_int_equal(vfs_read(f, 0, bytes, 8, &n), 0);
    assert_int_equal(n, 7);
    assert_memory_equal(bytes, "\0\0\0\0yz!", 7);
    assert_int_equal(vfs_resize(f, 5), 0);
    assert_int_equal(vfs_resize(f, 7), 0);
    assert_int_equal(vfs_read(f, 4, bytes, 8, &n), 0);
    assert_memory_equal(bytes, "y\0\0", 3); /* bytes that were cut off do not return */
    assert_int_equal(vfs_read(f, UINT64_MAX, bytes, 8, &n), 0);
    assert_int_equal(n, 0);
}

static void an_offset_that_overflows_is_refused(void **state)
{
    (void)state;
    scoped(vfs_close) struct vfs_file *f = opened(NULL, "f", VFS_CREATE | VFS_WRITE);
    size_t n = 7;
    assert_int_equal(vfs_write(f, UINT64_MAX - 1, "abc", 3, &n), EFBIG);
    assert_int_equal(n, 0);
    assert_int_equal(vfs_write(f, INT64_MAX, "abc", 3, &n), ENOSPC);
    assert_int_equal(vfs_resize(f, UINT64_MAX), ENOSPC);
    assert_int_equal(vfs_usage(v).bytes, 0);
}

static void a_file_opens_only_for_what_was_asked(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("f"), S("x")), 0);
    scoped(vfs_close) struct vfs_file *r = opened(NULL, "f", VFS_READ);
    scoped(vfs_close) struct vfs_file *w = opened(NULL, "f", VFS_WRITE);
    size_t n;
    char c;
    assert_int_equal(vfs_write(r, 0, "y", 1, &n), EBADF);
    assert_int_equal(vfs_resize(r, 0), EBADF);
    assert_int_equal(vfs_read(w, 0, &c, 1, &n), EBADF);
    assert_int_equal(open_fails("f", VFS_READ | VFS_TRUNCATE), EINVAL);
    assert_string_equal(content("f"), "x");
}

static void opening_says_why_not(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_put(v, S("f"), S("")), 0);
    assert_int_equal(vfs_symlink(v, S("f"), NULL, S("l")), 0);
    assert_int_equal(open_fails("none", VFS_READ), ENOENT);
    assert_int_equal(open_fails("", VFS_READ), ENOENT);
    assert_int_equal(open_fails("f/x", VFS_READ), ENOTDIR);
    assert_int_equal(open_fails("f/", VFS_READ), ENOTDIR);
    assert_int_equal(open_fails("new/", VFS_WRITE | VFS_CREATE), EISDIR);
    assert_int_equal(open_fails("d", VFS_WRITE), EISDIR);
    assert_int_equal(open_fails("/", VFS_WRITE), EISDIR);
    assert_int_equal(open_fails("f", VFS_READ | VFS_DIRECTORY), ENOTDIR);
    assert_int_equal(open_fails("f", VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE), EEXIST);
    assert_int_equal(open_fails("l", VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE), EEXIST);
    assert_int_equal(open_fails("l", VFS_READ | VFS_NOFOLLOW), ELOOP);
    struct vfs_file *f;
    assert_int_equal(vfs_open(v, NULL, (struct str){"a\0b", 3}, VFS_READ, &f), EINVAL);
}

static void folders_are_listed_by_name(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_put(v, S("d/z"), S("")), 0);
    assert_int_equal(vfs_put(v, S("d/a"), S("")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("d/m")), 0);
    scoped(vfs_close) struct vfs_file *d = opened(NULL, "d", VFS_READ);
    const struct vfs_entry *x;
    assert_int_equal(vfs_entry(d, 0, &x), 0);
    assert_true(str_is(x->name, "a"));
    assert_int_equal(vfs_unlink(v, NULL, S("d/a")), 0); /* the list stays as it was */
    assert_int_equal(vfs_entry(d, 1, &x), 0);
    assert_true(str_is(x->name, "m") && x->type == VFS_FOLDER);
    assert_int_equal(vfs_entry(d, 2, &x), 0);
    assert_true(str_is(x->name, "z"));
    assert_int_equal(vfs_entry(d, 3, &x), ENOENT);
    assert_int_equal(vfs_entry(d, UINT64_MAX, &x), ENOENT);
    assert_int_equal(vfs_entry(d, 0, &x), 0); /* and is rebuilt from the start */
    assert_true(str_is(x->name, "m"));
}

static void removing_says_why_not(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_put(v, S("d/f"), S("")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("d")), ENOTEMPTY);
    assert_int_equal(vfs_unlink(v, NULL, S("d")), EISDIR);
    assert_int_equal(vfs_rmdir(v, NULL, S("d/f")), ENOTDIR);
    assert_int_equal(vfs_rmdir(v, NULL, S("/")), EBUSY);
    assert_int_equal(vfs_rmdir(v, NULL, S("d/..")), EBUSY);
    assert_int_equal(vfs_unlink(v, NULL, S("d/g")), ENOENT);
    assert_int_equal(vfs_unlink(v, NULL, S("d/f")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("d/")), 0);
    assert_int_equal(look("d"), ENOENT);
    assert_int_equal(vfs_mkdir(v, NULL, S("/")), EEXIST);
    assert_int_equal(vfs_mkdir(v, NULL, S("x/y")), ENOENT);
    assert_int_equal(vfs_usage(v).files, 0);
}

/* ---- paths -------------------------------------------------------------- */

static void dots_go_up_and_stop_at_the_root(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("a")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("a/b")), 0);
    assert_int_equal(vfs_put(v, S("f"), S("top")), 0);
    assert_string_equal(content("/a/b/../../f"), "top");
    assert_string_equal(content("../../../../f"), "top");
    assert_int_equal(look("/a/none/../../f"), ENOENT);
    assert_int_equal(look("f/.."), ENOTDIR);
}

static void a_base_cannot_be_left(void **state)
{
    (void)state;
    struct vfs_stat st;
    assert_int_equal(vfs_mkdir(v, NULL, S("a")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("a/b")), 0);
    assert_int_equal(vfs_put(v, S("secret"), S("s")), 0);
    assert_int_equal(vfs_symlink(v, S("/secret"), NULL, S("a/out")), 0);
    assert_int_equal(vfs_symlink(v, S("../secret"), NULL, S("a/up")), 0);
    scoped(vfs_close) struct vfs_file *a = opened(NULL, "a", VFS_READ);
    assert_int_equal(vfs_stat(v, a, S("b/.."), true, &st), 0);
    assert_int_equal(vfs_stat(v, a, S(".."), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, a, S("b/../../secret"), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, a, S("/secret"), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, a, S("out"), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, a, S("up"), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, a, S("up"), false, &st), 0);
    assert_int_equal(vfs_rename(v, a, S("b"), a, S("../c")), EPERM);
    assert_int_equal(vfs_link(v, a, S("../secret"), a, S("s")), EPERM);
}

static void links_are_followed_up_to_a_number(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("f"), S("x")), 0);
    assert_int_equal(vfs_symlink(v, S("me"), NULL, S("me")), 0);
    assert_int_equal(vfs_symlink(v, S("/f"), NULL, S("l")), 0);
    assert_int_equal(vfs_symlink(v, S("/"), NULL, S("root")), 0);
    assert_int_equal(look("me"), ELOOP);
    assert_int_equal(look("me/x"), ELOOP);
    assert_string_equal(content("root/root/root/l"), "x");
    assert_int_equal(type_at("l"), VFS_LINK);
    assert_int_equal(look("l/"), ENOTDIR);
    char target[4];
    size_t n;
    assert_int_equal(vfs_readlink(v, NULL, S("root"), target, 4, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(vfs_readlink(v, NULL, S("f"), target, 4, &n), EINVAL);
    assert_int_equal(vfs_readlink(v, NULL, S("l"), target, 0, &n), 0);
    assert_int_equal(n, 0);
}

static void a_link_to_nothing_makes_its_target(void **state)
{
    (void)state;
    assert_int_equal(vfs_symlink(v, S("new"), NULL, S("l")), 0);
    assert_int_equal(look("l"), ENOENT);
    assert_int_equal(vfs_put(v, S("l"), S("made")), 0);
    assert_string_equal(content("new"), "made");
    assert_int_equal(type_at("l"), VFS_LINK);
}

static void long_names_and_paths_are_refused(void **state)
{
    (void)state;
    char path[VFS_PATH_MAX + 2];
    memset(path, 'a', sizeof path);
    assert_int_equal(vfs_mkdir(v, NULL, (struct str){path, VFS_NAME_MAX + 1}),
                     ENAMETOOLONG);
    assert_int_equal(vfs_mkdir(v, NULL, (struct str){path, VFS_NAME_MAX}), 0);
    for (size_t i = 1; i < sizeof path; i += 2)
        path[i] = '/';
    assert_int_equal(vfs_mkdir(v, NULL, (struct str){path, VFS_PATH_MAX}), ENAMETOOLONG);
    /* Links that make the rest of the path longer than the limit. */
    memset(path, '.', sizeof path);
    for (size_t i = 1; i < sizeof path; i += 2)
        path[i] = '/';
    assert_int_equal(vfs_symlink(v, (struct str){path, 900}, NULL, S("l")), 0);
    for (size_t i = 0; i < VFS_PATH_MAX - 1; i += 2)
        path[i] = 'l';
    assert_int_equal(look("l/l/l"), 0);
    struct vfs_stat st;
    assert_int_equal(vfs_stat(v, NULL, (struct str){path, VFS_PATH_MAX - 1}, true, &st),
                     ENAMETOOLONG);
}

static void folders_as_deep_as_can_be_go_away(void **state)
{
    (void)state;
    vfs_free(v);
    v = vfs_new(&(struct vfs_quota){.files = 100000, .open = 2});
    struct vfs_file *at = NULL;
    for (int i = 0; i < 90000; i++) {
        struct vfs_file *next;
        assert_int_equal(vfs_mkdir(v, at, S("d")), 0);
        assert_int_equal(vfs_open(v, at, S("d"), VFS_READ, &next), 0);
        vfs_close(at);
        at = next;
    }
    vfs_close(at);
    vfs_free(take(v));
    (void)make(NULL);
}

/* ---- moving ------------------------------------------------------------- */

static void a_rename_replaces_as_posix_says(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("f"), S("f")), 0);
    assert_int_equal(vfs_put(v, S("g"), S("g")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("d/e")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("empty")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("f"), NULL, S("g")), 0);
    assert_string_equal(content("g"), "f");
    assert_int_equal(look("f"), ENOENT);
    assert_int_equal(vfs_rename(v, NULL, S("g"), NULL, S("d")), EISDIR);
    assert_int_equal(vfs_rename(v, NULL, S("d"), NULL, S("g")), ENOTDIR);
    assert_int_equal(vfs_rename(v, NULL, S("empty"), NULL, S("d")), ENOTEMPTY);
    assert_int_equal(vfs_rename(v, NULL, S("d"), NULL, S("d/e/x")), EINVAL);
    assert_int_equal(vfs_rename(v, NULL, S("d"), NULL, S("d")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/"), NULL, S("d/r")), EBUSY);
    assert_int_equal(vfs_rename(v, NULL, S("g"), NULL, S("h/")), ENOTDIR);
    assert_int_equal(vfs_rename(v, NULL, S("d"), NULL, S("empty")), 0);
    assert_int_equal(type_at("empty/e"), VFS_FOLDER);
    assert_int_equal(vfs_rename(v, NULL, S("empty/e"), NULL, S("e")), 0);
    assert_int_equal(look("e/../g"), 0);
}

static void hard_links_share_one_file(void **state)
{
    (void)state;
    struct vfs_stat st;
    assert_int_equal(vfs_put(v, S("f"), S("one")), 0);
    assert_int_equal(vfs_link(v, NULL, S("f"), NULL, S("g")), 0);
    assert_int_equal(vfs_put(v, S("g"), S("two")), 0);
    assert_string_equal(content("f"), "two");
    assert_int_equal(vfs_stat(v, NULL, S("f"), false, &st), 0);
    assert_int_equal(st.links, 2);
    assert_int_equal(vfs_rename(v, NULL, S("f"), NULL, S("g")), 0);
    assert_int_equal(look("f"), 0); /* the same file: nothing to be done */
    assert_int_equal(vfs_unlink(v, NULL, S("f")), 0);
    assert_string_equal(content("g"), "two");
    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_link(v, NULL, S("d"), NULL, S("e")), EPERM);
    assert_int_equal(vfs_link(v, NULL, S("g"), NULL, S("d")), EEXIST);
}

static void what_is_open_outlives_its_name(void **state)
{
    (void)state;
    size_t n;
    char c;
    assert_int_equal(vfs_put(v, S("f"), S("x")), 0);
    struct vfs_file *f = opened(NULL, "f", VFS_READ);
    assert_int_equal(vfs_unlink(v, NULL, S("f")), 0);
    assert_int_equal(vfs_read(f, 0, &c, 1, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(vfs_usage(v).bytes, 1);
    vfs_close(f);
    assert_int_equal(vfs_usage(v).bytes, 0);

    assert_int_equal(vfs_mkdir(v, NULL, S("d")), 0);
    scoped(vfs_close) struct vfs_file *d = opened(NULL, "d", VFS_READ);
    assert_int_equal(vfs_rmdir(v, NULL, S("d")), 0);
    assert_int_equal(vfs_mkdir(v, d, S("x")), ENOENT);
    struct vfs_file *in;
    assert_int_equal(vfs_open(v, d, S("x"), VFS_WRITE | VFS_CREATE, &in), ENOENT);
    const struct vfs_entry *x;
    assert_int_equal(vfs_entry(d, 0, &x), ENOENT);
}

/* ---- limits ------------------------------------------------------------- */

static void all_trees_together_have_a_quota(void **state)
{
    (void)state;
    char big[1000] = {0};
    vfs_limit_all(1500);
    struct vfs *other =
        vfs_new(&(struct vfs_quota){.bytes = 1000, .files = 20, .open = 4});
    assert_int_equal(vfs_put(v, S("f"), (struct str){big, 1000}), 0);
    assert_int_equal(vfs_put(other, S("f"), (struct str){big, 501}), ENOSPC);
    assert_int_equal(vfs_put(other, S("g"), (struct str){big, 500}), 0);
    assert_int_equal(vfs_put(other, S("g"), (struct str){big, 501}), ENOSPC);
    assert_int_equal(vfs_unlink(v, NULL, S("f")), 0); /* unlinking frees room */
    assert_int_equal(vfs_put(other, S("g"), (struct str){big, 1000}), 0);
    vfs_free(other);
    assert_int_equal(vfs_put(v, S("f"), (struct str){big, 1000}), 0);
    vfs_limit_all(VFS_ALL_BYTES);
}

static void bytes_have_a_quota(void **state)
{
    (void)state;
    char big[1001] = {0};
    size_t n;
    assert_int_equal(vfs_put(v, S("f"), (struct str){big, 1000}), 0);
    scoped(vfs_close) struct vfs_file *f = opened(NULL, "f", VFS_WRITE);
    assert_int_equal(vfs_write(f, VFS_AT_END, "x", 1, &n), ENOSPC);
    assert_int_equal(vfs_put(v, S("g"), S("x")), ENOSPC);
    assert_int_equal(look("g"), ENOENT); /* all or nothing */
    assert_int_equal(vfs_put(v, S("f"), (struct str){big, 1001}), ENOSPC);
    assert_int_equal(vfs_usage(v).bytes, 1000);
    assert_int_equal(vfs_symlink(v, S("f"), NULL, S("l")), ENOSPC);
    assert_int_equal(vfs_resize(f, 999), 0);
    assert_int_equal(vfs_put(v, S("g"), S("x")), 0);
}

static void files_have_a_quota(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "d%d", i);
        assert_int_equal(vfs_mkdir(v, NULL, S(name)), 0);
    }
    assert_int_equal(vfs_mkdir(v, NULL, S("one")), ENOSPC);
    assert_int_equal(vfs_put(v, S("one"), S("")), ENOSPC);
    assert_int_equal(vfs_symlink(v, S("x"), NULL, S("one")), ENOSPC);
    assert_int_equal(vfs_rmdir(v, NULL, S("d3")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("one")), 0);
}

static void open_files_have_a_quota(void **state)
{
    (void)state;
    struct vfs_file *f[4];
    for (int i = 0; i < 4; i++)
        f[i] = opened(NULL, "/", VFS_READ);
    assert_int_equal(open_fails("/", VFS_READ), EMFILE);
    vfs_close(f[0]);
    f[0] = opened(NULL, "f", VFS_WRITE | VFS_CREATE);
    for (int i = 0; i < 4; i++)
        vfs_close(f[i]);
}

static void times_are_kept(void **state)
{
    (void)state;
    struct vfs_stat st;
    assert_int_equal(vfs_put(v, S("f"), S("x")), 0);
    assert_int_equal(vfs_set_times(v, NULL, S("f"), true, 5, VFS_TIME_KEEP), 0);
    assert_int_equal(vfs_stat(v, NULL, S("f"), true, &st), 0);
    assert_int_equal(st.accessed_ns, 5);
    assert_true(st.modified_ns > 5);
}

static void a_whole_file_fits_or_is_refused(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("f"), S("12345")), 0);
    scoped_buf struct buf b;
    buf_init(&b, 4);
    assert_int_equal(vfs_get(v, S("f"), &b), EFBIG);
    buf_done(&b);
    buf_init(&b, 6);
    buf_char(&b, '0');
    assert_int_equal(vfs_get(v, S("f"), &b), 0);
    assert_true(str_is(buf_view(&b), "012345"));
    assert_int_equal(vfs_get(v, S("/"), &b), EISDIR);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make, end)
    const struct CMUnitTest tests[] = {
        T(what_is_written_is_read),
        T(a_write_behind_the_end_leaves_zeros),
        T(an_offset_that_overflows_is_refused),
        T(a_file_opens_only_for_what_was_asked),
        T(opening_says_why_not),
        T(folders_are_listed_by_name),
        T(removing_says_why_not),
        T(dots_go_up_and_stop_at_the_root),
        T(a_base_cannot_be_left),
        T(links_are_followed_up_to_a_number),
        T(a_link_to_nothing_makes_its_target),
        T(long_names_and_paths_are_refused),
        T(folders_as_deep_as_can_be_go_away),
        T(a_rename_replaces_as_posix_says),
        T(hard_links_share_one_file),
        T(what_is_open_outlives_its_name),
        T(all_trees_together_have_a_quota),
        T(bytes_have_a_quota),
        T(files_have_a_quota),
        T(open_files_have_a_quota),
        T(times_are_kept),
        T(a_whole_file_fits_or_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
