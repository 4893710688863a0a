#include <ctype.h>
#include <poll.h>

#include "mcp/wire_test.h"
#include "os/os.h"

/* ---- a client that reads events ----------------------------------------- */

struct reader {
    int fd;
    struct buf raw, body; /* all bytes; those without head and chunk sizes */
    size_t seen;          /* of `body` */
    bool ended;
};

static void reader_init(struct reader *r, int fd)
{
    *r = (struct reader){.fd = fd};
    buf_init(&r->raw, 64 << 20);
    buf_init(&r->body, 64 << 20);
}

static void reader_done(struct reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    buf_done(&r->raw);
    buf_done(&r->body);
}

static void unchunk(struct reader *r)
{
    buf_clear(&r->body);
    const char *at = strstr(buf_cz(&r->raw), "\r\n\r\n");
    const char *end = r->raw.at + r->raw.n;
    if (!at)
        return;
    at += 4;
    while (at < end) {
        char *behind;
        size_t n = strtoul(at, &behind, 16);
        if (!isxdigit((unsigned char)*at) || strncmp(behind, "\r\n", 2) != 0 ||
            (size_t)(end - behind) < n + 4)
            return;
        if (n == 0)
            r->ended = true;
        buf_put(&r->body, behind + 2, n);
        at = behind + 2 + n + 2;
    }
}

static bool more(struct reader *r)
{
    char piece[65536];
    ssize_t n = recv(r->fd, piece, sizeof piece, 0);
    if (n > 0)
        buf_put(&r->raw, piece, (size_t)n);
    else
        r->ended = true;
    unchunk(r);
    return n > 0;
}

/* The next event or comment, without its blank line; "" at the end of the stream. */
static const char *event(struct reader *r)
{
    static char text[1 << 16];
    for (;;) {
        const char *at = buf_cz(&r->body) + r->seen, *end = strstr(at, "\n\n");
        if (end) {
            (void)snprintf(text, sizeof text, "%.*s", (int)(end - at), at);
            r->seen += (size_t)(end - at) + 2;
            return text;
        }
        if (r->ended || !more(r))
            return "";
    }
}

static void id_of(const char *text, char id[static 64])
{
    assert_memory_equal(text, "id: ", 4);
    (void)snprintf(id, 64, "%.*s", (int)strcspn(text + 4, "\n"), text + 4);
}

#define BOTH "Accept: application/json, text/event-stream\r\n"
#define TOLD(id, name)                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{" \
    "\"name\":\"" name "\",\"_meta\":{\"progressToken\":1}}}"
#define NEWEST                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{" \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}"

static void open_newest(char header[static 100])
{
    const char *text = post("", NEWEST);
    assert_status(text, 200);
    const char *at = strstr(text, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(header, 100, "%.*s\r\n",
                   (int)(strlen("Mcp-Session-Id: ") + SESSION_TEXT), at);
}

static void send_call(struct reader *r, const char *headers, const char *body)
{
    char all[400];
    (void)snprintf(all, sizeof all, JSON BOTH "%s", headers);
    reader_init(r, ask("POST", all, body));
}

static void listen_on(struct reader *r, const char *headers, const char *last)
{
    char all[400];
    (void)snprintf(all, sizeof all, "Accept: text/event-stream\r\n%s%s%s%s", headers,
                   last ? "Last-Event-ID: " : "", last ? last : "", last ? "\r\n" : "");
    reader_init(r, ask("GET", all, NULL));
}

static void get_session(const char *header, struct session *out)
{
    assert_true(sessions_find(
        &m->sessions, (struct str){header + strlen("Mcp-Session-Id: "), SESSION_TEXT},
        os_mono_ms(), out));
}

/* ---- a call's ----------------------------------------------------------- */

static void an_answer_alone_is_plain_json(void **state)
{
    (void)state;
    char mine[100];
    open_newest(mine);
    char all[300];
    (void)snprintf(all, sizeof all, BOTH "%s", mine);
    const char *text = post(all, TOLD("1", "echo"));
    assert_says(text, "Content-Type: application/json\r\n");
    text = post(mine, TOLD("1", "tell")); /* accepts no events */
    assert_says(text, "Content-Type: application/json\r\n");
}

static void what_is_said_before_makes_it_a_stream(void **state)
{
    (void)state;
    char mine[100], id[64], other[64];
    open_newest(mine);
    struct reader r;
    send_call(&r, mine, TOLD("7", "tell"));
    const char *text = event(&r);
    id_of(text, id);
    assert_says(text, "\nretry: 1000\ndata: ");
    assert_string_equal(text + strlen(text) - 6, "data: ");
    assert_says(buf_cz(&r.raw), "Content-Type: text/event-stream\r\n");
    assert_says(buf_cz(&r.raw), "Cache-Control: no-cache\r\n");
    assert_says(buf_cz(&r.raw), "X-Accel-Buffering: no\r\n");
    text = event(&r);
    id_of(text, other);
    assert_string_not_equal(id, other);
    assert_says(text, "\"progress\":0,");
    assert_says(event(&r), "\"progress\":2,");
    text = event(&r);
    assert_says(text, "\"id\":7,\"result\"");
    assert_string_equal(event(&r), "");
    reader_done(&r);
}

static void older_revisions_are_not_primed(void **state)
{
    (void)state;
    char mine[100];
    (void)snprintf(mine, sizeof mine, "%s", session());
    struct reader r;
    send_call(&r, mine, TOLD("7", "tell"));
    const char *text = event(&r);
    assert_memory_equal(text, "id: ", 4);
    assert_says(text, "\"progress\":0,");
    reader_done(&r);
}

static void without_a_session_events_have_no_ids(void **state)
{
    (void)state;
    struct reader r;
    send_call(&r, "", TOLD("7", "tell"));
    assert_memory_equal(event(&r), "data: {", 7);
    assert_says(event(&r), "\"progress\":2,");
    assert_says(event(&r), "\"id\":7,\"result\"");
    assert_string_equal(event(&r), "");
    reader_done(&r);
}

static void log_messages_are_a_matter_of_each_session(void **state)
{
    (void)state;
    char mine[100], all[300];
    open_newest(mine);
    (void)snprintf(all, sizeof all, BOTH "%s", mine);
#define TELL \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tell\"}}"
    assert_says(post(all, TELL), "application/json");
    assert_status(post(mine,
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\","
                       "\"params\":{\"level\":\"info\"}}"),
                  200);
    const char *text = post(all, TELL);
    assert_says(text, "text/event-stream");
    assert_says(text, "\"data\":\"hello\"");
    assert_null(strstr(text, "detail"));
    (void)snprintf(all, sizeof all, BOTH "%s", session());
    assert_says(post(all, TELL), "application/json");
}

static void a_call_goes_on_without_its_connection(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    struct reader r;
    send_call(&r, mine, TOLD("7", "ask"));
    id_of(event(&r), id);
    const char *text = event(&r);
    assert_says(text, "elicitation/create");
    char question[33];
    (void)snprintf(question, sizeof question, "%.32s", strstr(text, "\"id\":\"") + 6);
    reader_done(&r); /* hangs up while the user decides */

    char answer[300];
    (void)snprintf(answer, sizeof answer,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\","
                   "\"content\":{\"name\":\"Ada\"}}}",
                   question);
    assert_status(post(mine, answer), 202);
    listen_on(&r, mine, id);
    assert_says(event(&r), "elicitation/create"); /* again: it may not have arrived */
    text = event(&r);
    assert_says(text, "\"id\":7,\"result\"");
    assert_says(text, "Ada");
    assert_string_equal(event(&r), "");
    id_of(text, id);
    reader_done(&r);

    listen_on(&r, mine, id); /* nothing is left */
    assert_string_equal(event(&r), "");
    assert_status(buf_cz(&r.raw), 200);
    reader_done(&r);
}

static void nobody_resumes_what_is_not_his(void **state)
{
    (void)state;
    char mine[100], others[100], id[64];
    open_newest(mine);
    open_newest(others);
    struct reader r;
    send_call(&r, mine, TOLD("7", "tell"));
    id_of(event(&r), id);
    while (*event(&r))
        ;
    reader_done(&r);
    static const char *const wrong[] = {
        "", "x", "1", "1-", "1-99", "99-0", "-1-0", "1-0x", "18446744073709551616-0"};
    char all[300];
    (void)snprintf(all, sizeof all,
                   "Accept: text/event-stream\r\n%sLast-Event-ID: %s\r\n", others, id);
    assert_status(hear(ask("GET", all, NULL)), 400);
    for (size_t i = 1; i < LENGTH(wrong); i++) {
        (void)snprintf(all, sizeof all,
                       "Accept: text/event-stream\r\n%sLast-Event-ID: %s\r\n", mine,
                       wrong[i]);
        assert_status(hear(ask("GET", all, NULL)), 400);
    }
}

static void a_cancelled_request_has_no_answer(void **state)
{
    (void)state;
    char mine[100];
    open_newest(mine);
    struct reader r;
    send_call(&r, mine, TOLD("7", "ask"));
    (void)event(&r);
    assert_says(event(&r), "elicitation/create");
    assert_status(post(mine, CANCEL("7")), 202);
    assert_says(event(&r), "notifications/cancelled");
    assert_string_equal(event(&r), "");
    reader_done(&r);
    send_call(&r, mine, TOLD("8", "wait"));
    fake_await(&fake.waiting, 1);
    assert_status(post(mine, CANCEL("8")), 202);
    (void)hear(r.fd);
    r.fd = -1;
    reader_done(&r);
}

static void a_batch_is_a_stream_too(void **state)
{
    (void)state;
    struct reader r;
    const char *text =
        post("", "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-03-26\"}}");
    char mine[100];
    (void)snprintf(mine, sizeof mine, "%.*s\r\n",
                   (int)(strlen("Mcp-Session-Id: ") + SESSION_TEXT),
                   strstr(text, "Mcp-Session-Id: "));
    send_call(&r, mine, "[" TOLD("1", "tell") "," TOLD("2", "echo") "]");
    assert_says(event(&r), "\"progress\":0,");
    assert_says(event(&r), "\"progress\":2,");
    text = event(&r);
    assert_says(text, "data: [{");
    assert_says(text, "\"id\":1,");
    assert_says(text, "\"id\":2,");
    assert_string_equal(event(&r), "");
    reader_done(&r);
}

static void hanging_up_cancels_where_nothing_can_be_resumed(void **state)
{
    (void)state;
    int fd = ask("POST", JSON BOTH, CALL("5", "wait"));
    fake_await(&fake.waiting, 1);
    close(fd);
    fake_await(&fake.stopped, 1);
}

static void a_long_call_lets_go_of_its_connection(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    m->ticker.beat_ms = 1;
    m->channels.hold_ms = 1;
    struct reader r;
    send_call(&r, mine, CALL("7", "wait"));
    id_of(event(&r), id); /* the first keep-alive opens it */
    while (*event(&r))
        ;
    reader_done(&r);
    assert_int_equal(fake.stopped, 0);
    pthread_mutex_lock(&m->channels.lock);
    m->channels.hold_ms = HOLD_MS;
    pthread_mutex_unlock(&m->channels.lock);
    listen_on(&r, mine, id);
    assert_string_equal(event(&r), ":");
    assert_status(post(mine, CANCEL("7")), 202);
    while (*event(&r))
        ;
    reader_done(&r);
}

/* ---- listening ---------------------------------------------------------- */

static void a_session_listens_and_each_message_comes_once(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    struct session me;
    get_session(mine, &me);
    assert_false(channels_tell(&m->channels, &me, STR("{\"n\":0}")));
    struct reader first, second;
    listen_on(&first, mine, NULL);
    (void)event(&first);
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":1}")));
    assert_says(event(&first), "data: {\"n\":1}");
    listen_on(&second, mine, NULL);
    (void)event(&second);
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":2}")));
    const char *text = event(&second);
    assert_says(text, "data: {\"n\":2}");
    id_of(text, id);
    reader_done(&second);
    /* New events wait for the second to return, or go to the first. */
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":3}")));
    listen_on(&second, mine, id);
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":4}")));
    reader_done(&first);
    reader_done(&second);
}

static void what_was_missed_is_said_again(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    struct session me;
    get_session(mine, &me);
    struct reader r;
    listen_on(&r, mine, NULL);
    id_of(event(&r), id);
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":1}")));
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":\n2}")));
    assert_says(event(&r), "{\"n\":1}");
    reader_done(&r);
    listen_on(&r, mine, id);
    assert_says(event(&r), "{\"n\":1}");
    const char *text = event(&r);
    assert_says(text, "{\"n\": 2}");
    id_of(text, id);
    struct reader again;
    listen_on(&again, mine, id); /* and the other connection ends */
    assert_true(*event(&r) == '\0');
    assert_true(channels_tell(&m->channels, &me, STR("{\"n\":3}")));
    assert_says(event(&again), "{\"n\":3}");
    reader_done(&again);
    reader_done(&r);
}

static void only_so_much_is_kept(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    struct session me;
    get_session(mine, &me);
    struct reader r;
    listen_on(&r, mine, NULL);
    id_of(event(&r), id);
    reader_done(&r);
    size_t large = KEPT_SESSION_BYTES / 4;
    char *text = malloc(large + 1);
    memset(text, '1', large);
    text[large] = '\0';
    for (unsigned i = 0; i < 3 * KEPT_SESSION_EVENTS; i++)
        (void)channels_tell(&m->channels, &me, STR("{\"small\":1}"));
    assert_true(m->channels.oldest != NULL);
    for (unsigned i = 0; i < 8; i++)
        (void)channels_tell(&m->channels, &me, (struct str){text, large});
    assert_true(m->channels.bytes <= KEPT_SESSION_BYTES);
    free(text);
    listen_on(&r, mine, id);
    assert_non_null(event(&r));
    reader_done(&r);
}

static void silence_is_broken_by_comments(void **state)
{
    (void)state;
    char mine[100];
    open_newest(mine);
    m->ticker.beat_ms = 1;
    struct reader r;
    listen_on(&r, mine, NULL);
    (void)event(&r);
    assert_string_equal(event(&r), ":");
    assert_string_equal(event(&r), ":");
    reader_done(&r);
}

static void a_session_that_ends_takes_its_streams_along(void **state)
{
    (void)state;
    char mine[100], id[64];
    open_newest(mine);
    struct reader r, call;
    listen_on(&r, mine, NULL);
    (void)event(&r);
    send_call(&call, mine, TOLD("7", "ask"));
    id_of(event(&call), id);
    assert_says(event(&call), "elicitation/create");
    assert_status(hear(ask("DELETE", mine, NULL)), 204);
    assert_string_equal(event(&r), "");
    while (*event(&call))
        ;
    reader_done(&r);
    reader_done(&call);
    char all[300];
    (void)snprintf(all, sizeof all, "Accept: text/event-stream\r\n%s", mine);
    assert_status(hear(ask("GET", all, NULL)), 404);
}

static void who_may_not_listen_is_told_why(void **state)
{
    (void)state;
    char mine[100], all[300];
    open_newest(mine);
    assert_status(hear(ask("GET", "Accept: text/event-stream\r\n", NULL)), 405);
    (void)snprintf(all, sizeof all, "Accept: application/json\r\n%s", mine);
    assert_status(hear(ask("GET", all, NULL)), 406);
    (void)snprintf(all, sizeof all,
                   "MCP-Protocol-Version: 2026-07-28\r\nAccept: text/event-stream\r\n%s",
                   mine);
    assert_status(hear(ask("GET", all, NULL)), 405);
}

static void a_session_has_so_many_streams_and_no_more(void **state)
{
    (void)state;
    char mine[100], all[300];
    open_newest(mine);
    int fds[CHANNELS_SESSION_MAX];
    (void)snprintf(all, sizeof all, "Accept: text/event-stream\r\n%s", mine);
    for (unsigned i = 0; i < CHANNELS_SESSION_MAX; i++) {
        struct reader r;
        reader_init(&r, ask("GET", all, NULL));
        (void)event(&r);
        fds[i] = r.fd;
        r.fd = -1;
        reader_done(&r);
    }
    assert_status(hear(ask("GET", all, NULL)), 429);
    for (unsigned i = 0; i < CHANNELS_SESSION_MAX; i++)
        close(fds[i]);
}

/* closed() then waits for it, as a server does when it stops. */
static void a_server_that_stops_ends_what_has_lost_its_connection(void **state)
{
    (void)state;
    char mine[100];
    open_newest(mine);
    struct reader r, listens;
    listen_on(&listens, mine, NULL);
    (void)event(&listens);
    send_call(&r, mine, TOLD("7", "wait"));
    fake_await(&fake.waiting, 1);
    reader_done(&r);
    http_close(server, 0);
    server = NULL;
    assert_int_equal(fake.stopped, 1);
    while (*event(&listens))
        ;
    reader_done(&listens);
}

#define test(f) cmocka_unit_test_setup_teardown(f, opened, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(an_answer_alone_is_plain_json),
        test(what_is_said_before_makes_it_a_stream),
        test(older_revisions_are_not_primed),
        test(without_a_session_events_have_no_ids),
        test(log_messages_are_a_matter_of_each_session),
        test(a_call_goes_on_without_its_connection),
        test(nobody_resumes_what_is_not_his),
        test(a_cancelled_request_has_no_answer),
        test(a_batch_is_a_stream_too),
        test(hanging_up_cancels_where_nothing_can_be_resumed),
        test(a_long_call_lets_go_of_its_connection),
        test(a_session_listens_and_each_message_comes_once),
        test(what_was_missed_is_said_again),
        test(only_so_much_is_kept),
        test(silence_is_broken_by_comments),
        test(a_session_that_ends_takes_its_streams_along),
        test(who_may_not_listen_is_told_why),
        test(a_session_has_so_many_streams_and_no_more),
        test(a_server_that_stops_ends_what_has_lost_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
