/* Types that code declares, extracted from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spelling/spelling.h"

static void assert_declared(const char *code, const char *wanted)
{
    struct own_types names;
    scoped_buf struct buf out;
    buf_init(&out, 1 << 16);
    types_declared(str_of(code), &names, &out);
    assert_string_equal(buf_cz(&out), wanted);
}

static void types_are_taken_out_on_one_line(void **state)
{
    (void)state;
    assert_declared("interface Row { id: string; n?: number }\nfunction f() {}",
                    "interface Row { id: string; n?: number } ");
    assert_declared(
        "/** Of a row. */\nexport interface Row {\n  // its id\n  id: string,\n}",
        "interface Row { id: string, } ");
    assert_declared("export type A =\n  | 'x' // first\n  | 'y'\nconst b = 1;",
                    "type A = | 'x' | 'y'; ");
    assert_declared("type P<T extends object> = { of: T, all: Array<P<T>> };",
                    "type P<T extends object> = { of: T, all: Array<P<T>> }; ");
    assert_declared("enum E { A = 'a', B = 2 }", "enum E { A = 'a', B = 2 } ");
    assert_declared("type F = (a: string) => void\nasync function f() {}",
                    "type F = (a: string) => void; ");
    assert_declared("interface A extends B, C<D> { f(x: { y: 1 }): void }",
                    "interface A extends B, C<D> { f(x: { y: 1 }): void } ");
}

static void what_hangs_on_values_is_any(void **state)
{
    (void)state;
    assert_declared("const T = {a: 1}; type K = keyof typeof T;", "type K = any; ");
    assert_declared("class C<T> { x = 1; }", "type C<T> = any; ");
    assert_declared("enum E { A = f() }", "type E = any; ");
    assert_declared("interface I { of: typeof x }", "type I = any; ");
}

static void what_is_no_type_at_the_top_is_left(void **state)
{
    (void)state;
    assert_declared("function f() { interface Row { a: 1 } const type = 1; }", "");
    assert_declared("let type = 1; type = 2;\nconst interface_ = `type A = ${1}`", "");
    assert_declared("", "");
    assert_declared("interface Row {", "");
    assert_declared("type A = 'x", "");
    assert_declared("type", "");
    assert_declared("type A", "");
    assert_declared("interface", "");
}

static void their_names_are_qualified(void **state)
{
    (void)state;
    static const struct {
        const char *type, *wanted;
    } cases[] = {
        {"Row[]", "f.Row[]"},
        {"Promise<Row | null>", "Promise<f.Row | null>"},
        {"{Row: Row, Row?: x.Row}", "{Row: f.Row, Row?: x.Row}"},
        {"'Row' | Rows", "'Row' | Rows"},
        {"(Row: string) => Row", "(Row: string) => f.Row"},
        {"string", "string"},
        {"", ""},
    };
    struct own_types names = {.at = {STR("Row")}, .count = 1};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        scoped_buf struct buf out;
        buf_init(&out, 4096);
        type_qualify(str_of(cases[i].type), &names, STR("f"), &out);
        assert_string_equal(buf_cz(&out), cases[i].wanted);
    }
}

static void code_of_any_bytes_ends(void **state)
{
    (void)state;
    static const char letters[] = "type interface enum A<>{}[]()=|&;,'\"`/*\n${}";
    uint32_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        char code[80];
        struct own_types names;
        scoped_buf struct buf out;
        buf_init(&out, 1 << 14);
        for (size_t k = 0; k < sizeof code; k++) {
            seed = seed * 1664525u + 1013904223u;
            code[k] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        types_declared((struct str){code, sizeof code}, &names, &out);
        buf_clear(&out);
        type_qualify((struct str){code, sizeof code}, &names, STR("f"), &out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_are_taken_out_on_one_line),
        cmocka_unit_test(what_hangs_on_values_is_any),
        cmocka_unit_test(what_is_no_type_at_the_top_is_left),
        cmocka_unit_test(their_names_are_qualified),
        cmocka_unit_test(code_of_any_bytes_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
