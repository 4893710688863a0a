/* The host calls notes.*: single notes and searches. */
#include "actions/internal.h"

/* ---- what an evaluation has read ---------------------------------------- */

/* The version of each note that the code has seen last: notes.update without a
 * hash of its own means that one. */
struct seen {
    struct seen *next;
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
    while (s && !str_eq(s->id, name) && !str_eq(s->path, name) && !str_eq(s->asked, name))
        s = s->next;
    return s;
}

/* Notes the hash in what get or update has just answered: the text behind
 * `from` in `out`. Best effort: without it the code is asked for a hash. */
static void remember(struct evaluation *v, struct str asked, const struct buf *out,
                     size_t from)
{
    struct err full = {0};
    struct str text = {out->at + from, out->n - from};
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    const struct json *note = json_read(text, a, &full);
    struct str id = json_str(json_get(note, "id"));
    if (!id.n)
        return;
    pthread_mutex_lock(&v->lock);
    struct seen *s = find_seen(v, id);
    if (!s && (s = arena_get(v->arena, sizeof *s, &full))) {
        s->next = v->seen;
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

/* ---- arguments ---------------------------------------------------------- */

static struct str name_of(const struct json *v)
{
    return json_str(json_is(v, JSON_OBJECT) ? json_get(v, "identifier") : v);
}

/* ---- notes -------------------------------------------------------------- */

static bool call_get(struct evaluation *v, const struct json *args,
                     struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    const struct json *identifier = json_at(args, 0);
    size_t from = out->out->n;
    if (!vault || !notes_get(vault, identifier, out, e))
        return false;
    remember(v, name_of(identifier), out->out, from);
    return true;
}

/* What the code has just made counts as read: it may go on to change it. */
static void remember_new(struct evaluation *v, struct vault *vault, const struct buf *out,
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
        remember(v, json_str(id), &note, 0);
}

static bool call_create(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    const struct json *o = call_options(args, "notes.create", e);
    size_t from = out->out->n;
    if (!vault || !o || !notes_create(vault, o, out, e))
        return false;
    remember_new(v, vault, out->out, from);
    return true;
}

/* The options as they came, with what the caller may leave out: the identifier
 * of notes.update(identifier, patch), and the hash that was read last. */
static const struct json *complete_update(struct evaluation *v, const struct json *o,
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

/* notes.update(options), or notes.update(identifier, patch). */
static bool call_update(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    const struct json *first = json_at(args, 0);
    const struct json *o = json_is(first, JSON_STRING) ? json_at(args, 1) : first;
    struct str name = name_of(first);
    if (!vault)
        return false;
    struct str second = json_str(json_get(o, "identifier"));
    if (o != first && second.n && !str_eq(second, name))
        return err_set(e, ERR_INVALID, "notes.update names two notes; once is enough");
    if (!json_is(o, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "notes.update needs an object with what changes, not %s",
                       json_type_name(json_type(o)));
    scoped(arena_free) struct arena *a = arena_new(CALL_ARGS_MAX);
    size_t from = out->out->n;
    o = complete_update(v, o, name, a, e);
    if (!o || !notes_update(vault, o, out, e))
        return false;
    remember(v, name, out->out, from);
    return true;
}

static bool call_delete(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    return vault && notes_delete(vault, json_at(args, 0), out, e);
}

static bool call_list(struct evaluation *v, const struct json *args,
                      struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    return vault && notes_list(vault, json_at(args, 0), out, e);
}

static bool call_search(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v, e);
    return vault && notes_search(vault, json_at(args, 0), out, e);
}

/* ---- the rows ----------------------------------------------------------- */

static const struct host_call rows[] = {
    {{.name = "notes.create", .writes = true},
     "({type, title, content, metadata?}): Promise<{id, type, title, filename, path, created}>",
     "creates a note; Conflict if its name is taken",
     call_create,
     LEVEL_LIMITED},
    {{.name = "notes.get"},
     "(identifier): Promise<{id, title, content, metadata, content_hash, links, type, "
     "created, updated, path} | null>",
     "one note by id ('type/name'), uid, path or unique title",
     call_get,
     LEVEL_ZERO},
    {{.name = "notes.update", .writes = true},
     "({identifier, content?, contentHash?, metadata?}): Promise<{id, updated, timestamp}>",
     "replaces the body and merges metadata (null removes a key); Conflict if the note "
     "changed since contentHash, or since this code last read it",
     call_update,
     LEVEL_LIMITED},
    {{.name = "notes.delete", .writes = true},
     "({identifier, confirm?}): Promise<{id, deleted, timestamp, backup_path?, warnings?}>",
     "moves a note to the trash; refuses where others link to it, unless confirm",
     call_delete,
     LEVEL_FULL},
    {{.name = "notes.list"},
     "({typeName?, limit?, cursor?, fields?}?): Promise<{id, title, type, created, updated, "
     "size, tags, path}[]>",
     "newest first",
     call_list,
     LEVEL_ZERO},
    {{.name = "notes.search", .slow = true},
     "({query, typeFilter?, limit?, useRegex?}): Promise<{id, note_id, title, excerpt, score, "
     "type, created}[]>",
     "full text, best first",
     call_search,
     LEVEL_FULL},
};
const struct host_call_group notes_calls = {rows, LENGTH(rows)};
