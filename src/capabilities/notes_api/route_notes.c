/* The routes of notes: list, read, make, replace, delete. (What changes a part of one is
 * in route_patch.c.) */
#include "notes_api/note_routes.h"
#include "uri/uri.h"

#define ARGUMENTS_MAX ((size_t)128 << 20) /* bytes */

/* ---- many --------------------------------------------------------------------- */

static bool put_list_options(struct route_call *c, const struct route_page *page,
                             const struct row_fields *wanted, struct buf *out,
                             struct err *e)
{
    struct str class = route_text(c, "class");
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    if (class.n)
        json_pair_str(&w, "type", class);
    if (page->cursor.n)
        json_pair_str(&w, "cursor", page->cursor);
    json_pair_int(&w, "limit", page->limit);
    json_key(&w, "fields");
    json_open_array(&w);
    json_put_cstr(&w, "id");
    row_put_sources(wanted, &w);
    json_close(&w);
    json_close(&w);
    return buf_check(out, "the options", e);
}

static bool route_put_list(struct route_call *c, struct route_page *page, const void *arg,
                           struct err *e)
{
    const struct row_fields *wanted = arg;
    scoped_buf struct buf options = buf_of(BUF_TEXT);
    if (!put_list_options(c, page, wanted, &options, e))
        return false;
    const struct json *rows = route_ask(c, "notes.list", buf_view(&options), e);
    struct json_iter it = json_iter(rows);
    const struct json *last = NULL;
    while (json_next(&it)) {
        row_put(c, it.value, wanted, page->w);
        last = it.value;
    }
    if (rows && (int64_t)json_length(rows) >= page->limit)
        buf_str(page->next, json_str(json_get(last, "id")));
    return rows != NULL;
}

bool route_list_notes(struct route_call *c, struct err *e)
{
    struct row_fields wanted;
    int64_t limit;
    const struct route_list list = {route_put_list, &wanted, ROUTE_LIMIT_MAX};
    return row_read_fields(route_text(c, "fields"), &wanted, e) &&
           route_number(c, "limit", 0, 1, ROUTE_LIMIT_MAX, &limit, e) &&
           route_list(c, &list, limit, route_text(c, "cursor"), e);
}

/* ---- one note --------------------------------------------------------------- */

static const struct json *ask_note(struct route_call *c, struct str id, struct err *e)
{
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "identifier", id);
    json_pair_bool(&w, "markdown", true);
    json_pair_bool(&w, "properties", true);
    json_close(&w);
    if (!buf_check(&args, "the note's name", e))
        return NULL;
    const struct json *note = route_ask(c, "notes.get", buf_view(&args), e);
    if (json_is(note, JSON_NULL)) {
        err_set(e, ERR_NOT_FOUND,
                "there is no note \"%.*s\"; a note is identified by its id "
                "(class/name), path, uid or unique title",
                STR_ARGS(str_cut(id, 100)));
        return NULL;
    }
    return note;
}

static void route_put_links(const struct json *note, struct json_writer *w)
{
    struct json_iter it = json_iter(json_get(note, "links"));
    json_key(w, "links");
    json_open_array(w);
    while (json_next(&it)) {
        const struct json *label = json_get(it.value, "label");
        json_open_object(w);
        json_pair(w, "source", json_get(note, "id"));
        json_pair(w, "target", json_get(it.value, "target"));
        json_pair(w, "text", json_str(label).n ? label : json_get(it.value, "target"));
        json_pair(w, "kind", json_get(it.value, "kind"));
        json_pair(w, "line", json_get(it.value, "line"));
        json_close(w);
    }
    json_close(w);
}

static void put_note(const struct json *note, struct json_writer *w)
{
    json_open_object(w);
    row_put_members(note, w);
    json_pair(w, "markdown", json_get(note, "markdown"));
    route_put_links(note, w);
    if (json_get(note, "frontmatter_error"))
        json_pair(w, "frontmatter_error", json_get(note, "frontmatter_error"));
    json_close(w);
}

static bool put_note_path(struct route_call *c, const char *name, struct str id,
                          struct err *e)
{
    scoped_buf struct buf path = buf_of(BUF_PAGE);
    buf_cstr(&path, "/workspaces/");
    uri_escape(c->values[0], &path);
    buf_cstr(&path, "/notes/");
    uri_escape(id, &path);
    return buf_check(&path, "the note's path", e) &&
           route_header(c, name, buf_view(&path), e);
}

bool put_location(struct route_call *c, struct str id, struct err *e)
{
    return put_note_path(c, "Location", id, e);
}

bool answer_note(struct route_call *c, struct str id, struct err *e)
{
    const struct json *note = ask_note(c, id, e);
    if (!note || !route_etag(c, json_str(json_get(note, "content_hash")), e))
        return false;
    if (c->wants_markdown) {
        c->out->type = "text/markdown; charset=utf-8";
        buf_str(&c->out->body, json_str(json_get(note, "markdown")));
        return true;
    }
    struct json_writer w = route_writer(c);
    put_note(note, &w);
    return true;
}

bool route_get_note(struct route_call *c, struct err *e)
{
    return answer_note(c, c->values[1], e);
}

/* ---- making one ----------------------------------------------------------------- */

static bool route_put_parts(struct route_call *c, struct json_writer *w, struct err *e)
{
    const struct json *class = json_get(c->body, "class"),
                      *type = json_get(c->body, "type");
    if (!json_get(c->body, "markdown") && !json_get(c->body, "title"))
        return err_set(e, ERR_INVALID,
                       "body needs markdown, the whole file, or title; nothing was made");
    if (class && type && !json_equal(class, type))
        return err_set(e, ERR_INVALID,
                       "body.type is the same as class: give only one of them");
    if (json_get(c->body, "markdown") &&
        (json_get(c->body, "content") || json_get(c->body, "properties")))
        return err_set(
            e, ERR_INVALID,
            "body.markdown is the whole file, frontmatter and all: content and "
            "properties cannot be given beside it; nothing was made");
    static const char *const pairs[][2] = {{"markdown", "markdown"},
                                           {"title", "title"},
                                           {"content", "content"},
                                           {"properties", "metadata"}};
    for (size_t i = 0; i < LENGTH(pairs); i++)
        if (json_get(c->body, pairs[i][0]))
            json_pair(w, pairs[i][1], json_get(c->body, pairs[i][0]));
    if (class || type)
        json_pair(w, "type", class ? class : type);
    return true;
}

bool route_create_note(struct route_call *c, struct err *e)
{
    scoped_buf struct buf args = buf_of(ARGUMENTS_MAX);
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    if (c->markdown.at)
        json_pair_str(&w, "markdown", c->markdown);
    else if (!route_put_parts(c, &w, e))
        return false;
    json_close(&w);
    if (!buf_check(&args, "the note", e))
        return false;
    const struct json *made = route_ask(c, "notes.create", buf_view(&args), e);
    struct str id = json_str(json_get(made, "id"));
    return made && put_location(c, id, e) && answer_note(c, id, e);
}

/* ---- replacing, and deleting ------------------------------------------------------ */

bool route_put_note(struct route_call *c, struct err *e)
{
    struct condition d;
    scoped_buf struct buf args = buf_of(ARGUMENTS_MAX);
    if (!condition_read(c, c->values[1], &d, e))
        return false;
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "identifier", c->values[1]);
    json_pair_str(&w, "markdown",
                  c->markdown.at ? c->markdown : json_str(json_get(c->body, "markdown")));
    condition_put(&d, &w);
    json_close(&w);
    if (!buf_check(&args, "the note", e))
        return false;
    const struct json *done = route_ask(c, "notes.update", buf_view(&args), e);
    return done ? answer_note(c, json_str(json_get(done, "id")), e)
                : condition_failed(c, &d);
}

/* Others would miss it. */
static bool held_back(const struct json *done, struct err *e)
{
    struct str first = json_str(json_at(json_get(done, "warnings"), 0));
    return err_set(
        e, ERR_CONFLICT,
        "nothing was deleted: %.*s, and maybe others do; ?confirm=true deletes "
        "it all the same",
        STR_ARGS(str_cut(first, 200)));
}

bool route_delete_note(struct route_call *c, struct err *e)
{
    struct condition d;
    struct str confirm = route_text(c, "confirm");
    if (confirm.n && !str_is(confirm, "true") && !str_is(confirm, "false"))
        return err_set(e, ERR_INVALID, "the parameter confirm is true or false");
    scoped_buf struct buf args = buf_of(BUF_TEXT);
    if (!condition_read(c, c->values[1], &d, e))
        return false;
    struct json_writer w = json_writer(&args);
    json_open_object(&w);
    json_pair_str(&w, "identifier", c->values[1]);
    json_pair_bool(&w, "confirm", str_is(confirm, "true"));
    if (d.hash.n)
        json_pair_str(&w, "contentHash", d.hash);
    json_close(&w);
    if (!buf_check(&args, "the note's name", e))
        return false;
    const struct json *done = route_ask(c, "notes.delete", buf_view(&args), e);
    if (!done)
        return condition_failed(c, &d);
    if (!json_bool(json_get(done, "deleted"), false))
        return held_back(done, e);
    w = route_writer(c);
    json_open_object(&w);
    json_pair(&w, "id", json_get(done, "id"));
    json_pair_bool(&w, "deleted", true);
    json_pair(&w, "backup_path", json_get(done, "backup_path"));
    json_close(&w);
    return true;
}
