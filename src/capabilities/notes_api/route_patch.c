/* Changing parts of a note. Title, class, content and properties are changes of different
 * kinds to the vault; several of them are one batch, so that all or none are made. */
#include "notes_api/note_routes.h"

#define CHANGES_MAX ((size_t)128 << 20) /* bytes */

struct patch {
    struct route_call *c;
    struct condition condition;
    struct str id;     /* what the next change calls the note */
    struct buf change; /* the options of one change */
    struct buf all;    /* of all of them, with their actions */
    const char *last;  /* the host call of the last */
    size_t count;
    const struct json *sections; /* of the note; NULL: nothing is asked of them */
};

static void open_change(struct patch *p, struct json_writer *w)
{
    buf_clear(&p->change);
    *w = json_writer(&p->change);
    json_open_object(w);
    json_pair_str(w, "identifier", p->id);
    /* The first looks at the version; the others are about what it leaves. */
    if (!p->count)
        condition_put(&p->condition, w);
    else
        json_pair_bool(w, "force", true);
}

static bool close_change(struct patch *p, struct json_writer *w, const char *call,
                         struct err *e)
{
    json_close(w);
    if (!buf_check(&p->change, "a change", e))
        return false;
    buf_printf(&p->all, "%s{\"action\":\"%s\",", p->count ? "," : "",
               call + strlen("notes."));
    buf_put(&p->all, p->change.at + 1, p->change.n - 1);
    p->last = call;
    p->count++;
    return buf_check(&p->all, "the changes", e);
}

/* ---- properties ------------------------------------------------------------ */

static bool has_section(const struct patch *p, struct str key)
{
    struct json_iter it = json_iter(json_get(p->sections, "sections"));
    while (json_next(&it))
        if (str_eq(json_str(json_get(it.value, "heading")), key))
            return true;
    return false;
}

/* A value as a section has it: text, or a list with a line for each. */
static bool put_section_text(const struct json *value, struct str key, struct buf *out,
                             struct err *e)
{
    struct json_writer w = json_writer(out);
    struct json_iter it = json_iter(value);
    switch (json_type(value)) {
    case JSON_STRING:
        return buf_str(out, json_str(value));
    case JSON_NUMBER:
    case JSON_BOOL:
        json_put(&w, value);
        return true;
    case JSON_ARRAY:
        while (json_next(&it) && json_is(it.value, JSON_STRING))
            buf_printf(out, "%s- %.*s", out->n ? "\n" : "", STR_ARGS(json_str(it.value)));
        if (!it.value || json_is(it.value, JSON_STRING))
            return true;
        break;
    default:
        break;
    }
    return err_set(
        e, ERR_INVALID,
        "body.properties.%.*s is a section of the note: it can be a text, a "
        "number, a boolean, a list of texts, or null to remove it; nothing was "
        "changed",
        STR_ARGS(str_cut(key, 80)));
}

static bool change_section(struct patch *p, struct str key, const struct json *value,
                           struct err *e)
{
    struct json_writer w;
    bool removed = json_is(value, JSON_NULL);
    scoped_buf struct buf text = buf_of(CHANGES_MAX);
    if (!removed && !put_section_text(value, key, &text, e))
        return false;
    open_change(p, &w);
    json_pair_str(&w, "heading", key);
    if (removed)
        json_pair_cstr(&w, "mode", "remove");
    else
        json_pair_str(&w, "content", buf_view(&text));
    return buf_check(&text, "a section", e) &&
           close_change(p, &w, "notes.updateSection", e);
}

static bool change_sections(struct patch *p, const struct json *properties, struct err *e)
{
    struct json_iter it = json_iter(properties);
    while (json_next(&it))
        if (has_section(p, it.key) && !change_section(p, it.key, it.value, e))
            return false;
    return true;
}

/* ---- content and frontmatter ------------------------------------------------- */

static bool change_text(struct patch *p, const struct json *properties, struct err *e)
{
    const struct json *content = json_get(p->c->body, "content"),
                      *markdown = json_get(p->c->body, "markdown");
    size_t others = 0;
    struct json_iter it = json_iter(properties);
    while (json_next(&it))
        others += !has_section(p, it.key);
    if (!content && !markdown && !others)
        return true;
    struct json_writer w;
    open_change(p, &w);
    if (content)
        json_pair(&w, "content", content);
    if (markdown)
        json_pair(&w, "markdown", markdown);
    if (others) {
        json_key(&w, "metadata");
        json_open_object(&w);
        it = json_iter(properties);
        while (json_next(&it))
            if (!has_section(p, it.key)) {
                json_key_str(&w, it.key);
                json_put(&w, it.value);
            }
        json_close(&w);
    }
    return close_change(p, &w, "notes.update", e);
}

/* ---- name and class ------------------------------------------------------------ */

/* The first folder is the class, and the only one that a move changes. */
static bool patch_follow(struct patch *p, struct err *e)
{
    const char *rest = memchr(p->id.at, '/', p->id.n);
    char *id = arena_printf(p->c->arena, e, "%.*s%.*s",
                            STR_ARGS(json_str(json_get(p->c->body, "class"))),
                            rest ? (int)(p->id.at + p->id.n - rest) : 0, rest);
    p->id = str_of(id);
    return id != NULL;
}

/* A move is done before a renaming, because it says what the note is called then. */
static bool change_place(struct patch *p, struct err *e)
{
    const struct json *title = json_get(p->c->body, "title"),
                      *class = json_get(p->c->body, "class");
    struct json_writer w;
    if (class) {
        open_change(p, &w);
        json_pair(&w, "new_type", class);
        if (!close_change(p, &w, "notes.move", e) || (title && !patch_follow(p, e)))
            return false;
    }
    if (!title)
        return true;
    open_change(p, &w);
    json_pair(&w, "new_title", title);
    return close_change(p, &w, "notes.rename", e);
}

/* ---- all of it -------------------------------------------------------------------- */

static bool read_note(struct patch *p, struct err *e)
{
    struct route_call *c = p->c;
    const struct json *body = c->body;
    p->id = c->values[1];
    if (json_get(body, "markdown") &&
        (json_get(body, "content") || json_get(body, "properties") ||
         json_get(body, "title")))
        return err_set(e, ERR_INVALID,
                       "body.markdown is the whole file: title, content and properties "
                       "cannot be given beside it; nothing was changed");
    bool both = json_get(body, "title") && json_get(body, "class");
    if (!both && !json_length(json_get(body, "properties")))
        return true;
    scoped_buf struct buf name = buf_of(BUF_TEXT);
    struct json_writer w = json_writer(&name);
    json_put_str(&w, p->id);
    p->sections = buf_check(&name, "the note's name", e)
                      ? route_ask(c, "notes.getSections", buf_view(&name), e)
                      : NULL;
    p->id = json_str(json_get(p->sections, "id"));
    return p->sections != NULL;
}

static bool list_changes(struct patch *p, struct err *e)
{
    const struct json *properties = json_get(p->c->body, "properties");
    if (json_get(p->c->body, "content")) {
        struct json_iter it = json_iter(properties);
        while (json_next(&it))
            if (has_section(p, it.key))
                return err_set(e, ERR_INVALID,
                               "body.properties.%.*s is a section of the content, "
                               "which is given as well: change it in the content; "
                               "nothing was changed",
                               STR_ARGS(str_cut(it.key, 80)));
    }
    if (!change_text(p, properties, e) || !change_sections(p, properties, e) ||
        !change_place(p, e))
        return false;
    return p->count || err_set(e, ERR_INVALID,
                               "body changes nothing: give title, class, content, "
                               "markdown or properties");
}

/* The id of the note as the answer of the last change tells it. */
static const struct json *patch_perform(struct patch *p, struct err *e)
{
    if (p->count == 1)
        return route_ask(p->c, p->last, buf_view(&p->change), e);
    scoped_buf struct buf batch = buf_of(CHANGES_MAX);
    buf_printf(&batch, "{\"changes\":[%.*s]}", STR_ARGS(buf_view(&p->all)));
    const struct json *done = buf_check(&batch, "the changes", e)
                                  ? route_ask(p->c, "notes.batch", buf_view(&batch), e)
                                  : NULL;
    const struct json *results = json_get(done, "results");
    return done ? json_at(results, json_length(results) - 1) : NULL;
}

static bool patch(struct patch *p, struct err *e)
{
    struct route_call *c = p->c;
    if (!condition_read(c, c->values[1], &p->condition, e) || !read_note(p, e) ||
        !list_changes(p, e))
        return false;
    const struct json *done = patch_perform(p, e);
    if (!done)
        return condition_failed(c, &p->condition);
    struct str id = json_str(json_get(done, "new_id"));
    if (!id.n)
        id = json_str(json_get(done, "id"));
    return put_location(c, id, e) && answer_note(c, id, e);
}

bool route_patch_note(struct route_call *c, struct err *e)
{
    struct patch p = {.c = c};
    buf_init(&p.change, CHANGES_MAX);
    buf_init(&p.all, CHANGES_MAX);
    bool ok = patch(&p, e);
    buf_done(&p.change);
    buf_done(&p.all);
    return ok;
}
