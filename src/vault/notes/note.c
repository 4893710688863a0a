/* Reading single notes. */
#include "notes/aliases.h"
#include "notes/frontlinks.h"
#include "notes/history.h"
#include "notes/markdown.h"
#include "notes/name.h"
#include "notes/notes.api.h"
#include "notes/outline.h"
#include "notes/write.h"

static void note_put_link(void *arg, const struct link *l)
{
    struct json_writer *w = arg;
    json_open_object(w);
    json_pair_str(w, "target", l->target);
    json_pair_str(w, "label", l->label);
    json_pair_cstr(w, "kind", link_kind_name(l->kind));
    json_pair_int(w, "line", (int64_t)l->line);
    json_close(w);
}

static void note_put_frontlink(void *arg, const struct frontlink *l)
{
    note_put_link(arg, &l->link);
}

static void note_put(struct vault *v, const struct note *n, struct arena *properties,
                     bool whole, struct json_writer *w)
{
    json_open_object(w);
    write_pair_id(v, w, "id", n->path);
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
    if (frontlinks_may(&n->front)) {
        struct err none = {0};
        scoped(arena_free) struct arena *names = arena_new(YML_JSON_MAX);
        (void)frontlinks_read(&n->front, names, note_put_frontlink, w, &none);
    }
    markdown_links(n->front.body, note_put_link, w);
    json_close(w);
    json_pair_str(w, "type", name_type(n->path));
    json_pair_time(w, "created", n->created_ms);
    json_pair_time(w, "updated", n->updated_ms);
    json_pair_str(w, "path", n->path);
    json_pair_str(w, "filename", name_file(n->path));
    json_pair_int(w, "size", (int64_t)n->bytes.n);
    json_key(w, "tags");
    note_put_tags(n, w);
    scoped_buf struct buf aliases = buf_of(YML_JSON_MAX);
    struct json_writer names = json_writer(&aliases);
    note_put_aliases(n, &names);
    if (!str_eq(buf_view(&aliases), STR("[]")))
        json_pair_raw(w, "aliases", buf_view(&aliases));
    if (n->front.state == FRONTMATTER_BROKEN)
        json_pair_cstr(w, "frontmatter_error", n->front.error);
    if (properties) {
        json_key(w, "properties");
        note_put_properties(n, properties, w);
    }
    if (whole)
        json_pair_str(w, "markdown", n->bytes);
    json_close(w);
}

/* The common case, an id, is a path but for its ending: no look for it before it is
 * opened. *found false: something else is meant. */
static bool read_by_id(struct vault *v, struct str id, char path[static PATH_MAX],
                       struct buf *bytes, struct os_stat *st, bool *found, struct err *e)
{
    *found = false;
    if (!memchr(id.at, '/', id.n) || id.n + sizeof ".md" > PATH_MAX)
        return true;
    memcpy(path, id.at, id.n);
    memcpy(path + id.n, ".md", sizeof ".md");
    return !name_is_path((struct str){path, id.n + 3}) ||
           vault_read(v, path, bytes, st, found, e);
}

void note_tell(struct vault *v, const struct note *n, bool subnotes)
{
    scoped_buf struct buf id, list;
    buf_init(&id, PATH_MAX + 8);
    buf_init(&list, BUF_LIST);
    vault_put_id(v, n->path, &id);
    struct effect e = {.what = "note",
                       .known = true,
                       .id = buf_view(&id),
                       .path = n->path,
                       .before = str_of(n->hash),
                       .after = str_of(n->hash)};
    if (subnotes && note_put_subnotes(n, &list))
        e.list = buf_view(&list);
    outcome_add(v->view.outcome, &e);
}

bool notes_get(struct vault *v, const struct json *identifier, struct json_writer *out,
               struct err *e)
{
    struct str wanted;
    bool properties = false, whole = false;
    if (json_is(identifier, JSON_OBJECT) &&
        (!options_check(identifier, "notes.get", NOTES_GET_KEYS, e) ||
         !options_bool(identifier, "properties", &properties, e) ||
         !options_bool(identifier, "markdown", &whole, e)))
        return false;
    if (!options_identifier(identifier, &wanted, e))
        return false;

    char path[PATH_MAX];
    bool found;
    scoped_buf struct buf bytes = buf_of(NOTE_SIZE_MAX + 4096);
    struct os_stat st;
    history_settle(v->history);
    if (!read_by_id(v, wanted, path, &bytes, &st, &found, e))
        return false;
    if (!found && (!vault_resolve(v, wanted, path, &found, e) ||
                   (found && !vault_read(v, path, &bytes, &st, &found, e))))
        return false;
    if (!found) {
        if (v->view.outcome)
            v->view.outcome->absent = true;
        json_put_null(out);
        return true;
    }
    scoped(arena_free) struct arena *a = arena_new(WRITE_PARSE_MAX);
    struct note n;
    if (!note_parse(v, str_of(path), buf_view(&bytes), &st, a, &n, e))
        return false;
    note_put(v, &n, properties ? a : NULL, whole, out);
    note_tell(v, &n, true);
    return buf_check(out->out, "the note", e);
}
