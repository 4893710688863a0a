/* Saving a world's memory beyond its image, and restoring it in another. */
#include "engine/fixture_test.h"

#define PAGES 2u
#define SIZE (PAGES * WASM_PAGE)

static const char growing[] =
    "(module (memory (export \"memory\") 2 100)"
    " (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0))))";

static char image[SIZE];
static struct module *m;
static struct buf saved;

static int begin(void **state)
{
    (void)state;
    memset(image, 0, sizeof image);
    memset(image + 5000, 'i', 3000);
    m = module_with_image(ENGINE_OWN, growing, image, sizeof image);
    buf_init(&saved, (size_t)16 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    buf_done(&saved);
    module_close(m);
    return 0;
}

static char *memory_of(struct world *w)
{
    return (char *)(uintptr_t)world_memory(w).at;
}

static void save(struct world *w)
{
    struct err e = {0};
    buf_clear(&saved);
    if (!world_save(w, &saved, &e))
        fail_msg("%s", e.msg);
}

static struct world *restored(void)
{
    struct err e = {0};
    struct world *w = world_of(m);
    if (!world_restore(w, buf_view(&saved), &e))
        fail_msg("%s", e.msg);
    return w;
}

static enum err_code refused(uint64_t memory_bytes)
{
    struct err e = {0};
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.memory_bytes = memory_bytes});
    assert_false(world_restore(w, buf_view(&saved), &e));
    assert_true(e.msg[0] != '\0');
    return e.code;
}

static void a_world_goes_on_where_another_was_saved(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = world_of(m);
    char *at = memory_of(w);
    memset(at + 100, 'a', 10);  /* over zeros of the image, */
    memset(at + 6000, 'b', 10); /* over its data, */
    memset(at + 5000, 0, 64);   /* and zeros over that */
    at[SIZE - 1] = 'z';
    save(w);
    assert_in_range(saved.n, 4 * 64, 2000); /* lines, not pages */
    scoped(free) char *expect = malloc(SIZE);
    memcpy(expect, at, SIZE);
    world_close(take(w));
    w = restored();
    assert_memory_equal(memory_of(w), expect, SIZE);
    /* And from there once more. */
    memory_of(w)[200] = 'c';
    expect[200] = 'c';
    save(w);
    world_close(take(w));
    w = restored();
    assert_memory_equal(memory_of(w), expect, SIZE);
    world_close(take(w));
    /* Saved memory does not leak into other worlds. */
    w = world_of(m);
    assert_memory_equal(memory_of(w), image, SIZE);
}

static void a_world_that_wrote_nothing_saves_next_to_nothing(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = world_of(m);
    save(w);
    assert_in_range(saved.n, 1, 100);
    world_close(take(w));
    w = restored();
    assert_memory_equal(memory_of(w), image, SIZE);
}

static void memory_that_grew_is_there_again(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = world_of(m);
    assert_int_equal(call_with(w, "grow", 10), PAGES);
    memory_of(w)[12 * WASM_PAGE - 1] = 'x';
    memory_of(w)[7 * WASM_PAGE] = 'y';
    save(w);
    assert_true(saved.n < 1000);
    world_close(take(w));
    w = restored();
    assert_int_equal(world_memory(w).n, 12 * WASM_PAGE);
    assert_int_equal(memory_of(w)[12 * WASM_PAGE - 1], 'x');
    assert_int_equal(memory_of(w)[7 * WASM_PAGE], 'y');
    assert_int_equal(memory_of(w)[7 * WASM_PAGE + 1], 0);
    assert_int_equal(call_with(w, "grow", 1), 12);
    world_close(take(w));
    assert_int_equal(refused(12 * WASM_PAGE - 1), ERR_MEMORY);
    assert_int_equal(refused(2 * WASM_PAGE), ERR_MEMORY);
}

static void many_scattered_pages_are_all_found(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = world_of(m);
    assert_int_equal(call_with(w, "grow", 98), PAGES);
    size_t size = world_memory(w).n;
    for (size_t at = 0; at < size; at += (size_t)2 * PAGE)
        memory_of(w)[at] = (char)(at / PAGE % 100 + 1);
    save(w);
    scoped(free) char *expect = malloc(size);
    memcpy(expect, memory_of(w), size);
    world_close(take(w));
    w = restored();
    assert_memory_equal(memory_of(w), expect, size);
}

static void a_ceiling_holds(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(world_close) struct world *w = world_of(m);
    memset(memory_of(w), 'x', 20000);
    struct buf small;
    buf_init(&small, 10000);
    assert_false(world_save(w, &small, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    buf_done(&small);
}

static void another_image_is_told_apart(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = world_of(m);
    save(w);
    image[5000] = 'j';
    scoped(module_close) struct module *other =
        module_with_image(ENGINE_OWN, growing, image, sizeof image);
    scoped(world_close) struct world *x = world_of(other);
    struct err e = {0};
    assert_false(world_restore(x, buf_view(&saved), &e));
    assert_int_equal(e.code, ERR_CONFLICT);
}

/* Where the numbers of a saved world stand. */
enum { MEMORY_AT = 40, COUNT_AT = 48, PAGE_AT = 56, LINES_AT = 64, HEAD = 56 };

static void put(size_t at, uint64_t v)
{
    memcpy(saved.at + at, &v, sizeof v);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
    } wrong[] = {
        {MEMORY_AT, 0},
        {MEMORY_AT, SIZE - WASM_PAGE},
        {MEMORY_AT, SIZE + 1},
        {MEMORY_AT, UINT64_MAX},
        {MEMORY_AT, UINT64_MAX - WASM_PAGE + 1},
        {COUNT_AT, 0},
        {COUNT_AT, 2},
        {COUNT_AT, UINT64_MAX},
        {PAGE_AT, SIZE / PAGE},
        {PAGE_AT, UINT64_MAX},
        {PAGE_AT, UINT64_MAX / PAGE + 1},
        {LINES_AT, 0},
        {LINES_AT, 3},
        {LINES_AT, UINT64_MAX},
    };
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        scoped(world_close) struct world *w = world_of(m);
        memory_of(w)[100] = 'a';
        save(w);
        put(wrong[i].at, wrong[i].value);
        enum err_code code = refused(0);
        assert_true(code == ERR_INVALID ||
                    (code == ERR_MEMORY && wrong[i].at == MEMORY_AT));
    }
    /* Pages out of their order, or twice. */
    scoped(world_close) struct world *w = world_of(m);
    memory_of(w)[0] = 'a';
    memory_of(w)[PAGE] = 'b';
    save(w);
    size_t second = HEAD + 16 + 64;
    put(second, 0);
    assert_int_equal(refused(0), ERR_INVALID);
    put(HEAD, 1);
    assert_int_equal(refused(0), ERR_INVALID);
    put(second, 2);
    world_close(restored());
    for (size_t n = 0; n < saved.n; n++) {
        struct err e = {0};
        scoped(world_close) struct world *x = world_of(m);
        assert_false(world_restore(x, (struct str){saved.at, n}, &e));
    }
}

#define saved_test(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define EVERYWHERE                                                                   \
    saved_test(a_world_goes_on_where_another_was_saved),                             \
        saved_test(a_world_that_wrote_nothing_saves_next_to_nothing),                \
        saved_test(memory_that_grew_is_there_again),                                 \
        saved_test(many_scattered_pages_are_all_found), saved_test(a_ceiling_holds), \
        saved_test(another_image_is_told_apart),                                     \
        saved_test(numbers_that_cannot_be_are_refused)

int main(void)
{
    const struct CMUnitTest tests[] = {EVERYWHERE};
    int failed = cmocka_run_group_tests_name("slots", tests, open_slots, close_engine);
    failed += cmocka_run_group_tests_name("pool", tests, open_pool, close_engine);
    failed += cmocka_run_group_tests_name("small", tests, open_small, close_engine);
    return failed;
}
