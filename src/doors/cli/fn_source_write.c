/* A custom function as a TypeScript file: writing it. */
#include "cli/fn_source.h"

/* ---- writing ------------------------------------------------------------------------ */

/* In a comment, which none of it may end; lines go on behind " * ". */
static void put_prose(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] == '\n')
            buf_cstr(out, "\n *   ");
        else if (text.at[i] == '/' && i && text.at[i - 1] == '*')
            buf_cstr(out, "\\/");
        else
            buf_char(out, text.at[i]);
    }
}

static void put_json(const struct json *v, struct buf *out)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    struct json_writer w = json_writer(&text);
    json_put(&w, v);
    put_prose(buf_view(&text), out);
}

static void put_parameter(struct str name, const struct json *p, struct buf *out)
{
    const struct json *fallback = json_get(p, "default");
    bool optional = fallback || json_bool(json_get(p, "optional"), false);
    if (str_starts(name, "...")) /* the function itself has the dots */
        name = (struct str){name.at + 3, name.n - 3};
    buf_cstr(out, " * @param {");
    put_prose(json_str(json_get(p, "type")), out);
    buf_printf(out, "} %s%.*s", optional ? "[" : "", STR_ARGS(name));
    if (fallback) {
        buf_char(out, '=');
        put_json(fallback, out);
    }
    struct str about = json_str(json_get(p, "description"));
    buf_cstr(out, optional ? "]" : "");
    buf_cstr(out, about.n ? " " : "");
    put_prose(about, out);
    buf_char(out, '\n');
}

void fn_source_write(const struct json *function, struct buf *out)
{
    if (str_is(json_str(json_get(function, "language")), "python")) {
        fn_source_python_write(function, out);
        return;
    }
    struct json_iter parameters = json_iter(json_get(function, "parameters"));
    struct json_iter tags = json_iter(json_get(function, "tags"));
    struct json_iter examples = json_iter(json_get(function, "examples"));
    buf_cstr(out, "/**\n * ");
    put_prose(json_str(json_get(function, "description")), out);
    buf_printf(out, "\n * @function %.*s\n",
               STR_ARGS(json_str(json_get(function, "name"))));
    while (json_next(&parameters))
        put_parameter(parameters.key, parameters.value, out);
    buf_cstr(out, " * @returns {");
    put_prose(json_str(json_get(function, "returnType")), out);
    buf_cstr(out, "}\n");
    for (bool first = true; json_next(&tags); first = false) {
        buf_cstr(out, first ? " * @tags " : ", ");
        put_prose(json_str(tags.value), out);
    }
    if (json_length(json_get(function, "tags")))
        buf_char(out, '\n');
    while (json_next(&examples)) {
        buf_cstr(out, " * @example ");
        put_json(examples.value, out);
        buf_char(out, '\n');
    }
    buf_printf(out, " */\n%.*s\n", STR_ARGS(json_str(json_get(function, "code"))));
}
