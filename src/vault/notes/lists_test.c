/* Lists of notes, and searches by words and patterns. */
#include "notes/fixture_test.h"

/* ---- list --------------------------------------------------------------- */

static void make_pages(void)
{
    for (int i = 0; i < 25; i++) {
        char path[40], body[120];
        (void)snprintf(path, sizeof path, "%s/N%02d.md", i % 2 ? "odd" : "even", i);
        (void)snprintf(
            body, sizeof body,
            "---\nupdated: 2026-01-%02dT00:00:00Z\ntags: [t%d]\n---\nbody %d\n",
            1 + i / 3, i % 4, i);
        put(path, body);
    }
}

static void lists_come_in_pages_that_fit_together(void **state)
{
    (void)state;
    make_pages();
    const struct json *all = call(notes_list, "null");
    assert_int_equal(json_length(all), 25);
    assert_string_equal(keys_of(json_at(all, 0)),
                        "id,title,type,created,updated,size,tags,path");
    assert_string_equal(text(json_at(all, 0), "id"), "even/N24");
    assert_string_equal(text(json_at(all, 1), "id"), "even/N22"); /* same date: by id */
    assert_string_equal(text(json_at(all, 2), "id"), "odd/N21");

    size_t seen = 0;
    const struct json *page = call(notes_list, "{'limit': 7}");
    while (json_length(page)) {
        for (size_t i = 0; i < json_length(page); i++)
            assert_true(json_equal(json_at(page, i), json_at(all, seen++)));
        page = call(notes_list, "{'limit': 7, 'cursor': '%s'}",
                    text(json_at(page, json_length(page) - 1), "id"));
    }
    assert_int_equal(seen, 25);
}

static void lists_are_filtered_and_cut_to_fields(void **state)
{
    (void)state;
    make_pages();
    assert_int_equal(json_length(call(notes_list, "{'typeName': 'odd'}")), 12);
    assert_int_equal(json_length(call(notes_list, "'even'")), 13);
    assert_int_equal(json_length(call(notes_list, "{'type': 'none'}")), 0);
    const struct json *rows =
        call(notes_list, "{'typeName': 'odd', 'limit': 1, 'fields':"
                         " ['path', 'id', 'uid', 'filename', 'content_hash',"
                         " 'metadata']}");
    assert_string_equal(keys_of(json_at(rows, 0)),
                        "id,path,uid,filename,content_hash,metadata");
    assert_true(
        json_equal(json_get(json_at(rows, 0), "metadata"), parse("{\"tags\":[\"t1\"]}")));
    assert_string_equal(text(json_at(rows, 0), "content_hash"),
                        hash_of(text(json_at(rows, 0), "id")));
}

static void tags_are_read_in_their_usual_forms(void **state)
{
    (void)state;
    put("A.md", "---\ntags: one, two\n---\n");
    put("B.md", "---\ntags:\n  - '#x'\n  - 2026\n  - true\n---\n");
    put("C.md", "---\ntags: 5\n---\n");
    assert_true(json_equal(json_get(call(notes_get, "'A.md'"), "tags"),
                           parse("[\"one\",\"two\"]")));
    assert_true(json_equal(json_get(call(notes_get, "'B.md'"), "tags"),
                           parse("[\"x\",\"2026\"]")));
    assert_true(json_equal(json_get(call(notes_get, "'C.md'"), "tags"), parse("[]")));
}

/* ---- search ------------------------------------------------------------- */

static void make_texts(void)
{
    put("recipe/Soup.md", "# Tomato soup\n\nTake ripe tomatoes and basil.\n");
    put("recipe/Bread.md",
        "# Bread\n\nFlour, water, salt.\nBake it with tomato and love.\n");
    put("project/Garden.md",
        "---\ntags: [tomato]\n---\n# Garden\n\nPlant naïve café basil in May.\n");
    put("project/日本.md", "今日は天気がいい。\n");
}

static void words_are_joined_and_ranked(void **state)
{
    (void)state;
    make_texts();
    const struct json *rows = call(notes_search, "{'query': 'tomato'}");
    assert_int_equal(json_length(rows), 3);
    assert_string_equal(keys_of(json_at(rows, 0)),
                        "id,note_id,title,excerpt,score,type,created");
    assert_string_equal(text(json_at(rows, 0), "id"), "recipe/Soup"); /* in the title */
    assert_string_equal(text(json_at(rows, 0), "note_id"), "recipe/Soup");
    for (size_t i = 0; i < 3; i++) {
        double score = json_number(json_get(json_at(rows, i), "score"), -1);
        assert_true(score > 0);
        assert_true(i == 0 ||
                    score <= json_number(json_get(json_at(rows, i - 1), "score"), -1));
    }
    assert_string_equal(ids(call(notes_search, "'tomato flour'")), "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "'garden bread zebra'")),
                        "project/Garden,recipe/Bread"); /* no note has all: any */
    assert_string_equal(
        ids(call(notes_search, "{'query': 'basil', 'typeFilter': 'project'}")),
        "project/Garden");
    assert_string_equal(ids(call(notes_search, "'CAFE naive'")), "project/Garden");
    assert_string_equal(ids(call(notes_search, "'flou'")), "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "'\\\"ripe tomatoes\\\"'")),
                        "recipe/Soup");
    assert_string_equal(ids(call(notes_search, "'\\\"tomatoes ripe\\\"'")), "");
    assert_string_equal(ids(call(notes_search, "'天気'")), "project/日本");
    assert_string_equal(ids(call(notes_search, "'zzz'")), "");
    assert_int_equal(json_length(call(notes_search, "{'query': 'tomato', 'limit': 1}")),
                     1);
}

static void nothing_that_is_typed_is_syntax(void **state)
{
    (void)state;
    make_texts();
    static const char *const queries[] = {"AND",
                                          "OR OR",
                                          "NOT tomato",
                                          "NEAR(a b)",
                                          "title:tomato",
                                          "tomato*",
                                          "*",
                                          "^tomato",
                                          "(tomato",
                                          "tomato)",
                                          "a AND",
                                          "\\\"",
                                          "\\\"tomato",
                                          "tomato\\\"",
                                          "\\\"\\\"",
                                          "-tomato",
                                          "{tomato}",
                                          "tomato + basil",
                                          "'; DROP TABLE notes; --",
                                          "%",
                                          "\\u0000",
                                          "a\\u0000b",
                                          "\\\\",
                                          "C++",
                                          "???",
                                          "…",
                                          "\\n\\t x",
                                          "tomato NEAR/3 basil"};
    for (size_t i = 0; i < LENGTH(queries); i++) {
        char o[200];
        (void)snprintf(o, sizeof o, "{\"query\":\"%s\"}", queries[i]);
        call_with(notes_search, parse(o));
    }
    assert_string_equal(ids(call(notes_search, "'title:tomato'")), "");
    assert_int_equal(json_length(call(notes_search, "'tomato'")), 3);
}

static void excerpts_show_the_place(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 500; i++)
        buf_cstr(&b, "padding é words ");
    buf_cstr(&b, "the\nneedle   is here");
    for (int i = 0; i < 500; i++)
        buf_cstr(&b, " more padding");
    put("Hay.md", buf_cz(&b));
    const struct json *row = json_at(call(notes_search, "'needle'"), 0);
    struct str excerpt = json_str(json_get(row, "excerpt"));
    assert_non_null(memmem(excerpt.at, excerpt.n, "the needle is here", 18));
    assert_true(str_starts(excerpt, "...") && str_ends(excerpt, "..."));
    assert_true(excerpt.n > 150 && excerpt.n < 300);
}

static void an_exact_search_is_for_the_title(void **state)
{
    (void)state;
    put("daily/2024-01-15.md", "# Monday\n");
    put("note/Other.md", "mentions 2024-01-15 and Monday\n");
    assert_string_equal(ids(call(notes_search, "{'query': '2024-01-15', 'exact': true}")),
                        "daily/2024-01-15");
    assert_string_equal(ids(call(notes_search, "{'query': 'monday', 'exact': true}")),
                        "daily/2024-01-15");
    assert_string_equal(ids(call(notes_search, "{'query': '2024-01', 'exact': true}")),
                        "");
}

static void patterns_are_matched_line_by_line(void **state)
{
    (void)state;
    make_texts();
    const struct json *rows =
        call(notes_search, "{'query': '^Bake .* tomato', 'useRegex': true}");
    assert_string_equal(ids(rows), "recipe/Bread");
    assert_string_equal(text(json_at(rows, 0), "excerpt"),
                        "Bake it with tomato and love.");
    assert_string_equal(
        ids(call(notes_search, "{'query': '^Garden$', 'useRegex': true}")),
        "project/Garden"); /* the title */
    assert_string_equal(ids(call(notes_search, "{'query': 'FLOUR', 'useRegex': true}")),
                        "");
    assert_string_equal(
        ids(call(notes_search, "{'query': '(?i)FLOUR', 'useRegex': true}")),
        "recipe/Bread");
    assert_string_equal(ids(call(notes_search, "{'query': 'na.ve', 'useRegex': true}")),
                        "project/Garden"); /* a character, not a byte */
}

static void patterns_without_end_are_stopped(void **state)
{
    (void)state;
    char line[20001];
    memset(line, 'a', sizeof line);
    line[sizeof line - 1] = '\0';
    line[sizeof line - 2] = '!';
    put("A.md", line);
    static const char *const bombs[] = {"(a+)+$",
                                        "(a|aa)+$",
                                        "(a?){60}$",
                                        "(.*a){20}$",
                                        "^(([a-z])+.)+[A-Z]([a-z])+$",
                                        "(a*)*\\\\1[b-z]"};
    for (size_t i = 0; i < LENGTH(bombs); i++)
        refused(ERR_LIMIT, notes_search, "{'query': '%s', 'useRegex': true}", bombs[i]);
    static const char *const bad[] = {
        "(",     "[",
        "*a",    "(?<n",
        "\\\\C", "a{99999}",
        "(?&x)", "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((x"};
    for (size_t i = 0; i < LENGTH(bad); i++)
        refused(ERR_INVALID, notes_search, "{'query': '%s', 'useRegex': true}", bad[i]);
    char longest[1200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    refused(ERR_INVALID, notes_search, "'%s'", longest);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(lists_come_in_pages_that_fit_together), T(lists_are_filtered_and_cut_to_fields),
        T(tags_are_read_in_their_usual_forms),    T(words_are_joined_and_ranked),
        T(nothing_that_is_typed_is_syntax),       T(excerpts_show_the_place),
        T(an_exact_search_is_for_the_title),      T(patterns_are_matched_line_by_line),
        T(patterns_without_end_are_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
