/* Stages that are commands of the machine: what they are given, and what comes of them. A
 * double takes the machine's place. */
#include <errno.h>

#include "tools/fixture_test.h"

static const char *const words[] = {"program", "first", NULL};
static const struct tool command = {
    .name = "command",
    .command = words,
    .execution = {.memory_bytes = (uint64_t)512 << 20, .timeout_ms = 1000},
};

/* The double: what it was given, and what it answers. */
static struct {
    struct buf seen, input;
    uint64_t timeout_ns, memory_bytes;
    bool has_input, makes_file;
    const char *says; /* behind its input */
    uint32_t exit_code;
    enum err_code fails;
} machine;

static bool run_double(void *arg, const struct tool_command *c, struct tool_outcome *out,
                       struct err *e)
{
    char part[100];
    size_t n = 1, done;
    assert_ptr_equal(arg, &machine);
    for (size_t i = 0; i < c->word_count; i++)
        buf_printf(&machine.seen, "%s|", c->words[i]);
    buf_printf(&machine.seen, "%s|", c->folder);
    for (size_t i = 0; i < c->env_count; i++)
        buf_printf(&machine.seen, "%s|", c->env[i]);
    for (size_t i = 0; i < c->place_count; i++)
        buf_printf(&machine.seen, "%s|", c->places[i]);
    machine.timeout_ns = c->timeout_ns;
    machine.memory_bytes = c->memory_bytes;
    machine.has_input = c->read != NULL;
    while (c->read && n && !c->read(c->stream_arg, part, sizeof part, &n)) {
        buf_put(&machine.input, part, n);
        if (n && c->write(c->stream_arg, part, n, &done))
            return err_set(e, ERR_CANCELLED, "nobody reads it");
    }
    if (machine.makes_file)
        assert_int_equal(vfs_put(c->tree, STR("/work/made"), STR("made")), 0);
    if (machine.says)
        (void)c->write(c->stream_arg, machine.says, strlen(machine.says), &done);
    (void)c->write_error(c->stream_arg, "!", 1, &done);
    out->exit_code = machine.exit_code;
    out->compute_ms = 7;
    return !machine.fails || err_set(e, machine.fails, "the double fails");
}

static struct tool_world world;
static struct tool_stage stages[3];
static struct tool_result result;
static struct err e;

static int begin(void **state)
{
    (void)state;
    buf_init(&machine.seen, BUF_TEXT);
    buf_init(&machine.input, BUF_LIST);
    world = (struct tool_world){.command = run_double, .command_arg = &machine};
    memset(stages, 0, sizeof stages);
    stages[0].tool = &command;
    e = (struct err){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    tool_result_end(&result);
    buf_done(&machine.seen);
    buf_done(&machine.input);
    memset(&machine, 0, sizeof machine);
    return 0;
}

static void run(size_t count)
{
    tool_result_end(&result);
    if (!tools_run(tools, &world, stages, count, &result, &e))
        fail_msg("%s", e.msg);
}

static void it_has_its_own_words_and_then_the_calls(void **state)
{
    (void)state;
    static const char *const args[] = {"a b", ""}, *const env[] = {"X=1"};
    stages[0].args = args;
    stages[0].arg_count = 2;
    world.env = env;
    world.env_count = 1;
    machine.exit_code = 3;
    machine.says = "out";
    run(1);
    assert_string_equal(buf_cz(&machine.seen), "program|first|a b||/work|X=1|/work|");
    assert_false(machine.has_input);
    assert_int_equal(machine.timeout_ns, (uint64_t)1000 * 1000000);
    assert_int_equal(machine.memory_bytes, (uint64_t)512 << 20);
    assert_string_equal(buf_cz(&result.output), "out");
    assert_string_equal(buf_cz(&result.stages[0].errors), "!");
    assert_int_equal(result.stages[0].exit_code, 3);
    assert_int_equal(result.failed, 0);
}

static void its_input_and_files_are_the_calls(void **state)
{
    (void)state;
    struct tool_file given = {.name = STR("given"), .bytes = STR("x")};
    world.input = STR("in\0put");
    world.files = &given;
    world.file_count = 1;
    machine.makes_file = true;
    run(1);
    assert_memory_equal(result.output.at, "in\0put", 6);
    assert_int_equal(result.file_count, 1);
    assert_true(str_is(result.files[0].name, "made"));
    assert_true(str_is(result.files[0].bytes, "made"));
}

static void bytes_go_from_module_to_machine_and_back(void **state)
{
    (void)state;
    static const char *const cat[] = {"cat"};
    char much[200000];
    for (size_t i = 0; i < sizeof much; i++)
        much[i] = (char)(i * 7);
    world.input = (struct str){much, sizeof much};
    stages[1] = stages[0];
    stages[0] =
        (struct tool_stage){.tool = tool_named("probe"), .args = cat, .arg_count = 1};
    stages[2] = stages[0];
    run(3);
    assert_int_equal(result.output.n, sizeof much);
    assert_memory_equal(result.output.at, much, sizeof much);
    assert_int_equal(machine.input.n, sizeof much);
    assert_int_equal(result.failed, 3);
    tool_release(tools, stages[0].tool);
}

static void a_reader_that_has_enough_ends_it_without_failure(void **state)
{
    (void)state;
    static const char *const take[] = {"take", "3"};
    char much[200000] = {0};
    world.input = (struct str){much, sizeof much};
    stages[1] =
        (struct tool_stage){.tool = tool_named("probe"), .args = take, .arg_count = 2};
    run(2);
    assert_int_equal(result.output.n, 3);
    assert_true(result.stages[0].unread);
    assert_int_equal(result.stages[0].exit_code, 141);
    assert_int_equal(result.failed, 2);
    tool_release(tools, stages[1].tool);
}

static void what_stopped_it_is_told_as_of_a_module(void **state)
{
    (void)state;
    static const struct {
        enum err_code why;
        uint32_t code;
    } rows[] = {
        {ERR_TIMEOUT, 124}, {ERR_CANCELLED, 130}, {ERR_GUEST, 134}, {ERR_MEMORY, 137}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        machine.fails = rows[i].why;
        run(1);
        assert_int_equal(result.stages[0].stopped, rows[i].why);
        assert_int_equal(result.stages[0].exit_code, rows[i].code);
        assert_string_equal(result.stages[0].why, "command: the double fails");
    }
    machine.fails = ERR_LIMIT; /* it never ran */
    tool_result_end(&result);
    assert_false(tools_run(tools, &world, stages, 1, &result, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void without_a_machine_it_is_not_run(void **state)
{
    (void)state;
    world.command = NULL;
    assert_false(tools_run(tools, &world, stages, 1, &result, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* What is below /work comes with it; without access nothing is shown. */
static void it_is_shown_the_mounts_that_its_manifest_allows(void **state)
{
    (void)state;
    struct tool reads = command;
    int dir = os_dir_open(home, &e);
    const struct vfs_mount mounts[] = {{.at = "/data/a", .dir = dir},
                                       {.at = "/work/b", .dir = dir},
                                       {.at = "/workshop", .dir = dir}};
    world.mounts = mounts;
    world.mount_count = LENGTH(mounts);
    run(1);
    assert_string_equal(buf_cz(&machine.seen), "program|first|/work|/work|");
    buf_clear(&machine.seen);
    reads.execution.access = TOOL_READ;
    stages[0].tool = &reads;
    run(1);
    assert_string_equal(buf_cz(&machine.seen),
                        "program|first|/work|/work|/data/a|/workshop|");
    os_close(dir);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(it_has_its_own_words_and_then_the_calls),
        T(its_input_and_files_are_the_calls),
        T(bytes_go_from_module_to_machine_and_back),
        T(a_reader_that_has_enough_ends_it_without_failure),
        T(what_stopped_it_is_told_as_of_a_module),
        T(without_a_machine_it_is_not_run),
        T(it_is_shown_the_mounts_that_its_manifest_allows),
    };
    return cmocka_run_group_tests(tests, open_tools, close_tools);
}
