/* Commands, sessions and keyboards, over a stand-in for the machine. */
#include "vm/double_test.h"
#include "vm/internal.h"
#include "vm/many_test.h"

static struct vms *all;
static struct vm *machine;

static const struct vm_timeouts short_timeouts = {
    .start_ns = 20 * SECOND_NS,
    .silence_ns = SECOND_NS / 20,
    .answer_ns = SECOND_NS / 20,
    .kill_ns = SECOND_NS / 50,
    .grace_ns = SECOND_NS / 20,
    .spare_ns = 0,
};

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

/* For machines that do not answer: short timeouts. */
static void hurry(void)
{
    struct err e = {0};
    vm_release(machine);
    vms_close(all);
    all = vms_open(&(struct vms_options){.per_owner = 3});
    vms_hurry(all, &short_timeouts);
    machine = vm_find(all, STR("ann"), STR(""), NULL, &e);
    assert_non_null(machine);
}

static bool run_it(struct vm_exec x, struct vm_result *r, struct err *e)
{
    *e = (struct err){0};
    return vm_exec(machine, &x, r, e);
}

static void expect_out(struct vm_exec x, const char *out)
{
    struct vm_result r;
    struct err e;
    if (!run_it(x, &r, &e))
        fail_msg("%s", e.msg);
    assert_string_equal(buf_cz(&r.stdout_bytes), out);
    vm_result_done(&r);
}

static void expect_error(struct vm_exec x, enum err_code code, const char *part)
{
    struct vm_result r;
    struct err e;
    assert_false(run_it(x, &r, &e));
    if (e.code != code || !strstr(e.msg, part))
        fail_msg("%s: %s", err_kind(e.code)->name, e.msg);
    vm_result_done(&r);
}

#define COMMAND(text, ...) ((struct vm_exec){.command = STR(text), ##__VA_ARGS__})

/* ---- results ------------------------------------------------------------------- */

static void output_and_errors_come_apart_and_unaltered(void **state)
{
    (void)state;
    struct vm_result r;
    struct err e;
    assert_true(run_it(COMMAND("err  \xff\t \r"), &r, &e));
    assert_string_equal(buf_cz(&r.stderr_bytes), " \xff\t \r\n");
    assert_int_equal(r.stdout_bytes.n, 0);
    assert_int_equal(r.exit_code, 0);
    assert_int_equal(r.wall_ns, 3000000);
    assert_int_equal(r.cpu_ns, 2000000);
    assert_false(r.fresh || r.timed_out || r.cancelled || r.shell_ended || r.held);
    vm_result_done(&r);
}

static void a_shell_that_ends_is_told_of(void **state)
{
    (void)state;
    struct vm_result r;
    struct err e;
    assert_true(run_it(COMMAND("exit 3"), &r, &e));
    assert_int_equal(r.exit_code, 3);
    assert_true(r.shell_ended);
    vm_result_done(&r);
    expect_out(COMMAND("echo again"), "again\n");
}

static void a_command_out_of_time_says_so(void **state)
{
    (void)state;
    struct vm_result r;
    struct err e;
    assert_true(run_it(COMMAND("wait", .timeout_ns = SECOND_NS), &r, &e));
    assert_true(r.timed_out);
    assert_int_equal(r.exit_code, 128 + SIGTERM);
    vm_result_done(&r);
}

static void of_much_output_both_ends_are_kept(void **state)
{
    (void)state;
    struct vm_result r;
    struct err e;
    assert_true(run_it(COMMAND("flood 10000000", .output_bytes = 1000), &r, &e));
    assert_int_equal(r.stdout_lost, 10000000 - 1000);
    assert_int_equal(r.stdout_bytes.n, 1000);
    assert_int_equal(r.stdout_gap, 500);
    vm_result_done(&r);
}

struct heard {
    uint64_t bytes[2];
};

static void read_bytes(void *arg, enum vm_stream which, struct str bytes)
{
    struct heard *h = arg;
    h->bytes[which] += bytes.n;
}

static void output_is_heard_as_it_comes_and_need_not_be_kept(void **state)
{
    (void)state;
    struct heard h = {0};
    struct vm_result r;
    struct err e;
    assert_true(run_it(
        COMMAND("flood 3000001", .unkept = true, .output = read_bytes, .output_arg = &h),
        &r, &e));
    assert_int_equal(h.bytes[0] + h.bytes[1], 3000001);
    assert_true(h.bytes[1] > 0);
    assert_int_equal(r.stdout_bytes.n + r.stdout_lost, 0);
    vm_result_done(&r);
}

static void input_is_handed_over_whatever_its_size(void **state)
{
    (void)state;
    static char much[3000000];
    struct vm_result r;
    struct err e;
    memset(much, 'i', sizeof much);
    assert_true(
        run_it(COMMAND("cat", .input = {much, sizeof much}, .output_bytes = sizeof much),
               &r, &e));
    assert_int_equal(r.stdout_bytes.n, sizeof much);
    vm_result_done(&r);
    expect_out(COMMAND("cat", .input = STR("")), "");
}

/* ---- refusals --------------------------------------------------------------------- */

static void what_no_shell_can_run_is_refused(void **state)
{
    (void)state;
    static char long_one[VM_COMMAND_MAX + 1], path[5000];
    memset(path, 'p', sizeof path - 1);
    memset(long_one, 'c', sizeof long_one);
    const char *no_name[] = {"=x"}, *no_value[] = {"x"}, *digit[] = {"1x=1"},
               *odd[] = {"a-b=1"};
    expect_error(COMMAND("echo a\0b"), ERR_INVALID, "NUL");
    expect_error((struct vm_exec){.command = {long_one, sizeof long_one}}, ERR_LIMIT,
                 "1048577 bytes");
    expect_error(COMMAND("echo", .cwd = ""), ERR_INVALID, "directory");
    expect_error(COMMAND("echo", .cwd = path), ERR_INVALID, "directory");
    expect_error(COMMAND("echo", .env = no_name, .env_count = 1), ERR_INVALID, "\"=x\"");
    expect_error(COMMAND("echo", .env = no_value, .env_count = 1), ERR_INVALID,
                 "NAME=value");
    expect_error(COMMAND("echo", .env = digit, .env_count = 1), ERR_INVALID, "\"1x=1\"");
    expect_error(COMMAND("echo", .env = odd, .env_count = 1), ERR_INVALID, "\"a-b=1\"");
    expect_error(COMMAND("echo", .session = STR("a b")), ERR_INVALID, "session's name");
    expect_error(COMMAND("echo", .session = STR("a\0b")), ERR_INVALID, "session's name");
    expect_error(COMMAND("refuse"), ERR_BUSY, "no process?left ?; nothing was run");
    expect_out(COMMAND("echo fine"), "fine\n");
}

static void variables_have_a_limit(void **state)
{
    (void)state;
    static char value[VM_ENV_BYTES];
    memset(value, 'v', sizeof value - 1);
    value[0] = 'N', value[1] = '=';
    const char *env[] = {value, "A=1"};
    expect_out(COMMAND("echo fits", .env = env, .env_count = 1), "fits\n");
    expect_error(COMMAND("echo", .env = env, .env_count = 2), ERR_LIMIT,
                 "of at most 61440");
}

static void a_command_may_have_a_mebibyte(void **state)
{
    (void)state;
    static char text[VM_COMMAND_MAX];
    memset(text, 'c', sizeof text);
    memcpy(text, "length ", 7);
    expect_out((struct vm_exec){.command = {text, sizeof text}}, "1048576\n");
}

/* ---- sessions ------------------------------------------------------------------------- */

static void a_session_keeps_its_shell(void **state)
{
    (void)state;
    expect_out(COMMAND("number"), "1\n");
    expect_out(COMMAND("number", .session = STR("build")), "2\n");
    expect_out(COMMAND("number", .session = STR("default")), "1\n");
    expect_out(COMMAND("number", .session = STR("build")), "2\n");
    expect_out(COMMAND("number", .apart = true), "0\n");
    expect_out(COMMAND("number", .pty = true), "0\n");
}

static void a_closed_session_begins_anew(void **state)
{
    (void)state;
    struct err e = {0};
    expect_out(COMMAND("number"), "1\n");
    assert_true(vm_session_close(machine, STR(""), &e));
    expect_out(COMMAND("number"), "2\n");
    assert_false(vm_session_close(machine, STR("other"), &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void there_are_only_so_many_sessions(void **state)
{
    (void)state;
    struct err e = {0};
    char name[10];
    for (unsigned i = 0; i < VM_SESSIONS_MAX; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        expect_out(COMMAND("echo x", .session = str_of(name)), "x\n");
    }
    expect_error(COMMAND("echo x", .session = STR("more")), ERR_LIMIT, "32 sessions");
    assert_true(vm_session_close(machine, STR("s7"), &e));
    expect_out(COMMAND("echo x", .session = STR("more")), "x\n");
}

/* ---- several at once --------------------------------------------------------------------- */

struct other {
    struct vm_exec x;
    struct vm_result r;
    struct err e;
    bool ran;
    pthread_t thread;
};

static void *run_other(void *arg)
{
    struct other *o = arg;
    o->ran = vm_exec(machine, &o->x, &o->r, &o->e);
    return NULL;
}

static void begin_other(struct other *o, struct vm_exec x)
{
    *o = (struct other){.x = x};
    assert_int_equal(pthread_create(&o->thread, NULL, run_other, o), 0);
}

static void end_other(struct other *o)
{
    assert_int_equal(pthread_join(o->thread, NULL), 0);
    vm_result_done(&o->r);
}

/* Waits until that many commands are under way. */
static void await_execs(unsigned n)
{
    struct vm_info info;
    do
        vm_get_info(machine, &info);
    while (info.execs != n);
}

static void a_command_waits_for_its_turn_in_a_session(void **state)
{
    (void)state;
    struct vm_keyboard *k = vm_keyboard_new();
    struct other first, second;
    begin_other(&first, COMMAND("cat", .keyboard = k));
    await_execs(1);
    expect_error(COMMAND("echo late", .timeout_ns = SECOND_NS / 50), ERR_BUSY,
                 "still runs another command; nothing was run");
    expect_out(COMMAND("echo beside", .session = STR("b")), "beside\n");
    expect_out(COMMAND("echo apart", .apart = true), "apart\n");
    begin_other(&second, COMMAND("echo second"));
    vm_keyboard_end(k);
    end_other(&first);
    assert_true(first.ran);
    assert_int_equal(pthread_join(second.thread, NULL), 0);
    assert_string_equal(buf_cz(&second.r.stdout_bytes), "second\n");
    vm_result_done(&second.r);
    vm_keyboard_free(k);
}

static void there_are_only_so_many_commands_at_once(void **state)
{
    (void)state;
    static struct other others[VM_EXECS_MAX];
    struct cancel stop;
    cancel_init(&stop);
    for (unsigned i = 0; i < VM_EXECS_MAX; i++)
        begin_other(&others[i], COMMAND("wait", .apart = true));
    await_execs(VM_EXECS_MAX);
    expect_error(COMMAND("echo x"), ERR_LIMIT, "64 commands");
    vm_stop(machine);
    for (unsigned i = 0; i < VM_EXECS_MAX; i++) {
        end_other(&others[i]);
        assert_false(others[i].ran);
        assert_int_equal(others[i].e.code, ERR_CANCELLED);
    }
}

static void echo_numbers(unsigned number, unsigned i, char out[static 80])
{
    (void)snprintf(out, 80, "echo %u.%u", number, i);
}

static void eight_sessions_run_fifty_commands_each_at_once(void **state)
{
    (void)state;
    assert_int_equal(work_at_once(machine, echo_numbers), 0);
}

/* ---- cancel ------------------------------------------------------------------------------ */

static void a_cancelled_command_is_sent_signals(void **state)
{
    (void)state;
    struct other o;
    struct cancel stop;
    cancel_init(&stop);
    begin_other(&o, COMMAND("wait", .cancel = &stop));
    await_execs(1);
    cancel_fire(&stop);
    assert_int_equal(pthread_join(o.thread, NULL), 0);
    assert_true(o.ran && o.r.cancelled && !o.r.timed_out);
    assert_int_equal(o.r.exit_code, 128 + SIGTERM);
    vm_result_done(&o.r);
    expect_error(COMMAND("echo x", .cancel = &stop), ERR_CANCELLED, "nothing was run");
    expect_out(COMMAND("echo fine"), "fine\n");
}

static void who_waits_for_a_turn_can_be_cancelled(void **state)
{
    (void)state;
    struct other first, second;
    struct cancel stop, stop_first;
    cancel_init(&stop);
    cancel_init(&stop_first);
    begin_other(&first, COMMAND("wait", .cancel = &stop_first));
    await_execs(1);
    begin_other(&second, COMMAND("echo x", .cancel = &stop));
    cancel_fire(&stop);
    end_other(&second);
    assert_false(second.ran);
    assert_int_equal(second.e.code, ERR_CANCELLED);
    cancel_fire(&stop_first);
    end_other(&first);
}

/* ---- without a thread -------------------------------------------------------------------- */

#define MANY 200u

static void count_wake(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static bool is_over(struct vm_command *c)
{
    uint64_t look;
    return vm_exec_look(c, &look);
}

static void commands_wait_without_a_thread(void **state)
{
    (void)state;
    struct vm_command *all_of_them[MANY];
    atomic_uint woken = 0;
    struct err e = {0};
    size_t before = count_entries("/proc/self/task");
    for (unsigned i = 0; i < MANY; i++) {
        struct vm_exec x = COMMAND("echo here", .session = i % 2 ? STR("b") : STR("a"));
        all_of_them[i] = vm_exec_begin(machine, &x, count_wake, &woken, &e);
        assert_non_null(all_of_them[i]);
    }
    assert_true(count_entries("/proc/self/task") <= before);
    for (unsigned i = 0; i < MANY; i++) {
        struct vm_result r;
        while (!is_over(all_of_them[i]))
            ;
        assert_true(vm_exec_end(all_of_them[i], &r, &e));
        assert_string_equal(buf_cz(&r.stdout_bytes), "here\n");
        vm_result_done(&r);
    }
    assert_true(atomic_load(&woken) >= MANY);
}

static void a_command_that_is_called_off_ends_without_its_caller(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_result r;
    struct vm_exec wait = COMMAND("wait"), next = COMMAND("echo never");
    struct vm_command *runs = vm_exec_begin(machine, &wait, NULL, NULL, &e);
    assert_false(is_over(runs));
    struct vm_command *queued = vm_exec_begin(machine, &next, NULL, NULL, &e);
    assert_false(is_over(queued));
    await_execs(1);
    assert_false(vm_exec_end(queued, &r, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    vm_result_done(&r);
    e = (struct err){0};
    assert_true(vm_exec_end(runs, &r, &e));
    assert_true(r.cancelled);
    vm_result_done(&r);
    await_execs(0); /* by the keeper */
    expect_out(COMMAND("echo fine"), "fine\n");
}

static void a_machine_that_does_not_end_what_was_called_off_is_dropped(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_result r;
    struct vm_info info;
    hurry();
    struct vm_exec deaf = COMMAND("deaf");
    struct vm_command *c = vm_exec_begin(machine, &deaf, NULL, NULL, &e);
    assert_false(is_over(c));
    assert_true(vm_exec_end(c, &r, &e));
    vm_result_done(&r);
    do
        vm_get_info(machine, &info);
    while (info.state == VM_STATE_RUNNING);
    assert_int_equal(info.state, VM_STATE_FAILED);
}

static void a_machine_that_does_not_let_go_of_a_cancelled_command_is_dropped(void **state)
{
    (void)state;
    struct other o;
    struct cancel stop;
    cancel_init(&stop);
    hurry();
    begin_other(&o, COMMAND("deaf", .cancel = &stop));
    await_execs(1);
    cancel_fire(&stop);
    end_other(&o);
    assert_false(o.ran);
    assert_int_equal(o.e.code, ERR_GUEST);
    assert_non_null(strstr(o.e.msg, "did not end a command that was killed"));
}

static void a_machine_that_does_not_end_what_is_out_of_time_is_dropped(void **state)
{
    (void)state;
    hurry();
    expect_error(COMMAND("deaf", .timeout_ns = SECOND_NS / 100), ERR_GUEST,
                 "the command ran in part");
}

/* ---- machines that fail ---------------------------------------------------------------------- */

static void a_machine_that_does_not_answer_is_dropped(void **state)
{
    (void)state;
    hurry();
    expect_error(COMMAND("mute", .timeout_ns = UINT64_MAX), ERR_GUEST,
                 "has not answered");
}

static void a_silent_command_is_no_fault(void **state)
{
    (void)state;
    struct other o;
    struct vm_keyboard *k = vm_keyboard_new();
    hurry();
    uint64_t until =
        os_mono_ns() + 4 * (short_timeouts.silence_ns + short_timeouts.answer_ns);
    begin_other(&o, COMMAND("cat", .keyboard = k));
    while (os_mono_ns() < until)
        expect_out(COMMAND("echo x", .session = STR("b")), "x\n");
    await_execs(1);
    vm_keyboard_end(k);
    assert_int_equal(pthread_join(o.thread, NULL), 0);
    assert_true(o.ran);
    vm_result_done(&o.r);
    vm_keyboard_free(k);
}

static void a_panic_is_told_of_and_the_next_machine_is_fresh(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_result r;
    struct vm_exec x = COMMAND("echo next");
    expect_error(COMMAND("panic"), ERR_GUEST,
                 "Kernel panic: as was asked for; the command");
    expect_error(COMMAND("echo x"), ERR_GUEST, "the next command starts a fresh one");
    struct vm *next = vm_find(all, STR("ann"), STR(""), NULL, &e);
    assert_non_null(next);
    assert_true(next != machine);
    assert_true(vm_exec(next, &x, &r, &e));
    assert_true(r.fresh);
    assert_string_equal(r.before, "Kernel panic: as was asked for");
    assert_string_equal(buf_cz(&r.stdout_bytes), "next\n");
    vm_result_done(&r);
    assert_true(vm_exec(next, &x, &r, &e));
    assert_false(r.fresh);
    vm_result_done(&r);
    vm_release(next);
}

/* Beside another command the cause may be lack of memory, which that one's end would
 * release. */
static void a_machine_that_can_begin_nothing_is_dropped(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_exec x = COMMAND("echo next");
    struct vm_result r;
    expect_error(COMMAND("refuse"), ERR_BUSY, "nothing was run");
    expect_out(COMMAND("echo as before"), "as before\n");
    expect_error(COMMAND("spent"), ERR_GUEST, "(the machine has no files left for it)");
    struct vm *next = vm_find(all, STR("ann"), STR(""), NULL, &e);
    assert_non_null(next);
    assert_true(vm_exec(next, &x, &r, &e));
    assert_true(r.fresh);
    vm_result_done(&r);
    vm_release(next);
}

static void a_machine_that_breaks_the_rules_is_dropped(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rogues); i++) {
        struct err e = {0};
        expect_error((struct vm_exec){.command = str_of(rogues[i])}, ERR_GUEST,
                     "the machine ");
        vm_release(machine);
        machine = vm_find(all, STR("ann"), STR(""), NULL, &e);
        assert_non_null(machine);
    }
}

static void all_commands_of_a_machine_hear_of_its_end(void **state)
{
    (void)state;
    struct other o[4];
    for (size_t i = 0; i < LENGTH(o); i++)
        begin_other(&o[i], COMMAND("wait", .apart = true));
    await_execs(LENGTH(o));
    expect_error(COMMAND("panic"), ERR_GUEST, "Kernel panic");
    for (size_t i = 0; i < LENGTH(o); i++) {
        end_other(&o[i]);
        assert_int_equal(o[i].e.code, ERR_GUEST);
    }
}

/* ---- keyboards ----------------------------------------------------------------------------------- */

static void what_is_typed_reaches_the_command(void **state)
{
    (void)state;
    static char much[1000000];
    struct vm_keyboard *k = vm_keyboard_new();
    struct other o;
    memset(much, 'k', sizeof much);
    begin_other(&o, COMMAND("cat", .keyboard = k));
    assert_true(vm_keyboard_type(k, STR("first ")));
    assert_true(vm_keyboard_type(k, (struct str){much, sizeof much}));
    while (vm_keyboard_offer(k, STR("!")) == 0)
        ;
    vm_keyboard_end(k);
    assert_int_equal(pthread_join(o.thread, NULL), 0);
    assert_int_equal(o.r.stdout_bytes.n, sizeof much + 7);
    vm_result_done(&o.r);
    assert_false(vm_keyboard_type(k, STR("too late")));
    assert_int_equal(vm_keyboard_offer(k, STR("too late")), 0);
    vm_keyboard_free(k);
}

static void resizes_and_signals_reach_it_also_from_before(void **state)
{
    (void)state;
    struct vm_keyboard *k = vm_keyboard_new();
    struct other o;
    vm_keyboard_resize(k, 30, 100);
    begin_other(&o, COMMAND("size", .pty = true, .keyboard = k));
    await_execs(1);
    assert_true(vm_keyboard_type(k, STR("x")));
    vm_keyboard_resize(k, 40, 120);
    vm_keyboard_signal(k, 0);
    vm_keyboard_signal(k, SIGTERM);
    assert_int_equal(pthread_join(o.thread, NULL), 0);
    assert_string_equal(buf_cz(&o.r.stdout_bytes), "30x100\n40x120\n");
    assert_int_equal(o.r.exit_code, 128 + SIGTERM);
    vm_result_done(&o.r);
    vm_keyboard_free(k);
}

static void *type_on(void *keyboard)
{
    static char much[VM_INPUT_WINDOW * 3];
    return vm_keyboard_type(keyboard, (struct str){much, sizeof much}) ? keyboard : NULL;
}

static void who_types_is_let_go_when_the_machine_ends(void **state)
{
    (void)state;
    struct vm_keyboard *k = vm_keyboard_new();
    struct other o;
    pthread_t typist;
    void *typed = k;
    begin_other(&o, COMMAND("mute", .keyboard = k));
    await_execs(1);
    assert_int_equal(pthread_create(&typist, NULL, type_on, k), 0);
    vm_stop(machine);
    end_other(&o);
    assert_int_equal(pthread_join(typist, &typed), 0);
    assert_null(typed);
    vm_keyboard_free(k);
}

static void a_keyboard_of_a_command_that_is_refused_lets_go(void **state)
{
    (void)state;
    struct vm_keyboard *k = vm_keyboard_new();
    expect_error(COMMAND("echo a\0b", .keyboard = k), ERR_INVALID, "NUL");
    assert_false(vm_keyboard_type(k, STR("x")));
    vm_keyboard_free(k);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_machine, close_machine)

static void computing_time_is_the_machines_but_not_others(void **state)
{
    (void)state;
    struct other o;
    struct vm_result r;
    struct err e;
    assert_true(run_it(COMMAND("compute 70"), &r, &e));
    assert_int_equal(r.cpu_ns, 72000000); /* as the machine reported */
    vm_result_done(&r);
    begin_other(&o, COMMAND("wait", .session = STR("other")));
    await_execs(1);
    assert_true(run_it(COMMAND("compute 70"), &r, &e));
    assert_int_equal(r.cpu_ns, 1000000);
    vm_result_done(&r);
    vm_stop(machine);
    end_other(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(output_and_errors_come_apart_and_unaltered),
        TEST(a_shell_that_ends_is_told_of),
        TEST(a_command_out_of_time_says_so),
        TEST(of_much_output_both_ends_are_kept),
        TEST(output_is_heard_as_it_comes_and_need_not_be_kept),
        TEST(input_is_handed_over_whatever_its_size),
        TEST(what_no_shell_can_run_is_refused),
        TEST(variables_have_a_limit),
        TEST(a_command_may_have_a_mebibyte),
        TEST(a_session_keeps_its_shell),
        TEST(a_closed_session_begins_anew),
        TEST(there_are_only_so_many_sessions),
        TEST(a_command_waits_for_its_turn_in_a_session),
        TEST(there_are_only_so_many_commands_at_once),
        TEST(eight_sessions_run_fifty_commands_each_at_once),
        TEST(a_cancelled_command_is_sent_signals),
        TEST(who_waits_for_a_turn_can_be_cancelled),
        TEST(a_machine_that_does_not_let_go_of_a_cancelled_command_is_dropped),
        TEST(a_machine_that_does_not_end_what_is_out_of_time_is_dropped),
        TEST(commands_wait_without_a_thread),
        TEST(a_command_that_is_called_off_ends_without_its_caller),
        TEST(a_machine_that_does_not_end_what_was_called_off_is_dropped),
        TEST(a_machine_that_does_not_answer_is_dropped),
        TEST(a_silent_command_is_no_fault),
        TEST(a_panic_is_told_of_and_the_next_machine_is_fresh),
        TEST(a_machine_that_can_begin_nothing_is_dropped),
        TEST(a_machine_that_breaks_the_rules_is_dropped),
        TEST(all_commands_of_a_machine_hear_of_its_end),
        TEST(what_is_typed_reaches_the_command),
        TEST(resizes_and_signals_reach_it_also_from_before),
        TEST(who_types_is_let_go_when_the_machine_ends),
        TEST(a_keyboard_of_a_command_that_is_refused_lets_go),
        TEST(computing_time_is_the_machines_but_not_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
