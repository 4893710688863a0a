/* Positions, the cache, and the guest, which must have been built. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/home_test.h"
#include "engine/traps_test.h"
#include "typescript/internal.h"

static char root[HOME_SIZE];
static struct engine *g;
static struct typescript *t;

static int open_all(void **state)
{
    (void)state;
    struct err e = {0};
    if (!home_make(root))
        return -1;
    g = engine_open(&(struct engine_options){.ahead = "build/guest/ahead"}, &e);
    t = typescript_new(g, "build/guest");
    return g ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    typescript_free(t);
    engine_close(g);
    return folder_remove(root);
}

/* ---- source maps -------------------------------------------------------- */

static struct positions positions_of(const char *mappings)
{
    struct err e = {0};
    struct positions p;
    if (!positions_read(str_of(mappings), &p, &e))
        fail_msg("%s", e.msg);
    return p;
}

static void segments_are_read_one_after_the_other(void **state)
{
    (void)state;
    /* The example of ECMA-426's kind: two lines, a segment without a source, a name. */
    struct positions p = positions_of("AAEO,aAAM,GAAIA;C,CAAJ;;AACA");
    assert_int_equal(p.count, 5);
    assert_int_equal(p.row[0].from_line, 2);
    assert_int_equal(p.row[0].from_column, 7);
    assert_int_equal(p.row[1].column, 13);
    assert_int_equal(p.row[1].from_column, 13);
    assert_int_equal(p.row[3].line, 1);
    assert_int_equal(p.row[3].column, 2); /* behind the one without a source */
    assert_int_equal(p.row[4].line, 3);
    assert_int_equal(p.row[4].from_line, 3);
    assert_ptr_equal(positions_find(&p, 0, 12), &p.row[0]);
    assert_ptr_equal(positions_find(&p, 0, 13), &p.row[1]);
    assert_ptr_equal(positions_find(&p, 2, 5), &p.row[3]);
    assert_true(positions_reach(&p, 2, 7));
    assert_true(positions_reach(&p, 2, 8));
    assert_false(positions_reach(&p, 3, p.row[4].from_column + 1));
    assert_false(positions_reach(&p, 4, 0));
    positions_done(&p);
    p = positions_of("");
    assert_null(positions_find(&p, 0, 0));
    positions_done(&p);
}

static void maps_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "A!AA",             /* no digit */
        "AA",               /* two numbers */
        "AAAAAA",           /* six */
        "AADA",             /* before the first line */
        "D",                /* before the first column */
        "AAgg",             /* a number that does not end */
        "AAgggggggggggggA", /* or is too long */
        "AA+/////PA",       /* beyond 31 bits */
        "EAAA,DAAA",        /* columns that go back */
    };
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct err e = {0};
        struct positions p;
        if (positions_read(str_of(bad[i]), &p, &e))
            fail_msg("%s was read", bad[i]);
        assert_int_equal(e.code, ERR_INVALID);
        assert_null(p.row);
    }
}

static void columns_go_from_one_unit_to_another(void **state)
{
    (void)state;
    struct str line = STR("aé😀b");
    assert_int_equal(units_of_bytes(line, 3), 2);
    assert_int_equal(units_of_chars(line, 3), 4);
    assert_int_equal(chars_of_units(line, 4), 3);
    assert_int_equal(bytes_of_units(line, 4), 7);
    assert_int_equal(chars_of_bytes(line, 7), 3);
    assert_int_equal(chars_of_bytes(line, 1000), 4);
    struct lined l;
    assert_true(lined_init(&l, STR("one\n\nthree")));
    assert_true(str_is(lined_at(&l, 0), "one"));
    assert_true(str_is(lined_at(&l, 1), ""));
    assert_true(str_is(lined_at(&l, 2), "three"));
    assert_true(str_is(lined_at(&l, 3), ""));
    lined_done(&l);
}

/* ---- what is kept ------------------------------------------------------- */

static const struct typescript_code *code_of(const char *javascript)
{
    struct err e = {0};
    struct positions p = positions_of("AAAA");
    return code_new(STR("source"), str_of(javascript), &p, &e);
}

static void key_of(char c, char key[CACHE_FILE_KEY])
{
    memset(key, c, CACHE_FILE_KEY - 1);
    key[CACHE_FILE_KEY - 1] = '\0';
}

static void keep(struct cache *s, char name, const char *javascript)
{
    char key[CACHE_FILE_KEY];
    key_of(name, key);
    const struct typescript_code *c = code_of(javascript);
    store_keep(s, key, c);
    typescript_drop(c);
}

static bool finds(struct cache *s, char name, bool *on_disk)
{
    char key[CACHE_FILE_KEY];
    key_of(name, key);
    const struct typescript_code *c = store_find(s, key, STR("source"), on_disk);
    typescript_drop(c);
    return c != NULL;
}

static void what_is_on_disk_is_found_again(void **state)
{
    (void)state;
    bool on_disk;
    static const struct cache_limits limits = {.entries = 9,
                                               .bytes = 1 << 20,
                                               .folder = "store",
                                               .disk_bytes = 1 << 20,
                                               .file_bytes = 200};
    struct cache *s = cache_new(&limits);
    keep(s, 'a', "1");
    char large[300];
    memset(large, ' ', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    keep(s, 'd', large); /* is over file_bytes: not written */
    cache_free(s);
    s = cache_new(&limits);
    assert_true(finds(s, 'a', &on_disk));
    assert_true(on_disk);
    assert_true(finds(s, 'a', &on_disk));
    assert_false(on_disk);
    assert_false(finds(s, 'c', &on_disk));
    assert_false(finds(s, 'd', &on_disk));
    cache_free(s);
}

/* ---- the whole way ------------------------------------------------------ */

static const struct typescript_code *transpile(const char *source)
{
    struct err e = {0};
    struct typescript_place where;
    const struct typescript_code *c = typescript_transpile(
        t, str_of(source), &(struct typescript_limits){0}, &where, &e);
    if (!c)
        fail_msg("%s", e.msg);
    return c;
}

static void the_same_code_is_made_once(void **state)
{
    (void)state;
    uint64_t before = typescript_count(t).made;
    const struct typescript_code *a = transpile("const a: number = 1; a");
    const struct typescript_code *b = transpile("const a: number = 1; a");
    assert_ptr_equal(a, b);
    assert_int_equal(typescript_count(t).made, before + 1);
    assert_int_equal(typescript_count(t).from_memory, 1);
    typescript_drop(a);
    typescript_drop(b);
    typescript_free(t);
    t = typescript_new(g, "build/guest");
    a = transpile("const a: number = 1; a");
    assert_int_equal(typescript_count(t).from_disk, 1);
    assert_int_equal(typescript_count(t).made, 0);
    assert_string_equal(typescript_javascript(a).at, "const a = 1;\na;\n");
    typescript_drop(a);
}

static void places_lead_back_to_the_source(void **state)
{
    (void)state;
    const struct typescript_code *c = transpile("interface I {}\n\nlet é: I = f()");
    struct typescript_place at = typescript_origin(c, (struct typescript_place){1, 9});
    assert_int_equal(at.line, 3);
    assert_int_equal(at.column, 12);
    at = typescript_origin(c, (struct typescript_place){0, 0});
    assert_int_equal(at.line, 0);
    at = typescript_origin(c, (struct typescript_place){UINT32_MAX, UINT32_MAX});
    assert_int_equal(at.line, 3);
    typescript_drop(c);
}

static void returns_come_back_as_they_were(void **state)
{
    (void)state;
    const struct typescript_code *c =
        transpile("await 0; if (a) return\nif (b) { return } throw new Error('x')\n"
                  "return `throw ${1 as number}`");
    assert_string_equal(typescript_javascript(c).at,
                        "await 0;\nif (a) return void 0;\nif (b) {\n  return void 0;\n}\n"
                        "throw new Error(\"x\");\nreturn `throw ${1}`;\n");
    struct typescript_place at = typescript_origin(c, (struct typescript_place){6, 11});
    assert_int_equal(at.line, 2);
    assert_int_equal(at.column, 29);
    typescript_drop(c);
}

static void limits_are_kept_and_told(void **state)
{
    (void)state;
    struct typescript_place where;
    struct cancel c;
    cancel_init(&c);
    cancel_fire(&c);
    static char deep[100001];
    memset(deep, '(', sizeof deep - 1);
    struct {
        struct str source;
        struct typescript_limits limits;
        enum err_code code;
    } cases[] = {
        {STR("1 as number // cancelled"), {.cancel = &c}, ERR_CANCELLED},
        {STR("1 as number // late"), {.until_ns = 1}, ERR_TIMEOUT},
        {STR("const = 1"), {0}, ERR_SYNTAX},
        {STR("import a from 'b'; a"), {0}, ERR_SYNTAX},
        {STR("\xff"), {0}, ERR_INVALID},
        {{deep, sizeof deep - 1}, {0}, ERR_STACK},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct err e = {0};
        assert_null(
            typescript_transpile(t, cases[i].source, &cases[i].limits, &where, &e));
        if (e.code != cases[i].code)
            fail_msg("%zu: %d %s", i, e.code, e.msg);
    }
}

static void without_a_guest_it_says_so(void **state)
{
    (void)state;
    struct err e = {0};
    struct typescript_place where;
    scoped(typescript_free) struct typescript *none = typescript_new(g, "/nowhere");
    assert_null(typescript_transpile(none, STR("1 as number // no guest"),
                                     &(struct typescript_limits){0}, &where, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void worlds_do_not_know_of_each_other(void **state)
{
    (void)state;
    /* The second would find the first's text or counters, if they had stayed. */
    typescript_drop(transpile("const secret: string = 'abcdefghijkl'"));
    const struct typescript_code *c = transpile("const other: string = ''");
    assert_null(strstr(typescript_javascript(c).at, "abcdefghijkl"));
    typescript_drop(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_read_one_after_the_other),
        cmocka_unit_test(maps_that_are_none_are_refused),
        cmocka_unit_test(columns_go_from_one_unit_to_another),
        cmocka_unit_test(what_is_on_disk_is_found_again),
        cmocka_unit_test(the_same_code_is_made_once),
        cmocka_unit_test(places_lead_back_to_the_source),
        cmocka_unit_test(returns_come_back_as_they_were),
        cmocka_unit_test(limits_are_kept_and_told),
        cmocka_unit_test(without_a_guest_it_says_so),
        cmocka_unit_test(worlds_do_not_know_of_each_other),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
