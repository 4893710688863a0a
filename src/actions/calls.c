/* The table of host calls, and how one is performed. To add one: a row here and
 * its function. */
#include <stdio.h>

#include "actions/internal.h"

#define ARGS_MAX ((size_t)256 << 20) /* working memory of one call's arguments */

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
    scoped(arena_free) struct arena *a = arena_new(ARGS_MAX);
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

/* An argument that is an object, such as {type, title}; NULL and ERR_INVALID. */
static const struct json *options_of(const struct json *args, const char *call,
                                     struct err *e)
{
    const struct json *v = json_at(args, 0);
    if (json_is(v, JSON_OBJECT))
        return v;
    err_set(e, ERR_INVALID, "%s needs an object with its options, not %s", call,
            json_type_name(json_type(v)));
    return NULL;
}

static struct str name_of(const struct json *v)
{
    return json_str(json_is(v, JSON_OBJECT) ? json_get(v, "identifier") : v);
}

/* ---- notes -------------------------------------------------------------- */

static bool call_get(struct evaluation *v, const struct json *args,
                     struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v->actions, e);
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
    scoped(arena_free) struct arena *a = arena_new(ARGS_MAX);
    const struct json *made =
        json_read((struct str){out->at + from, out->n - from}, a, &none);
    scoped_buf struct buf note;
    buf_init(&note, ARGS_MAX);
    struct json_writer w = json_writer(&note);
    const struct json *id = json_get(made, "id");
    if (id && notes_get(vault, id, &w, &none))
        remember(v, json_str(id), &note, 0);
}

static bool call_create(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v->actions, e);
    const struct json *o = options_of(args, "notes.create", e);
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
    buf_init(&text, ARGS_MAX / 4);
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
    struct vault *vault = actions_vault(v->actions, e);
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
    scoped(arena_free) struct arena *a = arena_new(ARGS_MAX);
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
    struct vault *vault = actions_vault(v->actions, e);
    return vault && notes_delete(vault, json_at(args, 0), out, e);
}

static bool call_list(struct evaluation *v, const struct json *args,
                      struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v->actions, e);
    return vault && notes_list(vault, json_at(args, 0), out, e);
}

static bool call_search(struct evaluation *v, const struct json *args,
                        struct json_writer *out, struct err *e)
{
    struct vault *vault = actions_vault(v->actions, e);
    return vault && notes_search(vault, json_at(args, 0), out, e);
}

/* ---- the table ---------------------------------------------------------- */

/* Code of the guest's own: nothing in it needs the host. */
static const char generate_id[] =
    "() => { const b = crypto.getRandomValues(new Uint8Array(10));"
    " return Array.from(b, (x) => (x % 36).toString(36)).join(''); }";
static const char parse_links[] =
    "(content) => Array.from(String(content).matchAll(/\\[\\[([^\\]]+)\\]\\]/g), (m) => m[1])";
static const char format_date[] =
    "(date = new Date(), pattern) => {"
    " const d = new Date(date);"
    " if (Number.isNaN(d.getTime()))"
    "  throw new RangeError(`formatDate: '${date}' is no date; an ISO text or a Date is`);"
    " if (pattern === undefined) return d.toISOString();"
    " const two = (n) => String(n).padStart(2, '0');"
    " const parts = { YYYY: String(d.getUTCFullYear()).padStart(4, '0'),"
    "  MM: two(d.getUTCMonth() + 1), DD: two(d.getUTCDate()), HH: two(d.getUTCHours()),"
    "  mm: two(d.getUTCMinutes()), ss: two(d.getUTCSeconds()),"
    "  SSS: String(d.getUTCMilliseconds()).padStart(3, '0') };"
    " return String(pattern).replace(/YYYY|MM|DD|HH|mm|SSS|ss/g, (part) => parts[part]); }";
static const char sanitize_title[] =
    "(title) => String(title).replace(/[^\\p{L}\\p{N}\\s-]/gu, '').trim()";

const struct host_call host_calls[] = {
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
    {{.name = "utils.generateId", .source = generate_id},
     "(): string",
     "a new random id",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.parseLinks", .source = parse_links},
     "(content): string[]",
     "what stands inside [[...]]",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.formatDate", .source = format_date},
     "(date, pattern?): string",
     "ISO 8601, or by a pattern such as 'YYYY-MM-DD HH:mm' (UTC)",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.sanitizeTitle", .source = sanitize_title},
     "(title): string",
     "letters, digits, spaces and hyphens only",
     NULL,
     LEVEL_ZERO},
};
const size_t host_call_count = LENGTH(host_calls);

/* ---- performing --------------------------------------------------------- */

void evaluation_init(struct evaluation *v, const struct action_call *c,
                     const struct json *allowed)
{
    *v = (struct evaluation){.actions = c->actions,
                             .who = c->who,
                             .allowed = allowed,
                             .arena = arena_new((size_t)16 << 20)};
    pthread_mutex_init(&v->lock, NULL);
}

void evaluation_done(struct evaluation *v)
{
    pthread_mutex_destroy(&v->lock);
    arena_free(v->arena);
}

/* "notes.get", "notes", "notes.*" or "*"; the seed's notes.save is create and
 * update. */
static bool pattern_fits(struct str pattern, const char *call)
{
    if (str_is(pattern, call) || str_is(pattern, "*"))
        return true;
    if (str_is(pattern, "notes.save"))
        return !strcmp(call, "notes.create") || !strcmp(call, "notes.update");
    if (str_ends(pattern, ".*"))
        pattern.n -= 2;
    const char *dot = strchr(call, '.');
    return dot && str_eq(pattern, (struct str){call, (size_t)(dot - call)});
}

static bool is_listed(const struct json *allowed, const char *call)
{
    if (!allowed)
        return true;
    struct json_iter it = json_iter(allowed);
    while (json_next(&it))
        if (pattern_fits(json_str(it.value), call))
            return true;
    return false;
}

bool allowed_check(const struct json *allowed, struct err *e)
{
    struct json_iter it = json_iter(allowed);
    while (json_next(&it)) {
        bool known = false;
        for (size_t i = 0; i < host_call_count && !known; i++)
            known = pattern_fits(json_str(it.value), host_calls[i].row.name);
        if (!known)
            return err_set(
                e, ERR_INVALID,
                "allowedAPIs: there is no '%.*s'; a method such as 'notes.get' or "
                "a namespace such as 'utils' is accepted",
                STR_ARGS(str_cut(json_str(it.value), 60)));
    }
    return true;
}

bool level_allows(enum level level, const char *call)
{
    for (size_t i = 0; i < host_call_count; i++)
        if (!strcmp(host_calls[i].row.name, call))
            return level <= host_calls[i].level;
    return false;
}

static bool check_permission(struct evaluation *v, const struct host_call *c,
                             struct err *e)
{
    if (v->who->level > c->level)
        return err_set(e, ERR_DENIED, "%s is not allowed at the level '%s'", c->row.name,
                       level_limits(v->who->level)->name);
    if (!is_listed(v->allowed, c->row.name))
        return err_set(e, ERR_DENIED, "%s is not among this call's allowedAPIs",
                       c->row.name);
    return true;
}

bool host_perform(void *arg, uint32_t row, struct str args, struct buf *out,
                  struct err *e)
{
    struct evaluation *v = arg;
    const struct host_call *c = &host_calls[row];
    if (!c->call)
        return err_set(e, ERR_NOT_FOUND, "%s is no call to the host", c->row.name);
    if (!check_permission(v, c, e))
        return false;
    scoped(arena_free) struct arena *a = arena_new(ARGS_MAX);
    const struct json *values = json_read(args, a, e);
    if (!values)
        return err_wrap(e, "%s", c->row.name);
    struct json_writer w = json_writer(out);
    return c->call(v, values, &w, e);
}
