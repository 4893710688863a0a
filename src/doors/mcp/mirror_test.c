/* Parameters mirrored in headers: rules for schemas and requests. */
#include <stdio.h>
#include <strings.h>

#include "mcp/fake_test.h"

/* ---- schemas ------------------------------------------------------------ */

static enum err_code read_schema(const char *text)
{
    scoped(arena_free) struct arena *arena = arena_new(1 << 20);
    struct err e = {0};
    const struct json *schema = json_read(str_of(text), arena, &e);
    assert_non_null(schema);
    struct action tool = {.name = "tool"};
    struct mirrors m = {0};
    bool ok = mirrors_read(&m, &tool, schema, &e);
    mirrors_done(&m);
    assert_int_equal(ok, e.code == ERR_NONE);
    return e.code;
}

#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define MARKED(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":" name "}"

static void annotations_may_stand_at_primitive_properties(void **state)
{
    (void)state;
    static const char *const fine[] = {
        OBJECT(""),
        OBJECT("\"a\":" MARKED("string", "\"Region\"")),
        OBJECT("\"a\":" MARKED("integer", "\"A\"") ",\"b\":" MARKED("boolean", "\"B\"")),
        OBJECT("\"a\":" OBJECT("\"b\":" OBJECT("\"c\":" MARKED("string", "\"c!#$\"")))),
        /* a parameter of that name, and one called properties */
        OBJECT("\"x-mcp-header\":{\"type\":\"object\"}"),
        OBJECT("\"properties\":" MARKED("string", "\"P\"")),
    };
    for (size_t i = 0; i < LENGTH(fine); i++)
        assert_int_equal(read_schema(fine[i]), ERR_NONE);
}

static void annotations_that_clients_would_refuse_are_our_bug(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        OBJECT("\"a\":" MARKED("string", "\"\"")),
        OBJECT("\"a\":" MARKED("string", "\"a b\"")),
        OBJECT("\"a\":" MARKED("string", "\"a\\r\\nb\"")),
        OBJECT("\"a\":" MARKED("string", "\"a:b\"")),
        OBJECT("\"a\":" MARKED("string", "\"\\u0000\"")),
        OBJECT("\"a\":" MARKED("string", "\"\\u00e9\"")),
        OBJECT("\"a\":" MARKED("string", "7")),
        OBJECT("\"a\":" MARKED("number", "\"A\"")),
        OBJECT("\"a\":" MARKED("object", "\"A\"")),
        OBJECT("\"a\":{\"x-mcp-header\":\"A\"}"),
        OBJECT("\"a\":" MARKED("string", "\"A\"") ",\"b\":" MARKED("string", "\"a\"")),
        "{\"type\":\"object\",\"x-mcp-header\":\"A\"}",
        OBJECT("\"a\":{\"type\":\"array\",\"items\":" MARKED("string", "\"A\"") "}"),
        "{\"type\":\"object\",\"anyOf\":[" OBJECT(
            "\"a\":" MARKED("string", "\"A\"")) "]}",
        "{\"$defs\":{\"a\":" MARKED("string", "\"A\"") "},\"type\":\"object\"}",
        "{\"if\":" OBJECT("\"a\":" MARKED("string", "\"A\"")) ",\"type\":\"object\"}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        if (read_schema(wrong[i]) != ERR_BUG)
            fail_msg("taken: %s", wrong[i]);
}

static void annotations_lie_eight_deep_at_most(void **state)
{
    (void)state;
    for (unsigned depth = 8; depth <= 9; depth++) {
        scoped_buf struct buf text;
        buf_init(&text, 4096);
        for (unsigned i = 0; i < depth; i++)
            buf_cstr(&text, "{\"type\":\"object\",\"properties\":{\"a\":");
        buf_cstr(&text, MARKED("string", "\"A\""));
        for (unsigned i = 0; i < depth; i++)
            buf_cstr(&text, "}}");
        assert_int_equal(read_schema(buf_cz(&text)), depth == 8 ? ERR_NONE : ERR_BUG);
    }
}

/* ---- requests ----------------------------------------------------------- */

#define SCHEMA                                                        \
    OBJECT("\"text\":" MARKED("string", "\"Text\"") ",\"n\":" MARKED( \
        "integer", "\"N\"") ","                                       \
                            "\"on\":" MARKED("boolean", "\"On\"") ",\"at\":" INNER)
#define INNER OBJECT("\"inn\":" MARKED("string", "\"Inn\""))

static const struct action marked[] = {
    {"marked", "Marked", "Has parameters that are repeated.", SCHEMA, NULL, true, false,
     true, false},
};

static const struct action *list(void *arg, size_t *n)
{
    (void)arg;
    *n = 1;
    return marked;
}

static const struct action *named(void *arg, struct str name)
{
    (void)arg;
    return str_is(name, "marked") ? marked : NULL;
}

static unsigned ran;

static bool perform(void *arg, const struct action *which, const struct json *arguments,
                    const struct caller *who, struct answer *out, struct err *e)
{
    (void)arg, (void)which, (void)arguments, (void)who, (void)e;
    ran++;
    return buf_cstr(&out->json, "{}");
}

/* One header, as "Name: value"; "" before a repeated one. */
static struct {
    const char *name, *value;
    size_t count;
} given;

static struct str look_up(const void *arg, const char *name, size_t *count)
{
    (void)arg;
    bool is = given.name && !strcasecmp(given.name, name);
    *count = is ? given.count : 0;
    return is ? str_of(given.value) : (struct str){0};
}

static int call(const char *arguments, const char *name, const char *value)
{
    given.name = name;
    given.value = value;
    struct err e = {0};
    struct backend b = {.list = list, .named = named, .call = perform};
    scoped_buf struct buf out;
    scoped_buf struct buf text;
    buf_init(&out, 1 << 20);
    buf_init(&text, 1 << 20);
    buf_printf(&text,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"marked\",\"arguments\":%s,\"_meta\":{"
               "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
               "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
               arguments);
    struct mcp *m = mcp_open_on(&b, &e);
    assert_non_null(m);
    struct session session = {0};
    struct envelope env = {.http = true,
                           .session = &session,
                           .version = STR("2026-07-28"),
                           .method = STR("tools/call"),
                           .name = STR("marked"),
                           .header = look_up};
    struct reply reply = {.out = &out};
    ran = 0;
    struct call *c = take_message(m, buf_view(&text), &env, &reply);
    if (c)
        call_run(c, &fake_front, &reply);
    mcp_close(m);
    const char *at = strstr(buf_cz(&out), "\"error\":{\"code\":");
    int code = at ? atoi(at + strlen("\"error\":{\"code\":")) : 0;
    assert_int_equal(ran, code == 0);
    assert_int_equal(reply.status, code ? 400 : 200);
    return code;
}

static void a_header_that_repeats_its_argument_is_fine(void **state)
{
    (void)state;
    given.count = 1;
    static const char *const rows[][3] = {
        {"{}", NULL, NULL},
        {"{\"text\":null}", NULL, NULL},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", "Hello"},
        {"{\"text\":\"Hello\"}", "mcp-param-text", "=?base64?SGVsbG8=?="},
        {"{\"text\":\"\"}", "Mcp-Param-Text", ""},
        {"{\"text\":\"Hello, \xe4\xb8\x96\xe7\x95\x8c\"}", "Mcp-Param-Text",
         "=?base64?SGVsbG8sIOS4lueVjA==?="},
        {"{\"text\":\"=?base64?literal?=\"}", "Mcp-Param-Text",
         "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        /* one of the two marks alone means nothing */
        {"{\"text\":\"SGVsbG8=\"}", "Mcp-Param-Text", "SGVsbG8="},
        {"{\"text\":\"=?base64?SGVsbG8=\"}", "Mcp-Param-Text", "=?base64?SGVsbG8="},
        {"{\"text\":\"=?BASE64?SGVsbG8=?=\"}", "Mcp-Param-Text", "=?BASE64?SGVsbG8=?="},
        {"{\"n\":42}", "Mcp-Param-N", "42"},
        {"{\"n\":42}", "Mcp-Param-N", "42.0"},
        {"{\"n\":-7}", "Mcp-Param-N", "-7"},
        {"{\"n\":9007199254740991}", "Mcp-Param-N", "9007199254740991"},
        {"{\"on\":true}", "Mcp-Param-On", "true"},
        {"{\"on\":false}", "Mcp-Param-On", "false"},
        {"{\"at\":{\"inn\":\"x\"}}", "Mcp-Param-Inn", "x"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (call(rows[i][0], rows[i][1], rows[i][2]) != 0)
            fail_msg("refused: %s %s", rows[i][0], rows[i][2] ? rows[i][2] : "");
}

static void a_header_that_says_something_else_is_a_mismatch(void **state)
{
    (void)state;
    given.count = 1;
    static const char *const rows[][3] = {
        {"{\"text\":\"Hello\"}", NULL, NULL},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", "hello"},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", ""},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", "=?base64?SGVsbG8?="},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", "=?base64?SGVs!!!bG8=?="},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text", "=?base64?SGVsbG9=?="},
        {"{\"text\":\"Hello\"}", "Mcp-Param-Text",
         "=?base64?"
         "?="},
        {"{\"text\":\"\xc3\xa9\"}", "Mcp-Param-Text", "\xc3\xa9"},
        {"{\"text\":\"a\\u0001\"}", "Mcp-Param-Text", "a\x01"},
        /* what the arguments do not have cannot be said of them */
        {"{}", "Mcp-Param-Text", "Hello"},
        {"{\"text\":null}", "Mcp-Param-Text", "null"},
        {"{\"n\":42}", "Mcp-Param-N", "43"},
        {"{\"n\":42}", "Mcp-Param-N", "042"},
        {"{\"n\":42}", "Mcp-Param-N", "42x"},
        {"{\"n\":42}", "Mcp-Param-N", ""},
        /* a double could not tell these two apart */
        {"{\"n\":9007199254740993}", "Mcp-Param-N", "9007199254740992"},
        {"{\"on\":true}", "Mcp-Param-On", "True"},
        {"{\"on\":true}", "Mcp-Param-On", "1"},
        {"{\"at\":{\"inn\":\"x\"}}", NULL, NULL},
        {"{\"at\":{\"inn\":\"x\"}}", "Mcp-Param-Inn", "y"},
        {"{\"text\":[]}", "Mcp-Param-Text", "[]"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (call(rows[i][0], rows[i][1], rows[i][2]) != MCP_HEADER_MISMATCH)
            fail_msg("taken: %s %s", rows[i][0], rows[i][2] ? rows[i][2] : "");
}

static void a_header_that_is_there_twice_is_a_mismatch(void **state)
{
    (void)state;
    given.count = 2;
    assert_int_equal(call("{\"text\":\"a\"}", "Mcp-Param-Text", "a"),
                     MCP_HEADER_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annotations_may_stand_at_primitive_properties),
        cmocka_unit_test(annotations_that_clients_would_refuse_are_our_bug),
        cmocka_unit_test(annotations_lie_eight_deep_at_most),
        cmocka_unit_test(a_header_that_repeats_its_argument_is_fine),
        cmocka_unit_test(a_header_that_says_something_else_is_a_mismatch),
        cmocka_unit_test(a_header_that_is_there_twice_is_a_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
