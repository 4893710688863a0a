/* Text becomes JSON or an error; what was read is written and read again as the same;
 * the schema check says what the schema says. */
#include <math.h>

#include "driver.h"
#include "json/json.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"required\":[\"kind\"],\"additionalProperties\":false,"
    "\"properties\":{"
    "\"kind\":{\"enum\":[\"a\",7,null]},"
    "\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10},"
    "\"name\":{\"type\":[\"string\",\"null\"],\"minLength\":1,\"maxLength\":3},"
    "\"list\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,"
    "\"items\":{\"anyOf\":[{\"type\":\"boolean\"},{\"const\":[0]}]}},"
    "\"more\":{\"additionalProperties\":{\"type\":\"number\"}}}}";

/* ---- the schema, by hand ------------------------------------------------ */

static size_t characters(struct str s)
{
    size_t n = 0;
    for (const char *at = s.at, *end = at + s.n; at < end; n++)
        (void)str_next_char(&at, end);
    return n;
}

static bool list_fits(const struct json *v)
{
    if (!json_is(v, JSON_ARRAY) || json_length(v) < 1 || json_length(v) > 3)
        return false;
    for (size_t i = 0; i < json_length(v); i++) {
        const struct json *item = json_at(v, i);
        bool zero = json_is(item, JSON_ARRAY) && json_length(item) == 1 &&
                    json_is(json_at(item, 0), JSON_NUMBER) &&
                    json_number(json_at(item, 0), 1) == 0;
        if (!zero && !json_is(item, JSON_BOOL))
            return false;
    }
    return true;
}

static bool field_fits(struct str key, const struct json *v)
{
    double n = json_number(v, NAN);
    if (str_is(key, "kind"))
        return str_is(json_str(v), "a") || n == 7 || json_is(v, JSON_NULL);
    if (str_is(key, "count"))
        return n >= 1 && n <= 10 && n == floor(n);
    if (str_is(key, "name"))
        return json_is(v, JSON_NULL) ||
               (json_is(v, JSON_STRING) && characters(json_str(v)) >= 1 &&
                characters(json_str(v)) <= 3);
    if (str_is(key, "list"))
        return list_fits(v);
    if (!str_is(key, "more"))
        return false;
    struct json_iter it = json_iter(v);
    while (json_is(v, JSON_OBJECT) && json_next(&it))
        if (!json_is(it.value, JSON_NUMBER))
            return false;
    return true;
}

static bool fits(const struct json *v)
{
    struct json_iter it = json_iter(v);
    if (!json_is(v, JSON_OBJECT) || !json_get(v, "kind"))
        return false;
    while (json_next(&it))
        if (!field_fits(it.key, it.value))
            return false;
    return true;
}

static void check_schema(const struct json *v, struct arena *a)
{
    struct err e = {0}, why = {0};
    const struct json *schema = json_read(str_of(schema_text), a, &e);
    holds(schema != NULL);
    bool ok = json_schema_check(schema, v, "input", &why);
    holds(ok == fits(v));
    if (!ok)
        holds_error(&why);
}

/* ---- looking and writing ------------------------------------------------ */

/* Every look agrees with every other. */
static void look(const struct json *v, unsigned depth)
{
    holds(v != NULL && depth <= JSON_DEPTH_MAX && json_equal(v, v));
    holds(str_is_utf8(json_str(v)));
    holds(!json_is_int(v) || (double)json_int(v, 1) == json_number(v, 0));
    holds(json_is(v, JSON_NUMBER) == (json_number(v, 1) == json_number(v, 2)));
    size_t n = 0;
    struct json_iter it = json_iter(v);
    for (; json_next(&it); n++) {
        if (json_is(v, JSON_OBJECT)) /* no key stands twice */
            holds(str_is_utf8(it.key) && json_get_str(v, it.key) == it.value);
        else
            holds(it.key.n == 0 && json_at(v, n) == it.value);
        look(it.value, depth + 1);
    }
    holds(n == json_length(v));
}

static const struct json *write_and_read(const struct json *v, struct buf *text,
                                         struct arena *a)
{
    struct err e = {0};
    struct json_writer w = json_writer(text);
    json_put(&w, v);
    holds(!text->failed && !memchr(text->at, '\n', text->n));
    const struct json *again = json_read(buf_view(text), a, &e);
    holds(again != NULL);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    scoped(arena_free) struct arena *a = arena_new((size_t)64 << 20);
    struct err e = {0};
    const struct json *v = json_read(text, a, &e);
    if (!v) {
        holds_error(&e);
        return 0;
    }
    holds(str_is_utf8(text) && e.code == ERR_NONE);
    look(v, 0);
    check_schema(v, a);

    scoped_buf struct buf once, twice;
    buf_init(&once, (size_t)1 << 20);
    buf_init(&twice, (size_t)1 << 20);
    const struct json *again = write_and_read(v, &once, a);
    holds(json_equal(v, again) && json_equal(again, v));
    check_schema(again, a);
    (void)write_and_read(again, &twice, a);
    holds(str_eq(buf_view(&once), buf_view(&twice)));
    return 0;
}
