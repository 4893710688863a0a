/* What clients answer, held to what they were asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "mcp/core.h"
#include "mcp/outlet.h"

static bool fits(const char *field, const char *value, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new((size_t)1 << 20);
    scoped_buf struct buf text;
    buf_init(&text, 65536);
    buf_printf(&text,
               "[{\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"it\":%s}}},"
               "{\"action\":\"accept\",\"content\":{\"it\":%s}}]",
               field, value);
    const struct json *both = json_read(buf_view(&text), arena, e);
    if (!both)
        fail_msg("%s: %s", buf_cz(&text), e->msg);
    return answer_check(STR("elicitation/create"), json_at(both, 0), json_at(both, 1), e);
}

static void check(const char *field, const char *value, bool is_accepted)
{
    struct err e = {0};
    if (fits(field, value, &e) != is_accepted)
        fail_msg("%s: %s %s", field, value, is_accepted ? e.msg : "is accepted");
    assert_int_equal(e.code, is_accepted ? ERR_NONE : ERR_INVALID);
}

/* Texts that have a format, and texts that do not; each ends with NULL. */
static void check_format(const char *format, const char *const *good,
                         const char *const *bad)
{
    char field[80], value[200];
    (void)snprintf(field, sizeof field, "{\"type\":\"string\",\"format\":\"%s\"}",
                   format);
    for (bool wanted = true; good; good = wanted ? bad : NULL, wanted = false)
        for (; *good; good++) {
            (void)snprintf(value, sizeof value, "\"%s\"", *good);
            check(field, value, wanted);
        }
}

static void an_address_of_mail_has_two_parts(void **state)
{
    (void)state;
    static const char *const good[] = {"ada@example.org",
                                       "a.b+c@x-y.example",
                                       "\\\"a b\\\"@example.org",
                                       "root@localhost",
                                       "jos\\u00e9@ex\\u00e4mple.org",
                                       "a@[127.0.0.1]",
                                       NULL};
    static const char *const bad[] = {"",
                                      "ada",
                                      "@example.org",
                                      "ada@",
                                      "a b@example.org",
                                      "a@b@c.org",
                                      "ada@-x.org",
                                      "ada@x..org",
                                      "ada@.org",
                                      "ada@x.org.",
                                      "ada@x_y",
                                      ".a@x.org",
                                      "ada@x.org\\nBcc: b@x.org",
                                      "<a@x.org>",
                                      "a\\u0000@x.org",
                                      NULL};
    check_format("email", good, bad);
}

static void a_uri_has_a_scheme_and_no_spaces(void **state)
{
    (void)state;
    static const char *const good[] = {"https://example.org/a?b=c#d",
                                       "mailto:ada@x.org",
                                       "urn:isbn:0",
                                       "x:",
                                       "https://[::1]:80/%20",
                                       NULL};
    static const char *const bad[] = {"",
                                      "example.org",
                                      "/a",
                                      "://x",
                                      "1a:b",
                                      "https://a b",
                                      "https://x/%2",
                                      "https://x/%zz",
                                      "https://x/\\u00e9",
                                      "https://x/\\u0000",
                                      "a_b:c",
                                      NULL};
    check_format("uri", good, bad);
}

static void a_date_is_one_of_the_calendar(void **state)
{
    (void)state;
    static const char *const good[] = {"2026-11-21", "2024-02-29", "2000-02-29", NULL};
    static const char *const bad[] = {
        "",           "2026-11-31", "2026-02-29",           "1900-02-29",
        "2026-13-01", "2026-00-01", "2026-01-00",           "26-01-01",
        "2026-1-1",   "2026/01/01", "2026-01-01T00:00:00Z", "-026-01-01",
        NULL};
    check_format("date", good, bad);
}

static void a_time_says_where_it_is_counted(void **state)
{
    (void)state;
    static const char *const good[] = {
        "2026-11-21T05:16:00Z",      "2026-11-21t05:16:00.123z",  "2026-12-31T23:59:60Z",
        "2026-11-21T05:16:00+01:00", "2026-11-21T05:16:00-23:59", NULL};
    static const char *const bad[] = {"2026-11-21",
                                      "2026-11-21T05:16:00",
                                      "2026-11-21 05:16:00Z",
                                      "2026-11-21T24:00:00Z",
                                      "2026-11-21T05:60:00Z",
                                      "2026-11-21T05:16:61Z",
                                      "2026-11-21T05:16:00.Z",
                                      "2026-11-21T05:16:00+24:00",
                                      "2026-11-21T05:16:00Zx",
                                      "2026-02-30T05:16:00Z",
                                      NULL};
    check_format("date-time", good, bad);
}

static void a_format_that_nobody_knows_allows_everything(void **state)
{
    (void)state;
    check("{\"type\":\"string\",\"format\":\"colour\"}", "\"anything\"", true);
    check("{\"type\":\"integer\",\"format\":\"date\"}", "7", true);
}

static void lengths_and_choices_are_looked_at(void **state)
{
    (void)state;
    static const char two[] = "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}";
    static const char one[] =
        "{\"type\":\"string\",\"oneOf\":[{\"const\":\"r\",\"title\":"
        "\"Red\"},{\"const\":\"g\",\"title\":\"Green\"}]}";
    static const char some[] =
        "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"const\":\"r\","
        "\"title\":\"Red\"},{\"const\":\"g\",\"title\":\"Green\"}]}}";
    check(two, "\"a\"", false);
    check(two, "\"ab\"", true);
    check(two, "\"abcd\"", false);
    check(one, "\"g\"", true);
    check(one, "\"Green\"", false);
    check(some, "[\"r\",\"g\"]", true);
    check(some, "[\"Red\"]", false);
    check(some, "[]", false);
}

static void a_refusal_says_what_would_be_accepted(void **state)
{
    (void)state;
    struct err e = {0};
    assert_false(fits("{\"type\":\"string\",\"format\":\"email\"}", "\"ada\"", &e));
    assert_string_equal(e.msg, "your client's answer does not match the request: "
                               "content.it is \"ada\"; an address such as "
                               "ada@example.org is accepted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_mail_has_two_parts),
        cmocka_unit_test(a_uri_has_a_scheme_and_no_spaces),
        cmocka_unit_test(a_date_is_one_of_the_calendar),
        cmocka_unit_test(a_time_says_where_it_is_counted),
        cmocka_unit_test(a_format_that_nobody_knows_allows_everything),
        cmocka_unit_test(lengths_and_choices_are_looked_at),
        cmocka_unit_test(a_refusal_says_what_would_be_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
