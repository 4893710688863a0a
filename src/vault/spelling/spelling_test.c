/* Names and types: lexical rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "spelling/spelling.h"

static const char *const table[] = {"notes.get", "utils.formatDate", "relationships.get"};
static const struct name_words taken = {table, LENGTH(table)};

static void names_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum name_fault fault;
    } all[] = {
        {"createOrUpdateDailyNote", NAME_FINE},
        {"_", NAME_FINE},
        {"$x9", NAME_FINE},
        {"tagesübersicht", NAME_FINE},
        {"日記", NAME_FINE},
        {"\xe1\xa2\x85", NAME_FINE}, /* U+1885 is of Other_ID_Start */
        {"a\xcc\x88", NAME_FINE},    /* a mark behind a letter */
        {"noteGet", NAME_FINE},
        {"getNotes", NAME_FINE},
        {"", NAME_EMPTY},
        {"9lives", NAME_NO_WORD},
        {"with space", NAME_NO_WORD},
        {"kebab-case", NAME_NO_WORD},
        {"a.b", NAME_NO_WORD},
        {"\xcc\x88"
         "a",
         NAME_NO_WORD},
        {"a\xe2\x80\xa8", NAME_NO_WORD}, /* a line separator */
        {"\xf0\x9f\x98\x80", NAME_NO_WORD},
        {"a\xe2\x80\x8d", NAME_INVISIBLE}, /* a joiner */
        {"\xe3\x85\xa4", NAME_INVISIBLE},  /* a letter without a shape */
        {"delete", NAME_RESERVED},
        {"await", NAME_RESERVED},
        {"yield", NAME_RESERVED},
        {"eval", NAME_RESERVED},
        {"undefined", NAME_RESERVED},
        {"then", NAME_OBJECTS},
        {"__proto__", NAME_OBJECTS},
        {"constructor", NAME_OBJECTS},
        {"hasOwnProperty", NAME_OBJECTS},
        {"notes", NAME_GLOBAL},
        {"utils", NAME_GLOBAL},
        {"customFunctions", NAME_GLOBAL},
        {"main", NAME_GLOBAL},
        {"console", NAME_GLOBAL},
        {"Promise", NAME_GLOBAL},
        {"note", NAME_FINE},
    };
    for (size_t i = 0; i < LENGTH(all); i++)
        if (name_look(str_of(all[i].name), &taken) != all[i].fault)
            fail_msg("'%s' is %d, not %d", all[i].name,
                     (int)name_look(str_of(all[i].name), &taken), (int)all[i].fault);
}

static void a_name_has_at_most_64_characters(void **state)
{
    (void)state;
    char name[200];
    memset(name, 'a', sizeof name);
    assert_int_equal(name_look((struct str){name, 64}, NULL), NAME_FINE);
    assert_int_equal(name_look((struct str){name, 65}, NULL), NAME_LONG);
    for (int i = 0; i < 65; i++)
        memcpy(name + 2 * i, "ü", 2);
    assert_int_equal(name_look((struct str){name, 128}, NULL), NAME_FINE);
    assert_int_equal(name_look((struct str){name, 130}, NULL), NAME_LONG);
}

static bool is_used(const void *arg, struct str name)
{
    return str_is(name, arg) || str_is(name, "dailyNote2");
}

static void a_suggestion_is_fine_and_free(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        {"create-daily note", "createDailyNote"},
        {"9 lives", "lives"},
        {"notes", "myNotes"},
        {"delete", "myDelete"},
        {"dailyNote", "dailyNote3"},
        {"日 記", "myFunction"},
        {"__proto__", "proto"},
        {"", "myFunction"},
    };
    char out[NAME_SUGGESTION_MAX];
    for (size_t i = 0; i < LENGTH(all); i++) {
        name_suggest(str_of(all[i][0]), &taken, is_used, "dailyNote", out);
        assert_string_equal(out, all[i][1]);
    }
    char long_name[300];
    memset(long_name, 'x', sizeof long_name);
    name_suggest((struct str){long_name, sizeof long_name}, &taken, NULL, NULL, out);
    assert_int_equal(name_look(str_of(out), &taken), NAME_FINE);
}

/* ---- types ------------------------------------------------------------------ */

static void a_type_is_whole_or_it_is_refused(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "string",
        "Promise<Note[]>",
        "{ a: string; b?: number, c: [x: 1, y?: 2] }",
        "(a: string, b?: Note) => Promise<void>",
        "Record<string, Array<Map<string, 'x' | \"y;\">>>",
        "`a${string}-${'x' | 'y'}`",
        "A extends B ? C : D",
        "new () => X",
        "{ return: x, function: y }",
    };
    static const char *const broken[] = {
        "",
        "  ",
        "string) { evil(",
        "string; x",
        "string, b: number",
        "string = 'a'",
        "string // x",
        "string /* x */",
        "Array<string",
        "Array<string>>",
        "{ a: string",
        "'open",
        "`open",
        "`${open`",
        "a\nb",
        "import('x').Y",
        "function f() {}",
        "\\u0061",
        "string } declare const x: {",
    };
    const char *why;
    for (size_t i = 0; i < LENGTH(whole); i++)
        if (!type_is_whole(str_of(whole[i]), &why))
            fail_msg("%s: %s", whole[i], why);
    for (size_t i = 0; i < LENGTH(broken); i++)
        if (type_is_whole(str_of(broken[i]), &why))
            fail_msg("%s passes", broken[i]);
}

static void nested_types_end(void **state)
{
    (void)state;
    scoped_buf struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < 100000; i++)
        buf_char(&b, '[');
    const char *why;
    assert_false(type_is_whole(buf_view(&b), &why));
}

static void a_default_is_of_its_type(void **state)
{
    (void)state;
    static const struct {
        const char *type, *value;
        bool may;
    } all[] = {
        {"string", "\"a\"", true},
        {"string", "1", false},
        {"number", "1.5", true},
        {"number", "\"1\"", false},
        {"boolean", "false", true},
        {"boolean", "null", false},
        {"string | null", "null", true},
        {"'a' | \"b\"", "\"b\"", true},
        {"'a' | \"b\"", "\"c\"", false},
        {"'|' | 'b'", "\"|\"", true},
        {"string[]", "[\"a\", \"b\"]", true},
        {"string[]", "[\"a\", 1]", false},
        {"string[]", "\"a\"", false},
        {"Array<number>", "[1]", true},
        {"Array<number>", "{}", false},
        {"(string | number)[]", "[1, \"a\"]", true},
        {"string[][]", "[[1]]", true}, /* the checker's */
        {"Note", "{}", true},
        {"Note", "1", true},
        {"{ a: string }", "{\"a\": 1}", true},
        {"Record<string, number>", "[]", false},
        {"any", "[]", true},
        {"Date", "\"2026-01-01\"", false},
        {"true", "false", false},
        {"() => void", "1", true},
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        scoped(arena_free) struct arena *a = arena_new(1 << 16);
        struct err e = {0};
        const struct json *v = json_read(str_of(all[i].value), a, &e);
        if (type_may_hold(str_of(all[i].type), v) != all[i].may)
            fail_msg("%s and %s", all[i].type, all[i].value);
    }
}

static void what_could_be_taken_for_another_name_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *name, *like; /* NULL: valid */
    } names[] = {
        {"notes", NULL},
        {"gr\u00f6\u00dfe", NULL},
        {"\u0434\u043d\u0435\u0432\u043d\u0438\u043a", NULL}, /* Russian */
        {"\u65e5\u6b21\u30ce\u30fc\u30c8", NULL},             /* Japanese */
        {"\u03c0\u03b5\u03c1\u03af", NULL},                   /* Greek */
        {"n\u043etes", "notes"},                              /* a Cyrillic o */
        {"\u0441\u043e\u0440\u0443", "copy"},                 /* Cyrillic, all of it */
        {"\uff4eotes", "notes"},                              /* full width */
        {"\U0001d427\U0001d428tes", "notes"},                 /* bold */
        {"n\u0434x", ""},
        {"\u212bngstrom", ""},
    };
    for (size_t i = 0; i < LENGTH(names); i++) {
        char like[NAME_LIKE_MAX];
        bool confuses = name_confuses(str_of(names[i].name), like);
        if (confuses != (names[i].like != NULL))
            fail_msg("%s", names[i].name);
        if (confuses)
            assert_string_equal(like, names[i].like);
        assert_int_equal(name_look(str_of(names[i].name), NULL) == NAME_CONFUSING,
                         confuses);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(a_name_has_at_most_64_characters),
        cmocka_unit_test(a_suggestion_is_fine_and_free),
        cmocka_unit_test(a_type_is_whole_or_it_is_refused),
        cmocka_unit_test(nested_types_end),
        cmocka_unit_test(what_could_be_taken_for_another_name_is_told),
        cmocka_unit_test(a_default_is_of_its_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
