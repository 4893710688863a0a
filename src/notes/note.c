/* Single notes: create, get, update, delete. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "notes/index.h"
#include "notes/markdown.h"
#include "notes/name.h"

#define PARSE_MAX (64u << 20) /* bytes of working memory for one note */
#define FILE_MODE 0666        /* less the umask */

static void pair_time(struct json_writer *w, const char *key, int64_t ms)
{
    char text[25];
    os_format_utc(ms, text);
    json_pair_cstr(w, key, text);
}

static void pair_id(struct vault *v, struct json_writer *w, struct str path)
{
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    vault_put_id(v, path, &id);
    json_pair_str(w, "id", buf_view(&id));
}

static bool no_such_note(struct str identifier, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "there is no note \"%.*s\"; an identifier is an id "
                   "(\"type/name\"), a uid, a path or an exact title",
                   STR_ARGS(str_cut(identifier, 100)));
}

/* ---- get ---------------------------------------------------------------- */

static void put_link(void *arg, const struct link *l)
{
    struct json_writer *w = arg;
    json_open_object(w);
    json_pair_str(w, "target", l->target);
    json_pair_str(w, "label", l->label);
    json_pair_cstr(w, "kind", link_kind_name(l->kind));
    json_pair_int(w, "line", (int64_t)l->line);
    json_close(w);
}

static void put_note(struct vault *v, const struct note *n, struct json_writer *w)
{
    json_open_object(w);
    pair_id(v, w, n->path);
    json_key(w, "uid");
    if (n->uid.n)
        json_put_str(w, n->uid);
    else
        json_put_null(w);
    json_pair_str(w, "title", n->title);
    json_pair_str(w, "content", n->front.body);
    json_key(w, "metadata");
    note_put_metadata(n, w);
    json_pair_cstr(w, "content_hash", n->hash);
    json_key(w, "links");
    json_open_array(w);
    markdown_links(n->front.body, put_link, w);
    json_close(w);
    json_pair_str(w, "type", name_type(n->path));
    pair_time(w, "created", n->created_ms);
    pair_time(w, "updated", n->updated_ms);
    json_pair_str(w, "path", n->path);
    json_pair_str(w, "filename", name_file(n->path));
    json_pair_int(w, "size", (int64_t)n->bytes.n);
    json_key(w, "tags");
    note_put_tags(n, w);
    if (n->front.state == FRONTMATTER_BROKEN)
        json_pair_cstr(w, "frontmatter_error", n->front.error);
    json_close(w);
}

bool notes_get(struct vault *v, const struct json *identifier, struct json_writer *out,
               struct err *e)
{
    static const char *const keys[] = {"identifier", NULL};
    struct str wanted;
    if (json_is(identifier, JSON_OBJECT) &&
        !options_check(identifier, "notes.get", keys, e))
        return false;
    if (!options_identifier(identifier, &wanted, e))
        return false;

    char path[PATH_MAX];
    bool found;
    scoped_buf struct buf bytes;
    buf_init(&bytes, NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    if (!vault_resolve(v, wanted, path, &found, e))
        return false;
    if (found && !vault_read(v, path, &bytes, &st, &found, e))
        return false;
    if (!found) {
        json_put_null(out);
        return true;
    }
    scoped(arena_free) struct arena *a = arena_new(PARSE_MAX);
    struct note n;
    if (!note_parse(str_of(path), buf_view(&bytes), &st, a, &n, e))
        return false;
    put_note(v, &n, out);
    return buf_check(out->out, "the note", e);
}

/* ---- metadata that is given --------------------------------------------- */

/* Is each key one that may be given, and each value one that can be written?
 * `refused` ends with NULL. */
static bool check_metadata(const struct json *metadata, const char *const *refused,
                           struct err *e)
{
    if (!metadata || json_is(metadata, JSON_NULL))
        return true;
    if (!json_is(metadata, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "metadata must be an object, not a value of type "
                       "%s",
                       json_type_name(json_type(metadata)));
    struct json_iter it = json_iter(metadata);
    while (json_next(&it)) {
        for (size_t i = 0; refused[i]; i++)
            if (str_is(it.key, refused[i]))
                return err_set(e, ERR_INVALID,
                               "metadata may not hold the key \"%s\": it "
                               "is kept by the vault itself",
                               refused[i]);
        int64_t ms;
        if (str_is(it.key, "created") && !json_is(it.value, JSON_NULL) &&
            !name_date(json_str(it.value), &ms))
            return err_set(e, ERR_INVALID,
                           "metadata.created must be a date such as "
                           "\"2026-11-21T05:16:00Z\"");
        if (str_is(it.key, "title") && !json_is(it.value, JSON_NULL) &&
            str_trim(json_str(it.value)).n == 0)
            return err_set(e, ERR_INVALID,
                           "metadata.title must be a string that is not "
                           "empty");
        if (!yml_can_write(it.key, it.value, e))
            return false;
    }
    return true;
}

/* ---- create ------------------------------------------------------------- */

struct creation {
    struct str type, title, content;
    const struct json *metadata;
    char path[PATH_MAX];
    char now[25];
};

static bool read_creation(const struct json *o, struct creation *c, struct err *e)
{
    static const char *const keys[] = {"type",    "type_id",  "title",
                                       "content", "metadata", NULL};
    static const char *const refused[] = {"id", "type", "title", "updated", NULL};
    if (!options_check(o, "notes.create", keys, e) ||
        !options_str(o, "type", "type_id", &c->type, e) ||
        !options_str(o, "title", NULL, &c->title, e) ||
        !options_str(o, "content", NULL, &c->content, e))
        return false;
    c->metadata = json_get(o, "metadata");
    if (!check_metadata(c->metadata, refused, e))
        return false;
    if (!json_get(o, "type") && !json_get(o, "type_id"))
        c->type = STR("note");
    if (!name_is_type(c->type))
        return err_set(e, ERR_INVALID,
                       "type \"%.*s\" is no name of one folder: letters, "
                       "digits, spaces and signs other than / \\ : * ? \" < > | # ^ [ ], "
                       "no dot at the head",
                       STR_ARGS(str_cut(c->type, 60)));
    if (c->content.n > NOTE_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "content is %zu bytes; notes may have at most %u",
                       c->content.n, NOTE_SIZE_MAX);
    scoped_buf struct buf name;
    buf_init(&name, 512);
    if (!name_from_title(c->title, &name))
        return err_set(e, ERR_INVALID,
                       "title must be a string with at least one letter, "
                       "digit or sign that a file name may have");
    (void)snprintf(c->path, sizeof c->path, "%.*s/%s.md", STR_ARGS(c->type),
                   buf_cz(&name));
    return true;
}

static void put_created(const struct creation *c, struct buf *out)
{
    unsigned char random[8];
    char uid[20] = "n-";
    os_random(random, sizeof random);
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(uid + 2 + 2 * i, 3, "%02x", random[i]);
    scoped_buf struct buf title;
    buf_init(&title, NAME_TITLE_MAX);
    name_put_title(c->title, &title);
    const struct json *created = json_get(c->metadata, "created");

    buf_cstr(out, "---\n");
    yml_put_string(out, 0, "\n", "id", str_of(uid));
    yml_put_string(out, 0, "\n", "type", c->type);
    yml_put_string(out, 0, "\n", "title", buf_view(&title));
    yml_put_string(out, 0, "\n", "created",
                   json_is(created, JSON_STRING) ? json_str(created) : str_of(c->now));
    yml_put_string(out, 0, "\n", "updated", str_of(c->now));
    const struct json *tags = json_get(c->metadata, "tags");
    if (tags && !json_is(tags, JSON_NULL))
        yml_put_pair(out, 0, "\n", STR("tags"), tags);
    struct json_iter it = json_iter(c->metadata);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) && !str_is(it.key, "tags") &&
            !str_is(it.key, "created"))
            yml_put_pair(out, 0, "\n", it.key, it.value);
    buf_cstr(out, "---\n\n");
    buf_str(out, c->content);
}

/* What is written must be read back as it was given. */
static bool check_created(const struct creation *c, struct str bytes, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(PARSE_MAX);
    struct frontmatter f;
    if (!frontmatter_read(bytes, a, &f, e))
        return false;
    bool ok = f.state == FRONTMATTER_GOOD && str_eq(f.body, c->content);
    struct json_iter it = json_iter(c->metadata);
    while (ok && json_next(&it))
        ok = json_is(it.value, JSON_NULL) ||
             json_equal(it.value, json_get_str(f.yml.all, it.key));
    return ok || err_set(e, ERR_INVALID, "metadata cannot be kept as YAML: %.200s",
                         f.error[0] ? f.error : "it would be read back differently");
}

static bool taken(struct vault *v, const struct creation *c, struct str path,
                  struct err *e)
{
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    vault_put_id(v, path, &id);
    return err_set(e, ERR_CONFLICT,
                   "a note of that name exists: its id is \"%s\". Take "
                   "another title than \"%.*s\", or update that note",
                   buf_cz(&id), STR_ARGS(str_cut(c->title, 60)));
}

bool notes_create(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    struct creation c = {0};
    if (!read_creation(options, &c, e))
        return false;
    struct str path = str_of(c.path), file = name_file(path);
    if (str_is(c.type, "note") && vault_has(v, file))
        return taken(v, &c, file, e);
    if (vault_has(v, path))
        return taken(v, &c, path, e);

    int64_t now = os_real_ms();
    os_format_utc(now, c.now);
    scoped_buf struct buf bytes;
    buf_init(&bytes, NOTE_SIZE_MAX);
    put_created(&c, &bytes);
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%.*s", STR_ARGS(c.type));
    if (!buf_check(&bytes, "the note", e) || !check_created(&c, buf_view(&bytes), e) ||
        !os_make_dirs(v->dir, folder, e))
        return false;
    struct err why = {0};
    if (!os_write_file(v->dir, c.path, buf_view(&bytes), OS_CREATE, FILE_MODE, NULL,
                       &why))
        return why.code == ERR_CONFLICT ? taken(v, &c, path, e)
                                        : err_set(e, why.code, "%s", why.msg);

    int64_t created = now;
    (void)name_date(json_str(json_get(c.metadata, "created")), &created);
    scoped_buf struct buf title;
    buf_init(&title, NAME_TITLE_MAX);
    name_put_title(c.title, &title);
    json_open_object(out);
    pair_id(v, out, path);
    json_pair_str(out, "type", c.type);
    json_pair_str(out, "title", buf_view(&title));
    json_pair_str(out, "filename", file);
    json_pair_str(out, "path", path);
    pair_time(out, "created", created);
    json_close(out);
    return true;
}

/* ---- update ------------------------------------------------------------- */

struct revision {
    struct str identifier, hash;
    const struct json *content; /* NULL: stays */
    const struct json *metadata;
    bool force;
    char now[25];
};

static bool read_revision(const struct json *o, struct revision *r, struct err *e)
{
    static const char *const keys[] = {"identifier",   "content",  "contentHash",
                                       "content_hash", "metadata", "force",
                                       "dry_run",      NULL};
    static const char *const refused[] = {"id", "type", "updated", NULL};
    struct str content;
    bool dry;
    if (!options_check(o, "notes.update", keys, e) ||
        !options_identifier(o, &r->identifier, e) ||
        !options_str(o, "contentHash", "content_hash", &r->hash, e) ||
        !options_str(o, "content", NULL, &content, e) ||
        !options_bool(o, "force", &r->force, e) || !options_bool(o, "dry_run", &dry, e))
        return false;
    const struct json *given = json_get(o, "content");
    r->content = json_is(given, JSON_STRING) ? given : NULL;
    r->metadata = json_get(o, "metadata");
    if (!check_metadata(r->metadata, refused, e))
        return false;
    if (!r->content && !json_is(r->metadata, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "nothing to update: give content (a string), "
                       "metadata (an object), or both");
    return true;
}

/* "abc" or "sha256:abc", in any case. */
static bool same_hash(struct str given, const char *hash)
{
    struct str full = str_of(hash), bare = {full.at + 7, full.n - 7};
    struct str mine = str_starts(given, "sha256:") ? full : bare;
    return str_eq(given, mine);
}

/* What the frontmatter has to change. */
static size_t list_changes(const struct revision *r, const struct note *n,
                           bool body_changes, struct arena *a,
                           struct frontmatter_change *changes)
{
    size_t count = 0;
    struct json_iter it = json_iter(r->metadata);
    while (json_next(&it))
        changes[count++] = (struct frontmatter_change){it.key, it.value};
    bool differs = body_changes;
    for (size_t i = 0; i < count && !differs; i++) {
        const struct json *now = json_get_str(n->front.yml.all, changes[i].key);
        bool removed = json_is(changes[i].value, JSON_NULL);
        differs = removed ? now != NULL : !now || !json_equal(now, changes[i].value);
    }
    bool has = json_get(n->front.yml.all, "updated") != NULL;
    bool made = n->front.state == FRONTMATTER_NONE && count;
    if (differs && (has || made)) {
        char text[40];
        (void)snprintf(text, sizeof text, "\"%s\"", r->now);
        struct err none = {0};
        changes[count++] = (struct frontmatter_change){STR("updated"),
                                                       json_read(str_of(text), a, &none)};
    }
    return count;
}

/* The file's new bytes. */
static bool revise(const struct revision *r, const struct note *n, struct arena *a,
                   struct buf *out, struct err *e)
{
    struct str body = r->content ? json_str(r->content) : n->front.body;
    size_t room = json_length(r->metadata) + 1;
    struct frontmatter_change *changes = arena_get(a, room * sizeof *changes, e);
    scoped_buf struct buf head;
    buf_init(&head, NOTE_SIZE_MAX);
    if (!changes)
        return false;
    size_t count = list_changes(r, n, !str_eq(body, n->front.body), a, changes);
    if (!frontmatter_edit(&n->front, changes, count, a, &head, e))
        return false;
    frontmatter_join(buf_view(&head), body, r->content && frontmatter_is_crlf(n->bytes),
                     out);
    return buf_check(out, "the note", e);
}

static bool compare_hash(const struct revision *r, const struct note *n, struct err *e)
{
    if (r->hash.n == 0 || same_hash(r->hash, n->hash) || r->force)
        return true;
    return err_set(e, ERR_CONFLICT,
                   "the note was changed since it was read: contentHash "
                   "is %.*s but the file's is %s. Nothing was written; read it again and "
                   "update from there",
                   STR_ARGS(str_cut(r->hash, 80)), n->hash);
}

static bool update_file(struct vault *v, const struct revision *r, const char *path,
                        char hash[static HASH_SIZE], struct err *e)
{
    scoped_fd int lock = vault_lock(v, str_of(path), e);
    scoped_buf struct buf bytes, fresh;
    buf_init(&bytes, NOTE_SIZE_MAX + 4096);
    buf_init(&fresh, NOTE_SIZE_MAX);
    struct os_stat st;
    bool found;
    if (lock < 0 || !vault_read(v, path, &bytes, &st, &found, e))
        return false;
    if (!found)
        return no_such_note(r->identifier, e);
    scoped(arena_free) struct arena *a = arena_new(PARSE_MAX);
    struct note n;
    if (!note_parse(str_of(path), buf_view(&bytes), &st, a, &n, e) ||
        !compare_hash(r, &n, e) || !revise(r, &n, a, &fresh, e))
        return false;
    note_hash(buf_view(&fresh), hash);
    if (str_eq(buf_view(&bytes), buf_view(&fresh)))
        return true;
    return os_replace_file(v->dir, path, buf_view(&fresh), &st, NULL, e);
}

bool notes_update(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    struct revision r = {0};
    char path[PATH_MAX], hash[HASH_SIZE];
    bool found;
    if (!read_revision(options, &r, e) ||
        !vault_resolve(v, r.identifier, path, &found, e))
        return false;
    if (!found)
        return no_such_note(r.identifier, e);
    if (r.hash.n == 0 && !r.force)
        return err_set(e, ERR_INVALID,
                       "contentHash is missing: read the note first and "
                       "give its content_hash, so that nobody's change is lost (or "
                       "force: true to overwrite)");
    int64_t now = os_real_ms();
    os_format_utc(now, r.now);
    if (!update_file(v, &r, path, hash, e))
        return false;
    json_open_object(out);
    pair_id(v, out, str_of(path));
    json_pair_bool(out, "updated", true);
    pair_time(out, "timestamp", now);
    json_pair_cstr(out, "content_hash", hash);
    json_close(out);
    return true;
}

/* ---- delete ------------------------------------------------------------- */

#define WARNINGS_MAX 20

struct backlinks {
    struct vault *v;
    struct str path;
    struct buf warnings; /* JSON strings with commas between */
    struct json_writer w;
    size_t count;
};

static void put_warning(struct backlinks *b, struct str path, int64_t line)
{
    scoped_buf struct buf text;
    buf_init(&text, PATH_MAX + 100);
    buf_char(&text, '"');
    vault_put_id(b->v, path, &text);
    buf_printf(&text, "\" links to it (line %lld)", (long long)line);
    json_put_str(&b->w, buf_view(&text));
}

/* Links to the note by its id, path, file name, uid or title. */
static bool find_backlinks(struct db *db, void *arg, struct err *e)
{
    struct backlinks *b = arg;
    b->count = 0;
    buf_clear(&b->warnings);
    b->w = json_writer(&b->warnings);
    json_open_array(&b->w);
    scoped(query_end) struct query *q =
        db_query(db,
                 "SELECT s.path, min(l.line) FROM notes n JOIN links l ON l.target IN"
                 " (n.id, n.path, n.stem, n.title, n.uid, n.stem || '.md',"
                 "  substr(n.path, 1, length(n.path) - 3))"
                 " JOIN notes s ON s.key = l.source"
                 " WHERE n.path = ? AND s.key <> n.key GROUP BY s.key ORDER BY s.path",
                 e);
    if (!q)
        return false;
    query_bind_str(q, 1, b->path);
    while (query_next(q, e))
        if (b->count++ < WARNINGS_MAX)
            put_warning(b, query_str(q, 0), query_int(q, 1));
    if (b->count > WARNINGS_MAX) {
        char more[60];
        (void)snprintf(more, sizeof more, "and %zu more notes", b->count - WARNINGS_MAX);
        json_put_cstr(&b->w, more);
    }
    json_put_cstr(&b->w, "nothing was deleted; confirm: true deletes it all the same");
    json_close(&b->w);
    return e->code == ERR_NONE;
}

/* Moves the file; where the trash lies on another file system, copies it. */
static bool move_to_trash(struct vault *v, const char *path, const char *backup,
                          struct err *e)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(backup, '/');
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - backup), backup);
    struct err why = {0};
    if (!os_make_dirs(v->dir, folder, e))
        return false;
    if (os_move(v->dir, path, backup, &why))
        return true;
    if (why.code != ERR_INVALID)
        return err_set(e, why.code, "%s", why.msg);
    scoped_buf struct buf bytes;
    buf_init(&bytes, NOTE_SIZE_MAX + 4096);
    return os_read_file(v->dir, path, &bytes, NULL, e) &&
           os_write_file(v->dir, backup, buf_view(&bytes), OS_CREATE, FILE_MODE, NULL,
                         e) &&
           os_remove_file(v->dir, path, e);
}

static bool name_backup(const char *path, int64_t now, char out[static PATH_MAX],
                        struct err *e)
{
    char time[25], compact[20];
    size_t n = 0;
    os_format_utc(now, time);
    for (size_t i = 0; i < 19; i++)
        if (time[i] != '-' && time[i] != ':')
            compact[n++] = time[i];
    compact[n] = '\0';
    unsigned random;
    os_random(&random, sizeof random);
    int length =
        snprintf(out, PATH_MAX, OWN_DIR "/trash/%sZ-%08x/%s", compact, random, path);
    return (length > 0 && length < PATH_MAX) ||
           err_set(e, ERR_INVALID,
                   "the note's path is too long to be moved to the trash");
}

static bool delete_file(struct vault *v, const char *path, const char *backup,
                        struct str identifier, struct err *e)
{
    scoped_fd int lock = vault_lock(v, str_of(path), e);
    if (lock < 0)
        return false;
    if (!vault_has(v, str_of(path)))
        return no_such_note(identifier, e);
    return move_to_trash(v, path, backup, e);
}

bool notes_delete(struct vault *v, const struct json *options, struct json_writer *out,
                  struct err *e)
{
    static const char *const keys[] = {"identifier", "confirm", NULL};
    struct str wanted;
    char path[PATH_MAX], backup[PATH_MAX];
    bool found, confirm = false;
    if (!json_is(options, JSON_STRING) &&
        (!options_check(options, "notes.delete", keys, e) ||
         !options_bool(options, "confirm", &confirm, e)))
        return false;
    if (!options_identifier(options, &wanted, e) ||
        !vault_resolve(v, wanted, path, &found, e))
        return false;
    if (!found)
        return no_such_note(wanted, e);

    struct backlinks b = {.v = v, .path = str_of(path)};
    buf_init(&b.warnings, 1u << 20);
    int64_t now = os_real_ms();
    bool ok = name_backup(path, now, backup, e) &&
              (confirm || index_use(v->index, find_backlinks, &b, e));
    bool refused = ok && !confirm && b.count > 0;
    /* Its id depends on the other notes: asked while it is there. */
    scoped_buf struct buf id;
    buf_init(&id, PATH_MAX + 8);
    vault_put_id(v, str_of(path), &id);
    ok = ok && (refused || delete_file(v, path, backup, wanted, e));
    if (ok) {
        json_open_object(out);
        json_pair_str(out, "id", buf_view(&id));
        json_pair_bool(out, "deleted", !refused);
        pair_time(out, "timestamp", now);
        if (refused)
            json_pair_raw(out, "warnings", buf_view(&b.warnings));
        else
            json_pair_cstr(out, "backup_path", backup);
        json_close(out);
    }
    buf_done(&b.warnings);
    return ok;
}

void notes_sanitize_title(struct str title, struct buf *out)
{
    (void)name_from_title(title, out);
}
