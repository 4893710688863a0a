/* Copies of the memory of worlds: that they have all of it, that they and what goes on do not
 * see each other, and that copies of copies stay right however many there are. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/copies.h"
#include "engine/fixture_test.h"
#include "engine/internal.h"

#define PAGES 4096u /* of the image: 16 MB */
#define BYTES (PAGES * PAGE)
#define MEMORY (512 * WASM_PAGE) /* of the module: 32 MB */

static int fd = -1;
static struct module *m;

static const char text[] =
    "(module (memory (export \"memory\") 512)"
    " (func (export \"get\") (param i32) (result i32) (i32.load (local.get 0))))";

/* Some stretches; the rest is holes, small ones and large ones. */
static bool page_is_used(size_t page)
{
    return page < 4 || (page >= 50 && page < 100) ||
           (page >= 2000 && page % 3 == 0 && page < 2100);
}

static int set_up(void **state)
{
    (void)state;
    struct err e = {0};
    char page[PAGE];
    scoped_buf struct buf wasm;
    fd = memfd_create("test", MFD_CLOEXEC);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0);
    for (size_t p = 0; p < PAGES; p++) {
        memset(page, (int)(p % 250 + 1), PAGE);
        if (page_is_used(p))
            assert_int_equal(pwrite(fd, page, PAGE, (off_t)(p * PAGE)), PAGE);
    }
    assemble(text, &wasm);
    struct module_source s = {.wasm = buf_view(&wasm),
                              .file = &(struct image_file){fd, 0, BYTES}};
    m = module_open(g, ENGINE_OWN, &s, &e);
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

static struct world *a_world(struct memory_copy *c)
{
    struct err e = {0};
    struct world *w = world_open(m, &(struct world_limits){0}, NULL, &e);
    if (!w || (c && !world_show(w, c, &e)))
        fail_msg("%s", e.msg);
    return w;
}

static struct memory_copy *a_copy(struct world *w)
{
    struct err e = {0};
    struct memory_copy *c = world_copy(w, &e);
    if (!c)
        fail_msg("%s", e.msg);
    return c;
}

static void write_page(struct world *w, size_t page, int byte)
{
    memset(world_slice(w, page * PAGE, PAGE), byte, PAGE);
}

static void assert_same(struct world *a, struct world *b)
{
    struct str x = world_memory(a), y = world_memory(b);
    assert_int_equal(x.n, MEMORY);
    assert_int_equal(y.n, MEMORY);
    for (size_t at = 0; at < MEMORY; at += PAGE)
        if (memcmp(x.at + at, y.at + at, PAGE) != 0)
            fail_msg("page %zu differs", at / PAGE);
}

static void assert_page(struct world *w, size_t page, int byte)
{
    const unsigned char *at = world_slice(w, page * PAGE, PAGE);
    for (size_t i = 0; i < PAGE; i++)
        if (at[i] != byte)
            fail_msg("byte %zu of page %zu is %d, not %d", i, page, at[i], byte);
}

/* Over the image, in small holes and in large ones, and behind the image. */
static const size_t places[] = {0, 60, 2000, 2001, 120, 1000, 3000, PAGES - 1, PAGES + 5};

static void soil(struct world *w, int byte)
{
    for (size_t i = 0; i < LENGTH(places); i++)
        write_page(w, places[i], byte + (int)i);
}

static void soil_much(struct world *w, int byte)
{
    for (size_t p = 1100; p < 1900; p++) /* more than what is worth a copy */
        write_page(w, p, byte);
}

static void a_copy_has_all_that_the_world_had(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        scoped(world_close) struct world *w = a_world(NULL);
        soil(w, 10);
        if (much)
            soil_much(w, 99);
        scoped(memory_copy_drop) struct memory_copy *c = a_copy(w);
        scoped(world_close) struct world *other = a_world(c);
        assert_same(w, other);
        assert_page(other, 1000, 10 + 5);
        assert_page(other, 1500, much ? 99 : 0);
        assert_page(other, 55, 56); /* as the image has it */
    }
}

static void neither_sees_what_the_other_writes(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = a_world(NULL);
    soil(w, 10);
    soil_much(w, 99);
    scoped(memory_copy_drop) struct memory_copy *c = a_copy(w);
    scoped(world_close) struct world *a = a_world(c);
    scoped(world_close) struct world *b = a_world(c);
    soil(w, 100);
    soil_much(w, 101);
    soil(a, 150);
    soil_much(a, 151);
    for (size_t p = 3100; p < 3200; p++)
        write_page(p % 2 ? w : a, p, 200);
    for (size_t i = 0; i < LENGTH(places); i++)
        assert_page(b, places[i], 10 + (int)i);
    assert_page(b, 1500, 99);
    assert_page(w, 1500, 101);
    assert_page(a, 1500, 151);
    for (size_t p = 3100; p < 3200; p++) {
        assert_page(b, p, 0);
        assert_page(w, p, p % 2 ? 200 : 0);
    }
    scoped(world_close) struct world *late = a_world(c);
    assert_same(b, late);
}

/* One that is copied again and again, and one of each copy. */
static void copies_of_copies_stay_right(void **state)
{
    (void)state;
    struct world *w = a_world(NULL);
    struct memory_copy *kept[24];
    for (size_t i = 0; i < LENGTH(kept); i++) {
        int byte = (int)i + 1;
        write_page(w, 200 + i, byte);
        write_page(w, 60, byte);
        for (size_t p = 2200 + i * 64; p < 2200 + i * 64 + (i % 3 ? 64 : 8); p++)
            write_page(w, p, byte);
        if (i % 5 == 4)
            soil_much(w, byte);
        kept[i] = a_copy(w);
        if (i % 2) { /* goes on in a world of the copy */
            world_close(w);
            w = a_world(kept[i]);
        }
        assert_page(w, 60, byte);
        assert_page(w, 200, 1);
    }
    for (size_t i = 0; i < LENGTH(kept); i++) {
        scoped(world_close) struct world *old = a_world(kept[i]);
        assert_page(old, 60, (int)i + 1);
        assert_page(old, 200 + i, (int)i + 1);
        assert_page(old, 201 + i, 0);
        assert_page(old, 2200 + i * 64, (int)i + 1);
        assert_page(old, 2200 + (i + 1) * 64, 0);
        assert_page(old, 1500, (int)((i + 1) / 5 * 5));
    }
    assert_page(w, 200, 1);
    world_close(w);
    for (size_t i = 0; i < LENGTH(kept); i++)
        memory_copy_drop(kept[i]);
}

/* Where nothing is copied, and where little is. */
static void each_copy_has_its_own_moment(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        scoped(world_close) struct world *w = a_world(NULL);
        struct memory_copy *kept[6];
        if (much)
            soil_much(w, 99);
        if (much)
            for (size_t p = 2500; p < 3500; p++)
                write_page(w, p, 98);
        for (size_t i = 0; i < LENGTH(kept); i++) {
            soil(w, 10 * (int)i + 1);
            write_page(w, 1500, (int)i + 1);
            kept[i] = a_copy(w);
        }
        for (size_t i = 0; i < LENGTH(kept); i++) {
            scoped(world_close) struct world *old = a_world(kept[i]);
            assert_page(old, 1500, (int)i + 1);
            for (size_t k = 0; k < LENGTH(places); k++)
                assert_page(old, places[k], 10 * (int)i + 1 + (int)k);
            soil(old, 200);
            write_page(old, 1500, 201);
            scoped(memory_copy_drop) struct memory_copy *again = a_copy(old);
            scoped(world_close) struct world *third = a_world(again);
            assert_same(old, third);
            assert_page(third, 1500, 201);
            memory_copy_drop(kept[i]);
        }
    }
}

static void a_copy_in_a_file_is_the_same(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(world_close) struct world *w = a_world(NULL);
    soil(w, 10);
    soil_much(w, 99);
    scoped(memory_copy_drop) struct memory_copy *c = a_copy(w);
    scoped_fd int file = memfd_create("copy", MFD_CLOEXEC);
    size_t count;
    const struct memory_run *runs = memory_copy_runs(c, &count);
    struct memory_run *mine = mem_new((count + 1) * sizeof *mine);
    char page[PAGE];
    uint64_t end = PAGE;
    for (size_t i = 0; i < count; i++) {
        mine[i] = (struct memory_run){runs[i].at, runs[i].bytes, file, end};
        for (uint64_t at = 0; at < runs[i].bytes; at += PAGE, end += PAGE) {
            assert_int_equal(pread(runs[i].fd, page, PAGE, (off_t)(runs[i].file_at + at)),
                             PAGE);
            assert_int_equal(pwrite(file, page, PAGE, (off_t)end), PAGE);
        }
    }
    scoped(memory_copy_drop) struct memory_copy *read =
        memory_copy_of_file(file, mine, count, memory_copy_bytes(c), &e);
    free(mine);
    assert_non_null(read);
    scoped(world_close) struct world *other = a_world(read);
    assert_same(w, other);
    soil_much(other, 7);
    scoped(memory_copy_drop) struct memory_copy *again = a_copy(other);
    scoped(world_close) struct world *third = a_world(again);
    assert_same(other, third);
    assert_page(w, 1500, 99);
}

static void what_is_discarded_is_given_back(void **state)
{
    (void)state;
    scoped(world_close) struct world *w = a_world(NULL);
    uint64_t before, after;
    soil_much(w, 99);
    assert_true(world_touched(w, &before));
    assert_true(before >= 800 * PAGE);
    assert_true(world_discard(w, 1100 * PAGE, 800 * PAGE));
    assert_true(world_touched(w, &after));
    assert_true(after + 800 * PAGE <= before);
    assert_page(w, 1500, 0);
}

/* In equal parts, by those who show it; what is in a file of the disk is nobody's. */
static void what_a_copy_took_over_is_counted(void **state)
{
    (void)state;
    uint64_t before, alone, both, other, again;
    scoped(world_close) struct world *w = a_world(NULL);
    for (size_t p = 1100; p < 1900 + 1024; p++)
        if (!page_is_used(p))
            write_page(w, p, 99);
    assert_true(world_touched(w, &before));
    assert_true(before >= 1600 * PAGE);
    scoped(memory_copy_drop) struct memory_copy *c = a_copy(w);
    assert_true(world_touched(w, &alone));
    assert_true(alone >= before - 16 * PAGE && alone <= before + 256 * PAGE);
    struct world *second = a_world(c);
    assert_true(world_touched(w, &both) && world_touched(second, &other));
    assert_true(both + other >= before - 16 * PAGE &&
                both + other <= before + 256 * PAGE);
    assert_true(other >= before / 2 - 16 * PAGE);
    world_close(second);
    assert_true(world_touched(w, &again));
    assert_int_equal(again, alone);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define EVERYWHERE                                                                     \
    TEST(a_copy_has_all_that_the_world_had), TEST(neither_sees_what_the_other_writes), \
        TEST(copies_of_copies_stay_right), TEST(each_copy_has_its_own_moment),         \
        TEST(a_copy_in_a_file_is_the_same)

int main(void)
{
    const struct CMUnitTest in_slots[] = {EVERYWHERE,
                                          TEST(what_is_discarded_is_given_back),
                                          TEST(what_a_copy_took_over_is_counted)};
    const struct CMUnitTest in_the_pool[] = {EVERYWHERE};
    const struct CMUnitTest in_small_memories[] = {EVERYWHERE};
    int failed = cmocka_run_group_tests(in_slots, open_slots, close_engine);
    failed += cmocka_run_group_tests(in_the_pool, open_pool, close_engine);
    failed += cmocka_run_group_tests(in_small_memories, open_small, close_engine);
    return failed;
}
