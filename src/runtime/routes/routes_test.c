/* What each route answers, and what is refused. */
#include "routes/fixture_test.h"
#include "routes/internal.h"

/* ---- notes ----------------------------------------------------------------------- */

static void a_note_is_made_read_replaced_and_deleted(void **state)
{
    (void)state;
    const struct json *made =
        ask("POST", "/workspaces/work/notes",
            "{'markdown': '# New Note\\n\\nContent here'}", NULL, 201);
    assert_string_equal(text(made, "id"), "note/New Note");
    assert_string_equal(header("Location"), "/workspaces/work/notes/note%2FNew%20Note");
    const char *first = tag();
    ask("GET", header("Location"), NULL, NULL, 200);
    assert_string_equal(tag(), first);
    const struct json *note =
        ask("GET", "/workspaces/work/notes/note/New%20Note", NULL, NULL, 200);
    assert_string_equal(text(note, "markdown"), "# New Note\n\nContent here");

    note = ask("PUT", "/workspaces/work/notes/note%2FNew%20Note",
               "{'markdown': '# New Note\\n\\nother'}", first, 200);
    assert_string_equal(text(note, "markdown"), "# New Note\n\nother");
    ask("PUT", "/workspaces/work/notes/note%2FNew%20Note", "{'markdown': 'lost'}", first,
        412);
    ask("PUT", "/workspaces/work/notes/note%2FNew%20Note", "{'markdown': 'lost'}", NULL,
        428);
    ask("DELETE", "/workspaces/work/notes/note%2FNew%20Note", NULL, first, 412);
    ask("DELETE", "/workspaces/work/notes/note%2FNew%20Note", NULL, NULL, 200);
    ask("GET", "/workspaces/work/notes/note%2FNew%20Note", NULL, NULL, 404);
    ask("DELETE", "/workspaces/work/notes/note%2FNew%20Note", NULL, NULL, 404);
}

static void a_patch_changes_parts_of_all_kinds_at_once(void **state)
{
    (void)state;
    ask("POST", "/workspaces/work/notes",
        "{'markdown': '---\\nstatus: open\\n---\\n# Sync\\n\\n## Date\\n2025-11-29\\n'}",
        NULL, 201);
    const struct json *note =
        ask("PATCH", "/workspaces/work/notes/note%2FSync",
            "{'title': 'Weekly', 'class': 'Meeting', 'properties': {'Date': "
            "'2025-12-06', 'status': null, 'owner': 'Ann'}}",
            tag(), 200);
    assert_string_equal(text(note, "id"), "Meeting/Weekly");
    assert_string_equal(text(note, "class"), "Meeting");
    const char *markdown = text(note, "markdown");
    assert_non_null(strstr(markdown, "## Date\n2025-12-06"));
    assert_non_null(strstr(markdown, "owner: Ann"));
    assert_null(strstr(markdown, "status"));

    /* All or nothing: the name is taken. */
    ask("POST", "/workspaces/work/notes", "{'title': 'Taken', 'class': 'Meeting'}", NULL,
        201);
    ask("PATCH", "/workspaces/work/notes/Meeting%2FWeekly",
        "{'title': 'Taken', 'properties': {'owner': 'Bob'}}", "*", 409);
    note = ask("GET", "/workspaces/work/notes/Meeting%2FWeekly", NULL, NULL, 200);
    assert_non_null(strstr(text(note, "markdown"), "owner: Ann"));
}

static void lists_come_in_pages_whose_link_leads_on(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        char body[100];
        (void)snprintf(body, sizeof body, "{'title': 'P%d', 'class': 'page'}", i);
        ask("POST", "/workspaces/work/notes", body, NULL, 201);
    }
    const char *next = "/workspaces/work/notes?class=page&limit=2";
    size_t pages = 0, rows = 0;
    char link[ROUTE_FIELD_SIZE];
    while (next) {
        const struct json *page = ask("GET", next, NULL, NULL, 200);
        rows += json_length(page);
        pages++;
        next = NULL;
        if (header("Link")) {
            (void)snprintf(link, sizeof link, "%s", header("Link") + 1);
            *strchr(link, '>') = '\0';
            next = link;
        }
    }
    assert_int_equal(rows, 5);
    assert_int_equal(pages, 3);
    const struct json *page =
        ask("GET", "/workspaces/work/notes?fields=id&class=page", NULL, NULL, 200);
    assert_int_equal(json_length(json_at(page, 0)), 1);
}

static void a_list_that_is_too_large_is_no_part_of_one(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++) {
        char body[100];
        (void)snprintf(body, sizeof body, "{'title': 'L%d', 'class': 'large'}", i);
        ask("POST", "/workspaces/work/notes", body, NULL, 201);
    }
    size_t ceiling = out.body.ceiling;
    buf_done(&out.body);
    buf_init(&out.body, 2000);
    const struct json *problem =
        ask("GET", "/workspaces/work/notes?class=large", NULL, NULL, 413);
    assert_non_null(strstr(text(problem, "detail"), "give a limit"));
    ask("POST", "/workspaces/work/query", "{'filter': {'class': 'large'}}", NULL, 413);
    const struct json *page =
        ask("GET", "/workspaces/work/notes?class=large&limit=5", NULL, NULL, 200);
    assert_int_equal(json_length(page), 5);
    assert_non_null(header("Link"));
    buf_done(&out.body);
    buf_init(&out.body, ceiling);
    page = ask("GET", "/workspaces/work/notes?class=large", NULL, NULL, 200);
    assert_int_equal(json_length(page), 40);
    assert_null(header("Link"));
}

static void history_leads_back(void **state)
{
    (void)state;
    ask("POST", "/workspaces/work/notes", "{'title': 'Old', 'content': 'one'}", NULL,
        201);
    ask("PATCH", "/workspaces/work/notes/note%2FOld", "{'content': 'two'}", "*", 200);
    const struct json *rows =
        ask("GET", "/workspaces/work/notes/note%2FOld/history", NULL, NULL, 200);
    assert_int_equal(json_length(rows), 2);
    const struct json *old =
        ask("GET", "/workspaces/work/notes/note/Old/history/1", NULL, NULL, 200);
    assert_non_null(strstr(text(old, "markdown"), "one"));
    const struct json *now = ask(
        "POST", "/workspaces/work/notes/note%2FOld/history/1/restore", NULL, "*", 200);
    assert_non_null(strstr(text(now, "markdown"), "one"));
    ask("GET", "/workspaces/work/notes/note%2FOld/history/77", NULL, NULL, 404);
    ask("GET", "/workspaces/work/notes/note%2FOld/history/x", NULL, NULL, 404);
}

/* ---- the rows --------------------------------------------------------------------- */

static size_t groups_in(const struct route_group *const *all)
{
    size_t n = 0;
    while (all && all[n])
        n++;
    return n;
}

static void groups_have_places_of_their_own(void **state)
{
    (void)state;
    size_t all = groups_in(own_routes), reached = 0;
    for (size_t i = 0; i < capability_count; i++)
        all += groups_in(capability_list[i]->routes);
    for (const struct route_group *g = NULL; (g = route_group_after(g ? g->order : 0));)
        reached++;
    assert_int_equal(reached, all);
}

static void assert_schema(const char *name)
{
    struct err e = {0};
    struct str bare = str_of(name);
    if (str_ends(bare, "[]"))
        bare.n -= 2;
    if (name && !*route_schema_named(str_cz(bare, arena, &e)))
        fail_msg("there is no schema %s", name);
}

static void rows_name_schemas_and_operations_of_their_own(void **state)
{
    (void)state;
    struct route_walk walk = {0};
    for (const struct route *r; (r = route_walk_next(&walk));) {
        size_t same = 0;
        struct route_walk others = {0};
        for (const struct route *o; (o = route_walk_next(&others));)
            same += !strcmp(o->operation, r->operation);
        assert_int_equal(same, 1);
        assert_schema(r->body);
        assert_schema(r->answer);
    }
}

/* ---- requests in general --------------------------------------------------------- */

static void what_is_no_request_is_a_problem(void **state)
{
    (void)state;
    static const struct {
        const char *method, *target, *body;
        int status;
    } wrong[] = {
        {"GET", "/nothing", NULL, 404},
        {"GET", "/workspaces/other/notes", NULL, 404},
        {"PUT", "/workspaces/work/notes", "{}", 405},
        {"GET", "/workspaces/work/notes?colour=red", NULL, 400},
        {"GET", "/workspaces/work/notes?limit=0", NULL, 400},
        {"GET", "/workspaces/work/notes?limit=2&limit=3", NULL, 400},
        {"GET", "/workspaces/work/notes?fields=nose", NULL, 400},
        {"GET", "/workspaces/work/notes/%zz", NULL, 400},
        {"GET", "/workspaces/work/notes/%00", NULL, 400},
        {"GET", "/workspaces/work/notes/%ff", NULL, 400},
        {"GET", "/workspaces/work/notes/../../etc", NULL, 400},
        {"GET", "/workspaces/work/notes/..%2F..%2Fetc%2Fpasswd", NULL, 404},
        {"GET", "/workspaces/work/notes/.cloche%2Fpolicy", NULL, 404},
        {"GET", "/workspaces//notes", NULL, 400},
        {"GET", "", NULL, 400},
        {"POST", "/workspaces/work/notes", "{", 400},
        {"POST", "/workspaces/work/notes", "[]", 400},
        {"POST", "/workspaces/work/notes", "{'title': 3}", 400},
        {"POST", "/workspaces/work/notes", "{'title': 'T', 'colour': 'red'}", 400},
        {"POST", "/workspaces/work/notes", "{'title': 'T', 'class': '../x'}", 400},
        {"PATCH", "/workspaces/work/notes/note%2FOld", "{}", 428},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct json *p =
            ask(wrong[i].method, wrong[i].target, wrong[i].body, NULL, wrong[i].status);
        assert_string_equal(out.type, "application/problem+json");
        assert_int_equal(json_int(json_get(p, "status"), 0), wrong[i].status);
        assert_true(json_str(json_get(p, "detail")).n > 10);
    }
    ask("PUT", "/workspaces/work/notes", "{}", NULL, 405);
    assert_string_equal(header("Allow"), "GET, HEAD, POST, OPTIONS");
    ask("OPTIONS", "/workspaces/work/notes/x", NULL, NULL, 204);
    assert_string_equal(header("Allow"), "GET, HEAD, PUT, PATCH, DELETE, OPTIONS");
}

static void an_answer_that_is_known_already_is_not_sent_again(void **state)
{
    (void)state;
    ask("POST", "/workspaces/work/notes", "{'title': 'Known'}", NULL, 201);
    static const char *const targets[] = {"/workspaces/work/notes/note%2FKnown",
                                          "/workspaces/work/notes", "/workspaces"};
    for (size_t i = 0; i < LENGTH(targets); i++) {
        ask("GET", targets[i], NULL, NULL, 200);
        struct route_request rq = {.method = STR("GET"),
                                   .target = str_of(targets[i]),
                                   .if_none_match = str_of(tag())};
        ask_as(&person, rq, 304);
        assert_int_equal(out.body.n, 0);
    }
}

static void markdown_is_given_to_who_wants_it(void **state)
{
    (void)state;
    struct route_request rq = {.method = STR("POST"),
                               .target = STR("/workspaces/work/notes"),
                               .type = STR("text/markdown; charset=utf-8"),
                               .body = STR("# Plain\n\ntext")};
    ask_as(&person, rq, 201);
    rq = (struct route_request){.method = STR("GET"),
                                .target = STR("/workspaces/work/notes/note%2FPlain"),
                                .accept = STR("text/markdown, application/json;q=0.5")};
    ask_as(&person, rq, 200);
    assert_string_equal(buf_cz(&out.body), "# Plain\n\ntext");
    rq.accept = STR("text/markdown;q=0.3, application/json;q=0.5");
    assert_string_equal(text(ask_as(&person, rq, 200), "title"), "Plain");
    rq.accept = STR("image/png");
    ask_as(&person, rq, 406);
    rq = (struct route_request){.method = STR("POST"),
                                .target = STR("/workspaces/work/notes"),
                                .type = STR("text/plain"),
                                .body = STR("x")};
    ask_as(&person, rq, 415);
}

static void a_level_that_may_not_is_refused(void **state)
{
    (void)state;
    struct caller zero = {.name = "test", .level = LEVEL_ZERO};
    struct route_request rq = {.method = STR("POST"),
                               .target = STR("/workspaces/work/notes"),
                               .body = STR("{\"title\": \"T\"}")};
    const struct json *p = ask_as(&zero, rq, 403);
    assert_string_equal(text(p, "code"), "DENIED");
    rq = (struct route_request){.method = STR("GET"),
                                .target = STR("/workspaces/work/notes")};
    ask_as(&zero, rq, 200);
}

/* ---- from code --------------------------------------------------------------------- */

static const char *run_script(const char *code)
{
    struct err e = {0};
    struct answer answer = {0};
    buf_init(&answer.json, (size_t)1 << 20);
    scoped_buf struct buf arguments;
    buf_init(&arguments, (size_t)1 << 20);
    struct json_writer w = json_writer(&arguments);
    json_open_object(&w);
    json_pair_cstr(&w, "workspace_id", "work");
    json_pair_cstr(&w, "code", code);
    json_close(&w);
    const struct action *run = action_named(actions, STR("run_script"));
    assert_non_null(run);
    if (!actions_call(actions, run, json_read(buf_view(&arguments), arena, &e), &person,
                      &answer, &e))
        fail_msg("%s", e.msg);
    const char *copy = arena_printf(arena, &e, "%s", buf_cz(&answer.json));
    buf_done(&answer.json);
    return copy;
}

static void code_changes_what_it_has_read(void **state)
{
    (void)state;
    ask("POST", "/workspaces/work/notes", "{'title': 'Mine', 'content': 'one'}", NULL,
        201);
    const char *unread = run_script(
        "host.call('PATCH', `/workspaces/${workspace_id}/notes/note%2FMine`, {content: "
        "'two'})");
    if (!strstr(unread, "answered 428"))
        fail_msg("%s", unread);
    const char *read = run_script(
        "const at = `/workspaces/${workspace_id}/notes/note/Mine`; host.call('GET', at); "
        "host.call('PATCH', at, {content: 'two'}).markdown.includes('two')");
    if (!strstr(read, "\"result\":true"))
        fail_msg("%s", read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_made_read_replaced_and_deleted),
        cmocka_unit_test(a_patch_changes_parts_of_all_kinds_at_once),
        cmocka_unit_test(lists_come_in_pages_whose_link_leads_on),
        cmocka_unit_test(a_list_that_is_too_large_is_no_part_of_one),
        cmocka_unit_test(history_leads_back),
        cmocka_unit_test(groups_have_places_of_their_own),
        cmocka_unit_test(rows_name_schemas_and_operations_of_their_own),
        cmocka_unit_test(what_is_no_request_is_a_problem),
        cmocka_unit_test(an_answer_that_is_known_already_is_not_sent_again),
        cmocka_unit_test(markdown_is_given_to_who_wants_it),
        cmocka_unit_test(a_level_that_may_not_is_refused),
        cmocka_unit_test(code_changes_what_it_has_read),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
