/* Stubs of the values of `context`, for Python's type checker. */
#include "evaluating/language.h"
#include "json/json.h"

#define STUB_DEPTH 6u   /* of a value's type */
#define STUB_CHOICES 8u /* kinds of elements in one list's type */
#define STUB_TYPE_MAX ((size_t)64 << 10)

static void stub_put_type(const struct json *v, unsigned depth, struct buf *out);

/* "list[str | int]": each kind once; Any for many kinds, or none. */
static void stub_put_list(const struct json *v, unsigned depth, struct buf *out)
{
    struct buf kinds[STUB_CHOICES];
    size_t count = 0, i;
    bool many = false;
    struct json_iter it = json_iter(v);
    while (!many && json_next(&it)) {
        struct buf one;
        buf_init(&one, STUB_TYPE_MAX);
        stub_put_type(it.value, depth + 1, &one);
        for (i = 0; i < count && !str_eq(buf_view(&kinds[i]), buf_view(&one)); i++)
            ;
        many = one.failed || (i == count && count == STUB_CHOICES);
        if (i == count && !many)
            kinds[count++] = one;
        else
            buf_done(&one);
    }
    buf_cstr(out, "list[");
    if (many || !count)
        buf_cstr(out, "Any");
    for (i = 0; i < count; i++) {
        if (!many) {
            buf_cstr(out, i ? " | " : "");
            buf_str(out, buf_view(&kinds[i]));
        }
        buf_done(&kinds[i]);
    }
    buf_char(out, ']');
}

/* The type of a value, not the value itself, which may be secret. */
static void stub_put_type(const struct json *v, unsigned depth, struct buf *out)
{
    enum json_type t = json_type(v);
    if (depth > STUB_DEPTH)
        buf_cstr(out, "Any");
    else if (t == JSON_ARRAY)
        stub_put_list(v, depth, out);
    else if (t == JSON_NUMBER)
        buf_cstr(out, json_is_int(v) ? "int" : "float");
    else
        buf_cstr(out, t == JSON_NULL     ? "None"
                      : t == JSON_BOOL   ? "bool"
                      : t == JSON_STRING ? "str"
                      : t == JSON_OBJECT ? "OpenRecord"
                                         : "Any");
}

static bool is_python_name(struct str key)
{
    bool ok = key.n > 0 && !char_is_digit(key.at[0]);
    for (size_t i = 0; ok && i < key.n; i++) {
        char c = key.at[i];
        ok = char_is_letter(c) || char_is_digit(c) || c == '_' || (c & 0x80);
    }
    return ok;
}

void python_put_stubs(const struct json *context, struct buf *out)
{
    struct json_iter it = json_iter(context);
    while (json_next(&it)) {
        scoped_buf struct buf type;
        buf_init(&type, STUB_TYPE_MAX);
        stub_put_type(it.value, 0, &type);
        if (is_python_name(it.key))
            buf_printf(out, "%.*s: %s\n", STR_ARGS(it.key),
                       type.failed ? "Any" : buf_cz(&type));
    }
}
