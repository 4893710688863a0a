/* Baking: a module whose behaviour is known gives the same answers before and
 * after, in both forms; what a module cannot say is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bake/bake.h"
#include "bake/wasm.h"
#include "engine/traps_test.h"

static struct engine *g;

static int open_engine(void **state)
{
    (void)state;
    struct err e = {0};
    g = engine_open(&(struct engine_options){.no_cache = true}, &e);
    return g ? 0 : -1;
}

static int close_engine(void **state)
{
    (void)state;
    engine_close(g);
    return 0;
}

/* ---- assembling --------------------------------------------------------- */

/* A module as its sections' contents; functions apart, their sizes put in. */
struct text {
    struct str sections[WASM_TAG + 1];
    const struct str *bodies;
    size_t body_count;
};

static void assemble(const struct text *t, struct buf *out)
{
    static const enum wasm_section order[] = {
        WASM_CUSTOM,     WASM_TYPE,   WASM_IMPORT, WASM_FUNCTION, WASM_TABLE,
        WASM_MEMORY,     WASM_GLOBAL, WASM_EXPORT, WASM_START,    WASM_ELEMENT,
        WASM_DATA_COUNT, WASM_CODE,   WASM_DATA};
    buf_clear(out);
    wasm_put_header(out);
    for (size_t i = 0; i < LENGTH(order); i++) {
        scoped_buf struct buf code;
        buf_init(&code, 1 << 20);
        struct str content = t->sections[order[i]];
        if (order[i] == WASM_CODE) {
            wasm_put_u32(&code, (uint32_t)t->body_count);
            for (size_t k = 0; k < t->body_count; k++)
                wasm_put_name(&code, t->bodies[k]);
            content = buf_view(&code);
        }
        if (content.at)
            wasm_put_section(out, order[i], content);
    }
}

/* Instructions, by the names of the text format; all bodies have no locals. */
#define BODY(code) STR("\0" code "\x0b")
#define I32(byte) "\x41" byte      /* one LEB byte: -64 to 63 */
#define ADDRESS "\x41\x80\xa0\x04" /* i32.const 0x11000: the second page */
#define STORE8(offset) "\x3a\0" offset
#define LOAD8(offset) "\x2d\0" offset
#define GET(global) "\x23" global
#define SET(global) "\x24" global
#define PARAM "\x20\0"
#define DROP "\x1a"

/* Globals: 0 i32, 1 i64, 2 f32, 3 f64, mutable; 4 i32, not; 5 the shadow stack. */
#define GLOBALS                      \
    "\6"                             \
    "\x7f\1\x41\0\x0b"               \
    "\x7e\1\x42\5\x0b"               \
    "\x7d\1\x43\0\0\0\0\x0b"         \
    "\x7c\1\x44\0\0\0\0\0\0\0\0\x0b" \
    "\x7f\0\x41\x2a\x0b"             \
    "\x7f\1\x41\x80\x08\x0b"

/* Functions: 0 start, 1 init, 2 read(address), 3 pages(), 4 again(). */
static const struct str bodies[] = {
    /* start: byte 0x11005 = 33; global 0 = -7 */
    BODY(ADDRESS I32("\x21") STORE8("\5") I32("\x79") SET("\0")),
    /* init: grows by 3 pages, writes to the first and to the last of them, over data,
     * moves the shadow stack and puts it back, and sets all the globals. */
    BODY(I32("\3") "\x40\0" DROP                               /* memory.grow 3 */
                   "\x41\x80\x80\x08" I32("\x11") STORE8("\0") /* at 0x20000 */
         "\x41\xff\xff\x13" I32("\x12") STORE8("\0")           /* at 0x4ffff */
         I32("\x10") I32("\0") STORE8("\1") /* the data's second byte */
         GET("\5") "\x41\x10\x6b" SET("\5") GET("\5") "\x41\x10\x6a" SET("\5") GET("\0")
             I32("\x7f") "\x6a" SET("\0")                         /* -7 + -1 */
         "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f" SET("\1") /* INT64_MIN */
         "\x43\0\0\xc0\x7f" SET("\2")                             /* a NaN */
         "\x44\x18\x2d\x44\x54\xfb\x21\x09\x40" SET("\3")),       /* pi */
    BODY(PARAM LOAD8("\0")),
    BODY("\x3f\0"),
    /* again: what still works after baking: write, grow, change a global */
    BODY(ADDRESS I32("\x2c") STORE8("\6") I32("\1") "\x40\0" DROP GET("\0")
             I32("\1") "\x6a" SET("\0") GET("\0")),
};

static const struct text known = {
    .sections =
        {
            [WASM_CUSTOM] = STR("\4notetext"),
            [WASM_TYPE] = STR("\3\x60\0\0\x60\0\1\x7f\x60\1\x7f\1\x7f"),
            [WASM_FUNCTION] = STR("\5\0\0\2\1\1"),
            [WASM_TABLE] = STR("\1\x70\0\3"),
            [WASM_MEMORY] = STR("\1\1\2\x80\1"), /* 2 pages, at most 128 */
            [WASM_GLOBAL] = STR(GLOBALS),
            [WASM_EXPORT] =
                STR("\x0c\6memory\2\0\4init\0\1\4read\0\2\5pages\0\3\5again\0\4"
                    "\3i32\3\0\3i64\3\1\3f32\3\2\3f64\3\3\5fixed\3\4"
                    "\x0f__stack_pointer\3\5\5table\1\0"),
            [WASM_START] = STR("\0"),
            [WASM_ELEMENT] = STR("\1\0\x41\1\x0b\2\2\3"), /* entries 1 and 2 */
            [WASM_DATA] = STR("\2\0\x41\x10\x0b\4data\0\x41\x80\x80\x04\x0b\3two"),
        },
    .bodies = bodies,
    .body_count = LENGTH(bodies),
};

static const char *const init[] = {"init"};
static const struct bake_options options = {.init = init, .init_count = 1, .own = true};

/* ---- baking ------------------------------------------------------------- */

static void result_init(struct bake_result *b, size_t ceiling)
{
    buf_init(&b->dense, ceiling);
    buf_init(&b->bare, ceiling);
    buf_init(&b->image, ceiling);
}

static void result_done(struct bake_result *b)
{
    buf_done(&b->dense);
    buf_done(&b->bare);
    buf_done(&b->image);
}
#define scoped_result __attribute__((cleanup(result_done)))

static bool try_bake(const struct text *t, const struct bake_options *o,
                     struct bake_result *b, struct err *e)
{
    scoped_buf struct buf wasm;
    buf_init(&wasm, 1 << 20);
    assemble(t, &wasm);
    return bake_module(g, buf_view(&wasm), o, b, e);
}

static void bake_text(const struct text *t, struct bake_result *b)
{
    struct err e = {0};
    result_init(b, (size_t)256 << 20);
    if (!try_bake(t, &options, b, &e))
        fail_msg("%s", e.msg);
}

static void assert_refused(const struct text *t, enum err_code code, const char *why)
{
    struct err e = {0};
    scoped_result struct bake_result b;
    result_init(&b, (size_t)64 << 20);
    if (try_bake(t, &options, &b, &e))
        fail_msg("baked, though: %s", why);
    if (!strstr(e.msg, why) || e.code != code)
        fail_msg("'%s' (%d) does not say '%s'", e.msg, e.code, why);
}

static struct module *open_module(enum engine_kind kind, struct str wasm,
                                  struct str image)
{
    struct err e = {0};
    struct module *m =
        module_open(g, kind, &(struct module_source){.wasm = wasm, .image = image}, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static struct world *open_world(struct module *m)
{
    struct err e = {0};
    struct world *w = world_open(m, &(struct world_limits){0}, NULL, &e);
    if (!w)
        fail_msg("%s", e.msg);
    return w;
}

static uint32_t call(struct world *w, const char *name, int64_t argument)
{
    struct err e = {0};
    uint64_t cell = (uint32_t)argument;
    if (!world_call(w, name, &cell, argument >= 0, &e))
        fail_msg("%s: %s", name, e.msg);
    return (uint32_t)cell;
}

/* ---- the same before and after ------------------------------------------ */

static uint64_t global(struct world *w, const char *name)
{
    uint64_t v = 0;
    assert_true(world_get_global(w, name, &v));
    return v;
}

static void assert_is_as_after_its_start(struct world *w)
{
    assert_int_equal((int32_t)global(w, "i32"), -8);
    assert_int_equal(global(w, "i64"), INT64_MIN);
    assert_int_equal(global(w, "f32"), 0x7fc00000);
    assert_int_equal(global(w, "f64"), 0x400921fb54442d18);
    assert_int_equal(global(w, "fixed"), 42);
    assert_int_equal(global(w, "__stack_pointer"), 1024);
    assert_int_equal(call(w, "pages", -1), 5);
    assert_int_equal(call(w, "read", 0x11005), 33);
    assert_int_equal(call(w, "read", 0x20000), 0x11);
    assert_int_equal(call(w, "read", 0x4ffff), 0x12);
    assert_int_equal(call(w, "read", 0x10), 'd');
    assert_int_equal(call(w, "read", 0x11), 0);
    assert_int_equal(call(w, "read", 0x12), 't');
    assert_int_equal(call(w, "read", 0x10002), 'o');
    assert_int_equal(world_table_size(w, "table"), 3);
    assert_int_equal(world_table_entry(w, "table", 0), 0);
    assert_int_not_equal(world_table_entry(w, "table", 1), 0);
}

static void assert_goes_on_as_the_original(struct world *w)
{
    assert_int_equal((int32_t)call(w, "again", -1), -7);
    assert_int_equal(call(w, "read", 0x11006), 44);
    assert_int_equal(call(w, "pages", -1), 6);
    for (int i = 0; i < 121; i++) /* its own maximum is kept: 128 pages */
        (void)call(w, "again", -1);
    assert_int_equal(call(w, "pages", -1), 127);
    (void)call(w, "again", -1);
    (void)call(w, "again", -1);
    assert_int_equal(call(w, "pages", -1), 128);
}

static void both_forms_are_as_the_module_after_its_start(void **state)
{
    (void)state;
    scoped_buf struct buf wasm;
    buf_init(&wasm, 1 << 20);
    assemble(&known, &wasm);
    scoped_result struct bake_result b;
    bake_text(&known, &b);

    scoped(module_close) struct module *raw =
        open_module(ENGINE_FOREIGN, buf_view(&wasm), STR(""));
    scoped(module_close) struct module *dense =
        open_module(ENGINE_FOREIGN, buf_view(&b.dense), STR(""));
    scoped(module_close) struct module *bare =
        open_module(ENGINE_OWN, buf_view(&b.bare), buf_view(&b.image));
    for (int i = 0; i < 2; i++) {
        scoped(world_close) struct world *before = open_world(raw);
        (void)call(before, "init", -1);
        scoped(world_close) struct world *one = open_world(dense);
        scoped(world_close) struct world *two = open_world(bare);
        struct world *const all[] = {before, one, two};
        for (size_t k = 0; k < LENGTH(all); k++) {
            assert_is_as_after_its_start(all[k]);
            assert_true(str_eq(world_memory(all[k]), world_memory(before)));
        }
        for (size_t k = 0; k < LENGTH(all); k++)
            assert_goes_on_as_the_original(all[k]);
        assert_true(str_eq(world_memory(one), world_memory(before)));
        assert_true(str_eq(world_memory(two), world_memory(before)));
    }
}

static void the_start_is_gone_from_both_forms(void **state)
{
    (void)state;
    scoped_result struct bake_result b;
    bake_text(&known, &b);
    const struct buf *const forms[] = {&b.dense, &b.bare};
    for (size_t i = 0; i < LENGTH(forms); i++) {
        struct err e = {0};
        scoped(arena_free) struct arena *a = arena_new(1 << 20);
        struct wasm_module *m = arena_get(a, sizeof *m, &e);
        assert_true(wasm_parse(buf_view(forms[i]), m, a, &e));
        assert_int_equal(m->export_count, 11);
        for (size_t k = 0; k < m->export_count; k++)
            assert_false(str_is(m->exports[k].name, "init") ||
                         str_starts(m->exports[k].name, "bake:"));
        bool has_note = false;
        for (size_t k = 0; k < m->part_count; k++) {
            assert_int_not_equal(m->parts[k].id, WASM_START);
            assert_int_not_equal(m->parts[k].id, WASM_DATA_COUNT);
            has_note |= m->parts[k].id == WASM_CUSTOM;
        }
        assert_true(has_note);
        struct module *reopened =
            open_module(ENGINE_FOREIGN, buf_view(forms[i]), STR(""));
        module_close(reopened);
    }
}

/* The one data segment: its address and its size; 0 segments read as 0, 0. */
static void find_data(struct str wasm, size_t *count, uint32_t *at, uint32_t *size)
{
    struct err e = {0};
    scoped(arena_free) struct arena *a = arena_new(1 << 20);
    struct wasm_module *m = arena_get(a, sizeof *m, &e);
    assert_true(wasm_parse(wasm, m, a, &e));
    *count = 0, *at = 0, *size = 0;
    for (size_t i = 0; i < m->part_count; i++) {
        if (m->parts[i].id != WASM_DATA)
            continue;
        const unsigned char *p = (const unsigned char *)m->parts[i].bytes.at;
        uint32_t numbers[4] = {0}; /* count, flags, (after 0x41) address, size */
        for (size_t n = 0; n < 4; n++) {
            if (n == 2)
                assert_int_equal(*p++, 0x41);
            for (unsigned shift = 0;; shift += 7) {
                numbers[n] |= (uint32_t)(*p & 0x7f) << shift;
                if (!(*p++ & 0x80))
                    break;
            }
            if (n == 0 && numbers[0] == 0)
                break;
            if (n == 2)
                assert_int_equal(*p++, 0x0b);
        }
        *count = numbers[0], *at = numbers[2], *size = numbers[3];
    }
}

static void the_dense_form_has_one_segment_of_whole_pages(void **state)
{
    (void)state;
    scoped_result struct bake_result b;
    bake_text(&known, &b);
    size_t count;
    uint32_t at, size;
    find_data(buf_view(&b.dense), &count, &at, &size);
    assert_int_equal(count, 1);
    assert_int_equal(at, 0);
    assert_int_equal(size, 0x50000);
    find_data(buf_view(&b.bare), &count, &at, &size);
    assert_int_equal(count, 0);
    assert_int_equal(b.image.n, 5 * 65536);

    /* Without data below 0x10000: it begins where the first used page does. */
    struct text t = known;
    t.sections[WASM_DATA] = (struct str){0};
    struct str own[LENGTH(bodies)];
    memcpy(own, bodies, sizeof own);
    own[1] = BODY("\x01"); /* nop */
    t.bodies = own;
    scoped_result struct bake_result few;
    bake_text(&t, &few);
    find_data(buf_view(&few.dense), &count, &at, &size);
    assert_int_equal(count, 1);
    assert_int_equal(at, 0x11000);
    assert_int_equal(size, 0x1000);
}

static void a_memory_of_zeros_needs_no_segment(void **state)
{
    (void)state;
    const struct text t = {
        .sections = {[WASM_TYPE] = STR("\1\x60\0\0"),
                     [WASM_FUNCTION] = STR("\1\0"),
                     [WASM_MEMORY] = STR("\1\0\1"),
                     [WASM_EXPORT] = STR("\2\6memory\2\0\4init\0\0")},
        .bodies = (const struct str[]){BODY("")},
        .body_count = 1,
    };
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    size_t count;
    uint32_t at, size;
    find_data(buf_view(&b.dense), &count, &at, &size);
    assert_int_equal(count, 0);
    scoped(module_close) struct module *m =
        open_module(ENGINE_OWN, buf_view(&b.bare), buf_view(&b.image));
    scoped(world_close) struct world *w = open_world(m);
    assert_int_equal(world_memory(w).n, 65536);
}

/* 16,400 pages: 1,025 MiB. `body` is its start. */
static struct text large_memory(const struct str *body)
{
    return (struct text){
        .sections = {[WASM_TYPE] = STR("\1\x60\0\0"),
                     [WASM_FUNCTION] = STR("\1\0"),
                     [WASM_MEMORY] = STR("\1\0\x90\x80\1"),
                     [WASM_EXPORT] = STR("\2\6memory\2\0\4init\0\0")},
        .bodies = body,
        .body_count = 1,
    };
}

static void a_memory_larger_than_an_image_has_one_without_its_end(void **state)
{
    (void)state;
    const struct str body = BODY(ADDRESS I32("\x21") STORE8("\5")); /* at 0x11005 */
    const struct text t = large_memory(&body);
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    assert_int_equal(b.image.n, 0x12000);
    scoped(module_close) struct module *m =
        open_module(ENGINE_OWN, buf_view(&b.bare), buf_view(&b.image));
    scoped(world_close) struct world *w = open_world(m);
    assert_int_equal(world_memory(w).n, 16400 * 65536);
    assert_int_equal(world_memory(w).at[0x11005], 33);
}

static void a_memory_that_holds_more_than_an_image_is_refused(void **state)
{
    (void)state;
    const struct str body = BODY(/* at 0x40010000 */
                                 "\x41\x80\x80\x84\x80\x04" I32("\x21") STORE8("\5"));
    const struct text t = large_memory(&body);
    assert_refused(&t, ERR_LIMIT, "holds more than");
}

/* _initialize runs by itself, first, and goes too. */
static void initialize_runs_before_the_others(void **state)
{
    (void)state;
    struct text t = {
        .sections = {[WASM_TYPE] = STR("\1\x60\0\0"),
                     [WASM_FUNCTION] = STR("\3\0\0\0"),
                     [WASM_MEMORY] = STR("\1\0\1"),
                     [WASM_GLOBAL] = STR("\1\x7f\1\x41\0\x0b"),
                     [WASM_EXPORT] = STR("\5\6memory\2\0\4init\0\0\x0b_initialize\0\1"
                                         "\4more\0\2\1n\3\0")},
        /* n = n * 2 + 1; n = 5; n = n * 2 */
        .bodies =
            (const struct str[]){
                BODY(GET("\0") I32("\2") "\x6c" I32("\1") "\x6a" SET("\0")),
                BODY(I32("\5") SET("\0")), BODY(GET("\0") I32("\2") "\x6c" SET("\0"))},
        .body_count = 3,
    };
    static const char *const two[] = {"init", "more"};
    struct err e = {0};
    scoped_result struct bake_result b;
    result_init(&b, 1 << 20);
    assert_true(try_bake(
        &t, &(struct bake_options){.init = two, .init_count = 2, .own = true}, &b, &e));
    scoped(module_close) struct module *m =
        open_module(ENGINE_OWN, buf_view(&b.bare), buf_view(&b.image));
    scoped(world_close) struct world *w = open_world(m);
    assert_int_equal(global(w, "n"), 22);
    uint64_t cell = 0;
    assert_false(world_call(w, "_initialize", &cell, 0, &e));
    assert_false(world_call(w, "more", &cell, 0, &e));
}

/* ---- imports ------------------------------------------------------------ */

#define WASI "\x16wasi_snapshot_preview1"

/* init calls the import of type 0 with zeros for its parameters, and keeps what it
 * answers (plus one byte of the time, were there any) in memory. */
static struct text importing(const char *name_of_it, struct str *import, struct str type,
                             const struct str *body, char *space)
{
    size_t n = (size_t)sprintf(space, "\1%s", name_of_it);
    memcpy(space + n, "\0\0", 3);
    *import = (struct str){space, n + 2};
    struct text t = {.sections = {[WASM_TYPE] = type,
                                  [WASM_IMPORT] = *import,
                                  [WASM_FUNCTION] = STR("\1\1"),
                                  [WASM_MEMORY] = STR("\1\0\1"),
                                  [WASM_EXPORT] = STR("\2\6memory\2\0\4init\0\1")},
                     .bodies = body,
                     .body_count = 1};
    return t;
}

static void the_system_answers_that_it_is_not_there(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    const struct str body =
        BODY(I32("\x20") "\x41\1\x41\0\x41\0\x41\0\x10\0" STORE8("\0"));
    struct text t =
        importing(WASI "\x08"
                       "fd_write",
                  &import, STR("\2\x60\4\x7f\x7f\x7f\x7f\1\x7f\x60\0\0"), &body, space);
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    assert_int_equal(b.image.at[0x20], 52);
}

static void while_it_is_baked_the_clock_stands_still(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    /* memory[0x30] = 7; memory[0x20] = clock_time_get(0, 0, 0x30) + 9 */
    const struct str body = BODY(I32("\x30") I32("\7") STORE8("\0") I32(
        "\x20") "\x41\0\x42\0\x41\x30\x10\0\x41\x09\x6a" STORE8("\0"));
    struct text t =
        importing(WASI "\x0e"
                       "clock_time_get",
                  &import, STR("\2\x60\3\x7f\x7e\x7f\1\x7f\x60\0\0"), &body, space);
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    assert_int_equal(b.image.at[0x20], 9);
    assert_int_equal(b.image.at[0x30], 0);
}

static void what_is_not_the_same_each_time_is_refused(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    const struct str random = BODY("\x41\0\x41\x04\x10\0" DROP);
    struct text t = importing(WASI "\x0arandom_get", &import,
                              STR("\2\x60\2\x7f\x7f\1\x7f\x60\0\0"), &random, space);
    assert_refused(&t, ERR_GUEST, "host function");
    const struct str host = BODY("\x10\0");
    t = importing("\4host\4call", &import, STR("\2\x60\0\0\x60\0\0"), &host, space);
    assert_refused(&t, ERR_GUEST, "host function");
    const struct str clock = BODY("\x41\0\x42\0\x41\x7f\x10\0" DROP); /* at -1 */
    t = importing(WASI "\x0e"
                       "clock_time_get",
                  &import, STR("\2\x60\3\x7f\x7e\x7f\1\x7f\x60\0\0"), &clock, space);
    assert_refused(&t, ERR_GUEST, "outside its memory");
}

static void an_import_without_values_is_answered_too(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    const struct str body = BODY("\x10\0\x10\0\x41\x20\x41\5" STORE8("\0"));
    struct text t =
        importing(WASI "\5yield", &import, STR("\2\x60\0\0\x60\0\0"), &body, space);
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    assert_int_equal(b.image.at[0x20], 5);
}

static bool answer_from_data(struct world *w, uint64_t *cells, struct err *e)
{
    (void)e;
    cells[0] = *(const uint32_t *)world_data(w);
    return true;
}

static void the_callers_imports_answer_first(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    uint32_t answer = 77;
    const struct engine_import given = {"host", "call", ":i", answer_from_data};
    const struct bake_options o = {.init = init,
                                   .init_count = 1,
                                   .own = true,
                                   .imports = &given,
                                   .import_count = 1,
                                   .data = &answer};
    const struct str body = BODY(I32("\x20") "\x10\0" STORE8("\0"));
    struct text t =
        importing("\4host\4call", &import, STR("\2\x60\0\1\x7f\x60\0\0"), &body, space);
    /* What is imported twice, as Go's linker does, is one function. */
    char twice[200];
    twice[0] = 2;
    memcpy(twice + 1, space + 1, import.n - 1);
    memcpy(twice + import.n, space + 1, import.n - 1);
    t.sections[WASM_IMPORT] = (struct str){twice, 2 * import.n - 1};
    t.sections[WASM_EXPORT] = STR("\2\6memory\2\0\4init\0\2");
    struct err e = {0};
    scoped_result struct bake_result b;
    result_init(&b, (size_t)64 << 20);
    if (!try_bake(&t, &o, &b, &e))
        fail_msg("%s", e.msg);
    assert_int_equal(b.image.at[0x20], 77);

    const struct str other = BODY("\x10\0");
    t = importing("\4host\4call", &import, STR("\2\x60\0\0\x60\0\0"), &other, space);
    assert_false(try_bake(&t, &o, &b, &e));
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.msg, "another type"));
}

static void imports_that_cannot_be_answered_are_refused(void **state)
{
    (void)state;
    char space[100];
    struct str import;
    const struct str body = BODY("");
    struct text t =
        importing("\1a\1b", &import, STR("\2\x60\1\x6f\0\x60\0\0"), &body, space);
    assert_refused(&t, ERR_INVALID, "over references");
    t = importing("\1a\1b", &import,
                  STR("\2\x60\x10\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f"
                      "\x7f\x7f\0\x60\0\0"),
                  &body, space);
    assert_refused(&t, ERR_INVALID, "too many values");
    t = importing("\1a\1b", &import, STR("\2\x60\0\2\x7f\x7f\x60\0\0"), &body, space);
    assert_refused(&t, ERR_INVALID, "too many values");
}

/* ---- what cannot be baked ----------------------------------------------- */

/* The known module with another init, start or section. */
static struct text with_body(size_t which, struct str body, struct str *own)
{
    memcpy(own, bodies, sizeof bodies);
    own[which] = body;
    struct text t = known;
    t.bodies = own;
    return t;
}

static struct text with_section(enum wasm_section id, struct str content)
{
    struct text t = known;
    t.sections[id] = content;
    return t;
}

static void tables_that_were_changed_are_refused(void **state)
{
    (void)state;
    struct str own[LENGTH(bodies)];
    static const struct str ways[] = {
        BODY(I32("\0") "\xd2\2\x26\0"),        /* entry 0 = function 2 */
        BODY(I32("\1") "\xd0\x70\x26\0"),      /* entry 1 = null */
        BODY(I32("\1") "\xd2\3\x26\0"),        /* entry 1 = another */
        BODY("\xd0\x70\x41\1\xfc\x0f\0" DROP), /* table.grow 1 */
    };
    for (size_t which = 0; which < 2; which++) /* by the start function, by init */
        for (size_t i = 0; i < LENGTH(ways); i++) {
            struct text t = with_body(which, ways[i], own);
            assert_refused(&t, ERR_INVALID, "changed table 0");
        }
    struct text same = with_body(1, BODY(I32("\1") "\xd2\2\x26\0"), own);
    scoped_result struct bake_result b;
    bake_text(&same, &b); /* what was there already */
}

static void a_shadow_stack_that_stays_moved_is_refused(void **state)
{
    (void)state;
    struct str own[LENGTH(bodies)];
    for (size_t which = 0; which < 2; which++) {
        struct text t = with_body(which, BODY(GET("\5") "\x41\x10\x6b" SET("\5")), own);
        assert_refused(&t, ERR_INVALID, "shadow stack");
    }
}

static void segments_that_the_code_may_use_later_are_refused(void **state)
{
    (void)state;
    struct str own[LENGTH(bodies)];
    static const struct str ways[] = {
        BODY("\x41\0\x41\0\x41\0\xfc\x08\0\0"), /* memory.init */
        BODY("\xfc\x09\0"),                     /* data.drop */
        BODY("\x41\0\x41\0\x41\0\xfc\x0c\0\0"), /* table.init */
        BODY("\xfc\x0d\0"),                     /* elem.drop */
    };
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct text t = with_body(4, ways[i], own);
        t.sections[WASM_DATA_COUNT] = STR("\2");
        assert_refused(&t, ERR_INVALID, "segments");
    }
    /* Their opcodes as numbers inside other instructions are not meant. */
    struct text fine = with_body(
        4,
        BODY("\x41\xfc\x08" DROP "\x42\xfc\x09" DROP "\x43\xfc\x0c\xfc\x0d" DROP
             "\x44\xfc\x08\0\0\xfc\x09\0\0" DROP "\xfd\x0c\xfc\x08\0\0\xfc\x09\0\0"
             "\xfc\x0c\0\0\xfc\x0d\0\0" DROP I32("\0")),
        own);
    scoped_result struct bake_result b;
    bake_text(&fine, &b);
}

static void bulk_memory_is_refused_for_our_own_guests_only(void **state)
{
    (void)state;
    struct str own[LENGTH(bodies)];
    static const struct str ways[] = {
        BODY("\x41\0\x41\0\x41\0\xfc\x0a\0\0" I32("\0")), /* memory.copy */
        BODY("\x41\0\x41\0\x41\0\xfc\x0b\0" I32("\0")),   /* memory.fill */
    };
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct text t = with_body(4, ways[i], own);
        assert_refused(&t, ERR_INVALID, "memory.copy or memory.fill");
        struct err e = {0};
        scoped_result struct bake_result b;
        result_init(&b, 1 << 20);
        assert_true(
            try_bake(&t, &(struct bake_options){.init = init, .init_count = 1}, &b, &e));
    }
}

static void state_that_has_no_constant_is_refused(void **state)
{
    (void)state;
    struct text t = with_section(WASM_GLOBAL, STR("\7"
                                                  "\x7f\1\x41\0\x0b"
                                                  "\x7e\1\x42\5\x0b"
                                                  "\x7d\1\x43\0\0\0\0\x0b"
                                                  "\x7c\1\x44\0\0\0\0\0\0\0\0\x0b"
                                                  "\x7f\0\x41\x2a\x0b"
                                                  "\x7f\1\x41\x80\x08\x0b"
                                                  "\x6f\1\xd0\x6f\x0b")); /* externref */
    assert_refused(&t, ERR_INVALID, "not a number");
    t.sections[WASM_GLOBAL] = STR("\7"
                                  "\x7f\1\x41\0\x0b"
                                  "\x7e\1\x42\5\x0b"
                                  "\x7d\1\x43\0\0\0\0\x0b"
                                  "\x7c\1\x44\0\0\0\0\0\0\0\0\x0b"
                                  "\x7f\0\x41\x2a\x0b"
                                  "\x7f\1\x41\x80\x08\x0b"
                                  "\x7b\1\xfd\x0c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0b");
    assert_refused(&t, ERR_INVALID, "not a number"); /* a mutable v128 */
}

static void a_memory_that_is_not_its_own_is_refused(void **state)
{
    (void)state;
    struct text t = with_section(WASM_MEMORY, STR("\1\3\2\x80\1")); /* shared */
    assert_refused(&t, ERR_INVALID, "one memory of its own");
    t = with_section(WASM_MEMORY, STR("\1\4\2")); /* of 64 bits */
    assert_refused(&t, ERR_INVALID, "one memory of its own");
    t = with_section(WASM_MEMORY, STR("\2\0\2\0\2"));
    assert_refused(&t, ERR_INVALID, "one memory of its own");
    t = with_section(WASM_MEMORY, (struct str){0});
    assert_refused(&t, ERR_INVALID, "one memory of its own");
    t = with_section(WASM_MEMORY, (struct str){0});
    t.sections[WASM_IMPORT] = STR("\1\1a\1m\2\0\2");
    assert_refused(&t, ERR_INVALID, "one memory of its own");
    t = with_section(WASM_IMPORT, STR("\1\1a\1g\3\x7f\0"));
    assert_refused(&t, ERR_INVALID, "imports globals or tables");
    t = with_section(WASM_IMPORT, STR("\1\1a\1t\1\x70\0\1"));
    assert_refused(&t, ERR_INVALID, "imports globals or tables");
    t = with_section(WASM_EXPORT, STR("\2\3mem\2\0\4init\0\1"));
    assert_refused(&t, ERR_INVALID, "does not export its memory");
    t = with_section(WASM_EXPORT, STR("\2\6memory\0\0\4init\0\1")); /* a function */
    assert_refused(&t, ERR_INVALID, "does not export its memory");
}

static void a_start_that_fails_is_told(void **state)
{
    (void)state;
    struct str own[LENGTH(bodies)];
    struct text t = with_body(0, BODY("\0"), own); /* unreachable */
    assert_refused(&t, ERR_GUEST, "start function");
    t = with_body(1, BODY("\0"), own);
    assert_refused(&t, ERR_GUEST, "init");
    t = with_section(WASM_EXPORT, STR("\1\6memory\2\0"));
    assert_refused(&t, ERR_INVALID, "init");
    t = with_section(WASM_EXPORT, STR("\2\6memory\2\0\4init\0\2")); /* takes a value */
    assert_refused(&t, ERR_INVALID, "init");
}

static void a_result_larger_than_its_buf_is_a_limit(void **state)
{
    (void)state;
    static const size_t ceilings[] = {0, 100, 1000, 300000, 5 * 65536};
    for (size_t i = 0; i < LENGTH(ceilings); i++) {
        struct err e = {0};
        scoped_result struct bake_result b;
        result_init(&b, ceilings[i]);
        assert_false(try_bake(&known, &options, &b, &e));
        assert_int_equal(e.code, ERR_LIMIT);
    }
}

/* ---- hostile bytes ------------------------------------------------------ */

static void bake_bytes(struct str wasm)
{
    struct err e = {0};
    scoped_result struct bake_result b;
    result_init(&b, 8 << 20);
    if (!bake_module(g, wasm, &options, &b, &e)) {
        assert_int_not_equal(e.code, ERR_NONE);
        assert_int_not_equal(e.code, ERR_BUG);
    }
}

static void a_module_may_end_anywhere(void **state)
{
    (void)state;
    scoped_buf struct buf wasm;
    buf_init(&wasm, 1 << 20);
    assemble(&known, &wasm);
    for (size_t n = 0; n < wasm.n; n++) {
        struct err e = {0};
        scoped_result struct bake_result b;
        result_init(&b, 8 << 20);
        char *exact = malloc(n + 1); /* so that the sanitizer sees a byte too far */
        memcpy(exact, wasm.at, n);
        exact = realloc(exact, n ? n : 1);
        bool ok = bake_module(g, (struct str){exact, n}, &options, &b, &e);
        free(exact);
        /* Only the last section, data, can be missing. */
        if (ok)
            assert_true(n > wasm.n - 30);
        else
            assert_int_equal(e.code, ERR_INVALID);
    }
}

static void a_module_may_hold_any_byte(void **state)
{
    (void)state;
    scoped_buf struct buf wasm;
    buf_init(&wasm, 1 << 20);
    assemble(&known, &wasm);
    static const unsigned char flips[] = {0xff, 0x80, 0x01};
    for (size_t at = 0; at < wasm.n; at++)
        for (size_t k = 0; k < LENGTH(flips); k++) {
            wasm.at[at] = (char)(wasm.at[at] ^ flips[k]);
            bake_bytes(buf_view(&wasm));
            wasm.at[at] = (char)(wasm.at[at] ^ flips[k]);
        }
    bake_bytes(STR(""));
    bake_bytes(STR("\0asm\2\0\0\0"));
    bake_bytes(STR("\0asm\1\0\0\0\x0a\xff\xff\xff\xff\x0f"));
    bake_bytes(STR("\0asm\1\0\0\0\1\5\xff\xff\xff\xff\x0f"));
}

/* ---- a large image ------------------------------------------------------ */

static void an_image_of_64_mib_is_baked_and_loaded(void **state)
{
    (void)state;
    const struct text t = {
        .sections = {[WASM_TYPE] = STR("\2\x60\0\0\x60\1\x7f\1\x7f"),
                     [WASM_FUNCTION] = STR("\2\0\1"),
                     [WASM_MEMORY] = STR("\1\0\x80\x08"), /* 1024 pages */
                     [WASM_EXPORT] = STR("\3\6memory\2\0\4init\0\0\4read\0\1")},
        .bodies =
            (const struct str[]){
                BODY(I32("\3") I32("\x15") STORE8("\0")                /* at 3 */
                     "\x41\x80\x80\x80\x10" I32("\x16") STORE8("\0")   /* 32 MiB */
                     "\x41\xff\xff\xff\x1f" I32("\x17") STORE8("\0")), /* the last byte */
                BODY(PARAM LOAD8("\0"))},
        .body_count = 2,
    };
    scoped_result struct bake_result b;
    bake_text(&t, &b);
    assert_int_equal(b.image.n, 64 << 20);
    assert_true(b.bare.n < 1000);
    size_t count;
    uint32_t at, size;
    find_data(buf_view(&b.dense), &count, &at, &size);
    assert_int_equal(count, 1);
    assert_int_equal(size, 64 << 20);
    scoped(module_close) struct module *dense =
        open_module(ENGINE_FOREIGN, buf_view(&b.dense), STR(""));
    scoped(module_close) struct module *bare =
        open_module(ENGINE_OWN, buf_view(&b.bare), buf_view(&b.image));
    for (int i = 0; i < 3; i++) {
        scoped(world_close) struct world *one = open_world(i ? bare : dense);
        assert_int_equal(call(one, "read", 3), 0x15);
        assert_int_equal(call(one, "read", 32 << 20), 0x16);
        assert_int_equal(call(one, "read", (64 << 20) - 1), 0x17);
        assert_int_equal(call(one, "read", 40 << 20), 0);
        memset(world_slice(one, 0, 100), 1, 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_are_as_the_module_after_its_start),
        cmocka_unit_test(the_start_is_gone_from_both_forms),
        cmocka_unit_test(the_dense_form_has_one_segment_of_whole_pages),
        cmocka_unit_test(a_memory_of_zeros_needs_no_segment),
        cmocka_unit_test(a_memory_larger_than_an_image_has_one_without_its_end),
        cmocka_unit_test(a_memory_that_holds_more_than_an_image_is_refused),
        cmocka_unit_test(initialize_runs_before_the_others),
        cmocka_unit_test(the_system_answers_that_it_is_not_there),
        cmocka_unit_test(while_it_is_baked_the_clock_stands_still),
        cmocka_unit_test(what_is_not_the_same_each_time_is_refused),
        cmocka_unit_test(the_callers_imports_answer_first),
        cmocka_unit_test(an_import_without_values_is_answered_too),
        cmocka_unit_test(imports_that_cannot_be_answered_are_refused),
        cmocka_unit_test(tables_that_were_changed_are_refused),
        cmocka_unit_test(a_shadow_stack_that_stays_moved_is_refused),
        cmocka_unit_test(segments_that_the_code_may_use_later_are_refused),
        cmocka_unit_test(bulk_memory_is_refused_for_our_own_guests_only),
        cmocka_unit_test(state_that_has_no_constant_is_refused),
        cmocka_unit_test(a_memory_that_is_not_its_own_is_refused),
        cmocka_unit_test(a_start_that_fails_is_told),
        cmocka_unit_test(a_result_larger_than_its_buf_is_a_limit),
        cmocka_unit_test(a_module_may_end_anywhere),
        cmocka_unit_test(a_module_may_hold_any_byte),
        cmocka_unit_test(an_image_of_64_mib_is_baked_and_loaded),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
