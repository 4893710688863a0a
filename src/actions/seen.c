/* What an evaluation has read of notes, so that its code need not hand hashes on. */
#include "actions/internal.h"

/* The version of each note that the code has seen last: notes.update without a
 * hash of its own means that one. */
struct seen {
    struct seen *next;
    unsigned vault;             /* its number */
    struct str id, path, asked; /* `asked`: what the code called it */
    struct str hash;
};

/* A copy in the evaluation's arena, or nothing where it is full. */
static struct str keep(struct evaluation *v, struct str s)
{
    struct err full = {0};
    const char *copy = arena_copy(v->arena, s.at, s.n, &full);
    return copy ? (struct str){copy, s.n} : (struct str){"", 0};
}

static void keep_new(struct evaluation *v, struct str *old, struct str now)
{
    if (!str_eq(*old, now))
        *old = keep(v, now);
}

static struct seen *find_seen(struct evaluation *v, struct str name)
{
    struct seen *s = name.n ? v->seen : NULL;
    unsigned vault = atomic_load(&v->vault);
    while (s && (s->vault != vault || (!str_eq(s->id, name) && !str_eq(s->path, name) &&
                                       !str_eq(s->asked, name))))
        s = s->next;
    return s;
}

/* Notes the hash in what get or update has just answered: the text behind
 * `from` in `out`. Best effort: without it the code is asked for a hash. */
void seen_note(struct evaluation *v, struct str asked, const struct buf *out, size_t from)
{
    struct err full = {0};
    struct str text = {out->at + from, out->n - from};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *note = json_read(text, a, &full);
    struct str id = json_str(json_get(note, "id"));
    if (!id.n)
        id = json_str(json_get(note, "new_id"));
    if (!id.n)
        return;
    pthread_mutex_lock(&v->lock);
    struct seen *s = find_seen(v, id);
    if (!s && (s = arena_get(v->arena, sizeof *s, &full))) {
        s->next = v->seen;
        s->vault = atomic_load(&v->vault);
        v->seen = s;
    }
    if (s) {
        keep_new(v, &s->id, id);
        if (json_get(note, "path"))
            keep_new(v, &s->path, json_str(json_get(note, "path")));
        keep_new(v, &s->asked, asked);
        keep_new(v, &s->hash, json_str(json_get(note, "content_hash")));
    }
    pthread_mutex_unlock(&v->lock);
}

/* What the code has just made counts as read: it may go on to change it. */
void seen_made(struct evaluation *v, struct vault *vault, const struct buf *out,
               size_t from)
{
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *made =
        json_read((struct str){out->at + from, out->n - from}, a, &none);
    scoped_buf struct buf note;
    buf_init(&note, CALL_ARGS_MAX);
    struct json_writer w = json_writer(&note);
    const struct json *id = json_get(made, "id");
    if (id && notes_get(vault, id, &w, &none))
        seen_note(v, json_str(id), &note, 0);
}

/* The options as they came, with what the caller may leave out: the identifier
 * of notes.update(identifier, patch), and the hash that was read last. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e)
{
    bool given = json_get(o, "contentHash") || json_get(o, "content_hash");
    struct str hash = {0};
    pthread_mutex_lock(&v->lock);
    struct seen *s = given ? NULL : find_seen(v, name);
    if (s)
        hash = s->hash;
    pthread_mutex_unlock(&v->lock);
    if (!hash.n && json_get(o, "identifier"))
        return o;

    scoped_buf struct buf text;
    buf_init(&text, CALL_ARGS_MAX / 4);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    if (!json_get(o, "identifier"))
        json_pair_str(&w, "identifier", name);
    if (hash.n)
        json_pair_str(&w, "contentHash", hash);
    struct json_iter it = json_iter(o);
    while (json_next(&it)) {
        json_key_str(&w, it.key);
        json_put(&w, it.value);
    }
    json_close(&w);
    return buf_check(&text, "the update", e) ? json_read(buf_view(&text), a, e) : NULL;
}
