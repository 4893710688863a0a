/* The guest's answers, parsed once. */
#include "checker/internal.h"
#include "json/json.h"

#define READING_MEMORY ((size_t)16 << 20)

struct checker_answer {
    struct cached cached;
    uint32_t errors;
    bool shaped;
    size_t size;
    char json[];
};

void checker_drop(const struct checker_answer *a)
{
    cached_release(a ? &a->cached : NULL);
}

bool answer_has_shapes(const struct checker_answer *a)
{
    return a->shaped;
}

struct str checker_json(const struct checker_answer *a)
{
    return (struct str){a->json, a->size};
}

uint32_t checker_errors(const struct checker_answer *a)
{
    return a->errors;
}

/* TypeScript's own advice is about projects: "Do you need to install type definitions for
 * node? Try `npm i ...`", "... change your target library?". Nothing of that is here. */
#define ABOUT_PROJECTS " Do you need to "

static void put_diagnostic(const struct json *d, struct json_writer *w)
{
    struct json_iter it = json_iter(d);
    json_open_object(w);
    while (json_next(&it)) {
        struct str text = json_str(it.value);
        const char *cut =
            str_is(it.key, "message")
                ? memmem(text.at, text.n, ABOUT_PROJECTS, strlen(ABOUT_PROJECTS))
                : NULL;
        json_key_str(w, it.key);
        if (cut)
            json_put_str(w, (struct str){text.at, (size_t)(cut - text.at)});
        else
            json_put(w, it.value);
    }
    json_close(w);
}

static bool answer_tidy(struct str json, struct buf *out)
{
    if (!memmem(json.at, json.n, ABOUT_PROJECTS, strlen(ABOUT_PROJECTS)))
        return false;
    struct err none = {0};
    scoped(arena_free) struct arena *arena = arena_new(READING_MEMORY);
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(json_read(json, arena, &none));
    json_open_object(&w);
    while (json_next(&it)) {
        struct json_iter each = json_iter(it.value);
        json_key_str(&w, it.key);
        if (!str_is(it.key, "diagnostics")) {
            json_put(&w, it.value);
            continue;
        }
        json_open_array(&w);
        while (json_next(&each))
            put_diagnostic(each.value, &w);
        json_close(&w);
    }
    json_close(&w);
    return !none.code && !out->failed;
}

struct checker_answer *answer_read(struct str json, struct err *e)
{
    struct err why = {0};
    scoped_buf struct buf tidied = buf_of(ANSWER_BYTES);
    if (answer_tidy(json, &tidied))
        json = buf_view(&tidied);
    scoped(arena_free) struct arena *arena = arena_new(READING_MEMORY);
    const struct json *v = str_is_utf8(json) ? json_read(json, arena, &why) : NULL;
    const struct json *all = json_get(v, "diagnostics");
    if (json_type(all) != JSON_ARRAY) {
        err_set(e, ERR_GUEST, "the checker's answer cannot be read");
        return NULL;
    }
    struct checker_answer *a = mem_new(sizeof *a + json.n + 1);
    cached_init(&a->cached, json.n, NULL);
    a->size = json.n;
    a->shaped = json_get(v, "shapes") != NULL;
    memcpy(a->json, json.at, json.n);
    struct json_iter it = json_iter(all);
    while (json_next(&it))
        a->errors += str_is(json_str(json_get(it.value, "severity")), "error");
    return a;
}
