#include <stdio.h>

#include "mcp/fake_test.h"

/* A call in a session, run with an outlet that keeps what it is told. */
static struct mcp *m;
static struct session session;
static struct buf said; /* messages, each with a line end */
static unsigned beats;
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t said_more = PTHREAD_COND_INITIALIZER;
static unsigned messages;
static bool deaf;

static bool keep(void *arg, struct str message, enum outlet_weight weight)
{
    (void)arg;
    (void)weight;
    pthread_mutex_lock(&said_lock);
    if (!deaf) {
        buf_str(&said, message);
        buf_char(&said, '\n');
    }
    messages++;
    pthread_cond_broadcast(&said_more);
    pthread_mutex_unlock(&said_lock);
    return !deaf;
}

static void count_beat(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&said_lock);
    beats++;
    pthread_cond_broadcast(&said_more);
    pthread_mutex_unlock(&said_lock);
}

static const struct outlet outlet = {.say = keep, .beat = count_beat};
static const struct front front = {.who = "a test", .outlet = &outlet};

static void await_count(const unsigned *what, unsigned n)
{
    pthread_mutex_lock(&said_lock);
    while (*what < n)
        pthread_cond_wait(&said_more, &said_lock);
    pthread_mutex_unlock(&said_lock);
}

static int opened(void **state)
{
    (void)state;
    m = fake_mcp();
    session = (struct session){.there = true, .version = "2025-11-25"};
    buf_init(&said, 1 << 24);
    messages = beats = 0;
    deaf = false;
    return 0;
}

static int closed(void **state)
{
    (void)state;
    buf_done(&said);
    mcp_close(m);
    return 0;
}

static struct call *taken(const char *text)
{
    static char kept[1 << 16];
    static struct buf none;
    buf_init(&none, 1 << 16);
    struct envelope env = {.session = &session};
    struct reply r = {.out = &none};
    (void)snprintf(kept, sizeof kept, "%s", text);
    struct call *c = take_message(m, str_of(kept), &env, &r);
    if (none.n)
        fail_msg("%s", buf_cz(&none));
    buf_done(&none);
    return c;
}

#define CALL(name, meta)                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\",\"_meta\":{" meta "}}}"
#define MODERN                                                    \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}"

static struct buf answer;

static const char *run(const char *text)
{
    buf_done(&answer);
    buf_init(&answer, 1 << 20);
    struct reply r = {.out = &answer};
    call_run(taken(text), &front, &r);
    return buf_cz(&answer);
}

static void assert_said(const char *all)
{
    assert_string_equal(buf_cz(&said), all);
}

#define PROGRESS(token, rest)                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{" \
    "\"progressToken\":" token ",\"progress\":" rest "}}\n"
#define LOG(level, data)                                                     \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{" \
    "\"_meta\":{\"cloche/requestId\":1},\"level\":\"" level                  \
    "\",\"logger\":\"fake\",\"data\":" data "}}\n"

/* ---- progress and log messages ------------------------------------------ */

static void who_asked_for_nothing_is_told_nothing(void **state)
{
    (void)state;
    run(CALL("tell", ""));
    run(CALL("tell", MODERN));
    assert_said("");
}

static void progress_is_for_who_gave_a_token_and_only_grows(void **state)
{
    (void)state;
    run(CALL("tell", "\"progressToken\":\"t\""));
    assert_said(PROGRESS("\"t\"", "0,\"total\":2,\"message\":\"begun\"")
                    PROGRESS("\"t\"", "2,\"total\":2"));
    buf_clear(&said);
    run(CALL("tell", MODERN ",\"progressToken\":7"));
    assert_said(PROGRESS("7", "0,\"total\":2,\"message\":\"begun\"")
                    PROGRESS("7", "2,\"total\":2"));
}

static void a_token_is_a_string_or_a_whole_number(void **state)
{
    (void)state;
    run(CALL("tell", "\"progressToken\":{}"));
    run(CALL("tell", "\"progressToken\":1.5"));
    run(CALL("tell", "\"progressToken\":null"));
    assert_said("");
}

static void a_session_hears_from_the_level_that_it_set(void **state)
{
    (void)state;
    sessions_set_log_least(&m->sessions, &session, CLIENT_INFO);
    run(CALL("tell", ""));
    assert_said(LOG("info", "\"hello\""));
    buf_clear(&said);
    sessions_set_log_least(&m->sessions, &session, CLIENT_DEBUG);
    run(CALL("tell", ""));
    assert_said(LOG("info", "\"hello\"") LOG("debug", "{\"detail\":1}"));
}

static void a_modern_request_says_its_level_itself(void **state)
{
    (void)state;
    sessions_set_log_least(&m->sessions, &session, CLIENT_DEBUG);
    run(CALL("tell", MODERN));
    assert_said("");
    run(CALL("tell", MODERN ",\"io.modelcontextprotocol/logLevel\":\"info\""));
    assert_said(LOG("info", "\"hello\""));
}

/* So many at once; the last word of progress is never lost. */
static void a_flood_is_held_back(void **state)
{
    (void)state;
    struct call *c = taken(CALL("tell", "\"progressToken\":1"));
    sessions_set_log_least(&m->sessions, &session, CLIENT_DEBUG);
    struct talk t;
    talk_begin(&t, c, &outlet, NULL);
    for (unsigned i = 0; i < 10000; i++)
        client_progress(&t.client, i, 0, STR(""));
    assert_true(messages < 1000);
    for (unsigned i = 0; i < 10000; i++)
        client_log(&t.client, CLIENT_INFO, "x", STR("0"));
    assert_true(messages < 3000);
    talk_end(&t);
    assert_non_null(strstr(buf_cz(&said), "\"progress\":9999}"));
    assert_non_null(strstr(buf_cz(&said), "log messages were left out"));
    call_drop(c);
}

static void a_log_message_that_is_too_large_is_left_out(void **state)
{
    (void)state;
    sessions_set_log_least(&m->sessions, &session, CLIENT_DEBUG);
    struct call *c = taken(CALL("tell", ""));
    struct talk t;
    talk_begin(&t, c, &outlet, NULL);
    size_t n = (size_t)300 * 1024;
    char *large = malloc(n);
    memset(large, '1', n);
    client_log(&t.client, CLIENT_INFO, "x", (struct str){large, n});
    assert_int_equal(messages, 0);
    talk_end(&t);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(buf_cz(&said), "1 log messages were left out"));
    free(large);
    call_drop(c);
}

static void a_long_call_gives_signs_of_life(void **state)
{
    (void)state;
    m->ticker.beat_ms = 1;
    struct call *c = taken(CALL("tell", "\"progressToken\":1"));
    struct talk t;
    talk_begin(&t, c, &outlet, NULL);
    await_count(&messages, 3);
    await_count(&beats, 3);
    client_progress(&t.client, 5, 10, STR("half"));
    talk_end(&t);
    scoped(arena_free) struct arena *a = arena_new(1 << 22);
    double last = -1;
    for (char *at = said.at; at < said.at + said.n;) {
        char *end = memchr(at, '\n', (size_t)(said.at + said.n - at));
        struct err e = {0};
        const struct json *v = json_read((struct str){at, (size_t)(end - at)}, a, &e);
        double now = json_number(fake_at(v, "params.progress"), -1);
        assert_true(now > last);
        last = now;
        at = end + 1;
    }
    assert_true(last >= 5);
    call_drop(c);
}

/* ---- questions ---------------------------------------------------------- */

struct runner {
    pthread_t thread;
    struct call *call;
    struct buf answer;
};

static void *run_call(void *arg)
{
    struct runner *r = arg;
    struct reply reply = {.out = &r->answer};
    call_run(r->call, &front, &reply);
    return NULL;
}

static void run_beside(struct runner *r)
{
    r->call = taken(CALL("ask", ""));
    buf_init(&r->answer, 1 << 20);
    assert_int_equal(pthread_create(&r->thread, NULL, run_call, r), 0);
}

static const char *ended(struct runner *r)
{
    pthread_join(r->thread, NULL);
    return buf_cz(&r->answer);
}

/* The id of the question that was said last. */
static void question_id(char id[static 33])
{
    pthread_mutex_lock(&said_lock);
    const char *at = strstr(buf_cz(&said), "\"id\":\"");
    assert_non_null(at);
    (void)snprintf(id, 33, "%.32s", at + 6);
    pthread_mutex_unlock(&said_lock);
}

static void respond(struct session *from, const char *id, const char *rest)
{
    char text[400];
    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, rest);
    struct buf out;
    buf_init(&out, 4096);
    struct envelope env = {.session = from};
    struct reply r = {.out = &out};
    assert_null(take_message(m, str_of(text), &env, &r));
    assert_int_equal(out.n, 0);
    assert_int_equal(r.status, 202);
    buf_done(&out);
}

#define ACCEPT "\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}"

static void a_question_is_answered_by_its_own_session_once(void **state)
{
    (void)state;
    session.can = CAN_FORM;
    struct runner r;
    run_beside(&r);
    await_count(&messages, 1);
    char id[33];
    question_id(id);
    struct session other = {.there = true, .id = {1}}, none = {0};
    respond(&other, id,
            "\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Eve\"}}");
    respond(&none, id,
            "\"result\":{\"action\":\"accept\",\"content\":{\"name\":\"Eve\"}}");
    respond(&session, "1", "\"result\":{\"action\":\"decline\"}");
    respond(&session, id, ACCEPT);
    respond(&session, id, "\"result\":{\"action\":\"decline\"}");
    const char *text = ended(&r);
    assert_non_null(strstr(text, "\"content\":{\"name\":\"Ada\"}"));
    respond(&session, id, ACCEPT);
    assert_int_equal(m->asks.count, 0);
    buf_done(&r.answer);
}

static void an_answer_that_is_none_is_told_so(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *says;
    } rows[] = {
        {"\"result\":{\"action\":\"accept\",\"content\":{\"name\":3}}", "content.name"},
        {"\"result\":{\"action\":\"accept\"}", "without content"},
        {"\"result\":{\"action\":\"maybe\"}", "'maybe'"},
        {"\"result\":[]", "not an object, but array"},
        {"\"error\":{\"code\":-1,\"message\":\"no window\"}", "no window"},
    };
    session.can = CAN_FORM;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        buf_clear(&said);
        struct runner r;
        messages = 0;
        run_beside(&r);
        await_count(&messages, 1);
        char id[33];
        question_id(id);
        respond(&session, id, rows[i].answer);
        const char *text = ended(&r);
        if (!strstr(text, rows[i].says) || !strstr(text, "InvalidInput"))
            fail_msg("%s is not in %s", rows[i].says, text);
        buf_done(&r.answer);
    }
}

static void a_client_that_did_not_declare_it_is_not_asked(void **state)
{
    (void)state;
    session.can = CAN_URL | CAN_SAMPLE | CAN_ROOTS;
    assert_non_null(strstr(run(CALL("ask", "")), "elicitation.form"));
    session.can = 0;
    assert_non_null(strstr(run(CALL("ask", "")), "declares the capability"));
    assert_int_equal(messages, 0);
}

static void a_cancelled_call_takes_its_question_back(void **state)
{
    (void)state;
    session.can = CAN_FORM;
    struct runner r;
    run_beside(&r);
    await_count(&messages, 1);
    calls_cancel(&m->calls, &session, NULL, true);
    assert_string_equal(ended(&r), "");
    char id[33], taken_back[80];
    question_id(id);
    (void)snprintf(taken_back, sizeof taken_back, "\"requestId\":\"%s\"", id);
    assert_non_null(strstr(buf_cz(&said), taken_back));
    buf_done(&r.answer);
}

static void a_question_is_not_waited_for_without_end(void **state)
{
    (void)state;
    session.can = CAN_FORM;
    m->asks.wait_ms = 1;
    const char *text = run(CALL("ask", ""));
    assert_non_null(strstr(text, "was not answered"));
    assert_non_null(strstr(buf_cz(&said), "notifications/cancelled"));
}

static void a_client_that_cannot_be_reached_fails_the_question(void **state)
{
    (void)state;
    session.can = CAN_FORM;
    deaf = true;
    assert_non_null(strstr(run(CALL("ask", "")), "could not be asked"));
}

static void a_session_has_so_many_questions_and_no_more(void **state)
{
    (void)state;
    session.can = CAN_FORM;
    struct runner r[ASKS_SESSION_MAX];
    for (unsigned i = 0; i < ASKS_SESSION_MAX; i++)
        run_beside(&r[i]);
    await_count(&messages, ASKS_SESSION_MAX);
    assert_non_null(strstr(run(CALL("ask", "")), "Busy"));
    struct session other = {.there = true, .id = {1}, .can = CAN_FORM};
    struct session mine = session;
    session = other;
    m->asks.wait_ms = 1;
    assert_non_null(strstr(run(CALL("ask", "")), "was not answered"));
    session = mine;
    calls_cancel(&m->calls, &session, NULL, true);
    for (unsigned i = 0; i < ASKS_SESSION_MAX; i++) {
        (void)ended(&r[i]);
        buf_done(&r[i].answer);
    }
}

/* ---- questions that no thread waits for ------------------------------------------ */

#define QUARTER (ASKS_MAX / 4)

struct asking {
    struct call call;
    struct talk talk;
    struct asked *asked;
};

static void count_wake(void *arg)
{
    atomic_fetch_add((atomic_uint *)arg, 1);
}

static const struct client_question question = {
    .key = "q",
    .method = "elicitation/create",
    .params = STR("{\"mode\":\"form\",\"message\":\"?\",\"requestedSchema\":"
                  "{\"type\":\"object\",\"properties\":{}}}")};

/* From the number-th of a principal's sessions. */
static bool ask_apart(struct asking *x, const char *owner, unsigned number,
                      atomic_uint *woken, struct err *e)
{
    x->call =
        (struct call){.m = m,
                      .session = {.there = true,
                                  .id = {(unsigned char)owner[6], (unsigned char)number},
                                  .can = CAN_FORM}};
    (void)snprintf(x->call.session.owner, sizeof x->call.session.owner, "%s", owner);
    talk_begin(&x->talk, &x->call, &outlet, NULL);
    x->asked = asks_begin(&m->asks, &x->talk, &question, 1, count_wake, woken, e);
    if (!x->asked)
        talk_end(&x->talk);
    return x->asked != NULL;
}

static void end_apart(struct asking *x, enum err_code code)
{
    struct err e = {0};
    const struct json *answered;
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    assert_false(asks_end(x->asked, &question, a, &answered, &e));
    assert_int_equal(e.code, code);
    talk_end(&x->talk);
}

static void a_principal_has_a_quarter_of_the_places_for_questions(void **state)
{
    (void)state;
    static struct asking all[QUARTER], more, other;
    atomic_uint woken = 0;
    struct err e = {0};
    for (unsigned i = 0; i < QUARTER; i++)
        if (!ask_apart(&all[i], "token a", i / ASKS_SESSION_MAX, &woken, &e))
            fail_msg("%s", e.msg);
    assert_false(ask_apart(&more, "token a", 200, &woken, &e));
    assert_int_equal(e.code, ERR_BUSY);
    e = (struct err){0};
    assert_true(ask_apart(&other, "token b", 0, &woken, &e));
    for (unsigned i = 0; i < QUARTER; i++)
        end_apart(&all[i], ERR_CANCELLED);
    end_apart(&other, ERR_CANCELLED);
}

static void whoever_waits_apart_is_woken(void **state)
{
    (void)state;
    static struct asking one;
    atomic_uint woken = 0;
    uint64_t look_ns;
    struct err e = {0};
    assert_true(ask_apart(&one, "token a", 0, &woken, &e));
    assert_false(asks_look(one.asked, &look_ns));
    asks_abandon(&m->asks, &one.call.session);
    assert_int_equal(atomic_load(&woken), 1);
    assert_true(asks_look(one.asked, &look_ns));
    end_apart(&one, ERR_CANCELLED);
}

static void capabilities_are_read_as_they_were_meant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned can;
    } rows[] = {
        {"{}", 0},
        {"[]", 0},
        {"{\"elicitation\":{}}", CAN_FORM},
        {"{\"elicitation\":{\"form\":{}}}", CAN_FORM},
        {"{\"elicitation\":{\"url\":{}}}", CAN_URL},
        {"{\"elicitation\":{\"form\":{},\"url\":{}}}", CAN_FORM | CAN_URL},
        {"{\"elicitation\":true,\"sampling\":1,\"roots\":\"\"}", 0},
        {"{\"sampling\":{},\"roots\":{}}", CAN_SAMPLE | CAN_ROOTS},
        {"{\"sampling\":{\"tools\":{},\"context\":{}}}",
         CAN_SAMPLE | CAN_SAMPLE_TOOLS | CAN_SAMPLE_CONTEXT},
    };
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err e = {0};
        assert_int_equal(can_read(json_read(str_of(rows[i].text), a, &e)), rows[i].can);
    }
}

#define T(name) cmocka_unit_test_setup_teardown(name, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(who_asked_for_nothing_is_told_nothing),
        T(progress_is_for_who_gave_a_token_and_only_grows),
        T(a_token_is_a_string_or_a_whole_number),
        T(a_session_hears_from_the_level_that_it_set),
        T(a_modern_request_says_its_level_itself),
        T(a_flood_is_held_back),
        T(a_log_message_that_is_too_large_is_left_out),
        T(a_long_call_gives_signs_of_life),
        T(a_question_is_answered_by_its_own_session_once),
        T(an_answer_that_is_none_is_told_so),
        T(a_client_that_did_not_declare_it_is_not_asked),
        T(a_cancelled_call_takes_its_question_back),
        T(a_question_is_not_waited_for_without_end),
        T(a_client_that_cannot_be_reached_fails_the_question),
        T(a_session_has_so_many_questions_and_no_more),
        T(a_principal_has_a_quarter_of_the_places_for_questions),
        T(whoever_waits_apart_is_woken),
        T(capabilities_are_read_as_they_were_meant),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_done(&answer);
    return failed;
}
