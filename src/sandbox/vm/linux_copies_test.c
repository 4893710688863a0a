/* Copies of machines with the Linux that is installed in build/vm: what goes on in them, what
 * is new, and what is over. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "os/os.h"
#include "vm/commands.h"
#include "vm/copies.h"

static struct engine *engine;
static struct vms *all;
static char folder[HOME_SIZE];
static const struct vm_shelf shelf = {.payer = {"aa11", 4}, .label = "me"};

static int open_all(void **state)
{
    (void)state;
    struct err e = {0};
    engine = engine_open(&(struct engine_options){.ahead = "build/guest/ahead"}, &e);
    assert_true(engine && folder_make(folder));
    all = vms_open(&(struct vms_options){
        .engine = engine, .image = "build/vm", .copies = folder, .per_owner = 8});
    if (!vms_ready(all, &e))
        print_error("%s\n", e.msg);
    return e.code;
}

static int close_all(void **state)
{
    (void)state;
    vms_close(all);
    engine_close(engine);
    return folder_remove(folder);
}

static struct vm *start(struct vm_copy *from)
{
    struct err e = {0};
    struct vm *m = vm_start(all, STR("me"), &(struct vm_options){.from = from}, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static struct vm_copy *copy(struct vm *m)
{
    struct err e = {0};
    struct vm_copy *c = vm_copy(m, &e);
    if (!c)
        fail_msg("%s", e.msg);
    return c;
}

static const char *said(struct vm *m, const char *command)
{
    static char text[4][256];
    static int turn;
    char *out = text[turn++ % 4];
    struct err e = {0};
    struct vm_result r = {0};
    if (!vm_exec(m, &(struct vm_exec){.command = str_of(command)}, &r, &e))
        fail_msg("%s: %s", command, e.msg);
    (void)snprintf(out, 256, "%.250s", buf_cz(&r.stdout_bytes));
    vm_result_done(&r);
    return out;
}

static void shells_files_and_jobs_go_on_in_both(void **state)
{
    (void)state;
    scoped(vm_release) struct vm *a = start(NULL);
    (void)said(a, "x=41; cd /usr; echo file >/root/f; (while :; do sleep 1; done) & "
                  "echo $! >/root/job");
    scoped(vm_copy_drop) struct vm_copy *c = copy(a);
    scoped(vm_release) struct vm *b = start(c);
    static const char look[] =
        "echo $x $PWD $(cat /root/f); kill -0 $(cat /root/job) && echo there";
    assert_string_equal(said(b, look), "41 /usr file\nthere\n");
    (void)said(b, "x=42; echo other >/root/f; kill $(cat /root/job)");
    assert_string_equal(said(a, look), "41 /usr file\nthere\n");
    assert_string_equal(said(b, "cat /root/f"), "other\n");
}

static void chance_names_and_clock_are_new(void **state)
{
    (void)state;
    static const char *const asked[] = {
        "head -c16 /dev/urandom | od -An -tx1", "hostname", "cat /etc/machine-id",
        "cat /proc/sys/kernel/random/uuid",
        "python3 -c 'import os; print(os.urandom(8).hex())'"};
    scoped(vm_release) struct vm *a = start(NULL);
    (void)said(a, "true");
    scoped(vm_copy_drop) struct vm_copy *c = copy(a);
    scoped(vm_release) struct vm *b = start(c);
    scoped(vm_release) struct vm *d = start(c);
    for (size_t i = 0; i < LENGTH(asked); i++) {
        const char *x = said(a, asked[i]), *y = said(b, asked[i]), *z = said(d, asked[i]);
        assert_string_not_equal(x, y);
        assert_string_not_equal(y, z);
        assert_string_not_equal(x, z);
    }
    int64_t before = os_real_ms() / 1000;
    int64_t inside = strtoll(said(b, "date +%s"), NULL, 10);
    assert_in_range(inside, before - 1, os_real_ms() / 1000 + 1);
}

static void a_command_that_ran_is_killed_in_the_copy(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(vm_release) struct vm *a = start(NULL);
    (void)said(a, "true");
    struct vm_exec x = {.command =
                            STR("echo begun >/root/g; while :; do echo much; done"),
                        .unkept = true};
    struct vm_command *much = vm_exec_begin(a, &x, NULL, NULL, &e);
    assert_non_null(much);
    uint64_t look;
    struct vm_exec apart = {.command = STR("test -e /root/g"), .apart = true};
    for (int code = 1; code != 0;) { /* until it has begun */
        struct vm_result r = {0};
        (void)vm_exec_look(much, &look);
        assert_true(vm_exec(a, &apart, &r, &e));
        code = r.exit_code;
        vm_result_done(&r);
    }
    scoped(vm_copy_drop) struct vm_copy *c = copy(a);
    scoped(vm_release) struct vm *b = start(c);
    assert_string_equal(said(b, "cat /root/g"), "begun\n"); /* its session is free */
    assert_false(vm_exec_look(much, &look));
    vm_stop(a);
    struct vm_result r = {0};
    (void)vm_exec_end(much, &r, &e);
    vm_result_done(&r);
}

static void a_saved_machine_goes_on(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(vm_release) struct vm *a = start(NULL);
    (void)said(a,
               "x=41; python3 -c 'open(\"/root/big\", \"wb\").write(bytes(range(256)) * "
               "4000)'; sha256sum /root/big >/root/sum");
    scoped(vm_copy_drop) struct vm_copy *c = copy(a);
    assert_true(vm_save(all, &shelf, VM_SAVED_SNAPSHOT, STR("one"), c, NULL, &e));
    scoped(vm_copy_drop) struct vm_copy *read =
        vm_saved_open(all, shelf.payer, VM_SAVED_SNAPSHOT, STR("one"), &e);
    assert_non_null(read);
    scoped(vm_release) struct vm *b = start(read);
    assert_string_equal(said(b, "echo $x; sha256sum -c /root/sum"),
                        "41\n/root/big: OK\n");
}

static void there_is_an_image(void **state)
{
    (void)state;
    fail_msg("%s", "the Linux machine is missing: make vm builds it");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(shells_files_and_jobs_go_on_in_both),
        TEST(chance_names_and_clock_are_new),
        TEST(a_command_that_ran_is_killed_in_the_copy),
        TEST(a_saved_machine_goes_on),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(there_is_an_image)};
    if (access("build/vm/machine-512.mem", R_OK) != 0)
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
