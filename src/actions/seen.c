/* What an evaluation has read of notes, so that its code need not hand hashes on. */
#include "actions/calls.h"

/* The version of each note that the code has seen last: notes.update without a
 * hash of its own means that one. */
struct seen {
    struct seen *next;
    unsigned vault;             /* its number */
    struct str id, path, asked; /* `asked`: what the code called it */
    struct str hash;
    struct str list; /* its subnotes as JSON, as the code has read them */
    struct relisted *relisted;
};

/* A version that differs from `seen.hash` only in the list of subnotes, which this
 * evaluation itself has changed since. */
struct relisted {
    struct relisted *next;
    struct str hash, list;
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

static void keep_list(struct evaluation *v, struct seen *s, const struct json *metadata)
{
    scoped_buf struct buf list;
    buf_init(&list, 1u << 20);
    if (!json_is(metadata, JSON_OBJECT))
        return;
    struct json_writer w = json_writer(&list);
    json_put(&w, json_get(metadata, "subnotes"));
    if (!list.failed)
        keep_new(v, &s->list, buf_view(&list));
}

#define CONTENT ",\"content\":\""

/* Of a quote in a string, which a quote begins: do backslashes before it pair up? */
static bool is_escaped(const char *quote)
{
    const char *p = quote;
    while (p[-1] == '\\')
        p--;
    return (quote - p) % 2;
}

/* An answer without a note's content, most of it, which is not asked for here. Within a
 * string a quote stands behind a backslash: this is a member, and where it ends is seen. */
static struct str without_content(struct str text, struct buf *out)
{
    const char *end = text.at + text.n;
    const char *from = memmem(text.at, text.n, CONTENT, strlen(CONTENT));
    const char *p = from ? from + strlen(CONTENT) : end;
    while ((p = memchr(p, '"', (size_t)(end - p))) && is_escaped(p))
        p++;
    if (!p)
        return text;
    buf_put(out, text.at, (size_t)(from - text.at));
    buf_put(out, p + 1, (size_t)(end - p - 1));
    return buf_view(out);
}

/* Notes the hash in what get or update has just answered: the text behind
 * `from` in `out`. Best effort: without it the code is asked for a hash. */
void seen_note(struct evaluation *v, struct str asked, const struct buf *out, size_t from)
{
    struct err full = {0};
    struct str text = {out->at + from, out->n - from};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    scoped_buf struct buf lean;
    buf_init(&lean, CALL_ARGS_MAX);
    const struct json *note = json_read(without_content(text, &lean), a, &full);
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
        if (!str_eq(s->hash, json_str(json_get(note, "content_hash"))))
            s->relisted = NULL;
        keep_list(v, s, json_get(note, "metadata"));
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

/* A change of the hierarchy, whose answer stands behind `from`, has given the parent a
 * new hash; what the code has read of it before stays good but for the list. */
void seen_relisted(struct evaluation *v, const struct buf *out, size_t from)
{
    struct err full = {0};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *done =
        json_read((struct str){out->at + from, out->n - from}, a, &full);
    struct str before = json_str(json_get(done, "previous_hash"));
    struct str now = json_str(json_get(done, "content_hash"));
    if (!before.n || !now.n || str_eq(before, now))
        return;
    pthread_mutex_lock(&v->lock);
    struct seen *s = find_seen(v, json_str(json_get(done, "parentId")));
    bool known = s && str_eq(s->hash, before);
    struct relisted *r = known ? arena_get(v->arena, sizeof *r, &full) : NULL;
    if (r) {
        *r = (struct relisted){s->relisted, s->hash, s->list};
        s->relisted = r;
        s->hash = keep(v, now);
    }
    pthread_mutex_unlock(&v->lock);
}

struct str seen_hash(struct evaluation *v, struct str name)
{
    pthread_mutex_lock(&v->lock);
    const struct seen *s = find_seen(v, name);
    struct str hash = s ? s->hash : (struct str){"", 0};
    pthread_mutex_unlock(&v->lock);
    return hash;
}

/* What an update has to say besides what was given. */
struct completion {
    struct str hash;               /* empty: as given */
    const struct json *stale_list; /* subnotes as they were before a change */
};

static struct completion complete(struct evaluation *v, const struct json *o,
                                  struct str name, struct arena *a)
{
    struct completion c = {0};
    struct err none = {0};
    struct str given = json_str(
        json_get(o, json_get(o, "contentHash") ? "contentHash" : "content_hash"));
    pthread_mutex_lock(&v->lock);
    struct seen *s = find_seen(v, name);
    struct relisted *r = s ? s->relisted : NULL;
    while (r && given.n && !str_eq(r->hash, given))
        r = r->next;
    if (s && (r || !given.n))
        c.hash = s->hash;
    if (r)
        c.stale_list = json_read(given.n ? r->list : s->list, a, &none);
    pthread_mutex_unlock(&v->lock);
    return c;
}

/* {...note.metadata, more} of a note that was read before the hierarchy was changed
 * must not change it back. */
static void put_metadata(struct json_writer *w, const struct json *metadata,
                         const struct json *stale)
{
    const struct json *list = json_get(metadata, "subnotes");
    bool spread = stale && list && json_length(metadata) > 1 && json_equal(list, stale);
    if (!spread) {
        json_put(w, metadata);
        return;
    }
    struct json_iter it = json_iter(metadata);
    json_open_object(w);
    while (json_next(&it))
        if (it.value != list) {
            json_key_str(w, it.key);
            json_put(w, it.value);
        }
    json_close(w);
}

/* The options as they came, with what the caller may leave out: the identifier
 * of notes.update(identifier, patch), and the hash that was read last. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e)
{
    struct completion c = complete(v, o, name, a);
    if (!c.hash.n && json_get(o, "identifier"))
        return o;

    scoped_buf struct buf text;
    buf_init(&text, CALL_ARGS_MAX / 4);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    if (!json_get(o, "identifier"))
        json_pair_str(&w, "identifier", name);
    if (c.hash.n)
        json_pair_str(&w, "contentHash", c.hash);
    struct json_iter it = json_iter(o);
    while (json_next(&it)) {
        bool hash = str_is(it.key, "contentHash") || str_is(it.key, "content_hash");
        if (c.hash.n && hash)
            continue;
        json_key_str(&w, it.key);
        if (str_is(it.key, "metadata"))
            put_metadata(&w, it.value, c.stale_list);
        else
            json_put(&w, it.value);
    }
    json_close(&w);
    return buf_check(&text, "the update", e) ? json_read(buf_view(&text), a, e) : NULL;
}
