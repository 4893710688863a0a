/* Baked guests, what is prepared from them, and modules that are closed when unused. */
#include "engine/fixture_test.h"
#include "engine/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/home_test.h"
#include "crypto/crypto.h"

#define SIZE (2 * WASM_PAGE)

static const char text_of_guest[] =
    "(module (memory (export \"memory\") 2 100)"
    " (func (export \"byte\") (param i32) (result i32) (i32.load8_u (local.get 0)))"
    " (func (export \"put\") (param i32) (result i32)"
    "  (i32.store8 (i32.const 9000) (local.get 0)) (i32.const 0)))";

static char folder[HOME_SIZE], ahead[80];
static int prepared; /* number of first worlds prepared */

static void write_part(const char *ending, const void *at, size_t n)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/guest%s", folder, ending);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0 && write(fd, at, n) == (ssize_t)n);
    close(fd);
}

/* As the bake does; byte 100 of its memory is `mark`. */
static void write_guest(char mark, bool with_id)
{
    static char image[SIZE];
    char id[2][CRYPTO_HASH_HEX], lines[2 * CRYPTO_HASH_HEX + 1];
    scoped_buf struct buf wasm;
    assemble(text_of_guest, &wasm);
    image[100] = mark;
    crypto_hash_hex(buf_view(&wasm), id[0]);
    crypto_hash_hex((struct str){image, sizeof image}, id[1]);
    (void)snprintf(lines, sizeof lines, "%s\n%s\n", id[0], id[1]);
    write_part(".bare.wasm", wasm.at, wasm.n);
    write_part(".img", image, sizeof image);
    write_part(".id", lines, with_id ? strlen(lines) : 0);
}

static int begin(void **state)
{
    (void)state;
    assert_true(folder_make(folder));
    (void)snprintf(ahead, sizeof ahead, "%s/ahead", folder);
    struct err e = {0};
    int fd = os_dir_make(ahead, 0755, &e);
    assert_true(fd >= 0);
    close(fd);
    write_guest('a', true);
    prepared = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    engine_close(g);
    g = NULL;
    return folder_remove(folder);
}

static void open_with(bool make_ready, uint64_t idle_ms)
{
    struct err e = {0};
    struct engine_options o = {.no_cache = true,
                               .verify_resets = true,
                               .ahead = ahead,
                               .make_ready = make_ready,
                               .idle_ms = idle_ms};
    engine_close(g);
    g = engine_open(&o, &e);
    assert_non_null(g);
}

static bool prepare(struct world *w, void *arg, uint64_t *notes, struct err *e)
{
    const struct str *text = arg;
    uint64_t cell = (unsigned char)text->at[0];
    prepared++;
    notes[1] = 1000 + cell;
    return world_call(w, "put", &cell, 1, e);
}

static struct module *open_told(const char *told, uint64_t *notes)
{
    struct err e = {0};
    struct str text = str_of(told);
    struct baked_first first = {.text = text, .prepare = prepare, .arg = &text};
    struct baked_guest baked = {.dir = folder, .name = "guest", .first = &first};
    struct module *m = module_open_baked(g, ENGINE_OWN, &baked, notes, &e);
    if (!m)
        fail_msg("%s", e.msg);
    return m;
}

/* Expects in worlds of the guest: its own mark, the request `told`, the note. */
static void assert_finds(const char *told, char mark)
{
    uint64_t notes[BAKED_NOTES] = {0};
    scoped(module_close) struct module *m = open_told(told, notes);
    assert_int_equal(notes[1], 1000 + told[0]);
    for (int i = 0; i < 3; i++) {
        scoped(world_close) struct world *w = world_of(m);
        assert_int_equal(call_with(w, "byte", 100), mark);
        assert_int_equal(call_with(w, "byte", 9000), told[0]);
        (void)call_with(w, "put", '!');
    }
}

static void what_the_build_made_ready_is_not_made_again(void **state)
{
    (void)state;
    open_with(true, 0);
    assert_finds("x", 'a');
    assert_int_equal(prepared, 1);
    open_with(false, 0);
    assert_finds("x", 'a');
    assert_int_equal(prepared, 1);
}

static void another_text_or_another_guest_is_told_anew(void **state)
{
    (void)state;
    open_with(true, 0);
    assert_finds("x", 'a');
    open_with(false, 0);
    assert_finds("y", 'a');
    assert_int_equal(prepared, 2);
    write_guest('b', true);
    assert_finds("x", 'b');
    assert_int_equal(prepared, 3);
}

static void a_guest_whose_hash_is_not_known_is_told_at_each_start(void **state)
{
    (void)state;
    write_guest('a', false);
    open_with(true, 0);
    assert_finds("x", 'a');
    open_with(false, 0);
    assert_finds("x", 'a');
    assert_int_equal(prepared, 2);
}

static void worlds_of_a_mapped_image_can_be_saved_and_frozen(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t notes[BAKED_NOTES];
    open_with(false, 0);
    struct baked_guest baked = {.dir = folder, .name = "guest"};
    scoped(module_close) struct module *m =
        module_open_baked(g, ENGINE_OWN, &baked, notes, &e);
    assert_non_null(m);
    scoped_buf struct buf saved;
    buf_init(&saved, SIZE);
    struct world *w = world_of(m);
    (void)call_with(w, "put", 's');
    assert_true(world_save(w, &saved, &e));
    scoped(module_close) struct module *frozen = module_freeze(w, &e);
    world_close(w);
    assert_non_null(frozen);
    w = world_of(frozen);
    assert_int_equal(call_with(w, "byte", 9000), 's');
    world_close(w);
    w = world_of(m);
    assert_int_equal(call_with(w, "byte", 9000), 0);
    assert_true(world_restore(w, buf_view(&saved), &e));
    assert_int_equal(call_with(w, "byte", 9000), 's');
    world_close(w);
}

static void a_guest_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    struct err e = {0};
    uint64_t notes[BAKED_NOTES];
    open_with(false, 0);
    struct baked_guest baked = {.dir = folder, .name = "other"};
    assert_null(module_open_baked(g, ENGINE_OWN, &baked, notes, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

/* ---- loadables ------------------------------------------------------------ */

static atomic_int loads;

static struct module *load(void *arg, const void *watch, struct engine *engine,
                           struct err *e)
{
    (void)watch;
    (void)arg;
    uint64_t notes[BAKED_NOTES];
    loads++;
    struct baked_guest baked = {.dir = folder, .name = "guest"};
    return module_open_baked(engine, ENGINE_OWN, &baked, notes, e);
}

static void wait_until_closed(struct loadable *l)
{
    for (int i = 0; loadable_is_loaded(l); i++) {
        assert_true(i < 60000);
        usleep(1000);
    }
}

static void use(struct loadable *l)
{
    struct err e = {0};
    scoped(world_close) struct world *w =
        loadable_open(l, &(struct world_limits){0}, NULL, &e);
    assert_non_null(w);
    assert_int_equal(call_with(w, "byte", 100), 'a');
}

static void what_nobody_uses_is_closed_and_loaded_again(void **state)
{
    (void)state;
    open_with(false, 1);
    loads = 0;
    struct loadable *l = loadable_new(g, load, NULL),
                    *other = loadable_new(g, load, NULL);
    assert_false(loadable_is_loaded(l));
    for (int i = 0; i < 3; i++) {
        use(l);
        use(other);
        wait_until_closed(l);
        wait_until_closed(other);
    }
    assert_true(loads >= 6);
    loadable_free(l);
    loadable_free(other);
}

static void what_is_used_stays(void **state)
{
    (void)state;
    struct err e = {0};
    open_with(false, 1);
    loads = 0;
    struct loadable *l = loadable_new(g, load, NULL),
                    *other = loadable_new(g, load, NULL);
    struct world *w = loadable_open(l, &(struct world_limits){0}, NULL, &e);
    assert_non_null(w);
    use(other);
    wait_until_closed(other); /* somebody has looked */
    assert_int_equal(call_with(w, "byte", 100), 'a');
    world_close(w);
    wait_until_closed(l);
    loadable_free(l);
    loadable_free(other);
}

static void what_is_prepared_is_not_kept(void **state)
{
    (void)state;
    struct err e = {0};
    open_with(false, 0);
    loads = 0;
    struct loadable *l = loadable_new(g, load, NULL);
    assert_true(loadable_prepare(l, &e));
    assert_false(loadable_is_loaded(l));
    assert_int_equal(loads, 1);
    use(l);
    assert_true(loadable_prepare(l, &e));
    assert_true(loadable_is_loaded(l));
    assert_int_equal(loads, 2);
    loadable_free(l);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_the_build_made_ready_is_not_made_again),
        TEST(another_text_or_another_guest_is_told_anew),
        TEST(a_guest_whose_hash_is_not_known_is_told_at_each_start),
        TEST(worlds_of_a_mapped_image_can_be_saved_and_frozen),
        TEST(a_guest_that_is_not_there_is_not_found),
        TEST(what_nobody_uses_is_closed_and_loaded_again),
        TEST(what_is_used_stays),
        TEST(what_is_prepared_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
