/* Types of the values of `context`, for the type checkers. */
#include "evaluating/language.h"
#include "json/json.h"

#define CONTEXT_DEPTH 6u   /* of a value's type */
#define CONTEXT_CHOICES 8u /* kinds of elements in one list's type */
#define CONTEXT_TYPE_MAX ((size_t)64 << 10)

/* How a language writes types. */
struct type_words {
    const char *any, *null, *boolean, *whole, *number, *string;
    const char *object; /* NULL: its members are written out */
    const char *list, *list_end, *any_list;
    const char *before, *after; /* of a declaration, "NAME: TYPE" */
    const char *signs;          /* of a name, besides letters and digits */
};

static const struct type_words typescript = {.any = "any",
                                             .null = "null",
                                             .boolean = "boolean",
                                             .whole = "number",
                                             .number = "number",
                                             .string = "string",
                                             .list = "(",
                                             .list_end = ")[]",
                                             .any_list = "any[]",
                                             .before = "declare let ",
                                             .after = ";\n",
                                             .signs = "_$"};
static const struct type_words python = {.any = "Any",
                                         .null = "None",
                                         .boolean = "bool",
                                         .whole = "int",
                                         .number = "float",
                                         .string = "str",
                                         .object = "OpenRecord",
                                         .list = "list[",
                                         .list_end = "]",
                                         .any_list = "list[Any]",
                                         .before = "",
                                         .after = "\n",
                                         .signs = "_"};

static bool key_is_identifier(const struct type_words *t, struct str name)
{
    bool ok = name.n > 0 && !char_is_digit(name.at[0]);
    for (size_t i = 0; ok && i < name.n; i++) {
        char c = name.at[i];
        ok = char_is_letter(c) || char_is_digit(c) || (c && strchr(t->signs, c)) ||
             (c & 0x80);
    }
    return ok;
}

static void value_put_type(const struct type_words *t, const struct json *v,
                           unsigned depth, struct buf *out);

/* "(string | number)[]": each kind once; any[] for many kinds, or none. */
static void put_array(const struct type_words *t, const struct json *v, unsigned depth,
                      struct buf *out)
{
    struct buf kinds[CONTEXT_CHOICES];
    size_t count = 0, i;
    bool many = false;
    struct json_iter it = json_iter(v);
    while (!many && json_next(&it)) {
        struct buf one;
        buf_init(&one, CONTEXT_TYPE_MAX);
        value_put_type(t, it.value, depth + 1, &one);
        for (i = 0; i < count && !str_eq(buf_view(&kinds[i]), buf_view(&one)); i++)
            ;
        many = one.failed || i == CONTEXT_CHOICES;
        if (i == count && !many)
            kinds[count++] = one;
        else
            buf_done(&one);
    }
    bool any = many || !count;
    buf_cstr(out, any ? t->any_list : t->list);
    for (i = 0; i < count; i++) {
        if (!any) {
            buf_cstr(out, i ? " | " : "");
            buf_str(out, buf_view(&kinds[i]));
        }
        buf_done(&kinds[i]);
    }
    buf_cstr(out, any ? "" : t->list_end);
}

static void value_put_object(const struct type_words *t, const struct json *v,
                             unsigned depth, struct buf *out)
{
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(v);
    bool any = false;
    buf_char(out, '{');
    while (json_next(&it)) {
        buf_cstr(out, any ? ", " : "");
        json_put_str(&w, it.key);
        w = json_writer(out);
        buf_cstr(out, ": ");
        value_put_type(t, it.value, depth + 1, out);
        any = true;
    }
    buf_char(out, '}');
}

static const char *plain_type(const struct type_words *t, const struct json *v)
{
    switch (json_type(v)) {
    case JSON_NULL:
        return t->null;
    case JSON_BOOL:
        return t->boolean;
    case JSON_NUMBER:
        return json_is_int(v) ? t->whole : t->number;
    case JSON_STRING:
        return t->string;
    case JSON_OBJECT:
        return t->object;
    default:
        return t->any;
    }
}

static void value_put_type(const struct type_words *t, const struct json *v,
                           unsigned depth, struct buf *out)
{
    enum json_type type = json_type(v);
    if (depth > CONTEXT_DEPTH)
        buf_cstr(out, t->any);
    else if (type == JSON_ARRAY)
        put_array(t, v, depth, out);
    else if (type == JSON_OBJECT && !t->object)
        value_put_object(t, v, depth, out);
    else
        buf_cstr(out, plain_type(t, v));
}

void context_put_types(const struct json *context, bool is_python, struct buf *out)
{
    const struct type_words *t = is_python ? &python : &typescript;
    struct json_iter it = json_iter(context);
    while (json_next(&it)) {
        scoped_buf struct buf type;
        buf_init(&type, CONTEXT_TYPE_MAX);
        value_put_type(t, it.value, 0, &type);
        if (key_is_identifier(t, it.key))
            buf_printf(out, "%s%.*s: %s%s", t->before, STR_ARGS(it.key),
                       type.failed ? t->any : buf_cz(&type), t->after);
    }
}
