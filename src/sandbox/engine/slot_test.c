/* Isolation: no byte that a world leaves in its memory, however it ends, reaches the next
 * one.
 *
 * Includes slot.c, so that each way of finding written pages is tested, also those that
 * this kernel would not choose. */
#include <fcntl.h>

#include "engine/fixture_test.h"
#include "engine/slot.c"

#define IMAGE_PAGES 2048u /* 8 MiB */
#define IMAGE_SIZE (IMAGE_PAGES * PAGE)
#define SECRET 0xa5

/* Zeros, with stretches like those of a real guest: data, a heap, odd pages. */
static uint8_t *image_bytes;

static bool page_is_used(size_t page)
{
    return page < 40 || (page >= 200 && page < 400) || (page > 400 && page % 37 == 0);
}

static void make_image(void)
{
    image_bytes = mem_new(IMAGE_SIZE);
    for (size_t p = 0; p < IMAGE_PAGES; p++)
        for (size_t i = 0; page_is_used(p) && i < PAGE; i++)
            image_bytes[p * PAGE + i] = (uint8_t)((p * 31 + i) % 100);
}

/* ---- slots by themselves ------------------------------------------------ */

#define RESERVED ((size_t)64 << 20)

static struct image *image;

static int open_image(void **state)
{
    (void)state;
    struct err e = {0};
    image = image_new(image_bytes, IMAGE_SIZE, false, &e);
    return image && slot_supported() ? 0 : -1;
}

static int drop_image(void **state)
{
    (void)state;
    image_drop(image);
    return 0;
}

static int open_image_for_scan(void **state)
{
    if (open_image(state) != 0)
        return -1;
    atomic_store(&finder_now, FIND_SCAN);
    return 0;
}

static int open_image_for_bits(void **state)
{
    if (open_image(state) != 0)
        return -1;
    atomic_store(&finder_now, FIND_BITS);
    return 0;
}

static struct slot *take_slot(void)
{
    struct slot *s = slot_take(image, IMAGE_SIZE, RESERVED, 0);
    assert_non_null(s);
    return s;
}

static void assert_is_image(const struct slot *s)
{
    for (size_t at = 0; at < IMAGE_SIZE; at++)
        if (s->base[at] != image_bytes[at])
            fail_msg("byte %zu is %d, not %d", at, s->base[at], image_bytes[at]);
}

static struct module_counts counts_now(void)
{
    struct module_counts c = {0};
    image_count(image, &c);
    return c;
}

static void a_slot_shows_the_image(void **state)
{
    (void)state;
    struct slot *s = take_slot();
    assert_int_equal(s->size, IMAGE_SIZE);
    assert_is_image(s);
    slot_give_back(s);
    uint8_t *copy = mem_new(IMAGE_SIZE);
    struct err e = {0};
    assert_true(image_copy(image, copy, &e));
    assert_memory_equal(copy, image_bytes, IMAGE_SIZE);
    free(copy);
}

/* Restored pages count as written: a slot collects them. */
static struct slot *take_fresh_slot(void)
{
    struct slot *s = take_slot();
    s->spoilt = true;
    slot_give_back(s);
    return take_slot();
}

/* Writes `pages` pages of the slot, `step` pages from each other. */
static void soil(struct slot *s, size_t first, size_t pages, size_t step)
{
    for (size_t k = 0; k < pages; k++)
        memset(s->base + (first + k * step) % IMAGE_PAGES * PAGE, SECRET, PAGE);
}

static void few_written_pages_are_put_back(void **state)
{
    (void)state;
    static const struct {
        size_t first, pages, step;
    } ways[] = {{0, 1, 1},
                {IMAGE_PAGES - 1, 1, 1},
                {38, 4, 1},
                {190, 20, 1},
                {0, 127, 4},
                {390, 30, 1},
                {0, 384, 1},
                {120, 384, 1},
                {5, 0, 1},
                {399, 2, 1},
                {IMAGE_PAGES - 100, 100, 1}};
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct slot *s = take_fresh_slot();
        struct module_counts before = counts_now();
        uint8_t *base = s->base;
        soil(s, ways[i].first, ways[i].pages, ways[i].step);
        slot_give_back(s);
        assert_int_equal(counts_now().resets, before.resets + 1);
        assert_int_equal(counts_now().remaps, before.remaps);
        s = take_slot();
        assert_ptr_equal(s->base, base);
        assert_is_image(s);
        slot_give_back(s);
    }
}

/* Takes the slot that was used before. */
static struct slot *take_again(struct slot *s)
{
    const uint8_t *base = s->base;
    slot_give_back(s);
    s = take_slot();
    assert_ptr_equal(s->base, base);
    assert_is_image(s);
    return s;
}

static void *read_into(void *page)
{
    scoped_fd int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    return read(random, page, PAGE) == PAGE ? page : NULL;
}

/* Written pages: known ones, new ones, or both. */
static void written_pages_are_found_each_time(void **state)
{
    (void)state;
    struct slot *s = take_fresh_slot();
    soil(s, 10, 20, 7);
    s = take_again(s);
    assert_true(s->searched);
    for (size_t round = 0; round < 40; round++) {
        soil(s, 10, 20, 7);
        if (round % 2)
            soil(s, 300 + 3 * round, 1, 1);
        if (round % 3 == 0)
            assert_non_null(read_into(s->base + (100 + round) * PAGE));
        s = take_again(s);
    }
    assert_int_equal(madvise(s->base + 10 * PAGE, PAGE, MADV_DONTNEED), 0);
    s = take_again(s);
    soil(s, 10, 1, 1);
    s = take_again(s);
    slot_give_back(s);
}

#define HUGE_PAGE ((size_t)2 << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static void *make_huge(void *at)
{
    (void)madvise(at, HUGE_PAGE, MADV_COLLAPSE);
    return NULL;
}

/* As khugepaged does: unwritten pages become the slot's own. */
static void pages_that_the_system_makes_large_are_put_back(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t *zeros = mem_new(4 * HUGE_PAGE);
    struct image *empty = image_new(zeros, 4 * HUGE_PAGE, false, &e);
    for (int i = 0; i < 2; i++) {
        struct slot *s = slot_take(empty, 4 * HUGE_PAGE, RESERVED, 0);
        uint8_t *huge = (uint8_t *)(((uintptr_t)s->base + HUGE_PAGE) & ~(HUGE_PAGE - 1));
        huge[PAGE] = SECRET;
        slot_give_back(s);
        s = slot_take(empty, 4 * HUGE_PAGE, RESERVED, 0);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, make_huge, huge), 0);
        pthread_join(thread, NULL);
        s->faults = faults_now(); /* page faults of pthread_create() */
        huge[100 * PAGE] = SECRET;
        slot_give_back(s);
        s = slot_take(empty, 4 * HUGE_PAGE, RESERVED, 0);
        assert_int_equal(huge[100 * PAGE], 0);
        slot_give_back(s);
    }
    image_drop(empty);
    free(zeros);
}

/* Page faults of another thread tell nothing, however many. */
static void *give_back_elsewhere(void *arg)
{
    struct slot *s = arg;
    s->faults = faults_now();
    slot_give_back(s);
    return NULL;
}

static void a_slot_that_another_thread_gives_back_is_searched(void **state)
{
    (void)state;
    struct slot *s = take_fresh_slot();
    soil(s, 10, 20, 7);
    s = take_again(s);
    s->base[250 * PAGE] = SECRET;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, give_back_elsewhere, s), 0);
    pthread_join(thread, NULL);
    s = take_slot();
    assert_is_image(s);
    slot_give_back(s);
}

static void single_bytes_are_put_back(void **state)
{
    (void)state;
    for (size_t at = 0; at < IMAGE_SIZE; at += 23 * PAGE + 1) {
        struct slot *s = take_slot();
        s->base[at] ^= 0xff;
        slot_give_back(s);
        s = take_slot();
        assert_is_image(s);
        slot_give_back(s);
    }
}

static void pages_that_were_only_read_do_not_matter(void **state)
{
    (void)state;
    struct slot *s = take_slot();
    volatile uint8_t sum = 0;
    for (size_t at = 0; at < IMAGE_SIZE; at += PAGE)
        sum = (uint8_t)(sum + s->base[at]);
    s->base[50 * PAGE] = SECRET; /* between reads of zeros */
    s->base[250 * PAGE] = SECRET;
    slot_give_back(s);
    s = take_slot();
    assert_is_image(s);
    slot_give_back(s);
}

static void what_the_kernel_writes_is_put_back(void **state)
{
    (void)state;
    struct slot *s = take_slot();
    scoped_fd int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(random, s->base + 100 * PAGE, 3 * PAGE), 3 * PAGE);
    assert_int_equal(read(random, s->base + 210 * PAGE, 10), 10);
    slot_give_back(s);
    s = take_slot();
    assert_is_image(s);
    slot_give_back(s);
}

static void many_written_pages_are_mapped_afresh(void **state)
{
    (void)state;
    static const struct {
        size_t first, pages, step;
    } ways[] = {
        {0, RESET_PAGES_MAX + 1, 1}, {0, IMAGE_PAGES, 1}, {0, REGIONS_MAX + 10, 3}};
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct slot *s = take_fresh_slot();
        struct module_counts before = counts_now();
        soil(s, ways[i].first, ways[i].pages, ways[i].step);
        slot_give_back(s);
        assert_int_equal(counts_now().remaps, before.remaps + 1);
        s = take_slot();
        assert_is_image(s);
        slot_give_back(s);
    }
}

static void what_grew_is_mapped_afresh(void **state)
{
    (void)state;
    struct module_counts before = counts_now();
    struct slot *s = take_slot();
    assert_true(slot_grow(s, IMAGE_SIZE + 200 * PAGE));
    memset(s->base + IMAGE_SIZE, SECRET, 200 * PAGE);
    soil(s, 0, 10, 1);
    assert_false(slot_grow(s, RESERVED + PAGE));
    slot_give_back(s);
    assert_int_equal(counts_now().remaps, before.remaps + 1);
    s = take_slot();
    assert_int_equal(s->size, IMAGE_SIZE);
    assert_is_image(s);
    assert_true(slot_grow(s, IMAGE_SIZE + 300 * PAGE));
    for (size_t at = IMAGE_SIZE; at < IMAGE_SIZE + 300 * PAGE; at++)
        assert_int_equal(s->base[at], 0);
    slot_give_back(s);
}

static void what_was_taken_away_is_mapped_afresh(void **state)
{
    (void)state;
    struct slot *s = take_slot();
    soil(s, 0, 3, 1);
    slot_forbid(s);
    s->spoilt = true;
    slot_give_back(s);
    s = take_slot();
    assert_is_image(s);
    soil(s, 0, IMAGE_PAGES, 1); /* and may be written */
    slot_give_back(s);
}

static void another_tenants_slot_is_mapped_afresh(void **state)
{
    (void)state;
    struct slot *s = slot_take(image, IMAGE_SIZE, RESERVED, 1);
    uint8_t *base = s->base;
    soil(s, 0, 5, 1);
    slot_give_back(s);
    /* The state that a failed reset would leave. */
    base[3 * PAGE] = SECRET;
    base[100 * PAGE] = SECRET;
    s = slot_take(image, IMAGE_SIZE, RESERVED, 2);
    assert_ptr_equal(s->base, base);
    assert_is_image(s);
    slot_give_back(s);
}

static void memory_beyond_the_image_begins_as_zeros(void **state)
{
    (void)state;
    size_t size = IMAGE_SIZE + 32 * PAGE;
    for (int i = 0; i < 3; i++) {
        struct slot *s = slot_take(image, size, RESERVED, 0);
        assert_int_equal(s->size, size);
        assert_is_image(s);
        for (size_t at = IMAGE_SIZE; at < size; at++)
            assert_int_equal(s->base[at], 0);
        memset(s->base, SECRET, size);
        slot_give_back(s);
    }
}

static void only_so_many_free_slots_are_kept(void **state)
{
    (void)state;
    struct slot *all[FREE_SLOTS_MAX + 10];
    for (size_t i = 0; i < LENGTH(all); i++) {
        all[i] = take_slot();
        soil(all[i], i, 1, 1);
    }
    assert_true(counts_now().slots >= LENGTH(all));
    for (size_t i = 0; i < LENGTH(all); i++)
        slot_give_back(all[i]);
    assert_int_equal(counts_now().slots, FREE_SLOTS_MAX);
}

static void a_slot_in_use_keeps_its_image(void **state)
{
    (void)state;
    struct err e = {0};
    struct image *other = image_new(image_bytes, IMAGE_SIZE, false, &e);
    struct slot *s = slot_take(other, IMAGE_SIZE, RESERVED, 0);
    image_drop(other);
    assert_is_image(s);
    soil(s, 0, 3, 1);
    slot_give_back(s); /* the last use: the sanitizer sees what would be left */
}

/* ---- worlds ------------------------------------------------------------- */

/* fill writes the secret over all memory, or over every `step`th page. */
static const char soiling[] =
    "(module (import \"t\" \"fail\" (func $fail)) (import \"t\" \"enter\" (func $enter))"
    "  (memory (export \"memory\") 128)"
    "  (func $fill (param $step i32) (local $p i32) (local $i i32)"
    "    (loop $pages"
    "      (local.set $i (i32.const 0))"
    "      (loop $bytes"
    "        (i64.store (i32.add (local.get $p) (local.get $i))"
    "          (i64.const 0xa5a5a5a5a5a5a5a5))"
    "        (local.set $i (i32.add (local.get $i) (i32.const 8)))"
    "        (br_if $bytes (i32.lt_u (local.get $i) (i32.const 4096))))"
    "      (local.set $p (i32.add (local.get $p) (i32.mul (local.get $step) "
    "        (i32.const 4096))))"
    "      (br_if $pages (i32.lt_u (local.get $p)"
    "        (i32.shl (memory.size) (i32.const 16))))))"
    "  (func $recurse (result i32) (i32.add (call $recurse) (i32.const 1)))"
    "  (func $loop (loop (i32.store (i32.const 0) (i32.const 0xa5a5a5a5)) (br 0)))"
    "  (func $grow (param i32) (drop (memory.grow (local.get 0))))"
    "  (func (export \"all\") (call $fill (i32.const 1)))"
    "  (func (export \"some\") (call $fill (i32.const 9)))"
    "  (func (export \"few\") (call $fill (i32.const 301)))"
    "  (func (export \"grown\") (call $grow (i32.const 3)) (call $fill (i32.const 1)))"
    "  (func (export \"trap\") (call $fill (i32.const 1)) (unreachable))"
    "  (func (export \"small_trap\") (call $fill (i32.const 301)) (unreachable))"
    "  (func (export \"host_fails\") (call $fill (i32.const 301)) (call $fail))"
    "  (func (export \"overflow\") (call $fill (i32.const 301)) (drop (call $recurse)))"
    "  (func (export \"forever\") (call $fill (i32.const 301)) (call $enter)"
    "    (call $loop))"
    "  (func (export \"too_much\") (call $grow (i32.const 3)) (call $fill (i32.const 1))"
    "    (call $grow (i32.const 10000)) (call $loop))"
    "  (func (export \"refused\") (call $fill (i32.const 301))"
    "    (call $grow (i32.const 10000)))"
    "  (func (export \"grow\") (call $grow (i32.const 3))))";

static bool fail_now(struct world *w, uint64_t *cells, struct err *e)
{
    (void)cells;
    char *at = world_slice(w, 12 * PAGE, PAGE);
    memset(at, SECRET, PAGE); /* host functions' writes count as well */
    return err_set(e, ERR_IO, "as it was told");
}

static atomic_bool inside;

static bool enter(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    (void)e;
    atomic_store(&inside, true);
    return true;
}

static const struct engine_import imports[] = {{"t", "fail", ":", fail_now},
                                               {"t", "enter", ":", enter}};

struct end {
    const char *export;
    enum err_code code; /* ERR_NONE: it returns */
    bool cancel;
};

static const struct end ends[] = {
    {"all", ERR_NONE, false},        {"some", ERR_NONE, false},
    {"few", ERR_NONE, false},        {"grown", ERR_NONE, false},
    {"trap", ERR_GUEST, false},      {"small_trap", ERR_GUEST, false},
    {"host_fails", ERR_IO, false},   {"overflow", ERR_STACK, false},
    {"forever", ERR_TIMEOUT, false}, {"forever", ERR_CANCELLED, true},
    {"too_much", ERR_MEMORY, false}, {"refused", ERR_MEMORY, false},
};

static void *fire_when_inside(void *cancel)
{
    while (!atomic_load(&inside))
        sched_yield();
    cancel_fire(cancel);
    return NULL;
}

static void live_and_end(struct module *m, const struct end *end, uint64_t tenant)
{
    struct cancel cancel;
    cancel_init(&cancel);
    atomic_store(&inside, false);
    struct world_limits limits = {.memory_bytes = IMAGE_SIZE + 3 * WASM_PAGE,
                                  .tenant = tenant};
    if (end->cancel)
        limits.cancel = &cancel;
    else if (end->code == ERR_TIMEOUT)
        limits.compute_ns = 20 * MS;
    struct world *w = world_with(m, limits);
    pthread_t thread;
    if (end->cancel)
        assert_int_equal(pthread_create(&thread, NULL, fire_when_inside, &cancel), 0);
    if (!end->code)
        call(w, end->export);
    else
        assert_call_fails(w, end->export, end->code);
    world_close(w);
    if (end->cancel)
        pthread_join(thread, NULL);
}

/* A new world's memory is the image, and zeros behind it, also where it grows. */
static void assert_next_is_clean(struct module *m, uint64_t tenant)
{
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.tenant = tenant});
    struct str memory = world_memory(w);
    assert_int_equal(memory.n, IMAGE_SIZE);
    if (memcmp(memory.at, image_bytes, IMAGE_SIZE) != 0)
        fail_msg("memory is not what it should begin with");
    call(w, "grow");
    memory = world_memory(w);
    assert_int_equal(memory.n, IMAGE_SIZE + 3 * WASM_PAGE);
    for (size_t at = IMAGE_SIZE; at < memory.n; at++)
        assert_int_equal(memory.at[at], 0);
}

static struct module *soiling_module(enum engine_kind kind)
{
    struct err e = {0};
    scoped_buf struct buf wasm;
    assemble(soiling, &wasm);
    struct module_source s = {.wasm = buf_view(&wasm),
                              .image = {(char *)image_bytes, IMAGE_SIZE},
                              .imports = imports,
                              .import_count = LENGTH(imports)};
    struct module *m = module_open(g, kind, &s, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

static bool possible_here(const struct end *end)
{
    /* In wasmtime's own memory a refused growth is reported to the guest. */
    return end->code != ERR_MEMORY || engine_memory_used(g) == ENGINE_MEMORY_SLOTS;
}

static void nothing_of_a_world_is_left_however_it_ends(void **state)
{
    (void)state;
    static const enum engine_kind kinds[] = {ENGINE_OWN, ENGINE_FOREIGN, ENGINE_METERED};
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = soiling_module(kinds[k]);
        for (size_t i = 0; i < LENGTH(ends); i++) {
            if (!possible_here(&ends[i]))
                continue;
            live_and_end(m, &ends[i], 0);
            assert_next_is_clean(m, 0);
            assert_next_is_clean(m, 0);
        }
    }
}

static void nothing_passes_between_tenants(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = soiling_module(ENGINE_OWN);
    for (size_t i = 0; i < LENGTH(ends); i++) {
        if (!possible_here(&ends[i]))
            continue;
        live_and_end(m, &ends[i], 7);
        assert_next_is_clean(m, 8);
        assert_next_is_clean(m, 7);
    }
}

static void a_world_that_was_never_called_leaves_nothing(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = soiling_module(ENGINE_OWN);
    struct world *w = world_of(m);
    memset(world_slice(w, 5 * PAGE, 7 * PAGE), SECRET, 7 * PAGE);
    world_close(w);
    assert_next_is_clean(m, 0);
}

static void modules_do_not_share_memory(void **state)
{
    (void)state;
    scoped(module_close) struct module *plain =
        module_of(ENGINE_FOREIGN, "(module (memory (export \"memory\") 128))");
    scoped(module_close) struct module *m = soiling_module(ENGINE_FOREIGN);
    for (int i = 0; i < 3; i++) {
        live_and_end(m, &ends[0], 0);
        scoped(world_close) struct world *w = world_of(plain);
        struct str memory = world_memory(w);
        for (size_t at = 0; at < memory.n; at++)
            assert_int_equal(memory.at[at], 0);
        memset((char *)(uintptr_t)memory.at, SECRET, memory.n);
    }
}

static void usual_ends_are_put_back_and_others_mapped_afresh(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = soiling_module(ENGINE_OWN);
    uint64_t resets = 0, remaps = 0;
    for (size_t i = 0; i < LENGTH(ends); i++) {
        bool is_few = !strcmp(ends[i].export, "few") || !strcmp(ends[i].export, "some");
        live_and_end(m, &ends[i], 0);
        resets += is_few;
        remaps += !is_few;
        struct module_counts c = module_count(m);
        if (c.resets != resets || c.remaps != remaps)
            fail_msg("%s: %d resets, %d remaps", ends[i].export, (int)c.resets,
                     (int)c.remaps);
        assert_int_equal(c.verified, g->options.verify_resets ? resets : 0);
        assert_int_equal(c.slots, 1);
    }
}

#define CROWD 4
static size_t lives; /* of each of them */

struct crowd {
    struct module *m;
    uint64_t tenant;
    unsigned seed;
    size_t lives;
};

/* Checks, soils and ends worlds, in all ways. */
static void *live_many_times(void *arg)
{
    struct crowd *c = arg;
    for (; c->lives < lives; c->lives++) {
        struct world_limits limits = {.tenant = c->tenant,
                                      .memory_bytes = IMAGE_SIZE + 3 * WASM_PAGE};
        struct err e = {0};
        struct world *w = world_open(c->m, &limits, NULL, &e);
        if (!w || memcmp(world_memory(w).at, image_bytes, IMAGE_SIZE) != 0) {
            fprintf(stderr, "world %zu: %s\n", c->lives, w ? "not clean" : e.msg);
            world_close(w);
            break;
        }
        static const char *const ways[] = {"few", "some",  "few", "small_trap",
                                           "few", "grown", "few", "host_fails",
                                           "few", "all"};
        uint64_t cell = 0;
        (void)world_call(w, ways[(size_t)rand_r(&c->seed) % LENGTH(ways)], &cell, 0, &e);
        world_close(w);
    }
    return NULL;
}

static void many_threads_make_clean_worlds_at_once(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = soiling_module(ENGINE_OWN);
    struct crowd crowd[CROWD];
    pthread_t threads[CROWD];
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (struct crowd){.m = m, .tenant = i % 2, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, live_many_times, &crowd[i]),
                         0);
    }
    for (size_t i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(crowd[i].lives, lives);
    struct module_counts c = module_count(m);
    assert_int_equal(c.worlds, CROWD * lives);
    if (engine_memory_used(g) == ENGINE_MEMORY_SLOTS) {
        assert_int_equal(c.resets + c.remaps, CROWD * lives);
        /* One is made for each that is out of use while it is compared. */
        assert_in_range(c.slots, 1, CROWD + CROWD * lives / VERIFY_EVERY);
    }
}

/* ---- compared by another thread ----------------------------------------- */

/* Looks at no more than it writes: by the older interface all pages that are read look
 * written. */
static void soil_one_by_one(struct image *i, unsigned times)
{
    for (; times > 0; times--) {
        struct slot *s = slot_take(i, IMAGE_SIZE, RESERVED, 0);
        assert_memory_equal(s->base, image_bytes, 3 * PAGE);
        soil(s, 0, 3, 1);
        slot_give_back(s);
    }
}

static void one_reset_in_many_is_compared_and_its_slot_used_again(void **state)
{
    (void)state;
    struct err e = {0};
    struct module_counts c = {0};
    struct image *seldom = image_new(image_bytes, IMAGE_SIZE, false, &e);
    struct verifier *v = verifier_new();
    image_set_verifier(seldom, v);
    soil_one_by_one(seldom, 2 * VERIFY_EVERY);
    verifier_free(v);
    image_set_verifier(seldom, NULL);
    image_count(seldom, &c);
    assert_int_equal(c.verified, 2);
    assert_int_equal(c.resets, 2 * VERIFY_EVERY);
    assert_int_equal(c.remaps, 0);
    assert_in_range(c.slots, 1, 3);
    struct slot *all[3];
    for (size_t i = 0; i < c.slots; i++) {
        all[i] = slot_take(seldom, IMAGE_SIZE, RESERVED, 0);
        assert_is_image(all[i]);
    }
    for (size_t i = 0; i < c.slots; i++)
        slot_give_back(all[i]);
    image_drop(seldom);
}

/* ---- when the kernel's answer is wrong ---------------------------------- */

/* A page of a shared file, mapped over the slot, does not look written. */
static void give_back_a_page_that_is_not_found(struct image *i)
{
    struct slot *s = slot_take(i, IMAGE_SIZE, RESERVED, 0);
    scoped_fd int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, PAGE), 0);
    assert_ptr_equal(
        mmap(s->base, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
        s->base);
    memset(s->base, SECRET, PAGE);
    slot_give_back(s); /* logs to stderr */
}

static void a_reset_that_fails_is_noticed_by_another_thread(void **state)
{
    (void)state;
    struct err e = {0};
    struct module_counts c = {0};
    struct image *seldom = image_new(image_bytes, IMAGE_SIZE, false, &e);
    struct verifier *v = verifier_new();
    image_set_verifier(seldom, v);
    int finder = atomic_load(&finder_now);
    soil_one_by_one(seldom, VERIFY_EVERY - 1);
    give_back_a_page_that_is_not_found(seldom);
    verifier_free(v);
    image_count(seldom, &c);
    assert_int_equal(c.verified, 1);
    assert_int_equal(c.resets, VERIFY_EVERY - 1);
    assert_int_equal(c.remaps, 1);
    assert_false(slot_supported());
    soil_one_by_one(seldom, 3);
    image_drop(seldom);
    atomic_store(&finder_now, finder);
}

static void a_reset_that_fails_is_noticed_and_the_last_one(void **state)
{
    (void)state;
    struct err e = {0};
    struct image *checked = image_new(image_bytes, IMAGE_SIZE, true, &e);
    struct slot *s;
    give_back_a_page_that_is_not_found(checked);
    struct module_counts c = {0};
    image_count(checked, &c);
    assert_int_equal(c.resets, 0);
    assert_int_equal(c.remaps, 1);
    for (int i = 0; i < 3; i++) {
        s = slot_take(checked, IMAGE_SIZE, RESERVED, 0);
        assert_is_image(s);
        soil(s, 0, 3, 1);
        slot_give_back(s);
    }
    image_count(checked, &c);
    assert_int_equal(c.resets, 0);
    assert_int_equal(c.remaps, 4);
    image_drop(checked);
    assert_false(slot_supported());
}

static int open_plain_scan(void **state)
{
    lives = 500;
    int failed = open_slots(state);
    g->options.verify_resets = false;
    atomic_store(&finder_now, FIND_SCAN);
    return failed;
}

static int open_plain_bits(void **state)
{
    lives = 100;
    int failed = open_slots(state);
    g->options.verify_resets = false;
    atomic_store(&finder_now, FIND_BITS);
    return failed;
}

#define SLOTS                                                                \
    cmocka_unit_test(a_slot_shows_the_image),                                \
        cmocka_unit_test(few_written_pages_are_put_back),                    \
        cmocka_unit_test(written_pages_are_found_each_time),                 \
        cmocka_unit_test(pages_that_the_system_makes_large_are_put_back),    \
        cmocka_unit_test(a_slot_that_another_thread_gives_back_is_searched), \
        cmocka_unit_test(single_bytes_are_put_back),                         \
        cmocka_unit_test(pages_that_were_only_read_do_not_matter),           \
        cmocka_unit_test(what_the_kernel_writes_is_put_back),                \
        cmocka_unit_test(many_written_pages_are_mapped_afresh),              \
        cmocka_unit_test(what_grew_is_mapped_afresh),                        \
        cmocka_unit_test(what_was_taken_away_is_mapped_afresh),              \
        cmocka_unit_test(another_tenants_slot_is_mapped_afresh),             \
        cmocka_unit_test(memory_beyond_the_image_begins_as_zeros),           \
        cmocka_unit_test(only_so_many_free_slots_are_kept),                  \
        cmocka_unit_test(a_slot_in_use_keeps_its_image),                     \
        cmocka_unit_test(one_reset_in_many_is_compared_and_its_slot_used_again)
#define WORLDS                                                          \
    cmocka_unit_test(nothing_of_a_world_is_left_however_it_ends),       \
        cmocka_unit_test(nothing_passes_between_tenants),               \
        cmocka_unit_test(a_world_that_was_never_called_leaves_nothing), \
        cmocka_unit_test(modules_do_not_share_memory),                  \
        cmocka_unit_test(many_threads_make_clean_worlds_at_once)

int main(void)
{
    const struct CMUnitTest slots_by_scan[] = {SLOTS};
    const struct CMUnitTest slots_by_bits[] = {SLOTS};
    const struct CMUnitTest worlds_verified[] = {
        WORLDS, cmocka_unit_test(usual_ends_are_put_back_and_others_mapped_afresh)};
    const struct CMUnitTest worlds_by_scan[] = {
        WORLDS, cmocka_unit_test(usual_ends_are_put_back_and_others_mapped_afresh)};
    const struct CMUnitTest worlds_by_bits[] = {WORLDS};
    const struct CMUnitTest worlds_in_the_pool[] = {WORLDS};
    const struct CMUnitTest worlds_in_small_memories[] = {WORLDS};
    const struct CMUnitTest last[] = {
        cmocka_unit_test(a_reset_that_fails_is_noticed_by_another_thread),
        cmocka_unit_test(a_reset_that_fails_is_noticed_and_the_last_one)};
    make_image();
    lives = 100;
    (void)slot_supported(); /* chooses, before it is chosen for it */
    bool can_scan = atomic_load(&finder_now) == FIND_SCAN;
    int failed = 0;
    if (can_scan) {
        failed += cmocka_run_group_tests(slots_by_scan, open_image_for_scan, drop_image);
        failed += cmocka_run_group_tests(worlds_by_scan, open_plain_scan, close_engine);
    }
    failed += cmocka_run_group_tests(slots_by_bits, open_image_for_bits, drop_image);
    failed += cmocka_run_group_tests(worlds_by_bits, open_plain_bits, close_engine);
    failed += cmocka_run_group_tests(worlds_verified, open_slots, close_engine);
    failed += cmocka_run_group_tests(worlds_in_the_pool, open_pool, close_engine);
    failed += cmocka_run_group_tests(worlds_in_small_memories, open_small, close_engine);
    failed += cmocka_run_group_tests(last, NULL, NULL);
    free(image_bytes);
    return failed;
}
