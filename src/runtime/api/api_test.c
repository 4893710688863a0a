/* The API documentation: search, descriptions, and suggestions for unknown names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "api/api.h"
#include "calls/calls.h"
#include "json/json.h"

/* ---- signatures ---------------------------------------------------------- */

static void a_signature_is_taken_apart(void **state)
{
    (void)state;
    struct api_signature s = api_signature_read(str_of(
        "(a: {x: string, y?: (n: number) => void}, b?: 'p, q)' | number): Promise<R<S>>"));
    assert_true(str_is(s.returns, "Promise<R<S>>"));
    struct api_field f;
    assert_true(api_next_field(&s.parameters, &f));
    assert_true(str_is(f.name, "a") && !f.optional);
    assert_true(str_is(f.type, "{x: string, y?: (n: number) => void}"));
    struct str members = api_members(f.type);
    assert_true(api_next_field(&members, &f) && str_is(f.name, "x"));
    assert_true(api_next_field(&members, &f) && str_is(f.name, "y") && f.optional);
    assert_false(api_next_field(&members, &f));
    assert_true(api_next_field(&s.parameters, &f));
    assert_true(str_is(f.name, "b") && f.optional && str_is(f.type, "'p, q)' | number"));
    assert_false(api_next_field(&s.parameters, &f));
}

static void members_are_found_in_unions_and_behind_names(void **state)
{
    (void)state;
    assert_true(str_is(api_members(STR("string | {a: b}")), "a: b"));
    assert_true(str_starts(api_members(STR("FullNote | null")), "id: string"));
    assert_int_equal(api_members(STR("string[]")).n, 0);
}

/* Every row can be parsed, and has what agents ask for first. */
static void every_row_has_a_signature_that_can_be_read(void **state)
{
    (void)state;
    size_t count;
    const struct host_call *const *calls = host_calls_listed(&count);
    assert_true(count > 10);
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_of(calls[i]->signature), line;
        assert_true(rest.n && calls[i]->summary && *calls[i]->summary);
        if (!calls[i]->example || !calls[i]->words)
            fail_msg("%s has no example, or no synonyms", calls[i]->row.name);
        while (api_next_line(&rest, &line)) {
            struct api_signature s = api_signature_read(line);
            struct api_field f;
            if (line.at[0] != '(' || !s.returns.n)
                fail_msg("%s%.*s", calls[i]->row.name, STR_ARGS(line));
            while (api_next_field(&s.parameters, &f))
                if (!f.name.n || !f.type.n)
                    fail_msg("%s%.*s", calls[i]->row.name, STR_ARGS(line));
        }
    }
}

/* ---- finding ------------------------------------------------------------- */

static void a_search_finds_first_what_is_meant(void **state)
{
    (void)state;
    static const struct {
        const char *words, *first;
    } cases[] = {
        {"full text search", "notes.search"},
        {"delete", "notes.delete"},
        {"remove a note", "notes.delete"},
        {"change the metadata", "notes.update"},
        {"add a new note", "notes.create"},
        {"list all notes", "notes.list"},
        {"format a date", "utils.formatDate"},
        {"FORMATDATE", "utils.formatDate"},
        {"read one note", "notes.get"},
        {"get a note", "notes.get"},
        {"links of a note", "links.getForNote"},
        {"useRegex", "notes.search"},
        {"deleting", "notes.delete"},
        {"serach", "notes.search"},
        {"who links to a note", "links.getBacklinks"},
        {"broken links", "links.findBroken"},
        {"dead links", "links.findBroken"},
        {"external domains", "links.searchBy"},
        {"rename a note", "notes.rename"},
        {"move a note to another type", "notes.move"},
        {"edit a section", "notes.updateSection"},
        {"revision history", "notes.history"},
        {"sql", "notes.searchSQL"},
        {"filter by metadata", "notes.searchAdvanced"},
        {"children of a note", "hierarchy.getChildren"},
        {"add child", "hierarchy.addSubnote"},
        {"similar notes", "relationships.getRelated"},
        {"shortest path between two notes", "relationships.findPath"},
        {"schema of a type", "noteTypes.get"},
        {"switch vault", "vaults.switch"},
        {"http request", "fetch"},
        {"documentation", "api.describe"},
        {"contentHash", "notes.update"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct host_call *found[3];
        size_t n = api_find(str_of(cases[i].words), found, LENGTH(found));
        if (!n || strcmp(found[0]->row.name, cases[i].first) != 0)
            fail_msg("'%s' finds %s first", cases[i].words,
                     n ? found[0]->row.name : "nothing");
    }
}

static void a_search_takes_whatever_is_sent(void **state)
{
    (void)state;
    const struct host_call *found[API_FOUND_MAX];
    assert_int_equal(api_find(STR(""), found, 5), 5);
    assert_int_equal(api_find(STR("the of and"), found, 5), 5);
    assert_int_equal(api_find(STR("xyzzy plugh"), found, 5), 0);
    assert_int_equal(api_find(STR("\xc3\xa9\xe2\x82\xac !!! ((("), found, 5), 0);
    assert_true(api_find(STR("note"), found, 1000) <= API_FOUND_MAX);
    scoped_buf struct buf many;
    buf_init(&many, 1 << 20);
    while (many.n < 1 << 19)
        buf_cstr(&many, "antidisestablishmentarianismantidisestablishment note ");
    (void)api_find(buf_view(&many), found, API_FOUND_MAX);
}

static void the_nearest_name_is_the_one_that_is_meant(void **state)
{
    (void)state;
    static const struct {
        const char *wrong, *meant;
    } cases[] = {
        {"notes.serach", "notes.search"},
        {"notes.Get", "notes.get"},
        {"note.get", "notes.get"},
        {"notes.getAll", "notes.list"},
        {"notes.find", "notes.search"},
        {"notes.remove", "notes.delete"},
        {"notes.getBacklinks", "links.getBacklinks"},
        {"notes.getChildren", "hierarchy.getChildren"},
        {"notes.findBrokenLinks", "links.findBroken"},
        {"link.getForNote", "links.getForNote"},
        {"hierarchy.addChild", "hierarchy.addSubnote"},
        {"relationship.findpath", "relationships.findPath"},
        {"noteType.list", "noteTypes.list"},
        {"vault.getCurent", "vaults.getCurrent"},

        {"note", "notes"},
        {"getNote", "notes.get"},
        {"util.formatDate", "utils.formatDate"},
        {"notes.formatDate", "utils.formatDate"},
        {"api.serch", "api.search"},
        {"notes.save", NULL},
        {"xyzzy", NULL},
        {"undefined_name", NULL},
        {"total_count", NULL},
        {"get_backlinks", "links.getBacklinks"},
        {"console.lgo", NULL},
        {"", NULL},
        {".", NULL},
        {"notes.", NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char out[64];
        const char *near = api_nearest(str_of(cases[i].wrong), out);
        if (!strcmp(cases[i].wrong, "notes.save")) {
            assert_non_null(near);
        } else if ((near == NULL) != (cases[i].meant == NULL) ||
                   (near && strcmp(near, cases[i].meant) != 0)) {
            fail_msg("'%s' means %s", cases[i].wrong, near ? near : "nothing");
        }
    }
}

/* ---- describing ---------------------------------------------------------- */

static struct arena *arena;

static const struct json *described(const char *name)
{
    struct err e = {0};
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    struct json_writer w = json_writer(&text);
    if (!api_describe(NULL, str_of(name), &w, &e))
        fail_msg("%s: %s", name, e.msg);
    const struct json *v = json_read(buf_view(&text), arena, &e);
    assert_non_null(v);
    return v;
}

static void everything_that_is_listed_can_be_described(void **state)
{
    (void)state;
    arena = arena_new((size_t)64 << 20);
    const struct json *all = described("");
    struct json_iter spaces = json_iter(json_get(all, "namespaces"));
    while (json_next(&spaces)) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(spaces.key));
        const struct json *space = described(name);
        if (str_is(json_str(json_get(space, "name")), name))
            continue; /* a global function, such as fetch */
        assert_true(json_length(json_get(space, "methods")) == json_length(spaces.value));
        struct json_iter methods = json_iter(spaces.value);
        while (json_next(&methods)) {
            (void)snprintf(name, sizeof name, "%.*s.%.*s", STR_ARGS(spaces.key),
                           STR_ARGS(json_str(methods.value)));
            const struct json *one = described(name);
            assert_true(str_starts(json_str(json_get(one, "signature")), name));
            assert_true(json_get(one, "parameters") && json_get(one, "returns"));
        }
    }
    struct json_iter types = json_iter(json_get(all, "types"));
    while (json_next(&types)) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", STR_ARGS(json_str(types.value)));
        assert_true(json_str(json_get(described(name), "definition")).n > 0);
    }
    arena_free(arena);
}

static void a_description_brings_the_types_that_it_names(void **state)
{
    (void)state;
    arena = arena_new((size_t)64 << 20);
    const struct json *types = json_get(described("notes.get"), "types");
    assert_non_null(json_get(types, "FullNote"));
    assert_non_null(json_get(types, "NoteLink")); /* named by FullNote */
    assert_null(json_get(types, "SearchHit"));
    assert_non_null(json_get(described("notes.get()"), "signature"));
    assert_non_null(json_get(described(" notes.* "), "methods"));
    arena_free(arena);
}

static void what_is_not_there_is_refused_with_what_is_near(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    buf_init(&text, 1 << 20);
    struct json_writer w = json_writer(&text);
    struct err e = {0};
    assert_false(api_describe(NULL, STR("notes.serach"), &w, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_non_null(strstr(e.msg, "'notes.search'"));
    e = (struct err){0};
    assert_false(api_describe(NULL, STR("xyzzy"), &w, &e));
    assert_non_null(strstr(e.msg, "is accepted"));
    assert_int_equal(text.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signature_is_taken_apart),
        cmocka_unit_test(members_are_found_in_unions_and_behind_names),
        cmocka_unit_test(every_row_has_a_signature_that_can_be_read),
        cmocka_unit_test(a_search_finds_first_what_is_meant),
        cmocka_unit_test(a_search_takes_whatever_is_sent),
        cmocka_unit_test(the_nearest_name_is_the_one_that_is_meant),
        cmocka_unit_test(everything_that_is_listed_can_be_described),
        cmocka_unit_test(a_description_brings_the_types_that_it_names),
        cmocka_unit_test(what_is_not_there_is_refused_with_what_is_near),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
