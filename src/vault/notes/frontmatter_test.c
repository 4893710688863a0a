/* Frontmatter: found, parsed, changed key by key, and otherwise unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "notes/frontmatter.h"

static struct frontmatter cut_str(struct str text)
{
    struct frontmatter f;
    struct err e = {0};
    assert_true(frontmatter_read(text, arena, &f, &e));
    /* Nothing is ever lost. */
    assert_int_equal(f.head.n + f.body.n, text.n);
    return f;
}

static struct frontmatter cut(const char *text)
{
    return cut_str(str_of(text));
}

static const struct json *json(const char *text)
{
    struct err e = {0};
    const struct json *v = json_read(str_of(text), arena, &e);
    if (!v)
        fail_msg("%s: %s", text, e.msg);
    return v;
}

static void assert_reads(const char *yaml, const char *expected)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    buf_printf(&b, "---\n%s---\n", yaml);
    struct frontmatter f = cut_str(buf_view(&b));
    if (f.state != FRONTMATTER_GOOD)
        fail_msg("%s: %s", yaml, f.error);
    if (!json_equal(f.yml.all, json(expected))) {
        scoped_buf struct buf got;
        buf_init(&got, 1 << 20);
        struct json_writer w = json_writer(&got);
        json_put(&w, f.yml.all);
        fail_msg("%s reads as %s", yaml, buf_cz(&got));
    }
}

/* ---- cutting ------------------------------------------------------------ */

static void a_note_is_cut_into_head_and_body(void **state)
{
    (void)state;
    static const struct {
        const char *text, *body;
        enum frontmatter_state is;
    } rows[] = {
        {"# Hi\n", "# Hi\n", FRONTMATTER_NONE},
        {"", "", FRONTMATTER_NONE},
        {"---\na: 1\n---\nbody", "body", FRONTMATTER_GOOD},
        {"---\na: 1\n---\n\n# Hi\n", "# Hi\n", FRONTMATTER_GOOD},
        {"---\na: 1\n---\n\n\n# Hi\n", "\n# Hi\n", FRONTMATTER_GOOD},
        {"---\na: 1\n---", "", FRONTMATTER_GOOD},
        {"---\n---\nx", "x", FRONTMATTER_GOOD},
        {"--- \r\na: 1\r\n---\t\r\n\r\nx\r\n", "x\r\n", FRONTMATTER_GOOD},
        {"\xef\xbb\xbf---\na: 1\n---\nx", "x", FRONTMATTER_GOOD},
        {"\xef\xbb\xbfx", "x", FRONTMATTER_NONE},
        {"---\na: 1\n...\nx", "x", FRONTMATTER_GOOD},
        {"---\nnever closed\n", "---\nnever closed\n", FRONTMATTER_BROKEN},
        {"---\na: [1\n---\nx", "x", FRONTMATTER_BROKEN},
        {"----\na: 1\n----\n", "----\na: 1\n----\n", FRONTMATTER_NONE},
        {"\n---\na: 1\n---\n", "\n---\na: 1\n---\n", FRONTMATTER_NONE},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct frontmatter f = cut(rows[i].text);
        if (f.state != rows[i].is || !str_is(f.body, rows[i].body))
            fail_msg("row %zu: state %d, body \"%.*s\"", i, f.state, STR_ARGS(f.body));
        assert_true((f.state == FRONTMATTER_BROKEN) == (f.error[0] != '\0'));
    }
}

static void values_follow_the_core_schema(void **state)
{
    (void)state;
    assert_reads(
        "a: 1\nb: -2\nc: 1.5\nd: 1e3\ne: .5\nf: +7\ng: 0x1F\nh: 0o17\n",
        "{\"a\":1,\"b\":-2,\"c\":1.5,\"d\":1000,\"e\":0.5,\"f\":7,\"g\":31,\"h\":15}");
    assert_reads("a: true\nb: False\nc: null\nd: ~\ne:\nf: yes\ng: on\n",
                 "{\"a\":true,\"b\":false,\"c\":null,\"d\":null,\"e\":null,\"f\":\"yes\","
                 "\"g\":\"on\"}");
    assert_reads("a: 2026-11-21\nb: 2026-11-21T05:16:00Z\nc: 12:30\n",
                 "{\"a\":\"2026-11-21\",\"b\":\"2026-11-21T05:16:00Z\",\"c\":\"12:30\"}");
    assert_reads(
        "a: \"1\"\nb: '2'\nc: !!str 3\nd: !!int \"4\"\ne: .inf\nf: 1e999\n",
        "{\"a\":\"1\",\"b\":\"2\",\"c\":\"3\",\"d\":4,\"e\":\".inf\",\"f\":\"1e999\"}");
    assert_reads("a: 12345678901234567890\nb: 9007199254740993\n",
                 "{\"a\":\"12345678901234567890\",\"b\":\"9007199254740993\"}");
    assert_reads(
        "a: [x, {y: 1}]\nb:\n  - 1\n  - k: v\nc: |\n  two\n  lines\nd: >-\n  one\n  line\n",
        "{\"a\":[\"x\",{\"y\":1}],\"b\":[1,{\"k\":\"v\"}],\"c\":\"two\\nlines\\n\","
        "\"d\":\"one line\"}");
    assert_reads("a: &x [1, 2]\nb: *x\n", "{\"a\":[1,2],\"b\":[1,2]}");
    assert_reads("# only a comment\n", "{}");
    assert_reads("1: x\ntrue: y\n", "{\"1\":\"x\",\"true\":\"y\"}");
}

static void what_is_no_list_of_keys_is_broken(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "just text\n", "- a\n- b\n",    "a: 1\na: 2\n", "b: {x: 1, x: 2}\n",
        "a: *none\n",  "a: &x [*x]\n",  "? [a]\n: b\n", "a: [\n",
        "a: \"x\n",    "\tx: 1\n",      "a: b: c\n",    "a: \xff\xfe\n",
        "a: \x01\n",   "a: 1\n b: 2\n", "%YAML 9\n",
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        scoped_buf struct buf b;
        buf_init(&b, 1000);
        buf_printf(&b, "---\n%s---\nbody", bad[i]);
        struct frontmatter f = cut_str(buf_view(&b));
        if (f.state != FRONTMATTER_BROKEN)
            fail_msg("accepted %s", bad[i]);
        assert_true(str_is(f.body, "body"));
        assert_int_equal(json_length(f.yml.all), 0);
    }
}

static void bombs_are_refused_at_once(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 22);
    buf_cstr(&b, "---\na0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (int i = 1; i < 12; i++) {
        buf_printf(&b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_printf(&b, "%s*a%d", k ? ", " : "", i - 1);
        buf_cstr(&b, "]\n");
    }
    buf_cstr(&b, "---\n");
    assert_int_equal(cut_str(buf_view(&b)).state, FRONTMATTER_BROKEN);

    buf_clear(&b);
    buf_cstr(&b, "---\na: ");
    for (int i = 0; i < 100000; i++)
        buf_char(&b, '[');
    buf_cstr(&b, "\n---\n");
    assert_int_equal(cut_str(buf_view(&b)).state, FRONTMATTER_BROKEN);

    buf_clear(&b);
    buf_cstr(&b, "---\na: [");
    for (int i = 0; i < 60000; i++)
        buf_cstr(&b, "1,");
    buf_cstr(&b, "]\n---\n");
    assert_int_equal(cut_str(buf_view(&b)).state, FRONTMATTER_BROKEN);
}

/* ---- editing ------------------------------------------------------------ */

static const char *edit(const char *text, const char *changes, struct err *e)
{
    struct frontmatter f = cut(text);
    struct frontmatter_change list[20];
    size_t n = 0;
    struct json_iter it = json_iter(json(changes));
    while (json_next(&it))
        list[n++] = (struct frontmatter_change){it.key, it.value};
    scoped_buf struct buf head, all;
    buf_init(&head, 1 << 20);
    buf_init(&all, 1 << 20);
    if (!frontmatter_edit(&f, list, n, arena, &head, e))
        return NULL;
    frontmatter_join(buf_view(&head), f.body, false, &all);
    return arena_copy(arena, buf_cz(&all), all.n, e);
}

static void assert_edits(const char *text, const char *changes, const char *expected)
{
    struct err e = {0};
    const char *got = edit(text, changes, &e);
    if (!got)
        fail_msg("%s", e.msg);
    assert_string_equal(got, expected);
}

#define LAID_OUT                                                              \
    "---\n# about this note\ntitle:   'A  title'   # keep\n\ntags: [ a,b ]\n" \
    "# before list\nlist:\n- x\n# inside\n- y\n\n# at the end\n---\n\nbody\n"

static void one_key_changes_and_the_rest_stays(void **state)
{
    (void)state;
    assert_edits(LAID_OUT, "{}", LAID_OUT);
    assert_edits(LAID_OUT, "{\"title\":\"A  title\",\"tags\":[\"a\",\"b\"]}", LAID_OUT);
    assert_edits(LAID_OUT, "{\"none\":null}", LAID_OUT);
    assert_edits(
        LAID_OUT, "{\"title\":\"New\"}",
        "---\n# about this note\ntitle: New\n\ntags: [ a,b ]\n"
        "# before list\nlist:\n- x\n# inside\n- y\n\n# at the end\n---\n\nbody\n");
    assert_edits(LAID_OUT, "{\"list\":null}",
                 "---\n# about this note\ntitle:   'A  title'   # keep\n\ntags: [ a,b ]\n"
                 "# before list\n\n# at the end\n---\n\nbody\n");
    assert_edits(LAID_OUT, "{\"new\":{\"k\":[1,\"two\"]}}",
                 "---\n# about this note\ntitle:   'A  title'   # keep\n\ntags: [ a,b ]\n"
                 "# before list\nlist:\n- x\n# inside\n- y\n\n# at the end\n"
                 "new:\n  k: [1, two]\n---\n\nbody\n");
}

static void multi_line_values_are_replaced_whole(void **state)
{
    (void)state;
    assert_edits("---\na: |\n  one\n  # not a comment\n\nb: \"x\n\n  y\"\nc: 1\n---\n",
                 "{\"a\":1,\"b\":2}", "---\na: 1\n\nb: 2\nc: 1\n---\n");
    assert_edits("---\na: {x: 1,\n# inside\n y: 2}\nb: 1\n---\n", "{\"a\":null}",
                 "---\nb: 1\n---\n");
    assert_edits("---\na: 'x\n\n# text\n\n  y'\nb: 1\n---\n", "{\"a\":null}",
                 "---\nb: 1\n---\n");
}

static void a_key_without_a_value_can_be_removed(void **state)
{
    (void)state;
    assert_edits("---\na: 1\nb: null\nc:\nd: 2\n---\n", "{\"b\":null,\"c\":null}",
                 "---\na: 1\nd: 2\n---\n");
}

static void crlf_and_indentation_are_kept(void **state)
{
    (void)state;
    assert_edits("---\r\na: 1\r\nb: 2\r\n---\r\n\r\nx\r\n", "{\"a\":3,\"c\":[4]}",
                 "---\r\na: 3\r\nb: 2\r\nc:\r\n  - 4\r\n---\r\n\r\nx\r\n");
    assert_edits("---\n  a: 1\n  b: 2\n---\nx", "{\"a\":3,\"c\":4}",
                 "---\n  a: 3\n  b: 2\n  c: 4\n---\nx");
    assert_edits("---\na: 1\rb: 2\n---\nx", "{\"b\":null}", "---\na: 1\r\n---\nx");
    assert_edits("---\na: 1\xc2\x85"
                 "b: 2\n---\nx",
                 "{\"b\":null}", "---\na: 1\xc2\x85\n---\nx");
}

static void a_flow_mapping_is_written_anew(void **state)
{
    (void)state;
    assert_edits("---\n{a: 1, b: [x]}\n---\nx", "{\"a\":2}",
                 "---\na: 2\nb:\n  - x\n---\nx");
}

static void a_head_is_made_where_none_was(void **state)
{
    (void)state;
    assert_edits("# Hi\n", "{\"a\":1}", "---\na: 1\n---\n\n# Hi\n");
    assert_edits("# Hi\n", "{\"a\":null}", "# Hi\n");
    assert_edits("\xef\xbb\xbf# Hi\r\n", "{\"a\":1}",
                 "\xef\xbb\xbf---\r\na: 1\r\n---\r\n\r\n# Hi\r\n");
}

static void what_cannot_be_changed_safely_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(edit("---\na: &x 1\nb: *x\n---\n", "{\"a\":2}", &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_null(edit("---\na: [\n---\n", "{\"a\":2}", &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_non_null(edit("---\na: [\n---\n", "{}", &e));
}

static void joining_cuts_at_the_same_place_again(void **state)
{
    (void)state;
    static const char *const heads[] = {"",
                                        "\xef\xbb\xbf",
                                        "---\na: 1\n---\n",
                                        "---\na: 1\n---\n\n",
                                        "---\na: 1\n---",
                                        "---\nbroken\n---\n"};
    static const char *const bodies[] = {"",          "x",
                                         "\nx",       "\n\n",
                                         "  \nx",     "# x\n",
                                         "\r\nx",     "---\nb: 2\n---\n\nx",
                                         "---\nopen", "\xef\xbb\xbfx"};
    for (size_t h = 0; h < LENGTH(heads); h++) {
        for (size_t b = 0; b < LENGTH(bodies); b++) {
            scoped_buf struct buf all;
            buf_init(&all, 1000);
            frontmatter_join(str_of(heads[h]), str_of(bodies[b]), false, &all);
            struct frontmatter f = cut_str(buf_view(&all));
            if (!str_is(f.body, bodies[b]))
                fail_msg("head %zu body %zu: \"%.*s\"", h, b, STR_ARGS(f.body));
        }
    }
}

/* ---- nasty values ------------------------------------------------------- */

static void assert_survives(const struct json *value)
{
    struct err e = {0};
    if (!yml_can_write(STR("k"), value, &e))
        fail_msg("%s", e.msg);
    struct frontmatter none = cut("body");
    struct frontmatter_change change = {STR("k"), value};
    scoped_buf struct buf head;
    buf_init(&head, 1 << 20);
    if (!frontmatter_edit(&none, &change, 1, arena, &head, &e))
        fail_msg("%s", e.msg);
    struct frontmatter f = cut_str(buf_view(&head));
    bool same =
        f.state == FRONTMATTER_GOOD && json_equal(value, json_get(f.yml.all, "k"));
    if (!same)
        fail_msg("comes back differently: %s", buf_cz(&head));
}

static void every_value_is_read_back_equal(void **state)
{
    (void)state;
    static const char *const values[] = {
        "\"\"",
        "\" \"",
        "\"a\"",
        "\" a\"",
        "\"a \"",
        "\"a: b\"",
        "\"a #b\"",
        "\"#a\"",
        "\"- a\"",
        "\"-\"",
        "\"? a\"",
        "\"[a]\"",
        "\"{a}\"",
        "\"a]\"",
        "\"a,b\"",
        "\"*a\"",
        "\"&a\"",
        "\"!a\"",
        "\"|\"",
        "\">\"",
        "\"%a\"",
        "\"@a\"",
        "\"`a\"",
        "\"'\"",
        "\"it's\"",
        "\"\\\"\"",
        "\"\\\\\"",
        "\"a\\nb\"",
        "\"a\\n\"",
        "\"\\n\"",
        "\"\\r\\n\"",
        "\"\\t\"",
        "\"\\u0000\"",
        "\"\\u0001\\u001f\\u007f\\u0080\\u0085\\u009f\\u00a0\"",
        "\"\\u2028\\u2029\\ufeff\\ufffe\\uffff\\ufffd\"",
        "\"\\ud83d\\ude00\"",
        "\"null\"",
        "\"~\"",
        "\"true\"",
        "\"False\"",
        "\"yes\"",
        "\"NO\"",
        "\"on\"",
        "\"y\"",
        "\"1\"",
        "\"-1\"",
        "\"1.5\"",
        "\"1e3\"",
        "\"0x1F\"",
        "\"0o7\"",
        "\"007\"",
        "\"1_000\"",
        "\".5\"",
        "\".inf\"",
        "\"nan\"",
        "\"12:30:45\"",
        "\"2026-11-21\"",
        "\"2026-11-21T05:16:00.000Z\"",
        "\"2026-11-21 05:16\"",
        "\"=\"",
        "\"<<\"",
        "\"---\"",
        "\"...\"",
        "\"--- a\"",
        "\"a\\n---\\nb\"",
        "\"http://x.y/z?a=b#c\"",
        "\"C:\\\\x\"",
        "\"a:\"",
        "\":a\"",
        "\"Grüße 世界 🌍\"",
        "\"\\u200b\\u202e\"",
        "true",
        "false",
        "0",
        "-0.0",
        "1",
        "-1",
        "1.5",
        "1e21",
        "1e-7",
        "0.1",
        "1.7976931348623157e308",
        "5e-324",
        "9007199254740991",
        "9007199254740992",
        "12345678901234567890",
        "-9223372036854775808",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "{\"a\":{}}",
        "{\"a\":[]}",
        "[null]",
        "[\"\"]",
        "[\"a: b\", \"- c\", \"#d\"]",
        "{\"\":1}",
        "{\"a b\":\"c: d\"}",
        "{\"a: b\":1}",
        "{\"true\":1,\"1\":2,\"null\":3}",
        "{\"\\n\":\"\\n\"}",
        "[[1,[2,[3,[4]]]]]",
        "{\"a\":{\"b\":{\"c\":[{\"d\":\"e, f\"}]}}}",
        "[\"a\",[\"b\",{\"c\":\"d}\"}]]",
        "{\"2026-11-21T05:16:00Z\":\"2026-11-21T05:16:00Z\"}",
        "[{\"2026-11-21T05:16:00Z\":\"2026-11-21T05:16:00Z\"}]",
    };
    for (size_t i = 0; i < LENGTH(values); i++)
        assert_survives(json(values[i]));
}

/* Strings of YAML's special characters, in random mixtures. */
static void random_strings_are_read_back_equal(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "a", " ",       ":",       "#", "-",   "\\n", "'",      "\\\"", "\\\\",
        "[", "]",       "{",       "}", ",",   "&",   "*",      "!",    "|",
        ">", "%",       "@",       "?", "\\t", "\\r", "0",      "1",    ".",
        "e", "\\u0085", "\\u2028", "é", "世",  "~",   "\\u0000"};
    unsigned seed = 12345;
    for (int round = 0; round < 4000; round++) {
        char text[200] = "\"";
        for (unsigned n = (seed >> 8) % 9 + 1; n > 0; n--) {
            seed = seed * 1103515245u + 12345u;
            strcat(text, parts[(seed >> 16) % LENGTH(parts)]);
        }
        strcat(text, "\"");
        char wrapped[700];
        (void)snprintf(wrapped, sizeof wrapped, "[%s, {%s: %s}]", text, text, text);
        assert_survives(json(text));
        assert_survives(json(wrapped));
        if (round % 100 == 99) {
            arena_free(arena);
            arena = arena_new((size_t)64 << 20);
        }
    }
}

static void odd_keys_are_read_back_equal(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "a", "a b",        "a:b", "a: b", "#a", "- a", "true", "1",    "null",
        "'", "\"",         "[",   "{",    "?",  "? a", "é",    "a\nb", "<<",
        "=", "2026-11-21", "*a",  "&a",   "!a", " a",  "a "};
    struct err e = {0};
    for (size_t i = 0; i < LENGTH(keys); i++) {
        struct frontmatter_change change = {str_of(keys[i]), json("\"v\"")};
        struct frontmatter none = cut("body");
        scoped_buf struct buf head;
        buf_init(&head, 1 << 20);
        if (!frontmatter_edit(&none, &change, 1, arena, &head, &e))
            fail_msg("%s: %s", keys[i], e.msg);
    }
}

static void what_yaml_cannot_hold_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    char deep[200] = "";
    for (int i = 0; i < 40; i++)
        strcat(deep, "[");
    for (int i = 0; i < 40; i++)
        strcat(deep, "]");
    assert_false(yml_can_write(STR("k"), json(deep), &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(yml_can_write(STR("k"), json("[9007199254740993]"), &e));
    assert_int_equal(e.code, ERR_INVALID);
    e = (struct err){0};
    assert_false(yml_can_write(STR(""), json("1"), &e));
    char key[300];
    memset(key, 'k', sizeof key);
    e = (struct err){0};
    assert_false(yml_can_write((struct str){key, sizeof key}, json("1"), &e));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_arena, free_arena)
    const struct CMUnitTest tests[] = {
        T(a_note_is_cut_into_head_and_body),
        T(values_follow_the_core_schema),
        T(what_is_no_list_of_keys_is_broken),
        T(bombs_are_refused_at_once),
        T(one_key_changes_and_the_rest_stays),
        T(multi_line_values_are_replaced_whole),
        T(a_key_without_a_value_can_be_removed),
        T(crlf_and_indentation_are_kept),
        T(a_flow_mapping_is_written_anew),
        T(a_head_is_made_where_none_was),
        T(what_cannot_be_changed_safely_is_refused),
        T(joining_cuts_at_the_same_place_again),
        T(every_value_is_read_back_equal),
        T(random_strings_are_read_back_equal),
        T(odd_keys_are_read_back_equal),
        T(what_yaml_cannot_hold_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
