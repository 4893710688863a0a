/* run_script over test routes, which use the same work as the real ones. */
#include <sys/stat.h>

#include "actions/fixture_test.h"
#include "performing/performing.h"

static char vaults[2][80];

/* ---- routes -------------------------------------------------------------- */

static bool answer_text(struct action_reply *out, int status, const char *text)
{
    out->status = status;
    out->is_json = true;
    return buf_cstr(&out->body, text);
}

/* One host call in the workspace of the path. */
static bool in_workspace(const struct action_request *rq, const char *name,
                         struct action_reply *out, struct err *e)
{
    struct str id = {rq->path.at + strlen("/workspaces/"), 0};
    while (id.at + id.n < rq->path.at + rq->path.n && id.at[id.n] != '/')
        id.n++;
    scoped_buf struct buf args;
    buf_init(&args, 1 << 20);
    buf_printf(&args, "[%.*s]", STR_ARGS(rq->body));
    struct work *w = work_begin(actions, rq->who, id, "a route", e);
    bool ok = w && work_call(w, name, buf_view(&args), &out->body, e);
    if (w)
        work_end(w, ok ? NULL : e);
    out->status = 200;
    out->is_json = true;
    return ok;
}

static bool route(void *arg, const struct action_request *rq, struct action_reply *out,
                  struct err *e)
{
    (void)arg;
    if (str_ends(rq->path, "/list"))
        return in_workspace(rq, "notes.list", out, e);
    if (str_ends(rq->path, "/create"))
        return in_workspace(rq, "notes.create", out, e);
    if (str_ends(rq->path, "/get"))
        return in_workspace(rq, "notes.get", out, e);
    if (str_ends(rq->path, "/update"))
        return in_workspace(rq, "notes.update", out, e);
    if (str_ends(rq->path, "/audit")) {
        struct work *w = work_begin(actions, rq->who, STR(""), "audit", e);
        bool ok = w && work_audit(w, &(struct audit_filter){0}, &out->body, e);
        if (w)
            work_end(w, ok ? NULL : e);
        return ok;
    }
    if (str_is(rq->path, "/page")) {
        buf_cstr(&out->next, "/page?cursor=b");
        return answer_text(out, 200, "[1,2]");
    }
    if (str_is(rq->path, "/text")) {
        out->status = 200;
        return buf_cstr(&out->body, "# plain");
    }
    if (str_is(rq->path, "/empty")) {
        out->status = 204;
        return true;
    }
    if (str_is(rq->path, "/echo")) {
        out->status = 200;
        out->is_json = rq->body.n > 0;
        buf_str(&out->body, rq->body);
        return true;
    }
    if (str_is(rq->path, "/large")) {
        out->status = 200;
        char *at = buf_room(&out->body, (size_t)65 << 20);
        return at != NULL || err_set(e, ERR_LIMIT, "the answer is too large");
    }
    if (str_is(rq->path, "/evaluate")) {
        struct answer answer = {0};
        buf_init(&answer.json, 1 << 20);
        bool ok = actions_call(actions, action_named(actions, STR("evaluate_note_code")),
                               NULL, rq->who, &answer, e);
        buf_done(&answer.json);
        return ok;
    }
    return answer_text(
        out, 404, "{\"title\":\"Not Found\",\"status\":404,\"detail\":\"no route\"}");
}

/* ---- calling ------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    if (make_home() != 0)
        return -1;
    (void)snprintf(vaults[0], sizeof vaults[0], "%s/one", home);
    (void)snprintf(vaults[1], sizeof vaults[1], "%s/two", home);
    if (mkdir(vaults[0], 0700) != 0 || mkdir(vaults[1], 0700) != 0)
        return -1;
    const char *list[] = {vaults[0], vaults[1], NULL};
    actions = actions_open(
        &(struct actions_options){.vaults = list, .guest_dir = guest_of_tests()}, &e);
    if (actions)
        actions_on_request(actions, route, NULL);
    return actions ? 0 : -1;
}

static bool run(const char *code, const char *more)
{
    struct err e = {0};
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_cstr(&w, "code", code);
    json_close(&w);
    text.n--;
    buf_printf(&text, ",%s}", more ? more : "\"workspace_id\":\"one\"");
    struct answer out = {0};
    buf_init(&out.json, 64 << 20);
    if (!actions_call(actions, action_named(actions, STR("run_script")),
                      json_read(buf_view(&text), arena, &e), &caller, &out, &e))
        fail_msg("%s", e.msg);
    got = json_read(buf_view(&out.json), arena, &e);
    if (!got)
        fail_msg("%s: %s", buf_cz(&out.json), e.msg);
    buf_done(&out.json);
    assert_int_equal(json_bool(json_get(got, "success"), out.is_error), !out.is_error);
    return !out.is_error;
}

static void assert_runs(const char *code, const char *want)
{
    if (!run(code, NULL))
        fail_msg("%s: %.*s", code, STR_ARGS(json_str(json_get(got, "error"))));
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    struct json_writer w = json_writer(&b);
    json_put(&w, json_get(got, "result"));
    assert_string_equal(buf_cz(&b), want);
}

static const struct json *detail(const char *key)
{
    return json_get(json_get(got, "errorDetails"), key);
}

static void assert_refused(const char *code, const char *more, const char *type)
{
    if (run(code, more))
        fail_msg("succeeded: %s", code);
    if (!str_is(json_str(detail("type")), type))
        fail_msg("%s: %.*s", code, STR_ARGS(json_str(json_get(got, "error"))));
}

/* ---- tests --------------------------------------------------------------- */

static void the_last_expression_is_the_result(void **state)
{
    (void)state;
    assert_runs("let report = '# '; for (const x of [1, 2]) report += x;\nreport;",
                "\"# 12\"");
    assert_runs("workspace_id", "\"one\"");
    assert_runs("return await Promise.resolve(6) * 7", "42");
    assert_runs("const later = async () => 5; later()", "5");
    assert_runs("function main() { return 'main' }", "\"main\"");
    assert_true(json_int(json_get(json_get(got, "stats"), "fuel"), 0) > 1000);
}

static void only_host_call_leads_out(void **state)
{
    (void)state;
    assert_runs(
        "[typeof host.call, typeof notes, typeof vaults, typeof api, typeof utils, "
        "typeof fetch, typeof fs, Object.keys(host).length]",
        "[\"function\",\"undefined\",\"undefined\",\"undefined\",\"undefined\","
        "\"undefined\",\"undefined\",1]");
    assert_refused("notes.list()", NULL, "ExecutionError");
    assert_non_null(strstr(json_str(detail("suggestion")).at, "host.call"));
}

static void host_call_answers_the_parsed_body_at_once(void **state)
{
    (void)state;
    assert_runs("host.call('POST', '/echo', {a: [1, null, 'x']}).a[2]", "\"x\"");
    assert_runs("host.call('POST', '/echo', JSON.stringify({a: 1})).a", "1");
    assert_runs("host.call('POST', '/echo', null)", "null");
    assert_runs("host.call('GET', '/text')", "\"# plain\"");
    assert_runs("host.call('DELETE', '/empty')", "null");
    assert_runs("await host.call('POST', '/echo', 3) + host.call('POST', '/echo', 4)",
                "7");
    assert_int_equal(json_int(json_get(json_get(got, "stats"), "host_calls"), 0), 2);
}

static void a_page_tells_where_the_next_one_is(void **state)
{
    (void)state;
    assert_runs("const page = host.call('GET', '/page'); [page.next, page, "
                "JSON.stringify(page), Object.keys(page).length, Array.isArray(page)]",
                "[\"/page?cursor=b\",[1,2],\"[1,2]\",2,true]");
    assert_runs("'next' in host.call('POST', '/echo', [1])", "false");
}

static void what_is_not_2xx_is_thrown(void **state)
{
    (void)state;
    assert_runs("try { host.call('GET', '/nowhere') } catch (e) { "
                "[e.name, e.status, e.problem.detail, e instanceof Error] }",
                "[\"HostCallError\",404,\"no route\",true]");
    assert_refused("1;\nhost.call('GET', '/nowhere')", NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 404);
    assert_true(str_is(json_str(json_get(detail("problem"), "title")), "Not Found"));
    assert_int_equal(json_int(detail("line"), 0), 2);
    /* A failure of the routes themselves, and an answer that is too large. */
    assert_refused("host.call('GET', '/workspaces/none/list')", NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 404);
    assert_refused("host.call('GET', '/large')", NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 413);
    /* An error of the script with the name of ours stays the script's. */
    assert_refused("throw Object.assign(new Error('x'), {name: 'HostCallError'})", NULL,
                   "ExecutionError");
    assert_null(detail("status"));
    assert_refused("try { host.call('GET', '/nowhere') } catch (e) { "
                   "e.problem = e; throw e }",
                   NULL, "HostCallError");
}

static void wrong_arguments_are_the_scripts_own_error(void **state)
{
    (void)state;
    static const char *const all[] = {
        "host.call()", "host.call('GET')", "host.call('GET', 7)",
        "const o = {}; o.o = o; host.call('PUT', '/echo', o)",
        "host.call('POST', '/echo', {get a() { throw 1 }})"};
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_refused(all[i], NULL, "ExecutionError");
}

static void the_four_errors_have_their_names(void **state)
{
    (void)state;
    static const char more[] = "\"workspace_id\":\"one\",\"fuel\":100000000";
    assert_refused("try { for (;;); } finally { for (;;); }", more, "FuelExhausted");
    assert_int_equal(json_int(json_get(json_get(got, "stats"), "fuel"), 0), 100000000);
    assert_refused("const a = []; for (;;) a.push(new Uint8Array(1e6))", NULL,
                   "MemoryExceeded");
    assert_non_null(strstr(json_str(json_get(got, "error")).at, "128 MB"));
    assert_refused("undefined.x", NULL, "ExecutionError");
    assert_true(str_is(json_str(detail("name")), "TypeError"));
    assert_refused("let let = 1", NULL, "ExecutionError");
    assert_true(str_is(json_str(detail("name")), "SyntaxError"));
}

static void arguments_are_checked_before_anything_runs(void **state)
{
    (void)state;
    static const struct {
        const char *more, *type;
    } all[] = {
        {"\"workspace_id\":\"three\"", "NotFound"},
        {"\"workspace_id\":\"\"", "InvalidInput"},
        {"\"workspace_id\":7", "InvalidInput"},
        {"\"workspace_id\":\"one\",\"fuel\":0", "InvalidInput"},
        {"\"workspace_id\":\"one\",\"fuel\":100000000001", "InvalidInput"},
        {"\"workspace_id\":\"one\",\"memoryLimit\":257", "InvalidInput"},
        {"\"workspace_id\":\"one\",\"timeout\":1", "InvalidInput"},
        {"\"fuel\":1000", "InvalidInput"},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        assert_refused("1", all[i].more, all[i].type);
}

/* A note that a script has read can be changed without its hash. */
static void a_script_works_in_its_workspace_and_others(void **state)
{
    (void)state;
    assert_runs("host.call('POST', `/workspaces/${workspace_id}/create`, "
                "{type: 'plan', title: 'One', content: 'text'}).id",
                "\"plan/One\"");
    assert_runs(
        "const w = `/workspaces/${workspace_id}`;"
        "host.call('POST', '/workspaces/two/create', "
        "{type: 'plan', title: 'Two', content: 'text'});"
        "const here = host.call('POST', w + '/get', 'plan/One'.replace(/.*/, '\"$&\"'));"
        "host.call('POST', w + '/update', {identifier: here.id, content: 'new'});"
        "[here.content, host.call('POST', w + '/list', {}).length]",
        "[\"text\",1]");
    assert_refused(
        "const w = `/workspaces/${workspace_id}`;"
        "host.call('POST', w + '/create', {type: 'a', title: 'b', content: 'c'});"
        "throw new Error('after')",
        NULL, "ExecutionError");
    assert_true(json_bool(detail("changed"), false));
    assert_int_equal(json_int(json_get(detail("writes"), "notes.create"), 0), 1);
}

static void code_does_not_run_code(void **state)
{
    (void)state;
    assert_refused("host.call('POST', '/evaluate')", NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 403);
}

/* Newest first, in pages, filtered; without the vault's path. */
static void the_audit_is_read_by_whom_it_concerns(void **state)
{
    (void)state;
    struct err e = {0};
    for (int i = 0; i < 3; i++)
        assert_runs("7", "7");
    scoped_buf struct buf out;
    buf_init(&out, 1 << 20);
    struct work *w = work_begin(actions, &caller, STR("one"), "GET audit", &e);
    assert_non_null(w);
    struct audit_filter f = {.action = STR("run_script"), .limit = 2};
    assert_true(work_audit(w, &f, &out, &e));
    const struct json *rows = json_read(buf_view(&out), arena, &e);
    assert_int_equal(json_length(rows), 2);
    assert_true(json_int(json_get(json_at(rows, 0), "n"), 0) >
                json_int(json_get(json_at(rows, 1), "n"), 0));
    assert_true(str_is(json_str(json_get(json_at(rows, 0), "workspace")), "one"));
    assert_int_equal(json_str(json_get(json_at(rows, 0), "code")).n, 64);
    assert_true(json_int(json_get(json_at(rows, 0), "fuel"), 0) > 0);
    assert_null(json_get(json_at(rows, 0), "vault"));
    f.before = json_str(json_get(json_at(rows, 1), "mac"));
    f.limit = 1;
    buf_clear(&out);
    assert_true(work_audit(w, &f, &out, &e));
    const struct json *before = json_read(buf_view(&out), arena, &e);
    assert_int_equal(json_int(json_get(json_at(before, 0), "n"), 0),
                     json_int(json_get(json_at(rows, 1), "n"), 0) - 1);
    f = (struct audit_filter){.since = STR("9")};
    buf_clear(&out);
    assert_true(work_audit(w, &f, &out, &e));
    assert_string_equal(buf_cz(&out), "[]");
    f = (struct audit_filter){.before = STR("nobody")};
    assert_false(work_audit(w, &f, &out, &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    f = (struct audit_filter){.limit = AUDIT_READ_MAX + 1};
    assert_false(work_audit(w, &f, &out, &e));
    work_end(w, &e);
}

static void the_audit_is_not_read_by_code_or_without_its_scope(void **state)
{
    (void)state;
    const struct grant grant = {.principal = "token x",
                                .scopes = SCOPE_ALL & ~SCOPE_AUDIT};
    const struct caller others[] = {{.name = "http token x", .grant = &grant},
                                    {.name = "test", .level = LEVEL_LIMITED}};
    for (size_t i = 0; i < LENGTH(others); i++) {
        struct err e = {0};
        scoped_buf struct buf out;
        buf_init(&out, 1 << 20);
        struct work *w = work_begin(actions, &others[i], STR("one"), "GET audit", &e);
        assert_non_null(w);
        assert_false(work_audit(w, &(struct audit_filter){0}, &out, &e));
        assert_int_equal(e.code, ERR_DENIED);
        assert_int_equal(out.n, 0);
        work_end(w, &e);
    }
    assert_refused("host.call('GET', '/workspaces/one/audit')", NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 403);
}

static void a_level_holds_within_a_script(void **state)
{
    (void)state;
    caller.level = LEVEL_ZERO;
    assert_refused("host.call('POST', `/workspaces/${workspace_id}/create`, "
                   "{type: 'plan', title: 'No', content: 'text'})",
                   NULL, "HostCallError");
    assert_int_equal(json_int(detail("status"), 0), 403);
    assert_refused("1", "\"workspace_id\":\"one\",\"memoryLimit\":33", "InvalidInput");
}

static void a_large_result_is_put_aside(void **state)
{
    (void)state;
    assert_refused("'x'.repeat(2e6)", NULL, "OutputTooLarge");
    assert_true(json_int(detail("size"), 0) > 2000000);
    assert_true(str_starts(json_str(detail("resource")), "cloche://results/"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_last_expression_is_the_result),
        test(only_host_call_leads_out),
        test(host_call_answers_the_parsed_body_at_once),
        test(a_page_tells_where_the_next_one_is),
        test(what_is_not_2xx_is_thrown),
        test(wrong_arguments_are_the_scripts_own_error),
        test(the_four_errors_have_their_names),
        test(arguments_are_checked_before_anything_runs),
        test(a_script_works_in_its_workspace_and_others),
        test(code_does_not_run_code),
        test(the_audit_is_read_by_whom_it_concerns),
        test(the_audit_is_not_read_by_code_or_without_its_scope),
        test(a_level_holds_within_a_script),
        test(a_large_result_is_put_aside),
    };
    return cmocka_run_group_tests(tests, begin, close_actions);
}
