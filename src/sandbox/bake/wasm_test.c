/* Modules that are parsed, and those that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bake/wasm.h"

#define HEADER "\0asm\1\0\0\0"
#define MODULE(sections) ((struct str){HEADER sections, sizeof HEADER sections - 1})

static struct wasm_module *module;
static struct arena *arena;

static int make(void **state)
{
    (void)state;
    module = mem_new(sizeof *module);
    arena = arena_new((size_t)1 << 20);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    free(module);
    arena_free(arena);
    return 0;
}

static void assert_refused(struct str bytes)
{
    struct err e = {0};
    *module = (struct wasm_module){0};
    assert_false(wasm_parse(bytes, module, arena, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_module_is_taken_apart(void **state)
{
    (void)state;
    struct err e = {0};
    assert_true(wasm_parse(MODULE("\1\4\1\x60\0\0"
                                  "\2\7\1\1a\1b\0\0"
                                  "\5\3\1\0\1"
                                  "\6\6\1\x7f\1\x41\7\x0b"
                                  "\7\6\1\2me\2\0"),
                           module, arena, &e));
    assert_int_equal(module->part_count, 5);
    assert_int_equal(module->type_count, 1);
    assert_int_equal(module->import_count, 1);
    assert_true(str_is(module->imports[0].name, "b"));
    assert_int_equal(module->memories, 1);
    assert_true(module->memory_is_plain);
    assert_int_equal(module->global_count, 1);
    assert_true(module->globals[0].is_mutable);
    assert_int_equal(module->globals[0].init.n, 3);
    assert_true(str_is(module->exports[0].name, "me"));
}

static void a_section_that_stands_twice_is_refused(void **state)
{
    (void)state;
    /* The second row of imports is the shorter one. */
    assert_refused(MODULE("\2\x13\3\1a\1b\0\0\1a\1b\0\0\1a\1b\0\0"
                          "\2\7\1\1a\1b\0\0"));
    assert_refused(MODULE("\6\6\1\x7f\1\x41\7\x0b"
                          "\6\6\1\x7f\1\x41\7\x0b"));
    struct err e = {0};
    *module = (struct wasm_module){0};
    assert_true(wasm_parse(MODULE("\0\2\1x\0\2\1x"), module, arena, &e));
}

static void counts_larger_than_the_module_are_refused(void **state)
{
    (void)state;
    assert_refused(MODULE("\1\5\xff\xff\xff\xff\x0f"));
    assert_refused(MODULE("\4\5\xff\xff\xff\xff\x0f"));
    assert_refused(MODULE("\5\7\xff\xff\xff\xff\x0f\0\1"));
    assert_refused(MODULE("\7\5\xff\xff\xff\xff\x0f"));
}

static void what_is_no_module_is_refused(void **state)
{
    (void)state;
    assert_refused(STR(""));
    assert_refused(STR("\0asm\2\0\0\0"));
    assert_refused(MODULE("\1"));
    assert_refused(MODULE("\1\5\1"));
    assert_refused(MODULE("\x7f\0"));
}

static void code_that_uses_segments_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    bool bulk;
    assert_true(wasm_parse(MODULE("\x0a\x0e\1\x0c\0\x41\0\x41\0\x41\0\xfc\x08\0\0\x0b"),
                           module, arena, &e));
    assert_false(wasm_check_code(module, &bulk, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void copying_by_one_instruction_is_noticed(void **state)
{
    (void)state;
    struct err e = {0};
    bool bulk;
    assert_true(wasm_parse(MODULE("\x0a\x0e\1\x0c\0\x41\0\x41\0\x41\0\xfc\x0a\0\0\x0b"),
                           module, arena, &e));
    assert_true(wasm_check_code(module, &bulk, &e));
    assert_true(bulk);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make, unmake)
    const struct CMUnitTest tests[] = {
        T(a_module_is_taken_apart),
        T(a_section_that_stands_twice_is_refused),
        T(counts_larger_than_the_module_are_refused),
        T(what_is_no_module_is_refused),
        T(code_that_uses_segments_is_refused),
        T(copying_by_one_instruction_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
