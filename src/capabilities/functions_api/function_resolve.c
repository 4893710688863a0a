/* The custom functions that an action names, as they are when the user is asked. */
#include "functions_api/function_actions.h"
#include "permits/permits.h"
#include "json/json.h"

#define DIFF_MAX ((size_t)16000) /* of one function's code */

static void add_code_diff(struct str old, struct str now, struct text_list *out)
{
    scoped_buf struct buf diff;
    buf_init(&diff, 2 * DIFF_MAX);
    bool whole = diff_put(old, now, DIFF_MAX, &diff);
    struct str left = buf_view(&diff);
    while (left.n) {
        const char *at = memchr(left.at, '\n', left.n);
        size_t n = at ? (size_t)(at - left.at) : left.n;
        text_list_add(out, (struct str){left.at, n});
        n += at != NULL;
        left = (struct str){left.at + n, left.n - n};
    }
    if (!whole)
        text_list_add(out, STR("(and more lines)"));
}

static void add_function(const struct action_call *c, const struct function_set *s,
                         struct str name, struct text_list *out)
{
    const struct function *fn = function_named(s, name);
    const struct json *code = json_get(c->arguments, "code");
    scoped_buf struct buf line;
    buf_init(&line, BUF_TEXT);
    buf_str(&line, name);
    if (fn) {
        buf_printf(&line, " version %u, ", fn->version);
        buf_str(&line, fn->hash);
        buf_cstr(&line, ": ");
        function_signature(fn, &line);
    } else {
        buf_cstr(&line, ": no function of this name exists yet");
    }
    text_list_add(out, buf_view(&line));
    if (json_is(code, JSON_STRING))
        add_code_diff(fn ? fn->code : STR(""), json_str(code), out);
}

bool resolve_functions(const struct action_call *c, struct resolved *out, struct err *e)
{
    struct functions *f;
    scoped_set const struct function_set *s =
        functioning_now(c->actions, c->place, &f, e);
    if (!s)
        return false;
    struct str name = json_str(json_get(c->arguments, "name"));
    struct json_iter it = json_iter(json_get(c->arguments, "names"));
    if (name.n)
        add_function(c, s, name, &out->lines);
    while (json_next(&it))
        add_function(c, s, json_str(it.value), &out->lines);
    return resolved_end(out, e);
}
