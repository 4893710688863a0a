/* A policy's text is used or refused, as the user's and as a vault's; every problem has a
 * place inside of the text and says something, and only errors refuse. */
#include "calls/calls.h"
#include "driver.h"
#include "guard/guard.h"
#include "json/json.h"

static void check(struct guard *g, struct str text, bool vault)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
    scoped_buf struct buf out;
    struct err e = {0};
    buf_init(&out, (size_t)16 << 20);
    if (!guard_check(g, "policy.json", text, vault, &out, &e)) {
        holds_error(&e);
        return;
    }
    const struct json *found = json_read(buf_view(&out), a, &e);
    struct json_iter it = json_iter(json_get(found, "problems"));
    bool errors = false;
    holds(found != NULL);
    while (json_next(&it)) {
        int64_t line = json_int(json_get(it.value, "line"), 0);
        int64_t column = json_int(json_get(it.value, "column"), 0);
        holds(line >= 1 && column >= 1 && (size_t)(line + column) <= text.n + 2);
        holds(json_str(json_get(it.value, "message")).n > 0);
        errors |= str_is(json_str(json_get(it.value, "severity")), "error");
    }
    holds(json_bool(json_get(found, "ok"), errors) == !errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    const struct guard_options options = host_call_guard_options();
    struct guard *g = guard_open(&options);
    check(g, text, false);
    check(g, text, true);
    guard_close(g);
    return 0;
}
