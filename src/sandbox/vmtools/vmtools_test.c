/* Commands of tools in machines of build/vm: their files, streams and ends. */
#include "vmtools/vmtools.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/traps_test.h"
#include "os/os.h"
#include "vfs/vfs.h"

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

/* One run: what it reads, and what it has written. */
static struct {
    struct vm *machine;
    struct tool_command c;
    struct cancel cancel;
    struct vmtool_use use;
    struct tool_outcome out;
    uint64_t to_read; /* bytes of 'x' */
    uint64_t takes;   /* bytes of output, and then no more */
    bool silent;      /* its input says nothing, and does not end */
    struct buf written, errors;
    struct err e;
} run;

static int read_x(void *arg, void *to, size_t n, size_t *done)
{
    (void)arg;
    *done = n < run.to_read ? n : (size_t)run.to_read;
    memset(to, 'x', *done);
    run.to_read -= *done;
    return 0;
}

static int ready(void *arg, uint64_t until_ns, size_t *bytes)
{
    (void)arg, (void)until_ns;
    *bytes = (size_t)run.to_read;
    return run.silent ? EAGAIN : 0;
}

static int write_out(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    *done = n;
    buf_put(&run.written, from, n);
    return run.written.n > run.takes ? EPIPE : 0;
}

static int write_errors(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    *done = n;
    buf_put(&run.errors, from, n);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    memset(&run, 0, sizeof run);
    buf_init(&run.written, (size_t)4 << 20);
    buf_init(&run.errors, BUF_TEXT);
    cancel_init(&run.cancel);
    run.takes = UINT64_MAX;
    run.c = (struct tool_command){.timeout_ns = 60 * SECOND_NS,
                                  .memory_bytes = TOOL_MACHINE_BYTES,
                                  .write = write_out,
                                  .write_error = write_errors,
                                  .cancel = &run.cancel};
    run.machine = vm_start(all, STR("owner"), &(struct vm_options){0}, &run.e);
    if (!run.machine)
        print_error("%s\n", run.e.msg);
    return run.machine ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    vm_stop(run.machine);
    vm_release(run.machine);
    buf_done(&run.written);
    buf_done(&run.errors);
    return 0;
}

static bool runs(const char *text)
{
    run.e = (struct err){0};
    return vmtool_run(run.machine, &run.c, str_of(text), &run.use, &run.out, &run.e);
}

static void several_folders_of_one_tree_are_seen_and_given_back(void **state)
{
    (void)state;
    static const char *const places[] = {"/work", "/data"};
    scoped(vfs_free) struct vfs *tree =
        vfs_new(&(struct vfs_quota){.bytes = 1000000, .files = 100, .open = 100});
    assert_int_equal(vfs_mkdir(tree, NULL, STR("/work")), 0);
    assert_int_equal(vfs_mkdir(tree, NULL, STR("/data")), 0);
    assert_int_equal(vfs_put(tree, STR("/data/a"), STR("given")), 0);
    run.c.tree = tree;
    run.c.places = places;
    run.c.place_count = 2;
    run.c.folder = "/work";
    assert_true(
        runs("cat /data/a; echo made > b; mv b c; ln c d; rm /data/a; (sleep 100; "
             "echo late > late) & exit 4"));
    assert_int_equal(run.out.exit_code, 4);
    assert_string_equal(buf_cz(&run.written), "given");
    scoped_buf struct buf text = buf_of(100);
    assert_int_equal(vfs_get(tree, STR("/work/d"), &text), 0);
    assert_string_equal(buf_cz(&text), "made\n");
    struct vfs_stat st;
    assert_int_equal(vfs_stat(tree, NULL, STR("/data/a"), true, &st), ENOENT);
    /* Again: the places are free. */
    assert_true(runs("ls; ls /data"));
    assert_string_equal(buf_cz(&run.written), "givenc\nd\n");
}

static void much_goes_in_and_comes_out(void **state)
{
    (void)state;
    run.to_read = 3000000;
    run.c.read = read_x;
    run.c.ready = ready;
    assert_true(runs("tr x y"));
    assert_int_equal(run.written.n, 3000000);
    assert_null(memchr(run.written.at, 'x', run.written.n));
    assert_int_equal(run.use.input_bytes, 3000000);
    assert_int_equal(run.use.stdout_bytes, 3000000);
    assert_true(run.use.cpu_ns > 0 && run.out.memory_peak > 0);
}

static void who_reads_nothing_need_not_wait_for_its_input(void **state)
{
    (void)state;
    run.c.read = read_x;
    run.c.ready = ready;
    run.silent = true;
    assert_true(runs("echo done"));
    run.silent = false;
    run.to_read = 10000000; /* more than the machine takes */
    assert_true(runs("exec <&-; echo done"));
    assert_string_equal(buf_cz(&run.written), "done\ndone\n");
}

static void who_is_not_heard_is_ended(void **state)
{
    (void)state;
    run.takes = 100000;
    assert_false(runs("yes"));
    assert_int_equal(run.e.code, ERR_CANCELLED);
    cancel_init(&run.cancel);
    run.takes = UINT64_MAX;
    buf_clear(&run.written);
    assert_true(runs("pgrep -c yes; true"));
    assert_string_equal(buf_cz(&run.written), "0\n");
}

static void its_time_ends_it(void **state)
{
    (void)state;
    run.c.timeout_ns = SECOND_NS / 4;
    assert_false(runs("echo begun; sleep 1000"));
    assert_int_equal(run.e.code, ERR_TIMEOUT);
    assert_non_null(strstr(run.e.msg, "250 ms"));
    assert_string_equal(buf_cz(&run.written), "begun\n");
    run.c.timeout_ns = 1000 * SECOND_NS;
    run.c.until_ns = os_mono_ns() + SECOND_NS / 4;
    assert_false(runs("sleep 1000"));
    assert_non_null(strstr(run.e.msg, "total time"));
    assert_false(runs("echo never")); /* it is over by now */
    assert_int_equal(run.e.code, ERR_TIMEOUT);
    assert_string_equal(buf_cz(&run.written), "begun\n");
}

static void a_cancel_before_it_began_runs_nothing(void **state)
{
    (void)state;
    cancel_fire(&run.cancel);
    run.c.read = read_x;
    run.c.ready = ready;
    run.silent = true;
    assert_false(runs("echo never"));
    assert_int_equal(run.e.code, ERR_CANCELLED);
    assert_int_equal(run.written.n, 0);
}

static void words_are_no_shells(void **state)
{
    (void)state;
    static const char *const words[] = {"printf", "%s|", "a b", "$(id)", "it's", "", "*"};
    scoped_buf struct buf text = buf_of(VM_COMMAND_MAX);
    run.c.words = words;
    run.c.word_count = LENGTH(words);
    assert_true(vmtool_text(&run.c, &text, &run.e));
    assert_true(runs(buf_cz(&text)));
    assert_string_equal(buf_cz(&run.written), "a b|$(id)|it's||*|");
    scoped_buf struct buf small = buf_of(20);
    assert_false(vmtool_text(&run.c, &small, &run.e));
    assert_int_equal(run.e.code, ERR_LIMIT);
}

static void memory_is_the_machines_in_whole_megabytes(void **state)
{
    (void)state;
    struct tool_command c = {.memory_bytes = 1};
    assert_int_equal(vmtool_ram_mb(&c), VM_RAM_MIN_MB);
    c.memory_bytes = ((uint64_t)100 << 20) + 1;
    assert_int_equal(vmtool_ram_mb(&c), 101);
    c.memory_bytes = UINT64_MAX >> 2;
    assert_int_equal(vmtool_ram_mb(&c), VM_RAM_MAX_MB);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(several_folders_of_one_tree_are_seen_and_given_back),
        T(much_goes_in_and_comes_out),
        T(who_reads_nothing_need_not_wait_for_its_input),
        T(who_is_not_heard_is_ended),
        T(its_time_ends_it),
        T(a_cancel_before_it_began_runs_nothing),
        T(words_are_no_shells),
        T(memory_is_the_machines_in_whole_megabytes),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
