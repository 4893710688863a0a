/* Subscriptions to changes: who gets which, how often, and until when. */
#include <stdio.h>

#include "mcp/fake_test.h"

/* ---- a library that can be told what changes ------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static workspaces_change_fn *heard_by;
static void *heard_arg;
static unsigned heard, unheard;

static void count(unsigned *what)
{
    pthread_mutex_lock(&lock);
    (*what)++;
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
}

static void await(const unsigned *what, unsigned n)
{
    pthread_mutex_lock(&lock);
    while (*what < n)
        pthread_cond_wait(&more, &lock);
    pthread_mutex_unlock(&lock);
}

static bool hear(void *arg, workspaces_change_fn *fn, void *fn_arg, struct err *e)
{
    (void)arg;
    (void)e;
    heard_by = fn;
    heard_arg = fn_arg;
    count(&heard);
    return true;
}

static void unhear(void *arg, workspaces_change_fn *fn, void *fn_arg)
{
    (void)arg;
    assert_ptr_equal(fn, heard_by);
    assert_ptr_equal(fn_arg, heard_arg);
    count(&unheard);
}

/* The library spells "X:..." as "x:...", and has no "none:". */
static bool follow(void *arg, const struct caller *who, struct str uri,
                   struct buf *canonical, struct err *e)
{
    (void)arg;
    (void)who;
    if (str_starts(uri, "none:"))
        return err_set(e, ERR_NOT_FOUND, "there is no such resource");
    return buf_char(canonical, str_starts(uri, "X") ? 'x' : *uri.at) &&
           buf_put(canonical, uri.at + 1, uri.n - 1);
}

static void change(enum workspaces_changed what, const char *workspace, const char *uri)
{
    struct workspaces_change c = {what, workspace, str_of(uri)};
    heard_by(heard_arg, &c);
}

/* ---- where it is told ------------------------------------------------------ */

struct ear {
    struct buf said; /* a line each */
    unsigned messages, ends, beats;
    atomic_bool deaf;
    struct listener *listener;
};

static bool ear_say(void *arg, struct str message)
{
    struct ear *ear = arg;
    buf_str(&ear->said, message);
    buf_char(&ear->said, '\n');
    bool ok = !ear->deaf;
    count(&ear->messages);
    return ok;
}

static bool ear_beat(void *arg)
{
    struct ear *ear = arg;
    count(&ear->beats);
    return !ear->deaf;
}

static void ear_end(void *arg)
{
    struct ear *ear = arg;
    count(&ear->ends);
}

static struct mcp *m;
static struct changes *changes;
static struct ear ear, other;
static struct session session;
static struct arena *arena;
static struct err e;

static int opened(void **state)
{
    (void)state;
    heard = unheard = 0;
    e = (struct err){0};
    struct backend b = {.list = fake_list,
                        .named = fake_named,
                        .call = fake_call,
                        .library = {.hear = hear, .unhear = unhear, .follow = follow}};
    m = mcp_open_on(&b, &e);
    assert_non_null(m);
    changes = &m->changes;
    changes->rest_ms = 1;
    arena = arena_new(1 << 24);
    session = (struct session){.there = true};
    memset(&ear, 0, sizeof ear);
    memset(&other, 0, sizeof other);
    buf_init(&ear.said, 1 << 24);
    buf_init(&other.said, 1 << 24);
    return 0;
}

static int closed(void **state)
{
    (void)state;
    mcp_close(m);
    buf_done(&ear.said);
    buf_done(&other.said);
    arena_free(arena);
    return 0;
}

static const struct json *value(const char *text)
{
    return json_read(str_of(text), arena, &e);
}

static struct listener *open_for(const char *id, const struct grant *g, unsigned hears)
{
    return listener_open(changes, id ? value(id) : NULL, &session, g, hears, &e);
}

static void start(struct listener *l, struct ear *where)
{
    struct sink sink = {.say = ear_say, .end = ear_end, .arg = where};
    listener_start(l, &sink, &where->listener);
}

static void listen_to(struct ear *where, const char *id, unsigned hears)
{
    struct listener *l = open_for(id, NULL, hears);
    assert_non_null(l);
    start(l, where);
}

static void follow_it(struct listener *l, const char *uri, const char *canonical)
{
    assert_true(listener_follow(l, str_of(uri), str_of(canonical), &e));
}

#define META(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"
#define LIST(id, what)                                      \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what \
    "/list_changed\",\"params\":{" META(id) "}}\n"
#define UPDATED(id, uri)                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\"," \
    "\"params\":{" META(id) ",\"uri\":\"" uri "\"}}\n"

/* ---- what is told ---------------------------------------------------------- */

static void a_list_that_changed_is_told_to_who_asked_for_it(void **state)
{
    (void)state;
    listen_to(&ear, "7", HEARS_TOOLS);
    listen_to(&other, "\"a \\\"b\\\"\"", HEARS_PROMPTS | HEARS_RESOURCES);
    change(CHANGED_TOOLS, NULL, "");
    await(&ear.messages, 1);
    change(CHANGED_PROMPTS, NULL, "");
    await(&other.messages, 1);
    change(CHANGED_RESOURCES, NULL, "");
    await(&other.messages, 2);
    assert_string_equal(buf_cz(&ear.said), LIST("7", "tools"));
    assert_string_equal(buf_cz(&other.said), LIST("\"a \\\"b\\\"\"", "prompts")
                                                 LIST("\"a \\\"b\\\"\"", "resources"));
}

static void a_resource_is_named_as_its_listener_names_it(void **state)
{
    (void)state;
    struct listener *l = open_for("1", NULL, 0);
    follow_it(l, "X:a", "x:a");
    start(l, &ear);
    change(CHANGED_ONE, NULL, "X:a");
    change(CHANGED_ONE, NULL, "x:ab");
    change(CHANGED_ONE, NULL, "x:a");
    await(&ear.messages, 1);
    assert_string_equal(buf_cz(&ear.said), UPDATED("1", "X:a"));
}

static void all_beneath_a_uri_may_change_at_once(void **state)
{
    (void)state;
    struct listener *l = open_for("1", NULL, HEARS_RESOURCES);
    follow_it(l, "x:a/1", "x:a/1");
    follow_it(l, "x:a/2", "x:a/2");
    follow_it(l, "x:b/1", "x:b/1");
    change(CHANGED_ALL, NULL, "x:a/");
    start(l, &ear);
    await(&ear.messages, 2);
    assert_int_equal(ear.messages, 2);
    assert_null(strstr(buf_cz(&ear.said), "x:b/1"));
}

static void of_ten_thousand_changes_each_is_told_once(void **state)
{
    (void)state;
    struct listener *l = open_for("1", NULL, HEARS_ALL);
    follow_it(l, "x:1", "x:1");
    follow_it(l, "x:2", "x:2");
    for (unsigned i = 0; i < 10000; i++) {
        char uri[16];
        (void)snprintf(uri, sizeof uri, "x:%u", i);
        change(CHANGED_ONE, NULL, uri);
        change(CHANGED_RESOURCES, NULL, "");
    }
    start(l, &ear);
    await(&ear.messages, 3);
    change(CHANGED_TOOLS, NULL, ""); /* nothing else comes before it */
    await(&ear.messages, 4);
    assert_string_equal(buf_cz(&ear.said), LIST("1", "resources") UPDATED("1", "x:2")
                                               UPDATED("1", "x:1") LIST("1", "tools"));
}

static void nobody_hears_of_a_workspace_that_is_not_his(void **state)
{
    (void)state;
    static const char *const mine[] = {"mine", "ours"};
    struct grant g = {.principal = "token a",
                      .vaults = {.at = mine, .n = LENGTH(mine), .given = true}};
    struct listener *l = open_for("1", &g, HEARS_RESOURCES);
    follow_it(l, "x:1", "x:1");
    change(CHANGED_RESOURCES, "theirs", "");
    change(CHANGED_ONE, "theirs", "x:1");
    change(CHANGED_ALL, "theirs", "x:");
    start(l, &ear);
    change(CHANGED_RESOURCES, "ours", "");
    await(&ear.messages, 1);
    change(CHANGED_ONE, "mine", "x:1");
    await(&ear.messages, 2);
    assert_string_equal(buf_cz(&ear.said), LIST("1", "resources") UPDATED("1", "x:1"));
}

static void none_given_is_no_workspace_at_all(void **state)
{
    (void)state;
    struct grant g = {.principal = "token a", .vaults = {.given = true}};
    struct listener *l = open_for("1", &g, HEARS_ALL);
    change(CHANGED_RESOURCES, "any", "");
    start(l, &ear);
    change(CHANGED_TOOLS, NULL, "");
    await(&ear.messages, 1);
    assert_string_equal(buf_cz(&ear.said), LIST("1", "tools"));
}

/* ---- how long --------------------------------------------------------------- */

static void who_takes_the_request_back_hears_nothing_more(void **state)
{
    (void)state;
    listen_to(&ear, "7", HEARS_TOOLS);
    listen_to(&other, "\"7\"", HEARS_TOOLS);
    struct session stranger = {.there = true, .id = {1}};
    changes_cancel(changes, &stranger, value("7"));
    assert_int_equal(ear.ends, 0);
    changes_cancel(changes, &session, value("7"));
    assert_int_equal(ear.ends, 1);
    assert_int_equal(other.ends, 0);
    change(CHANGED_TOOLS, NULL, "");
    await(&other.messages, 1);
    assert_int_equal(ear.messages, 0);
}

static void a_request_that_was_taken_back_before_it_began_ends_at_once(void **state)
{
    (void)state;
    struct listener *l = open_for("7", NULL, HEARS_TOOLS);
    changes_cancel(changes, &session, value("7"));
    start(l, &ear);
    await(&ear.ends, 1);
    assert_int_equal(ear.messages, 0);
}

static void who_hangs_up_leaves_once(void **state)
{
    (void)state;
    listen_to(&ear, "1", HEARS_TOOLS);
    assert_non_null(ear.listener);
    changes_gone(changes, &ear.listener);
    assert_null(ear.listener);
    changes_gone(changes, &ear.listener);
    assert_int_equal(ear.ends, 1);
}

static void who_cannot_be_told_leaves(void **state)
{
    (void)state;
    ear.deaf = true;
    listen_to(&ear, "1", HEARS_TOOLS);
    change(CHANGED_TOOLS, NULL, "");
    await(&ear.ends, 1);
    assert_null(ear.listener);
    change(CHANGED_TOOLS, NULL, "");
    assert_int_equal(ear.messages, 1);
}

static void the_end_answers_the_request(void **state)
{
    (void)state;
    listen_to(&ear, "\"one\"", HEARS_ALL);
    changes_end(changes);
    assert_int_equal(ear.ends, 1);
    assert_string_equal(
        buf_cz(&ear.said),
        "{\"jsonrpc\":\"2.0\",\"id\":\"one\",\"result\":{\"resultType\":\"complete\","
        "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"one\"}}}\n");
}

static void signs_of_life_find_who_is_gone(void **state)
{
    (void)state;
    m->ticker.beat_ms = 1;
    struct listener *l = open_for("1", NULL, 0);
    struct sink sink = {.say = ear_say, .beat = ear_beat, .end = ear_end, .arg = &ear};
    listener_start(l, &sink, &ear.listener);
    await(&ear.beats, 3);
    atomic_store(&ear.deaf, true);
    await(&ear.ends, 1);
    assert_int_equal(ear.messages, 0);
}

static void changes_are_heard_only_while_somebody_listens(void **state)
{
    (void)state;
    assert_int_equal(heard, 0);
    listen_to(&ear, "1", HEARS_TOOLS);
    listen_to(&other, "2", HEARS_TOOLS);
    assert_int_equal(heard, 1);
    changes_gone(changes, &ear.listener);
    assert_int_equal(unheard, 0);
    changes_gone(changes, &other.listener);
    await(&unheard, 1);
    listen_to(&ear, "1", HEARS_TOOLS);
    assert_int_equal(heard, 2);
}

/* ---- how many ---------------------------------------------------------------- */

static void one_may_follow_so_many_resources(void **state)
{
    (void)state;
    struct listener *l = open_for("1", NULL, 0);
    char uri[32];
    for (unsigned i = 0; i < FOLLOWED_MAX; i++) {
        (void)snprintf(uri, sizeof uri, "x:%u", i);
        follow_it(l, uri, uri);
    }
    assert_false(listener_follow(l, STR("x:more"), STR("x:more"), &e));
    assert_int_equal(e.code, ERR_LIMIT);
    listener_drop(l);
    l = open_for("1", NULL, 0);
    scoped_buf struct buf longest;
    buf_init(&longest, FOLLOWED_URI_MAX + 1);
    while (longest.n < FOLLOWED_URI_MAX)
        buf_char(&longest, 'x');
    assert_true(listener_follow(l, buf_view(&longest), STR("x"), &e));
    buf_char(&longest, 'x');
    e = (struct err){0};
    assert_false(listener_follow(l, buf_view(&longest), STR("x"), &e));
    assert_int_equal(e.code, ERR_LIMIT);
    listener_drop(l);
}

static void so_many_may_listen_with_one_credential_and_in_all(void **state)
{
    (void)state;
    struct grant g = {.principal = "token a"}, h = {.principal = "token b"};
    static struct listener *open[LISTENERS_MAX];
    for (unsigned i = 0; i < LISTENERS_GRANT_MAX; i++)
        assert_non_null(open[i] = open_for("1", &g, 0));
    assert_null(open_for("1", &g, 0));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    assert_non_null(open[LISTENERS_GRANT_MAX] = open_for("1", &h, 0));
    for (unsigned i = LISTENERS_GRANT_MAX + 1; i < LISTENERS_MAX; i++)
        assert_non_null(open[i] = open_for("1", NULL, 0));
    assert_null(open_for("1", NULL, 0));
    assert_int_equal(e.code, ERR_LIMIT);
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        listener_drop(open[i]);
}

static void an_id_may_be_so_long(void **state)
{
    (void)state;
    scoped_buf struct buf id;
    buf_init(&id, 2 * LISTENER_ID_MAX);
    buf_char(&id, '"');
    while (id.n < LISTENER_ID_MAX)
        buf_char(&id, 'x');
    buf_char(&id, '"');
    assert_null(open_for(buf_cz(&id), NULL, 0));
    assert_int_equal(e.code, ERR_INVALID);
}

/* ---- sessions of the older era ------------------------------------------------ */

#define OLD_LIST(what)                                      \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what \
    "/list_changed\",\"params\":{}}\n"

static void a_session_hears_of_lists_and_of_what_it_subscribes_to(void **state)
{
    (void)state;
    struct sink sink = {.say = ear_say, .arg = &ear};
    changes_session(changes, &session, NULL, &sink);
    change(CHANGED_TOOLS, NULL, "");
    await(&ear.messages, 1);
    assert_true(changes_follow(changes, &session, STR("X:1"), STR("x:1"), &e));
    assert_true(changes_follow(changes, &session, STR("X:1"), STR("x:1"), &e));
    change(CHANGED_ONE, NULL, "x:1");
    await(&ear.messages, 2);
    changes_unfollow(changes, &session, STR("X:1"));
    changes_unfollow(changes, &session, STR("X:1"));
    change(CHANGED_ONE, NULL, "x:1");
    change(CHANGED_PROMPTS, NULL, "");
    await(&ear.messages, 3);
    assert_string_equal(
        buf_cz(&ear.said),
        OLD_LIST("tools") "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"
                          "updated\",\"params\":{\"uri\":\"X:1\"}}\n" OLD_LIST(
                              "prompts"));
}

static void a_session_that_is_over_hears_nothing(void **state)
{
    (void)state;
    struct sink sink = {.say = ear_say, .end = ear_end, .arg = &ear};
    changes_session(changes, &session, NULL, &sink);
    changes_session_over(changes, &session);
    assert_int_equal(ear.ends, 1);
    assert_false(changes_follow(changes, &session, STR("x:1"), STR("x:1"), &e));
    assert_int_equal(e.code, ERR_INVALID);
    changes_session(changes, &session, NULL, &sink);
    changes_session(changes, &session, NULL, &sink); /* initialize, once more */
    assert_int_equal(ear.ends, 2);
    changes_end(changes);
    assert_int_equal(ear.ends, 3);
    assert_int_equal(ear.messages, 0);
}

/* ---- subscriptions/listen ----------------------------------------------------- */

static bool attached;

static void attach(void *arg, struct listener *l, struct str first)
{
    attached = true;
    (void)ear_say(arg, first);
    start(l, arg);
}

/* Its answer; "" when it listens. */
static const char *request(const char *filter, const char *capabilities, bool http)
{
    static struct buf text, out;
    buf_done(&text);
    buf_done(&out);
    buf_init(&text, 1 << 20);
    buf_init(&out, 1 << 20);
    buf_printf(&text,
               "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"subscriptions/listen\","
               "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
               "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{%s}}",
               capabilities);
    if (filter) {
        buf_cstr(&text, ",\"notifications\":");
        buf_cstr(&text, filter);
    }
    buf_cstr(&text, "}}");
    struct envelope env = {.session = &session,
                           .http = http,
                           .version = STR("2026-07-28"),
                           .method = STR("subscriptions/listen")};
    struct reply r = {.out = &out};
    struct front front = {.who = "a test", .attach = attach, .attach_arg = &ear};
    struct call *c = take_message(m, buf_view(&text), &env, &r);
    attached = false;
    if (c)
        call_run(c, &front, &r);
    assert_int_equal(attached, r.attached);
    assert_int_equal(out.n == 0, attached);
    return buf_cz(&out);
}

#define ACKNOWLEDGED(what)                                                          \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"," \
    "\"params\":{" META("5") ",\"notifications\":" what "}}\n"

static void what_is_agreed_to_is_said_first(void **state)
{
    (void)state;
    request("{\"toolsListChanged\":true,\"promptsListChanged\":false,"
            "\"resourceSubscriptions\":[\"X:a\",\"none:\",\"x:b\"],\"more\":7}",
            "", false);
    change(CHANGED_PROMPTS, NULL, "");
    change(CHANGED_ONE, NULL, "x:a");
    await(&ear.messages, 2);
    assert_string_equal(buf_cz(&ear.said),
                        ACKNOWLEDGED("{\"toolsListChanged\":true,"
                                     "\"resourceSubscriptions\":[\"X:a\",\"x:b\"]}")
                            UPDATED("5", "X:a"));
}

static void nothing_may_be_asked_for(void **state)
{
    (void)state;
    request("{}", "", false);
    assert_string_equal(buf_cz(&ear.said), ACKNOWLEDGED("{}"));
}

static void what_is_no_filter_is_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {NULL,
                                       "null",
                                       "[]",
                                       "\"all\"",
                                       "{\"toolsListChanged\":1}",
                                       "{\"resourcesListChanged\":\"true\"}",
                                       "{\"resourceSubscriptions\":\"x:a\"}",
                                       "{\"resourceSubscriptions\":[7]}",
                                       "{\"resourceSubscriptions\":{}}",
                                       "{\"taskIds\":true}"};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *answer = request(rows[i], "", false);
        if (!strstr(answer, "-32602"))
            fail_msg("%s: %s", rows[i] ? rows[i] : "", answer);
    }
    assert_non_null(strstr(request("{}", "", true), "text/event-stream"));
    assert_non_null(strstr(request("{\"taskIds\":[]}", "", false), "-32021"));
    assert_int_equal(ear.messages, 0);
}

static void tasks_of_others_are_not_agreed_to(void **state)
{
    (void)state;
    request("{\"taskIds\":[\"nobody's\"]}",
            "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}", false);
    assert_string_equal(buf_cz(&ear.said), ACKNOWLEDGED("{\"taskIds\":[]}"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, opened, closed)
    const struct CMUnitTest tests[] = {
        TEST(a_list_that_changed_is_told_to_who_asked_for_it),
        TEST(a_resource_is_named_as_its_listener_names_it),
        TEST(all_beneath_a_uri_may_change_at_once),
        TEST(of_ten_thousand_changes_each_is_told_once),
        TEST(nobody_hears_of_a_workspace_that_is_not_his),
        TEST(none_given_is_no_workspace_at_all),
        TEST(who_takes_the_request_back_hears_nothing_more),
        TEST(a_request_that_was_taken_back_before_it_began_ends_at_once),
        TEST(who_hangs_up_leaves_once),
        TEST(who_cannot_be_told_leaves),
        TEST(the_end_answers_the_request),
        TEST(signs_of_life_find_who_is_gone),
        TEST(changes_are_heard_only_while_somebody_listens),
        TEST(one_may_follow_so_many_resources),
        TEST(so_many_may_listen_with_one_credential_and_in_all),
        TEST(an_id_may_be_so_long),
        TEST(a_session_hears_of_lists_and_of_what_it_subscribes_to),
        TEST(a_session_that_is_over_hears_nothing),
        TEST(what_is_agreed_to_is_said_first),
        TEST(nothing_may_be_asked_for),
        TEST(what_is_no_filter_is_refused),
        TEST(tasks_of_others_are_not_agreed_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
