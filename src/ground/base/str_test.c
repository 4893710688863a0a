/* Strings and UTF-8: every code point, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/base.h"

static size_t encode(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static void every_code_point_is_read_back(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x120000; c++) {
        char text[5];
        struct str s = {text, encode(c, text)};
        bool good = c < 0x110000 && !(c >= 0xd800 && c < 0xe000);
        if (str_is_utf8(s) != good)
            fail_msg("U+%04X is taken for %s", c, good ? "invalid" : "valid");
        const char *at = text;
        uint32_t read = str_next_char(&at, text + s.n);
        if (good ? read != c || at != text + s.n : read != 0xfffd || at != text + 1)
            fail_msg("U+%04X reads as U+%04X", c, read);
    }
}

static void only_that_many_sequences_of_three_bytes_are_characters(void **state)
{
    (void)state;
    size_t valid = 0;
    for (uint32_t v = 0; v < 0x100000; v++) {
        char three[3] = {(char)(0xe0 | v >> 16), (char)(v >> 8), (char)v};
        valid += str_is_utf8((struct str){three, 3});
    }
    assert_int_equal(valid, 0x10000 - 0x800 - 0x800);
}

static void pieces_of_characters_are_refused_anywhere(void **state)
{
    (void)state;
    static const char *const broken[] = {"\x80",
                                         "\xbf",
                                         "\xc0\x80",
                                         "\xc1\xbf",
                                         "\xc2",
                                         "\xe0\x9f\xbf",
                                         "\xe2\x82",
                                         "\xed\xa0\x80",
                                         "\xf0\x8f\xbf\xbf",
                                         "\xf4\x90\x80\x80",
                                         "\xf5\x80\x80\x80",
                                         "\xff",
                                         "\xfe"};
    for (size_t i = 0; i < LENGTH(broken); i++)
        for (size_t before = 0; before < 20; before++) {
            char text[40];
            memset(text, 'a', sizeof text);
            size_t n = strlen(broken[i]);
            memcpy(text + before, broken[i], n);
            assert_false(str_is_utf8((struct str){text, before + n}));
            assert_false(str_is_utf8((struct str){text, 36}));
        }
    assert_true(str_is_utf8(STR("")));
    assert_true(str_is_utf8(STR("a\0b")));
}

static void characters_are_of_ascii_classes(void **state)
{
    (void)state;
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        bool word = i >= 0x80 || (i && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789"
                                              "abcdefghijklmnopqrstuvwxyz",
                                              i));
        assert_int_equal(char_is_word(c), word);
        assert_int_equal(char_lower(c), i >= 'A' && i <= 'Z' ? i + 32 : c);
        assert_int_equal(str_is_hex((struct str){&c, 1}),
                         i && strchr("0123456789abcdef", i));
    }
    assert_true(str_is_hex(STR("")));
    assert_false(str_is_hex(STR("00g")));
    assert_true(str_holds(STR("a Needle"), STR("nEEDLE")));
    assert_true(str_holds(STR(""), STR("")));
    assert_false(str_holds(STR("needl"), STR("needle")));
}

static void bytes_are_written_in_hexadecimal(void **state)
{
    (void)state;
    char out[8] = "xxxxxxx";
    hex_write("\x00\xff\x1a", 3, out);
    assert_string_equal(out, "00ff1a");
    hex_write("", 0, out);
    assert_string_equal(out, "");
}

static void a_cut_never_divides_a_character(void **state)
{
    (void)state;
    struct str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x94z\xf0\x9f\x94\x94");
    /* Where characters end, found by reading them. */
    bool ends[32] = {true};
    for (const char *at = s.at; at < s.at + s.n;) {
        (void)str_next_char(&at, s.at + s.n);
        ends[at - s.at] = true;
    }
    for (size_t max = 0; max < s.n + 3; max++) {
        size_t want = max < s.n ? max : s.n;
        while (!ends[want])
            want--;
        assert_int_equal(str_cut(s, max).n, want);
        assert_ptr_equal(str_cut(s, max).at, s.at);
    }
}

static void a_cut_of_what_is_no_utf8_stays_within_it(void **state)
{
    (void)state;
    struct str s = STR("\x80\x80\x80\x80\x80\x80\xf0\x9f\xff\xe2\x82");
    for (size_t max = 0; max < 20; max++) {
        struct str cut = str_cut(s, max);
        assert_true(cut.n <= max && cut.n <= s.n);
    }
}

static void strings_are_compared_by_their_bytes(void **state)
{
    (void)state;
    assert_true(str_eq(STR(""), str_of(NULL)));
    assert_true(str_eq(STR("a\0b"), STR("a\0b")));
    assert_false(str_eq(STR("a\0b"), STR("a\0c")));
    assert_false(str_is(STR("ab"), "abc"));
    assert_true(str_is(STR("ab"), "ab"));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_cmp(STR("ab"), STR("ab")), 0);
    assert_int_equal(str_cmp(STR(""), str_of(NULL)), 0);
}

static void beginnings_and_ends(void **state)
{
    (void)state;
    assert_true(str_starts(STR("abc"), "ab"));
    assert_true(str_starts(STR("abc"), ""));
    assert_false(str_starts(STR("ab"), "abc"));
    assert_true(str_ends(STR("abc"), "bc"));
    assert_false(str_ends(STR("c"), "bc"));
}

static void spaces_on_both_sides_are_trimmed(void **state)
{
    (void)state;
    assert_true(str_is(str_trim(STR(" \t\r\n a b \n")), "a b"));
    assert_true(str_is(str_trim(STR(" \n")), ""));
    assert_true(str_is(str_trim(STR("")), ""));
    assert_true(str_is(str_trim(STR("x")), "x"));
}

static void slips_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        size_t n;
    } cases[] = {{"", "", 0},
                 {"", "abc", 3},
                 {"abc", "", 3},
                 {"search", "serach", 1},
                 {"Search", "sEARCH", 0},
                 {"get", "got", 1},
                 {"get", "gets", 1},
                 {"gets", "get", 1},
                 {"kitten", "sitting", 3},
                 {"ab", "ba", 1},
                 {"@", "`", 1}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_int_equal(str_distance(str_of(cases[i].a), str_of(cases[i].b)),
                         cases[i].n);
    char longer[200];
    memset(longer, 'x', sizeof longer);
    assert_int_equal(str_distance((struct str){longer, 200}, (struct str){longer, 100}),
                     0);
    assert_int_equal(str_distance((struct str){longer, 200}, STR("")), 64);
}

static void a_list_is_cut_between_its_names(void **state)
{
    (void)state;
    static const struct {
        const char *list, *cut;
        size_t max;
    } rows[] = {{"one, two, three", "one, two, three", 15},
                {"one, two, three", "one, two", 14},
                {"one, two, three", "one, two", 8},
                {"one, two, three", "one", 7},
                {"one, two, three", "", 2},
                {"a,b, c", "a,b", 5},
                {"", "", 0}};
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_true(str_is(str_cut_list(str_of(rows[i].list), rows[i].max), rows[i].cut));
}

static void names_have_letters_digits_and_marks_behind_the_first(void **state)
{
    (void)state;
    assert_true(str_is_name(STR("aZ9._-"), "._-", 6));
    assert_false(str_is_name(STR("aZ9._-"), "._-", 5));
    static const char *const none[] = {"", ".a", "a b", "a@", "a`", "a{", "\xc3\xa9"};
    for (size_t i = 0; i < LENGTH(none); i++)
        assert_false(str_is_name(str_of(none[i]), "._-", 40));
    assert_false(str_is_name((struct str){"a\0b", 3}, "._-", 40));
    assert_true(str_same(STR("X-Key"), STR("x-kEY")) && str_same(STR(""), STR("")));
    assert_false(str_same(STR("a"), STR("ab")) || str_same(STR("@"), STR("`")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_cut_between_its_names),
        cmocka_unit_test(slips_are_counted),
        cmocka_unit_test(every_code_point_is_read_back),
        cmocka_unit_test(only_that_many_sequences_of_three_bytes_are_characters),
        cmocka_unit_test(pieces_of_characters_are_refused_anywhere),
        cmocka_unit_test(characters_are_of_ascii_classes),
        cmocka_unit_test(bytes_are_written_in_hexadecimal),
        cmocka_unit_test(a_cut_never_divides_a_character),
        cmocka_unit_test(a_cut_of_what_is_no_utf8_stays_within_it),
        cmocka_unit_test(strings_are_compared_by_their_bytes),
        cmocka_unit_test(beginnings_and_ends),
        cmocka_unit_test(names_have_letters_digits_and_marks_behind_the_first),
        cmocka_unit_test(spaces_on_both_sides_are_trimmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
