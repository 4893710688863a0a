/* Confirmation tokens: valid once, for a time, and for the very same request. */
#include "desk/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define REQUEST "\"id\":\"a1\",\"allow\":true,\"remember\":\"always\""

static struct desk desk;
static struct arena *arena;
static struct http_response rs;

static int begin(void **state)
{
    (void)state;
    desk = (struct desk){0};
    rs = (struct http_response){.status = 200};
    buf_init(&rs.body, BUF_TEXT);
    arena = arena_new(ARENA_SMALL);
    return pthread_mutex_init(&desk.lock, NULL);
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    buf_done(&rs.body);
    return pthread_mutex_destroy(&desk.lock);
}

/* Sends a request, its members as text, with a token unless that is NULL. */
static bool say(const char *members, const char *token)
{
    struct err e = {0};
    scoped_buf struct buf text = buf_of(BUF_TEXT);
    buf_printf(&text, "{%s", members);
    if (token)
        buf_printf(&text, ",\"confirm\":\"%s\"", token);
    buf_printf(&text, "}");
    const struct json *said = json_read(buf_view(&text), arena, &e);
    assert_non_null(said);
    buf_clear(&rs.body);
    rs.status = 200;
    bool done = confirmed(&desk, said, "It widens.", &rs);
    assert_int_equal(rs.status, done ? 200 : 428);
    assert_int_equal(rs.body.n > 0, !done);
    return done;
}

/* The token in the last answer. */
static const char *told(void)
{
    struct err e = {0};
    const struct json *answer = json_read(buf_view(&rs.body), arena, &e);
    assert_string_equal(json_cstr(json_get(answer, "sentence")), "It widens.");
    const char *token = json_cstr(json_get(answer, "confirm"));
    assert_int_equal(strlen(token), CRYPTO_TOKEN - 1);
    return token;
}

static void a_request_is_done_when_it_is_said_twice(void **state)
{
    (void)state;
    assert_false(say(REQUEST, NULL));
    assert_true(say(REQUEST, told()));
}

static void a_token_is_good_once(void **state)
{
    (void)state;
    assert_false(say(REQUEST, NULL));
    const char *token = told();
    assert_true(say(REQUEST, token));
    assert_false(say(REQUEST, token));
    assert_string_not_equal(told(), token);
}

static void a_token_is_for_the_very_same_request(void **state)
{
    (void)state;
    assert_false(say(REQUEST, NULL));
    assert_false(say("\"id\":\"a2\",\"allow\":true,\"remember\":\"always\"", told()));
    assert_false(say(REQUEST, NULL));
    assert_false(say(REQUEST ",\"more\":1", told()));
}

static void another_request_takes_the_place_of_the_last(void **state)
{
    (void)state;
    assert_false(say(REQUEST, NULL));
    const char *first = told();
    assert_false(say("\"id\":\"a2\"", NULL));
    assert_false(say(REQUEST, first));
}

static void a_made_up_token_is_none(void **state)
{
    (void)state;
    char token[CRYPTO_TOKEN];
    assert_false(say(REQUEST, "")); /* also before one was given */
    assert_false(say(REQUEST, NULL));
    (void)told();
    crypto_token(token);
    assert_false(say(REQUEST, ""));
    assert_false(say(REQUEST, token));
}

static void a_token_ends_with_its_time(void **state)
{
    (void)state;
    assert_false(say(REQUEST, NULL));
    const char *token = told();
    desk.confirming.until_ns = 1;
    assert_false(say(REQUEST, token));
}

#define T(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_request_is_done_when_it_is_said_twice),
        T(a_token_is_good_once),
        T(a_token_is_for_the_very_same_request),
        T(another_request_takes_the_place_of_the_last),
        T(a_made_up_token_is_none),
        T(a_token_ends_with_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
