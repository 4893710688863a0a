/* Copies of machines, with a kernel of our own (guest/vm/probe): forks, snapshots, machines
 * that are kept; damaged files, and a process that is killed while it saves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "os/os.h"
#include "vm/copies.h"
#include "vm/saved.h"

#define KERNEL "build/probe/machine.Image"
#define RAM_MB 64u
#define SECRET 173 /* a byte, of which the tests write whole pages */

static struct engine *g;
static char top[HOME_SIZE];

static const char *in_top(const char *name)
{
    static char path[4][160];
    static int turn;
    char *p = path[turn++ % 4];
    (void)snprintf(p, 160, "%s/%s", top, name);
    return p;
}

static void make_file(const char *name, const char *from, off_t size)
{
    struct err e = {0};
    scoped_buf struct buf bytes = buf_of(1 << 20);
    scoped_fd int to = open(in_top(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    scoped_fd int in = from ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    assert_true(to >= 0 && (!from || (in >= 0 && os_read_fd(in, &bytes, &e))));
    assert_int_equal(write(to, bytes.at ? bytes.at : "", bytes.n), bytes.n);
    assert_int_equal(ftruncate(to, size ? size : (off_t)bytes.n), 0);
}

static void engine_begin(void)
{
    struct err e = {0};
    static char ahead[128];
    (void)snprintf(ahead, sizeof ahead, "%s/guest/ahead", top);
    g = engine_open(&(struct engine_options){.ahead = ahead}, &e);
    assert_non_null(g);
}

static int make_image(void **state)
{
    (void)state;
    struct err e = {0};
    const char *guest = getenv("CLOCHE_GUEST");
    char *whole = realpath(guest ? guest : "build/guest", NULL);
    assert_true(folder_make(top));
    assert_true(whole && symlink(whole, in_top("guest")) == 0);
    free(whole);
    assert_int_equal(mkdir(in_top("vm"), 0755), 0);
    make_file("vm/Image", KERNEL, 0);
    make_file("vm/root.erofs", NULL, 65536);
    make_file("vm/disk.ext4", NULL, 16 << 20);
    engine_begin();
    scoped(images_close) struct images *i = images_open_raw(g, in_top("vm"), NULL, &e);
    if (!i || !images_bake(i, VM_RAM_DEFAULT_MB, &e) || !images_bake(i, RAM_MB, &e))
        fail_msg("%s", e.msg);
    return 0;
}

static int remove_image(void **state)
{
    (void)state;
    engine_close(g);
    return folder_remove(top);
}

/* ---- machines ------------------------------------------------------------------- */

static struct vms *open_all(void)
{
    return vms_open(&(struct vms_options){.engine = g,
                                          .image = in_top("vm"),
                                          .cache = in_top("cache"),
                                          .copies = in_top("copies")});
}

static int no_copies(void **state)
{
    (void)state;
    return access(in_top("copies"), F_OK) == 0 ? folder_remove(in_top("copies")) : 0;
}

static struct vm_options sized(struct vm_copy *from)
{
    return (struct vm_options){.ram_mb = RAM_MB, .disk_bytes = 4 << 20, .from = from};
}

static struct vm *a_machine(struct vms *s, struct vm_copy *from)
{
    struct err e = {0};
    struct vm_options o = sized(from);
    struct vm *m = vm_start(s, STR("me"), &o, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static const char *ask(struct vm *m, const char *command)
{
    static char said[4][64];
    static int turn;
    struct err e = {0};
    struct vm_result r = {0};
    if (!vm_exec(m, &(struct vm_exec){.command = str_of(command)}, &r, &e))
        fail_msg("%s: %s", command, e.msg);
    char *out = said[turn++ % 4];
    (void)snprintf(out, 64, "%.60s", buf_cz(&r.stdout_bytes));
    vm_result_done(&r);
    return out;
}

static struct vm_copy *a_copy(struct vm *m)
{
    struct err e = {0};
    struct vm_copy *c = vm_copy(m, &e);
    if (!c)
        fail_msg("%s", e.msg);
    return c;
}

static const struct vm_shelf mine = {.payer = {"aa11", 4}, .label = "me"};

static void save(struct vms *s, struct vm *m, const char *name)
{
    struct err e = {0};
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(m);
    if (!vm_save(s, &mine, VM_SAVED_SNAPSHOT, str_of(name), c, NULL, &e))
        fail_msg("%s", e.msg);
}

static struct vm_copy *load(struct vms *s, const char *name)
{
    struct err e = {0};
    struct vm_copy *c = vm_saved_open(s, mine.payer, VM_SAVED_SNAPSHOT, str_of(name), &e);
    if (!c)
        fail_msg("%s", e.msg);
    return c;
}

static void assert_refused(struct vms *s, struct str payer, const char *name,
                           enum err_code code)
{
    struct err e = {0};
    scoped(vm_copy_drop) struct vm_copy *c =
        vm_saved_open(s, payer, VM_SAVED_SNAPSHOT, str_of(name), &e);
    assert_null(c);
    assert_int_equal(e.code, code);
    assert_non_null(strstr(e.msg, name));
}

/* ---- forks ------------------------------------------------------------------------ */

static void a_fork_has_memory_and_disk_and_goes_on_apart(void **state)
{
    (void)state;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    (void)ask(a, "poke 700 41");
    assert_string_equal(ask(a, "write 40 65"), "ok");
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(a);
    scoped(vm_release) struct vm *b = a_machine(s, c);
    assert_string_equal(ask(b, "peek 700"), "41");
    assert_string_equal(ask(b, "read 39"), "65");
    (void)ask(a, "poke 700 42");
    (void)ask(b, "poke 701 43");
    (void)ask(b, "write 40 66");
    assert_string_equal(ask(a, "peek 700"), "42");
    assert_string_equal(ask(a, "peek 701"), "0");
    assert_string_equal(ask(a, "read 39"), "65");
    assert_string_equal(ask(b, "peek 700"), "41");
    assert_string_equal(ask(b, "read 39"), "66");
    scoped(vm_release) struct vm *late = a_machine(s, c);
    assert_string_equal(ask(late, "peek 700"), "41");
    assert_string_equal(ask(late, "read 39"), "65");
    assert_string_equal(ask(late, "peek 701"), "0");
}

static void forks_have_chance_of_their_own(void **state)
{
    (void)state;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    uint64_t then = strtoull(ask(a, "time"), NULL, 10);
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(a);
    scoped(vm_release) struct vm *b = a_machine(s, c);
    scoped(vm_release) struct vm *d = a_machine(s, c);
    const char *x = ask(a, "entropy"), *y = ask(b, "entropy"), *z = ask(d, "entropy");
    assert_string_not_equal(x, y);
    assert_string_not_equal(y, z);
    assert_true(strtoull(ask(b, "time"), NULL, 10) >= then);
}

static void many_generations_of_forks_stay_right(void **state)
{
    (void)state;
    scoped(vms_close) struct vms *s = open_all();
    struct vm *m = a_machine(s, NULL);
    char words[64];
    for (int i = 1; i <= 20; i++) {
        (void)snprintf(words, sizeof words, "poke %d %d", 600 + i, i);
        (void)ask(m, words);
        (void)snprintf(words, sizeof words, "write %d %d", 8 * i, i);
        (void)ask(m, words);
        scoped(vm_copy_drop) struct vm_copy *c = a_copy(m);
        vm_stop(m);
        vm_release(m);
        m = a_machine(s, c);
    }
    for (int i = 1; i <= 20; i++) {
        char byte[16];
        (void)snprintf(words, sizeof words, "peek %d", 600 + i);
        (void)snprintf(byte, sizeof byte, "%d", i);
        assert_string_equal(ask(m, words), byte);
    }
    assert_string_equal(ask(m, "read 159"), "20");
    vm_release(m);
}

/* A copy of a machine that runs a command has the command, which is not the copy's
 * caller's. */
static void a_machine_is_copied_while_it_says_much(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    /* As much as may be said without a word of ours: the probe does not wait for one. */
    char words[40];
    (void)snprintf(words, sizeof words, "flood %u", (unsigned)VM_WINDOW);
    struct vm_exec x = {.command = str_of(words), .unkept = true};
    struct vm_command *flood = vm_exec_begin(a, &x, NULL, NULL, &e);
    uint64_t look;
    assert_non_null(flood);
    (void)vm_exec_look(flood, &look);
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(a);
    assert_true(c->exec_count <= 1); /* it may have ended */
    assert_true(!c->exec_count || c->execs[0] == c->last_id);
    struct vm_result r = {0};
    (void)vm_exec_end(flood, &r, &e);
    vm_result_done(&r);
    vm_stop(a);
}

/* ---- snapshots ------------------------------------------------------------------------ */

static void a_snapshot_is_restored_by_another_process(void **state)
{
    (void)state;
    struct vms *s = open_all();
    struct vm *a = a_machine(s, NULL);
    (void)ask(a, "touch 3000");
    (void)ask(a, "poke 700 41");
    (void)ask(a, "write 40 65");
    save(s, a, "one");
    (void)ask(a, "poke 700 42");
    save(s, a, "two");
    vm_release(a);
    vms_close(s);
    s = open_all();
    scoped(vm_copy_drop) struct vm_copy *one = load(s, "one");
    scoped(vm_copy_drop) struct vm_copy *two = load(s, "two");
    struct vm *b = a_machine(s, one), *c = a_machine(s, two);
    assert_string_equal(ask(b, "peek 700"), "41");
    assert_string_equal(ask(c, "peek 700"), "42");
    assert_string_equal(ask(b, "peek 2999"), "0"); /* of it only the first byte was set */
    assert_string_equal(ask(c, "read 39"), "65");
    (void)ask(b, "poke 900 5");
    save(s, b, "one");
    scoped(vm_copy_drop) struct vm_copy *again = load(s, "one");
    struct vm *d = a_machine(s, again);
    assert_string_equal(ask(d, "peek 700"), "41");
    assert_string_equal(ask(d, "peek 900"), "5");
    assert_string_equal(ask(d, "read 39"), "65");
    vm_release(b);
    vm_release(c);
    vm_release(d);
    vms_close(s);
}

static off_t size_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void only_what_differs_is_saved_and_for_its_owner_alone(void **state)
{
    (void)state;
    struct stat st;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    save(s, a, "small");
    (void)ask(a, "touch 5000");
    save(s, a, "large");
    off_t small = size_of(in_top("copies/aa11/small.snapshot"));
    off_t large = size_of(in_top("copies/aa11/large.snapshot"));
    assert_true(small < 2 << 20);
    assert_in_range(large - small, 5000 * 4096, 5400 * 4096);
    assert_int_equal(stat(in_top("copies/aa11/small.snapshot"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(in_top("copies/aa11"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

/* Whole pages of the byte that a sibling wrote. */
static bool has_secret(const char *path)
{
    char page[4096], secret[4096];
    memset(secret, SECRET, sizeof secret);
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    while (read(fd, page, sizeof page) == (ssize_t)sizeof page)
        if (!memcmp(page, secret, sizeof page))
            return true;
    return false;
}

static void what_a_sibling_writes_is_in_neither_memory_nor_disk(void **state)
{
    (void)state;
    char words[64];
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    (void)ask(a, "touch 3000"); /* so that they share much */
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(a);
    scoped(vm_release) struct vm *b = a_machine(s, c);
    for (int page = 0; page < 4000; page += 97) {
        (void)snprintf(words, sizeof words, "poke %d %d", page, SECRET);
        (void)ask(a, words);
    }
    (void)snprintf(words, sizeof words, "write 64 %d", SECRET);
    (void)ask(a, words);
    save(s, a, "writer");
    save(s, b, "sibling");
    assert_true(has_secret(in_top("copies/aa11/writer.snapshot")));
    assert_false(has_secret(in_top("copies/aa11/sibling.snapshot")));
    scoped(vm_release) struct vm *late = a_machine(s, c);
    save(s, late, "late");
    assert_false(has_secret(in_top("copies/aa11/late.snapshot")));
}

/* ---- damage ------------------------------------------------------------------------------ */

static void flip(const char *path, off_t at)
{
    char byte;
    scoped_fd int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
}

static void each_damage_is_refused_by_name(void **state)
{
    (void)state;
    char path[200];
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    (void)ask(a, "write 40 65");
    save(s, a, "hurt");
    (void)snprintf(path, sizeof path, "%s", in_top("copies/aa11/hurt.snapshot"));
    off_t size = size_of(path), step = size / 400;
    for (off_t at = 0; at < size; at += at < 600 ? 13 : step) {
        flip(path, at);
        assert_refused(s, mine.payer, "hurt", ERR_INVALID);
        flip(path, at);
    }
    for (off_t at = size - 1; at > size - 300; at -= 7) { /* the tables */
        flip(path, at);
        assert_refused(s, mine.payer, "hurt", ERR_INVALID);
        flip(path, at);
    }
    vm_copy_drop(load(s, "hurt"));
    assert_int_equal(truncate(path, size - 1), 0);
    assert_refused(s, mine.payer, "hurt", ERR_INVALID);
    assert_int_equal(truncate(path, 100), 0);
    assert_refused(s, mine.payer, "hurt", ERR_INVALID);
}

static void a_file_belongs_to_its_name_and_caller(void **state)
{
    (void)state;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    save(s, a, "one");
    assert_refused(s, STR("bb22"), "one", ERR_NOT_FOUND);
    assert_int_equal(mkdir(in_top("copies/bb22"), 0700), 0);
    assert_int_equal(
        link(in_top("copies/aa11/one.snapshot"), in_top("copies/bb22/one.snapshot")), 0);
    assert_refused(s, STR("bb22"), "one", ERR_INVALID);
    assert_int_equal(
        link(in_top("copies/aa11/one.snapshot"), in_top("copies/aa11/two.snapshot")), 0);
    assert_refused(s, mine.payer, "two", ERR_INVALID);
    struct err e = {0};
    assert_null(vm_saved_open(s, mine.payer, VM_SAVED_SNAPSHOT, STR("../aa11/one"), &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_copy_of_another_image_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct vms *s = open_all();
    struct vm *a = a_machine(s, NULL);
    save(s, a, "old");
    vm_release(a);
    vms_close(s);
    make_file("vm/root.erofs", NULL, 131072); /* another build */
    assert_int_equal(unlink(in_top("vm/machine-512.mem")), 0);
    struct images *i = images_open_raw(g, in_top("vm"), NULL, &e);
    assert_true(i && images_bake(i, VM_RAM_DEFAULT_MB, &e));
    images_close(i);
    s = open_all();
    assert_refused(s, mine.payer, "old", ERR_CONFLICT);
    vms_close(s);
    make_file("vm/root.erofs", NULL, 65536);
    i = images_open_raw(g, in_top("vm"), NULL, &e);
    assert_true(i && images_bake(i, VM_RAM_DEFAULT_MB, &e));
    images_close(i);
}

/* ---- quotas and lists ------------------------------------------------------------------------ */

struct seen {
    unsigned count;
    char names[200];
};

static void see(void *arg, const struct vm_saved *one)
{
    struct seen *seen = arg;
    seen->count++;
    (void)strcat(strcat(seen->names, one->name), *one->label ? " " : "! ");
}

static struct seen list(struct vms *s, struct str payer)
{
    struct err e = {0};
    struct seen seen = {0};
    assert_true(vm_saved_list(s, payer, see, &seen, &e));
    return seen;
}

static void a_caller_has_as_many_as_he_may(void **state)
{
    (void)state;
    struct vm_shelf few = mine, little = mine;
    few.count = 2;
    little.bytes = 3 << 20;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    scoped(vm_copy_drop) struct vm_copy *c = a_copy(a);
    struct err e = {0};
    assert_true(vm_save(s, &few, VM_SAVED_SNAPSHOT, STR("b"), c, NULL, &e));
    assert_true(vm_save(s, &few, VM_SAVED_SNAPSHOT, STR("a"), c, NULL, &e));
    assert_false(vm_save(s, &few, VM_SAVED_SNAPSHOT, STR("c"), c, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    assert_true(vm_save(s, &few, VM_SAVED_SNAPSHOT, STR("a"), c, NULL, &e));
    assert_string_equal(list(s, mine.payer).names, "a b ");
    assert_int_equal(list(s, STR("bb22")).count, 0);
    (void)ask(a, "touch 2000");
    scoped(vm_copy_drop) struct vm_copy *large = a_copy(a);
    assert_false(vm_save(s, &little, VM_SAVED_SNAPSHOT, STR("b"), large, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    vm_copy_drop(load(s, "b")); /* the one that was there */
    assert_true(vm_saved_remove(s, mine.payer, VM_SAVED_SNAPSHOT, STR("b"), &e));
    assert_false(vm_saved_remove(s, mine.payer, VM_SAVED_SNAPSHOT, STR("b"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(list(s, mine.payer).names, "a ");
    assert_string_equal(list(s, STR("")).names, "a ");
    flip(in_top("copies/aa11/a.snapshot"), 20);
    assert_string_equal(list(s, mine.payer).names, "a! ");
}

static void what_is_not_complete_is_not_seen_and_goes(void **state)
{
    (void)state;
    scoped(vms_close) struct vms *s = open_all();
    scoped(vm_release) struct vm *a = a_machine(s, NULL);
    save(s, a, "one");
    make_file("copies/aa11/.two.snapshot.tmp", NULL, 5000);
    assert_string_equal(list(s, mine.payer).names, "one ");
    assert_refused(s, mine.payer, "two", ERR_NOT_FOUND);
    save(s, a, "three");
    assert_int_equal(access(in_top("copies/aa11/.two.snapshot.tmp"), F_OK), -1);
}

/* ---- machines that are kept ------------------------------------------------------------------- */

static struct vm *kept(struct vms *s, const char *owner, const char *name, bool make,
                       struct err *e)
{
    struct vm_options o = sized(NULL);
    o.shelf = &mine;
    return vm_find_kept(s, str_of(owner), str_of(name), make, &o, e);
}

static void a_kept_machine_is_found_again(void **state)
{
    (void)state;
    struct err e = {0};
    struct vms *s = open_all();
    assert_null(kept(s, "me", "dev", false, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    e = (struct err){0};
    struct vm *m = kept(s, "me", "dev", true, &e);
    assert_non_null(m);
    (void)ask(m, "poke 700 41");
    struct vm *same = kept(s, "another session", "dev", true, &e);
    assert_ptr_equal(same, m);
    vm_release(same);
    struct vms *other = open_all(); /* as another process: its locks are others */
    assert_null(kept(other, "me", "dev", true, &e));
    assert_int_equal(e.code, ERR_BUSY);
    e = (struct err){0};
    assert_false(vm_saved_remove(other, mine.payer, VM_SAVED_KEPT, STR("dev"), &e));
    vm_release(m);
    vms_close(s); /* it is frozen now */
    e = (struct err){0};
    m = kept(other, "me", "dev", false, &e);
    if (!m)
        fail_msg("%s", e.msg);
    assert_string_equal(ask(m, "peek 700"), "41");
    (void)ask(m, "poke 700 42");
    assert_true(vm_freeze(m, &e));
    vm_release(m);
    m = kept(other, "me", "dev", false, &e);
    assert_non_null(m);
    assert_string_equal(ask(m, "peek 700"), "42");
    vm_release(m);
    vms_close(other);
}

static void a_kept_machine_is_frozen_when_it_is_idle(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(vms_close) struct vms *s = open_all();
    struct vm_options o = sized(NULL);
    o.shelf = &mine;
    o.idle_ns = 1000000;
    struct vm *m = vm_find_kept(s, STR("me"), STR("dev"), true, &o, &e);
    assert_non_null(m);
    (void)ask(m, "poke 700 41");
    vm_release(m);
    while (list(s, mine.payer).count == 0)
        sched_yield(); /* until the keeper has done it */
    m = vm_find_kept(s, STR("me"), STR("dev"), false, &o, &e);
    if (!m)
        fail_msg("%s", e.msg);
    assert_string_equal(ask(m, "peek 700"), "41");
    vm_release(m);
}

/* The keeper saves it again and again meanwhile: whoever has found it may use it. */
static void a_kept_machine_that_is_found_while_it_is_frozen_can_be_used(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(vms_close) struct vms *s = open_all();
    struct vm_options o = sized(NULL);
    o.shelf = &mine;
    o.idle_ns = 1;
    for (unsigned i = 0; i < 60; i++) {
        struct vm *m = vm_find_kept(s, STR("me"), STR("dev"), true, &o, &e);
        if (!m)
            fail_msg("%s", e.msg);
        for (unsigned turns = 0; turns < i * 20; turns++)
            sched_yield();
        (void)ask(m, "poke 700 41");
        assert_string_equal(ask(m, "peek 700"), "41");
        vm_release(m);
        for (unsigned turns = 0; turns < i * 20; turns++)
            sched_yield();
    }
}

static void one_that_cannot_be_saved_runs_on(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_shelf none = mine;
    none.bytes = 1;
    scoped(vms_close) struct vms *s = open_all();
    struct vm_options o = sized(NULL);
    o.shelf = &none;
    scoped(vm_release) struct vm *m =
        vm_find_kept(s, STR("me"), STR("dev"), true, &o, &e);
    assert_non_null(m);
    assert_false(vm_freeze(m, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    (void)ask(m, "poke 700 41");
    assert_string_equal(ask(m, "peek 700"), "41");
}

/* ---- a process that is killed -------------------------------------------------------------------- */

/* The other process: saves again and again, until it is killed. Each time, all pages and
 * sectors have the same byte. */
static int save_for_ever(const char *folder)
{
    struct err e = {0};
    char words[64];
    (void)snprintf(top, sizeof top, "%s", folder);
    engine_begin();
    struct vms *s = open_all();
    struct vm *m = kept(s, "me", "dev", true, &e);
    for (int byte = 1;; byte = byte % 200 + 1) {
        scoped(vm_copy_drop) struct vm_copy *c = NULL;
        for (int page = 600; page < 900; page += 50) {
            (void)snprintf(words, sizeof words, "poke %d %d", page, byte);
            (void)ask(m, words);
        }
        (void)snprintf(words, sizeof words, "write 8 %d", byte);
        (void)ask(m, words);
        c = vm_copy(m, &e);
        if (!c || !vm_save(s, &mine, VM_SAVED_SNAPSHOT, STR("x"), c, NULL, &e) ||
            !vm_save(s, &mine, VM_SAVED_KEPT, STR("dev"), c, NULL, &e))
            return 1;
        if (write(STDOUT_FILENO, ".", 1) != 1)
            return 0;
    }
}

/* Kills it some time after its first save. */
static void kill_one(unsigned delay_us)
{
    int ends[2];
    char dot;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execl("/proc/self/exe", "copies_test", "save", top, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &dot, 1), 1);
    (void)usleep(delay_us); /* a moment of the save: any will do */
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(ends[0]);
}

static void assert_whole(struct vm *m)
{
    char byte[64], words[64];
    (void)snprintf(byte, sizeof byte, "%s", ask(m, "read 7"));
    for (int page = 600; page < 900; page += 50) {
        (void)snprintf(words, sizeof words, "peek %d", page);
        assert_string_equal(ask(m, words), byte);
    }
    assert_string_not_equal(byte, "0");
}

static void what_a_killed_process_saved_is_whole(void **state)
{
    (void)state;
    struct err e = {0};
    const char *deep = getenv("CLOCHE_DEEP");
    unsigned kills = deep && *deep ? 200 : 30;
    for (unsigned i = 0; i < kills; i++) {
        kill_one(i * 37 % 101 * 300);
        scoped(vms_close) struct vms *s = open_all();
        assert_int_equal(list(s, mine.payer).count, 2);
        scoped(vm_copy_drop) struct vm_copy *c = load(s, "x");
        scoped(vm_release) struct vm *a = a_machine(s, c);
        assert_whole(a);
        scoped(vm_release) struct vm *b = kept(s, "me", "dev", false, &e);
        if (!b)
            fail_msg("%s", e.msg);
        assert_whole(b);
    }
}

#define TEST(f) cmocka_unit_test_setup(f, no_copies)

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "save"))
        return save_for_ever(argv[2]);
    const struct CMUnitTest tests[] = {
        TEST(a_fork_has_memory_and_disk_and_goes_on_apart),
        TEST(forks_have_chance_of_their_own),
        TEST(many_generations_of_forks_stay_right),
        TEST(a_machine_is_copied_while_it_says_much),
        TEST(a_snapshot_is_restored_by_another_process),
        TEST(only_what_differs_is_saved_and_for_its_owner_alone),
        TEST(what_a_sibling_writes_is_in_neither_memory_nor_disk),
        TEST(each_damage_is_refused_by_name),
        TEST(a_file_belongs_to_its_name_and_caller),
        TEST(a_copy_of_another_image_is_refused),
        TEST(a_caller_has_as_many_as_he_may),
        TEST(what_is_not_complete_is_not_seen_and_goes),
        TEST(a_kept_machine_is_found_again),
        TEST(a_kept_machine_is_frozen_when_it_is_idle),
        TEST(a_kept_machine_that_is_found_while_it_is_frozen_can_be_used),
        TEST(one_that_cannot_be_saved_runs_on),
        TEST(what_a_killed_process_saved_is_whole),
    };
    return cmocka_run_group_tests(tests, make_image, remove_image);
}
