/* Mounts, over a stand-in for the machine. */
#include <errno.h>

#include "vfs/vfs.h"
#include "vm/double_test.h"
#include "vm/mounts.h"

static struct vms *all;
static struct vm *machine;

static int open_machine(void **state)
{
    (void)state;
    struct err e = {0};
    memset(&doubles, 0, sizeof doubles);
    all = vms_open(&(struct vms_options){.per_owner = 3});
    machine = vm_find(all, STR("ann"), STR(""), NULL, &e);
    return machine ? 0 : -1;
}

static int close_machine(void **state)
{
    (void)state;
    vm_release(machine);
    vms_close(all);
    return doubles.opened == doubles.closed ? 0 : -1;
}

static struct vfs *tree_new(void)
{
    struct vfs *v = vfs_new(&(struct vfs_quota){.bytes = 100, .files = 10, .open = 10});
    assert_int_equal(vfs_mkdir(v, NULL, STR("/m")), 0);
    return v;
}

/* The tree goes with the machine, or is freed. */
static enum err_code mount_at(const char *place, const char *at, const char *part)
{
    struct err e = {0};
    scoped(vfs_free) struct vfs *tree = tree_new();
    struct vm_mount m = {.tree = tree, .at = at, .place = place, .writable = true};
    if (vm_mount(machine, &m, &e)) {
        (void)take(tree);
        return ERR_NONE;
    }
    if (!strstr(e.msg, part))
        fail_msg("%s", e.msg);
    return e.code;
}

static void a_tree_is_mounted_and_comes_back(void **state)
{
    (void)state;
    assert_int_equal(mount_at("/work", "/m", ""), ERR_NONE);
    assert_int_equal(mount_at("/work/inner", "/m", ""), ERR_NONE);
    struct vfs *tree = vm_unmount(machine, "/work");
    assert_non_null(tree);
    assert_int_equal(vfs_usage(tree).open, 0);
    vfs_free(tree);
    assert_null(vm_unmount(machine, "/work"));
    assert_null(vm_unmount(machine, "/other"));
    assert_int_equal(mount_at("/work", "/m", ""), ERR_NONE);
}

static void a_place_is_an_absolute_path(void **state)
{
    (void)state;
    static const char *const places[] = {"",      "/",       "work",   "/work/", "//work",
                                         "/a//b", "/a/../b", "/a/./b", "/..",    "/proc",
                                         "/sys",  "/dev/x",  "/run/x", "/usr",   "/etc"};
    for (size_t i = 0; i < LENGTH(places); i++)
        assert_int_equal(mount_at(places[i], "/m", "nothing is mounted at"), ERR_INVALID);
    char path[VM_MOUNT_PLACE_MAX + 2] = "/";
    memset(path + 1, 'x', sizeof path - 2);
    assert_int_equal(mount_at(path, "/m", "nothing is mounted at"), ERR_INVALID);
    assert_int_equal(mount_at("/usr/local/data", "/m", ""), ERR_NONE);
    assert_int_equal(mount_at("/device", "/m", ""), ERR_NONE);
}

static void a_place_has_one_mount(void **state)
{
    (void)state;
    assert_int_equal(mount_at("/work", "/m", ""), ERR_NONE);
    assert_int_equal(mount_at("/work", "/m", "mounted already"), ERR_CONFLICT);
}

static void a_folder_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mount_at("/work", "/none", "No such file"), ERR_INVALID);
}

static void a_machine_has_so_many_mounts(void **state)
{
    (void)state;
    char place[20];
    for (unsigned i = 0; i < VM_MOUNTS_MAX; i++) {
        (void)snprintf(place, sizeof place, "/m%u", i);
        assert_int_equal(mount_at(place, "/m", ""), ERR_NONE);
    }
    assert_int_equal(mount_at("/more", "/m", "64 mounts"), ERR_LIMIT);
    vfs_free(vm_unmount(machine, "/m7"));
    assert_int_equal(mount_at("/more", "/m", ""), ERR_NONE);
}

static void what_the_machine_cannot_mount_is_told(void **state)
{
    (void)state;
    atomic_store(&doubles.mount_fails, ENOTDIR);
    assert_int_equal(mount_at("/work", "/m", "Not a directory"), ERR_INVALID);
    atomic_store(&doubles.mount_fails, UINT32_MAX);
    assert_int_equal(mount_at("/work", "/m", "cannot mount"), ERR_INVALID);
    atomic_store(&doubles.mount_fails, 0);
    assert_int_equal(mount_at("/work", "/m", ""), ERR_NONE);
}

static void an_answer_that_nobody_asked_for_ends_the_machine(void **state)
{
    (void)state;
    struct err e = {0};
    doubles.mounts_twice = true;
    (void)mount_at("/work", "/m", "");
    struct vm_result r;
    struct vm_exec x = {.command = STR("echo x")};
    assert_false(vm_exec(machine, &x, &r, &e) && vm_exec(machine, &x, &r, &e));
    assert_non_null(strstr(e.msg, "broke the rules"));
    vm_result_done(&r);
    assert_int_equal(mount_at("/other", "/m", "are gone"), ERR_GUEST);
}

static void the_trees_of_a_machine_that_ended_come_back(void **state)
{
    (void)state;
    assert_int_equal(mount_at("/work", "/m", ""), ERR_NONE);
    vm_stop(machine);
    struct vfs *tree = vm_unmount(machine, "/work");
    assert_non_null(tree);
    vfs_free(tree);
}

int main(void)
{
#define test(f) cmocka_unit_test_setup_teardown(f, open_machine, close_machine)
    const struct CMUnitTest tests[] = {
        test(a_tree_is_mounted_and_comes_back),
        test(a_place_is_an_absolute_path),
        test(a_place_has_one_mount),
        test(a_folder_that_is_not_there_is_refused),
        test(a_machine_has_so_many_mounts),
        test(what_the_machine_cannot_mount_is_told),
        test(an_answer_that_nobody_asked_for_ends_the_machine),
        test(the_trees_of_a_machine_that_ended_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
