/* Whatever agents ask or write: words to look for, names to describe, and code that uses
 * what is not there. The first line is words and a name; the second the line and column
 * that the engine gives and, behind them, its message; the rest is the code. */
#include "api/api.h"
#include "calls/calls.h"
#include "driver.h"
#include "script/internal.h"

static void check_words(struct str words)
{
    const struct host_call *found[API_FOUND_MAX];
    size_t n = api_find(words, found, API_FOUND_MAX);
    holds(n <= API_FOUND_MAX);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            holds(found[i] != found[k]);
}

static bool is_name(const char *name)
{
    size_t count;
    const struct host_call *const *calls = host_call_all(&count);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, calls[i]->row.name) || str_is(api_namespace(calls[i]), name))
            return true;
    return false;
}

static void check_name(struct str name)
{
    char near[64];
    const char *meant = api_nearest(name, near);
    holds(!meant || is_name(meant));
    scoped_buf struct buf out;
    buf_init(&out, (size_t)1 << 20);
    struct json_writer w = json_writer(&out);
    struct err e = {0};
    bool there = api_describe(NULL, name, &w, &e);
    holds(there == (e.code == ERR_NONE) && there == (out.n > 0));
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    holds(!there || json_read(buf_view(&out), a, &e));
    struct str rest = name, line;
    while (api_next_line(&rest, &line)) {
        struct api_signature s = api_signature_read(line);
        holds(is_inside(s.parameters, name) && is_inside(s.returns, name));
        struct api_field field;
        while (api_next_field(&s.parameters, &field))
            holds(is_inside(field.name, name) && is_inside(field.type, name));
    }
}

/* What is missing is made of words of the code. */
static void check_code(uint32_t line, uint32_t column, struct str message,
                       struct str code)
{
    struct script_outcome o;
    script_outcome_init(&o);
    o.line = line;
    o.column = column;
    buf_str(&o.message, message);
    explain_missing(&(struct script_request){.code = code}, &o);
    struct str missing = buf_view(&o.missing);
    while (missing.n) {
        const char *dot = memchr(missing.at, '.', missing.n);
        size_t n = dot ? (size_t)(dot - missing.at) : missing.n;
        holds(n > 0 && memmem(code.at, code.n, missing.at, n));
        n += dot != NULL;
        missing = (struct str){missing.at + n, missing.n - n};
    }
    script_outcome_done(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct str words = next_part(&text), place = next_part(&text);
    check_words(words);
    check_name(words);
    uint32_t line = place.n > 0 ? (unsigned char)place.at[0] - '0' : 0;
    uint32_t column = place.n > 1 ? (unsigned char)place.at[1] - '0' : 0;
    struct str message = {place.at + (place.n > 2 ? 2 : place.n),
                          place.n > 2 ? place.n - 2 : 0};
    /* The guest's texts are UTF-8 by then. */
    if (str_is_utf8(text) && str_is_utf8(message))
        check_code(line, column, message, text);
    return 0;
}
