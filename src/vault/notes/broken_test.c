/* Broken links: to headings, blocks and files; and what of Obsidian's text contains none. */
#include "notes/fixture_test.h"

/* "reason target#fragment", a line for each. */
static const char *broken(const char *options)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it = json_iter(call(links_find_broken, "%s", options));
    while (json_next(&it))
        buf_printf(&b, "%s%s %s%s%s", b.n ? ", " : "", text(it.value, "reason"),
                   text(it.value, "target"), json_get(it.value, "fragment") ? "#" : "",
                   json_cstr(json_get(it.value, "fragment")));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static const char *targets(const char *id)
{
    struct err e = {0};
    scoped_buf struct buf b = buf_of(1 << 16);
    struct json_iter it =
        json_iter(json_get(call(links_get_for_note, "'%s'", id), "outgoing_internal"));
    while (json_next(&it))
        buf_printf(&b, "%s%s", b.n ? "," : "", text(it.value, "target"));
    return arena_printf(arena, &e, "%s", buf_cz(&b));
}

static void a_heading_that_is_not_there_is_told(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n\n## My **bold**: heading\n\n### \u00c4ste\n\ntext\n"
                     "\n## Notes\n\n## Notes\n\n```\n## Code\n```\n");
    put("a/Good.md",
        "[[Plan#my bold heading]] [[Plan#My **bold**: heading|x]]\n"
        "![[Plan#Notes]] [[Plan#Plan#My bold heading#\u00e4ste]]\n"
        "[x](../p/Plan.md#my-bold-heading) [y](<../p/Plan.md#notes-1> \"t\")\n"
        "[z](../p/Plan.md#%C3%84ste) [[Plan#]] [r][1]\n\n"
        "[1]: ../p/Plan.md#notes 'title'\n");
    assert_string_equal(broken("null"), "");
    put("a/Bad.md", "---\nup: \"[[Plan#Up]]\"\n---\n[[Plan#Code]] [[Plan#Plan#Nope]]\n"
                    "[x](../p/Plan.md#nope-1) [[Gone#Notes]]\n");
    assert_string_equal(broken("null"),
                        "heading Plan#Up, heading Plan#Code, heading Plan#Plan#Nope, "
                        "heading ../p/Plan.md#nope-1#nope-1, missing Gone");
    put("p/Plan.md", "# Plan\n\n## Up\n");
    assert_non_null(strstr(broken("null"), "heading Plan#my bold heading"));
    assert_null(strstr(broken("null"), "heading Plan#Up"));
}

static void a_block_that_is_not_there_is_told(void **state)
{
    (void)state;
    put("Plan.md",
        "text ^one\n\n- item ^two-2\n- x^no\n\n| a |\n| - |\n| b |\n\n^three\n\n"
        "`code ^four`x\n\n```\ncode ^five\n```\n");
    put("a/N.md",
        "[[Plan#^one]] ![[Plan#^TWO-2]] [[Plan#^three|x]] [x](../Plan.md#^one)\n"
        "[[Plan#^no]] [[Plan#^five]]\n");
    assert_string_equal(broken("null"), "block Plan#^no, block Plan#^five");
}

static void an_embed_of_a_file_that_is_not_there_is_told(void **state)
{
    (void)state;
    put("img/a b.png", "x");
    put("deep/er/\u00c4.PDF", "x");
    put("a/here.png", "x");
    put("a/N.md", "![[a b.png|300]] ![](../img/a%20b.png) ![x](<../img/a b.png> \"t\")\n"
                  "[[er/\u00e4.pdf#page=2]] ![](here.png) ![](/img/a%20b.png)\n"
                  "![](img/a%20b.png) ![](https://example.com/x.png)\n"
                  "[![](gone.png)](here.png) ![[Gone.PDF]] [d](data.tar.gz)\n");
    assert_string_equal(broken("null"), "file gone.png, file Gone.PDF, file data.tar.gz");
    put("x/gone.png", "x");
    assert_string_equal(broken("null"), "file Gone.PDF, file data.tar.gz");
}

static void comments_and_formulas_contain_no_links(void **state)
{
    (void)state;
    put("N.md", "a %%[[no]] #no%% [[A]] $[[no]]$ [[B]] 5 $ [[C]] $ and $5 [[D]] $6\n"
                "100% [[E]]\n\n"
                "%%\n[[no]]\n\n- [[no]]\n\n%% [[F]]\n\n"
                "$$\n[[no]]\n$$\n\n$$[[no]]$$ [[G]]\n\n"
                "<!-- [[no]] --> `[[no]]` <div title=\"[[no]]\">\n\n"
                "> [!note] [[H]]\n> [[I]]\n\n[^1]: foot [[J]]\n");
    assert_string_equal(targets("N"), "A,B,C,D,E,F,G,H,I,J");
    put("M.md", "%% open\n\n[[A]]\n\n$$\n\n[[B]]\n");
    assert_string_equal(targets("M"), "A,B");
    assert_int_equal(json_length(json_get(call(notes_get, "'N'"), "tags")), 0);
}

static void pages_of_broken_links_end_with_a_whole_note(void **state)
{
    (void)state;
    put("p/Plan.md", "# Plan\n");
    put("a/A.md", "[[Plan#Plan]] [[Plan#x]] [[Plan#y]]\n");
    put("a/B.md", "[[Plan#Plan]]\n");
    put("a/C.md", "[[Gone]]\n");
    assert_string_equal(broken("{'limit': 1}"), "heading Plan#x, heading Plan#y");
    assert_string_equal(broken("{'limit': 1, 'cursor': 'a/A'}"), "missing Gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_heading_that_is_not_there_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_block_that_is_not_there_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_embed_of_a_file_that_is_not_there_is_told,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(comments_and_formulas_contain_no_links, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(pages_of_broken_links_end_with_a_whole_note,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
