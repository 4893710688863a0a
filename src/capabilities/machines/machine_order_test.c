/* Options of a command for a machine, and its result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "machines/internal.h"
#include "place/place.h"
#include "programs/programs.h"
#include "json/json.h"

static struct place place;
static uint32_t most_ms = 5000; /* what the policy allows */
static struct machine_order order;
static struct err e;

#define test(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)

static bool read(const char *options)
{
    const struct tool_call call = {.place = &place, .arena = arena};
    e = (struct err){0};
    order = (struct machine_order){0};
    const struct json *v = json_read(str_of(options), arena, &e);
    return v && machine_order_read(&order, &call, most_ms, v, &e);
}

static void assert_command(const char *options, const char *says)
{
    if (!read(options))
        fail_msg("%s", e.msg);
    assert_true(str_is(order.exec.command, says));
}

static void assert_refused(const char *options, enum err_code code, const char *says)
{
    assert_false(read(options));
    if (e.code != code || !strstr(e.msg, says) || !strstr(e.msg, "nothing ran"))
        fail_msg("\"%s\" does not say \"%s\"", e.msg, says);
}

static void words_are_quoted_so_that_bash_reads_them_back(void **state)
{
    (void)state;
    assert_command("{\"command\":\"ls | wc\"}", "ls | wc");
    assert_command("{\"command\":[\"ls\"]}", "'ls'");
    assert_command("{\"command\":[\"a b\",\"it's\",\"\",\"$x\\n\"]}",
                   "'a b' 'it'\\''s' '' '$x\n'");
}

static void time_is_the_usual_or_what_the_policy_allows(void **state)
{
    (void)state;
    assert_true(read("{\"command\":\"x\"}"));
    assert_int_equal(order.exec.timeout_ns, 5000000000);
    assert_true(read("{\"command\":\"x\",\"timeout\":7}"));
    assert_int_equal(order.exec.timeout_ns, 7000000);
    assert_refused("{\"command\":\"x\",\"timeoutMs\":5001}", ERR_INVALID, "1 to 5000");
    assert_refused("{\"command\":\"x\",\"timeoutMs\":1.5}", ERR_INVALID, "1 to 5000");
    assert_refused("{\"command\":\"x\",\"timeoutMs\":\"7\"}", ERR_INVALID, "1 to 5000");
    assert_refused("{\"command\":\"x\",\"maxOutput\":16777217}", ERR_INVALID, "16777216");
    most_ms = 3600000;
    assert_true(read("{\"command\":\"x\"}"));
    assert_int_equal(order.exec.timeout_ns, VM_TIMEOUT_DEFAULT_NS);
    most_ms = 5000;
}

static void mounts_are_paths_or_say_more(void **state)
{
    (void)state;
    assert_true(read("{\"command\":\"x\",\"mounts\":[\"/data\",{\"mount\":\"/vault\","
                     "\"at\":\"/notes\",\"mode\":\"rw\"}]}"));
    assert_int_equal(order.mounts.count, 2);
    assert_string_equal(order.mounts.all[0].at, "/data");
    assert_int_equal(order.mounts.all[0].mode, MOUNT_USUAL);
    assert_true(str_is(order.mounts.all[1].of, "/vault"));
    assert_string_equal(order.mounts.all[1].at, "/notes");
    assert_int_equal(order.mounts.all[1].mode, MOUNT_RW);
    static const struct {
        const char *mounts, *says;
    } wrong[] = {{"7", "a list"},
                 {"\"/data\"", "a list"},
                 {"[7]", "mounts has number"},
                 {"[\"\"]", "names no mount"},
                 {"[{}]", "names no mount"},
                 {"[{\"at\":\"/x\"}]", "names no mount"},
                 {"[{\"mount\":7}]", "mount is number"},
                 {"[{\"mount\":\"/a\",\"mode\":\"w\"}]", "the mode 'w'"},
                 {"[{\"mount\":\"/a\",\"host\":\"/etc\"}]", "does not accept 'host'"},
                 {"[\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\","
                  "\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\",\"/a\"]",
                  "more than 16"}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char options[300];
        (void)snprintf(options, sizeof options, "{\"command\":\"x\",\"mounts\":%s}",
                       wrong[i].mounts);
        assert_refused(options, i + 1 < LENGTH(wrong) ? ERR_INVALID : ERR_LIMIT,
                       wrong[i].says);
    }
}

static void what_is_null_is_as_if_it_was_not_said(void **state)
{
    (void)state;
    assert_true(read("{\"command\":\"x\",\"cwd\":null,\"env\":null,\"stdin\":null,"
                     "\"machine\":null,\"session\":null}"));
    assert_null(order.exec.cwd);
    assert_null(order.exec.input.at);
    assert_refused("{\"command\":null}", ERR_INVALID, "command is");
}

static void an_empty_input_is_an_input(void **state)
{
    (void)state;
    assert_true(read("{\"command\":\"x\",\"stdin\":\"\"}"));
    assert_non_null(order.exec.input.at);
    assert_true(read("{\"command\":\"x\",\"stdin\":{\"base64\":\"AAE=\"}}"));
    assert_int_equal(order.exec.input.n, 2);
}

static void variables_are_counted_and_named(void **state)
{
    (void)state;
    assert_true(read("{\"command\":\"x\",\"env\":{\"A\":\"1=2\",\"B\":\"\"}}"));
    assert_int_equal(order.exec.env_count, 2);
    assert_string_equal(order.env[0], "A=1=2");
    assert_refused("{\"command\":\"x\",\"env\":{\"\":\"1\"}}", ERR_INVALID, "has ''");
    assert_refused("{\"command\":\"x\",\"env\":[]}", ERR_INVALID, "env is array");
    assert_false(read("{\"command\":\"x\",\"env\":{\"A\":\"a\\u0000b\"}}"));
    scoped_buf struct buf text;
    buf_init(&text, 65536);
    buf_cstr(&text, "{\"command\":\"x\",\"env\":{");
    for (unsigned i = 0; i <= MACHINE_ENV_MAX; i++)
        buf_printf(&text, "%s\"A%u\":\"\"", i ? "," : "", i);
    buf_cstr(&text, "}}");
    assert_refused(buf_cz(&text), ERR_LIMIT, "more than 256");
}

static void an_owner_is_credential_name_and_session(void **state)
{
    (void)state;
    const struct grant a = {.principal = "token a"}, b = {.principal = "token b"};
    const struct caller who[] = {
        {.name = "http token a", .grant = &a},
        {.name = "http token a", .grant = &b},
        {.name = "http token a", .grant = &a, .session = "s"},
        {.name = "http token a", .grant = &a, .session = "t"},
        {.name = "http token a"},
    };
    char owners[LENGTH(who)][MACHINE_OWNER], again[MACHINE_OWNER];
    for (size_t i = 0; i < LENGTH(who); i++) {
        machine_owner(&who[i], owners[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(owners[i], owners[k]);
    }
    machine_owner(&who[2], again);
    assert_string_equal(again, owners[2]);
}

/* ---- while it runs --------------------------------------------------------------- */

static char told[4096];

static bool hears(void *arg, enum client_level level)
{
    (void)arg;
    return level >= CLIENT_INFO;
}

static void log_line_of(void *arg, enum client_level level, const char *logger,
                        struct str data)
{
    (void)arg;
    (void)level;
    assert_string_equal(logger, "vm");
    size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%.*s ", STR_ARGS(data));
}

static void assert_told(const char *const *pieces, const char *says)
{
    const struct client_ways ways = {.hears = hears, .log = log_line_of};
    const struct client client = {.ways = &ways};
    const struct caller who = {.client = &client};
    const struct tool_call call = {.who = &who};
    struct machine_live live = {.call = &call};
    told[0] = '\0';
    for (; *pieces; pieces++)
        machine_live_output(&live, VM_STREAM_OUT, str_of(*pieces));
    machine_live_end(&live);
    assert_string_equal(told, says);
}
#define T(at, bytes) "{\"stream\":\"stdout\",\"offset\":" at ",\"text\":\"" bytes "\"} "
#define B(at, bytes) "{\"stream\":\"stdout\",\"offset\":" at ",\"base64\":\"" bytes "\"} "

static void no_character_is_told_in_two(void **state)
{
    (void)state;
    assert_told((const char *[]){"a\xc3", "\xa9", "b", NULL},
                T("0", "a") T("1", "é") T("3", "b"));
    assert_told((const char *[]){"\xf0", "\x9f", "\x98", "\x80", NULL}, T("0", "😀"));
    assert_told((const char *[]){"\xe2\x82", NULL}, B("0", "4oI="));
    assert_told((const char *[]){"\xff", "ok", NULL}, B("0", "/w==") T("1", "ok"));
    assert_told((const char *[]){"\xc3", "x", NULL}, B("0", "w3g="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(words_are_quoted_so_that_bash_reads_them_back),
        test(time_is_the_usual_or_what_the_policy_allows),
        test(mounts_are_paths_or_say_more),
        test(what_is_null_is_as_if_it_was_not_said),
        test(an_empty_input_is_an_input),
        test(variables_are_counted_and_named),
        test(an_owner_is_credential_name_and_session),
        test(no_character_is_told_in_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
