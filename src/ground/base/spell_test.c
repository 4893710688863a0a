#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void is_spelt(struct str text, const char *as)
{
    scoped_buf struct buf out;
    buf_init(&out, 1 << 12);
    str_spell(text, &out);
    assert_string_equal(buf_cz(&out), as);
}

static void what_is_plain_stays(void **state)
{
    (void)state;
    is_spelt(STR(""), "");
    is_spelt(STR("meeting/standup"), "meeting/standup");
    is_spelt(STR("a   b"), "a   b");
    is_spelt(STR("\u00dcbung \u65e5\u672c"), "\u00dcbung \u65e5\u672c");
}

static void what_moves_the_cursor_hides_or_turns_is_spelt_out(void **state)
{
    (void)state;
    is_spelt(STR("a\nb\tc\rd"), "a\\nb\\tc\\u{d}d");
    is_spelt(STR("\x1b[2J\a\x7f\0"), "\\u{1b}[2J\\u{7}\\u{7f}\\u{0}");
    is_spelt(STR("\xc2\x85\xc2\x9b"
                 "1m"),
             "\\u{85}\\u{9b}1m");
    is_spelt(STR("a\u202eb\u2066c\u200bd\ufeff"),
             "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{feff}");
    is_spelt(STR("\u2028\u2029\U000e0041"), "\\u{2028}\\u{2029}\\u{e0041}");
    is_spelt(STR("a    b"), "a\\u{20}*4b");
    is_spelt(STR("\xff\x1b"), "(2 bytes that are not text)");
}

static void is_escaped(struct str text, const char *as)
{
    scoped_buf struct buf out;
    buf_init(&out, 1 << 12);
    str_escape(text, &out);
    assert_string_equal(buf_cz(&out), as);
}

static void json_is_escaped_and_keeps_its_value(void **state)
{
    (void)state;
    is_escaped(STR("{\n\t\"a  \u00fc\": \"\u65e5\"}"), "{\n\t\"a  \u00fc\": \"\u65e5\"}");
    is_escaped(STR("\x1b[2J\x7f\r\0"), "\\u001b[2J\\u007f\\u000d\\u0000");
    is_escaped(STR("\xc2\x9b\xc2\x85\u202e\u2028\ufeff"),
               "\\u009b\\u0085\\u202e\\u2028\\ufeff");
    is_escaped(STR("\U000e0041\U0001f600"), "\\udb40\\udc41\U0001f600");
    is_escaped(STR("e\u0301\u0301\u0301"), "e\u0301\u0301\\u0301");
    is_escaped(STR("a\xff\xc2"), "a\\ufffd\\ufffd");
}

static void keep_line(void *arg, enum log_level level, const char *line)
{
    (void)level;
    buf_cstr(arg, line);
}

static void a_line_of_the_log_is_one_line(void **state)
{
    (void)state;
    scoped_buf struct buf heard;
    buf_init(&heard, 1 << 12);
    log_to(keep_line, &heard);
    log_line(LOG_ERROR, "%s is passed over",
             "a\nb\x1b[2J\xc2\x9b"
             "1m\u202ec\u2028\xff");
    log_to(NULL, NULL);
    assert_string_equal(buf_cz(&heard),
                        "a b [2J\\u009b1m\\u202ec\\u2028\\ufffd is passed over");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_plain_stays),
        cmocka_unit_test(what_moves_the_cursor_hides_or_turns_is_spelt_out),
        cmocka_unit_test(json_is_escaped_and_keeps_its_value),
        cmocka_unit_test(a_line_of_the_log_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
