/* A key, a JSON value for it (null: away with it), and behind these two lines a note.
 * An edit changes what it is to change, and every line of another key stays. */
#include "notes/frontmatter.h"
#include "driver.h"

#define MEMORY ((size_t)64 << 20)

/* ---- lines -------------------------------------------------------------- */

/* `key: value` lines of plain words and nothing else: a layout in which every key can
 * be changed, whatever else may be refused. */
static bool is_plain(struct str yaml)
{
    while (yaml.n) {
        struct str line = next_part(&yaml);
        size_t n = 0;
        while (n < line.n && line.at[n] >= 'a' && line.at[n] <= 'z')
            n++;
        if (n == 0 || n == line.n || line.at[n] != ':')
            return false;
        if (n + 1 < line.n && line.at[n + 1] != ' ')
            return false;
        for (n++; n < line.n; n++)
            if (line.at[n] != ' ' && (line.at[n] < 'a' || line.at[n] > 'z'))
                return false;
    }
    return true;
}

struct edit {
    const struct frontmatter *f;
    struct frontmatter_change changes[2];
    size_t count;
};

static bool is_changed(const struct edit *d, struct str key)
{
    for (size_t i = 0; i < d->count; i++)
        if (str_eq(d->changes[i].key, key))
            return true;
    return false;
}

/* The line at which the key behind the place `k` begins. */
static size_t end_of(const struct yml *y, size_t k, size_t lines)
{
    return k + 1 < y->key_count ? y->keys[k + 1].line : lines;
}

/* Do all lines but those of the keys that change stand in `edited`, in their order and
 * byte for byte? */
static void holds_lines(const struct edit *d, struct str edited, struct arena *a)
{
    struct err e = {0};
    const struct frontmatter *f = d->f;
    const struct yml *y = &f->yml;
    size_t count, k = 0; /* the key whose lines we are in, or before the first one */
    const size_t *starts = yml_lines(f->yaml, a, &count, &e);
    holds(starts != NULL && starts[count] == f->yaml.n);
    const char *at = edited.at, *end = at + edited.n;
    for (size_t i = 0; i < count; i++) {
        while (k < y->key_count && i >= end_of(y, k, count))
            k++;
        bool inside = k < y->key_count && i >= y->keys[k].line;
        if (inside && is_changed(d, y->keys[k].name))
            continue;
        size_t n = starts[i + 1] - starts[i];
        const char *found = memmem(at, (size_t)(end - at), f->yaml.at + starts[i], n);
        holds(found != NULL);
        at = found + n;
    }
}

/* ---- editing ------------------------------------------------------------ */

static void read_whole(struct str bytes, struct arena *a, struct frontmatter *f)
{
    struct err e = {0};
    holds(frontmatter_read(bytes, a, f, &e) && e.code == ERR_NONE);
    holds(f->head.at == bytes.at && f->head.n + f->body.n == bytes.n);
    holds(f->body.at == bytes.at + f->head.n && is_inside(f->yaml, f->head));
    holds(json_is(f->yml.all, JSON_OBJECT));
    holds((f->state == FRONTMATTER_BROKEN) == (f->error[0] != '\0'));
    holds(str_is_utf8(str_of(f->error)));
    holds(f->state == FRONTMATTER_GOOD || json_length(f->yml.all) == 0);
    holds(f->yml.key_count == json_length(f->yml.all));
}

/* All keys that were not to change say in `b` what they say in `a`. */
static void holds_others(const struct edit *d, const struct json *a, const struct json *b)
{
    struct json_iter it = json_iter(a);
    while (json_next(&it))
        if (!is_changed(d, it.key))
            holds(json_equal(it.value, json_get_str(b, it.key)));
}

/* Does the object say what the changes want? */
static bool is_done(const struct edit *d, const struct json *all)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct json *is = json_get_str(all, d->changes[i].key);
        const struct json *wanted = d->changes[i].value;
        if (json_is(wanted, JSON_NULL) ? is != NULL : !is || !json_equal(is, wanted))
            return false;
    }
    return true;
}

static void check_edit(const struct edit *d, struct arena *a)
{
    const struct frontmatter *f = d->f;
    scoped_buf struct buf head, whole;
    buf_init(&head, (size_t)4 << 20);
    buf_init(&whole, (size_t)8 << 20);
    struct err e = {0};
    bool done = is_done(d, f->yml.all);
    if (!frontmatter_edit(f, d->changes, d->count, a, &head, &e)) {
        holds_error(&e);
        holds(!done && e.code == ERR_INVALID);
        holds(f->state == FRONTMATTER_BROKEN ||
              (f->state == FRONTMATTER_GOOD && !is_plain(f->yaml)));
        return;
    }
    holds(!done || str_eq(buf_view(&head), f->head));
    frontmatter_join(buf_view(&head), f->body, false, &whole);
    struct frontmatter now;
    read_whole(buf_view(&whole), a, &now);
    holds(str_eq(now.body, f->body));
    holds(done || now.state == FRONTMATTER_GOOD);
    holds(is_done(d, now.yml.all));
    holds_others(d, f->yml.all, now.yml.all);
    holds_others(d, now.yml.all, f->yml.all);
    if (f->yml.by_lines)
        holds_lines(d, now.yaml, a);
}

/* With LF at the ends of its lines. */
static struct str to_lf(struct str s, struct arena *a)
{
    struct err e = {0};
    char *out = arena_copy(a, s.at, s.n, &e);
    size_t n = 0;
    holds(out != NULL);
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] != '\r' || i + 1 == s.n || s.at[i + 1] != '\n')
            out[n++] = s.at[i];
    return (struct str){out, n};
}

/* Another body behind the same head. */
static void check_join(const struct frontmatter *f, struct str body, bool crlf,
                       struct arena *a)
{
    scoped_buf struct buf whole;
    buf_init(&whole, (size_t)4 << 20);
    frontmatter_join(f->head, body, crlf, &whole);
    struct frontmatter now;
    read_whole(buf_view(&whole), a, &now);
    holds(str_eq((struct str){whole.at, f->head.n}, f->head));
    holds(json_equal(now.yml.all, f->yml.all));
    if (crlf) {
        holds(str_eq(to_lf(now.body, a), to_lf(body, a)));
        holds(frontmatter_is_crlf(now.body) == (memchr(body.at, '\n', body.n) != NULL));
    } else {
        holds(str_eq(now.body, body));
    }
}

/* Each key away, and the given one changed, alone and beside the others. */
static void check_edits(const struct frontmatter *f,
                        const struct frontmatter_change *given, struct arena *a)
{
    struct err e = {0};
    const struct json *null = json_read(STR("null"), a, &e);
    struct edit alone = {.f = f, .count = 1};
    struct json_iter it = json_iter(f->yml.all);
    for (size_t i = 0; i < 8 && json_next(&it); i++) {
        alone.changes[0] = (struct frontmatter_change){it.key, null};
        check_edit(&alone, a);
        struct edit both = alone;
        both.changes[both.count++] = *given;
        if (given->value && !str_eq(given->key, it.key))
            check_edit(&both, a);
    }
    alone.changes[0] = *given;
    if (given->value)
        check_edit(&alone, a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str note = {(const char *)data, size};
    struct str key = next_part(&note), text = next_part(&note);
    scoped(arena_free) struct arena *a = arena_new(MEMORY);
    struct frontmatter f, none;
    read_whole(note, a, &f);
    read_whole(STR(""), a, &none);
    check_join(&f, f.body, false, a);
    check_join(&f, note, false, a);
    check_join(&f, note, true, a);
    check_join(&none, note, false, a);

    struct err e = {0};
    struct frontmatter_change given = {key, json_read(text, a, &e)};
    if (!given.value || !str_is_utf8(key) || !yml_can_write(key, given.value, &e))
        given.value = NULL;
    check_edits(&f, &given, a);
    return 0;
}
