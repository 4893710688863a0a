#include <stdio.h>

#include "json/json.h"

/* Where in the value we are, for messages: "arguments.timeout". */
struct place {
    const struct place *outer;
    const char *name; /* of the whole, at the outermost */
    struct str key;   /* or, when it is empty, the index */
    size_t index;
};

static void place_write(const struct place *p, struct buf *out)
{
    if (p->outer)
        place_write(p->outer, out);
    if (p->name)
        buf_cstr(out, p->name);
    else if (p->key.at)
        buf_printf(out, ".%.*s", (int)str_cut(p->key, 60).n, p->key.at);
    else
        buf_printf(out, "[%zu]", p->index);
}

static bool schema_refuse(const struct place *p, struct err *e, const char *what)
{
    scoped_buf struct buf at = buf_of(BUF_NAME);
    place_write(p, &at);
    return err_set(e, ERR_INVALID, "%s %s", at.n ? buf_cz(&at) : "the value", what);
}

static bool value_type_fits(struct str name, const struct json *v)
{
    if (str_is(name, "integer"))
        return json_is_int(v);
    return str_is(name, json_type_name(json_type(v)));
}

static bool value_check_type(const struct json *type, const struct json *v,
                             const struct place *p, struct err *e)
{
    if (json_is(type, JSON_STRING) && value_type_fits(json_str(type), v))
        return true;
    scoped_buf struct buf want = buf_of(BUF_NAME);
    if (json_is(type, JSON_STRING))
        buf_str(&want, json_str(type));
    struct json_iter it = json_iter(type);
    while (json_next(&it)) {
        if (value_type_fits(json_str(it.value), v))
            return true;
        buf_printf(&want, "%s%.*s", want.n ? " or " : "", STR_ARGS(json_str(it.value)));
    }
    if (!want.n)
        return true;
    char text[200];
    (void)snprintf(text, sizeof text, "must be %s, not %s", buf_cz(&want),
                   json_type_name(json_type(v)));
    return schema_refuse(p, e, text);
}

/* `titled`: each stands in an object, as its "const". */
static bool check_enum(const struct json *allowed, bool titled, const struct json *v,
                       const struct place *p, struct err *e)
{
    scoped_buf struct buf list = buf_of(BUF_NAME);
    struct json_writer w = json_writer(&list);
    struct json_iter it = json_iter(allowed);
    while (json_next(&it)) {
        const struct json *one = titled ? json_get(it.value, "const") : it.value;
        if (json_equal(one, v))
            return true;
        w.comma = false;
        if (list.n)
            buf_cstr(&list, ", ");
        json_put(&w, one);
    }
    scoped_buf struct buf here = buf_of(BUF_NAME);
    struct json_writer now = json_writer(&here);
    json_put(&now, v);
    char text[300];
    (void)snprintf(text, sizeof text, "must be one of %s%s%s", buf_cz(&list),
                   here.failed ? "" : ", not ", here.failed ? "" : buf_cz(&here));
    return schema_refuse(p, e, text);
}

static bool check_range(double n, const struct json *min, const struct json *max,
                        const char *what, const struct place *p, struct err *e)
{
    char text[120];
    if (min && n < json_number(min, n))
        (void)snprintf(text, sizeof text, "%s %g, at least %g is accepted", what, n,
                       json_number(min, 0));
    else if (max && n > json_number(max, n))
        (void)snprintf(text, sizeof text, "%s %g, at most %g is accepted", what, n,
                       json_number(max, 0));
    else
        return true;
    return schema_refuse(p, e, text);
}

static size_t count_chars(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

static bool value_check(const struct json *schema, const struct json *v,
                        const struct place *p, struct err *e);

/* The first field that may not be there, or nothing. */
static struct str unknown_key(const struct json *schema, const struct json *v)
{
    const struct json *more = json_get(schema, "additionalProperties");
    struct json_iter it = json_iter(v);
    while (json_is(more, JSON_BOOL) && !json_bool(more, true) && json_next(&it))
        if (!json_get_str(json_get(schema, "properties"), it.key))
            return it.key;
    return (struct str){0};
}

#define NAMES_COMPARED 64u

/* A missing key is reported together with its probable misspelling. */
static bool refuse_keys(const struct json *properties, struct str missing, struct str key,
                        const struct place *p, struct err *e)
{
    const char *names[NAMES_COMPARED];
    size_t count = 0;
    scoped_buf struct buf known = buf_of(BUF_NAME);
    struct json_iter it = json_iter(properties);
    while (json_next(&it) && !known.failed) {
        buf_printf(&known, "%s%.*s", known.n ? ", " : "", STR_ARGS(it.key));
        if (count < NAMES_COMPARED)
            names[count++] = it.key.at;
    }
    const char *near = str_nearest(key, names, count);
    if (near && str_is(missing, near))
        near = NULL; /* said already */
    char text[520];
    (void)snprintf(text, sizeof text,
                   "%s%.*s%shas no field '%.*s'; known are: %s%s%.60s%s",
                   missing.n ? "needs the field '" : "", STR_ARGS(str_cut(missing, 60)),
                   missing.n ? "' and " : "", STR_ARGS(str_cut(key, 60)), buf_cz(&known),
                   near ? ". Did you mean '" : "", near ? near : "", near ? "'?" : "");
    return schema_refuse(p, e, text);
}

static bool value_check_object(const struct json *schema, const struct json *v,
                               const struct place *p, struct err *e)
{
    struct json_iter it = json_iter(json_get(schema, "required"));
    while (json_next(&it)) {
        struct str key = json_str(it.value);
        if (json_get_str(v, key))
            continue;
        struct str other = unknown_key(schema, v);
        if (other.at)
            return refuse_keys(json_get(schema, "properties"), key, other, p, e);
        char text[120];
        (void)snprintf(text, sizeof text, "needs the field '%.*s'", STR_ARGS(key));
        return schema_refuse(p, e, text);
    }

    const struct json *properties = json_get(schema, "properties");
    const struct json *more = json_get(schema, "additionalProperties");
    it = json_iter(v);
    while (json_next(&it)) {
        const struct json *sub = json_get_str(properties, it.key);
        if (!sub && json_is(more, JSON_BOOL) && !json_bool(more, true))
            return refuse_keys(properties, STR(""), it.key, p, e);
        if (!sub && json_is(more, JSON_OBJECT))
            sub = more;
        struct place inner = {.outer = p, .key = it.key};
        if (sub && !value_check(sub, it.value, &inner, e))
            return false;
    }
    return true;
}

static bool value_check_array(const struct json *schema, const struct json *v,
                              const struct place *p, struct err *e)
{
    if (!check_range((double)json_length(v), json_get(schema, "minItems"),
                     json_get(schema, "maxItems"), "has a length of", p, e))
        return false;
    const struct json *items = json_get(schema, "items");
    struct json_iter it = json_iter(v);
    for (size_t i = 0; items && json_next(&it); i++) {
        struct place inner = {.outer = p, .index = i};
        if (!value_check(items, it.value, &inner, e))
            return false;
    }
    return true;
}

/* Nothing but values with their titles: an enum by another name. */
static bool are_titled(const struct json *choices)
{
    struct json_iter it = json_iter(choices);
    while (json_next(&it))
        if (!json_get(it.value, "const"))
            return false;
    return json_length(choices) > 0;
}

static bool value_check_any(const struct json *choices, const struct json *v,
                            const struct place *p, struct err *e)
{
    struct err first = {0};
    struct json_iter it = json_iter(choices);
    while (json_next(&it)) {
        struct err one = {0};
        if (value_check(it.value, v, p, &one))
            return true;
        if (!first.code)
            first = one;
    }
    return first.code ? err_set(e, first.code, "%s", first.msg) : true;
}

static bool value_check_one(const struct json *choices, const struct json *v,
                            const struct place *p, struct err *e)
{
    size_t fit = 0;
    struct json_iter it = json_iter(choices);
    while (json_next(&it)) {
        struct err ignored = {0};
        fit += value_check(it.value, v, p, &ignored);
    }
    if (fit > 1)
        return schema_refuse(p, e,
                             "fits more than one of the forms that exclude each other");
    return fit == 1 || value_check_any(choices, v, p, e);
}

static bool value_check_choices(const struct json *schema, const struct json *v,
                                const struct place *p, struct err *e)
{
    const struct json *any = json_get(schema, "anyOf"), *one = json_get(schema, "oneOf");
    if (any && !(are_titled(any) ? check_enum(any, true, v, p, e)
                                 : value_check_any(any, v, p, e)))
        return false;
    return !one || (are_titled(one) ? check_enum(one, true, v, p, e)
                                    : value_check_one(one, v, p, e));
}

static bool value_check(const struct json *schema, const struct json *v,
                        const struct place *p, struct err *e)
{
    const struct json *rule;
    if ((rule = json_get(schema, "type")) && !value_check_type(rule, v, p, e))
        return false;
    if ((rule = json_get(schema, "enum")) && !check_enum(rule, false, v, p, e))
        return false;
    if ((rule = json_get(schema, "const")) && !json_equal(rule, v))
        return schema_refuse(p, e, "is not the one value that is accepted");
    if (!value_check_choices(schema, v, p, e))
        return false;

    switch (json_type(v)) {
    case JSON_NUMBER:
        return check_range(json_number(v, 0), json_get(schema, "minimum"),
                           json_get(schema, "maximum"), "is", p, e);
    case JSON_STRING:
        return check_range((double)count_chars(json_str(v)),
                           json_get(schema, "minLength"), json_get(schema, "maxLength"),
                           "has a length of", p, e);
    case JSON_ARRAY:
        return value_check_array(schema, v, p, e);
    case JSON_OBJECT:
        return value_check_object(schema, v, p, e);
    default:
        return true;
    }
}

bool json_schema_check(const struct json *schema, const struct json *value,
                       const char *place, struct err *e)
{
    struct place whole = {.name = place};
    return value_check(schema, value, &whole, e);
}
