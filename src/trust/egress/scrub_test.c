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

/* ---- in pieces ------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* The text in pieces that end where `cuts` is not 0. */
static const char *sieve_of(const char *value, struct str text, const char *cuts)
{
    static char out[8192];
    struct buf held, clean;
    struct err why = {0};
    struct sieve v;
    buf_init(&held, 4096);
    buf_init(&clean, sizeof out - 1);
    buf_cstr(&held, value);
    const struct keys keys = {&rules, &held, &why};
    sieve_init(&v, &keys);
    for (size_t at = 0, from = 0; at < text.n; at++)
        if (at + 1 == text.n || cuts[at]) {
            assert_true(sieve_put(&v, (struct str){text.at + from, at + 1 - from},
                                  at + 1 == text.n, &clean));
            from = at + 1;
        }
    (void)snprintf(out, sizeof out, "%s", clean.n ? buf_cz(&clean) : "");
    sieve_done(&v);
    buf_done(&held);
    buf_done(&clean);
    return out;
}

/* However a text is cut up, what is passed on is what the whole text becomes. */
static void pieces_become_what_the_whole_becomes(void **state)
{
    (void)state;
    static const char *const parts[] = {
        VALUE,
        "s3cr<t/\\\"+&1234",
        "\\u0073\\u{33}\\x63r<t/\\\"+&1234",
        "s3cr<t/\\\\\\\"+&1234",
        "s3cr%253Ct%252F%2522%252B%25261234",
        "s3cr&#x3c;t&#x2F;&#X22;&#x0002b;&#38;1234",
        "s3cr&amp;lt;t/&amp;quot;+&amp;amp;1234",
        "733363723c742F222b2631323334",
        " czNjcjx0LyIrJjEyMzQ= ",
        "(dXNlcjpzM2NyPHQvIismMTIzNCE=)",
        " czNjcjx0\r\nLyIrJjEyMzQ= ",
        "s3cr<t/",
        "s3cr<",
        "czNj(",
        "7333(",
        "&",
        "\\",
        "%",
        "&#x",
        "\\u{",
        "%25",
        "&amp;",
        "\n",
        "words ",
        "and more of them. ",
        "\\\\",
        "&lt",
        "\\x6",
        "{}",
        "\xc3\xa9",
    };
    for (uint32_t seed = 1; seed <= 4000; seed++) {
        static char text[2000], cuts[2000], whole[4096];
        size_t n = 0;
        random_state = seed * 2654435761u;
        for (uint32_t i = 0, many = 1 + random_below(12); i < many; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                                  parts[random_below(LENGTH(parts))]);
        uint32_t often = 1 + random_below(30);
        for (size_t i = 0; i < n; i++)
            cuts[i] = random_below(often) == 0 && text[i] != '\n' && text[i] != '\r';
        (void)snprintf(whole, sizeof whole, "%s", scrub(text));
        const char *clean = sieve_of(VALUE, (struct str){text, n}, cuts);
        if (strcmp(clean, whole) != 0)
            fail_msg("%u: %s becomes %s, in pieces %s", seed, text, whole, clean);
    }
}

static void what_cannot_be_a_value_is_passed_on_at_once(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "data: {\"a\": \"b\\n\"}\n\n",
        "a line that ends in c\n",
        "data: c\r\n\r\n",
        "data: [DONE]\n\n",
        "100%\n",
        "a & b.",
        "{\"s\": 1}",
        "data: cz\n\n",
    };
    struct buf held, out;
    struct err why = {0};
    buf_init(&held, 4096);
    buf_init(&out, 4096);
    buf_cstr(&held, VALUE);
    for (size_t i = 0; i < LENGTH(whole); i++) {
        struct sieve v;
        const struct keys keys = {&rules, &held, &why};
        sieve_init(&v, &keys);
        buf_clear(&out);
        assert_true(sieve_put(&v, str_of(whole[i]), false, &out));
        if (!str_is(buf_view(&out), whole[i]))
            fail_msg("of %s came %.*s", whole[i], STR_ARGS(buf_view(&out)));
        sieve_done(&v);
    }
    buf_done(&held);
    buf_done(&out);
}

/* A line that ends in a letter or two is passed on; what follows is found all the same. */
static void a_value_after_a_line_that_was_passed_on_is_found(void **state)
{
    (void)state;
    struct str text = STR("czN\r\njcjx0LyIrJjEyMzQ=.");
    char cuts[40] = {0};
    cuts[4] = 1;
    assert_string_equal(sieve_of(VALUE, text, cuts), "czN\r\n[secret:KEY]=.");
}

static void what_could_be_a_value_for_ever_ends(void **state)
{
    (void)state;
    static char lines[1 << 16];
    struct buf held, out;
    struct err why = {0};
    struct sieve v;
    buf_init(&held, 4096);
    buf_init(&out, 4096);
    buf_cstr(&held, VALUE);
    const struct keys keys = {&rules, &held, &why};
    memset(lines, '\n', sizeof lines);
    sieve_init(&v, &keys);
    assert_true(sieve_put(&v, STR("czNj"), false, &out));
    unsigned many = 0;
    while (many < 100 && sieve_put(&v, (struct str){lines, sizeof lines}, false, &out))
        many++;
    assert_in_range(many, 16, 40);
    assert_int_equal(out.n, 0);
    sieve_done(&v);
    buf_done(&held);
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_is_found),
        cmocka_unit_test(base64_is_found_at_every_alignment),
        cmocka_unit_test(other_text_stays),
        cmocka_unit_test(a_value_that_looks_escaped_is_found),
        cmocka_unit_test(pieces_become_what_the_whole_becomes),
        cmocka_unit_test(what_cannot_be_a_value_is_passed_on_at_once),
        cmocka_unit_test(a_value_after_a_line_that_was_passed_on_is_found),
        cmocka_unit_test(what_could_be_a_value_for_ever_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
