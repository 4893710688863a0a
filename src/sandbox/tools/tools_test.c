/* Runs: input, output, and every way to end. */
#include <errno.h>
#include <unistd.h>

#include "tools/fixture_test.h"

#define WORDS 6

struct wish {
    const char *tool, *words[WORDS];
};

static struct tool_world world;
static struct tool_stage stages[TOOL_STAGES_MAX + 1];
static size_t stage_count;
static struct tool_result result;
static struct err e;

static int begin(void **state)
{
    (void)state;
    world = (struct tool_world){0};
    memset(stages, 0, sizeof stages);
    stage_count = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    tool_result_end(&result);
    for (size_t i = 0; i < stage_count; i++)
        tool_release(tools, stages[i].tool);
    return 0;
}

static bool run(const struct wish *wishes, size_t count)
{
    end(NULL);
    e = (struct err){0};
    for (stage_count = 0; stage_count < count; stage_count++) {
        struct tool_stage *s = &stages[stage_count];
        s->tool = tool_named(wishes[stage_count].tool);
        s->args = wishes[stage_count].words;
        for (s->arg_count = 0; s->arg_count < WORDS && s->args[s->arg_count];)
            s->arg_count++;
    }
    return tools_run(tools, &world, stages, count, &result, &e);
}

#define RUN(...)                                     \
    do {                                             \
        const struct wish wishes_[] = {__VA_ARGS__}; \
        if (!run(wishes_, LENGTH(wishes_)))          \
            fail_msg("%s", e.msg);                   \
    } while (0)
#define REFUSED(code_, says, ...)                                \
    do {                                                         \
        const struct wish wishes_[] = {__VA_ARGS__};             \
        assert_false(run(wishes_, LENGTH(wishes_)));             \
        assert_int_equal(e.code, code_);                         \
        if (!strstr(e.msg, says))                                \
            fail_msg("\"%s\" does not say \"%s\"", e.msg, says); \
    } while (0)

static void assert_output(const char *text)
{
    if (!str_is(buf_view(&result.output), text))
        fail_msg("wrote \"%.*s\", errors \"%.*s\"", (int)result.output.n,
                 result.output.at, (int)result.stages[0].errors.n,
                 result.stages[0].errors.at);
}

/* It was stopped, and looks stopped. */
static void assert_stopped(size_t stage, enum err_code why, uint32_t code,
                           const char *says)
{
    const struct tool_outcome *o = &result.stages[stage];
    assert_int_equal(o->stopped, why);
    assert_int_equal(o->exit_code, code);
    if (!strstr(o->why, says))
        fail_msg("\"%s\" does not say \"%s\"", o->why, says);
}

/* ---- one tool ----------------------------------------------------------- */

static void a_tool_has_words_input_and_environment(void **state)
{
    (void)state;
    RUN({"base64", {"a", "", "b c"}});
    assert_output("base64\na\n\nb c\n");
    world.input = STR("in\0put");
    RUN({"probe", {"cat"}});
    assert_memory_equal(result.output.at, "in\0put", 6);
    const char *env[] = {"HOME=/work", "X=1"};
    world = (struct tool_world){.env = env, .env_count = 2, .folder = "/tmp"};
    RUN({"probe", {"env"}});
    assert_output("TMPDIR=/tmp\nPWD=/tmp\nHOME=/work\nX=1\n");
}

static void its_exit_code_and_errors_are_told(void **state)
{
    (void)state;
    RUN({"probe", {"exit", "3"}});
    assert_int_equal(result.stages[0].exit_code, 3);
    assert_int_equal(result.stages[0].stopped, ERR_NONE);
    assert_int_equal(result.failed, 0);
    RUN({"probe", {"complain"}});
    assert_true(str_is(buf_view(&result.stages[0].errors), "something is wrong\n"));
    RUN({"probe", {"exit", "0"}});
    assert_int_equal(result.failed, 1);
    assert_true(result.stages[0].memory_peak >= 65536);
    assert_true(result.stages[0].wall_ms > 0);
}

static void output_over_the_cap_is_counted(void **state)
{
    (void)state;
    world.output_bytes = 1000;
    RUN({"probe", {"flood", "100000"}});
    assert_int_equal(result.output.n, 1000);
    assert_int_equal(result.stages[0].stdout_lost, 99000);
    assert_int_equal(result.stages[0].exit_code, 0);
    world.output_bytes = 0;
    RUN({"probe", {"flood", "10485761"}});
    assert_int_equal(result.output.n, TOOL_OUTPUT_MAX);
    assert_int_equal(result.stages[0].stdout_lost, 1);
}

static void time_is_what_it_computes_and_sleeps(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        stages[0].timeout_ms = 50;
        RUN({"probe", {i ? "sleep" : "spin", i ? "60000" : NULL}});
        assert_stopped(0, ERR_TIMEOUT, 124, "more than 50 ms");
        assert_int_equal(result.failed, 0);
    }
    stages[0].timeout_ms = 5000; /* the manifest has less */
    RUN({"probe", {"spin"}});
    assert_stopped(0, ERR_TIMEOUT, 124, "more than 1000 ms");
    stages[0].widened = true;
    RUN({"probe", {"sleep", "1100"}});
    assert_int_equal(result.stages[0].exit_code, 0);
}

static void an_end_of_all_ends_it(void **state)
{
    (void)state;
    world.until_ns = os_mono_ns() + 30000000u;
    RUN({"probe", {"sleep", "900"}});
    assert_stopped(0, ERR_TIMEOUT, 124, "total time limit");
}

static void memory_ends_where_the_limit_is(void **state)
{
    (void)state;
    RUN({"probe", {"eat"}});
    assert_stopped(0, ERR_MEMORY, 137, "32 MB");
    assert_true(result.stages[0].memory_peak <= (uint64_t)32 << 20);
    stages[0].memory_bytes = (uint64_t)1 << 20;
    RUN({"probe", {"exit", "0"}});
    assert_stopped(0, ERR_MEMORY, 137, "1"); /* its stack alone is larger */
}

static void a_trap_is_an_abort(void **state)
{
    (void)state;
    RUN({"probe", {"abort"}});
    assert_stopped(
        0, ERR_GUEST, 134,
        "the guest failed: it ended itself, as abort() and failed assertions do");
    assert_null(strstr(result.stages[0].why, "backtrace"));
    RUN({"probe", {"deep"}});
    assert_true(result.stages[0].stopped != ERR_NONE);
}

/* ---- streams of the caller's -------------------------------------------- */

static size_t heard;
static struct cancel cancel;

static int cancel_soon(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    (void)from;
    *done = n;
    if (++heard == 3)
        cancel_fire(&cancel);
    return 0;
}

static int deaf(void *arg, const void *from, size_t n, size_t *done)
{
    (void)arg;
    (void)from;
    (void)n;
    *done = 0;
    return EPIPE;
}

static void a_cancel_ends_all_stages(void **state)
{
    (void)state;
    for (size_t count = 1; count <= 3; count++) {
        const struct wish row[] = {
            {"probe", {"yes"}}, {"probe", {"cat"}}, {"probe", {"cat"}}};
        cancel_init(&cancel);
        heard = 0;
        world.cancel = &cancel;
        world.write = cancel_soon;
        assert_true(run(row, count));
        for (size_t i = 0; i < count; i++)
            assert_stopped(i, ERR_CANCELLED, 130, "cancelled");
    }
    REFUSED(ERR_CANCELLED, "before the call started", {"probe", {"yes"}});
}

static void who_waits_for_its_input_is_told_when_it_is_there(void **state)
{
    (void)state;
    world.input = STR("abc");
    RUN({"probe", {"look"}});
    assert_output("something\n3 bytes\n");
    world.input = (struct str){0};
    RUN({"probe", {"look"}});
    assert_output("something\n0 bytes\n");
    RUN({"probe", {"flood", "5"}}, {"probe", {"look"}}, {"probe", {"cat"}});
    assert_true(str_ends(buf_view(&result.output), "\n5 bytes\n"));
    RUN({"probe", {"exit", "0"}}, {"probe", {"look"}});
    assert_true(str_ends(buf_view(&result.output), "\n0 bytes\n"));
}

static void waiting_for_input_ends_when_all_does(void **state)
{
    (void)state;
    world.until_ns = os_mono_ns() + 50000000;
    RUN({"probe", {"spin"}}, {"probe", {"look"}});
    assert_stopped(1, ERR_TIMEOUT, 124, "total time limit");
}

static void who_is_not_heard_ends_as_by_sigpipe(void **state)
{
    (void)state;
    world.write = deaf;
    RUN({"probe", {"yes"}});
    assert_int_equal(result.stages[0].exit_code, 141);
    assert_true(result.stages[0].unread);
    assert_int_equal(result.stages[0].stopped, ERR_NONE);
}

/* ---- files -------------------------------------------------------------- */

static const struct tool_file *file(const char *name)
{
    for (size_t i = 0; i < result.file_count; i++)
        if (str_is(result.files[i].name, name))
            return &result.files[i];
    return NULL;
}

static void files_are_given_and_changes_come_back(void **state)
{
    (void)state;
    const struct tool_file given[] = {{STR("a"), STR("same"), 0},
                                      {STR("b/c/d"), STR("old"), 0},
                                      {STR("e"), STR("short"), 0}};
    world.files = given;
    world.file_count = LENGTH(given);
    RUN({"probe", {"cat", "a", "b/c/d", "/work/e"}});
    assert_output("sameoldshort");
    assert_int_equal(result.file_count, 0);
    RUN({"probe", {"put", "a", "same", "b/c/d", "new", "/work/b/f"}});
    assert_int_equal(result.file_count, 1);
    assert_true(str_is(file("b/c/d")->bytes, "new"));
    world.folder = "b";
    RUN({"probe", {"put", "g", "", "/tmp/x", "not told"}});
    assert_int_equal(result.file_count, 1);
    assert_int_equal(file("b/g")->size, 0);
    assert_non_null(file("b/g")->bytes.at);
}

static void two_dots_lead_up_to_the_root(void **state)
{
    (void)state;
    const struct tool_file given = {STR("sub/a"), STR("text"), 0};
    world.files = &given;
    world.file_count = 1;
    world.folder = "sub";
    RUN({"probe",
         {"cat", "a", "../sub/a", "../../work/sub/a", "/tmp/../work/sub/a",
          "../../../../work/sub/a"}});
    assert_output("texttexttexttexttext");
    RUN({"probe", {"ls", "../.."}});
    assert_output("tmp\nwork\n");
}

static void what_is_too_much_is_named_alone(void **state)
{
    (void)state;
    RUN({"probe", {"grow", "large", "10485761"}});
    assert_int_equal(file("large")->size, 10485761);
    assert_null(file("large")->bytes.at);
    RUN({"probe", {"grow", "fits", "10485760"}});
    assert_int_equal(file("fits")->bytes.n, 10485760);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    const char *wrong[] = {"", "/etc/x", "..", "a/../b", "./a", "a//b", "a/"};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct tool_file given = {str_of(wrong[i]), STR("x"), 0};
        world.files = &given;
        world.file_count = 1;
        REFUSED(ERR_INVALID, "relative to /work", {"probe", {"exit", "0"}});
    }
    const struct tool_file both[] = {{STR("a"), STR("x"), 0}, {STR("a/b"), STR("x"), 0}};
    world.files = both;
    world.file_count = 2;
    REFUSED(ERR_INVALID, "'a/b'", {"probe", {"exit", "0"}});
    world.file_count = TOOL_FILES_MAX + 1;
    REFUSED(ERR_LIMIT, "1001 files", {"probe", {"exit", "0"}});
}

static void a_folder_that_is_not_there_is_refused(void **state)
{
    (void)state;
    world.folder = "/nowhere";
    REFUSED(ERR_NOT_FOUND, "'/nowhere'", {"probe", {"exit", "0"}});
    REFUSED(ERR_NOT_FOUND, "'/nowhere'", {"alone", {"env"}});
}

static void the_disk_is_full_in_time(void **state)
{
    (void)state;
    world.disk_bytes = 100000;
    RUN({"probe", {"grow", "f", "100001"}});
    assert_int_equal(result.stages[0].exit_code, 1);
    assert_non_null(strstr(buf_cz(&result.stages[0].errors), "No space left"));
    const struct tool_file given = {STR("a"), {buf_cz(&result.output), 0}, 0};
    world.files = &given;
    world.file_count = 1;
    world.disk_bytes = 1;
    const struct tool_file large = {STR("a"), STR("xx"), 0};
    world.files = &large;
    REFUSED(ERR_LIMIT, "2 bytes", {"probe", {"exit", "0"}});
}

static void files_are_not_made_without_end(void **state)
{
    (void)state;
    stages[0].widened = true;
    stages[0].timeout_ms = 60000;
    RUN({"probe", {"litter"}});
    char told[16];
    (void)snprintf(told, sizeof told, "%u\n", TOOL_DISK_FILES - 2); /* /work and /tmp */
    assert_output(told);
    assert_non_null(strstr(buf_cz(&result.stages[0].errors), "No space left"));
}

/* ---- fileAccess --------------------------------------------------------- */

/* Mounted at /v, with the file "old". */
static int mounted(void)
{
    int dir = os_dir_open(home, &e);
    assert_true(os_write_file(dir, "old", STR("text"), OS_REPLACE, 0600, NULL, &e));
    (void)unlinkat(dir, "new", 0);
    return dir;
}

static void access_is_as_the_manifest_says(void **state)
{
    (void)state;
    const struct {
        const char *tool;
        bool may_read, may_write;
    } rows[] = {{"alone", false, false},
                {"reader", true, false},
                {"writer", false, true},
                {"probe", true, true}};
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        bool read_only = i % 2;
        bool may_write = rows[i / 2].may_write && !read_only;
        scoped_fd int dir = mounted();
        struct vfs_mount m = {.at = "/v", .dir = dir, .writable = !read_only};
        struct os_stat st;
        struct err none = {0};
        world.mounts = &m;
        world.mount_count = 1;
        RUN({rows[i / 2].tool, {"cat", "/v/old"}});
        assert_int_equal(result.output.n, rows[i / 2].may_read ? 4 : 0);
        RUN({rows[i / 2].tool, {"put", "/v/new", "x"}});
        assert_int_equal(result.stages[0].exit_code, may_write ? 0 : 1);
        assert_int_equal(os_stat_beneath(dir, "new", &st, &none), may_write);
        RUN({rows[i / 2].tool, {"put", "/work/mine", "x"}});
        assert_int_equal(result.file_count, 1);
    }
}

static void a_mount_in_the_place_of_work_is_not_looked_through(void **state)
{
    (void)state;
    scoped_fd int dir = mounted();
    struct vfs_mount m = {.at = "/work", .dir = dir, .writable = true};
    world.mounts = &m;
    world.mount_count = 1;
    RUN({"probe", {"put", "new", "x"}});
    assert_int_equal(result.file_count, 0);
    const struct tool_file given = {STR("a"), STR("x"), 0};
    world.files = &given;
    world.file_count = 1;
    REFUSED(ERR_CONFLICT, "/work", {"probe", {"exit", "0"}});
}

/* ---- pipelines ---------------------------------------------------------- */

static void stages_read_what_those_before_wrote(void **state)
{
    (void)state;
    world.input = STR("hello\n");
    RUN({"probe", {"cat"}}, {"probe", {"cat"}}, {"probe", {"count"}});
    assert_output("6\n");
    assert_int_equal(result.failed, 3);
    RUN({"probe", {"flood", "20000001"}}, {"probe", {"cat"}}, {"probe", {"count"}});
    assert_output("20000001\n");
}

static void who_has_read_enough_is_no_failure_of_the_one_before(void **state)
{
    (void)state;
    RUN({"probe", {"yes"}}, {"probe", {"head", "2"}});
    assert_output("y\ny\n");
    assert_int_equal(result.failed, 2);
    assert_int_equal(result.stages[0].exit_code, 141);
    assert_true(result.stages[0].unread);
    RUN({"probe", {"yes"}}, {"probe", {"cat"}}, {"probe", {"cat"}},
        {"probe", {"head", "1"}});
    assert_output("y\n");
    assert_int_equal(result.failed, 4);
    RUN({"probe", {"flood", "1000000"}}, {"probe", {"exit", "0"}});
    assert_int_equal(result.failed, 2);
}

static void the_first_failure_is_told(void **state)
{
    (void)state;
    RUN({"probe", {"exit", "5"}}, {"probe", {"exit", "6"}}, {"probe", {"cat"}});
    assert_int_equal(result.failed, 0);
    RUN({"probe", {"exit", "0"}}, {"probe", {"abort"}}, {"probe", {"count"}});
    assert_int_equal(result.failed, 1);
    assert_output("0\n");
    stages[1].timeout_ms = 30;
    RUN({"probe", {"yes"}}, {"probe", {"spin"}}, {"probe", {"cat"}});
    assert_int_equal(result.failed, 1);
    assert_stopped(1, ERR_TIMEOUT, 124, "30 ms");
    assert_true(result.stages[0].unread);
}

static void a_stage_that_waits_does_not_compute(void **state)
{
    (void)state;
    stages[0].widened = true;
    stages[0].timeout_ms = 10000;
    stages[1].timeout_ms = 100;
    RUN({"probe", {"sleep", "400"}}, {"probe", {"cat"}}, {"probe", {"count"}});
    assert_int_equal(result.failed, 3);
    assert_true(result.stages[1].wall_ms > 300);
}

static void the_end_of_all_ends_all_stages(void **state)
{
    (void)state;
    world.until_ns = os_mono_ns() + 50000000u;
    RUN({"probe", {"sleep", "900"}}, {"probe", {"cat"}}, {"probe", {"cat"}});
    for (size_t i = 0; i < 3; i++)
        assert_stopped(i, ERR_TIMEOUT, 124, "total time limit");
}

static void sixteen_stages_are_the_most(void **state)
{
    (void)state;
    struct wish row[TOOL_STAGES_MAX + 1];
    for (size_t i = 0; i < LENGTH(row); i++)
        row[i] = (struct wish){"probe", {"cat"}};
    world.input = STR("through all");
    assert_true(run(row, TOOL_STAGES_MAX));
    assert_output("through all");
    assert_false(run(row, TOOL_STAGES_MAX + 1));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_false(run(row, 0));
    for (size_t i = 0; i < LENGTH(row); i++) {
        stages[i].widened = true;
        stages[i].memory_bytes = (uint64_t)1 << 30;
    }
    assert_true(run(row, 4));
    assert_false(run(row, 5));
    assert_non_null(strstr(e.msg, "5120 MB"));
}

static void only_the_first_has_an_input_of_its_own(void **state)
{
    (void)state;
    stages[1].arguments = value("{'args': ['cat'], 'stdin': 'x'}");
    REFUSED(ERR_INVALID, "first", {"probe", {"cat"}}, {"probe", {"cat"}});
    stages[1].arguments = value("{'a': 'x'}");
    REFUSED(ERR_INVALID, "first", {"probe", {"cat"}}, {"object", {0}});
    stages[1].arguments = NULL;
    stages[0].arguments = value("{'args': ['cat'], 'stdin': 'x'}");
    world.input = STR("y");
    REFUSED(ERR_INVALID, "twice", {"probe", {"cat"}}, {"probe", {"cat"}});
    world.input = STR("");
    RUN({"probe", {"cat"}}, {"probe", {"cat"}});
    assert_output("x");
}

static size_t trees_seen;

static void look(void *arg, struct vfs *tree)
{
    struct vfs_stat st;
    assert_ptr_equal(arg, &world);
    trees_seen += vfs_stat(tree, NULL, STR("/work/a"), false, &st) == 0;
}

static void each_stage_has_a_tree_of_its_own(void **state)
{
    (void)state;
    world.ended = look;
    world.ended_arg = &world;
    trees_seen = 0;
    RUN({"probe", {"put", "a", "1", "b", "1"}}, {"probe", {"put", "b", "2"}});
    assert_int_equal(trees_seen, 1);
    assert_int_equal(result.file_count, 2);
    assert_true(str_is(file("b")->bytes, "2"));
    stages[1].timeout_ms = 20;
    RUN({"probe", {"put", "a", "1"}}, {"probe", {"spin"}});
    assert_int_equal(trees_seen, 1); /* a limit stopped one: no tree is read */
}

/* ---- the result in JSON -------------------------------------------------- */

static bool told_fine; /* it was no error */

/* The result's value at a key, after a check of the whole. */
static const struct json *told(const char *key)
{
    scoped_buf struct buf text;
    buf_init(&text, (size_t)32 << 20);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    told_fine = tool_result_write(&result, stages, &w);
    json_close(&w);
    const struct json *v = json_read(buf_view(&text), scratch, &e);
    if (!v)
        fail_msg("%s", e.msg);
    assert_int_equal(told_fine, json_bool(json_get(v, "success"), false) ||
                                    json_get(v, "outcome") != NULL);
    return json_get(v, key);
}

static void text_and_bytes_are_told_apart(void **state)
{
    (void)state;
    world.input = STR("text\n");
    RUN({"probe", {"cat"}});
    assert_true(str_is(json_str(told("stdout")), "text\n"));
    assert_null(told("result")); /* the same text once */
    assert_null(told("outcome"));
    assert_int_equal(json_int(told("exitCode"), -1), 0);
    assert_true(json_int(json_get(told("stats"), "peak_memory_bytes"), 0) >= 65536);
    assert_null(told("stdoutEncoding"));
    RUN({"probe", {"bytes"}});
    assert_true(str_is(json_str(told("stdout")), "/wCA"));
    assert_true(str_is(json_str(told("stdoutEncoding")), "base64"));
}

static void an_exit_code_may_be_an_answer(void **state)
{
    (void)state;
    RUN({"reader", {"complain"}});
    assert_false(json_bool(told("success"), true));
    assert_int_equal(json_int(told("exitCode"), -1), 4);
    assert_true(str_is(json_str(told("outcome")), "it complained"));
    assert_true(told_fine);
    RUN({"reader", {"exit", "3"}});
    assert_int_equal(json_int(told("exitCode"), -1), 3);
    assert_null(told("outcome"));
    assert_false(told_fine);
    /* Nor does it make the pipeline fail. */
    RUN({"reader", {"complain"}}, {"probe", {"count"}});
    assert_true(json_bool(told("success"), false));
    assert_int_equal(json_int(told("exitCode"), -1), 0);
}

static void what_was_cut_says_so(void **state)
{
    (void)state;
    world.input = STR("aä€");
    world.output_bytes = 5;
    RUN({"probe", {"cat"}});
    assert_true(str_is(json_str(told("stdout")), "aä\n[... 3 bytes left out ...]\n"));
    assert_int_equal(json_int(json_get(told("truncated"), "stdout"), 0), 3);
    assert_int_equal(json_int(json_get(told("truncated"), "stdoutAt"), 0), 3);
}

static void objects_are_read_or_the_call_failed(void **state)
{
    (void)state;
    stages[0].arguments = value("{'a': 'x', 'n': 5}");
    RUN({"object", {0}});
    assert_true(str_is(json_str(told("stdout")), "{\"a\":\"x\",\"n\":5}"));
    assert_true(str_is(json_str(told("returns")), "object"));
    assert_true(json_bool(told("success"), false));
    stages[0].arguments = NULL;
    world.input = STR("no json");
    RUN({"object", {0}});
    assert_false(json_bool(told("success"), true));
    assert_int_equal(json_int(told("exitCode"), -1), 0);
    assert_non_null(strstr(json_str(told("error")).at, "JSON"));
}

static void ends_are_told_by_their_kind(void **state)
{
    (void)state;
    stages[0].timeout_ms = 20;
    RUN({"probe", {"spin"}});
    assert_true(str_is(json_str(json_get(told("errorDetails"), "type")), "Timeout"));
    assert_int_equal(json_int(told("exitCode"), 0), 124);
    stages[0].timeout_ms = 0;
    RUN({"probe", {"exit", "2"}});
    assert_null(told("error"));
    assert_int_equal(json_int(told("exitCode"), 0), 2);
    RUN({"probe", {"complain"}}, {"probe", {"cat"}});
    assert_int_equal(json_int(told("exitCode"), 0), 4);
    assert_int_equal(json_length(told("stages")), 2);
    assert_true(str_is(json_str(told("stderr")), "something is wrong\n"));
}

static void files_are_told_by_name(void **state)
{
    (void)state;
    RUN({"probe", {"put", "a", "text"}}, {"probe", {"grow", "b", "10485761"}});
    const struct json *files = told("files");
    assert_int_equal(json_length(files), 2);
    assert_true(str_is(json_str(json_get(json_at(files, 0), "text")), "text"));
    assert_null(json_get(json_at(files, 1), "text"));
    assert_int_equal(json_int(json_get(json_at(files, 1), "size"), 0), 10485761);
    assert_int_equal(json_int(json_get(told("truncated"), "files"), 0), 1);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_tool_has_words_input_and_environment),
        T(its_exit_code_and_errors_are_told),
        T(output_over_the_cap_is_counted),
        T(time_is_what_it_computes_and_sleeps),
        T(an_end_of_all_ends_it),
        T(memory_ends_where_the_limit_is),
        T(a_trap_is_an_abort),
        T(a_cancel_ends_all_stages),
        T(who_waits_for_its_input_is_told_when_it_is_there),
        T(waiting_for_input_ends_when_all_does),
        T(who_is_not_heard_ends_as_by_sigpipe),
        T(files_are_given_and_changes_come_back),
        T(two_dots_lead_up_to_the_root),
        T(what_is_too_much_is_named_alone),
        T(names_that_lead_elsewhere_are_refused),
        T(a_folder_that_is_not_there_is_refused),
        T(the_disk_is_full_in_time),
        T(files_are_not_made_without_end),
        T(access_is_as_the_manifest_says),
        T(a_mount_in_the_place_of_work_is_not_looked_through),
        T(stages_read_what_those_before_wrote),
        T(who_has_read_enough_is_no_failure_of_the_one_before),
        T(the_first_failure_is_told),
        T(a_stage_that_waits_does_not_compute),
        T(the_end_of_all_ends_all_stages),
        T(sixteen_stages_are_the_most),
        T(only_the_first_has_an_input_of_its_own),
        T(each_stage_has_a_tree_of_its_own),
        T(text_and_bytes_are_told_apart),
        T(an_exit_code_may_be_an_answer),
        T(what_was_cut_says_so),
        T(objects_are_read_or_the_call_failed),
        T(ends_are_told_by_their_kind),
        T(files_are_told_by_name),
    };
    return cmocka_run_group_tests(tests, open_tools, close_tools);
}
