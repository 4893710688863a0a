/* Changes of overlays, written to the host: all or none, at any moment of a kill. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "base/kill_test.h"
#include "vfs/tree_test.h"
#include "writeback/internal.h"

static char home[HOME_SIZE], root[HOME_SIZE];
static int inside;
static struct writeback w;

/* The rename that fails, from now on; 0: none. */
static unsigned failing;

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned how)
{
    if (failing && --failing == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, how);
}

static void host(const char *command)
{
    char text[1500];
    (void)snprintf(text, sizeof text, "cd %s && %s", root, command);
    assert_int_equal(system(text), 0);
}

/* What is in the folder, one line a name. */
static const char *seen(void)
{
    static char text[4000];
    char command[400];
    (void)snprintf(
        command, sizeof command,
        "cd %s && find . -mindepth 1 -printf '%%P %%y %%m %%l ' \\( -type f -exec cat {} "
        "\\; -o -true \\) -printf '\\n' | sort",
        root);
    FILE *f = popen(command, "r");
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    (void)pclose(f);
    return text;
}

static char before[4000];

/* What the host changes from now on has a later time. */
static void next_tick(void)
{
    struct timespec before_it, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &before_it);
    do
        clock_gettime(CLOCK_REALTIME_COARSE, &now);
    while (now.tv_nsec == before_it.tv_nsec && now.tv_sec == before_it.tv_sec);
}

static void open_overlay(void)
{
    struct err e = {0};
    next_tick();
    struct vfs_mount m = {.at = "/m",
                          .dir = inside,
                          .writable = true,
                          .overlay = true,
                          .dots = true,
                          .links = true};
    v = vfs_new(&(struct vfs_quota){.bytes = 1 << 20, .files = 900, .open = 8});
    if (!vfs_mount(v, &m, &e))
        fail_msg("%s", e.msg);
    w = (struct writeback){.dir = inside,
                           .dots = true,
                           .links = true,
                           .since_ns = vfs_overlay_since(v, "/m")};
}

static int make(void **state)
{
    (void)state;
    failing = 0;
    if (!home_make(home) || !folder_make(root))
        return -1;
    host(
        "umask 022; mkdir -p a/deep b/c turn; printf one >f; printf two >a/g; printf three >a/deep/h; "
        "printf x >b/c/x; printf y >b/y; printf 4 >four; chmod 751 f; printf t >turn/t; ln -s a/g "
        "link; printf old >swap");
    struct err e = {0};
    inside = os_dir_open(root, &e);
    (void)snprintf(before, sizeof before, "%s", seen());
    open_overlay();
    return 0;
}

static int end(void **state)
{
    (void)state;
    vfs_free(v);
    os_close(inside);
    return folder_remove(root) + folder_remove(home);
}

static void put(const char *path, const char *text)
{
    assert_int_equal(vfs_put(v, S(path), S(text)), 0);
}

/* One change of each kind. */
static void change_all(void)
{
    put("/m/f", "ONE");                                 /* changed */
    put("/m/new", "n");                                 /* made */
    assert_int_equal(vfs_mkdir(v, NULL, S("/m/d")), 0); /* a folder */
    assert_int_equal(vfs_mkdir(v, NULL, S("/m/d/e")), 0);
    put("/m/d/e/z", "zz");
    assert_int_equal(vfs_unlink(v, NULL, S("/m/four")), 0);               /* removed */
    assert_int_equal(vfs_rename(v, NULL, S("/m/a"), NULL, S("/m/A")), 0); /* moved */
    assert_int_equal(vfs_unlink(v, NULL, S("/m/b/c/x")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/m/b/c")), 0);
    assert_int_equal(vfs_unlink(v, NULL, S("/m/link")), 0);
    assert_int_equal(vfs_symlink(v, S("b/y"), NULL, S("/m/link")), 0); /* another link */
    assert_int_equal(vfs_unlink(v, NULL, S("/m/turn/t")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/m/turn")), 0);
    put("/m/turn", "a file now");
    assert_int_equal(vfs_unlink(v, NULL, S("/m/swap")), 0);
    assert_int_equal(vfs_mkdir(v, NULL, S("/m/swap")), 0);
    put("/m/swap/in", "i");
    assert_int_equal(vfs_set_mode(v, NULL, S("/m/new"), 0755), 0);
    assert_int_equal(
        vfs_set_times(v, NULL, S("/m/new"), true, VFS_TIME_KEEP, 1234567890123456789), 0);
}

static void look(void)
{
    assert_int_equal(vfs_changes(v, "/m", &w.changes, &w.count), 0);
}

static bool write_back(struct err *e)
{
    *e = (struct err){0};
    look();
    return writeback_write(&w, e);
}

static const char whole[] =
    "A d 755  \nA/deep d 755  \nA/deep/h f 644  three\nA/g f 644  two\n"
    "b d 755  \nb/y f 644  y\nd d 755  \nd/e d 755  \nd/e/z f 644  zz\n"
    "f f 751  ONE\nlink l 777 b/y \nnew f 755  n\nswap d 755  \n"
    "swap/in f 644  i\nturn f 644  a file now\n";

/* No stage, and no record. */
static void assert_clean(void)
{
    struct err e = {0};
    scoped_fd int records = records_folder(&e);
    host("test ! -e .cloche");
    scoped(free) char *path = os_dir_path(records, &e);
    char text[300];
    (void)snprintf(text, sizeof text, "test -z \"$(ls %s | grep -v '^lock$')\"", path);
    assert_int_equal(system(text), 0);
}

/* ---- what is written ------------------------------------------------------ */

static void all_kinds_of_changes_are_written(void **state)
{
    (void)state;
    struct err e;
    change_all();
    if (!write_back(&e))
        fail_msg("%s", e.msg);
    assert_string_equal(seen(), whole);
    host("test $(stat -c %.9Y new) = 1234567890.123456789");
    assert_clean();
}

static void folders_have_their_own_modes_and_times_in_the_end(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(vfs_mkdir(v, NULL, S("/m/fixed")), 0);
    put("/m/fixed/in", "i");
    assert_int_equal(vfs_set_mode(v, NULL, S("/m/fixed"), 0555), 0);
    assert_int_equal(
        vfs_set_times(v, NULL, S("/m/fixed"), true, VFS_TIME_KEEP, 1000000000000000001),
        0);
    assert_true(write_back(&e));
    host("test $(stat -c '%a %.9Y' fixed | tr ' ' _) = 555_1000000000.000000001");
    host("test $(cat fixed/in) = i");
}

static void a_check_writes_nothing(void **state)
{
    (void)state;
    struct err e = {0};
    change_all();
    look();
    assert_true(writeback_check(&w, NULL, NULL, &e));
    assert_string_equal(seen(), before);
}

static void another_name_of_a_file_keeps_its_contents(void **state)
{
    (void)state;
    struct err e;
    host("ln f hard");
    put("/m/f", "ONE");
    assert_true(write_back(&e));
    host("test $(cat f) = ONE && test $(cat hard) = one");
}

static void privileges_of_a_file_do_not_pass_to_new_contents(void **state)
{
    (void)state;
    struct err e;
    host("chmod 6755 f");
    put("/m/f", "ONE");
    assert_true(write_back(&e));
    host("test $(stat -c %a f) = 755");
}

static void what_is_not_shown_stays(void **state)
{
    (void)state;
    struct err e;
    host("mkfifo b/c/pipe; mkdir b/c/.cloche; printf k >b/c/.cloche/k");
    vfs_free(v);
    open_overlay();
    assert_int_equal(vfs_unlink(v, NULL, S("/m/b/c/x")), 0);
    if (vfs_rmdir(v, NULL, S("/m/b/c")))
        return; /* not even there */
    assert_true(write_back(&e));
    host("test -p b/c/pipe && test $(cat b/c/.cloche/k) = k && test ! -e b/c/x");
}

/* ---- what is refused -------------------------------------------------------- */

static char refused[400];

static void note(void *arg, struct str path)
{
    size_t n = strlen(refused);
    (void)arg;
    (void)snprintf(refused + n, sizeof refused - n, "%.*s ", STR_ARGS(path));
}

static void assert_refused(enum err_code code, const char *paths)
{
    struct err e = {0};
    char now[4000];
    (void)snprintf(now, sizeof now, "%s", seen());
    look();
    refused[0] = '\0';
    assert_false(writeback_check(&w, note, NULL, &e));
    assert_int_equal(e.code, code);
    assert_string_equal(refused, paths);
    assert_false(write_back(&e));
    assert_int_equal(e.code, code);
    assert_string_equal(seen(), now);
}

static void what_changed_on_the_host_is_refused_and_named(void **state)
{
    (void)state;
    change_all();
    look();
    host(
        "printf 'more' >>f; printf n2 >new; rm b/c/x; touch -d @5 four; printf i >a/extra");
    assert_refused(ERR_CONFLICT, "four a/extra f new ");
}

static void contents_that_changed_with_size_and_time_kept_are_refused(void **state)
{
    (void)state;
    put("/m/f", "ONE");
    look();
    host(
        "touch -r f ../cloche-stamp-$$; printf two >f; touch -r ../cloche-stamp-$$ f; rm "
        "../cloche-stamp-$$");
    assert_refused(ERR_CONFLICT, "f ");
}

/* The guest never saw it: it went with its folder. */
static void a_file_made_in_a_folder_that_the_guest_removed_is_not_lost(void **state)
{
    (void)state;
    assert_int_equal(vfs_unlink(v, NULL, S("/m/b/c/x")), 0);
    assert_int_equal(vfs_rmdir(v, NULL, S("/m/b/c")), 0);
    host("printf mine >b/c/mine");
    assert_refused(ERR_CONFLICT, "b/c/mine ");
}

static void a_folder_that_became_a_link_is_not_followed(void **state)
{
    (void)state;
    char outside[HOME_SIZE], text[200];
    assert_true(folder_make(outside));
    (void)snprintf(text, sizeof text, "printf safe >%s/g; mv a gone; ln -s %s a", outside,
                   outside);
    put("/m/a/g", "TWO");
    put("/m/a/made", "m");
    assert_int_equal(vfs_unlink(v, NULL, S("/m/a/deep/h")), 0);
    look();
    host(text);
    assert_refused(ERR_CONFLICT, "a/g a/made ");
    (void)snprintf(text, sizeof text, "test $(cat %s/g) = safe && test $(ls %s) = g",
                   outside, outside);
    host(text);
    assert_int_equal(folder_remove(outside), 0);
}

static void a_stage_that_is_a_link_is_refused(void **state)
{
    (void)state;
    char outside[HOME_SIZE], text[200];
    assert_true(folder_make(outside));
    (void)snprintf(text, sizeof text, "ln -s %s .cloche", outside);
    host(text);
    struct err e;
    put("/m/f", "ONE");
    assert_false(write_back(&e));
    assert_int_equal(e.code, ERR_DENIED);
    (void)snprintf(text, sizeof text, "test -z \"$(ls -A %s)\" && test $(cat f) = one",
                   outside);
    host(text);
    assert_int_equal(folder_remove(outside), 0);
}

static void special_files_in_the_way_are_refused(void **state)
{
    (void)state;
    put("/m/f", "ONE");
    put("/m/new", "n");
    look();
    host("rm f; mkfifo f new");
    assert_refused(ERR_CONFLICT, "f new ");
}

static void links_are_written_where_they_are_allowed_alone(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(vfs_symlink(v, S("/etc/passwd"), NULL, S("/m/l")), 0);
    w.links = false;
    assert_refused(ERR_DENIED, "");
    w.links = true;
    assert_true(write_back(&e));
    host("test $(readlink l) = /etc/passwd");
}

static void paths_that_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"..", "../x",    "a/../../x", "/etc/x",
                                      "",   "a//x",    "a/./x",     ".",
                                      "a/", ".cloche", ".cloche/x", "a/.cloche"};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        struct vfs_change c = {.what = VFS_MADE, .path = str_of(bad[i])};
        w.changes = &c;
        w.count = 1;
        assert_false(writeback_write(&w, &e));
        assert_int_equal(e.code, ERR_DENIED);
    }
    assert_string_equal(seen(), before);
}

/* ---- failures and kills --------------------------------------------------------- */

static void rebuild(void)
{
    (void)end(NULL);
    assert_int_equal(make(NULL), 0);
    change_all();
}

static void a_step_that_fails_has_all_before_it_taken_back(void **state)
{
    (void)state;
    struct err e;
    unsigned n = 1;
    change_all();
    for (; n < 100; n++) {
        failing = n;
        bool done = write_back(&e);
        failing = 0;
        if (done)
            break;
        assert_string_equal(seen(), before);
        assert_clean();
        rebuild();
    }
    assert_string_equal(seen(), whole);
    assert_true(n > 9);
}

/* A child writes, and is killed at its n-th stop. false: it had ended before. */
static bool killed_at(unsigned n)
{
    look();
    (void)fflush(NULL);
    pid_t child = fork();
    if (!child) {
        struct err e = {0};
        (void)raise(SIGSTOP);
        _exit(!writeback_write(&w, &e));
    }
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    (void)kill(child, SIGCONT);
    return kill_at_stop(child, n);
}

/* At every system call, or as many of them as there is time for. */
static void a_process_killed_at_any_moment_has_written_all_or_nothing(void **state)
{
    (void)state;
    unsigned none = 0, all = 0, steps = getenv("CLOCHE_WRITEBACK_EACH") ? 1 : 13;
    change_all();
    for (unsigned n = 1; killed_at(n); n += steps) {
        writeback_complete();
        host("rm -rf .cloche"); /* a stage without a record is left until later */
        bool is_whole = !strcmp(seen(), whole), is_none = !is_whole;
        if (is_none)
            assert_string_equal(seen(), before);
        none += is_none;
        all += is_whole;
        rebuild();
    }
    assert_string_equal(seen(), whole);
    assert_true(none > 0 && all > 0);
}

static void what_was_being_taken_back_is_taken_back_in_full(void **state)
{
    (void)state;
    unsigned undone = 0;
    char command[300];
    (void)snprintf(
        command, sizeof command,
        "cd %s/cloche/changes && for f in *.steps; do mv $f ${f%%steps}undo; done "
        "2>/dev/null",
        home);
    change_all();
    for (unsigned n = 1; killed_at(n); n += 11) {
        if (system(command) == 0) {
            undone++;
            writeback_complete();
            assert_string_equal(seen(), before);
            assert_clean();
        }
        rebuild();
        (void)snprintf(
            command, sizeof command,
            "cd %s/cloche/changes && for f in *.steps; do mv $f ${f%%steps}undo; "
            "done 2>/dev/null",
            home);
    }
    assert_true(undone > 3);
}

static void what_another_program_wrote_after_a_kill_stays(void **state)
{
    (void)state;
    unsigned kept = 0;
    put("/m/f", "ONE");
    put("/m/four", "FOUR");
    for (unsigned n = 1; killed_at(n); n += 5) {
        host("printf theirs >theirs; mv theirs f");
        writeback_complete();
        host("test $(cat f) = theirs");
        kept += system("true") == 0;
        (void)end(NULL);
        assert_int_equal(make(NULL), 0);
        put("/m/f", "ONE");
        put("/m/four", "FOUR");
    }
    assert_true(kept > 3);
}

/* ---- kept ----------------------------------------------------------------------------- */

static bool take_id(void *arg, const char *id)
{
    (void)snprintf(arg, WRITEBACK_ID, "%s", id);
    return true;
}

static void changes_are_kept_and_written_later(void **state)
{
    (void)state;
    struct err e = {0};
    char id[WRITEBACK_ID], listed[WRITEBACK_ID] = "";
    change_all();
    look();
    assert_true(writeback_keep(&w, root, "/m", id, &e));
    assert_true(writeback_kept_list(take_id, listed, &e));
    assert_string_equal(listed, id);
    vfs_free(take(v));
    scoped_writeback_kept struct writeback_kept k;
    assert_true(writeback_kept_open(id, &k, &e));
    assert_string_equal(k.place, "/m");
    assert_true(writeback_kept_folder(&k, &e));
    assert_string_equal(seen(), before);
    assert_true(writeback_write(&k.what, &e));
    assert_string_equal(seen(), whole);
    assert_true(writeback_kept_remove(id, &e));
    assert_clean();
    assert_false(writeback_kept_remove(id, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void kept_changes_are_refused_where_they_are_damaged(void **state)
{
    (void)state;
    struct err e = {0};
    char id[WRITEBACK_ID], path[200];
    put("/m/f", "ONE");
    look();
    assert_true(writeback_keep(&w, root, "/m", id, &e));
    (void)snprintf(path, sizeof path, "%s/cloche/changes/%s.changes", home, id);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        char byte;
        struct writeback_kept k;
        struct err why = {0};
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_false(writeback_kept_open(id, &k, &why));
        assert_int_equal(why.code, ERR_INVALID);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    for (off_t n = size - 1; n >= 0; n -= 3) {
        struct writeback_kept k;
        struct err why = {0};
        assert_int_equal(ftruncate(fd, n), 0);
        assert_false(writeback_kept_open(id, &k, &why));
    }
    os_close(fd);
}

static void another_folder_at_the_same_place_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    char id[WRITEBACK_ID], text[200];
    put("/m/f", "ONE");
    look();
    assert_true(writeback_keep(&w, root, "/m", id, &e));
    (void)snprintf(text, sizeof text, "mv %s %s-x && mkdir %s && cp -a %s-x/f %s/f", root,
                   root, root, root, root);
    host(text);
    scoped_writeback_kept struct writeback_kept k;
    assert_true(writeback_kept_open(id, &k, &e));
    assert_false(writeback_kept_folder(&k, &e));
    assert_int_equal(e.code, ERR_CONFLICT);
    (void)snprintf(text, sizeof text, "%s-x", root);
    assert_int_equal(folder_remove(text), 0);
}

static void an_overlay_can_be_used_after_its_changes_were_told(void **state)
{
    (void)state;
    struct err e;
    struct vfs_file *open = NULL;
    char text[4] = "";
    size_t got;
    assert_int_equal(vfs_open(v, NULL, S("/m/a/deep/h"), VFS_READ, &open), 0);
    change_all();
    look();
    host("printf other >a/deep/h");
    assert_int_equal(vfs_read(open, 2, text, 3, &got), 0);
    assert_string_equal(text, "ree");
    vfs_close(open);
    host("rm -r a; mkdir -p a/deep; printf two >a/g; printf three >a/deep/h");
    vfs_free(v);
    open_overlay();
    change_all();
    look();
    put("/m/A/g", "again");
    put("/m/after", "later");
    assert_string_equal(content("/m/d/e/z"), "zz");
    assert_true(write_back(&e));
    host(
        "test $(cat A/g) = again && test $(cat after) = later && test $(cat d/e/z) = zz");
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make, end)
    const struct CMUnitTest tests[] = {
        T(all_kinds_of_changes_are_written),
        T(folders_have_their_own_modes_and_times_in_the_end),
        T(a_check_writes_nothing),
        T(another_name_of_a_file_keeps_its_contents),
        T(privileges_of_a_file_do_not_pass_to_new_contents),
        T(what_is_not_shown_stays),
        T(what_changed_on_the_host_is_refused_and_named),
        T(contents_that_changed_with_size_and_time_kept_are_refused),
        T(a_file_made_in_a_folder_that_the_guest_removed_is_not_lost),
        T(a_folder_that_became_a_link_is_not_followed),
        T(a_stage_that_is_a_link_is_refused),
        T(special_files_in_the_way_are_refused),
        T(links_are_written_where_they_are_allowed_alone),
        T(paths_that_lead_out_are_refused),
        T(a_step_that_fails_has_all_before_it_taken_back),
        T(a_process_killed_at_any_moment_has_written_all_or_nothing),
        T(what_was_being_taken_back_is_taken_back_in_full),
        T(what_another_program_wrote_after_a_kill_stays),
        T(changes_are_kept_and_written_later),
        T(kept_changes_are_refused_where_they_are_damaged),
        T(another_folder_at_the_same_place_is_refused),
        T(an_overlay_can_be_used_after_its_changes_were_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
