#include "functions_api/function_compare.h"

#include <stdio.h>

#include "json/json.h"

/* A position on the way down: JSON is never deeper than JSON_DEPTH_MAX. */
struct comparing {
    bool part;
    struct difference *out;
    size_t length; /* of the path so far */
};

static bool differ(struct comparing *c, const struct json *expected,
                   const struct json *got, const char *what)
{
    c->out->expected = expected;
    c->out->got = got;
    c->out->what = what;
    return false;
}

static void go_down(struct comparing *c, struct str key, size_t index)
{
    char *at = c->out->path + c->length;
    size_t room = sizeof c->out->path - c->length;
    int n = key.at ? snprintf(at, room, ".%.*s", STR_ARGS(str_cut(key, 60)))
                   : snprintf(at, room, "[%zu]", index);
    c->length += n > 0 && (size_t)n < room ? (size_t)n : 0;
    c->out->path[c->length] = '\0'; /* a longer path is cut */
}

static void go_up(struct comparing *c, size_t length)
{
    c->length = length;
    c->out->path[length] = '\0';
}

static bool values_equal(struct comparing *c, const struct json *expected,
                         const struct json *got);

static bool compare_arrays(struct comparing *c, const struct json *expected,
                           const struct json *got)
{
    size_t length = c->length, i = 0;
    struct json_iter a = json_iter(expected), b = json_iter(got);
    while (json_next(&a)) {
        bool there = json_next(&b);
        go_down(c, (struct str){0}, i++);
        if (!there)
            return differ(c, a.value, NULL, "is missing");
        if (!values_equal(c, a.value, b.value))
            return false;
        go_up(c, length);
    }
    if (c->part || !json_next(&b))
        return true;
    go_down(c, (struct str){0}, i);
    return differ(c, NULL, b.value, "is too much");
}

static bool compare_objects(struct comparing *c, const struct json *expected,
                            const struct json *got)
{
    size_t length = c->length;
    struct json_iter a = json_iter(expected), b = json_iter(got);
    while (json_next(&a)) {
        const struct json *other = json_get_str(got, a.key);
        go_down(c, a.key, 0);
        if (!other)
            return differ(c, a.value, NULL, "is missing");
        if (!values_equal(c, a.value, other))
            return false;
        go_up(c, length);
    }
    while (!c->part && json_next(&b))
        if (!json_get_str(expected, b.key)) {
            go_down(c, b.key, 0);
            return differ(c, NULL, b.value, "is too much");
        }
    return true;
}

static bool values_equal(struct comparing *c, const struct json *expected,
                         const struct json *got)
{
    if (json_type(expected) != json_type(got))
        return differ(c, expected, got, "has another type");
    if (json_is(expected, JSON_ARRAY))
        return compare_arrays(c, expected, got);
    if (json_is(expected, JSON_OBJECT))
        return compare_objects(c, expected, got);
    return json_equal(expected, got) || differ(c, expected, got, "is another value");
}

bool compare_values(const struct json *expected, const struct json *got, bool part,
                    struct difference *out)
{
    *out = (struct difference){.path = "result"};
    struct comparing c = {part, out, strlen(out->path)};
    return values_equal(&c, expected, got);
}

/* Of a large value the beginning of its text. */
static void difference_put_value(const char *key, const struct json *v,
                                 struct json_writer *out)
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_FILE);
    struct json_writer w = json_writer(&text);
    if (!v)
        return;
    json_put(&w, v);
    json_key(out, key);
    if (text.n <= COMPARED_SHOWN)
        json_put_raw(out, buf_view(&text));
    else
        json_put_str(out, str_cut(buf_view(&text), COMPARED_SHOWN));
}

void difference_write(const struct difference *d, struct json_writer *out)
{
    char message[300];
    (void)snprintf(message, sizeof message, "%s %s", d->path, d->what);
    json_open_object(out);
    json_pair_cstr(out, "path", d->path);
    json_pair_cstr(out, "message", message);
    difference_put_value("expected", d->expected, out);
    difference_put_value("got", d->got, out);
    json_close(out);
}
