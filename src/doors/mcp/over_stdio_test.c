#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/fake_test.h"

/* A client at the other end of two pipes. */
static struct mcp *m;
static struct mcp_stdio_options options;
static int to[2], from[2];
static FILE *answers;
static pthread_t server;
static bool served;
static struct err failure;

static void *serve(void *arg)
{
    (void)arg;
    failure = (struct err){0};
    served = mcp_serve_stdio(m, &options, &failure);
    return NULL;
}

static void start(struct mcp_stdio_options o)
{
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    o.in = to[0];
    o.out = from[1];
    options = o;
    answers = fdopen(from[0], "r");
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
}

static int opened(void **state)
{
    (void)state;
    m = fake_mcp();
    to[1] = -1;
    return 0;
}

static void end_input(void)
{
    close(to[1]);
    to[1] = -1;
}

static int closed(void **state)
{
    (void)state;
    mcp_close(m);
    return 0;
}

/* Waits for the end, and closes all. */
static void finish(void)
{
    if (to[1] >= 0)
        end_input();
    pthread_join(server, NULL);
    close(to[0]);
    close(from[1]);
    if (answers)
        fclose(answers);
}

static void put(const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(write(to[1], text, n), n);
}

static const char *line(void)
{
    static char *text;
    static size_t size;
    return getline(&text, &size, answers) > 0 ? text : "";
}

static void assert_answer(const char *part)
{
    const char *text = line();
    if (!strstr(text, part))
        fail_msg("%s is not in: %s", part, text);
    assert_int_equal(text[strlen(text) - 1], '\n');
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}\n"
#define CALL(id, name)                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
    "\"name\":\"" name "\"}}\n"
#define CANCEL(id)                                                             \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" \
    "\"requestId\":" id "}}\n"

static void what_was_asked_before_the_end_is_answered(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put("\n" PING("1") "junk\n" CALL("2", "echo"));
    end_input();
    pthread_join(server, NULL);
    bool seen[3] = {false};
    for (int i = 0; i < 3; i++) {
        const char *text = line();
        seen[0] = seen[0] || strstr(text, "\"id\":1,\"result\":{}");
        seen[1] = seen[1] || strstr(text, "-32700");
        seen[2] = seen[2] || strstr(text, "\"id\":2,\"result\":{\"content\"");
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    assert_true(served);
    close(to[0]);
    close(from[1]);
    assert_string_equal(line(), "");
    fclose(answers);
}

static void an_answer_is_one_line(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put(CALL("1", "refuse")); /* whose JSON holds a line end */
    assert_answer("\"structuredContent\":{\"success\": false}");
    finish();
}

static void a_ping_is_answered_while_calls_run(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.threads = 2});
    /* One runs, two wait: the other thread reads on. */
    put(CALL("1", "wait") CALL("2", "wait") CALL("3", "echo"));
    fake_await(&fake.waiting, 1);
    put(PING("4"));
    assert_answer("\"id\":4,\"result\":{}");
    put(CANCEL("2") CANCEL("1"));
    assert_answer("\"id\":3");
    finish();
    assert_int_equal(fake.ran, 2);
}

static void a_cancelled_call_stops_and_is_not_answered(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put(CALL("\"a\"", "wait"));
    fake_await(&fake.waiting, 1);
    put(CANCEL("\"a\""));
    fake_await(&fake.stopped, 1);
    put(PING("2"));
    assert_answer("\"id\":2");
    finish();
}

static void calls_run_beside_each_other(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.threads = 8});
    for (int i = 0; i < 7; i++)
        put(CALL("1", "wait"));
    fake_await(&fake.waiting, 7);
    put(CANCEL("1"));
    fake_await(&fake.stopped, 7);
    finish();
}

static void too_many_waiting_calls_are_told_so(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.threads = 2, .queue_max = 1});
    put(CALL("1", "wait"));
    fake_await(&fake.waiting, 1);
    put(CALL("2", "echo") CALL("3", "echo") PING("4"));
    assert_answer(
        "\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Busy: ");
    assert_answer("\"id\":4");
    put(CANCEL("1"));
    assert_answer("\"id\":2,\"result\"");
    finish();
}

static void the_end_stops_what_runs_too_long(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.drain_ms = 1});
    put(CALL("1", "wait"));
    fake_await(&fake.waiting, 1);
    end_input();
    assert_answer("Cancelled: stopped by its caller");
    finish();
    assert_int_equal(fake.stopped, 1);
}

static void being_told_to_stop_stops_what_runs(void **state)
{
    (void)state;
    int stop[2];
    assert_int_equal(pipe(stop), 0);
    start((struct mcp_stdio_options){
        .drain_ms = 600000, .has_stop = true, .stop = stop[0]});
    put(CALL("1", "wait"));
    fake_await(&fake.waiting, 1);
    close(stop[1]);
    assert_answer("Cancelled: stopped by its caller");
    pthread_join(server, NULL);
    assert_true(served);
    close(stop[0]);
    close(to[0]);
    end_input();
    close(from[1]);
    fclose(answers);
}

static void a_client_that_reads_no_more_ends_all(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.drain_ms = 600000});
    put(CALL("1", "wait"));
    fake_await(&fake.waiting, 1);
    fclose(answers);
    answers = NULL;
    finish();
    assert_true(served);
    assert_int_equal(fake.stopped, 1);
}

static void a_message_that_is_too_long_is_refused_and_passed_over(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    scoped_buf struct buf piece;
    buf_init(&piece, 1 << 21);
    for (size_t i = 0; i < 1 << 20; i++)
        buf_char(&piece, 'x');
    put("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for (size_t i = 0; i < MCP_LINE_MAX >> 20; i++)
        put(buf_cz(&piece));
    put("\"}\n" PING("2"));
    assert_answer("-32600");
    assert_answer("\"id\":2");
    finish();
}

static void each_client_is_one_session(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
        "\"protocolVersion\":\"2025-03-26\"}}\n");
    assert_answer("\"protocolVersion\":\"2025-03-26\"");
    put("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]\n");
    assert_answer("[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}},{");
    finish();
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

/* ---- a client that does not read ----------------------------------------- */

#define HELLO                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}\n"

/* More answers than a pipe holds; later messages are read all the same. */
static void who_does_not_read_is_heard_all_the_same(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put(CALL("\"w\"", "wait"));
    fake_await(&fake.waiting, 1);
    for (unsigned i = 0; i < 200; i++)
        put("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    put(CANCEL("\"w\""));
    fake_await(&fake.stopped, 1);
    put(PING("\"last\""));
    end_input();
    unsigned lists = 0, last = 0;
    for (const char *text = line(); *text; text = line()) {
        lists += strstr(text, "\"tools\":[") != NULL;
        last += strstr(text, "\"id\":\"last\"") != NULL;
        if (lists == 200 && last)
            break;
    }
    assert_int_equal(lists, 200);
    assert_int_equal(last, 1);
    finish();
}

static void a_question_is_asked_and_answered_on_lines(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){0});
    put(HELLO);
    (void)line();
    put(CALL("5", "ask"));
    const char *text = line();
    assert_non_null(strstr(text, "elicitation/create"));
    char answer[300];
    (void)snprintf(answer, sizeof answer,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%.32s\",\"result\":{\"action\":"
                   "\"accept\",\"content\":{\"name\":\"Ada\"}}}\n",
                   strstr(text, "\"id\":\"") + 6);
    put(PING("6"));
    assert_answer("\"id\":6");
    put(answer);
    assert_answer("Ada");
    finish();
}

/* It would wait for minutes, and for the drain. */
static void the_end_of_the_input_ends_a_question(void **state)
{
    (void)state;
    start((struct mcp_stdio_options){.drain_ms = 1000000});
    put(HELLO);
    (void)line();
    put(CALL("5", "ask"));
    assert_answer("elicitation/create");
    end_input();
    assert_answer("notifications/cancelled");
    assert_answer("went away");
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_was_asked_before_the_end_is_answered),
        test(an_answer_is_one_line),
        test(a_ping_is_answered_while_calls_run),
        test(a_cancelled_call_stops_and_is_not_answered),
        test(calls_run_beside_each_other),
        test(too_many_waiting_calls_are_told_so),
        test(the_end_stops_what_runs_too_long),
        test(being_told_to_stop_stops_what_runs),
        test(a_client_that_reads_no_more_ends_all),
        test(a_message_that_is_too_long_is_refused_and_passed_over),
        test(each_client_is_one_session),
        test(who_does_not_read_is_heard_all_the_same),
        test(a_question_is_asked_and_answered_on_lines),
        test(the_end_of_the_input_ends_a_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
