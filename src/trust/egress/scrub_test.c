/* A secret's value in a returned text, in any encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "egress/internal.h"

#define VALUE "s3cr<t/\"+&1234"

static struct secret secret = {.name = "KEY"};
static struct egress_rules rules = {.secrets = &secret, .secret_count = 1};

static const char *scrub_of(const char *value, const char *given)
{
    static char text[4096];
    struct buf held, t;
    struct err why = {0};
    buf_init(&held, 4096);
    buf_init(&t, sizeof text - 1);
    buf_cstr(&held, value);
    buf_cstr(&t, given);
    assert_true(keys_scrub(&(struct keys){&rules, &held, &why}, &t));
    strcpy(text, t.n ? buf_cz(&t) : "");
    buf_done(&held);
    buf_done(&t);
    return text;
}

static const char *scrub(const char *given)
{
    return scrub_of(VALUE, given);
}

static void every_spelling_is_found(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        VALUE,
        "s3cr<t/\\\"+&1234",                            /* JSON */
        "s3cr<t\\/\\\"+&1234",                          /* with its slash escaped */
        "s3cr\\u003ct\\u002F\\u0022\\u002b\\u00261234", /* as Go and PHP do */
        "\\u0073\\u0033\\x63r<t/\\\"+&1234",
        "\\u{73}3cr<t/\\\"+&1234",
        "s3cr<t/\\\\\\\"+&1234", /* JSON in a string of JSON */
        "s3cr%3Ct%2F%22%2B%261234",
        "s3cr%3ct%2f%22%2b%261234",
        "s3cr<t%2f\"+&1234", /* in part */
        "%73%33%63%72%3C%74%2F%22%2B%26%31%32%33%34",
        "s3cr%253Ct%252F%2522%252B%25261234", /* twice */
        "s3cr&lt;t/&quot;+&amp;1234",
        "s3cr&#60;t&#47;&#34;&#43;&#38;1234",
        "s3cr&#x3c;t&#x2F;&#X22;&#x0002b;&#38;1234",
        "s3cr&#60t/&quot+&amp1234",
        "s3cr&lt;t&sol;&quot;&plus;&amp;1234",
        "s3cr&amp;lt;t/&amp;quot;+&amp;amp;1234",
        "s3cr\\u003ct%2F&quot;+&1234", /* mixed */
        "733363723c742f222b2631323334",
        "733363723C742F222B2631323334",
        "czNjcjx0LyIrJjEyMzQ=",
        "czNjcjx0LyIrJjEyMzQ",
        "czNjcjx0\r\nLyIrJjEyMzQ=",
        "czNjcjx0LyIrJjEyMzQ%3D",
    };
    for (size_t i = 0; i < LENGTH(spellings); i++) {
        char text[400];
        (void)snprintf(text, sizeof text, "{\"a\": \"%s\", b}", spellings[i]);
        const char *clean = scrub(text);
        if (!strstr(clean, "{\"a\": \"[secret:KEY]") || strstr(clean, "1234") ||
            strstr(clean, "3334") || !strstr(clean, "\", b}"))
            fail_msg("%s becomes %s", text, clean);
    }
}

static void base64_is_found_at_every_alignment(void **state)
{
    (void)state;
    /* "user:VALUE!", "me:VALUE" and "x:VALUE??" */
    static const char *const texts[] = {
        "dXNlcjpzM2NyPHQvIismMTIzNCE=", "bWU6czNjcjx0LyIrJjEyMzQ=",
        "eDpzM2NyPHQvIismMTIzND8_"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const char *clean = scrub(texts[i]);
        if (!strstr(clean, "[secret:KEY]") || strlen(clean) > 24)
            fail_msg("%s becomes %s", texts[i], clean);
    }
}

static void other_text_stays(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "nothing",
        "\\",
        "%",
        "&",
        "\\u00",
        "%2",
        "&#",
        "&#x",
        "\\u{",
        "s3cr<t/\"+&123",
        "100%25 of \\u0041 &lt;b&gt; \\\\ \xff\xfe c3NlY3JldA==",
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        assert_string_equal(scrub(texts[i]), texts[i]);
    assert_string_equal(scrub("a" VALUE VALUE "\\u0041"),
                        "a[secret:KEY][secret:KEY]\\u0041");
}

static void a_value_that_looks_escaped_is_found(void **state)
{
    (void)state;
    assert_string_equal(scrub_of("ab%41\\u0041&lt;cd", "<ab%41\\u0041&lt;cd>"),
                        "<[secret:KEY]>");
    assert_string_equal(scrub_of("ab%41\\u0041&lt;cd", "<ab%2541\\\\u0041&amp;lt;cd>"),
                        "<[secret:KEY]>");
    assert_string_equal(scrub_of("two words here", "q=two+words+here&a"),
                        "q=[secret:KEY]&a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_is_found),
        cmocka_unit_test(base64_is_found_at_every_alignment),
        cmocka_unit_test(other_text_stays),
        cmocka_unit_test(a_value_that_looks_escaped_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
