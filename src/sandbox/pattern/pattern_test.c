/* Patterns in their world: they match what PCRE2 matches, and none exceeds its time or
 * memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/traps_test.h"
#include "pattern/internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MS ((uint64_t)1000000)
#define LONG (10000 * MS)

static struct patterns *patterns;

static int set_up(void **state)
{
    (void)state;
    patterns = patterns_new_alone("build/guest");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    patterns_free(patterns);
    return 0;
}

static struct matcher *a_matcher(uint64_t compute_ns)
{
    struct err e = {0};
    struct matcher *m =
        matcher_open(patterns, &(struct matcher_limits){.compute_ns = compute_ns}, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static void set(struct matcher *m, const char *pattern)
{
    struct err e = {0};
    if (!matcher_set(m, str_of(pattern), &e))
        fail_msg("%s: %s", pattern, e.msg);
}

/* ---- what matches -------------------------------------------------------- */

static void the_first_line_that_matches_is_found_and_else_the_whole(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *lines, *whole, *line, *match; /* NULL: none */
    } rows[] = {
        {"b+", "aaa\nabba\nbb", "b", "abba", "bb"},
        {"^b+$", "aaa\r\nbb\r\nbbb", "", "bb", "bb"},
        {"^$", "aaa\n\nbb", "x", "", ""},
        {"^$", "aaa\nbb\n", "x", NULL, NULL},
        {"^$", "", "", "", ""},
        {"t.tle", "body\n", "a title", "a title", "title"},
        {"a\nb", "a\nb", "a\nb", "a\nb", "a\nb"}, /* only the whole has line ends */
        {"B", "aba", "b", NULL, NULL},
        {"(?i)B", "aba", "", "aba", "b"},
        {"\\bcaf\\w\\b", "un caf\u00e9 noir", "", "un caf\u00e9 noir", "caf\u00e9"},
        {"\\p{Lu}+", "a \u00c4\u00d6 b", "", "a \u00c4\u00d6 b", "\u00c4\u00d6"},
        {"(?i)\u00c4", "\u00e4", "", "\u00e4", "\u00e4"},
        {"b.d", "\xff b\u00fcd \xfe", "", "\xff b\u00fcd \xfe", "b\u00fcd"},
        {"\xc3\xbc", "\xff\xc3 \xbc", "\xc3", NULL, NULL}, /* not across bytes of none */
        {"(?<=a)b(?!c)", "abc ab", "", "abc ab", "b"},
        {"(\\w)\\1", "abccd", "", "abccd", "cc"},
        {"^(\\((?:[^()]|(?1))*\\))$", "(a(b)c)", "", "(a(b)c)", "(a(b)c)"},
        {"a\\Kb", "ab", "", "ab", "b"},
    };
    scoped(matcher_close) struct matcher *m = a_matcher(LONG);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct matcher_place p;
        struct err e = {0};
        set(m, rows[i].pattern);
        if (!matcher_find(m, str_of(rows[i].lines), str_of(rows[i].whole), &p, &e))
            fail_msg("%s: %s", rows[i].pattern, e.msg);
        if (p.found != (rows[i].line != NULL))
            fail_msg("%s: found %d", rows[i].pattern, p.found);
        if (!p.found)
            continue;
        struct str match = {p.line.at + p.at, p.length};
        if (!str_is(p.line, rows[i].line) || !str_is(match, rows[i].match))
            fail_msg("%s: \"%.*s\" in \"%.*s\"", rows[i].pattern, STR_ARGS(match),
                     STR_ARGS(p.line));
    }
}

static void what_is_no_pattern_is_told_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *why;
    } rows[] = {
        {"(", "missing closing parenthesis, at character 2"},
        {"\u00e4\u00f6(", "missing closing parenthesis, at character 4"},
        {"a*+b", NULL}, /* possessive, and fine */
        {"*a", "quantifier does not follow a repeatable item, at character 1"},
        {"[z-a]", "range out of order in character class, at character 4"},
        {"\\C", "using \\C is disabled by the application, at character 3"},
        {"(?C1)a", "using callouts is disabled by the application, at character 3"},
        {"\\p{Nothing}", "unknown property after \\P or \\p, at character 12"},
        {"\xff", "UTF-8 error"},
        {"(?<=a+)b", "length of lookbehind assertion is not limited, at character 1"},
    };
    scoped(matcher_close) struct matcher *m = a_matcher(LONG);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err e = {0};
        bool ok = matcher_set(m, str_of(rows[i].pattern), &e);
        if (ok != !rows[i].why || (!ok && e.code != ERR_INVALID) ||
            (!ok && !strstr(e.msg, rows[i].why)))
            fail_msg("%s: %s", rows[i].pattern, e.msg);
    }
}

/* Such a failure is one of the line only: the matcher goes on. */
static void a_line_that_is_too_much_is_told_with_its_size(void **state)
{
    (void)state;
    scoped(matcher_close) struct matcher *m = a_matcher(LONG);
    struct matcher_place p;
    struct err e = {0};
    char line[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    set(m, "^(a+)+$");
    assert_false(matcher_find(m, str_of(line), STR(""), &p, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_non_null(strstr(e.msg, "backtracks too much on a line of 37 bytes"));
    e = (struct err){0};
    set(m, "!");
    assert_true(matcher_find(m, str_of(line), STR(""), &p, &e) && p.found);
}

/* ---- what never ends ------------------------------------------------------ */

static char *repeated(const char *text, size_t times, const char *end)
{
    struct buf b;
    buf_init(&b, (size_t)32 << 20);
    while (times-- > 0)
        buf_cstr(&b, text);
    buf_cstr(&b, end);
    char *all = mem_strdup(buf_cz(&b));
    buf_done(&b);
    return all;
}

static enum err_code outcome(const char *pattern, const char *text, uint64_t compute_ns)
{
    scoped(matcher_close) struct matcher *m = a_matcher(compute_ns);
    struct matcher_place p;
    struct err e = {0};
    bool ok = matcher_set(m, str_of(pattern), &e) &&
              matcher_find(m, STR(""), str_of(text), &p, &e);
    assert_true(ok || e.msg[0]);
    return ok ? ERR_NONE : e.code;
}

/* PCRE2's limit counts for each start of a match: within it this takes half a minute. */
static void what_stays_within_all_limits_of_pcre2_ends_at_the_deadline(void **state)
{
    (void)state;
    scoped(free) char *line = repeated("a", 20000, "");
    assert_int_equal(outcome("a{0,300}a{0,300}(?:ab|ac)", line, 50 * MS), ERR_TIMEOUT);
    /* By the clock, too. */
    struct err e = {0};
    struct matcher_limits limits = {.until_ns = 1};
    scoped(matcher_close) struct matcher *m = matcher_open(patterns, &limits, &e);
    assert_false(m && matcher_set(m, STR("a"), &e));
    assert_int_equal(e.code, ERR_TIMEOUT);
}

static void catastrophic_patterns_end(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *repeat, *end;
    } rows[] = {
        {"(a+)+$", "a", "!"},
        {"(a*)*$", "a", "!"},
        {"(a|aa)+$", "a", "!"},
        {"(a|a?)+$", "a", "!"},
        {"(.*a){25}$", "a", "!"},
        {"^(([a-z])+.)+[A-Z]([a-z])+$", "a", ""},
        {"(\\w+\\s?)*$", "aa ", "!"},
        {"^(\\d+)*x", "1", ".x"},
        {"(x+x+)+y", "x", ".y"},
        {"(?:(?:a?){20})+ab", "a", ".b"},
        {"a{0,300}a{0,300}(?:ab|ac)", "a", ""},
        {"a{0,100}a{0,100}a{0,100}ac", "a", ".c"},
        {".*.*.*.*=[^=]*!", "x", "="},
        {"\\s*\\s*\\s*\\s*\\sx", " ", ".x"},
        {"(?:.*,){20}x", "1,", "1x"},
        {"(a+)(a+)(a+)(a+)\\1\\2b", "a", ".b"},
        {"(?:(a+)\\1)+$", "a", "b"},
        {"(.+)\\1\\1\\1[yz]", "ab", ""},
        {"(?i)(?:A|a|\\x{e4})+$", "aA", "!"},
        {"^(?:(\\((?:[^()]|(?1))*\\))|x)+$", "((", ""},
        {"(?R)?a(?R)?b", "a", ""},
        {"(?:a|(?R)){2}ac", "a", ".c"},
        {"(a(?1)?a|b)+c", "a", ""},
        {"(?=(a+))a*b\\1", "a", ".b"},
        {"(?<!a)(?:a+a+)+b", "a", ".b"},
        {"(?:\\p{L}+\\p{L}*)+\\d", "\u00e4", ""},
        {"^([\\p{L}\\p{N}]+)*!", "a1", ".!"},
        {"(?:[^\"]*\"[^\"]*\")*$", "\"x", "'"},
        {"^(?:[a-zA-Z0-9_.+-]+)+@(?:[a-z]+\\.)+$", "a.", ""},
        {"^(?:https?://)?(?:[\\w.-]+)+(?:/[\\w.-]*)*\\?$", "a/", "#?"},
        {"(?:a(?=.*b)|a(?=.*c)|a)*d", "a", "bc"},
        {"(?:\\X\\X?)+\\d", "e\u0301", ""},
    };
    unsigned stopped = 0;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        scoped(free) char *text = repeated(rows[i].repeat, 20000, rows[i].end);
        enum err_code code = outcome(rows[i].pattern, text, 30 * MS);
        if (code != ERR_NONE && code != ERR_LIMIT && code != ERR_TIMEOUT)
            fail_msg("%s: %s", rows[i].pattern, err_kind(code)->name);
        stopped += code != ERR_NONE;
    }
    assert_true(stopped >= LENGTH(rows) / 2);
}

/* Patterns that are large when compiled, or need much memory to match. */
static void patterns_of_any_size_stay_within_time_and_memory(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        "(?:(?:(?:a{1000}){1000}){1000})",
        "(?:(?:(?:(?:[\\p{L}\\p{N}]{1,100}){1,100}){1,100}){1,100})",
        "(?:(?:(?:x{0,65535}){0,65535}){0,65535}){0,65535}",
        "(?:(?:(?:a?){65535}){65535})b",
        "(?<=(?:a|bc|def){80})x",
        "((((((((((a{1,200}){1,200}){1,200}){1,200}))))))))",
        "(?i:[\\x{0}-\\x{10ffff}]{5000})",
    };
    scoped(free) char *text = repeated("a", 200000, "");
    for (size_t i = 0; i < LENGTH(bombs); i++) {
        enum err_code code = outcome(bombs[i], text, 200 * MS);
        if (code != ERR_NONE && code != ERR_INVALID && code != ERR_LIMIT &&
            code != ERR_TIMEOUT)
            fail_msg("%s: %s", bombs[i], err_kind(code)->name);
    }
    scoped(free) char *nested = repeated("(", 60000, "");
    scoped(free) char *words = repeated("word|", 12000, "x");
    scoped(free) char *classes = repeated("[\\p{L}\\x{100}-\\x{200}]", 2500, "");
    scoped(free) char *captures = repeated("(a)?", 15000, "b");
    assert_int_equal(outcome(nested, text, LONG), ERR_INVALID);
    assert_int_equal(outcome(words, text, LONG), ERR_INVALID); /* "too large" */
    assert_true(outcome(classes, text, LONG) != ERR_GUEST);
    assert_true(outcome(captures, text, LONG) != ERR_GUEST);
}

static void a_text_may_be_as_large_as_a_note_and_no_larger(void **state)
{
    (void)state;
    scoped(matcher_close) struct matcher *m = a_matcher(0);
    scoped(free) char *text =
        repeated("0123456789abcde\n", MATCHER_TEXT_MAX / 16 - 1, "x");
    struct str lines = str_of(text);
    struct matcher_place p;
    struct err e = {0};
    set(m, "^x$");
    assert_true(matcher_find(m, lines, STR("title"), &p, &e) && p.found);
    assert_ptr_equal(p.line.at, text + lines.n - 1);
    assert_false(
        matcher_find(m, (struct str){text, MATCHER_TEXT_MAX + 1}, STR(""), &p, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

/* Texts and patterns of all sizes, one after the other, do not exhaust memory. */
static void one_matcher_serves_many_patterns_and_texts(void **state)
{
    (void)state;
    scoped(matcher_close) struct matcher *m = a_matcher(0);
    scoped(free) char *text = repeated("0123456789abcdef", MATCHER_TEXT_MAX / 16, "");
    scoped(free) char *large = repeated("[a-f]+\\d", 2000, "");
    for (size_t i = 0; i < 200; i++) {
        struct matcher_place p;
        struct err e = {0};
        size_t n = MATCHER_TEXT_MAX >> (7 - i % 8);
        struct str pattern = {large, 8 * (1 + 97 * i % 1000)};
        if (!matcher_set(m, pattern, &e) ||
            !matcher_find(m, STR(""), (struct str){text, i < 16 ? n : 1000}, &p, &e))
            fail_msg("%zu: %s", i, e.msg);
    }
}

/* ---- cancelling ------------------------------------------------------------ */

static void *fire(void *arg)
{
    cancel_fire(arg);
    return NULL;
}

/* Without another limit: it ends by the cancel, or never. */
static void either_cancel_reaches_a_match(void **state)
{
    (void)state;
    scoped(free) char *line = repeated("a", 20000, "");
    for (size_t which = 0; which < 2; which++) {
        struct cancel c[2];
        cancel_init(&c[0]);
        cancel_init(&c[1]);
        struct err e = {0};
        struct matcher_limits limits = {.cancel = {&c[0], &c[1]}};
        scoped(matcher_close) struct matcher *m = matcher_open(patterns, &limits, &e);
        assert_non_null(m);
        set(m, "a{0,300}a{0,300}(?:ab|ac)");
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fire, &c[which]), 0);
        struct matcher_place p;
        assert_false(matcher_find(m, STR(""), str_of(line), &p, &e));
        assert_int_equal(e.code, ERR_CANCELLED);
        pthread_join(thread, NULL);
    }
}

/* ---- as PCRE2 itself -------------------------------------------------------- */

static uint32_t seed = 12345;
static uint32_t chance(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

/* A random pattern with the same meaning in both versions of PCRE2. */
static void put_random(struct buf *b, unsigned depth)
{
    static const char *const atoms[] = {
        "a",        "b",      "c",   ".",          "\\w", "\\d",   "\\s",
        "[abc]",    "[^a]",   "\\b", "^",          "$",   "\\W",   "[a-c]",
        "\xc3\xa4", "\\p{L}", "\\B", "1",          "\\S", "\\x61", "[\\d-]",
        "(?i)",     "\\1",    "_",   "[[:alpha:]]"};
    static const char *const repeats[] = {"",  "",   "",   "",    "*",     "+",
                                          "?", "*?", "+?", "{2}", "{1,3}", "++"};
    static const char *const groups[] = {"(", "(?:", "(?=", "(?!", "(?>"};
    for (uint32_t n = 1 + chance(4); n > 0; n--) {
        if (depth && chance(4) == 0) {
            buf_cstr(b, groups[chance(LENGTH(groups))]);
            put_random(b, depth - 1);
            if (chance(2)) {
                buf_char(b, '|');
                put_random(b, depth - 1);
            }
            buf_char(b, ')');
        } else {
            buf_cstr(b, atoms[chance(LENGTH(atoms))]);
        }
        buf_cstr(b, repeats[chance(LENGTH(repeats))]);
    }
}

static void put_random_text(struct buf *b)
{
    static const char *const pieces[] = {"a", "b", "c",        "A",    " ", "1", "_",
                                         "-", "x", "\xc3\xa4", "\xff", ".", "B"};
    for (uint32_t n = chance(30); n > 0; n--)
        buf_cstr(b, pieces[chance(LENGTH(pieces))]);
}

static pcre2_code *native(struct str pattern)
{
    int error;
    size_t at;
    return pcre2_compile((PCRE2_SPTR)pattern.at, pattern.n,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
                             PCRE2_NEVER_BACKSLASH_C,
                         &error, &at, NULL);
}

static void compare(struct matcher *m, pcre2_code *code, struct str pattern,
                    struct str text)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int rc = pcre2_match(code, (PCRE2_SPTR)text.at, text.n, 0, 0, data, NULL);
    const size_t *place = pcre2_get_ovector_pointer(data);
    struct matcher_place p;
    struct err e = {0};
    if (!matcher_find(m, STR(""), text, &p, &e)) {
        assert_int_equal(e.code, ERR_LIMIT); /* ours are tighter */
    } else if (p.found != (rc >= 0) ||
               (p.found && (p.at != place[0] || p.length != place[1] - place[0]))) {
        fail_msg("/%.*s/ in \"%.*s\": %d %zu+%zu, natively %d %zu-%zu", STR_ARGS(pattern),
                 STR_ARGS(text), p.found, p.at, p.length, rc, place[0], place[1]);
    }
    pcre2_match_data_free(data);
}

static void random_patterns_match_as_natively(void **state)
{
    (void)state;
    scoped(matcher_close) struct matcher *m = a_matcher(0);
    unsigned fine = 0;
    scoped_buf struct buf pattern, text;
    buf_init(&pattern, 10000);
    buf_init(&text, 10000);
    for (int i = 0; i < 4000; i++) {
        buf_clear(&pattern);
        put_random(&pattern, 2);
        struct err e = {0};
        pcre2_code *code = native(buf_view(&pattern));
        bool ok = matcher_set(m, buf_view(&pattern), &e);
        if (ok != (code != NULL))
            fail_msg("/%s/: %s, natively %s", buf_cz(&pattern), ok ? "fine" : e.msg,
                     code ? "fine" : "refused");
        fine += ok;
        for (int n = 0; ok && n < 10; n++) {
            buf_clear(&text);
            put_random_text(&text);
            compare(m, code, buf_view(&pattern), buf_view(&text));
        }
        pcre2_code_free(code);
    }
    assert_true(fine > 1000);
}

/* ---- several at the same time ------------------------------------------------ */

static void *match_often(void *arg)
{
    const char *own = arg;
    for (int i = 0; i < 50; i++) {
        struct err e = {0};
        struct matcher_place p;
        scoped(matcher_close) struct matcher *m =
            matcher_open(patterns, &(struct matcher_limits){.compute_ns = LONG}, &e);
        if (!m || !matcher_set(m, str_of(own), &e) ||
            !matcher_find(m, STR("one two three four"), STR(""), &p, &e) || !p.found ||
            !str_is((struct str){p.line.at + p.at, p.length}, own))
            return NULL;
    }
    return arg;
}

static void several_threads_match_at_the_same_time(void **state)
{
    (void)state;
    static char *const words[] = {"one", "two", "three", "four"};
    pthread_t threads[LENGTH(words)];
    for (size_t i = 0; i < LENGTH(words); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, match_often, words[i]), 0);
    for (size_t i = 0; i < LENGTH(words); i++) {
        void *ok;
        pthread_join(threads[i], &ok);
        assert_ptr_equal(ok, words[i]);
    }
}

static void the_guest_is_loaded_by_the_first_match(void **state)
{
    (void)state;
    scoped(patterns_free) struct patterns *p = patterns_new_alone("build/guest");
    assert_false(patterns_loaded(p));
    struct err e = {0};
    scoped(matcher_close) struct matcher *m =
        matcher_open(p, &(struct matcher_limits){0}, &e);
    assert_true(m && patterns_loaded(p));
}

static void without_a_guest_nothing_is_matched(void **state)
{
    (void)state;
    scoped(patterns_free) struct patterns *p = patterns_new_alone("build/nowhere");
    struct err e = {0};
    assert_null(matcher_open(p, &(struct matcher_limits){0}, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_line_that_matches_is_found_and_else_the_whole),
        cmocka_unit_test(what_is_no_pattern_is_told_with_its_place),
        cmocka_unit_test(a_line_that_is_too_much_is_told_with_its_size),
        cmocka_unit_test(what_stays_within_all_limits_of_pcre2_ends_at_the_deadline),
        cmocka_unit_test(catastrophic_patterns_end),
        cmocka_unit_test(patterns_of_any_size_stay_within_time_and_memory),
        cmocka_unit_test(a_text_may_be_as_large_as_a_note_and_no_larger),
        cmocka_unit_test(one_matcher_serves_many_patterns_and_texts),
        cmocka_unit_test(either_cancel_reaches_a_match),
        cmocka_unit_test(random_patterns_match_as_natively),
        cmocka_unit_test(several_threads_match_at_the_same_time),
        cmocka_unit_test(the_guest_is_loaded_by_the_first_match),
        cmocka_unit_test(without_a_guest_nothing_is_matched),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
