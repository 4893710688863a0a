/* Patterns of searches and types: they end, they hold no lock, and the guest is loaded
 * only if needed. */
#include "notes/fixture_test.h"

#define EVIL "a{0,300}a{0,300}(?:ab|ac)"

static const char *evil_text(void)
{
    static char text[10001];
    memset(text, 'a', sizeof text - 1);
    return text;
}

/* Describes the type "coded", whose field `code` has the pattern (as JSON has it). */
static void put_type(const char *pattern)
{
    struct err e = {0};
    put(".cloche/types/coded.md",
        arena_printf(
            arena, &e,
            "# coded\n\n## Metadata Schema\n\n```json\n{\"properties\": {\"code\": "
            "{\"type\": \"string\", \"pattern\": \"%s\"}}}\n```\n",
            pattern));
}

/* ---- an engine that does something first ---------------------------------- */

static struct {
    void (*first)(void);
    struct engine *engine;
} hook;

static struct engine *engine_after_hook(void *arg, const char **guest_dir, struct err *e)
{
    (void)arg;
    *guest_dir = "build/guest";
    if (hook.first)
        hook.first();
    if (!hook.engine)
        hook.engine = engine_open(&(struct engine_options){0}, e);
    return hook.engine;
}

/* Runs `first` just before the first pattern is matched. */
static struct patterns *hooked(void (*first)(void))
{
    hook.first = first;
    struct patterns *p = patterns_new(engine_after_hook, NULL);
    vault_set_patterns(vault, p);
    return p;
}

static void unhook(struct patterns *p)
{
    vault_set_patterns(vault, patterns);
    patterns_free(p);
    engine_close(hook.engine);
    hook.engine = NULL;
}

/* ---- locks ----------------------------------------------------------------- */

static void another_program_writes(void)
{
    struct err e = {0};
    scoped(vault_close) struct vault *other = vault_open(root, &e);
    scoped_buf struct buf out;
    buf_init(&out, 10000);
    struct json_writer w = json_writer(&out);
    const struct json *o = json_read(STR("{\"title\":\"Meanwhile\"}"), arena, &e);
    if (!notes_create(other, o, &w, &e))
        fail_msg("%s", e.msg);
}

static void others_write_while_patterns_are_matched(void **state)
{
    (void)state;
    put_type("^[A-Z]+$");
    struct patterns *p = hooked(another_program_writes);
    call(notes_create, "{'type': 'coded', 'title': 'A', 'metadata': {'code': 'X'}}");
    unhook(p);
    call(notes_get, "'note/Meanwhile'");
    assert_string_equal(text(call(notes_get, "'coded/A'"), "id"), "coded/A");
}

static void describe_anew(void)
{
    put_type("^[0-9]+$");
}

/* A write is checked against the type as of the write. */
static void a_type_that_changes_meanwhile_is_asked_again(void **state)
{
    (void)state;
    put_type("^[A-Z]+$");
    struct patterns *p = hooked(describe_anew);
    refused(ERR_INVALID, notes_create,
            "{'type': 'coded', 'title': 'A', 'metadata': {'code': 'X'}}");
    unhook(p);
    put_type("^[A-Z]+$");
    p = hooked(describe_anew);
    call(notes_create, "{'type': 'coded', 'title': 'B', 'metadata': {'code': '7'}}");
    unhook(p);
}

/* ---- types ------------------------------------------------------------------ */

static void patterns_are_held_to_by_all_that_writes(void **state)
{
    (void)state;
    put_type("^[A-Z]+\\\\d$");
    call(notes_create, "{'type': 'coded', 'title': 'A', 'metadata': {'code': 'AB1'}}");
    refused(ERR_INVALID, notes_create,
            "{'type': 'coded', 'title': 'B', 'metadata': {'code': 'ab1'}}");
    refused(ERR_INVALID, notes_update,
            "{'identifier': 'coded/A', 'metadata': {'code': 'no'}, 'force': true}");
    refused(
        ERR_INVALID, notes_update,
        "{'identifier': 'coded/A', 'markdown': '---\\ncode: no\\n---\\n', 'force': true}");
    call(notes_update,
         "{'identifier': 'coded/A', 'metadata': {'code': 'C2'}, 'force': true}");
    put("other/C.md", "---\ncode: wrong\n---\n");
    put("other/D.md", "---\ncode: OK1\n---\n");
    refused(ERR_INVALID, notes_move,
            "{'identifier': 'other/C', 'new_type': 'coded', 'force': true}");
    call(notes_move, "{'identifier': 'other/D', 'new_type': 'coded', 'force': true}");
    refused(ERR_INVALID, note_types_delete,
            "{'type_name': 'other', 'action': 'migrate', 'target_type': 'coded'}");
    put("other/C.md", "---\ncode: GOOD1\n---\n");
    call(note_types_delete,
         "{'type_name': 'other', 'action': 'migrate', 'target_type': 'coded'}");
    assert_string_equal(text(call(notes_get, "'coded/C'"), "id"), "coded/C");
    const struct json *dry =
        call(notes_create, "{'type': 'coded', 'title': 'E', 'metadata': {'code': "
                           "'E1'}, 'dry_run': true}");
    assert_int_equal(json_length(json_get(dry, "changes")), 1);
    refused(
        ERR_INVALID, notes_create,
        "{'type': 'coded', 'title': 'E', 'metadata': {'code': 'e'}, 'dry_run': true}");
}

static void a_batch_is_held_to_patterns_as_a_whole(void **state)
{
    (void)state;
    put_type("^[A-Z]+\\\\d+$");
    scoped_buf struct buf changes;
    buf_init(&changes, 100000);
    for (int i = 0; i < 300; i++)
        buf_printf(&changes,
                   "%s{'action': 'create', 'type': 'coded', 'title': 'N %d', 'metadata': "
                   "{'code': 'A%d'}}",
                   i ? "," : "", i, i % 100);
    refused(ERR_INVALID, notes_batch,
            "{'changes': [%s, {'action': 'create', 'type': 'coded', 'title': 'bad', "
            "'metadata': {'code': 'a'}}]}",
            buf_cz(&changes));
    assert_int_equal(json_length(call(notes_list, "'coded'")), 0);
    call(notes_batch, "{'changes': [%s]}", buf_cz(&changes));
    assert_int_equal(json_length(call(notes_list, "'coded'")), 300);
}

/* Expects a refusal whose message names the pattern. */
static void assert_blamed(enum err_code code, const char *pattern)
{
    const char *why = refused(
        code, notes_create, "{'type': 'coded', 'title': 'A', 'metadata': {'code': '%s'}}",
        evil_text());
    assert_non_null(strstr(why, "\"coded\""));
    assert_non_null(strstr(why, "metadata.code"));
    assert_non_null(strstr(why, pattern));
    assert_string_equal(text(call(notes_create, "{'title': 'B'}"), "id"), "note/B");
    call(notes_delete, "'note/B'");
}

static void a_pattern_of_a_type_that_takes_too_long_is_told(void **state)
{
    (void)state;
    put_type(EVIL);
    assert_blamed(ERR_LIMIT, EVIL);
    put_type("^(a+)+$|b");
    call(notes_create, "{'type': 'coded', 'title': 'A', 'metadata': {'code': 'b'}}");
}

static void a_pattern_of_a_type_that_is_none_is_told_by_what_writes(void **state)
{
    (void)state;
    put_type("(");
    assert_blamed(ERR_INVALID, "missing closing parenthesis");
    call(notes_create, "{'type': 'coded', 'title': 'without a code'}");
    assert_non_null(strstr(
        refused(
            ERR_INVALID, note_types_update,
            "{'type_name': 'coded', 'metadata_schema': {'properties': {'code': {'pattern': "
            "'['}}}}"),
        "\"code\" has a pattern"));
    call(note_types_update,
         "{'type_name': 'coded', 'metadata_schema': {'properties': {'code': {'pattern': "
         "'^x$'}}}}");
    call(notes_create, "{'type': 'coded', 'title': 'D', 'metadata': {'code': 'x'}}");
}

/* ---- searches ----------------------------------------------------------------- */

static void patterns_of_alternatives_and_of_other_members_hold(void **state)
{
    (void)state;
    call(note_types_create, "{'type_name': 'coded', 'description': 'x'}");
    call(note_types_update,
         "{'type_name': 'coded', 'metadata_schema': {'properties': {'code': {'anyOf': "
         "[{'type': 'string', 'pattern': '^a+$'}, {'type': 'string', 'pattern': '^b+$'}, "
         "{'type': 'integer'}]}, 'more': {'type': 'object', 'additionalProperties': "
         "{'type': 'string', 'pattern': '^c+$'}}}}}");
    static const struct {
        const char *metadata, *blamed;
    } rows[] = {{"'code': 'aa'", NULL},
                {"'code': 'bb'", NULL},
                {"'code': 3", NULL},
                {"'code': 'ab'", "metadata.code"},
                {"'more': {'x': 'cc'}", NULL},
                {"'more': {'x': 'cc', 'y': 'd'}", "metadata.more.y"}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char options[200];
        (void)snprintf(options, sizeof options,
                       "{'type': 'coded', 'title': 'N %zu', 'metadata': {%s}}", i,
                       rows[i].metadata);
        if (rows[i].blamed)
            assert_non_null(strstr(refused(ERR_INVALID, notes_create, "%s", options),
                                   rows[i].blamed));
        else
            call(notes_create, "%s", options);
    }
}

static void a_search_ends_at_its_limit_whatever_the_pattern(void **state)
{
    (void)state;
    put("A.md", evil_text());
    assert_non_null(strstr(
        refused(ERR_LIMIT, notes_search, "{'query': '" EVIL "', 'useRegex': true}"),
        "took longer than 3 s"));
}

static void another_caller_searches(void)
{
    assert_string_equal(ids(call(notes_search, "'two'")), "note/B");
}

/* An index in memory has one connection: pattern matching does not occupy it. */
static void others_search_an_index_in_memory_meanwhile(void **state)
{
    (void)state;
    put("B.md", "one\ntwo\n");
    put(".cloche", "no folder");
    assert_int_equal(setenv("XDG_CACHE_HOME", "/proc/none", 1), 0);
    struct patterns *p = hooked(another_caller_searches);
    assert_string_equal(ids(call(notes_search, "{'query': '^t.o$', 'useRegex': true}")),
                        "note/B");
    unhook(p);
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 10000);
    struct json_writer w = json_writer(&out);
    assert_true(notes_reindex(vault, false, &w, &e));
    assert_non_null(strstr(buf_cz(&out), "\"index\":\"memory\""));
}

static void lines_of_all_kinds_are_searched(void **state)
{
    (void)state;
    put("Crlf.md", "one\r\ntwo\r\n");
    put("Latin.md", "caf\xe9 and cr\xc3\xa8me\n");
    const struct json *rows = call(notes_search, "{'query': '^two$', 'useRegex': true}");
    assert_string_equal(ids(rows), "note/Crlf");
    assert_string_equal(text(json_at(rows, 0), "excerpt"), "two");
    assert_string_equal(
        ids(call(notes_search, "{'query': 'cr.me\\\\b', 'useRegex': true}")),
        "note/Latin");
    assert_non_null(strstr(
        refused(ERR_INVALID, notes_search, "{'query': '\u00e4(', 'useRegex': true}"),
        "at character 3; for plain words"));
}

static struct cancel *fired;

static void fire(void)
{
    cancel_fire(fired);
}

/* By either cancel; that it reaches running matches is tested in room pattern. */
static void a_cancelled_call_matches_nothing(void **state)
{
    (void)state;
    put("A.md", "aab");
    put_type("a+b");
    static const struct {
        notes_fn *call;
        const char *options;
    } rows[] = {
        {notes_search, "{'query': 'a+b', 'useRegex': true}"},
        {notes_create, "{'title': 'B', 'type': 'coded', 'metadata': {'code': 'aab'}}"},
        {note_types_create, "{'type_name': 'x', 'description': 'x', 'metadata_schema': "
                            "{'properties': {'x': {'pattern': 'a+b'}}}}"},
    };
    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        struct cancel c[2];
        cancel_init(&c[0]);
        cancel_init(&c[1]);
        fired = &c[i % 2];
        struct patterns *p = hooked(fire);
        struct vault *all = vault;
        vault = vault_as(
            all,
            &(struct vault_view){.notes = true, .types = true, .cancel = {&c[0], &c[1]}});
        refused(ERR_CANCELLED, rows[i / 2].call, "%s", rows[i / 2].options);
        vault_close(vault);
        vault = all;
        unhook(p);
    }
}

/* ---- who needs it --------------------------------------------------------------- */

static void nothing_is_loaded_for_what_matches_no_pattern(void **state)
{
    (void)state;
    scoped(patterns_free) struct patterns *own = patterns_new_alone("build/guest");
    vault_set_patterns(vault, own);
    put_type("(((a+)+)+)+$");
    put("coded/A.md", "---\ncode: aaaa\n---\nwords\n");
    call(notes_search, "'words'");
    call(notes_search, "{'query': 'word', 'exact': true}");
    call(notes_list, "'coded'");
    call(note_types_list, "null");
    call(note_types_get, "'coded'");
    call(notes_create, "{'title': 'B'}");
    call(notes_create, "{'title': 'C', 'type': 'coded'}");
    call(notes_update, "{'identifier': 'coded/A', 'content': 'new', 'force': true}");
    assert_false(patterns_loaded(own));
    call(notes_search, "{'query': 'w.rd', 'useRegex': true}");
    assert_true(patterns_loaded(own));
    vault_set_patterns(vault, patterns);
}

static void without_what_matches_them_patterns_are_refused(void **state)
{
    (void)state;
    vault_set_patterns(vault, NULL);
    refused(ERR_INVALID, notes_search, "{'query': 'x', 'useRegex': true}");
    put_type("x");
    refused(ERR_INVALID, notes_create,
            "{'type': 'coded', 'title': 'A', 'metadata': {'code': 'x'}}");
    call(notes_search, "'x'");
    vault_set_patterns(vault, patterns);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(others_write_while_patterns_are_matched),
        T(a_type_that_changes_meanwhile_is_asked_again),
        T(patterns_are_held_to_by_all_that_writes),
        T(a_batch_is_held_to_patterns_as_a_whole),
        T(a_pattern_of_a_type_that_takes_too_long_is_told),
        T(a_pattern_of_a_type_that_is_none_is_told_by_what_writes),
        T(patterns_of_alternatives_and_of_other_members_hold),
        T(a_search_ends_at_its_limit_whatever_the_pattern),
        T(others_search_an_index_in_memory_meanwhile),
        T(lines_of_all_kinds_are_searched),
        T(a_cancelled_call_matches_nothing),
        T(nothing_is_loaded_for_what_matches_no_pattern),
        T(without_what_matches_them_patterns_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
