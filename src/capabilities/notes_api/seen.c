/* The versions of notes that an evaluation has read, so that code need not pass
 * hashes. */
#include "calls/calls.h"
#include "notes_api/internal.h"
#include "notes_api/notes_api.h"

/* The version of a note that code read last: notes.update without a hash means this
 * one. */
struct seen {
    struct seen *next;
    unsigned vault;             /* its number */
    struct str id, path, asked; /* `asked`: the name that the code used */
    struct str hash;
    struct str list; /* its subnotes as JSON, as the code read them */
    struct relisted *relisted;
};

/* A version that differs from `seen.hash` only in the list of subnotes, which this
 * evaluation itself has changed since. */
struct relisted {
    struct relisted *next;
    struct str hash, list;
};

/* A copy in the evaluation's arena; empty if that is full. */
static struct str seen_copy(struct evaluation *v, struct str s)
{
    struct err full = {0};
    const char *copy = arena_copy(v->arena, s.at, s.n, &full);
    return copy ? (struct str){copy, s.n} : (struct str){"", 0};
}

static void keep_new(struct evaluation *v, struct str *old, struct str now)
{
    if (!str_eq(*old, now))
        *old = seen_copy(v, now);
}

static struct seen *find_seen(struct evaluation *v, struct str name)
{
    struct seen *s = name.n ? *evaluation_part(v, &notes_capability) : NULL;
    unsigned vault = atomic_load(&v->vault);
    while (s && (s->vault != vault || (!str_eq(s->id, name) && !str_eq(s->path, name) &&
                                       !str_eq(s->asked, name))))
        s = s->next;
    return s;
}

static struct seen *find_or_add(struct evaluation *v, struct str id)
{
    struct err full = {0};
    struct seen *s = find_seen(v, id);
    if (!s && (s = arena_get(v->arena, sizeof *s, &full))) {
        s->next = *evaluation_part(v, &notes_capability);
        s->vault = atomic_load(&v->vault);
        *evaluation_part(v, &notes_capability) = s;
    }
    return s;
}

struct str work_seen(const struct work *w, struct str note)
{
    return seen_hash(work_evaluation(w), note);
}

void seen_note(struct calling *x, bool made)
{
    const struct json *first = json_at(x->args, 0);
    struct str asked =
        json_str(json_is(first, JSON_OBJECT) ? json_get(first, "identifier") : first);
    pthread_mutex_lock(&x->v->lock);
    for (const struct effect_row *r = x->outcome.known; r; r = r->next) {
        const struct effect *e = &r->of;
        struct seen *s = made || e->known ? find_or_add(x->v, e->id) : NULL;
        if (!s)
            continue;
        if (!str_eq(s->hash, e->after))
            s->relisted = NULL;
        if (e->list.at)
            keep_new(x->v, &s->list, e->list);
        keep_new(x->v, &s->id, e->id);
        keep_new(x->v, &s->path, e->path);
        keep_new(x->v, &s->asked, asked);
        keep_new(x->v, &s->hash, e->after);
    }
    pthread_mutex_unlock(&x->v->lock);
}

/* The parent has a new hash; what the code has read stays valid but for the list. */
void seen_relisted(struct calling *x)
{
    struct err full = {0};
    const struct effect_row *row = x->outcome.known;
    if (!row || row->of.deed == EFFECT_READ)
        return;
    pthread_mutex_lock(&x->v->lock);
    struct seen *s = find_seen(x->v, row->of.id);
    bool known = s && str_eq(s->hash, row->of.before);
    struct relisted *r = known ? arena_get(x->v->arena, sizeof *r, &full) : NULL;
    if (r) {
        *r = (struct relisted){s->relisted, s->hash, s->list};
        s->relisted = r;
        s->hash = seen_copy(x->v, row->of.after);
    }
    pthread_mutex_unlock(&x->v->lock);
}

struct str seen_hash(struct evaluation *v, struct str name)
{
    pthread_mutex_lock(&v->lock);
    const struct seen *s = find_seen(v, name);
    struct str hash = s ? s->hash : (struct str){"", 0};
    pthread_mutex_unlock(&v->lock);
    return hash;
}

/* The members that an update's options lack. */
struct completion {
    struct str hash;               /* empty: as given */
    const struct json *stale_list; /* the subnotes before a change */
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

/* {...note.metadata, more} of a note that was read before the hierarchy changed must not
 * revert that change. */
static void metadata_put(struct json_writer *w, const struct json *metadata,
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

/* The options with what the caller may leave out: the identifier of
 * notes.update(identifier, patch), and the hash that was read last. */
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
            metadata_put(&w, it.value, c.stale_list);
        else
            json_put(&w, it.value);
    }
    json_close(&w);
    return buf_check(&text, "the update", e) ? json_read(buf_view(&text), a, e) : NULL;
}
