/* Worlds: fresh each time, and stopped by whichever limit is hit first, for good. */
#include <time.h>

#include "engine/fixture_test.h"
#include "engine/internal.h"

static const enum engine_kind kinds[] = {ENGINE_OWN, ENGINE_FOREIGN, ENGINE_METERED};

/* ---- fresh each time ---------------------------------------------------- */

static const char counting[] =
    "(module"
    "  (memory (export \"memory\") 2)"
    "  (table (export \"table\") 3 10 funcref)"
    "  (global $n (export \"n\") (mut i64) (i64.const 5))"
    "  (data (i32.const 100) \"data\")"
    "  (elem declare func $f)"
    "  (func $f)"
    "  (func (export \"count\") (result i32)"
    "    (global.set $n (i64.add (global.get $n) (i64.const 1)))"
    "    (i32.store (i32.const 8) (i32.add (i32.load (i32.const 8)) (i32.const 1)))"
    "    (i32.store (i32.const 100) (i32.const 0))"
    "    (table.set (i32.const 0) (ref.func $f))"
    "    (drop (table.grow (ref.null func) (i32.const 1)))"
    "    (drop (memory.grow (i32.const 1)))"
    "    (i32.load (i32.const 8))))";

static void a_world_is_fresh_each_time(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], counting);
        for (int i = 0; i < 5; i++) {
            scoped(world_close) struct world *w = world_of(m);
            assert_int_equal(world_memory(w).n, 2 * WASM_PAGE);
            assert_memory_equal(world_slice(w, 100, 4), "data", 4);
            assert_int_equal(world_table_size(w, "table"), 3);
            assert_int_equal(world_table_entry(w, "table", 0), 0);
            uint64_t n = 0;
            assert_true(world_get_global(w, "n", &n));
            assert_int_equal(n, 5);
            assert_int_equal(call(w, "count"), 1);
            assert_int_equal(call(w, "count"), 2);
            assert_true(world_get_global(w, "n", &n));
            assert_int_equal(n, 7);
            assert_int_equal(world_memory(w).n, 4 * WASM_PAGE);
            assert_int_equal(world_table_size(w, "table"), 5);
            assert_int_not_equal(world_table_entry(w, "table", 0), 0);
            assert_int_equal(world_table_entry(w, "table", 1), 0);
            assert_int_equal(world_usage(w).memory_peak, 4 * WASM_PAGE);
        }
        assert_int_equal(module_count(m).worlds, 5);
    }
}

static void what_is_not_exported_so_is_not_found(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_FOREIGN, counting);
    scoped(world_close) struct world *w = world_of(m);
    uint64_t cell;
    assert_false(world_get_global(w, "none", &cell));
    assert_false(world_get_global(w, "count", &cell));
    assert_int_equal(world_table_size(w, "memory"), -1);
    assert_int_equal(world_table_entry(w, "none", 0), 0);
    assert_int_equal(world_table_entry(w, "table", 99), 0);
    assert_call_fails(w, "none", ERR_INVALID);
    assert_call_fails(w, "memory", ERR_INVALID);
    assert_call_fails(w, "", ERR_INVALID);
    assert_int_equal(call(w, "count"), 1); /* none of this was held against it */
}

static void globals_of_every_kind_are_read(void **state)
{
    (void)state;
    scoped(module_close) struct module *m =
        module_of(ENGINE_OWN, "(module (global (export \"i\") i32 (i32.const -2))"
                              "(global (export \"I\") (mut i64) (i64.const -3))"
                              "(global (export \"f\") f32 (f32.const 1.5))"
                              "(global (export \"F\") f64 (f64.const -0.25))"
                              "(global (export \"r\") funcref (ref.null func)))");
    scoped(world_close) struct world *w = world_of(m);
    uint64_t cell;
    assert_true(world_get_global(w, "i", &cell));
    assert_int_equal(cell, (uint32_t)-2);
    assert_true(world_get_global(w, "I", &cell));
    assert_int_equal(cell, (uint64_t)-3);
    float f;
    assert_true(world_get_global(w, "f", &cell));
    memcpy(&f, &cell, sizeof f);
    assert_true(f == 1.5f && cell >> 32 == 0);
    double d;
    assert_true(world_get_global(w, "F", &cell));
    memcpy(&d, &cell, sizeof d);
    assert_true(d == -0.25);
    assert_false(world_get_global(w, "r", &cell));
}

/* ---- memory ------------------------------------------------------------- */

static const char growing[] =
    "(module (memory (export \"memory\") 1)"
    "  (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))"
    "  (func (export \"ignore\") (result i32) (drop (memory.grow (i32.const 1000)))"
    "    (i32.const 7))"
    "  (func (export \"go_on\") (drop (memory.grow (i32.const 1000)))"
    "    (loop (i32.store (i32.const 0) (i32.const 1)) (br 0)))"
    "  (func (export \"spin\") (drop (memory.grow (i32.const 1000))) (loop (br 0)))"
    "  (func (export \"fill\") (drop (memory.grow (i32.const 1000))) (loop"
    "    (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br 0))))";

static void memory_over_its_limit_is_latched_whatever_the_guest_does(void **state)
{
    (void)state;
    static const char *const ways[] = {"ignore", "go_on", "spin", "fill"};
    struct world_limits limits = {.memory_bytes = 10 * WASM_PAGE};
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], growing);
        for (size_t i = 0; i < LENGTH(ways); i++) {
            if (kinds[k] == ENGINE_OWN && i >= 2)
                continue; /* our own guests touch their memory, and by themselves */
            scoped(world_close) struct world *w = world_with(m, limits);
            assert_call_fails(w, ways[i], ERR_MEMORY);
            assert_call_fails(w, ways[i], ERR_MEMORY);
            assert_null(world_slice(w, 0, 1));
        }
    }
}

static void memory_grows_to_exactly_its_limit(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], growing);
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.memory_bytes = 10 * WASM_PAGE});
        assert_int_equal(call_with(w, "grow", 0), 1);
        assert_int_equal(call_with(w, "grow", 4), 1);
        assert_int_equal(call_with(w, "grow", 5), 5);
        assert_int_equal(world_usage(w).memory_peak, 10 * WASM_PAGE);
        for (const char *at = world_slice(w, 0, 10 * WASM_PAGE),
                        *end = at + 10 * WASM_PAGE;
             at < end; at++)
            assert_int_equal(*at, 0);
        memset(world_slice(w, 9 * WASM_PAGE, WASM_PAGE), 1, WASM_PAGE);
    }
}

static void growth_beyond_the_modules_own_maximum_is_no_limit_of_ours(void **state)
{
    (void)state;
    scoped(module_close) struct module *m =
        module_of(ENGINE_FOREIGN, "(module (memory (export \"memory\") 1 2)"
                                  "  (func (export \"grow\") (param i32) (result i32)"
                                  "    (memory.grow (local.get 0))))");
    scoped(world_close) struct world *w = world_of(m);
    assert_int_equal((int32_t)call_with(w, "grow", 2), -1);
    assert_int_equal(call_with(w, "grow", 1), 1);
}

static void a_module_that_begins_with_too_much_memory_is_not_begun(void **state)
{
    (void)state;
    struct world_limits limits = {.memory_bytes = 10 * WASM_PAGE};
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *seen =
            module_of(kinds[k], "(module (memory (export \"memory\") 11))");
        assert_open_fails(seen, limits, ERR_MEMORY);
        /* What it does not export counts, too. */
        scoped(module_close) struct module *hidden = module_of(
            kinds[k], "(module (memory 11) (func (export \"f\") (result i32)"
                      "  (i32.store (i32.const 700000) (i32.const 1)) (i32.const 1)))");
        assert_open_fails(hidden, limits, ERR_MEMORY);
        limits.memory_bytes = 11 * WASM_PAGE;
        world_close(world_with(seen, limits));
        world_close(world_with(hidden, limits));
        limits.memory_bytes = 10 * WASM_PAGE;
    }
}

static void tables_do_not_grow_without_end(void **state)
{
    (void)state;
    if (engine_memory_used(g) != ENGINE_MEMORY_POOL) { /* which refuses the module */
        scoped(module_close) struct module *large =
            module_of(ENGINE_FOREIGN, "(module (table 10000000 funcref))");
        assert_open_fails(large, (struct world_limits){0}, ERR_MEMORY);
    }
    scoped(module_close) struct module *m = module_of(
        ENGINE_FOREIGN, "(module (table 1 funcref) (func (export \"grow\") (result i32)"
                        "  (table.grow (ref.null func) (i32.const 100000000))))");
    scoped(world_close) struct world *w = world_of(m);
    assert_int_equal((int32_t)call(w, "grow"), -1);
}

/* ---- computing time ----------------------------------------------------- */

static const char looping[] =
    "(module (memory (export \"memory\") 1)"
    "  (func (export \"touch\") (loop (i32.store (i32.const 0) (i32.const 1)) (br 0)))"
    "  (func (export \"spin\") (loop (br 0)))"
    "  (func (export \"fill\") (loop"
    "    (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536)) (br 0)))"
    "  (func (export \"work\") (local $i i32)"
    "    (loop (i32.store (i32.const 0) (local.get $i))"
    "      (local.set $i (i32.add (local.get $i) (i32.const 1)))"
    "      (br_if 0 (i32.lt_u (local.get $i) (i32.const 100000)))))"
    "  (func (export \"nothing\")))";

static void an_endless_loop_ends_with_its_computing_time(void **state)
{
    (void)state;
    static const char *const loops[] = {"touch", "spin", "fill"};
    struct world_limits limits = {.compute_ns = 20 * MS};
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], looping);
        for (size_t i = 0; i < LENGTH(loops); i++) {
            if (i > 0 && kinds[k] == ENGINE_OWN &&
                engine_memory_used(g) == ENGINE_MEMORY_SLOTS)
                continue;
            scoped(world_close) struct world *w = world_with(m, limits);
            assert_call_fails(w, loops[i], ERR_TIMEOUT);
            assert_true(world_usage(w).compute_ns >= 20 * MS);
            assert_call_fails(w, "nothing", ERR_TIMEOUT);
            assert_null(world_slice(w, 0, 1));
        }
        scoped(world_close) struct world *next = world_with(m, limits);
        call(next, "nothing");
    }
}

static void computing_time_is_that_of_all_calls_together(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], looping);
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.compute_ns = 20 * MS});
        struct err e = {0};
        uint64_t cell = 0;
        while (world_call(w, "work", &cell, 0, &e))
            assert_true(world_usage(w).compute_ns < 60 * MS);
        assert_int_equal(e.code, ERR_TIMEOUT);
        assert_true(world_usage(w).compute_ns >= 20 * MS);
        assert_call_fails(w, "nothing", ERR_TIMEOUT);
    }
}

static bool sleep_a_while(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    (void)e;
    /* What is measured: three times the computing time that the guest has. */
    nanosleep(&(struct timespec){.tv_nsec = 60 * 1000000}, NULL);
    return true;
}

static void waiting_is_not_computing(void **state)
{
    (void)state;
    static const struct engine_import imports[] = {{"t", "sleep", ":", sleep_a_while}};
    scoped(module_close) struct module *m = module_importing(
        ENGINE_OWN,
        "(module (import \"t\" \"sleep\" (func $s))"
        "  (memory (export \"memory\") 1) (func (export \"run\") (call $s)))",
        imports, 1);
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.compute_ns = 40 * MS});
    call(w, "run");
}

/* Says that it slept for 30 ms, which no clock has to see. */
static bool charge(struct world *w, uint64_t *cells, struct err *e)
{
    (void)cells;
    (void)e;
    world_charge(w, 30 * MS);
    return true;
}

static void time_that_the_guest_sleeps_counts_over_all_calls(void **state)
{
    (void)state;
    static const struct engine_import imports[] = {{"t", "charge", ":", charge}};
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_importing(
            kinds[k],
            "(module (import \"t\" \"charge\" (func $c))"
            "  (memory (export \"memory\") 1) (func (export \"run\") (call $c)))",
            imports, 1);
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.compute_ns = 1000 * MS});
        for (int i = 0; i < 30; i++)
            call(w, "run");
        assert_false(world_is_stopped(w));
        assert_true(world_usage(w).compute_ns < 900 * MS);
        for (int i = 0; i < 3; i++)
            call(w, "run");
        assert_call_fails(w, "run", ERR_TIMEOUT);
        assert_true(world_is_stopped(w));
        scoped(world_close) struct world *endless = world_of(m);
        call(endless, "run");
    }
}

static void the_whole_may_only_last_until_a_moment(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], looping);
        struct world_limits limits = {.until_ns = os_mono_ns() + 20 * MS};
        scoped(world_close) struct world *w = world_with(m, limits);
        assert_call_fails(w, "touch", ERR_TIMEOUT);
        assert_true(os_mono_ns() >= limits.until_ns);
        assert_call_fails(w, "nothing", ERR_TIMEOUT);
        assert_open_fails(m, limits, ERR_TIMEOUT); /* past it nothing begins */
        limits.until_ns = os_mono_ns() + 20 * MS;
        scoped(world_close) struct world *idle = world_with(m, limits);
        while (os_mono_ns() < limits.until_ns)
            ;
        assert_call_fails(idle, "nothing", ERR_TIMEOUT);
    }
}

/* ---- fuel and stack ----------------------------------------------------- */

static const char burning[] =
    "(module (memory (export \"memory\") 1) (global $n (export \"n\") (mut i32) (i32.const 0))"
    "  (func (export \"burn\") (loop (global.set $n (i32.add (global.get $n) (i32.const 1)))"
    "    (br 0)))"
    "  (func (export \"some\") (local $i i32) (loop"
    "    (local.set $i (i32.add (local.get $i) (i32.const 1)))"
    "    (br_if 0 (i32.lt_u (local.get $i) (i32.const 1000))))))";

static void fuel_is_used_up_at_the_same_place_each_time(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_METERED, burning);
    uint64_t first = 0, some = 0;
    for (int i = 0; i < 5; i++) {
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.fuel = 50000});
        call(w, "some");
        uint64_t used = world_usage(w).fuel, n = 0;
        assert_in_range(used, 1000, 49999);
        assert_call_fails(w, "burn", ERR_FUEL);
        assert_call_fails(w, "some", ERR_FUEL);
        assert_int_equal(world_usage(w).fuel, 50000);
        assert_true(world_get_global(w, "n", &n) && n > 0);
        assert_true(i == 0 || (n == first && used == some));
        first = n;
        some = used;
    }
    scoped(world_close) struct world *free = world_of(m);
    for (int i = 0; i < 100; i++)
        call(free, "some");
    assert_true(world_usage(free).fuel > 50000);
}

static const char recursing[] = "(module (memory (export \"memory\") 1)"
                                "  (func $r (export \"recurse\") (result i32)"
                                "    (i32.store (i32.const 0) (i32.const 1))"
                                "    (i32.add (call $r) (i32.const 1)))"
                                "  (func (export \"nothing\")))";

static void recursion_without_end_is_a_limit_of_its_own(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], recursing);
        scoped(world_close) struct world *w = world_of(m);
        assert_call_fails(w, "recurse", ERR_STACK);
        assert_call_fails(w, "nothing", ERR_STACK);
    }
}

static void *recurse_on_a_thread(void *arg)
{
    struct world *w = world_of(arg);
    assert_call_fails(w, "recurse", ERR_STACK);
    world_close(w);
    return arg;
}

static void a_thread_of_the_size_that_is_named_can_run_guests(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_OWN, recursing);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, &attr, recurse_on_a_thread, m), 0);
    pthread_attr_destroy(&attr);
    void *answer = NULL;
    pthread_join(thread, &answer);
    assert_ptr_equal(answer, m);
}

static void a_trap_of_the_guests_own_is_no_limit(void **state)
{
    (void)state;
    static const char *const traps[] = {
        "unreachable", "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
        "(drop (i32.load (i32.const 65536)))", "(drop (i32.load (i32.const -1)))",
        "(i64.store offset=4294967288 (i32.const -1) (i64.const 0))"};
    for (size_t k = 0; k < LENGTH(kinds); k++)
        for (size_t i = 0; i < LENGTH(traps); i++) {
            char text[300];
            (void)snprintf(text, sizeof text,
                           "(module (memory (export \"memory\") 1)"
                           "  (func (export \"trap\") %s)"
                           "  (func (export \"nothing\")))",
                           traps[i]);
            scoped(module_close) struct module *m = module_of(kinds[k], text);
            scoped(world_close) struct world *w = world_of(m);
            assert_call_fails(w, "trap", ERR_GUEST);
            call(w, "nothing");
        }
}

/* ---- cancellation ------------------------------------------------------- */

/* What the imports below share with their test. */
static struct {
    struct cancel cancel;
    atomic_bool inside;
    int after;
    bool memory_stayed;
} scene;

static void set_scene(void)
{
    memset(&scene, 0, sizeof scene);
    cancel_init(&scene.cancel);
}

static bool enter(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    (void)e;
    atomic_store(&scene.inside, true);
    return true;
}

static bool cancel_inside(struct world *w, uint64_t *cells, struct err *e)
{
    (void)cells;
    (void)e;
    char *at = world_slice(w, 10, 4);
    cancel_fire(&scene.cancel);
    memcpy(at, "stay", 4); /* would end us, were the memory gone already */
    scene.memory_stayed = !memcmp(at, "stay", 4);
    return true;
}

static bool note_after(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    (void)e;
    scene.after++;
    return true;
}

static const struct engine_import cancelling[] = {{"t", "enter", ":", enter},
                                                  {"t", "cancel", ":", cancel_inside},
                                                  {"t", "after", ":", note_after}};
static const char cancelled[] =
    "(module (import \"t\" \"enter\" (func $enter)) (import \"t\" \"cancel\" (func $cancel))"
    "  (import \"t\" \"after\" (func $after)) (memory (export \"memory\") 1)"
    "  (func (export \"loop\") (call $enter)"
    "    (loop (i32.store (i32.const 0) (i32.const 1)) (br 0)))"
    "  (func (export \"ask\") (call $cancel) (call $after))"
    "  (func (export \"nothing\")))";

static void *fire_when_inside(void *arg)
{
    while (!atomic_load(&scene.inside))
        sched_yield();
    cancel_fire(&scene.cancel);
    return arg;
}

static void another_thread_stops_a_guest_at_once(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        set_scene();
        scoped(module_close) struct module *m =
            module_importing(kinds[k], cancelled, cancelling, LENGTH(cancelling));
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.cancel = &scene.cancel});
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fire_when_inside, NULL), 0);
        assert_call_fails(w, "loop", ERR_CANCELLED);
        assert_call_fails(w, "nothing", ERR_CANCELLED);
        pthread_join(thread, NULL);
    }
}

static void a_call_that_was_cancelled_before_does_not_begin(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        set_scene();
        scoped(module_close) struct module *m =
            module_importing(kinds[k], cancelled, cancelling, LENGTH(cancelling));
        struct world_limits limits = {.cancel = &scene.cancel};
        scoped(world_close) struct world *w = world_with(m, limits);
        call(w, "nothing");
        cancel_fire(&scene.cancel);
        assert_call_fails(w, "loop", ERR_CANCELLED);
        assert_false(scene.inside);
        assert_open_fails(m, limits, ERR_CANCELLED);
    }
}

static void a_stop_during_a_host_function_comes_at_its_return(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        set_scene();
        scoped(module_close) struct module *m =
            module_importing(kinds[k], cancelled, cancelling, LENGTH(cancelling));
        scoped(world_close) struct world *w =
            world_with(m, (struct world_limits){.cancel = &scene.cancel});
        assert_call_fails(w, "ask", ERR_CANCELLED);
        assert_true(scene.memory_stayed);
        assert_int_equal(scene.after, 0);
    }
}

struct shots {
    struct cancel *cancel;
    atomic_int round; /* positive: fire; negative: fired */
};

#define SHOTS 400

static void *fire_at_odd_moments(void *arg)
{
    struct shots *s = arg;
    for (int round = 1; round <= SHOTS; round++) {
        while (atomic_load(&s->round) != round)
            sched_yield();
        for (volatile int wait = 0; wait < round * 37 % 4000; wait++)
            ;
        cancel_fire(s->cancel);
        atomic_store(&s->round, -round);
    }
    return NULL;
}

static void whenever_the_stop_comes_it_is_not_missed(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        struct cancel cancel;
        cancel_init(&cancel);
        struct shots s = {.cancel = &cancel};
        scoped(module_close) struct module *m = module_of(kinds[k], looping);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fire_at_odd_moments, &s), 0);
        for (int round = 1; round <= SHOTS; round++) {
            cancel_init(&cancel);
            atomic_store(&s.round, round);
            struct err e = {0};
            struct world *w =
                world_open(m, &(struct world_limits){.cancel = &cancel}, NULL, &e);
            uint64_t cell = 0;
            if (w && round % 2) { /* ends by itself, perhaps in the same instant */
                if (world_call(w, "nothing", &cell, 0, &e))
                    assert_non_null(world_slice(w, 0, WASM_PAGE));
            }
            if (w && !e.code)
                assert_false(world_call(w, "touch", &cell, 0, &e));
            assert_int_equal(e.code, ERR_CANCELLED);
            world_close(w);
            while (atomic_load(&s.round) != -round)
                sched_yield();
        }
        pthread_join(thread, NULL);
    }
}

/* ---- slices ------------------------------------------------------------- */

static void a_slice_lies_wholly_inside_the_memory(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m = module_of(kinds[k], growing);
        scoped(world_close) struct world *w = world_of(m);
        const uint64_t end = WASM_PAGE;
        assert_non_null(world_slice(w, 0, end));
        assert_non_null(world_slice(w, end - 1, 1));
        assert_non_null(world_slice(w, end, 0));
        assert_null(world_slice(w, end, 1));
        assert_null(world_slice(w, end - 1, 2));
        assert_null(world_slice(w, end + 1, 0));
        assert_null(world_slice(w, 0, end + 1));
        assert_null(world_slice(w, 1, UINT64_MAX));
        assert_null(world_slice(w, UINT64_MAX, 1));
        assert_null(world_slice(w, UINT64_MAX, UINT64_MAX));
        assert_null(world_slice(w, UINT64_MAX - 5, 10));
        assert_ptr_equal(world_slice(w, 100, 1), (const char *)world_memory(w).at + 100);
        call_with(w, "grow", 1);
        assert_non_null(world_slice(w, end, end));
        assert_null(world_slice(w, end, end + 1));
        assert_null(world_slice(w, 2 * end, 1));
    }
}

static void a_guest_without_memory_has_no_slices(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(
        ENGINE_FOREIGN, "(module (func (export \"one\") (result i32) (i32.const 1)))");
    scoped(world_close) struct world *w = world_of(m);
    assert_int_equal(world_memory(w).n, 0);
    assert_null(world_slice(w, 0, 1));
    assert_int_equal(call(w, "one"), 1);
    assert_int_equal(world_usage(w).memory_peak, 0);
}

/* ---- imports and exports ------------------------------------------------ */

static bool mix(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    float f;
    double d;
    memcpy(&f, &cells[2], sizeof f);
    memcpy(&d, &cells[3], sizeof d);
    double sum = (int32_t)cells[0] + (double)(int64_t)cells[1] + (double)f + d;
    memcpy(&cells[0], &sum, sizeof sum);
    return true;
}

static bool fail_so(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    return err_set(e, (enum err_code)cells[0], "as it was told");
}

static bool show_data(struct world *w, uint64_t *cells, struct err *e)
{
    (void)e;
    cells[0] = *(const uint32_t *)world_data(w);
    return true;
}

static const struct engine_import host[] = {{"t", "mix", "iIfF:F", mix},
                                            {"t", "fail", "i:", fail_so},
                                            {"t", "data", ":i", show_data},
                                            {"t", "after", ":", note_after}};
static const char importing[] =
    "(module (import \"t\" \"mix\" (func $mix (param i32 i64 f32 f64) (result f64)))"
    "  (import \"t\" \"fail\" (func $fail (param i32)))"
    "  (import \"t\" \"data\" (func $data (result i32)))"
    "  (import \"t\" \"after\" (func $after)) (memory (export \"memory\") 1)"
    "  (func (export \"mix\") (param i32 i64 f32 f64) (result f64)"
    "    (call $mix (local.get 0) (local.get 1) (local.get 2) (local.get 3)))"
    "  (func (export \"fail\") (param i32) (result i32) (call $fail (local.get 0))"
    "    (call $after) (i32.const 1))"
    "  (func (export \"data\") (result i32) (call $data)))";

static void values_of_every_kind_go_in_and_out(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m =
            module_importing(kinds[k], importing, host, LENGTH(host));
        scoped(world_close) struct world *w = world_of(m);
        uint64_t cells[4] = {(uint32_t)-7, (uint64_t)-100000000000};
        float f = 0.5f;
        double d = 1e12, sum;
        memcpy(&cells[2], &f, sizeof f);
        memcpy(&cells[3], &d, sizeof d);
        struct err e = {0};
        assert_true(world_call(w, "mix", cells, 4, &e));
        memcpy(&sum, &cells[0], sizeof sum);
        assert_true(sum == -7 - 1e11 + 0.5 + 1e12);
    }
}

static void an_import_that_fails_stops_the_guest_with_its_error(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        set_scene();
        scoped(module_close) struct module *m =
            module_importing(kinds[k], importing, host, LENGTH(host));
        scoped(world_close) struct world *w = world_of(m);
        struct err e = {0};
        uint64_t cell = ERR_NOT_FOUND;
        assert_false(world_call(w, "fail", &cell, 1, &e));
        assert_int_equal(e.code, ERR_NOT_FOUND);
        assert_string_equal(e.msg, "as it was told");
        assert_int_equal(scene.after, 0);
    }
}

static void imports_see_what_belongs_to_their_world(void **state)
{
    (void)state;
    scoped(module_close) struct module *m =
        module_importing(ENGINE_OWN, importing, host, LENGTH(host));
    struct err e = {0};
    uint32_t one = 1, two = 2;
    struct world_limits limits = {0};
    scoped(world_close) struct world *a = world_open(m, &limits, &one, &e);
    scoped(world_close) struct world *b = world_open(m, &limits, &two, &e);
    assert_int_equal(call(a, "data"), 1);
    assert_int_equal(call(b, "data"), 2);
    assert_int_equal(call(a, "data"), 1);
}

static void a_start_function_may_call_imports(void **state)
{
    (void)state;
    static const char text[] = "(module (import \"t\" \"after\" (func $after))"
                               "  (memory (export \"memory\") 1) (func $s (call $after))"
                               "  (start $s))";
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        set_scene();
        scoped(module_close) struct module *m =
            module_importing(kinds[k], text, host + 3, 1);
        world_close(world_of(m));
        assert_int_equal(scene.after, 1);
    }
}

static void a_start_function_that_fails_or_never_ends_is_told(void **state)
{
    (void)state;
    scoped(module_close) struct module *import = module_importing(
        ENGINE_FOREIGN,
        "(module (import \"t\" \"fail\" (func $fail (param i32))) (memory 1)"
        "  (func $s (call $fail (i32.const 2))) (start $s))", /* ERR_NOT_FOUND */
        host + 1, 1);
    assert_open_fails(import, (struct world_limits){0}, ERR_NOT_FOUND);
    scoped(module_close) struct module *trap =
        module_of(ENGINE_FOREIGN, "(module (memory 1) (func $s unreachable) (start $s))");
    assert_open_fails(trap, (struct world_limits){0}, ERR_GUEST);
    scoped(module_close) struct module *endless = module_of(
        ENGINE_FOREIGN, "(module (memory 1) (func $s (loop (br 0))) (start $s))");
    assert_open_fails(endless, (struct world_limits){.compute_ns = 20 * MS}, ERR_TIMEOUT);
    scoped(module_close) struct module *data =
        module_of(ENGINE_FOREIGN, "(module (memory 1) (data (i32.const 65535) \"ab\"))");
    assert_open_fails(data, (struct world_limits){0}, ERR_GUEST);
}

static void an_export_is_only_called_as_what_it_is(void **state)
{
    (void)state;
    scoped_buf struct buf text;
    buf_init(&text, 10000);
    buf_cstr(&text, "(module (func (export \"many\") (result");
    for (int i = 0; i < 200; i++)
        buf_cstr(&text, " i64");
    buf_cstr(&text, ")");
    for (int i = 0; i < 200; i++)
        buf_cstr(&text, " (i64.const -1)");
    buf_cstr(&text, ") (func (export \"two\") (param i32 i32))"
                    "(func (export \"reference\") (param externref))"
                    "(func (export \"vector\") (result v128) (v128.const i64x2 5 5)))");
    scoped(module_close) struct module *m = module_of(ENGINE_FOREIGN, buf_cz(&text));
    scoped(world_close) struct world *w = world_of(m);
    assert_call_fails(w, "many", ERR_INVALID);
    assert_call_fails(w, "two", ERR_INVALID);
    assert_call_fails(w, "reference", ERR_INVALID);
    struct err e = {0};
    uint64_t cells[2] = {12345};
    assert_false(world_call(w, "reference", cells, 1, &e));
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(call(w, "vector"), 5);
}

static void the_name_of_an_export_need_not_last(void **state)
{
    (void)state;
    scoped(module_close) struct module *m =
        module_of(ENGINE_OWN, "(module (func (export \"one\") (result i32) (i32.const 1))"
                              "(func (export \"two\") (result i32) (i32.const 2)))");
    scoped(world_close) struct world *w = world_of(m);
    char name[4] = "one";
    assert_int_equal(call(w, name), 1);
    memcpy(name, "two", 4);
    assert_int_equal(call(w, name), 2);
}

/* ---- modules ------------------------------------------------------------ */

static void assert_module_refused(const char *text, enum engine_kind kind)
{
    struct err e = {0};
    struct module *m = try_module(kind, text, host, LENGTH(host), &e);
    if (m)
        fail_msg("accepted: %s", text);
    assert_int_equal(e.code, ERR_INVALID);
    assert_true(e.msg[0] != '\0' && str_is_utf8(str_of(e.msg)));
}

static void modules_that_cannot_be_linked_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(module (import \"t\" \"unknown\" (func)))",
        "(module (import \"other\" \"mix\" (func)))",
        "(module (import \"t\" \"fail\" (func (param i64))))",
        "(module (import \"t\" \"mix\" (global i32)))",
        "(module (import \"t\" \"memory\" (memory 1)))",
        "(module (memory 1) (memory 1))",
        "(module (memory 1 2 shared))",
        "(module (import \"host\" \"thrown\" (tag)) (memory 1))",
        "(module (type (array i8)))",
        "(module (func (param (ref func))))",
    };
    for (size_t k = 0; k < LENGTH(kinds); k++)
        for (size_t i = 0; i < LENGTH(texts); i++)
            assert_module_refused(texts[i], kinds[k]);
}

static void bytes_that_are_no_module_are_refused(void **state)
{
    (void)state;
    scoped_buf struct buf wasm;
    assemble(importing, &wasm);
    for (size_t n = 0; n < wasm.n; n++) {
        struct err e = {0};
        struct module_source s = {
            .wasm = {wasm.at, n}, .imports = host, .import_count = LENGTH(host)};
        struct module *m = module_open(g, ENGINE_FOREIGN, &s, &e);
        if (m) /* ends between two sections: a smaller module */
            module_close(m);
        else
            assert_int_equal(e.code, ERR_INVALID);
    }
    struct err e = {0};
    char junk[1000];
    memset(junk, 0xa5, sizeof junk);
    struct module_source s = {.wasm = {junk, sizeof junk}};
    assert_null(module_open(g, ENGINE_FOREIGN, &s, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void an_image_must_fit_the_memory(void **state)
{
    (void)state;
    static char bytes[3 * 65536];
    static const struct {
        const char *text;
        size_t size;
    } rows[] = {{"(module (memory (export \"memory\") 1))", 4095},
                {"(module (memory (export \"memory\") 1))", 2 * 65536},
                {"(module)", 4096}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err e = {0};
        scoped_buf struct buf wasm;
        assemble(rows[i].text, &wasm);
        struct module_source s = {.wasm = buf_view(&wasm),
                                  .image = {bytes, rows[i].size}};
        assert_null(module_open(g, ENGINE_OWN, &s, &e));
        assert_int_equal(e.code, ERR_INVALID);
    }
}

static const char storing[] =
    "(module (memory (export \"memory\") 3)"
    "  (func (export \"put\") (param i32) (result i32)"
    "    (i32.store8 (local.get 0) (i32.const 77)) (i32.const 0))"
    "  (func (export \"get\") (param i32) (result i32) (i32.load8_u (local.get 0)))"
    "  (func (export \"grow\") (result i32) (memory.grow (i32.const 1))))";

static void worlds_begin_with_the_image(void **state)
{
    (void)state;
    static char image[2 * 65536];
    memset(image + 5000, 'i', 10);
    memset(image + 100000, 'j', 10);
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        scoped(module_close) struct module *m =
            module_with_image(kinds[k], storing, image, sizeof image);
        for (int i = 0; i < 3; i++) {
            scoped(world_close) struct world *w = world_of(m);
            assert_int_equal(world_memory(w).n, 3 * WASM_PAGE);
            assert_memory_equal(world_slice(w, 0, sizeof image), image, sizeof image);
            assert_int_equal(call_with(w, "get", 5009), 'i');
            assert_int_equal(call_with(w, "get", 100009), 'j');
            assert_int_equal(call_with(w, "get", 150000), 0);
            call_with(w, "put", 5009);
            call_with(w, "put", 20);
            call_with(w, "put", 150000);
            assert_int_equal(call_with(w, "get", 5009), 77);
        }
    }
}

/* ---- exceptions --------------------------------------------------------- */

static const enum engine_kind strangers[] = {ENGINE_FOREIGN, ENGINE_METERED};

#define THROWING                                                           \
    "(tag $t (export \"tag\") (param i32 i64 i64 i64 i64 i64 i64))"        \
    "(func $throw (param $n i32)"                                          \
    "  (throw $t (local.get $n) (i64.const 1) (i64.const 2) (i64.const 3)" \
    "    (i64.const 4) (i64.const 5) (i64.const 6)))"                      \
    "(func $catch (param $n i32) (result i32)"                             \
    "  (block $caught (result i32 i64 i64 i64 i64 i64 i64)"                \
    "    (try_table (catch $t $caught) (call $throw (local.get $n)))"      \
    "    (unreachable))"                                                   \
    "  (drop) (drop) (drop) (drop) (drop) (drop))"

static const char throwing[] =
    "(module"
    "  (memory (export \"memory\") 1)"
    "  (data (i32.const 8) \"data\")"
    "  (table $kept 0 exnref)" THROWING
    "  (func (export \"catch\") (param i32) (result i32)"
    "    (call $catch (local.get 0)))"
    "  (func (export \"throw\") (call $throw (i32.const 7)))"
    "  (func (export \"churn\") (result i32)"
    "    (local $i i32) (local $sum i32)"
    "    (loop $again"
    "      (local.set $sum (i32.add (local.get $sum) (call $catch (i32.const 1))))"
    "      (local.set $i (i32.add (local.get $i) (i32.const 1)))"
    "      (br_if $again (i32.lt_u (local.get $i) (i32.const 100000))))"
    "    (local.get $sum))"
    "  (func (export \"keep\")"
    "    (local $e exnref)"
    "    (loop $again"
    "      (block $caught (result exnref)"
    "        (try_table (catch_all_ref $caught) (call $throw (i32.const 1)))"
    "        (unreachable))"
    "      (local.set $e)"
    "      (drop (table.grow $kept (local.get $e) (i32.const 1)))"
    "      (br $again)))"
    "  (func (export \"spin\")"
    "    (loop $again"
    "      (block $caught"
    "        (try_table (catch_all $caught) (loop $for_ever (br $for_ever))))"
    "      (br $again))))";

static void what_strangers_throw_they_can_catch(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(strangers); k++) {
        scoped(module_close) struct module *m = module_of(strangers[k], throwing);
        for (int i = 0; i < 3; i++) {
            scoped(world_close) struct world *w = world_of(m);
            assert_int_equal(call_with(w, "catch", 42), 42);
            assert_memory_equal(world_slice(w, 8, 4), "data", 4);
            assert_int_equal(world_memory(w).n, WASM_PAGE);
            assert_call_fails(w, "throw", ERR_GUEST);
            assert_int_equal(call_with(w, "catch", 43), 43);
        }
    }
}

/* 100,000 exceptions of 64 bytes and more, of which none lives on. */
static void what_was_thrown_is_collected(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_FOREIGN, throwing);
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.memory_bytes = (uint64_t)4 << 20});
    assert_int_equal(call(w, "churn"), 100000);
}

static void no_exception_handler_swallows_a_stop(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_FOREIGN, throwing);
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.compute_ns = 20 * MS});
    assert_call_fails(w, "spin", ERR_TIMEOUT);
}

static void exceptions_that_are_kept_count_as_memory(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_FOREIGN, throwing);
    scoped(world_close) struct world *w =
        world_with(m, (struct world_limits){.memory_bytes = (uint64_t)8 << 20});
    assert_call_fails(w, "keep", ERR_MEMORY);
    assert_in_range(world_usage(w).memory_peak, (uint64_t)2 << 20, (uint64_t)8 << 20);
}

/* The heap of exceptions begins empty too. */
static void a_memory_that_begins_empty_is_told_from_the_heap_of_exceptions(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(
        ENGINE_FOREIGN, "(module (memory (export \"memory\") 0)" THROWING
                        "  (func (export \"grow\") (param i32) (result i32)"
                        "    (drop (memory.grow (i32.const 1)))"
                        "    (i32.store (i32.const 16) (call $catch (local.get 0)))"
                        "    (i32.load (i32.const 16))))");
    for (uint32_t i = 1; i < 4; i++) {
        scoped(world_close) struct world *w = world_of(m);
        assert_int_equal(world_memory(w).n, 0);
        assert_int_equal(call_with(w, "grow", i), i);
        assert_int_equal(world_memory(w).n, WASM_PAGE);
        assert_memory_equal(world_slice(w, 16, 4), &i, 4);
    }
}

static void our_own_guests_know_no_exceptions(void **state)
{
    (void)state;
    struct err e = {0};
    assert_null(try_module(ENGINE_OWN, throwing, NULL, 0, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void a_frozen_world_is_the_beginning_of_others(void **state)
{
    (void)state;
    static char image[3 * 65536];
    image[9] = 9;
    scoped(module_close) struct module *frozen = NULL;
    {
        struct err e = {0};
        scoped(module_close) struct module *m =
            module_with_image(ENGINE_OWN, storing, image, sizeof image);
        scoped(world_close) struct world *w = world_of(m);
        call_with(w, "put", 120000);
        frozen = module_freeze(w, &e);
        assert_non_null(frozen);
        call_with(w, "put", 130000); /* no longer seen */
    } /* the first one ends before the second */
    for (int i = 0; i < 3; i++) {
        scoped(world_close) struct world *w = world_of(frozen);
        assert_int_equal(call_with(w, "get", 9), 9);
        assert_int_equal(call_with(w, "get", 120000), 77);
        assert_int_equal(call_with(w, "get", 130000), 0);
        call_with(w, "put", 130000);
    }
}

static void a_world_that_grew_cannot_be_frozen(void **state)
{
    (void)state;
    scoped(module_close) struct module *m = module_of(ENGINE_OWN, storing);
    scoped(world_close) struct world *w = world_of(m);
    call(w, "grow");
    struct err e = {0};
    assert_null(module_freeze(w, &e));
    assert_int_equal(e.code, ERR_BUG);
}

/* Everywhere. */
#define CORE                                                                         \
    cmocka_unit_test(a_world_is_fresh_each_time),                                    \
        cmocka_unit_test(what_is_not_exported_so_is_not_found),                      \
        cmocka_unit_test(globals_of_every_kind_are_read),                            \
        cmocka_unit_test(memory_grows_to_exactly_its_limit),                         \
        cmocka_unit_test(growth_beyond_the_modules_own_maximum_is_no_limit_of_ours), \
        cmocka_unit_test(a_module_that_begins_with_too_much_memory_is_not_begun),    \
        cmocka_unit_test(tables_do_not_grow_without_end),                            \
        cmocka_unit_test(an_endless_loop_ends_with_its_computing_time),              \
        cmocka_unit_test(computing_time_is_that_of_all_calls_together),              \
        cmocka_unit_test(waiting_is_not_computing),                                  \
        cmocka_unit_test(time_that_the_guest_sleeps_counts_over_all_calls),          \
        cmocka_unit_test(the_whole_may_only_last_until_a_moment),                    \
        cmocka_unit_test(fuel_is_used_up_at_the_same_place_each_time),               \
        cmocka_unit_test(recursion_without_end_is_a_limit_of_its_own),               \
        cmocka_unit_test(a_trap_of_the_guests_own_is_no_limit),                      \
        cmocka_unit_test(another_thread_stops_a_guest_at_once),                      \
        cmocka_unit_test(a_call_that_was_cancelled_before_does_not_begin),           \
        cmocka_unit_test(a_stop_during_a_host_function_comes_at_its_return),         \
        cmocka_unit_test(a_slice_lies_wholly_inside_the_memory),                     \
        cmocka_unit_test(a_guest_without_memory_has_no_slices),                      \
        cmocka_unit_test(values_of_every_kind_go_in_and_out),                        \
        cmocka_unit_test(an_import_that_fails_stops_the_guest_with_its_error),       \
        cmocka_unit_test(a_start_function_may_call_imports),                         \
        cmocka_unit_test(modules_that_cannot_be_linked_are_refused),                 \
        cmocka_unit_test(worlds_begin_with_the_image),                               \
        cmocka_unit_test(what_strangers_throw_they_can_catch),                       \
        cmocka_unit_test(what_was_thrown_is_collected),                              \
        cmocka_unit_test(no_exception_handler_swallows_a_stop),                      \
        cmocka_unit_test(                                                            \
            a_memory_that_begins_empty_is_told_from_the_heap_of_exceptions),         \
        cmocka_unit_test(our_own_guests_know_no_exceptions),                         \
        cmocka_unit_test(a_frozen_world_is_the_beginning_of_others)

int main(void)
{
    const struct CMUnitTest own_slots[] = {
        CORE,
        cmocka_unit_test(memory_over_its_limit_is_latched_whatever_the_guest_does),
        cmocka_unit_test(exceptions_that_are_kept_count_as_memory),
        cmocka_unit_test(a_thread_of_the_size_that_is_named_can_run_guests),
        cmocka_unit_test(whenever_the_stop_comes_it_is_not_missed),
        cmocka_unit_test(imports_see_what_belongs_to_their_world),
        cmocka_unit_test(a_start_function_that_fails_or_never_ends_is_told),
        cmocka_unit_test(an_export_is_only_called_as_what_it_is),
        cmocka_unit_test(the_name_of_an_export_need_not_last),
        cmocka_unit_test(bytes_that_are_no_module_are_refused),
        cmocka_unit_test(an_image_must_fit_the_memory),
        cmocka_unit_test(a_world_that_grew_cannot_be_frozen),
    };
    const struct CMUnitTest wasmtimes_pool[] = {CORE};
    const struct CMUnitTest small_reservations[] = {CORE};
    int failed = cmocka_run_group_tests(own_slots, open_slots, close_engine);
    failed += cmocka_run_group_tests(wasmtimes_pool, open_pool, close_engine);
    failed += cmocka_run_group_tests(small_reservations, open_small, close_engine);
    return failed;
}
