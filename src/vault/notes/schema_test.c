/* Schemas of metadata, in both forms, and their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/arena_test.h"
#include "notes/schema.h"
#include "notes/typefile.h"

static const struct json *json(const char *text)
{
    struct err e = {0};
    const struct json *v = json_read(str_of(text), arena, &e);
    if (!v)
        fail_msg("%s: %s", text, e.msg);
    return v;
}

static void assert_refused(const char *schema, const char *part)
{
    struct err e = {0};
    if (schema_read(json(schema), arena, &e))
        fail_msg("%s was accepted", schema);
    if (!strstr(e.msg, part))
        fail_msg("%s: %s", schema, e.msg);
    assert_true(e.code == ERR_INVALID || e.code == ERR_LIMIT);
}

/* The patterns that these tests need. */
static bool matches(void *arg, const char *place, struct str pattern, struct str text,
                    bool *yes, struct err *e)
{
    (void)arg, (void)place, (void)e;
    assert_true(str_is(pattern, "^[A-Z]+$"));
    *yes = text.n > 0;
    for (size_t i = 0; i < text.n; i++)
        *yes = *yes && text.at[i] >= 'A' && text.at[i] <= 'Z';
    return true;
}
static const struct schema_matching matching = {matches, NULL};

/* `part`: what the refusal must say; NULL: it is accepted. */
static void assert_check(const char *schema, const char *metadata, bool whole,
                         const char *part)
{
    struct err e = {0};
    const struct json *s = schema_read(json(schema), arena, &e);
    if (!s)
        fail_msg("%s: %s", schema, e.msg);
    bool ok = schema_check(s, json(metadata), whole, &matching, &e);
    if (ok != !part || (part && (!strstr(e.msg, part) || e.code != ERR_INVALID)))
        fail_msg("%s against %s: %s", metadata, schema, ok ? "accepted" : e.msg);
}

static void what_is_no_schema_is_refused_with_the_fields_name(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"[]", "an object"},
        {"{\"a\":1}", "neither properties nor fields"},
        {"{\"type\":\"array\"}", "\"object\" at its root"},
        {"{\"properties\":[]}", "properties"},
        {"{\"properties\":{\"due\":\"date\"}}", "\"due\" is not a schema"},
        {"{\"properties\":{\"due\":{\"type\":\"date\"}}}", "\"due\" has a type"},
        {"{\"properties\":{\"n\":{\"minimum\":\"1\"}}}", "\"n\" has a minimum"},
        {"{\"properties\":{\"n\":{\"minimum\":3,\"maximum\":1}}}",
         "\"n\" has a minimum above"},
        {"{\"properties\":{\"s\":{\"enum\":[]}}}", "\"s\" has an enum"},
        {"{\"properties\":{\"s\":{\"pattern\":1}}}", "\"s\" has a pattern"},
        {"{\"properties\":{\"s\":{\"maxLength\":-1}}}", "\"s\" has a length"},
        {"{\"properties\":{\"s\":{\"format\":\"uuid\"}}}", "\"s\" has a format"},
        {"{\"properties\":{\"s\":{\"requird\":true}}}", "requird"},
        {"{\"properties\":{\"s\":{\"oneOf\":[]}}}", "cannot be checked"},
        {"{\"properties\":{\"s\":{\"required\":true}}}", "\"s\" has a required"},
        {"{\"properties\":{\"\":{}}}", "without a name"},
        {"{\"fields\":{}}", "list of fields"},
        {"{\"fields\":[{\"type\":\"string\"}]}", "with a name"},
        {"{\"fields\":[{\"name\":\"s\",\"type\":\"uuid\"}]}",
         "\"s\" has the type \"uuid\""},
        {"{\"fields\":[{\"name\":\"s\",\"required\":\"yes\"}]}", "required of \"s\""},
        {"{\"fields\":[{\"name\":\"s\",\"typ\":1}]}", "\"typ\""},
        {"{\"fields\":[{\"name\":\"s\",\"type\":\"select\"}]}", "without options"},
        {"{\"fields\":[{\"name\":\"s\"},{\"name\":\"s\"}]}", "twice"},
        {"{\"fields\":[],\"extra\":1}", "\"extra\""},
        {"{\"properties\":{\"a\":{\"items\":{\"items\":{\"items\":{\"items\":{\"items\":"
         "{\"items\":{\"items\":{}}}}}}}}}}",
         "deeper"},
    };
    for (size_t i = 0; i < LENGTH(bad); i++)
        assert_refused(bad[i][0], bad[i][1]);
}

static void a_schema_has_a_bounded_number_of_fields(void **state)
{
    (void)state;
    for (unsigned n = SCHEMA_FIELDS_MAX; n <= SCHEMA_FIELDS_MAX + 1; n++) {
        scoped_buf struct buf text;
        buf_init(&text, 1 << 20);
        buf_cstr(&text, "{\"properties\":{");
        for (unsigned i = 0; i < n; i++)
            buf_printf(&text, "%s\"f%u\":{}", i ? "," : "", i);
        buf_cstr(&text, "}}");
        struct err e = {0};
        bool ok = schema_read(json(buf_cz(&text)), arena, &e) != NULL;
        assert_int_equal(ok, n <= SCHEMA_FIELDS_MAX);
    }
}

static void values_are_held_against_both_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{\"type\":\"object\",\"properties\":{\"status\":{\"type\":\"string\",\"enum\":"
        "[\"open\",\"done\"]},\"n\":{\"type\":\"number\",\"minimum\":1,\"maximum\":5},"
        "\"due\":{\"type\":\"string\",\"format\":\"date\"},\"code\":{\"type\":\"string\","
        "\"pattern\":\"^[A-Z]+$\",\"maxLength\":3},\"who\":{\"type\":\"array\",\"items\":"
        "{\"type\":\"string\"},\"minItems\":1}},\"required\":[\"status\"]}",
        "{\"fields\":[{\"name\":\"status\",\"type\":\"select\",\"required\":true,"
        "\"constraints\":{\"options\":[\"open\",\"done\"]}},{\"name\":\"n\",\"type\":"
        "\"number\",\"constraints\":{\"min\":1,\"max\":5}},{\"name\":\"due\",\"type\":"
        "\"date\"},{\"name\":\"code\",\"type\":\"string\",\"pattern\":\"^[A-Z]+$\","
        "\"max\":3},{\"name\":\"who\",\"type\":\"array\",\"items\":{\"type\":\"string\"},"
        "\"min\":1}],\"version\":\"1\"}",
    };
    static const char *const rows[][2] = {
        {"{\"status\":\"open\"}", NULL},
        {"{\"status\":\"open\",\"more\":{\"a\":1},\"tags\":[\"x\"]}", NULL},
        {"{\"status\":\"open\",\"n\":5,\"due\":\"2026-11-21\",\"code\":\"ABC\",\"who\":[\"a\"]}",
         NULL},
        {"{}", "needs the field \"status\""},
        {"{\"status\":null}", "needs the field \"status\""},
        {"{\"status\":\"shut\"}", "not \"shut\""},
        {"{\"status\":\"open\",\"n\":0}", "metadata.n is 0, at least 1"},
        {"{\"status\":\"open\",\"n\":\"1\"}", "metadata.n must be number, not string"},
        {"{\"status\":\"open\",\"due\":\"soon\"}", "metadata.due is \"soon\""},
        {"{\"status\":\"open\",\"due\":\"2026-11-21T00:00:00Z\"}", "metadata.due"},
        {"{\"status\":\"open\",\"code\":\"ab\"}", "metadata.code is \"ab\""},
        {"{\"status\":\"open\",\"code\":\"ABCD\"}", "at most 3"},
        {"{\"status\":\"open\",\"who\":[]}", "at least 1"},
        {"{\"status\":\"open\",\"who\":[1]}", "metadata.who[0] must be string"},
    };
    for (size_t f = 0; f < LENGTH(forms); f++)
        for (size_t i = 0; i < LENGTH(rows); i++)
            assert_check(forms[f], rows[i][0], true, rows[i][1]);
}

static void a_part_may_lack_what_is_required_but_not_remove_it(void **state)
{
    (void)state;
    static const char schema[] = "{\"properties\":{\"a\":{\"type\":\"number\"}},"
                                 "\"required\":[\"a\",\"title\"]}";
    assert_check(schema, "{\"b\":1}", false, NULL);
    assert_check(schema, "{\"a\":\"x\"}", false, "metadata.a");
    assert_check(schema, "{\"a\":null}", false, "needs the field \"a\"");
    assert_check(schema, "{\"a\":1}", true, NULL); /* the title is the vault's */
}

static bool take_pattern(void *arg, const char *field, struct str pattern, struct err *e)
{
    buf_printf(arg, "%s %.*s;", field, STR_ARGS(pattern));
    return !str_is(pattern, "stop") || err_set(e, ERR_LIMIT, "it stops");
}

static void all_patterns_are_told_with_their_fields(void **state)
{
    (void)state;
    static const char schema[] =
        "{\"properties\":{\"a\":{\"pattern\":\"1\",\"items\":{\"pattern\":\"2\"}},"
        "\"b\":{\"anyOf\":[{\"pattern\":\"3\"},{\"properties\":{\"c\":{\"pattern\":"
        "\"4\"}}}]}},\"additionalProperties\":{\"pattern\":\"5\"}}";
    struct err e = {0};
    scoped_buf struct buf all;
    buf_init(&all, 1000);
    assert_true(schema_each_pattern(schema_read(json(schema), arena, &e), take_pattern,
                                    &all, &e));
    assert_string_equal(buf_cz(&all), "\"a\" 1;\"a\" 2;\"b\" 3;\"c\" 4;the whole 5;");
    assert_false(schema_each_pattern(
        json("{\"properties\":{\"a\":{\"pattern\":\"stop\"},\"b\":{\"pattern\":\"x\"}}}"),
        take_pattern, &all, &e));
    assert_null(strstr(buf_cz(&all), "x"));
}

static void unknown_keys_are_refused_where_the_schema_says_so(void **state)
{
    (void)state;
    static const char *const schemas[] = {
        "{\"properties\":{\"a\":{}},\"additionalProperties\":false}",
        "{\"fields\":[{\"name\":\"a\",\"type\":\"any\"}],\"additionalProperties\":false}"};
    for (size_t i = 0; i < LENGTH(schemas); i++) {
        assert_check(schemas[i], "{\"a\":1,\"created\":\"2026-01-01\"}", true, NULL);
        assert_check(schemas[i], "{\"b\":1}", true, "known are: a");
    }
}

/* ---- the file -------------------------------------------------------------- */

static void assert_parts(const char *text, const char *purpose, const char *instructions,
                         bool has_schema, const char *damage)
{
    struct err e = {0};
    struct typefile t;
    assert_true(typefile_read(str_of(text), arena, &t, &e));
    assert_int_equal(t.purpose.n, strlen(purpose));
    assert_memory_equal(t.purpose.at, purpose, t.purpose.n);
    scoped_buf struct buf b;
    buf_init(&b, 10000);
    struct json_writer w = json_writer(&b);
    typefile_put_instructions(&t, &w);
    assert_string_equal(buf_cz(&b), instructions);
    assert_int_equal(t.schema != NULL, has_schema);
    if (damage ? !strstr(t.damage, damage) : t.damage[0])
        fail_msg("%s: \"%s\"", text, t.damage);
}

static void a_description_that_a_person_wrote_is_read(void **state)
{
    (void)state;
    assert_parts("", "", "[]", false, NULL);
    assert_parts("Just a word.", "Just a word.", "[]", false, NULL);
    assert_parts("# x\nWhat for.\n\n## else\nno\n", "What for.", "[]", false, NULL);
    assert_parts("# x\r\n\r\n## Purpose\r\nA\r\nB\r\n## Instructions\r\n- a\r\n- b\r\n",
                 "A\r\nB", "[\"a\",\"b\"]", false, NULL);
    assert_parts("## purpose\nP\n## agent instructions\nBe brief.\n- and kind\n", "P",
                 "\"Be brief.\\n- and kind\"", false, NULL);
    assert_parts(
        "## Metadata Schema\n```yaml\nproperties:\n  a:\n    type: string\n```\n", "",
        "[]", true, NULL);
    assert_parts("## Metadata Schema\n```\n## Purpose\n```\n## Purpose\nP\n", "P", "[]",
                 false, NULL);
    assert_parts("---\na: 1\n---\nWhat for.\n<!--\n## Purpose\nno\n-->\n",
                 "What for.\n<!--\n## Purpose\nno\n-->", "[]", false, NULL);
    assert_parts("Purpose\n---\nP\n\n ## Instructions ##\n````\n```\n## x\n````", "P",
                 "\"````\\n```\\n## x\\n````\"", false, NULL);
    assert_parts("## Schema\n~~~ json\n{\"properties\":{\"a\":{}}}\n```\n~~~~\n", "",
                 "[]", false, "JSON");
    assert_parts("## Metadata Schema\n```json\n{\"properties\":\n```\n", "", "[]", false,
                 "JSON");
    assert_parts("## Metadata Schema\n{\"properties\":{\"a\":{\"type\":\"x\"}}}\n", "",
                 "[]", false, "\"a\" has a type");
}

static void replacing_a_part_leaves_all_else_as_it_is(void **state)
{
    (void)state;
    static const char before[] =
        "---\nx: 1\n---\n# t\n\nhello\n\n## Mine\n\n```\n## Purpose\n"
        "```\n\n## Purpose\n\nold\n\n## Last\nz";
    scoped_buf struct buf out, again;
    buf_init(&out, 10000);
    buf_init(&again, 10000);
    typefile_replace(str_of(before), PART_PURPOSE, STR("new"), &out);
    assert_string_equal(
        buf_cz(&out),
        "---\nx: 1\n---\n# t\n\nhello\n\n## Mine\n\n```\n## Purpose\n```\n\n"
        "## Purpose\n\nnew\n\n## Last\nz\n");
    typefile_replace(buf_view(&out), PART_PURPOSE, STR(""), &again);
    assert_null(strstr(buf_cz(&again), "new"));
    assert_non_null(strstr(buf_cz(&again), "```\n\n## Last\nz\n"));
    buf_clear(&out);
    typefile_replace(STR("# t\n"), PART_INSTRUCTIONS, STR("- a"), &out);
    assert_string_equal(buf_cz(&out), "# t\n\n## Agent Instructions\n\n- a\n");
}

static void a_text_cannot_break_out_of_its_section(void **state)
{
    (void)state;
    static const char *const bad[] = {"\"a\\n## Metadata Schema\\n{}\"",
                                      "\"# x\"",
                                      "\"```\\ncode\"",
                                      "[\"a\", 1]",
                                      "7",
                                      "[\"ok\\n~~~\"]",
                                      "\"````\\n```\"",
                                      "\"Purpose\\n---\"",
                                      "\"see <!--\\n\\n<!-- here\""};
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        scoped_buf struct buf out;
        buf_init(&out, 1000);
        assert_false(typefile_section(json(bad[i]), "description", &out, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_non_null(strstr(e.msg, "description"));
    }
    struct err e = {0};
    scoped_buf struct buf out;
    buf_init(&out, 10);
    assert_false(typefile_section(json("\"longer than that\""), "x", &out, &e));
    assert_int_equal(e.code, ERR_LIMIT);
}

static void lists_of_instructions_come_back_as_they_were(void **state)
{
    (void)state;
    static const char *const lists[] = {"[\"a\",\"b\"]", "[\"two\\nlines\",\"- dash\"]",
                                        "[\"x\\n\\ny\"]"};
    for (size_t i = 0; i < LENGTH(lists); i++) {
        struct err e = {0};
        scoped_buf struct buf section, text, back;
        buf_init(&section, 1000);
        buf_init(&text, 1000);
        buf_init(&back, 1000);
        assert_true(typefile_section(json(lists[i]), "x", &section, &e));
        typefile_replace(STR("# t\n"), PART_INSTRUCTIONS, buf_view(&section), &text);
        struct typefile t;
        assert_true(typefile_read(buf_view(&text), arena, &t, &e));
        struct json_writer w = json_writer(&back);
        typefile_put_instructions(&t, &w);
        assert_string_equal(buf_cz(&back), lists[i]);
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(what_is_no_schema_is_refused_with_the_fields_name),
        test(a_schema_has_a_bounded_number_of_fields),
        test(values_are_held_against_both_forms),
        test(a_part_may_lack_what_is_required_but_not_remove_it),
        test(all_patterns_are_told_with_their_fields),
        test(unknown_keys_are_refused_where_the_schema_says_so),
        test(a_description_that_a_person_wrote_is_read),
        test(replacing_a_part_leaves_all_else_as_it_is),
        test(a_text_cannot_break_out_of_its_section),
        test(lists_of_instructions_come_back_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
