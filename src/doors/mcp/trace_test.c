/* Which trace contexts are accepted. */
#include "mcp/fake_test.h"

static struct trace read_of(const char *meta)
{
    static struct arena *arena;
    arena_free(arena);
    arena = arena_new(1 << 20);
    struct err e = {0};
    const struct json *v = json_read(str_of(meta), arena, &e);
    assert_non_null(v);
    struct trace t;
    trace_read(v, &t);
    return t;
}

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN "00f067aa0ba902b7"
#define PARENT "00-" TRACE "-" SPAN "-01"

static void a_context_in_its_form_is_taken(void **state)
{
    (void)state;
    struct trace t = read_of("{\"traceparent\":\"" PARENT "\",\"tracestate\":\"a=1,b=2\","
                             "\"baggage\":\"user=x;p=1\"}");
    assert_true(str_is(t.parent, PARENT));
    assert_true(str_is(t.state, "a=1,b=2"));
    assert_true(str_is(t.baggage, "user=x;p=1"));
    /* a later version may have more behind it */
    assert_int_equal(
        read_of("{\"traceparent\":\"cc-" TRACE "-" SPAN "-01-more\"}").parent.n, 60);
}

static void what_is_not_is_left_out(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{}",
        "{\"traceparent\":7}",
        "{\"traceparent\":\"\"}",
        "{\"traceparent\":\"00-" TRACE "-" SPAN "-1\"}",
        "{\"traceparent\":\"00-" TRACE "-" SPAN "-01-more\"}",
        "{\"traceparent\":\"01-" TRACE "-" SPAN "-01more\"}",
        "{\"traceparent\":\"ff-" TRACE "-" SPAN "-01\"}",
        "{\"traceparent\":\"00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01\"}",
        "{\"traceparent\":\"00-00000000000000000000000000000000-" SPAN "-01\"}",
        "{\"traceparent\":\"00-" TRACE "-0000000000000000-01\"}",
        "{\"traceparent\":\"00-" TRACE "_" SPAN "-01\"}",
        "{\"traceparent\":\"01-" TRACE "-" SPAN "-01-\\u0007\"}",
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (read_of(rows[i]).parent.n)
            fail_msg("taken: %s", rows[i]);
    struct trace t = read_of("{\"tracestate\":\"a=1\",\"baggage\":\"x\\n\"}");
    assert_int_equal(t.state.n, 0); /* meaningless without its parent */
    assert_int_equal(t.baggage.n, 0);
}

static void they_are_no_longer_than_they_may_be(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    buf_init(&text, 1 << 16);
    buf_cstr(&text, "{\"traceparent\":\"" PARENT "\",\"tracestate\":\"");
    for (unsigned i = 0; i < 513; i++)
        buf_char(&text, 'x');
    buf_cstr(&text, "\",\"baggage\":\"");
    for (unsigned i = 0; i < 1025; i++)
        buf_char(&text, 'x');
    buf_cstr(&text, "\"}");
    struct trace t = read_of(buf_cz(&text));
    assert_true(t.parent.n > 0);
    assert_int_equal(t.state.n, 0);
    assert_int_equal(t.baggage.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_in_its_form_is_taken),
        cmocka_unit_test(what_is_not_is_left_out),
        cmocka_unit_test(they_are_no_longer_than_they_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
