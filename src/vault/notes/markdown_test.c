/* Titles and links: found in text, ignored in code, and in linear time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "notes/markdown.h"

static void put(void *arg, const struct link *l)
{
    buf_printf(arg, "%s%zu:%.*s|%.*s;",
               l->kind == LINK_WIKI       ? "w"
               : l->kind == LINK_MARKDOWN ? "m"
                                          : "e",
               l->line, STR_ARGS(l->target), STR_ARGS(l->label));
}

static void assert_links(const char *text, const char *expected)
{
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    markdown_links(str_of(text), put, &b);
    if (strcmp(buf_cz(&b), expected) != 0)
        fail_msg("%s gives %s and not %s", text, buf_cz(&b), expected);
}

static void wiki_links_are_found(void **state)
{
    (void)state;
    assert_links("See [[Plan]] and [[project/Plan|the plan]].",
                 "w1:Plan|Plan;w1:project/Plan|the plan;");
    assert_links("a\n[[Plan#Goals]]\n\n![[Image]] [[#here]] [[ ]]",
                 "w2:Plan|Plan#Goals;w4:Image|Image;");
    assert_links("| a | b |\n|--|--|\n| [[X\\|y]] | z |", "w3:X|y;");
    assert_links("- item [[A]]\n  - [[B]]\n1. [[C]]\n> [[D]]\n# [[E]]",
                 "w1:A|A;w2:B|B;w3:C|C;w4:D|D;w5:E|E;");
    assert_links("[[a]b]] [[a\nb]] [[a [[b]]", "w2:b|b;");
    assert_links("\\[[a]] [\\[b]]", "");
}

static void markdown_links_are_found(void **state)
{
    (void)state;
    assert_links("[a](b.md) [c](<d e.md> \"t\") [x [y]](z.md 't')",
                 "m1:b.md|a;m1:d e.md|c;m1:z.md|x [y];");
    assert_links(
        "[a](https://x.y/z) <https://u.v> [m](mailto:a@b.c) http://bare.org/x_(y), ok.",
        "e1:https://x.y/z|a;e1:https://u.v|https://u.v;e1:mailto:a@b.c|m;"
        "e1:http://bare.org/x_(y)|http://bare.org/x_(y);");
    assert_links("[a]([[b]]) [a]([[b c|d]])", "w1:b|b;w1:b c|d;");
    assert_links("![alt](pic.png) [![alt](pic.png)](page.md) [a](#here) [a]() [a](b",
                 "m1:pic.png|alt;m1:pic.png|alt;m1:page.md|![alt](pic.png);");
    assert_links("[ref]: ../other.md \"title\"\n\ntext [ref]", "m1:../other.md|ref;");
    assert_links("[a](b(c)d) [e](f)g)", "m1:b(c)d|a;m1:f|e;");
    assert_links("[a](b\\)c) [a](b\\\nc) [a](b\\ c) [d](e\\)", "m1:b\\)c|a;");
}

static void an_endless_address_is_cut_between_characters(void **state)
{
    (void)state;
    char text[4000] = "http://ab";
    for (size_t i = 9; i + 3 < sizeof text; i += 3)
        memcpy(text + i, "\xe6\x97\xa5", 3);
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    markdown_links((struct str){text, 3999}, put, &b);
    assert_true(b.n > 2000);
    assert_true(str_is_utf8(buf_view(&b)));
}

static void code_is_passed_over(void **state)
{
    (void)state;
    assert_links("`[[a]]` ``[[b]] ` ``[[c]]", "w1:c|c;");
    assert_links("`[[a]]\n[[b]]` [[c]]", "w2:c|c;");
    assert_links("` [[a]]\n\n[[b]] `", "w1:a|a;w3:b|b;");
    assert_links("```\n[[a]]\n```\n[[b]]\n~~~~ js\n[[c]]\n~~~\n[[d]]\n~~~~\n[[e]]",
                 "w4:b|b;w10:e|e;");
    assert_links("```\n[[never closed]]\n", "");
    assert_links("    [[a]]\n\ttext [[b]]\n[[c]]", "w3:c|c;");
    assert_links("text\n    [[lazy]]\n\n    [[code]]\n", "w2:lazy|lazy;");
    assert_links("- item\n\n  [[in item]]\n\n      [[code in item]]\n\n[[after]]",
                 "w3:in item|in item;w7:after|after;");
    assert_links("- ```\n  [[a]]\n  ```\n  [[b]]", "w4:b|b;");
    assert_links("- a\n  ```\n  [[x]]\n[[out]]", "w4:out|out;");
    assert_links("> ```\n> [[a]]\n[[b]]", "w3:b|b;");
    assert_links("> ```\n> [[a]]\n> ```\n> [[b]]", "w4:b|b;");
    assert_links("``` a`b\n[[x]]", "w2:x|x;");
}

/* Block boundaries are tested in section_test.c; here, that links and titles use the same
 * blocks. */
static void blocks_are_those_of_commonmark(void **state)
{
    (void)state;
    assert_links("<!--\n[[hidden]]\n-->\n[[seen]]", "w4:seen|seen;");
    assert_links("<pre>\n\n[[h]]\n</pre>\n<script>\n\n[[h]]\n</script>", "");
    assert_links("<div>\n[[h]]\n\n[[s]]", "w4:s|s;");
    assert_links("para\n    ```\n[[x]]", "w3:x|x;");
    assert_links("```\n    ```\n[[hidden]]\n```\n[[seen]]", "w5:seen|seen;");
    assert_links("* * *\n    [[h]]", "");
    assert_links("- a\n***\n      [[h]]", "");
    assert_links("a\n---\n    [[h]]", "");
    assert_links("- > ```\n  > [[h]]\n  > ```\n", "");
    assert_links("para\n2.     [[x]]", "w2:x|x;");
    assert_links(">\t[[s]]\n>\n>\t\t[[h]]", "w1:s|s;");
    assert_links("a\r# [[b]]\r\r[[c\rd]] [[e]]", "w2:b|b;w5:e|e;");
    assert_links("# [a]: b\n\n[a]: b", "m3:b|a;");
}

static void html_is_passed_over(void **state)
{
    (void)state;
    assert_links("a <!-- [[h]] --> [[s]]", "w1:s|s;");
    assert_links("a <!-- [[h]]\n[[h]] -- > --> [[s]]", "w2:s|s;");
    assert_links("a <!--> [[s]] <!---> [[t]] -->", "w1:s|s;w1:t|t;");
    assert_links("a <!-- [[s]]\n\nb --> [[t]]", "w1:s|s;w3:t|t;");
    assert_links("a <? [[h]] ?> <!X [[h]]> <![CDATA[ [[h]]> ]]> [[s]]", "w1:s|s;");
    assert_links("a <b c='[[h]]' d=\"http://h\" e=f g/> </b> [[s]]", "w1:s|s;");
    assert_links("a <b c='[[s]]'d> < b c='[[t]]'>", "w1:s|s;w1:t|t;");
    assert_links("a `<b c='` [[s]] '>", "w1:s|s;");
}

static void line_numbers_count_every_line(void **state)
{
    (void)state;
    assert_links("\r\n\r\n[[a]]\r\nb\r\n[[c]]\r\n", "w3:a|a;w5:c|c;");
}

static void the_title_is_the_first_heading_of_level_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *title;
    } rows[] = {
        {"# Hi\n", "Hi"},
        {"text\n\n# Hi there ##\n# Other", "Hi there"},
        {"## Two\n# One", "One"},
        {"#tag\n", ""},
        {"```\n# no\n```\n# yes", "yes"},
        {"    # no\n", ""},
        {"> # no\n- # no\n\n# yes", "yes"},
        {"Setext\n===\n", "Setext"},
        {"a\n\nSetext \n=\n", "Setext"},
        {"Two\n---\n", ""},
        {"#\n# x", "x"},
        {"# C#\n", "C#"},
        {"#\ttab\n", "tab"},
        {"", ""},
        {"   # three\n", "three"},
        {"<!--\n# No\n-->\n\n# Yes", "Yes"},
        {"Foo\nbar\n===", "Foo\nbar"},
        {"a\r# b", "b"},
        {"a\n    # no\n- b\n# yes", "yes"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct str t = markdown_title(str_of(rows[i].text));
        if (!str_is(t, rows[i].title))
            fail_msg("%s gives \"%.*s\"", rows[i].text, STR_ARGS(t));
    }
}

static void targets_are_resolved_inside_the_vault(void **state)
{
    (void)state;
    static const struct {
        const char *target, *from, *path;
    } rows[] = {
        {"b.md", "X.md", "b.md"},
        {"b.md", "a/X.md", "a/b.md"},
        {"../b.md", "a/X.md", "b.md"},
        {"../../b.md", "a/X.md", NULL},
        {"/b.md", "a/X.md", "b.md"},
        {"./c%20d.md#h", "a/X.md", "a/c d.md"},
        {"%2e%2e/%2e%2e/b.md", "a/X.md", NULL},
        {"x%zz%0", "X.md", "x%zz%0"},
        {"", "a/X.md", "a"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        scoped_buf struct buf b;
        buf_init(&b, 1000);
        bool ok = markdown_resolve(str_of(rows[i].target), str_of(rows[i].from), &b);
        assert_int_equal(ok, rows[i].path != NULL);
        if (ok)
            assert_string_equal(buf_cz(&b), rows[i].path);
    }
}

/* Unclosed openers, a million of each: minutes instead of seconds if each were searched
 * to the end. */
static void hostile_text_takes_no_longer(void **state)
{
    (void)state;
    static const char *const parts[] = {"[",
                                        "[[",
                                        "[a](",
                                        "`",
                                        "``a`",
                                        "<",
                                        "<a:",
                                        "![",
                                        "[a](b '",
                                        "> ",
                                        "- ",
                                        "h",
                                        "http://",
                                        "[a]:",
                                        "\\",
                                        "*",
                                        "(",
                                        "[a](<",
                                        "`` ` ",
                                        "\t",
                                        "1. ",
                                        "a <!--",
                                        "a <?",
                                        "a <!a",
                                        "a <![CDATA[",
                                        "<a b=\"",
                                        "<a b='\" c=\"",
                                        "<a b='<a c=\"' d=\"",
                                        "\r",
                                        "- > "};
    for (size_t i = 0; i < LENGTH(parts); i++) {
        scoped_buf struct buf b, found;
        buf_init(&b, 8u << 20);
        buf_init(&found, 64u << 20);
        for (int k = 0; k < 400000; k++) {
            buf_cstr(&b, parts[i]);
            if (k % 1000 == 999 && i % 2)
                buf_char(&b, '\n');
        }
        markdown_links(buf_view(&b), put, &found);
        (void)markdown_title(buf_view(&b));
    }
    scoped_buf struct buf ticks, found;
    buf_init(&ticks, 8u << 20);
    buf_init(&found, 1u << 20);
    for (int k = 0; k < 3000; k++) {
        for (int n = 0; n < k; n++)
            buf_char(&ticks, '`');
        buf_char(&ticks, ' ');
    }
    markdown_links(buf_view(&ticks), put, &found);
}

static void links_are_counted_up_to_a_limit(void **state)
{
    (void)state;
    scoped_buf struct buf b, found;
    buf_init(&b, 8u << 20);
    buf_init(&found, 8u << 20);
    for (int k = 0; k < 20000; k++)
        buf_cstr(&b, "[[a]]");
    markdown_links(buf_view(&b), put, &found);
    assert_int_equal(found.n, LINKS_MAX * strlen("w1:a|a;"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wiki_links_are_found),
        cmocka_unit_test(markdown_links_are_found),
        cmocka_unit_test(an_endless_address_is_cut_between_characters),
        cmocka_unit_test(code_is_passed_over),
        cmocka_unit_test(blocks_are_those_of_commonmark),
        cmocka_unit_test(html_is_passed_over),
        cmocka_unit_test(line_numbers_count_every_line),
        cmocka_unit_test(the_title_is_the_first_heading_of_level_one),
        cmocka_unit_test(targets_are_resolved_inside_the_vault),
        cmocka_unit_test(hostile_text_takes_no_longer),
        cmocka_unit_test(links_are_counted_up_to_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
