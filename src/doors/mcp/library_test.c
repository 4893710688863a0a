/* Resources, prompts, completion and pages, over a test library. */
#include <stdio.h>

#include "mcp/fake_test.h"

#define ROWS 25u /* of each list, ten a page */

static struct mcp *m;
static struct session session;
static struct envelope env;
static struct buf out;
static struct arena *arena;
static struct reply reply;

/* Rows "0" to "24"; a page begins after a row's name. */
static bool fake_rows(void *arg, const struct caller *who, enum workspaces_list what,
                      struct str after, struct buf *rows, struct buf *next, struct err *e)
{
    (void)arg, (void)who, (void)e;
    char name[24];
    unsigned from = 0;
    for (size_t i = 0; i < after.n; i++)
        from = 10 * from + (unsigned)(after.at[i] - '0');
    from += after.n > 0;
    struct json_writer w = json_writer(rows);
    json_open_array(&w);
    for (unsigned i = from; i < ROWS && i < from + 10; i++) {
        (void)snprintf(name, sizeof name, "%u of %d", i, (int)what);
        json_open_object(&w);
        json_pair_cstr(&w, "name", name);
        json_close(&w);
    }
    json_close(&w);
    if (from + 10 < ROWS)
        buf_printf(next, "%u", from + 9);
    return true;
}

static bool fake_read(void *arg, const struct caller *who, struct str uri,
                      struct buf *contents, struct err *e)
{
    (void)arg, (void)who;
    if (str_is(uri, "x:denied"))
        return err_set(e, ERR_DENIED, "not yours");
    if (!str_is(uri, "x:there"))
        return err_set(e, ERR_NOT_FOUND, "there is none");
    return buf_cstr(contents, "[{\"uri\":\"x:there\",\"text\":\"t\"}]");
}

static bool fake_prompt(void *arg, const struct caller *who, struct str name,
                        const struct json *arguments, struct str *description,
                        struct buf *messages, struct err *e)
{
    (void)arg, (void)who;
    if (!str_is(name, "p"))
        return err_set(e, ERR_NOT_FOUND, "there is none");
    *description = json_str(json_get(arguments, "say"));
    return buf_cstr(messages, "[]");
}

static bool fake_complete(void *arg, const struct caller *who,
                          const struct workspaces_completion *what,
                          struct buf *completion, struct err *e)
{
    (void)arg, (void)who, (void)e;
    struct json_writer w = json_writer(completion);
    json_open_object(&w);
    json_key(&w, "values");
    json_open_array(&w);
    json_put_cstr(&w, what->of_prompt ? "prompt" : "resource");
    json_put_str(&w, what->name);
    json_put_str(&w, what->argument);
    json_put_str(&w, what->begun);
    json_put_str(&w, json_str(json_get(what->known, "k")));
    json_close(&w);
    json_close(&w);
    return true;
}

static int opened(void **state)
{
    (void)state;
    m = fake_mcp();
    m->backend.library = (struct library){.list = fake_rows,
                                          .read = fake_read,
                                          .prompt = fake_prompt,
                                          .complete = fake_complete};
    session = (struct session){.there = true};
    env = (struct envelope){.session = &session};
    buf_init(&out, 1 << 20);
    arena = arena_new(1 << 24);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    buf_done(&out);
    arena_free(arena);
    mcp_close(m);
    return 0;
}

#define MODERN_META                                                          \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

/* `params`: the inside of an object, with ' for ". */
static const struct json *ask(const char *method, const char *params, bool modern)
{
    char text[4096];
    int n =
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s}}",
                 method, params, modern && *params ? "," : "", modern ? MODERN_META : "");
    assert_in_range(n, 1, sizeof text - 1);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    buf_clear(&out);
    reply = (struct reply){.out = &out};
    struct call *c = take_message(m, str_of(text), &env, &reply);
    if (c)
        call_run(c, &fake_front, &reply);
    struct err e = {0};
    const struct json *v = json_read(buf_view(&out), arena, &e);
    if (!v)
        fail_msg("%s: %s", e.msg, buf_cz(&out));
    return v;
}

static int64_t code_of(const struct json *v)
{
    return json_int(fake_at(v, "error.code"), 0);
}

static const struct {
    const char *method, *key;
} lists[] = {
    {"resources/list", "resources"},
    {"resources/templates/list", "resourceTemplates"},
    {"prompts/list", "prompts"},
};

static void every_list_goes_on_from_its_cursor(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(lists); i++) {
        char params[200] = "";
        size_t rows = 0, pages = 0;
        struct str cursor;
        do {
            const struct json *result =
                json_get(ask(lists[i].method, params, i % 2), "result");
            rows += json_length(json_get(result, lists[i].key));
            cursor = json_str(json_get(result, "nextCursor"));
            (void)snprintf(params, sizeof params, "'cursor':'%.*s'", STR_ARGS(cursor));
            pages++;
        } while (cursor.n);
        assert_int_equal(rows, ROWS);
        assert_int_equal(pages, 3);
    }
}

static void a_cursor_that_this_list_has_not_made_is_refused(void **state)
{
    (void)state;
    const struct json *first = ask("resources/list", "", false);
    struct str cursor = json_str(fake_at(first, "result.nextCursor"));
    char params[200];
    (void)snprintf(params, sizeof params, "'cursor':'%.*s'", STR_ARGS(cursor));
    assert_int_equal(code_of(ask("resources/list", params, false)), 0);
    assert_int_equal(code_of(ask("prompts/list", params, false)), RPC_PARAMS);
    /* Each of its letters counts. */
    for (size_t i = 0; i < cursor.n; i++) {
        char other[200];
        memcpy(other, params, sizeof other);
        char *c = other + strlen("'cursor':'") + i;
        *c = *c == 'A' ? 'B' : 'A';
        assert_int_equal(code_of(ask("resources/list", other, true)), RPC_PARAMS);
        assert_int_equal(reply.status, 400);
    }
    assert_int_equal(code_of(ask("resources/list", "'cursor':''", false)), RPC_PARAMS);
    assert_int_equal(code_of(ask("resources/list", "'cursor':1", false)), RPC_PARAMS);
    assert_int_equal(code_of(ask("resources/list", "'cursor':null", false)), 0);
}

static void what_is_not_found_has_the_eras_code(void **state)
{
    (void)state;
    const struct json *v = ask("resources/read", "'uri':'x:none'", false);
    assert_int_equal(code_of(v), -32002);
    assert_true(str_is(json_str(fake_at(v, "error.data.uri")), "x:none"));
    v = ask("resources/read", "'uri':'x:none'", true);
    assert_int_equal(code_of(v), RPC_PARAMS);
    assert_int_equal(reply.status, 400);
    v = ask("resources/read", "'uri':'x:denied'", true);
    assert_int_equal(code_of(v), err_kind(ERR_DENIED)->jsonrpc);
    assert_int_equal(code_of(ask("prompts/get", "'name':'q'", false)), RPC_PARAMS);
    assert_int_equal(code_of(ask("resources/read", "", false)), RPC_PARAMS);
    assert_int_equal(code_of(ask("prompts/get", "'name':[]", false)), RPC_PARAMS);
}

static void what_is_there_is_answered_in_both_eras(void **state)
{
    (void)state;
    const struct json *v = ask("resources/read", "'uri':'x:there'", false);
    assert_true(str_is(json_str(fake_at(v, "result.contents.0.text")), "t"));
    assert_null(fake_at(v, "result.ttlMs"));
    v = ask("resources/read", "'uri':'x:there'", true);
    assert_true(str_is(json_str(fake_at(v, "result.resultType")), "complete"));
    assert_true(json_is(fake_at(v, "result.ttlMs"), JSON_NUMBER));
    v = ask("prompts/get", "'name':'p','arguments':{'say':'hello'}", false);
    assert_true(str_is(json_str(fake_at(v, "result.description")), "hello"));
    assert_true(json_is(fake_at(v, "result.messages"), JSON_ARRAY));
    v = ask("prompts/get", "'name':'p','arguments':null", false);
    assert_null(fake_at(v, "result.description"));
}

static void completion_hands_on_what_was_asked(void **state)
{
    (void)state;
    const struct json *v =
        ask("completion/complete",
            "'ref':{'type':'ref/prompt','name':'p'},'argument':{'name':'a','value':'v'},"
            "'context':{'arguments':{'k':'w'}}",
            false);
    static const char *const values[] = {"prompt", "p", "a", "v", "w"};
    const struct json *got = fake_at(v, "result.completion.values");
    assert_int_equal(json_length(got), LENGTH(values));
    for (size_t i = 0; i < LENGTH(values); i++)
        assert_true(str_is(json_str(json_at(got, i)), values[i]));
    static const char *const wrong[] = {
        "",
        "'ref':{'type':'ref/prompt','name':'p'}",
        "'ref':{'type':'ref/other','name':'p'},'argument':{'name':'a','value':'v'}",
        "'ref':{'type':'ref/resource','name':'p'},'argument':{'name':'a','value':'v'}",
        "'ref':{'type':'ref/prompt','name':'p'},'argument':{'name':'a','value':1}",
        "'ref':'ref/prompt','argument':{'name':'a','value':'v'}",
    };
    for (size_t i = 0; i < LENGTH(wrong); i++)
        assert_int_equal(code_of(ask("completion/complete", wrong[i], i % 2)),
                         RPC_PARAMS);
}

static void without_a_library_lists_are_empty(void **state)
{
    (void)state;
    m->backend.library = (struct library){0};
    for (size_t i = 0; i < LENGTH(lists); i++) {
        const struct json *result = json_get(ask(lists[i].method, "", false), "result");
        assert_true(json_is(json_get(result, lists[i].key), JSON_ARRAY));
        assert_int_equal(json_length(json_get(result, lists[i].key)), 0);
    }
    assert_int_equal(code_of(ask("resources/read", "'uri':'x'", false)), -32002);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, opened, closed)
    const struct CMUnitTest tests[] = {
        T(every_list_goes_on_from_its_cursor),
        T(a_cursor_that_this_list_has_not_made_is_refused),
        T(what_is_not_found_has_the_eras_code),
        T(what_is_there_is_answered_in_both_eras),
        T(completion_hands_on_what_was_asked),
        T(without_a_library_lists_are_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
