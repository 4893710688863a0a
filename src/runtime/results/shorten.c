#include "results/results.h"
#include "json/json.h"

#define MEMORY ((size_t)512 << 20)

/* Limits of one attempt. */
struct measure {
    size_t string;   /* bytes of a string */
    size_t elements; /* of an array or object below the outermost */
};

/* From mild to hard: a large answer mostly has one long string, else many rows. */
static const struct measure measures[] = {
    {256 << 10, SIZE_MAX}, {128 << 10, SIZE_MAX}, {64 << 10, SIZE_MAX},
    {32 << 10, SIZE_MAX},  {16 << 10, SIZE_MAX},  {8 << 10, SIZE_MAX},
    {4 << 10, SIZE_MAX},   {2 << 10, SIZE_MAX},   {1 << 10, SIZE_MAX},
    {1 << 10, 5000},       {1 << 10, 2000},       {1 << 10, 1000},
    {1 << 10, 500},        {1 << 10, 200},        {1 << 10, 100},
    {1 << 10, 50},         {1 << 10, 20},
};

static void put_string(struct json_writer *w, struct str s, size_t max)
{
    if (s.n <= max) {
        json_put_str(w, s);
        return;
    }
    scoped_buf struct buf part;
    buf_init(&part, max + 100);
    buf_str(&part, str_cut(s, max));
    buf_printf(&part, " [... cut here, of %zu bytes]", s.n);
    json_put_str(w, buf_view(&part));
}

/* No recursion: a caller decides how deep the value is. */
struct walk {
    struct json_iter at[JSON_DEPTH_MAX + 1];
    size_t told[JSON_DEPTH_MAX + 1];
    size_t depth;
};

static void open_container(struct walk *k, struct json_writer *w, const struct json *v)
{
    json_is(v, JSON_OBJECT) ? json_open_object(w) : json_open_array(w);
    k->at[k->depth] = json_iter(v);
    k->told[k->depth++] = 0;
}

static void walk_put_value(struct walk *k, struct json_writer *w, const struct json *v,
                           const struct measure *m)
{
    if (json_is(v, JSON_STRING))
        put_string(w, json_str(v), m->string);
    else if (json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY))
        open_container(k, w, v);
    else
        json_put(w, v);
}

static void put_measured(const struct json *root, const struct measure *m,
                         struct buf *out)
{
    struct walk k = {.depth = 0};
    struct json_writer w = json_writer(out);
    walk_put_value(&k, &w, root, m);
    while (k.depth && !out->failed) {
        struct json_iter *it = &k.at[k.depth - 1];
        bool full = k.depth > 1 && k.told[k.depth - 1] >= m->elements;
        if (full || !json_next(it)) {
            json_close(&w);
            k.depth--;
            continue;
        }
        k.told[k.depth - 1]++;
        if (json_is(it->container, JSON_OBJECT))
            json_key_str(&w, it->key);
        walk_put_value(&k, &w, it->value, m);
    }
}

bool shorten(struct str json, size_t most, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(MEMORY);
    const struct json *root = json_read(json, a, e);
    if (!root)
        return false;
    scoped_buf struct buf part;
    buf_init(&part, most);
    for (size_t i = 0; i < LENGTH(measures); i++) {
        buf_clear(&part);
        put_measured(root, &measures[i], &part);
        if (!part.failed) {
            buf_str(out, buf_view(&part));
            return buf_check(out, "the answer", e);
        }
    }
    return err_set(e, ERR_OUTPUT,
                   "the call succeeded, but its result of %zu bytes does not fit in "
                   "%zu bytes",
                   json.n, most);
}
