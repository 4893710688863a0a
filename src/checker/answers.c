/* What was answered before: in memory the last few, on disk more of them, shared by all
 * processes of the user. */
#include "checker/internal.h"
#include "json/json.h"

#define KEPT_MAX 256u
#define KEPT_BYTES ((size_t)8 << 20)
#define READING_MEMORY ((size_t)16 << 20)

struct checker_answer {
    atomic_uint refs;
    uint32_t errors;
    bool shaped;
    size_t size;
    char json[];
};

const struct checker_answer *answer_share(const struct checker_answer *a)
{
    atomic_fetch_add(&((struct checker_answer *)(uintptr_t)a)->refs, 1);
    return a;
}

void checker_drop(const struct checker_answer *a)
{
    struct checker_answer *ours = (struct checker_answer *)(uintptr_t)a;
    if (ours && atomic_fetch_sub(&ours->refs, 1) == 1)
        free(ours);
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

static bool tidy(struct str json, struct buf *out)
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
    scoped_buf struct buf tidied;
    buf_init(&tidied, ANSWER_BYTES);
    if (tidy(json, &tidied))
        json = buf_view(&tidied);
    scoped(arena_free) struct arena *arena = arena_new(READING_MEMORY);
    const struct json *v = str_is_utf8(json) ? json_read(json, arena, &why) : NULL;
    const struct json *all = json_get(v, "diagnostics");
    if (json_type(all) != JSON_ARRAY) {
        err_set(e, ERR_GUEST, "the checker's answer cannot be read");
        return NULL;
    }
    struct checker_answer *a = mem_new(sizeof *a + json.n + 1);
    atomic_init(&a->refs, 1);
    a->size = json.n;
    a->shaped = json_get(v, "shapes") != NULL;
    memcpy(a->json, json.at, json.n);
    struct json_iter it = json_iter(all);
    while (json_next(&it))
        a->errors += str_is(json_str(json_get(it.value, "severity")), "error");
    return a;
}

/* ---- those that are kept ---------------------------------------------------- */

struct kept {
    char key[STASH_KEY];
    const struct checker_answer *answer;
    uint64_t used; /* a count of uses: the smallest goes first */
};

struct answers {
    struct stash *files;
    pthread_mutex_t lock; /* guards what follows */
    struct kept row[KEPT_MAX];
    size_t count, bytes;
    uint64_t uses;
};

struct answers *answers_new(struct stash *files)
{
    struct answers *s = mem_new(sizeof *s);
    s->files = files;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void answers_free(struct answers *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        checker_drop(s->row[i].answer);
    stash_close(s->files);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct kept *find_kept(struct answers *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->row[i].key, key) == 0)
            return &s->row[i];
    return NULL;
}

static void forget_oldest(struct answers *s)
{
    size_t oldest = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->row[i].used < s->row[oldest].used)
            oldest = i;
    s->bytes -= s->row[oldest].answer->size;
    checker_drop(s->row[oldest].answer);
    s->row[oldest] = s->row[--s->count];
}

static void remember(struct answers *s, const char *key, const struct checker_answer *a)
{
    pthread_mutex_lock(&s->lock);
    if (!find_kept(s, key)) {
        while (s->count && (s->count == KEPT_MAX || s->bytes + a->size > KEPT_BYTES))
            forget_oldest(s);
        struct kept *k = &s->row[s->count++];
        memcpy(k->key, key, STASH_KEY);
        k->answer = answer_share(a);
        k->used = ++s->uses;
        s->bytes += a->size;
    }
    pthread_mutex_unlock(&s->lock);
}

static const struct checker_answer *read_file(struct answers *s, const char *key)
{
    struct err none = {0};
    scoped_buf struct buf text;
    buf_init(&text, ANSWER_BYTES);
    return stash_get(s->files, key, &text) ? answer_read(buf_view(&text), &none) : NULL;
}

const struct checker_answer *answers_find(struct answers *s, const char *key,
                                          bool *on_disk)
{
    const struct checker_answer *found = NULL;
    pthread_mutex_lock(&s->lock);
    struct kept *k = find_kept(s, key);
    if (k) {
        k->used = ++s->uses;
        found = answer_share(k->answer);
    }
    pthread_mutex_unlock(&s->lock);
    *on_disk = !found;
    if (found)
        return found;
    found = read_file(s, key);
    if (found)
        remember(s, key, found);
    return found;
}

void answers_keep(struct answers *s, const char *key, const struct checker_answer *a)
{
    remember(s, key, a);
    stash_put(s->files, key, checker_json(a));
}
