/* Machines that misbehave, with the Linux that is installed in build/vm: each harms
 * itself only, reports why it ended, and its owner's next command gets a new machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <unistd.h>

#include "engine/traps_test.h"
#include "vm/many_test.h"

#define SECOND_NS ((uint64_t)1000000000)

static struct engine *engine;
static struct vms *all;

static int open_all(void **state)
{
    (void)state;
    struct err e = {0};
    engine = engine_open(&(struct engine_options){.ahead = "build/guest/ahead"}, &e);
    all = engine ? vms_open(&(struct vms_options){.engine = engine, .image = "build/vm"})
                 : NULL;
    if (!all || !vms_ready(all, &e))
        print_error("%s\n", e.msg);
    return e.code;
}

static int close_all(void **state)
{
    (void)state;
    vms_close(all);
    engine_close(engine);
    return 0;
}

/* The owner's default machine, started with `o` if there is none. */
static struct vm *find(const char *owner, const struct vm_options *o)
{
    struct err e = {0};
    struct vm *m = vm_find(all, str_of(owner), STR(""), o, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static void run_on(struct vm *m, const char *command, uint64_t timeout_ns,
                   struct vm_result *r)
{
    struct err e = {0};
    struct vm_exec x = {.command = str_of(command), .timeout_ns = timeout_ns};
    if (!vm_exec(m, &x, r, &e))
        fail_msg("%s: %s", command, e.msg);
}

static void expect(struct vm *m, const char *command, const char *out)
{
    struct vm_result r;
    run_on(m, command, 0, &r);
    if (strcmp(buf_cz(&r.stdout_bytes), out) != 0)
        fail_msg("%s: %s%s", command, buf_cz(&r.stdout_bytes), buf_cz(&r.stderr_bytes));
    vm_result_done(&r);
}

/* The machine ends; the next one is new, and reports why. */
static void expect_its_end(const char *owner, const struct vm_options *o,
                           const char *command, enum err_code code, const char *part)
{
    struct vm *m = find(owner, o);
    struct vm_result r;
    struct err e = {0};
    struct vm_exec x = {.command = str_of(command)},
                   next = {.command = STR("echo $kept")};
    expect(m, "kept=yes; echo $kept", "yes\n");
    assert_false(vm_exec(m, &x, &r, &e));
    vm_result_done(&r);
    if (e.code != code || !strstr(e.msg, part) || !strstr(e.msg, "fresh one"))
        fail_msg("%s: %s", err_kind(e.code)->name, e.msg);
    vm_release(m);
    e = (struct err){0};
    m = find(owner, NULL);
    assert_true(vm_exec(m, &next, &r, &e));
    assert_string_equal(buf_cz(&r.stdout_bytes), "\n");
    assert_true(r.fresh);
    assert_non_null(strstr(r.before, part));
    vm_result_done(&r);
    vm_stop(m);
    vm_release(m);
}

/* ---- ends ---------------------------------------------------------------------- */

static void a_kernel_that_panics_is_told_of(void **state)
{
    (void)state;
    expect_its_end("panic", NULL, "echo c >/proc/sysrq-trigger; sleep 100", ERR_GUEST,
                   "Kernel panic");
}

static void a_machine_may_be_switched_off_from_within(void **state)
{
    (void)state;
    expect_its_end("off", NULL, "poweroff; sleep 100", ERR_GUEST, "switched off");
    expect_its_end("off", NULL, "halt; sleep 100", ERR_GUEST, "switched off");
    expect_its_end("off", NULL, "echo o >/proc/sysrq-trigger; sleep 100", ERR_GUEST,
                   "switched off");
    expect_its_end("reset", NULL, "reboot; sleep 100", ERR_GUEST,
                   "restarted from within");
    expect_its_end("reset", NULL, "kill -TERM 1; sleep 100", ERR_GUEST,
                   "restarted from within");
    expect_its_end("reset", NULL, "echo b >/proc/sysrq-trigger; sleep 100", ERR_GUEST,
                   "restarted from within");
}

/* Output printed before is kept. */
static void a_machine_that_is_switched_off_ends_in_order(void **state)
{
    (void)state;
    struct vm *m = find("orderly", NULL);
    struct vm_result r;
    struct err e = {0};
    struct vm_exec x = {.command = STR("seq 20000; echo last >&2; poweroff; sleep 100")};
    assert_false(vm_exec(m, &x, &r, &e));
    assert_non_null(strstr(e.msg, "switched off"));
    assert_string_equal(buf_cz(&r.stderr_bytes), "last\n");
    assert_non_null(strstr(buf_cz(&r.stdout_bytes), "\n20000\n"));
    vm_result_done(&r);
    vm_release(m);
}

static void computing_time_has_an_end(void **state)
{
    (void)state;
    expect_its_end("busy", &(struct vm_options){.cpu_ns = SECOND_NS / 2},
                   "while :; do :; done", ERR_LIMIT, "computing time");
}

/* ---- survival --------------------------------------------------------------------- */

static void a_program_that_takes_all_memory_is_ended(void **state)
{
    (void)state;
    struct vm *m = find("hog", &(struct vm_options){.ram_mb = 512});
    struct vm_result r;
    run_on(m, "tail /dev/zero", 0, &r);
    assert_true(r.out_of_memory);
    assert_int_equal(r.exit_code, 137);
    vm_result_done(&r);
    expect(m, "echo still here", "still here\n");
    vm_release(m);
}

static void endless_output_is_cut_and_ends_in_time(void **state)
{
    (void)state;
    struct vm *m = find("yes", NULL);
    struct vm_result r;
    run_on(m, "yes", SECOND_NS, &r);
    assert_true(r.timed_out);
    assert_true(r.stdout_lost > 0);
    assert_in_range(r.stdout_gap, 1, r.stdout_bytes.n - 1);
    vm_result_done(&r);
    expect(m, "echo still here", "still here\n");
    vm_release(m);
}

static void a_full_disk_is_no_end(void **state)
{
    (void)state;
    struct vm *m = find("full", &(struct vm_options){.disk_bytes = 32 << 20});
    struct vm_result r;
    run_on(m, "dd if=/dev/urandom of=/root/big bs=1M count=64 conv=fsync", 0, &r);
    assert_int_equal(r.exit_code, 1);
    assert_non_null(strstr(buf_cz(&r.stderr_bytes), "No space left on device"));
    vm_result_done(&r);
    expect(m, "echo still here", "still here\n");
    vm_release(m);
}

static void a_clock_that_is_set_concerns_the_machine_alone(void **state)
{
    (void)state;
    struct vm *m = find("clock", NULL);
    struct vm_result r;
    expect(m, "date -u -s '2001-01-01 00:00:00' +%Y", "2001\n");
    run_on(m, "sleep 100", SECOND_NS / 10, &r);
    assert_true(r.timed_out);
    vm_result_done(&r);
    expect(m, "date -u -s '2200-01-01 00:00:00' +%Y", "2200\n");
    expect(m, "date +%Y", "2200\n");
    vm_release(m);
}

static void the_control_port_is_not_for_what_runs_inside(void **state)
{
    (void)state;
    struct vm *m = find("port", NULL);
    struct vm_result r;
    run_on(
        m,
        "for p in /sys/class/virtio-ports/*; do\n"
        "  grep -q cloche.control $p/name && head -c 1000000 /dev/urandom >/dev/${p##*/}\n"
        "done; kill -9 1; echo $?",
        0, &r);
    vm_result_done(&r);
    expect(m, "echo still here", "still here\n");
    vm_release(m);
}

static void a_fork_bomb_leaves_the_others_alone(void **state)
{
    (void)state;
    struct vm *bomb = find("bomb", NULL), *other = find("beside", NULL);
    struct vm_result r;
    struct err e = {0};
    struct vm_exec x = {.command = STR(":(){ :|:& };:; wait; sleep 100"),
                        .timeout_ns = 2 * SECOND_NS};
    if (vm_exec(bomb, &x, &r, &e)) /* or its machine was dropped */
        assert_true(r.timed_out);
    vm_result_done(&r);
    expect(other, "echo still here", "still here\n");
    vm_stop(bomb);
    vm_release(bomb);
    bomb = find("bomb", NULL);
    expect(bomb, "echo fresh", "fresh\n");
    vm_stop(bomb);
    vm_release(bomb);
    vm_release(other);
}

/* A shell's builtins work without a root file system; a new machine has one. */
static void a_machine_taken_apart_from_within_is_replaced(void **state)
{
    (void)state;
    struct vm *m = find("apart", NULL);
    struct vm_exec x = {.command = STR("echo more")};
    struct vm_result r;
    struct err e = {0};
    run_on(m, "umount -l /; exit", 30 * SECOND_NS, &r);
    vm_result_done(&r);
    if (vm_exec(m, &x, &r, &e)) /* or it was dropped, as it could begin nothing */
        assert_string_equal(buf_cz(&r.stdout_bytes), "more\n");
    else
        assert_int_equal(e.code, ERR_GUEST);
    vm_result_done(&r);
    vm_stop(m);
    vm_release(m);
    m = find("apart", NULL);
    expect(m, "ls -d /usr; echo fresh", "/usr\nfresh\n");
    vm_release(m);
}

/* ---- many ------------------------------------------------------------------------------ */

static void count_up(unsigned number, unsigned i, char out[static 80])
{
    (void)i; /* the shell itself */
    (void)snprintf(out, 80, "i=$((i + 1)); echo %u.$((i - 1))", number);
}

static void eight_sessions_run_fifty_commands_each_at_once(void **state)
{
    (void)state;
    struct vm *m = find("many", NULL);
    assert_int_equal(work_at_once(m, count_up), 0);
    vm_release(m);
}

static void machines_that_end_leave_no_thread_and_no_descriptor(void **state)
{
    (void)state;
    size_t threads = 0, files = 0;
    for (int i = 0; i < 200; i++) {
        struct vm *m = find("again", NULL);
        if (i % 20 == 0)
            expect(m, "echo x", "x\n");
        vm_stop(m);
        vm_release(m);
        if (i == 0) {
            threads = count_entries("/proc/self/task");
            files = count_entries("/proc/self/fd");
        }
    }
    await_threads(threads);
    assert_int_equal(count_entries("/proc/self/fd"), files);
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
        TEST(a_kernel_that_panics_is_told_of),
        TEST(a_machine_may_be_switched_off_from_within),
        TEST(a_machine_that_is_switched_off_ends_in_order),
        TEST(computing_time_has_an_end),
        TEST(a_program_that_takes_all_memory_is_ended),
        TEST(endless_output_is_cut_and_ends_in_time),
        TEST(a_full_disk_is_no_end),
        TEST(a_clock_that_is_set_concerns_the_machine_alone),
        TEST(the_control_port_is_not_for_what_runs_inside),
        TEST(a_fork_bomb_leaves_the_others_alone),
        TEST(a_machine_taken_apart_from_within_is_replaced),
        TEST(eight_sessions_run_fifty_commands_each_at_once),
        TEST(machines_that_end_leave_no_thread_and_no_descriptor),
    };
    const struct CMUnitTest none[] = {cmocka_unit_test(there_is_an_image)};
    if (access("build/vm/machine-512.mem", R_OK) != 0)
        return cmocka_run_group_tests(none, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
