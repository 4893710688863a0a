/* Folders of the host in the tree: no path leaves them, whatever guest and host do. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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

static void host(const char *format, const char *name)
{
    char command[512], text[400];
    (void)snprintf(text, sizeof text, format, name);
    (void)snprintf(command, sizeof command, "cd %s && %s", root, text);
    assert_int_equal(system(command), 0);
}

static int make(void **state)
{
    (void)state;
    struct err e = {0};
    if (!folder_make(root))
        return -1;
    host("mkdir in in/%s && echo -n secret > out", "sub");
    host("echo -n text > in/%s", "f");
    char path[80];
    (void)snprintf(path, sizeof path, "%s/in", root);
    inside = os_dir_open(path, &e);
    v = vfs_new(
        &(struct vfs_quota){.bytes = 1000, .files = 30, .open = 8, .written = 1000});
    bool ok =
        vfs_mount(v, &(struct vfs_mount){.at = "/rw", .dir = inside, .writable = true},
                  &e) &&
        vfs_mount(v, &(struct vfs_mount){.at = "/deep/ro", .dir = inside}, &e) &&
        vfs_mount(v, &(struct vfs_mount){.at = "/dots", .dir = inside, .dots = true}, &e);
    return ok ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    vfs_free(v);
    os_close(inside);
    return folder_remove(root);
}

static int look(const char *path)
{
    struct vfs_stat st;
    return vfs_stat(v, NULL, S(path), true, &st);
}

static void a_mount_shows_the_hosts_files(void **state)
{
    (void)state;
    struct vfs_stat st;
    assert_string_equal(content("/rw/f"), "text");
    assert_string_equal(content("/deep/ro/sub/../f"), "text");
    assert_string_equal(content("/rw/../deep/ro/f"), "text");
    assert_int_equal(vfs_stat(v, NULL, S("/rw"), false, &st), 0);
    assert_int_equal(st.type, VFS_FOLDER);
    assert_int_equal(st.device, 1);
    assert_string_equal(content("/rw/../../../f"), "ENOENT");
}

/* Also where nothing follows the dots. */
static void what_is_above_a_mount_is_the_tree(void **state)
{
    (void)state;
    struct vfs_stat top, deep, st;
    assert_int_equal(vfs_stat(v, NULL, S("/"), true, &top), 0);
    assert_int_equal(vfs_stat(v, NULL, S("/deep"), true, &deep), 0);
    assert_int_equal(vfs_stat(v, NULL, S("/rw/.."), true, &st), 0);
    assert_int_equal(st.inode, top.inode);
    assert_int_equal(vfs_stat(v, NULL, S("/deep/ro/sub/../.."), true, &st), 0);
    assert_int_equal(st.inode, deep.inode);
    assert_int_equal(vfs_stat(v, NULL, S("/rw/."), true, &st), 0);
    assert_int_equal(st.device, 1);
    struct vfs_file *f;
    const struct vfs_entry *entry;
    assert_int_equal(vfs_open(v, NULL, S("/rw/.."), VFS_READ | VFS_DIRECTORY, &f), 0);
    bool seen = false;
    for (uint64_t i = 0; !vfs_entry(f, i, &entry); i++)
        seen |= str_is(entry->name, "deep");
    assert_true(seen);
    vfs_close(f);
}

static void what_is_written_lands_on_the_host(void **state)
{
    (void)state;
    assert_int_equal(vfs_mkdir(v, NULL, S("/rw/d")), 0);
    assert_int_equal(vfs_put(v, S("/rw/d/x"), S("one")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/rw/d/x"), NULL, S("/rw/y")), 0);
    host("test \"$(cat in/%s)\" = one", "y");
    assert_int_equal(vfs_rmdir(v, NULL, S("/rw/d")), 0);
    assert_int_equal(vfs_link(v, NULL, S("/rw/y"), NULL, S("/rw/z")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/rw/y")), 0);
    host("test ! -e in/%s", "y");
    assert_int_equal(vfs_set_times(v, NULL, S("/rw/z"), true, 0, -1500000000), 0);
    struct vfs_stat st;
    assert_int_equal(vfs_stat(v, NULL, S("/rw/z"), true, &st), 0);
    assert_int_equal(st.modified_ns, -1500000000);
    struct vfs_file *f;
    assert_int_equal(vfs_open(v, NULL, S("/rw/z"), VFS_WRITE | VFS_TRUNCATE, &f), 0);
    size_t n;
    assert_int_equal(vfs_write(f, VFS_AT_END, "ab", 2, &n), 0);
    assert_int_equal(vfs_write(f, VFS_AT_END, "c", 1, &n), 0);
    assert_int_equal(vfs_sync(f), 0);
    vfs_close(f);
    assert_string_equal(content("/rw/z"), "abc");
}

static void a_mount_that_is_read_only_stays_as_it_is(void **state)
{
    (void)state;
    struct vfs_file *f;
    assert_int_equal(vfs_put(v, S("/deep/ro/f"), S("x")), EROFS);
    assert_int_equal(vfs_put(v, S("/deep/ro/new"), S("x")), EROFS);
    assert_int_equal(vfs_open(v, NULL, S("/deep/ro/f"), VFS_WRITE, &f), EROFS);
    assert_int_equal(vfs_open(v, NULL, S("/deep/ro/f"), VFS_READ | VFS_TRUNCATE, &f),
                     EROFS);
    assert_int_equal(vfs_mkdir(v, NULL, S("/deep/ro/d")), EROFS);
    assert_int_equal(vfs_rmdir(v, NULL, S("/deep/ro/sub")), EROFS);
    assert_int_equal(vfs_unlink(v, NULL, S("/deep/ro/f")), EROFS);
    assert_int_equal(vfs_rename(v, NULL, S("/deep/ro/f"), NULL, S("/rw/g")), EROFS);
    assert_int_equal(vfs_rename(v, NULL, S("/rw/f"), NULL, S("/deep/ro/g")), EROFS);
    assert_int_equal(vfs_link(v, NULL, S("/rw/f"), NULL, S("/deep/ro/g")), EROFS);
    assert_int_equal(vfs_link(v, NULL, S("/deep/ro/f"), NULL, S("/rw/g")), EXDEV);
    assert_int_equal(vfs_set_times(v, NULL, S("/deep/ro/f"), true, 0, 0), EROFS);
    assert_int_equal(vfs_open(v, NULL, S("/deep/ro/f"), VFS_READ, &f), 0);
    assert_int_equal(vfs_set_times_of(f, 0, 0), EROFS);
    vfs_close(f);
    host("test \"$(ls in | tr '\\n' ' ')\" = '%s sub '", "f");
}

/* Links on the host are followed within the guest's own tree. */
static void links_of_the_host_never_lead_out(void **state)
{
    (void)state;
    host("ln -s ../%s in/up", "out");
    host("ln -s /etc/%s in/passwd", "passwd");
    host("ln -s .. in/%s", "parent");
    host("ln -s / in/sub/%s", "rootlink");
    host("ln -s f in/%s", "good");
    assert_string_equal(content("/rw/up"), "ENOENT");
    assert_string_equal(content("/rw/passwd"), "ENOENT");
    assert_string_equal(content("/rw/parent/out"), "ENOENT");
    assert_string_equal(content("/rw/sub/rootlink/etc/passwd"), "ENOENT");
    assert_string_equal(content("/rw/sub/rootlink/rw/f"), "text"); /* the guest's root */
    assert_string_equal(content("/rw/good"), "text");
    struct vfs_file *f;
    assert_int_equal(vfs_put(v, S("/rw/up"), S("x")), 0); /* makes /out in memory */
    host("test \"$(cat %s)\" = secret", "out");
    assert_string_equal(content("/out"), "x");
    assert_int_equal(vfs_open(v, NULL, S("/rw/good"), VFS_READ | VFS_NOFOLLOW, &f),
                     ELOOP);
    assert_int_equal(vfs_symlink(v, S("f"), NULL, S("/rw/l")), EPERM);
}

static void a_base_on_the_host_cannot_be_left(void **state)
{
    (void)state;
    struct vfs_stat st;
    scoped(vfs_close) struct vfs_file *sub = NULL;
    assert_int_equal(vfs_open(v, NULL, S("/rw/sub"), VFS_READ | VFS_DIRECTORY, &sub), 0);
    assert_int_equal(vfs_stat(v, sub, S("../f"), true, &st), EPERM);
    assert_int_equal(vfs_stat(v, sub, S("."), true, &st), 0);
    assert_int_equal(vfs_mkdir(v, sub, S("d")), 0);
    host("test -d in/sub/%s", "d");
    host("rm -r in/sub && ln -s %s in/sub", "/etc");
    assert_int_not_equal(vfs_stat(v, sub, S("passwd"), true, &st), 0);
}

static void names_with_dots_are_not_there(void **state)
{
    (void)state;
    host("mkdir in/.cloche in/.git && echo -n x > in/.cloche/%s", "f");
    host("ln -s .cloche/f in/%s", "sly");
    assert_int_equal(look("/rw/.git"), ENOENT);
    assert_int_equal(look("/dots/.git"), 0);
    assert_int_equal(look("/dots/.cloche"), ENOENT);
    assert_int_equal(look("/dots/.CLOCHE/f"), ENOENT);
    assert_string_equal(content("/dots/sly"), "ENOENT");
    assert_int_equal(vfs_mkdir(v, NULL, S("/rw/.new")), EACCES);
    assert_int_equal(vfs_put(v, S("/rw/.cloche"), S("x")), EACCES);
    assert_int_equal(vfs_rename(v, NULL, S("/rw/f"), NULL, S("/rw/.hidden")), EACCES);
    scoped(vfs_close) struct vfs_file *d = NULL;
    const struct vfs_entry *x;
    assert_int_equal(vfs_open(v, NULL, S("/dots"), VFS_READ, &d), 0);
    for (uint64_t i = 0; vfs_entry(d, i, &x) == 0; i++)
        assert_false(str_is(x->name, ".cloche"));
    vfs_close(d);
    assert_int_equal(vfs_open(v, NULL, S("/rw"), VFS_READ, &d), 0);
    assert_int_equal(vfs_entry(d, 0, &x), 0);
    assert_true(str_is(x->name, "f"));
}

static void pipes_and_devices_are_not_opened(void **state)
{
    (void)state;
    host("mkfifo in/%s", "pipe");
    struct vfs_file *f;
    assert_int_equal(vfs_open(v, NULL, S("/rw/pipe"), VFS_READ, &f), EACCES);
    assert_int_equal(vfs_put(v, S("/rw/pipe"), S("x")), EACCES);
}

static void what_is_written_to_mounts_has_a_quota(void **state)
{
    (void)state;
    char big[1000] = {0};
    size_t n;
    assert_int_equal(vfs_put(v, S("/rw/x"), (struct str){big, 600}), 0);
    assert_int_equal(vfs_put(v, S("/rw/x"), (struct str){big, 600}), ENOSPC);
    scoped(vfs_close) struct vfs_file *f = NULL;
    assert_int_equal(vfs_open(v, NULL, S("/rw/y"), VFS_WRITE | VFS_CREATE, &f), 0);
    assert_int_equal(vfs_write(f, (uint64_t)1 << 40, "x", 1, &n), ENOSPC);
    assert_int_equal(vfs_resize(f, 500), ENOSPC);
    assert_int_equal(vfs_resize(f, UINT64_MAX), EFBIG);
    assert_int_equal(vfs_write(f, INT64_MAX, "xy", 2, &n), EFBIG);
    assert_int_equal(vfs_write(f, 0, big, 400, &n), 0);
    assert_int_equal(vfs_usage(v).written, 1000);
}

/* What is for its owner alone cannot be opened to others, by name or while it is open. */
static void private_files_stay_private(void **state)
{
    (void)state;
    struct err e = {0};
    struct vfs_file *f;
    struct stat st;
    assert_true(vfs_mount(
        v,
        &(struct vfs_mount){
            .at = "/private", .dir = inside, .writable = true, .owner_only = true},
        &e));
    host("chmod 640 in/%s", "f");
    assert_int_equal(
        vfs_open(v, NULL, S("/private/n"), VFS_WRITE | VFS_CREATE | VFS_MODE(0666), &f),
        0);
    assert_int_equal(fstatat(inside, "n", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(vfs_set_mode_of(f, 0777), 0);
    vfs_close(f);
    assert_int_equal(fstatat(inside, "n", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(vfs_set_mode(v, NULL, S("/private/n"), 0666), 0);
    assert_int_equal(fstatat(inside, "n", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* One that was there stays as open as it was. */
    assert_int_equal(vfs_set_mode(v, NULL, S("/private/f"), 0777), 0);
    assert_int_equal(fstatat(inside, "f", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0740);
    assert_int_equal(vfs_set_mode(v, NULL, S("/rw/f"), 0755), 0);
    assert_int_equal(fstatat(inside, "f", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0755);
}

static void files_made_in_mounts_count(void **state)
{
    (void)state;
    char name[32];
    int made = 0, failed = 0;
    for (int i = 0; i < 100 && !failed; i++, made += !failed) {
        (void)snprintf(name, sizeof name, "/rw/n%d", i);
        failed = vfs_put(v, S(name), S(""));
        (void)vfs_unlink(v, NULL, S(name));
    }
    assert_int_equal(failed, ENOSPC);
    assert_in_range(made, 20, 30);
}

static void nothing_moves_between_mounts(void **state)
{
    (void)state;
    assert_int_equal(vfs_put(v, S("/m"), S("x")), 0);
    assert_int_equal(vfs_rename(v, NULL, S("/m"), NULL, S("/rw/m")), EXDEV);
    assert_int_equal(vfs_rename(v, NULL, S("/rw/f"), NULL, S("/m2")), EXDEV);
    assert_int_equal(vfs_rename(v, NULL, S("/rw"), NULL, S("/m2")), EBUSY);
    assert_int_equal(vfs_rmdir(v, NULL, S("/rw")), EBUSY);
    assert_int_equal(vfs_rmdir(v, NULL, S("/deep")), ENOTEMPTY);
    assert_int_equal(vfs_rename(v, NULL, S("/deep"), NULL, S("/moved")), 0);
    assert_string_equal(content("/moved/ro/f"), "text");
    assert_string_equal(content("/moved/ro/../ro/f"), "text");
}

static void mounts_are_made_at_free_places(void **state)
{
    (void)state;
    struct err e = {0};
    const char *const bad[] = {"/", "//", "rel", "/rw", "/rw/sub", "/a/../b", "/deep"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        e = (struct err){0};
        assert_false(vfs_mount(v, &(struct vfs_mount){.at = bad[i], .dir = inside}, &e));
        assert_int_not_equal(e.code, ERR_NONE);
    }
}

/* ---- others at the same time -------------------------------------------- */

static atomic_bool swapping;

/* Swaps a folder and a link out of the mount, without a pause. */
static void *swap(void *arg)
{
    (void)arg;
    while (atomic_load(&swapping))
        (void)renameat2(inside, "door", inside, "way_out", RENAME_EXCHANGE);
    return NULL;
}

/* Reads, creates, lists and removes by that path; it must only reach the mount. */
static void go_through(const char *path, unsigned *seen)
{
    struct vfs_stat st;
    const char *text = content(path);
    assert_string_not_equal(text, "secret");
    *seen += strcmp(text, "inside") == 0;
    char made[64];
    (void)snprintf(made, sizeof made, "%s.new", path);
    (void)vfs_put(v, S(made), S("x"));
    (void)vfs_stat(v, NULL, S(made), true, &st);
    (void)vfs_unlink(v, NULL, S(made));
}

static void a_race_for_a_folder_never_leads_out(void **state)
{
    (void)state;
    struct err e = {0};
    struct vfs_mount seen_through = {
        .at = "/over", .dir = inside, .writable = true, .overlay = true};
    host("mkdir in/door && echo -n inside > in/door/%s", "text");
    host("mkdir outside && echo -n secret > outside/%s", "text");
    host("ln -s %s in/way_out", "../outside");
    assert_true(vfs_mount(v, &seen_through, &e));
    pthread_t other;
    atomic_store(&swapping, true);
    assert_int_equal(pthread_create(&other, NULL, swap, NULL), 0);
    unsigned seen = 0;
    for (unsigned i = 0; i < 3000; i++) {
        go_through("/rw/door/text", &seen);
        go_through("/over/door/text", &seen);
    }
    atomic_store(&swapping, false);
    pthread_join(other, NULL);
    assert_true(seen > 0); /* the race was possible */
    host("test \"$(ls outside)\" = %s", "text");
}

/* An open folder is a handle, not a name. */
static void an_open_folder_is_the_same_when_others_move_it(void **state)
{
    (void)state;
    struct vfs_file *folder = NULL, *file = NULL;
    struct vfs_stat st, of_folder;
    const struct vfs_entry *entry;
    host("mkdir in/box && echo -n within > in/box/%s", "text");
    assert_int_equal(vfs_open(v, NULL, S("/rw/box"), VFS_READ | VFS_DIRECTORY, &folder),
                     0);
    assert_int_equal(vfs_stat_of(folder, &of_folder), 0);
    assert_int_equal(vfs_folder_inode(folder), of_folder.inode);
    host("mv in/box in/%s && ln -s ../outside in/box", "moved");
    assert_int_equal(vfs_stat(v, folder, S("text"), true, &st), 0);
    assert_int_equal(st.size, 6);
    assert_int_equal(vfs_open(v, folder, S("."), VFS_READ | VFS_DIRECTORY, &file), 0);
    assert_int_equal(vfs_folder_inode(file), of_folder.inode);
    for (int i = 0; i < 2; i++) { /* read again from its first entry */
        assert_int_equal(vfs_entry(file, 0, &entry), 0);
        assert_true(str_is(entry->name, "text"));
        assert_int_equal(vfs_entry(file, 1, &entry), ENOENT);
    }
    assert_int_equal(vfs_stat(v, folder, S("../f"), true, &st), EPERM);
    vfs_close(file);
    vfs_close(folder);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make, end)
    const struct CMUnitTest tests[] = {
        T(a_mount_shows_the_hosts_files),
        T(what_is_above_a_mount_is_the_tree),
        T(what_is_written_lands_on_the_host),
        T(a_mount_that_is_read_only_stays_as_it_is),
        T(links_of_the_host_never_lead_out),
        T(a_base_on_the_host_cannot_be_left),
        T(names_with_dots_are_not_there),
        T(pipes_and_devices_are_not_opened),
        T(what_is_written_to_mounts_has_a_quota),
        T(private_files_stay_private),
        T(files_made_in_mounts_count),
        T(nothing_moves_between_mounts),
        T(mounts_are_made_at_free_places),
        T(a_race_for_a_folder_never_leads_out),
        T(an_open_folder_is_the_same_when_others_move_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
