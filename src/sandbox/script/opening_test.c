/* Guests that ask something of the host while they take the table of host calls: there is no
 * evaluation then, and the host refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/home_test.h"
#include "engine/assemble_test.h"
#include "engine/engine.h"
#include "engine/traps_test.h"
#include "script/script.h"

#define WASM_PAGE 65536u

static const struct script_row rows[] = {{.name = "sync.echo", .sync = true}};
static struct engine *g;
static char folder[HOME_SIZE];

static int begin(void **state)
{
    (void)state;
    struct err e = {0};
    struct engine_options o = {.no_cache = true, .verify_resets = true};
    g = engine_open(&o, &e);
    return g && folder_make(folder) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    engine_close(g);
    return folder_remove(folder);
}

static void write_part(const char *name, const char *ending, const void *at, size_t n)
{
    char path[HOME_SIZE + 64];
    (void)snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0 && write(fd, at, n) == (ssize_t)n);
    close(fd);
}

/* A baked guest, all of whose memory is zeros, and whose install() does that. */
static void write_guest(const char *name, const char *install)
{
    static const char zeros[2 * WASM_PAGE];
    scoped_buf struct buf text = buf_of(BUF_LIST);
    buf_printf(
        &text,
        "(module"
        " (import \"host\" \"call\" (func $call (param i32 i32 i32) (result i32)))"
        " (import \"host\" \"take\" (func $take (param i32)))"
        " (import \"host\" \"stop\" (func $stop (param i32)))"
        "%s"
        " (import \"wasi_snapshot_preview1\" \"clock_time_get\""
        "  (func $clock (param i32 i64 i32) (result i32)))"
        " (memory (export \"memory\") 2 100)"
        " (func (export \"input\") (param i32) (result i32) (i32.const 1024))"
        " (func (export \"logs_view\") (result i32) (i32.const 0))"
        " (func (export \"sources_view\") (result i32) (i32.const 0))"
        " (func (export \"install\") (param i32) %s))",
        strcmp(name, "python") == 0
            ? " (import \"host\" \"wait\" (func $wait (param i32 i32 i32 f64) (result i32)))"
            : "",
        install);
    scoped_buf struct buf wasm;
    assemble(buf_cz(&text), &wasm);
    write_part(name, ".bare.wasm", wasm.at, wasm.n);
    write_part(name, ".img", zeros, sizeof zeros);
    write_part(name, ".id", "", 0);
}

static void assert_refused(const char *install)
{
    struct err e = {0};
    write_guest("script", install);
    assert_null(script_open(g, folder, rows, LENGTH(rows), &e));
    assert_int_equal(e.code, ERR_GUEST);
    assert_non_null(strstr(e.msg, "before it is asked"));
    write_guest("python", install);
    e = (struct err){0};
    assert_null(script_open_python(g, folder, rows, LENGTH(rows), STR("[]"), &e));
    assert_int_equal(e.code, ERR_GUEST);
    assert_non_null(strstr(e.msg, "before it is asked"));
}

static void a_host_call_at_the_opening_is_refused(void **state)
{
    (void)state;
    assert_refused("(drop (call $call (i32.const 0) (i32.const 0) (i32.const 2)))");
    assert_refused("(drop (call $call (i32.const 9) (i32.const -1) (i32.const 2)))");
}

static void giving_up_at_the_opening_is_refused(void **state)
{
    (void)state;
    for (char why = '0'; why < '4'; why++) {
        char install[] = "(call $stop (i32.const 0))";
        *strchr(install, '0') = why;
        assert_refused(install);
    }
}

static void waiting_at_the_opening_is_refused(void **state)
{
    (void)state;
    struct err e = {0};
    write_guest("python", "(drop (call $wait (i32.const 0) (i32.const 8) (i32.const 1) "
                          "(f64.const 1)))");
    assert_null(script_open_python(g, folder, rows, LENGTH(rows), STR("[]"), &e));
    assert_int_equal(e.code, ERR_GUEST);
    assert_non_null(strstr(e.msg, "before it is asked"));
}

/* There is nothing to take, and there is a time. */
static void what_needs_no_evaluation_is_answered_at_the_opening(void **state)
{
    (void)state;
    struct err e = {0};
    write_guest("script", "(call $take (i32.const 0))"
                          "(drop (call $clock (i32.const 0) (i64.const 0) (i32.const 8)))"
                          "(if (i64.eqz (i64.load (i32.const 8))) (then (unreachable)))");
    scoped(script_close) struct script *s =
        script_open(g, folder, rows, LENGTH(rows), &e);
    if (!s)
        fail_msg("%s", e.msg);
}

static void a_trap_at_the_opening_is_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    static const char *const installs[] = {"(unreachable)",
                                           "(i32.store (i32.const -8) (i32.const 1))",
                                           "(drop (i32.load (i32.const 0x7fffffff)))"};
    for (size_t i = 0; i < LENGTH(installs); i++) {
        write_guest("python", installs[i]);
        e = (struct err){0};
        assert_null(script_open_python(g, folder, rows, LENGTH(rows), STR("[]"), &e));
        assert_int_equal(e.code, ERR_GUEST);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_host_call_at_the_opening_is_refused),
        TEST(giving_up_at_the_opening_is_refused),
        TEST(waiting_at_the_opening_is_refused),
        TEST(what_needs_no_evaluation_is_answered_at_the_opening),
        TEST(a_trap_at_the_opening_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
