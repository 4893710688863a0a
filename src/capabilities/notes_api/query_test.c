/* Filters: notes that match, their order, and invalid filters. */
#include "routes/fixture_test.h"

#define QUERY "/workspaces/work/query"

static int fill(void **state)
{
    static const char *const notes[] = {
        "---\\ntype: Task\\nscore: 5\\ndone: true\\ntags: [home, x]\\n---\\n# A\\n\\n## "
        "Status\\npending\\n\\n## Due\\n2025-11-29\\n",
        "---\\ntype: Task\\nscore: 40\\ndone: false\\n---\\n# B\\n\\n## "
        "Status\\npending\\n\\n## Due\\n2025-12-01T10:00:00Z\\n",
        "---\\ntype: Task\\nscore: '7.5'\\nlist: [a, 3]\\n---\\n# C\\n\\n## "
        "Status\\ndone\\n\\n## Count\\n12\\n",
        "---\\ntype: Meeting\\n---\\n# D\\n\\n## Held\\n2025-10-02, in the shed\\n\\n"
        "## Attendees\\n- Alice\\n- Bob\\n\\n## "
        "Count\\n9\\n\\n## A \\\"quoted\\\" key\\nodd\\n\\n## done\\nTrue\\n",
    };
    if (begin(state) != 0)
        return -1;
    for (size_t i = 0; i < LENGTH(notes); i++) {
        struct err e = {0};
        const char *body = arena_printf(arena, &e, "{\"markdown\": \"%s\"}", notes[i]);
        struct route_request rq = {.method = STR("POST"),
                                   .target = STR("/workspaces/work/notes"),
                                   .body = str_of(body)};
        if (!routes_request(actions, &rq, &person, &out)) {
            (void)fprintf(stderr, "%s\n", buf_cz(&out.body));
            return -1;
        }
        buf_clear(&out.body);
    }
    return 0;
}

/* The titles of what is found, in their order. */
static const char *found(const char *body)
{
    struct err e = {0};
    scoped_buf struct buf titles;
    buf_init(&titles, 1000);
    struct json_iter it = json_iter(ask("POST", QUERY, body, NULL, 200));
    while (json_next(&it))
        buf_str(&titles, json_str(json_get(it.value, "title")));
    return arena_printf(arena, &e, "%s", buf_cz(&titles));
}

#define FOUND(filter, titles)                                                 \
    do {                                                                      \
        const char *got_ = found("{'sort': 'title', 'filter': " filter "}");  \
        if (strcmp(got_, titles) != 0)                                        \
            fail_msg("%s finds \"%s\" and not \"%s\"", filter, got_, titles); \
    } while (0)

static void the_seeds_filter_finds_the_seeds_tasks(void **state)
{
    (void)state;
    const struct json *rows =
        ask("POST", QUERY,
            "{'filter': {'class': 'Task', 'properties.Status': 'pending'}}", NULL, 200);
    assert_int_equal(json_length(rows), 2);
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        assert_string_equal(text(it.value, "class"), "Task");
        assert_string_equal(text(json_get(it.value, "properties"), "Status"), "pending");
    }
    assert_string_equal(found("{}"), found("{'filter': null}"));
    FOUND("{}", "ABCD");
}

static void numbers_and_dates_compare_as_such(void **state)
{
    (void)state;
    FOUND("{'properties.score': {'$gt': 6}}", "BC");
    FOUND("{'properties.score': 5}", "A");
    FOUND("{'properties.score': 7.5}", "C");
    FOUND("{'properties.Count': {'$gt': 9}}", "C");
    FOUND("{'properties.Count': {'$gte': 9, '$lt': 12}}", "D");
    FOUND("{'properties.Count': '12'}", "C");
    FOUND("{'properties.Due': {'$lt': '2025-12-01'}}", "A");
    FOUND("{'properties.Held': {'$lt': '2025-10-03'}}", "D"); /* words behind the date */
    FOUND("{'properties.Held': {'$gt': '2025-10-02'}}", "");
    FOUND("{'properties.Due': {'$lte': '2025-12-01T12:00:00+02:00'}}", "AB");
    FOUND("{'properties.Due': '2025-12-01T10:00:00Z'}", "B");
    FOUND("{'properties.Due': '2025-11-29T00:00:00Z'}", "A");
    FOUND("{'properties.Due': {'$gt': 2024}}", "");
    FOUND("{'properties.Status': {'$gt': 'e'}}", "AB");
    FOUND("{'updated_at': {'$gt': '2020-01-01'}, 'size': {'$lt': 1000}}", "ABCD");
    FOUND("{'updated_at': {'$lt': '2020-01-01'}}", "");
}

static void all_operators_say_what_their_names_say(void **state)
{
    (void)state;
    FOUND("{'properties.Status': {'$eq': 'pending'}}", "AB");
    FOUND("{'properties.Status': {'$ne': 'pending'}}", "CD");
    FOUND("{'properties.Status': {'$in': ['done', 'x', 3]}}", "C");
    FOUND("{'properties.Status': {'$nin': ['done', 'x']}}", "ABD");
    FOUND("{'properties.Status': {'$exists': false}}", "D");
    FOUND("{'properties.Status': {'$exists': true}}", "ABC");
    FOUND("{'properties.Status': null}", "D");
    FOUND("{'properties.Attendees': {'$contains': 'alice'}}", "D");
    FOUND("{'properties.list': {'$contains': 'a'}}", "C");
    FOUND("{'properties.list': 3}", "C");
    FOUND("{'tags': 'home'}", "A");
    FOUND("{'tags': {'$contains': 'x'}}", "A");
    FOUND("{'title': {'$contains': 'b'}}", "B");
    FOUND("{'properties.done': true}", "AD");
    FOUND("{'properties.done': false}", "B");
    FOUND("{'properties.score': {'$not': {'$gt': 6}}}", "AD");
    FOUND("{'properties.A \\\"quoted\\\" key': 'odd'}", "D");
    FOUND("{'id': 'Task/A'}", "A");
    FOUND("{'type': {'in': ['Task', 'Meeting']}}", "ABCD");
}

static void filters_are_joined(void **state)
{
    (void)state;
    FOUND("{'$or': [{'title': 'A'}, {'title': 'D', 'class': 'Meeting'}]}", "AD");
    FOUND("{'$and': [{'class': 'Task'}, {'$not': {'properties.Status': 'pending'}}]}",
          "C");
    FOUND("{'not': {'or': [{'title': 'A'}, {'title': 'B'}]}}", "CD");
    FOUND("{'class': 'Task', '$or': [{'title': 'D'}]}", "");
    FOUND("{'$not': {}}", "");
}

static void rows_come_in_the_order_that_is_asked_for(void **state)
{
    (void)state;
    assert_string_equal(found("{'sort': '-title'}"), "DCBA");
    assert_string_equal(found("{'sort': ['-class', 'title']}"), "ABCD");
    assert_string_equal(found("{'sort': [{'class': 'asc'}, {'title': 'desc'}]}"), "DCBA");
    assert_string_equal(found("{'sort': {'properties.score': 'desc'}}"), "BCAD");
    assert_string_equal(found("{'sort': ['properties.Due', 'title']}"), "ABCD");
    assert_string_equal(found("{'sort': ['properties.Count']}"), "DCAB");
}

static void pages_of_any_order_go_on_where_they_ended(void **state)
{
    (void)state;
    static const char *const orders[] = {"'-title'", "['properties.Due','-title']",
                                         "['-properties.score']", "'-updated_at'",
                                         "['properties.Count', 'class']"};
    for (size_t i = 0; i < LENGTH(orders); i++) {
        struct err e = {0};
        scoped_buf struct buf all;
        buf_init(&all, 100);
        char link[ROUTE_FIELD_SIZE] = QUERY;
        const char *body = arena_printf(
            arena, &e, "{'sort': %s, 'limit': 1, 'filter': {'size': {'$gt': 0}}}",
            orders[i]);
        for (int page = 0; page < 5 && link[0]; page++) {
            const struct json *rows = ask("POST", link, body, NULL, 200);
            buf_str(&all, json_str(json_get(json_at(rows, 0), "title")));
            link[0] = '\0';
            if (header("Link")) {
                (void)snprintf(link, sizeof link, "%s", header("Link") + 1);
                *strchr(link, '>') = '\0';
            }
        }
        assert_string_equal(buf_cz(&all),
                            found(arena_printf(arena, &e, "{'sort': %s}", orders[i])));
    }
    ask("POST", QUERY "?cursor=Task%2FNone", "{}", NULL, 400);
}

static void what_is_no_query_is_refused_with_what_would_be_one(void **state)
{
    (void)state;
    static const struct {
        const char *body, *told;
        int status;
    } wrong[] = {
        {"{'filter': 3}", "body.filter", 400},
        {"{'filter': {'Status': 1}}", "properties.Status", 400},
        {"{'filter': {'properties.': 1}}", "properties.NAME", 400},
        {"{'filter': {'title': {'$like': 'x'}}}", "$contains", 400},
        {"{'filter': {'title': {}}}", "$eq", 400},
        {"{'filter': {'title': ['a']}}", "accepted is", 400},
        {"{'filter': {'title': {'$in': 'a'}}}", "an array", 400},
        {"{'filter': {'title': {'$gt': null}}}", "a number", 400},
        {"{'filter': {'title': {'$exists': 1}}}", "true or false", 400},
        {"{'filter': {'$or': []}}", "at least one", 400},
        {"{'filter': {'$or': [1]}}", "a filter", 400},
        {"{'filter': {'$not': 1}}", "a filter", 400},
        {"{'sort': 'nose'}", "there is no field", 400},
        {"{'sort': 3}", "body.sort", 400},
        {"{'sort': {'title': 'up'}}", "asc", 400},
        {"{'limit': 0}", "limit", 400},
        {"{'fields': ['nose']}", "rows have", 400},
        {"{'offset': 3}", "offset", 400},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const struct json *p = ask("POST", QUERY, wrong[i].body, NULL, wrong[i].status);
        if (!strstr(text(p, "detail"), wrong[i].told))
            fail_msg("%s: %s", wrong[i].body, text(p, "detail"));
    }
}

static void a_filter_is_bounded(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_buf struct buf body;
    buf_init(&body, 100000);
    buf_cstr(&body, "{'filter': ");
    for (int i = 0; i < 20; i++)
        buf_cstr(&body, "{'$not': ");
    buf_cstr(&body, "{}");
    for (int i = 0; i < 21; i++)
        buf_char(&body, '}');
    ask("POST", QUERY, buf_cz(&body), NULL, 413);
    buf_clear(&body);
    buf_cstr(&body, "{'filter': {'title': {'$in': ['x'");
    for (int i = 0; i < 60; i++)
        buf_cstr(&body, ", 'y'");
    buf_cstr(&body, "]}}}");
    ask("POST", QUERY, buf_cz(&body), NULL, 413);
    (void)e;
}

/* The largest accepted filter is also answered. */
static void a_filter_of_the_most_conditions_is_answered(void **state)
{
    (void)state;
    static const char *const leaves[] = {"{'properties.score': %d}",
                                         "{'properties.Due': '2025-11-%02d'}",
                                         "{'properties.Status': {'$ne': 'x%d'}}"};
    for (size_t kind = 0; kind < LENGTH(leaves); kind++) {
        scoped_buf struct buf body;
        buf_init(&body, 100000);
        buf_cstr(&body, "{'filter': {'$or': [");
        for (int i = 0; i < 40; i++) {
            buf_cstr(&body, i ? "," : "");
            buf_printf(&body, leaves[kind], i + 10);
        }
        buf_cstr(&body, "]}}");
        ask("POST", QUERY, buf_cz(&body), NULL, 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_seeds_filter_finds_the_seeds_tasks),
        cmocka_unit_test(numbers_and_dates_compare_as_such),
        cmocka_unit_test(all_operators_say_what_their_names_say),
        cmocka_unit_test(filters_are_joined),
        cmocka_unit_test(rows_come_in_the_order_that_is_asked_for),
        cmocka_unit_test(pages_of_any_order_go_on_where_they_ended),
        cmocka_unit_test(what_is_no_query_is_refused_with_what_would_be_one),
        cmocka_unit_test(a_filter_is_bounded),
        cmocka_unit_test(a_filter_of_the_most_conditions_is_answered),
    };
    return cmocka_run_group_tests(tests, fill, end);
}
