/* Sections: headings, bytes that an edit keeps, and refusals. */
#include "notes/blocks.h"
#include "notes/fixture_test.h"

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* ---- headings ------------------------------------------------------------ */

/* "2:Text" for each heading of the document, with '|' between them. */
static const char *headings(const char *text)
{
    struct err e = {0};
    size_t n;
    struct heading *h = blocks_headings(str_of(text), arena, &n, &e);
    assert_non_null(h);
    scoped_buf struct buf b;
    buf_init(&b, 100000);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s%u:%.*s", i ? "|" : "", h[i].level, STR_ARGS(h[i].text));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void headings_are_those_of_commonmark(void **state)
{
    (void)state;
    static const struct {
        const char *text, *headings;
    } rows[] = {
        {"# A\n## B ##\n### C #x\n#D\n####### E\n   ## F\n    ## G\n",
         "1:A|2:B|3:C #x|2:F"},
        {"A\n===\nB\n---\n\nC\nD\n--\n", "1:A|2:B|2:C\nD"},
        {"a\n    ## no\n", ""},
        {"```\n## no\n```\n## yes\n", "2:yes"},
        {"~~~ x\n## no\n```\n## no\n~~~~\n## yes\n", "2:yes"},
        {"```\n## no\n", ""},
        {"``` a`b\n## yes\n", "2:yes"},
        {"> ## no\n## yes\n", "2:yes"},
        {"> a\n---\n", ""},
        {"> a\nb\n===\n", ""},
        {"- a\n  ## no\n## yes\n", "2:yes"},
        {"- ## no\n\n  ## no\n\n ## yes\n", "2:yes"},
        {"- a\nb\n---\n", ""},
        {"- a\n\nb\n---\n", "2:b"},
        {"- ```\n  ## no\n## yes\n", "2:yes"},
        {"- ```\n## yes\n", "2:yes"},
        {"1. a\n\n   ## no\n\n## yes\n", "2:yes"},
        {"a\n2. b\n---\n", "2:a\n2. b"},
        {"a\n- b\n---\n", ""},
        {"-\n  ## no\n\n-\n\n  ## yes?\n", "2:yes?"},
        {"<!-- a\n## no\n\n## no\n-->\n## yes\n", "2:yes"},
        {"<!-- a --> b\n## yes\n", "2:yes"},
        {"<!-->\n## yes\n", "2:yes"},
        {"<div>\n## no\n\n## yes\n", "2:yes"},
        {"<script>\n\n## no\n</script>\n## yes\n", "2:yes"},
        {"<pre>\n## no\n\n## no\n</pre> x\n## yes\n", "2:yes"},
        {"<custom a=\"b\" c>\n## no\n\n## yes\n", "2:yes"},
        {"a\n<custom>\n## yes\n", "2:yes"},
        {"<custom a=>\n## yes\n", "2:yes"},
        {"<?x\n## no\n?>\n## yes\n", "2:yes"},
        {"<![CDATA[\n## no\n]]>\n## yes\n", "2:yes"},
        {"> <div>\n## yes\n", "2:yes"},
        {"\t## no\n", ""},
        {"-\ta\n\n\t## no\n\n## yes\n", "2:yes"},
        {"[a]: /x\n===\n", ""},
        {"***\n## yes\n* * *\n", "2:yes"},
        {"## A\r\n```\r\n## no\r\n```\r\n## B\r\n", "2:A|2:B"},
        {"##\n## \n", "2:|2:"},
        {"", ""},
    };
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (strcmp(headings(rows[i].text), rows[i].headings) != 0)
            fail_msg("%s gives %s", rows[i].text, headings(rows[i].text));
}

static void deep_nesting_has_a_limit_and_long_texts_no_cost(void **state)
{
    (void)state;
    struct err e = {0};
    size_t n;
    scoped_buf struct buf b;
    buf_init(&b, 32u << 20);
    for (size_t i = 0; i <= BLOCKS_DEPTH_MAX; i++)
        buf_cstr(&b, "> ");
    buf_cstr(&b, "x\n");
    assert_null(blocks_headings(buf_view(&b), arena, &n, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    e = (struct err){0};
    buf_clear(&b);
    while (b.n < 10u << 20)
        buf_cstr(&b, "<a b=\"<![CDATA[ [x]: \\ - * _ `` > \"\n");
    assert_non_null(blocks_headings(buf_view(&b), arena, &n, &e));
    assert_int_equal(n, 0);
}

/* ---- reading ------------------------------------------------------------- */

static void sections_are_what_stands_below_level_two(void **state)
{
    (void)state;
    put("A.md", "---\nk: 1\n---\nintro\n\n## One\n\ntext\n### Sub\n# Top\nx\n## One\n");
    const struct json *s = call(notes_get_sections, "'A.md'");
    assert_string_equal(text(s, "content_hash"), hash_of("A.md"));
    assert_true(json_equal(
        json_get(s, "sections"),
        parse(
            "[{\"heading\":\"One\",\"occurrence\":1,\"line\":3,\"content\":\"text\\n### "
            "Sub\"},{\"heading\":\"One\",\"occurrence\":2,\"line\":9,\"content\":\"\"}]")));
    refused(ERR_NOT_FOUND, notes_get_sections, "'none'");
}

/* ---- editing ------------------------------------------------------------- */

/* The file after the edit of "A.md", which is `before`. */
static const char *edited(const char *before, const char *options)
{
    put("A.md", before);
    call(notes_update_section, "{'identifier': 'A.md', 'force': true, %s}", options);
    return file("A.md");
}

static void each_mode_changes_its_section_alone(void **state)
{
    (void)state;
    static const char note[] = "intro\n\n## One\n\none\n\n## Two\ntwo\n\n## Three\n\n3";
    assert_string_equal(edited(note, "'heading': 'One', 'content': 'new\\n\\n'"),
                        "intro\n\n## One\n\nnew\n\n## Two\ntwo\n\n## Three\n\n3");
    assert_string_equal(edited(note, "'heading': 'Two', 'content': 'new'"),
                        "intro\n\n## One\n\none\n\n## Two\nnew\n\n## Three\n\n3");
    assert_string_equal(
        edited(note, "'heading': 'One', 'content': 'new', 'mode': 'append'"),
        "intro\n\n## One\n\none\n\nnew\n\n## Two\ntwo\n\n## Three\n\n3");
    assert_string_equal(
        edited(note, "'heading': 'Two', 'content': 'new', 'mode': 'prepend'"),
        "intro\n\n## One\n\none\n\n## Two\nnew\n\ntwo\n\n## Three\n\n3");
    assert_string_equal(edited(note, "'heading': 'Two', 'mode': 'remove'"),
                        "intro\n\n## One\n\none\n\n## Three\n\n3");
    assert_string_equal(
        edited(note, "'heading': 'Four', 'content': 'x', 'mode': 'create'"),
        "intro\n\n## One\n\none\n\n## Two\ntwo\n\n## Three\n\n3\n\n## Four\n\nx\n");
    assert_string_equal(edited(note, "'heading': '## Three', 'content': ''"),
                        "intro\n\n## One\n\none\n\n## Two\ntwo\n\n## Three\n");
    assert_string_equal(
        edited("## L\n- a\n- b\n", "'heading': 'L', 'content': '- c', 'mode': 'append'"),
        "## L\n- a\n- b\n- c\n");
    assert_string_equal(edited("", "'heading': 'L', 'content': 'x', 'mode': 'create'"),
                        "## L\n\nx\n");
    assert_string_equal(
        edited("A\n---\nx\n\nB\n---\ny\n", "'heading': 'A', 'content': 'new'"),
        "A\n---\nnew\n\nB\n---\ny\n");
}

static void line_ends_marks_and_broken_heads_stay(void **state)
{
    (void)state;
    assert_string_equal(
        edited(
            "\xef\xbb\xbf---\r\nx: [\r\n---\r\n\r\n## A\r\n\r\none\r\n\r\n## B\r\n\r\ntwo",
            "'heading': 'A', 'content': 'x\\ny'"),
        "\xef\xbb\xbf---\r\nx: [\r\n---\r\n\r\n## A\r\n\r\nx\r\ny\r\n\r\n## B\r\n\r\ntwo");
    assert_string_equal(edited("## A\n\xff\xfe\n## B\n",
                               "'heading': 'B', 'content': 'x', 'mode': 'append'"),
                        "## A\n\xff\xfe\n## B\n\nx\n");
}

static void what_would_damage_a_neighbour_is_refused(void **state)
{
    (void)state;
    static const char note[] = "## One\n\none\n\n## Two\n\ntwo\n\nThree\n---\n\nthree\n";
    static const char *const bad[] = {
        "```\\nopen",      "~~~~ x\\n~~~", "<!-- open",      "<script>",
        "<pre>\\n\\ntext", "<?php",        "<![CDATA[",      "<!X",
        "# Top",           "## Another",   "Another\\n---",  "Top\\n==",
        "text\\n## Two",   "- a\\n## B",   "<div>\\n\\n# A", "   ## C",
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        static const char *const modes[] = {"replace", "append", "prepend"};
        for (size_t m = 0; m < LENGTH(modes); m++) {
            put("A.md", note);
            const char *why = refused(
                ERR_INVALID, notes_update_section,
                "{'identifier': 'A.md', 'force': true, 'heading': 'One', 'content': '%s', "
                "'mode': '%s'}",
                bad[i], modes[m]);
            assert_non_null(strstr(why, "nothing was written") ?: strstr(why, "Nothing"));
            assert_string_equal(file("A.md"), note);
        }
    }
    static const char *const good[] = {
        "```\\n## no\\n```",
        "### Sub\\n#### Sub",
        "<div>\\n## no\\n</div>",
        "    ## code",
        "> ## quoted",
        "- ## item",
        "<!-- ## x -->",
        "***",
        "\\\\## no",
        "a | b\\n--|--",
    };
    for (size_t i = 0; i < LENGTH(good); i++) {
        put("A.md", note);
        call(notes_update_section,
             "{'identifier': 'A.md', 'force': true, 'heading': 'One', 'content': '%s'}",
             good[i]);
        const struct json *s = json_get(call(notes_get_sections, "'A.md'"), "sections");
        assert_int_equal(json_length(s), 3);
        assert_string_equal(text(json_at(s, 1), "content"), "two");
        assert_string_equal(text(json_at(s, 2), "content"), "three");
    }
    /* After the last section nothing can be damaged. */
    put("A.md", note);
    call(notes_update_section,
         "{'identifier': 'A.md', 'force': true, 'heading': 'Three', 'content': '```'}");
    refused(ERR_INVALID, notes_update_section,
            "{'identifier': 'A.md', 'force': true, 'heading': 'Four', 'content': 'x', "
            "'mode': 'create'}");
}

static void duplicates_and_strangers_are_asked_about(void **state)
{
    (void)state;
    static const char note[] = "## A\n1\n## A\n2\n## B\n";
    put("A.md", note);
    const char *why = refused(ERR_CONFLICT, notes_update_section,
                              "{'identifier': 'A.md', 'force': true, 'heading': 'A', "
                              "'content': 'x'}");
    assert_non_null(strstr(why, "1 to 2"));
    why =
        refused(ERR_NOT_FOUND, notes_update_section,
                "{'identifier': 'A.md', 'force': true, 'heading': 'C', 'content': 'x'}");
    assert_non_null(strstr(why, "\"A\", \"A\", \"B\""));
    refused(
        ERR_CONFLICT, notes_update_section,
        "{'identifier': 'A.md', 'force': true, 'heading': 'B', 'content': 'x', 'mode': "
        "'create'}");
    refused(ERR_INVALID, notes_update_section,
            "{'identifier': 'A.md', 'heading': 'B', 'content': 'x'}");
    refused(
        ERR_CONFLICT, notes_update_section,
        "{'identifier': 'A.md', 'heading': 'B', 'content': 'x', 'contentHash': 'abc'}");
    static const char *const bad[] = {
        "'heading': '', 'content': 'x'",
        "'heading': 'B'",
        "'heading': 'B', 'content': 'x', 'mode': 'remove'",
        "'heading': 'B', 'content': 'x', 'mode': 'swap'",
        "'heading': 'B', 'content': 'x', 'occurrence': 0",
        "'heading': 'B\\nC', 'content': 'x', 'mode': 'create'",
        "'heading': 'B #', 'content': 'x', 'mode': 'create'",
        "'heading': 'B', 'content': 'x', 'more': 1",
    };
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_update_section,
                "{'identifier': 'A.md', 'force': true, %s}", bad[i]);
    assert_string_equal(file("A.md"), note);
    assert_string_equal(edited(note, "'heading': 'A', 'content': 'x', 'occurrence': 2"),
                        "## A\n1\n## A\nx\n\n## B\n");
}

static void many_headings_are_counted_by_their_text(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 8u << 20);
    for (unsigned i = 0; i < 300000; i++)
        buf_printf(&b, "## %u\n", i % 100000);
    put("A.md", buf_cz(&b));
    const struct json *sections = json_get(call(notes_get_sections, "'A'"), "sections");
    assert_int_equal(json_length(sections), 300000);
    unsigned i = 0;
    for (struct json_iter it = json_iter(sections); json_next(&it); i++) {
        char heading[16];
        (void)snprintf(heading, sizeof heading, "%u", i % 100000);
        assert_string_equal(text(it.value, "heading"), heading);
        assert_int_equal(json_int(json_get(it.value, "occurrence"), 0), 1 + i / 100000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(headings_are_those_of_commonmark),
        T(deep_nesting_has_a_limit_and_long_texts_no_cost),
        T(sections_are_what_stands_below_level_two),
        T(each_mode_changes_its_section_alone),
        T(line_ends_marks_and_broken_heads_stay),
        T(what_would_damage_a_neighbour_is_refused),
        T(duplicates_and_strangers_are_asked_about),
        T(many_headings_are_counted_by_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
