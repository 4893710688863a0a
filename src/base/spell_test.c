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
    is_spelt(STR("\xff\x1b"), "(2 bytes that are no text)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_plain_stays),
        cmocka_unit_test(what_moves_the_cursor_hides_or_turns_is_spelt_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
