/* The custom functions that an action names, as they are when a person is asked. */
#include "functions_api/function_actions.h"
#include "permits/permits.h"
#include "json/json.h"

#define DIFF_MAX ((size_t)16000) /* of one function's code */

static void put_code(struct str old, struct str now, struct json_writer *w)
{
    scoped_buf struct buf diff;
    buf_init(&diff, 2 * DIFF_MAX);
    bool whole = diff_put(old, now, DIFF_MAX, &diff);
    struct str left = buf_view(&diff);
    while (left.n) {
        const char *at = memchr(left.at, '\n', left.n);
        size_t n = at ? (size_t)(at - left.at) : left.n;
        json_put_str(w, (struct str){left.at, n});
        n += at != NULL;
        left = (struct str){left.at + n, left.n - n};
    }
    if (!whole)
        json_put_cstr(w, "(and more lines)");
}

static void put_function(const struct action_call *c, const struct function_set *s,
                         struct str name, struct json_writer *w)
{
    const struct function *fn = function_named(s, name);
    const struct json *code = json_get(c->arguments, "code");
    scoped_buf struct buf line;
    buf_init(&line, (size_t)64 << 10);
    buf_str(&line, name);
    if (fn) {
        buf_printf(&line, " version %u, ", fn->version);
        buf_str(&line, fn->hash);
        buf_cstr(&line, ": ");
        function_signature(fn, &line);
    } else {
        buf_cstr(&line, ": there is none of this name yet");
    }
    json_put_str(w, buf_view(&line));
    if (json_is(code, JSON_STRING))
        put_code(fn ? fn->code : STR(""), json_str(code), w);
}

bool resolve_functions(const struct action_call *c, struct resolved *out, struct err *e)
{
    struct functions *f;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    struct json_writer w = json_writer(&out->lines);
    if (!s)
        return false;
    struct str name = json_str(json_get(c->arguments, "name"));
    struct json_iter it = json_iter(json_get(c->arguments, "names"));
    json_open_array(&w);
    if (name.n)
        put_function(c, s, name, &w);
    while (json_next(&it))
        put_function(c, s, json_str(it.value), &w);
    return resolved_end(out, &w, e);
}
