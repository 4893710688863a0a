/* Owners of machines, and limits, over stand-ins for the machines. */
#include "vm/double_test.h"
#include "vm/many_test.h"

static struct vms *all;

static const struct vm_timeouts short_timeouts = {
    .start_ns = SECOND_NS / 20,
    .silence_ns = 10 * SECOND_NS,
    .answer_ns = 30 * SECOND_NS,
    .kill_ns = SECOND_NS,
    .grace_ns = 10 * SECOND_NS,
    .spare_ns = 0,
};

static void open_all(struct vms_options o)
{
    vms_close(all);
    all = vms_open(&o);
}

static int begin(void **state)
{
    (void)state;
    memset(&doubles, 0, sizeof doubles);
    all = NULL;
    open_all((struct vms_options){.machines_max = 4, .per_owner = 3});
    return 0;
}

static int end(void **state)
{
    (void)state;
    vms_close(all);
    return doubles.opened == doubles.closed ? 0 : -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

static struct vm *start(const char *owner)
{
    struct err e = {0};
    struct vm *m = vm_start(all, str_of(owner), NULL, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static struct vm *find(const char *owner, const char *handle)
{
    struct err e = {0};
    struct vm *m = vm_find(all, str_of(owner), str_of(handle), NULL, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static void expect_none(const char *owner, const char *handle, enum err_code code,
                        const char *part)
{
    struct err e = {0};
    assert_null(vm_find(all, str_of(owner), str_of(handle), NULL, &e));
    if (e.code != code || !strstr(e.msg, part))
        fail_msg("%s: %s", err_kind(e.code)->name, e.msg);
}

static void expect_no_start(const char *owner, struct vm_options o, enum err_code code,
                            const char *part)
{
    struct err e = {0};
    assert_null(vm_start(all, str_of(owner), &o, &e));
    if (e.code != code || !strstr(e.msg, part))
        fail_msg("%s: %s", err_kind(e.code)->name, e.msg);
}

static void expect_echo(struct vm *m)
{
    struct vm_result r;
    struct err e = {0};
    assert_true(vm_exec(m, &(struct vm_exec){.command = STR("echo x")}, &r, &e));
    assert_string_equal(buf_cz(&r.stdout_bytes), "x\n");
    vm_result_done(&r);
}

static void crash(struct vm *m)
{
    struct vm_result r;
    struct err e = {0};
    assert_false(vm_exec(m, &(struct vm_exec){.command = STR("panic")}, &r, &e));
    vm_result_done(&r);
}

/* ---- handles ------------------------------------------------------------------- */

static void a_handle_finds_its_machine_for_its_owner_alone(void **state)
{
    (void)state;
    struct vm *m = start("ann");
    char handle[VM_HANDLE];
    memcpy(handle, vm_handle(m), sizeof handle);
    assert_int_equal(strlen(handle), VM_HANDLE - 1);
    assert_true(str_starts(str_of(handle), "vm_"));
    struct vm *again = find("ann", handle);
    assert_ptr_equal(again, m);
    expect_none("bob", handle, ERR_NOT_FOUND, "you have no machine");
    expect_none("", handle, ERR_NOT_FOUND, "you have no machine");
    expect_none("an", handle, ERR_NOT_FOUND, "you have no machine");
    handle[5] = handle[5] == 'x' ? 'y' : 'x';
    expect_none("ann", handle, ERR_NOT_FOUND, handle);
    vm_release(again);
    vm_release(m);
}

static void handles_differ(void **state)
{
    (void)state;
    struct vm *a = start("ann"), *b = start("ann");
    assert_string_not_equal(vm_handle(a), vm_handle(b));
    vm_release(a);
    vm_release(b);
}

static void an_owner_has_one_default_machine(void **state)
{
    (void)state;
    struct vm *a = find("ann", ""), *b = find("ann", ""), *other = find("bob", "");
    assert_ptr_equal(a, b);
    assert_true(other != a);
    expect_echo(a);
    vm_release(a);
    vm_release(b);
    vm_release(other);
}

static void *find_default_machine(void *out)
{
    *(struct vm **)out = find("ann", "");
    return NULL;
}

static void who_comes_at_the_same_time_gets_the_same_default_machine(void **state)
{
    (void)state;
    struct vm *found[8];
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, find_default_machine, &found[i]), 0);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 8; i++) {
        assert_ptr_equal(found[i], found[0]);
        vm_release(found[i]);
    }
    assert_int_equal(doubles.opened, 1);
}

static void one_that_ended_is_told_of_by_its_handle(void **state)
{
    (void)state;
    struct vm *m = start("ann"), *other = start("ann");
    char handle[VM_HANDLE], stopped[VM_HANDLE];
    memcpy(handle, vm_handle(m), sizeof handle);
    memcpy(stopped, vm_handle(other), sizeof stopped);
    crash(m);
    vm_stop(other);
    vm_stop(other);
    expect_none("ann", handle, ERR_NOT_FOUND, "has ended: Kernel panic");
    expect_none("ann", stopped, ERR_NOT_FOUND, "on request");
    expect_none("bob", handle, ERR_NOT_FOUND, "you have no machine");
    vm_release(m);
    vm_release(other);
}

/* ---- starts that fail ---------------------------------------------------------------- */

static void without_an_image_there_is_no_machine_until_one_is_installed(void **state)
{
    (void)state;
    struct err e = {0};
    doubles.no_image = true;
    assert_false(vms_ready(all, &e));
    expect_none("ann", "", ERR_NOT_FOUND, "no image");
    expect_no_start("ann", (struct vm_options){0}, ERR_NOT_FOUND, "no image");
    doubles.no_image = false;
    vm_release(find("ann", ""));
}

static void options_have_limits(void **state)
{
    (void)state;
    static char owner[VM_OWNER_MAX + 2];
    memset(owner, 'o', VM_OWNER_MAX + 1);
    expect_no_start("ann", (struct vm_options){.ram_mb = 63}, ERR_INVALID,
                    "from 64 to 1024");
    expect_no_start("ann", (struct vm_options){.ram_mb = 1025}, ERR_INVALID, "not 1025");
    expect_no_start("ann", (struct vm_options){.disk_bytes = VM_DISK_MAX + (1 << 20)},
                    ERR_INVALID, "at most 2048 MB");
    expect_no_start(owner, (struct vm_options){0}, ERR_INVALID, "at most 512 bytes");
    assert_int_equal(doubles.opened, 0);
}

static void what_does_not_come_up_leaves_nothing(void **state)
{
    (void)state;
    open_all((struct vms_options){.machines_max = 1});
    vms_hurry(all, &short_timeouts);
    doubles.no_machine = true;
    expect_no_start("ann", (struct vm_options){0}, ERR_BUSY, "no memory for a machine");
    doubles.no_machine = false;
    doubles.never_ready = true;
    expect_no_start("ann", (struct vm_options){0}, ERR_TIMEOUT, "ready in time");
    doubles.never_ready = false;
    doubles.garbage_first = true;
    expect_no_start("ann", (struct vm_options){0}, ERR_GUEST, "broke the rules");
    doubles.garbage_first = false;
    vm_release(start("ann"));
}

static void *start_one(void *arg)
{
    struct cancel *stop = arg;
    struct err e = {0};
    struct vm *m = vm_start(all, STR("ann"), &(struct vm_options){.cancel = stop}, &e);
    return m || e.code != ERR_CANCELLED ? NULL : arg;
}

static void a_start_can_be_cancelled_while_the_machine_comes_up(void **state)
{
    (void)state;
    struct cancel stop;
    pthread_t thread;
    void *was_cancelled;
    cancel_init(&stop);
    doubles.never_ready = true;
    assert_int_equal(pthread_create(&thread, NULL, start_one, &stop), 0);
    while (doubles.opened == 0)
        ;
    cancel_fire(&stop);
    assert_int_equal(pthread_join(thread, &was_cancelled), 0);
    assert_non_null(was_cancelled);
    expect_no_start("ann", (struct vm_options){.cancel = &stop}, ERR_CANCELLED,
                    "cancelled");
}

/* ---- numbers ------------------------------------------------------------------------------ */

static void an_owner_has_so_many_machines_at_once(void **state)
{
    (void)state;
    struct vm *m[3] = {start("ann"), start("ann"), start("ann")};
    expect_no_start("ann", (struct vm_options){0}, ERR_LIMIT, "3 machines run for you");
    expect_none("ann", "", ERR_LIMIT, "3 machines run for you");
    vm_release(start("bob"));
    vm_stop(m[1]);
    vm_release(find("ann", ""));
    for (int i = 0; i < 3; i++)
        vm_release(m[i]);
}

static void a_process_has_so_many_machines_at_once(void **state)
{
    (void)state;
    open_all((struct vms_options){.machines_max = 2, .wait_ns = SECOND_NS / 50});
    struct vm *a = start("ann"), *b = start("bob");
    expect_no_start("cis", (struct vm_options){0}, ERR_BUSY, "2 machines run");
    vm_stop(a);
    vm_release(start("cis"));
    vm_release(a);
    vm_release(b);
}

static void who_waits_gets_the_place_that_becomes_free(void **state)
{
    (void)state;
    struct cancel stop;
    pthread_t thread;
    void *was_cancelled;
    cancel_init(&stop);
    open_all((struct vms_options){.machines_max = 1, .wait_ns = 100 * SECOND_NS});
    struct vm *a = start("bob");
    assert_int_equal(pthread_create(&thread, NULL, start_one, &stop), 0);
    cancel_fire(&stop);
    assert_int_equal(pthread_join(thread, &was_cancelled), 0);
    assert_non_null(was_cancelled);
    vm_stop(a);
    vm_release(start("ann"));
    vm_release(a);
}

static void a_machine_that_nobody_uses_makes_place(void **state)
{
    (void)state;
    open_all((struct vms_options){.machines_max = 2});
    struct vm_timeouts no_spare = short_timeouts;
    no_spare.start_ns = 10 * SECOND_NS;
    vms_hurry(all, &no_spare);
    struct vm *idle = start("ann"), *held = start("bob");
    char handle[VM_HANDLE];
    memcpy(handle, vm_handle(idle), sizeof handle);
    vm_release(idle);
    vm_release(start("cis"));
    expect_none("ann", handle, ERR_NOT_FOUND, "another needed its place");
    expect_echo(held);
    vm_release(held);
}

/* ---- budgets ----------------------------------------------------------------------------- */

/* One of ann's clients, who share a budget. */
static struct vm_options of_ann(struct vm_budget budget)
{
    budget.payer = STR("ann");
    return (struct vm_options){.ram_mb = 512, .budget = budget};
}

static struct vm *start_of(const char *owner, struct vm_options o)
{
    struct err e = {0};
    struct vm *m = vm_start(all, str_of(owner), &o, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static void a_payers_machines_count_together_whoever_owns_them(void **state)
{
    (void)state;
    struct vm_options two = of_ann((struct vm_budget){.machines = 2});
    open_all((struct vms_options){.per_owner = 3});
    struct vm *a = start_of("ann 1", two), *b = start_of("ann 2", two);
    expect_no_start("ann 2", two, ERR_LIMIT,
                    "2 machines run for you (1 for other sessions");
    vm_release(start("ann 2")); /* an owner who pays for himself is separate */
    vm_release(start("ann 2"));
    vm_release(start("ann 2"));
    expect_no_start("ann 2", (struct vm_options){0}, ERR_LIMIT, "3 machines run for you");
    vm_stop(a);
    vm_release(start_of("ann 3", two));
    vm_release(a);
    vm_release(b);
}

static void what_another_session_of_the_payer_does_not_use_makes_place(void **state)
{
    (void)state;
    struct vm_options one = of_ann((struct vm_budget){.machines = 1});
    struct vm_timeouts no_spare = short_timeouts;
    no_spare.start_ns = 10 * SECOND_NS;
    no_spare.spare_ns = 1;
    vms_hurry(all, &no_spare);
    struct vm *m = start_of("ann 1", one);
    char handle[VM_HANDLE];
    memcpy(handle, vm_handle(m), sizeof handle);
    expect_no_start("ann 2", one, ERR_LIMIT, "1 machines run for you"); /* held */
    vm_release(m);
    expect_no_start("ann 1", one, ERR_LIMIT, "0 for other sessions"); /* its own */
    vm_release(start_of("ann 2", one));
    expect_none("ann 1", handle, ERR_NOT_FOUND, "another needed its place");
}

static void a_payers_machines_have_so_much_ram_together(void **state)
{
    (void)state;
    struct vm_options o = of_ann((struct vm_budget){.machines = 9, .ram_mb = 1100});
    struct vm *a = start_of("ann 1", o), *b = start_of("ann 2", o);
    expect_no_start("ann 2", o, ERR_LIMIT, "1024 MB of RAM");
    o.ram_mb = 64;
    vm_release(start_of("ann 2", o));
    vm_release(a);
    vm_release(b);
}

static void all_machines_have_so_much_ram_together(void **state)
{
    (void)state;
    open_all((struct vms_options){.ram_bytes = (uint64_t)1000 << 20,
                                  .wait_ns = SECOND_NS / 50});
    struct vm *a = start("ann");
    expect_no_start("bob", (struct vm_options){.ram_mb = 512}, ERR_BUSY,
                    "machines with 512 MB of RAM run");
    vm_release(start_of("bob", (struct vm_options){.ram_mb = 256}));
    vm_stop(a);
    vm_release(a);
    vm_release(start("cis"));
    assert_int_equal(vms_total(all).machines, 2);
    assert_int_equal(vms_total(all).ram_bytes >> 20, 768);
    assert_int_equal(vms_total(all).memory_bytes, 12);
}

static void one_machine_alone_has_always_room(void **state)
{
    (void)state;
    open_all((struct vms_options){.ram_bytes = 1, .wait_ns = SECOND_NS / 50});
    struct vm *m = start("ann");
    expect_no_start("ann", (struct vm_options){0}, ERR_BUSY, "start a smaller one");
    vm_release(m);
}

static void compute(struct vm *m, const char *command, bool right)
{
    struct vm_result r;
    struct err e = {0};
    assert_int_equal(vm_exec(m, &(struct vm_exec){.command = str_of(command)}, &r, &e),
                     right);
    if (!right && (e.code != ERR_LIMIT || !strstr(e.msg, "computing time")))
        fail_msg("%s", e.msg);
    vm_result_done(&r);
}

static void computing_time_is_the_payers_and_not_new_with_each_machine(void **state)
{
    (void)state;
    struct vm_options o =
        of_ann((struct vm_budget){.machines = 3, .cpu_ns = 10 * SECOND_NS});
    struct vm *a = start_of("ann 1", o);
    compute(a, "compute 6000", true);
    vm_stop(a);
    vm_release(a);
    struct vm *b = start_of("ann 1", o), *c = start_of("ann 2", o);
    compute(b, "compute 3000", true);
    compute(c, "compute 2000", true); /* and is then stopped */
    compute(c, "mute", false);
    compute(b, "echo x", true);
    compute(b, "mute", false);
    expect_no_start("ann 3", o, ERR_LIMIT, "10 seconds of computing time");
    o.budget.cpu_ns = 20 * SECOND_NS; /* a larger budget */
    vm_release(start_of("ann 3", o));
    vm_release(start("ann 1")); /* another payer */
    vm_release(b);
    vm_release(c);
}

/* ---- idle ones ------------------------------------------------------------------------------ */

static void an_idle_machine_is_stopped_and_its_owner_told(void **state)
{
    (void)state;
    struct vm_result r;
    struct err e = {0};
    struct vm_options o = {.idle_ns = SECOND_NS / 1000};
    struct vm_info info;
    open_all((struct vms_options){0});
    struct vm *bobs = find("bob", ""), *m = vm_find(all, STR("ann"), STR(""), &o, &e);
    assert_non_null(m);
    expect_echo(m);
    vm_release(m);
    while (doubles.closed == 0)
        ;
    m = find("ann", "");
    assert_true(vm_exec(m, &(struct vm_exec){.command = STR("echo x")}, &r, &e));
    assert_true(r.fresh);
    assert_non_null(strstr(r.before, "without use"));
    vm_result_done(&r);
    vm_release(m);
    vm_get_info(bobs, &info); /* each payer has a budget of his own */
    assert_int_equal(info.state, VM_STATE_RUNNING);
    assert_int_equal(info.idle_max_ns, VM_IDLE_DEFAULT_NS);
    vm_release(bobs);
}

static void a_machine_in_use_is_not_idle(void **state)
{
    (void)state;
    struct err e = {0};
    struct vm_options o = {.idle_ns = 1};
    open_all((struct vms_options){0});
    struct vm *m = vm_find(all, STR("ann"), STR(""), &o, &e);
    assert_non_null(m);
    for (int i = 0; i < 100; i++)
        expect_echo(m);
    assert_int_equal(doubles.opened, 1);
    vm_release(m);
}

/* ---- information ------------------------------------------------------------------------------ */

struct told {
    struct vm_info info[20];
    size_t n;
};

static void note_info(void *arg, const struct vm_info *info)
{
    struct told *t = arg;
    t->info[t->n++] = *info;
}

static void an_owner_sees_his_machines_in_the_order_of_their_start(void **state)
{
    (void)state;
    struct told t = {0};
    struct vm *a = find("ann", ""), *b = start("ann"), *c = start("bob"),
              *d = start("ann");
    expect_echo(b);
    expect_echo(d);
    crash(b);
    vm_stop(d);
    expect_echo(a);
    vm_list(all, STR("ann"), note_info, &t);
    assert_int_equal(t.n, 3);
    assert_string_equal(t.info[0].handle, vm_handle(a));
    assert_string_equal(vm_state_name(t.info[0].state), "running");
    assert_true(t.info[0].is_default);
    assert_int_equal(t.info[0].ram_mb, VM_RAM_DEFAULT_MB);
    assert_int_equal(t.info[0].cpu_ns + t.info[0].memory_bytes + t.info[0].disk_bytes,
                     2000013);
    assert_int_equal(t.info[0].cpu_max_ns, VM_CPU_DEFAULT_NS);
    assert_int_equal(t.info[0].sessions, 1);
    assert_string_equal(t.info[0].reason, "");
    assert_int_equal(t.info[1].state, VM_STATE_FAILED);
    assert_string_equal(t.info[1].reason, "Kernel panic: as was asked for");
    assert_int_equal(t.info[2].state, VM_STATE_STOPPED);
    assert_int_equal(t.info[1].sessions + t.info[2].sessions, 0);
    vm_release(a);
    vm_release(b);
    vm_release(c);
    vm_release(d);
}

static void a_machine_that_has_ended_exposes_nothing(void **state)
{
    (void)state;
    struct vm *m = start("ann");
    struct vm_port port = {.port = 80};
    struct err e = {0};
    assert_true(vm_expose(m, &port, &e));
    assert_true(vm_unexpose(m, 80));
    vm_stop(m);
    assert_false(vm_expose(m, &port, &e));
    assert_int_equal(e.code, ERR_CANCELLED);
    assert_non_null(strstr(e.msg, "on request"));
    vm_release(m);
}

static void only_some_that_ended_are_kept_to_tell_of(void **state)
{
    (void)state;
    struct told t = {0};
    for (int i = 0; i < 10; i++) {
        struct vm *m = find("ann", "");
        crash(m);
        vm_release(m);
    }
    while (doubles.closed < 10)
        ;
    vm_release(find("ann", ""));
    vm_list(all, STR("ann"), note_info, &t);
    assert_in_range(t.n, 5, 6); /* the last may be about to be joined */
}

/* ---- leaks ---------------------------------------------------------------------------------------- */

static void two_hundred_machines_leave_no_thread_and_no_descriptor(void **state)
{
    (void)state;
    vm_release(find("ann", ""));
    size_t threads = count_entries("/proc/self/task"),
           files = count_entries("/proc/self/fd");
    for (int i = 0; i < 200; i++) {
        struct vm *m = start(i % 2 ? "ann" : "bob");
        expect_echo(m);
        if (i % 3 == 0)
            crash(m);
        vm_stop(m);
        vm_release(m);
    }
    while (doubles.closed + 1 < doubles.opened)
        ;
    assert_int_equal(doubles.opened, 201);
    await_threads(threads);
    assert_int_equal(count_entries("/proc/self/fd"), files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_handle_finds_its_machine_for_its_owner_alone),
        TEST(handles_differ),
        TEST(an_owner_has_one_default_machine),
        TEST(who_comes_at_the_same_time_gets_the_same_default_machine),
        TEST(one_that_ended_is_told_of_by_its_handle),
        TEST(without_an_image_there_is_no_machine_until_one_is_installed),
        TEST(options_have_limits),
        TEST(what_does_not_come_up_leaves_nothing),
        TEST(a_start_can_be_cancelled_while_the_machine_comes_up),
        TEST(an_owner_has_so_many_machines_at_once),
        TEST(a_process_has_so_many_machines_at_once),
        TEST(who_waits_gets_the_place_that_becomes_free),
        TEST(a_machine_that_nobody_uses_makes_place),
        TEST(a_payers_machines_count_together_whoever_owns_them),
        TEST(what_another_session_of_the_payer_does_not_use_makes_place),
        TEST(a_payers_machines_have_so_much_ram_together),
        TEST(all_machines_have_so_much_ram_together),
        TEST(one_machine_alone_has_always_room),
        TEST(computing_time_is_the_payers_and_not_new_with_each_machine),
        TEST(an_idle_machine_is_stopped_and_its_owner_told),
        TEST(a_machine_in_use_is_not_idle),
        TEST(an_owner_sees_his_machines_in_the_order_of_their_start),
        TEST(a_machine_that_has_ended_exposes_nothing),
        TEST(only_some_that_ended_are_kept_to_tell_of),
        TEST(two_hundred_machines_leave_no_thread_and_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
