/* Fuel: counted computing, the same for the same code, with a definite end. */
#include "script/fixture_test.h"

static struct script *metered;

static int open_metered(void **state)
{
    struct err e = {0};
    if (open_script(state) != 0)
        return -1;
    const char *dir = getenv("CLOCHE_GUEST");
    metered = script_open_metered(g, dir ? dir : "build/guest", rows, LENGTH(rows), &e);
    struct script *plain = script;
    script = metered;
    metered = plain; /* for close_metered */
    return script ? 0 : -1;
}

static int close_metered(void **state)
{
    script_close(metered);
    return close_script(state);
}

static uint64_t fuel_of(const char *code)
{
    evaluate(code);
    assert_succeeded(code);
    return outcome.stats.fuel;
}

static void the_same_code_uses_the_same_fuel(void **state)
{
    (void)state;
    static const char *const all[] = {
        "1",
        "let n = 0; for (let i = 0; i < 1e5; i++) n += i; n",
        "JSON.parse(JSON.stringify(Array.from({length: 2000}, (_, i) => ({i})))).length",
        "Array.from({length: 5000}, (_, i) => (i * 7919) % 5003).sort((a, b) => a - b)[9]",
        "/(a+)+$/.test('a'.repeat(14) + 'b')",
        "[sync.echo(1, 'two'), await quick.echo(3)]",
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        uint64_t first = fuel_of(all[i]);
        assert_true(first > 1000);
        for (int again = 0; again < 3; again++)
            assert_int_equal(fuel_of(all[i]), first);
    }
    assert_true(fuel_of(all[1]) > 20 * fuel_of(all[0]));
}

static void code_that_is_out_of_fuel_cannot_catch_it(void **state)
{
    (void)state;
    static const char *const all[] = {
        "for (;;);",
        "for (;;) { try { for (;;); } catch { } finally { for (;;); } }",
        "await (async () => { try { for (;;) await null } finally { for (;;); } })()",
        "Promise.resolve().then(() => { for (;;); }); 1",
        /* native loops */
        "/(a+)+$/.test('a'.repeat(60) + 'b')",
        "Array.from({length: 1e7}, (_, i) => -i).sort()",
        "const s = JSON.stringify('x'.repeat(1e6)); for (;;) JSON.parse(s)",
        "let x = 3n ** 100000n; for (;;) x * x",
    };
    for (size_t i = 0; i < LENGTH(all); i++) {
        begin_test(NULL);
        request.fuel = 50000000;
        assert_stopped(all[i], ERR_FUEL);
        assert_int_equal(outcome.stats.fuel, request.fuel);
        assert_non_null(strstr(buf_cz(&outcome.message), "50000000"));
        begin_test(NULL);
        assert_result("typeof left === 'undefined'", "true");
    }
}

/* Logs until the end are returned, and no state stays. */
static void logs_outlast_the_fuel_and_globals_do_not(void **state)
{
    (void)state;
    request.fuel = 50000000;
    assert_stopped("console.log('so far'); globals = 'secret'; for (;;);", ERR_FUEL);
    assert_non_null(strstr(buf_cz(&outcome.logs), "so far"));
    begin_test(NULL);
    assert_result("typeof globals", "\"undefined\"");
}

static void without_a_limit_fuel_is_counted_only(void **state)
{
    (void)state;
    request.fuel = 0;
    assert_true(fuel_of("for (let i = 0; i < 1e6; i++); 1") > 1000000);
}

/* The metered engine has all other limits, too. */
static void other_limits_hold_beside_fuel(void **state)
{
    (void)state;
    request.compute_ms = 50;
    assert_stopped("for (;;);", ERR_TIMEOUT);
    begin_test(NULL);
    request.memory_bytes = (uint64_t)16 << 20;
    assert_stopped("const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
                   ERR_MEMORY);
    begin_test(NULL);
    request.total_ms = 50;
    assert_stopped("await new Promise((r) => setTimeout(r, 60000))", ERR_TIMEOUT);
    begin_test(NULL);
    struct cancel cancel;
    cancel_init(&cancel);
    table.cancel = request.cancel = &cancel;
    assert_stopped("sync.cancel(); for (;;);", ERR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(the_same_code_uses_the_same_fuel),
        test(code_that_is_out_of_fuel_cannot_catch_it),
        test(logs_outlast_the_fuel_and_globals_do_not),
        test(without_a_limit_fuel_is_counted_only),
        test(other_limits_hold_beside_fuel),
    };
    return cmocka_run_group_tests(tests, open_metered, close_metered);
}
