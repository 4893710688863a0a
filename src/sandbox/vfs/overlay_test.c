/* Overlays, data beneath the root, and write-only folders. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "os/os.h"
#include "vfs/tree_test.h"

static char root[HOME_SIZE];
static int inside;

static void host(const char *command)
{
    char text[600];
    (void)snprintf(text, sizeof text, "cd %s && %s", root, command);
    assert_int_equal(system(text), 0);
}

static void begin(struct vfs_mount m, uint32_t files)
{
    struct err e = {0};
    v = vfs_new(
        &(struct vfs_quota){.bytes = 1000, .files = files, .open = 8, .written = 1000});
    m.dir = inside;
    if (!(m.at ? vfs_mount(v, &m, &e) : vfs_show(v, inside, &e)))
        fail_msg("%s", e.msg);
}

static int make(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(root))
        return -1;
    host("mkdir -p a/deep b .git .cloche; printf one >f; printf two >a/g; "
         "printf three >a/deep/h; printf x >.git/x; printf y >a/.hidden; ln -s a/g link");
    inside = os_dir_open(root, &e);
    begin((struct vfs_mount){.at = "/vault", .writable = true, .overlay = true}, 30);
    return 0;
}

static int end(void **state)
{
    (void)state;
    assert_int_equal(vfs_usage(v).open, 0);
    vfs_free(v);
    os_close(inside);
    return folder_remove(root);
}

static const char *names(const char *path)
{
    static char text[256];
    struct vfs_file *d = NULL;
    const struct vfs_entry *x;
    int failed = vfs_open(v, NULL, S(path), VFS_READ | VFS_DIRECTORY, &d);
    size_t n = 0;
    for (uint64_t i = 0; !failed && !(failed = vfs_entry(d, i, &x)); i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s ", STR_ARGS(x->name));
    vfs_close(d);
    text[n] = '\0';
    return failed == ENOENT ? text : strerrorname_np(failed);
}

/* All changes in one line: "-a/g +n=text ~f=text +d/ ". */
static const char *changes(void)
{
    static char text[2000];
    const struct vfs_change *all;
    size_t count, n = 0;
    int failed = vfs_changes(v, "/vault", &all, &count);
    if (failed)
        return strerrorname_np(failed);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct vfs_change *c = &all[i];
        bool file = c->type == VFS_FILE && c->what != VFS_REMOVED;
        n += (size_t)snprintf(text + n, sizeof text - n, "%c%.*s%s%s%.*s ",
                              "+~-"[c->what], STR_ARGS(c->path),
                              c->type == VFS_FOLDER ? "/" : "", file ? "=" : "",
                              file ? (int)c->bytes.n : 0, file ? c->bytes.at : "");
        assert_true(c->what == VFS_MADE || c->before.inode != 0);
    }
    return text;
}

/* No guest may change this. */
static void assert_untouched(void)
{
    host(
        "test \"$(find . -type f | sort | xargs -n1 sh -c 'echo $0 $(cat $0)' | tr '\\n' "
        "' ')\" = './.git/x x ./a/.hidden y ./a/deep/h three ./a/g two ./f one '");
    host("test -d b && test -L link");
}

/* ---- overlays ----------------------------------------------------------- */

static void an_overlay_shows_the_hosts_files(void **state)
{
    (void)state;
    struct vfs_stat st;
    assert_string_equal(content("/vault/f"), "one");
    assert_string_equal(content("/vault/link"), "two");
    assert_string_equal(content("/vault/a/../a/deep/h"), "three");
    assert_string_equal(names("/vault"), "a b f link ");
    assert_string_equal(names("/vault/a"), "deep g ");
    assert_int_equal(vfs_stat(v, NULL, S("/vault/.git"), true, &st), ENOENT);
    assert_int_equal(vfs_stat(v, NULL, S("/vault/.cloche"), true, &st), ENOENT);
    assert_int_equal(vfs_stat(v, NULL, S("/vault/none"), true, &st), ENOENT);
    assert_int_equal(vfs_stat(v, NULL, S("/vault/f"), true, &st), 0);
    assert_int_equal(st.size, 3);
    assert_int_equal(st.device, 1);
    assert_string_equal(changes(), "");
    assert_int_equal(vfs_usage(v).bytes, 0);
    assert_int_equal(vfs_usage(v).files, 1); /* the mount's place */
}

static void changes_stay_in_memory_and_are_told(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("/vault/f"), S("changed")), 0);
    assert_int_equal(vfs_put(v, S("/vault/a/new"), S("made")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("/vault/d")), 0);
    assert_int_equal(vfs_put(v, S("/vault/d/x"), S("deep")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/g")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault/b")), 0);
    assert_string_equal(content("/vault/f"), "changed");
    assert_string_equal(content("/vault/a/g"), "ENOENT");
    assert_string_equal(names("/vault"), "a d f link ");
    assert_string_equal(names("/vault/a"), "deep new ");
    assert_string_equal(changes(), "-b/ -a/g +d/ ~f=changed +a/new=made +d/x=deep ");
    assert_untouched();
}

static void a_file_is_copied_when_it_is_first_written(void **state)
{
    (void)state;
    scoped(vfs_close) struct vfs_file *reader = NULL, *writer = NULL;
    char text[16];
    size_t n;
    assert_int_equal(vfs_open(v, NULL, S("/vault/a/g"), VFS_READ, &reader), 0);
    assert_int_equal(vfs_open(v, NULL, S("/vault/a/g"), VFS_READ | VFS_WRITE, &writer),
                     0);
    assert_int_equal(vfs_usage(v).bytes, 0);
    assert_int_equal(vfs_write(writer, VFS_AT_END, "!", 1, &n), 0);
    assert_int_equal(vfs_usage(v).bytes, 4);
    assert_int_equal(vfs_read(reader, 0, text, sizeof text, &n), 0);
    assert_memory_equal(text, "two!", 4); /* it is the same file for all */
    assert_int_equal(vfs_resize(writer, 1), 0);
    assert_string_equal(content("/vault/a/g"), "t");
    assert_string_equal(changes(), "~a/g=t ");
    assert_untouched();
    vfs_close(take(reader));
    vfs_close(take(writer));
}

static void what_is_only_read_or_opened_is_no_change(void **state)
{
    (void)state;
    struct vfs_file *f;
    assert_int_equal(vfs_open(v, NULL, S("/vault/f"), VFS_READ | VFS_WRITE, &f), 0);
    vfs_close(f);
    assert_string_equal(changes(), "");
    assert_int_equal(vfs_set_times(v, NULL, S("/vault/f"), true, 5, 6), 0);
    assert_string_equal(changes(), "~f=one ");
    assert_untouched();
}

static void files_move_with_what_they_hold(void **state)
{
    (void)state;
    assert_int_equal(vfs_rename(v, NULL, S("/vault/f"), NULL, S("/vault/a/g")), 0);
    assert_string_equal(content("/vault/a/g"), "one");
    assert_string_equal(content("/vault/f"), "ENOENT");
    assert_int_equal(vfs_rename(v, NULL, S("/vault/a/g"), NULL, S("/tmp")), EXDEV);
    assert_string_equal(changes(), "-f ~a/g=one ");
    assert_untouched();
}

static void folders_move_with_all_beneath(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("/vault/a/deep/h"), S("3")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/g")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/vault/a"), NULL, S("/vault/b")), 0);
    assert_string_equal(names("/vault/b"), "deep ");
    assert_string_equal(content("/vault/b/deep/h"), "3");
    assert_int_equal(vfs_put(v, S("/vault/a"), S("file now")), 0);
    assert_string_equal(changes(),
                        "-b/ -a/g -a/deep/h -a/deep/ -a/ +a=file now +b/ +b/deep/ "
                        "+b/deep/h=3 ");
    assert_untouched();
}

static void a_folder_that_came_back_has_not_changed(void **state)
{
    (void)state;
    assert_int_equal(vfs_rename(v, NULL, S("/vault/a"), NULL, S("/vault/c")), 0);
    assert_int_equal(vfs_put(v, S("/vault/c/g"), S("2")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/vault/c"), NULL, S("/vault/a")), 0);
    assert_string_equal(content("/vault/a/deep/h"), "three");
    assert_string_equal(changes(), "~a/g=2 ");
    assert_untouched();
}

static void a_name_can_be_removed_and_made_again(void **state)
{
    (void)state;
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/f")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("/vault/f")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault/b")), 0);
    assert_int_equal(vfs_put(v, S("/vault/b"), S("1")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/link")), 0);
    assert_int_equal(vfs_put(v, S("/vault/link"), S("plain")), 0);
    assert_string_equal(changes(), "-link -f -b/ +b=1 +f/ +link=plain ");
    assert_untouched();
}

static void folders_that_hold_something_stay(void **state)
{
    (void)state;
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault/a")), ENOTEMPTY);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/deep/h")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault/a/deep")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/g")), 0);
    assert_string_equal(names("/vault/a"), "");
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault/a")), ENOTEMPTY); /* .hidden */
    assert_int_equal(vfs_rename(v, NULL, S("/vault/b"), NULL, S("/vault/a")), ENOTEMPTY);
    assert_int_equal(vfs_rmdir(v, NULL, S("/vault")), EBUSY);
    assert_int_equal(vfs_rename(v, NULL, S("/vault"), NULL, S("/v")), EBUSY);
    assert_string_equal(changes(), "-a/g -a/deep/h -a/deep/ ");
    assert_untouched();
}

static void links_are_not_made_and_hard_ones_are_copies(void **state)
{
    (void)state;
    assert_int_equal(vfs_symlink(v, S("f"), NULL, S("/vault/l")), EPERM);
    assert_int_equal(vfs_link(v, NULL, S("/vault/f"), NULL, S("/vault/f2")), 0);
    assert_int_equal(vfs_put(v, S("/vault/f2"), S("both")), 0);
    assert_string_equal(content("/vault/f"), "both");
    assert_string_equal(changes(), "~f=both +f2=both ");
    assert_untouched();
}

static void hidden_names_are_neither_seen_nor_made(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("/vault/.new"), S("x")), EACCES);
    assert_int_equal(vfs_put(v, S("/vault/.cloche/x"), S("x")), ENOENT);
    assert_int_equal(vfs_mkdir(v, NULL, S("/vault/a/.d")), EACCES);
    assert_int_equal(vfs_rename(v, NULL, S("/vault/f"), NULL, S("/vault/.f")), EACCES);
    assert_string_equal(changes(), "");
}

static void an_overlay_has_quotas(void **state)
{
    (void)state;
    struct vfs_file *f;
    size_t n;
    host("head -c 2000 /dev/zero >big");
    assert_int_equal(vfs_open(v, NULL, S("/vault/big"), VFS_READ | VFS_WRITE, &f), 0);
    assert_int_equal(vfs_write(f, 0, "x", 1, &n), ENOSPC); /* no room for the copy */
    assert_int_equal(vfs_resize(f, 0), 0);
    assert_int_equal(vfs_write(f, 0, "x", 1, &n), 0);
    vfs_close(f);
    vfs_free(v);
    begin((struct vfs_mount){.at = "/vault", .writable = true, .overlay = true}, 2);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/f")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/g")), ENOSPC);
    assert_int_equal(vfs_put(v, S("/vault/a/g"), S("")), ENOSPC);
    assert_int_equal(vfs_put(v, S("/vault/n"), S("")), ENOSPC);
    assert_string_equal(content("/vault/a/g"), "two");
    assert_string_equal(changes(), "-f ");
}

static void others_may_change_the_folder_meanwhile(void **state)
{
    (void)state;
    scoped(vfs_close) struct vfs_file *f = NULL;
    size_t n;
    assert_int_equal(vfs_open(v, NULL, S("/vault/a/g"), VFS_READ | VFS_WRITE, &f), 0);
    host("rm -r a && ln -s /etc a");
    assert_int_equal(vfs_write(f, 0, "x", 1, &n), ELOOP); /* its contents are gone */
    char text[8];
    assert_int_equal(vfs_read(f, 0, text, sizeof text, &n), 0);
    assert_int_equal(n, 3);
    vfs_close(take(f));
    assert_string_equal(content("/vault/a/passwd"), "ENOENT"); /* the guest's own /etc */
    assert_string_equal(changes(), "");
}

static void an_overlay_may_be_read_only(void **state)
{
    (void)state;
    vfs_free(v);
    begin((struct vfs_mount){.at = "/vault", .overlay = true}, 30);
    struct vfs_file *f;
    assert_string_equal(content("/vault/f"), "one");
    assert_int_equal(vfs_open(v, NULL, S("/vault/f"), VFS_WRITE, &f), EROFS);
    assert_int_equal(vfs_put(v, S("/vault/n"), S("x")), EROFS);
    assert_int_equal(vfs_mkdir(v, NULL, S("/vault/n")), EROFS);
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/f")), EROFS);
    assert_int_equal(vfs_rename(v, NULL, S("/vault/f"), NULL, S("/vault/g")), EROFS);
    assert_int_equal(vfs_set_times(v, NULL, S("/vault/f"), true, 0, 0), EROFS);
}

/* ---- only to be written to ---------------------------------------------- */

static void assert_write_only(void)
{
    struct vfs_file *f;
    assert_string_equal(content("/vault/f"), "EACCES");
    assert_string_equal(names("/vault"), "EACCES");
    assert_int_equal(vfs_open(v, NULL, S("/vault/f"), VFS_READ | VFS_WRITE, &f), EACCES);
    assert_int_equal(
        vfs_open(v, NULL, S("/vault/n"), VFS_READ | VFS_WRITE | VFS_CREATE, &f), 0);
    size_t n;
    char text[8];
    assert_int_equal(vfs_write(f, 0, "new", 3, &n), 0);
    assert_int_equal(vfs_read(f, 0, text, sizeof text, &n), 0);
    assert_int_equal(n, 3);
    vfs_close(f);
    assert_int_equal(vfs_open(v, NULL, S("/vault/f"), VFS_WRITE, &f), 0);
    assert_int_equal(vfs_write(f, VFS_AT_END, "+", 1, &n), 0);
    assert_int_equal(vfs_read(f, 0, text, sizeof text, &n), EBADF);
    vfs_close(f);
    assert_string_equal(content("/vault/f"), "EACCES"); /* still has its contents */
    assert_int_equal(vfs_unlink(v, NULL, S("/vault/a/g")), 0);
}

static void what_is_there_cannot_be_read_where_only_writing_is_allowed(void **state)
{
    (void)state;
    vfs_free(v);
    begin(
        (struct vfs_mount){
            .at = "/vault", .writable = true, .write_only = true, .overlay = true},
        30);
    assert_write_only();
    assert_string_equal(content("/vault/n"), "new");
    assert_int_equal(vfs_rename(v, NULL, S("/vault/f"), NULL, S("/vault/n")), 0);
    assert_string_equal(content("/vault/n"), "EACCES");
    assert_int_equal(vfs_link(v, NULL, S("/vault/a/deep/h"), NULL, S("/vault/h")), 0);
    assert_string_equal(content("/vault/h"), "EACCES");
    struct vfs_file *f;
    assert_int_equal(
        vfs_open(v, NULL, S("/vault/n"), VFS_READ | VFS_WRITE | VFS_TRUNCATE, &f), 0);
    vfs_close(f);
    assert_string_equal(content("/vault/n"), ""); /* truncated */
    assert_untouched();
}

static void nor_on_the_host_itself(void **state)
{
    (void)state;
    vfs_free(v);
    begin((struct vfs_mount){.at = "/vault", .writable = true, .write_only = true}, 30);
    assert_write_only();
    host("test \"$(cat f n)\" = one+new");
}

/* ---- data beneath the root ---------------------------------------------- */

static void data_is_shown_beneath_all_else(void **state)
{
    (void)state;
    struct err e = {0};
    vfs_free(v);
    begin((struct vfs_mount){0}, 10);
    assert_int_equal(vfs_mkdir(v, NULL, S("/work")), 0);
    assert_int_equal(vfs_put(v, S("/work/x"), S("mine")), 0);
    struct vfs_mount m = {.at = "/a/vault", .dir = inside, .writable = true};
    assert_true(vfs_mount(v, &m, &e));
    assert_string_equal(names("/"), ".git a b f link work ");
    assert_string_equal(content("/a/deep/h"), "three");
    assert_string_equal(content("/a/vault/f"), "one");
    assert_string_equal(content("/a/.hidden"), "y");
    assert_string_equal(content("/link"), "two");
    assert_string_equal(names("/a"), ".hidden deep g vault ");
    assert_int_equal(vfs_usage(v).files, 3);
    assert_false(vfs_show(v, inside, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    m.at = "/a/deep";
    e = (struct err){0};
    assert_false(vfs_mount(v, &m, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

static void data_cannot_be_changed(void **state)
{
    (void)state;
    vfs_free(v);
    begin((struct vfs_mount){0}, 10);
    struct vfs_file *f;
    assert_int_equal(vfs_put(v, S("/f"), S("x")), EROFS);
    assert_int_equal(vfs_put(v, S("/a/new"), S("x")), EROFS);
    assert_int_equal(vfs_open(v, NULL, S("/f"), VFS_WRITE, &f), EROFS);
    assert_int_equal(vfs_unlink(v, NULL, S("/f")), EROFS);
    assert_int_equal(vfs_rmdir(v, NULL, S("/b")), EROFS);
    assert_int_equal(vfs_rename(v, NULL, S("/f"), NULL, S("/g")), EROFS);
    assert_int_equal(vfs_put(v, S("/mine"), S("x")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/mine"), NULL, S("/f")), EROFS);
    assert_int_equal(vfs_link(v, NULL, S("/f"), NULL, S("/g")), EROFS);
    assert_int_equal(vfs_set_times(v, NULL, S("/f"), true, 0, 0), EROFS);
    assert_int_equal(vfs_symlink(v, S("x"), NULL, S("/a/l")), EROFS);
    assert_int_equal(vfs_symlink(v, S("mine"), NULL, S("/l")), 0);
    assert_string_equal(content("/l"), "x");
    assert_untouched();
}

static void there_are_no_changes_of_what_is_no_overlay(void **state)
{
    (void)state;
    const struct vfs_change *all;
    size_t n;
    assert_int_equal(vfs_changes(v, "/", &all, &n), ENOENT);
    assert_int_equal(vfs_changes(v, "/vault/a", &all, &n), ENOENT);
    assert_int_equal(vfs_changes(v, "/none", &all, &n), ENOENT);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make, end)
    const struct CMUnitTest tests[] = {
        T(an_overlay_shows_the_hosts_files),
        T(changes_stay_in_memory_and_are_told),
        T(a_file_is_copied_when_it_is_first_written),
        T(what_is_only_read_or_opened_is_no_change),
        T(files_move_with_what_they_hold),
        T(folders_move_with_all_beneath),
        T(a_folder_that_came_back_has_not_changed),
        T(a_name_can_be_removed_and_made_again),
        T(folders_that_hold_something_stay),
        T(links_are_not_made_and_hard_ones_are_copies),
        T(hidden_names_are_neither_seen_nor_made),
        T(an_overlay_has_quotas),
        T(others_may_change_the_folder_meanwhile),
        T(an_overlay_may_be_read_only),
        T(what_is_there_cannot_be_read_where_only_writing_is_allowed),
        T(nor_on_the_host_itself),
        T(data_is_shown_beneath_all_else),
        T(data_cannot_be_changed),
        T(there_are_no_changes_of_what_is_no_overlay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
