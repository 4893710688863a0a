/* Worlds whose memory begins as a part of a file: their contents, that their writes stay
 * nowhere, and damage of the file. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/fixture_test.h"
#include "engine/internal.h"

#define AT ((uint64_t)2 * PAGE) /* where the image begins in the file */
#define PAGES 256u
#define BYTES (PAGES * PAGE)
#define MEMORY (BYTES + 16 * WASM_PAGE) /* of the module: larger than the image */
#define SECRET 0xa5

static uint8_t *expected;
static int fd = -1;
static struct module *m;

/* Little-endian words at an address, to read and write; a trap; a loop without end. */
static const char text[] =
    "(module (memory (export \"memory\") 32)"
    " (func (export \"get\") (param i32) (result i32) (i32.load (local.get 0)))"
    " (func (export \"put\") (param i32) (i32.store (local.get 0) (i32.const 0xa5a5a5a5)))"
    " (func (export \"trap\") (i32.store (i32.const 8192) (i32.const 1)) unreachable)"
    " (func (export \"forever\") (loop (i32.store (i32.const 8192) (i32.const 1)) (br 0))))";

static bool page_is_used(size_t page)
{
    return page < 3 || (page >= 60 && page < 120) || page == PAGES - 1;
}

static int make_file(void)
{
    char name[] = "/tmp/cloche-file-test-XXXXXX";
    int made = mkstemp(name);
    assert_true(made >= 0 && unlink(name) == 0);
    assert_int_equal(ftruncate(made, (off_t)(AT + BYTES)), 0);
    for (size_t p = 0; p < PAGES; p++)
        if (page_is_used(p))
            assert_int_equal(
                pwrite(made, expected + p * PAGE, PAGE, (off_t)(AT + p * PAGE)), PAGE);
    return made;
}

static struct module *open_file(const struct image_file *f, struct err *e)
{
    scoped_buf struct buf wasm;
    assemble(text, &wasm);
    struct module_source s = {.wasm = buf_view(&wasm), .file = f};
    return module_open(g, ENGINE_OWN, &s, e);
}

static int set_up(void **state)
{
    (void)state;
    struct err e = {0};
    fd = make_file();
    m = open_file(&(struct image_file){fd, AT, BYTES}, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    module_close(m);
    close(fd);
    return 0;
}

static struct world *a_world(struct world_limits limits)
{
    struct err e = {0};
    struct world *w = world_open(m, &limits, NULL, &e);
    if (!w)
        fail_msg("%s", e.msg);
    return w;
}

static uint64_t ask(struct world *w, const char *name, uint64_t cell, size_t n)
{
    struct err e = {0};
    if (!world_call(w, name, &cell, n, &e))
        fail_msg("%s: %s", name, e.msg);
    return cell;
}

static void assert_is_new(struct world *w)
{
    struct str all = world_memory(w);
    assert_int_equal(all.n, MEMORY);
    assert_memory_equal(all.at, expected, BYTES);
    for (size_t at = BYTES; at < MEMORY; at++)
        assert_int_equal(all.at[at], 0);
}

static void a_world_begins_as_the_file_with_zeros_behind(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = a_world((struct world_limits){0});
    assert_is_new(w);
    uint32_t word;
    memcpy(&word, expected + 100 * PAGE, sizeof word);
    assert_int_equal((uint32_t)ask(w, "get", 100 * PAGE, 1), word);
}

static void soil_all(struct world *w)
{
    memset(world_slice(w, 0, MEMORY), SECRET, MEMORY);
}

static void nothing_that_is_written_stays(void **state)
{
    (void)state;
    static const struct {
        const char *export;
        enum err_code code;
    } ends[] = {{NULL, ERR_NONE}, {"trap", ERR_GUEST}, {"forever", ERR_TIMEOUT}};
    for (size_t i = 0; i < LENGTH(ends); i++) {
        bool ends_late = ends[i].code == ERR_TIMEOUT;
        struct world *w = a_world(
            (struct world_limits){.compute_ns = ends_late ? 10 * MS : 0, .tenant = i});
        soil_all(w);
        struct err e = {0};
        uint64_t cell = 0;
        if (ends[i].export) {
            assert_false(world_call(w, ends[i].export, &cell, 0, &e));
            assert_int_equal(e.code, ends[i].code);
        }
        world_close(w);
        w = a_world((struct world_limits){.tenant = i});
        assert_is_new(w);
        world_close(w);
    }
    uint8_t *page = mem_new(PAGE);
    for (size_t p = 0; p < PAGES; p++) {
        assert_int_equal(pread(fd, page, PAGE, (off_t)(AT + p * PAGE)), PAGE);
        assert_memory_equal(page, expected + p * PAGE, PAGE);
    }
    free(page);
}

static void worlds_at_once_do_not_see_each_other(void **state)
{
    (void)state;
    struct world *w[8];
    for (size_t i = 0; i < LENGTH(w); i++)
        w[i] = a_world((struct world_limits){0});
    for (size_t i = 0; i + 1 < LENGTH(w); i++)
        soil_all(w[i]);
    assert_is_new(w[LENGTH(w) - 1]);
    for (size_t i = 0; i < LENGTH(w); i++)
        world_close(w[i]);
}

/* Slots alone. */
static void what_was_written_is_counted_until_it_is_discarded(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = a_world((struct world_limits){0});
    uint64_t before, after;
    ask(w, "get", 61 * PAGE, 1);
    assert_true(world_touched(w, &before));
    for (uint64_t p = 0; p < 20; p++)
        ask(w, "put", (61 + p) * PAGE, 1); /* of the file */
    for (uint64_t p = 0; p < 30; p++)
        ask(w, "put", BYTES + p * PAGE, 1); /* behind it */
    assert_true(world_touched(w, &after));
    assert_int_equal(after - before, 50 * PAGE);
    assert_true(world_discard(w, 61 * PAGE, 20 * PAGE));
    assert_true(world_discard(w, BYTES, 30 * PAGE));
    assert_true(world_touched(w, &after));
    assert_int_equal(after, before);
    assert_is_new(w);
    assert_false(world_discard(w, MEMORY - PAGE, 2 * PAGE));
}

/* Slots only: otherwise the file was copied. */
static void a_file_that_is_cut_short_ends_its_worlds_alone(void **state)
{
    (void)state;
    struct err e = {0};
    scoped_fd int other = make_file();
    scoped(module_close) struct module *cut =
        open_file(&(struct image_file){other, AT, BYTES}, &e);
    scoped(world_close) struct world *w =
        world_open(cut, &(struct world_limits){0}, NULL, &e);
    assert_non_null(w);
    assert_int_equal(ftruncate(other, 0), 0);
    uint64_t cell = 100 * PAGE;
    assert_false(world_call(w, "get", &cell, 1, &e));
    assert_int_equal(e.code, ERR_IO);
    assert_non_null(strstr(e.msg, "was truncated"));
    e = (struct err){0};
    assert_false(world_call(w, "get", &cell, 1, &e)); /* and it stays so */
    assert_int_equal(e.code, ERR_IO);
    scoped(world_close) struct world *whole = a_world((struct world_limits){0});
    assert_is_new(whole);
}

static void a_file_that_is_cut_short_before_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    static const struct image_file none[] = {{-1, AT, BYTES + PAGE},
                                             {-1, AT + PAGE, BYTES},
                                             {-1, 0, 0},
                                             {-1, 100, PAGE},
                                             {-1, 0, 100},
                                             {-1, UINT64_MAX - PAGE + 1, PAGE}};
    for (size_t i = 0; i < LENGTH(none); i++) {
        struct image_file f = none[i];
        f.fd = fd;
        e = (struct err){0};
        assert_null(open_file(&f, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
    struct image_file large = {fd, 0, MEMORY + PAGE};
    assert_null(open_file(&large, &e));
}

static void *live_and_end(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        struct world *w = a_world((struct world_limits){.tenant = (uint64_t)i});
        assert_memory_equal(world_memory(w).at, expected, BYTES);
        soil_all(w);
        world_close(w);
    }
    return NULL;
}

static void many_threads_make_clean_worlds(void **state)
{
    (void)state;
    pthread_t t[4];
    for (size_t i = 0; i < LENGTH(t); i++)
        assert_int_equal(pthread_create(&t[i], NULL, live_and_end, NULL), 0);
    for (size_t i = 0; i < LENGTH(t); i++)
        pthread_join(t[i], NULL);
    if (engine_memory_used(g) == ENGINE_MEMORY_SLOTS)
        assert_int_equal(module_count(m).slots, 0); /* none is kept */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define EVERYWHERE                                                                       \
    TEST(a_world_begins_as_the_file_with_zeros_behind),                                  \
        TEST(nothing_that_is_written_stays), TEST(worlds_at_once_do_not_see_each_other), \
        TEST(a_file_that_is_cut_short_before_is_refused),                                \
        TEST(many_threads_make_clean_worlds)

int main(void)
{
    const struct CMUnitTest in_slots[] = {
        EVERYWHERE, TEST(what_was_written_is_counted_until_it_is_discarded),
        TEST(a_file_that_is_cut_short_ends_its_worlds_alone)};
    const struct CMUnitTest in_the_pool[] = {EVERYWHERE};
    const struct CMUnitTest in_small_memories[] = {EVERYWHERE};
    expected = mem_new(BYTES);
    for (size_t p = 0; p < PAGES; p++)
        for (size_t i = 0; page_is_used(p) && i < PAGE; i++)
            expected[p * PAGE + i] = (uint8_t)((p * 31 + i) % 100 + 1);
    int failed = cmocka_run_group_tests(in_slots, open_slots, close_engine);
    failed += cmocka_run_group_tests(in_the_pool, open_pool, close_engine);
    failed += cmocka_run_group_tests(in_small_memories, open_small, close_engine);
    free(expected);
    return failed;
}
