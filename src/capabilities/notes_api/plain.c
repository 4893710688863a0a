/* The actions for common requests, without code. */
#include "notes_api/internal.h"
#include "notes_api/note_actions.api.h"
#include "notes_api/notes_api.h"
#include "notes_api/unknown.h"
#include "place/place.h"

static bool note_answer(const struct answer *out, struct err *e)
{
    return buf_check(&out->json, "the answer", e);
}

/* Names the nearest notes, if the caller may list notes. */
static bool note_refuse(const struct action_call *c, struct vault *vault, struct err *e)
{
    struct err none = {0};
    struct str name = json_str(json_get(c->arguments, "identifier"));
    scoped_buf struct buf near;
    buf_init(&near, BUF_PAGE);
    struct json_writer w = json_writer(&near);
    struct str ids[NOTES_NEAREST];
    size_t count = 0;
    if (right_permitted(&c->place->permit, RIGHT_LIST_NOTES, &none))
        (void)notes_nearest(vault, name, ids, &count, c->arena, &none);
    if (count)
        json_open_array(&w);
    for (size_t i = 0; i < count; i++)
        json_put_str(&w, ids[i]);
    if (count)
        json_close(&w);
    return err_set(e, ERR_NOT_FOUND,
                   "no note '%.*s'; an id such as 'meeting/standup', a path or a unique "
                   "title is accepted, and search_notes finds them%s%.*s",
                   STR_ARGS(str_cut(name, 100)), near.n ? "; near are " : "",
                   STR_ARGS(str_cut(buf_view(&near), 150)));
}

/* As vault_as(). */
static struct vault *action_own_vault(const struct action_call *c, struct err *e)
{
    struct vault *vault = action_vault(c, e);
    return place_view(c->place, vault, c->who->cancel, NULL, c->review, c->outcome);
}

#define IMAGE_MAX (1 << 20) /* bytes of an image that is shown as one */

/* Is the name one of an image, which clients show? */
static bool is_image_name(struct str name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};
    for (size_t i = 0; i < LENGTH(endings); i++) {
        size_t n = strlen(endings[i]);
        if (name.n > n &&
            str_same((struct str){name.at + name.n - n, n}, str_of(endings[i])))
            return true;
    }
    return false;
}

/* The attached image, as an image, and a text with the rest. */
static bool show_attachment(const struct action_call *c, struct vault *vault,
                            struct answer *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(16 * IMAGE_MAX);
    struct json_writer w = json_writer(&text);
    const struct json *name = json_get(c->arguments, "identifier");
    if (!attachments_read(vault, name, &w, e))
        return false;
    const struct json *file = json_read(buf_view(&text), c->arena, e);
    if (!file)
        return false;
    if (json_int(json_get(file, "size"), 0) > IMAGE_MAX)
        return err_set(
            e, ERR_LIMIT,
            "the image has more than %d bytes; attachments.read in code has it",
            IMAGE_MAX);
    c->outcome->absent = false;
    buf_clear(&out->json);
    w = json_writer(&out->json);
    json_open_object(&w);
    json_pair(&w, "id", json_get(file, "path"));
    json_pair(&w, "content_hash", json_get(file, "content_hash"));
    json_pair(&w, "media_type", json_get(file, "media_type"));
    json_pair(&w, "size", json_get(file, "size"));
    json_close(&w);
    w = json_writer(&out->content);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "text");
    json_pair_str(&w, "text", buf_view(&out->json));
    json_close(&w);
    json_open_object(&w);
    json_pair_cstr(&w, "type", "image");
    json_pair(&w, "data", json_get(file, "base64"));
    json_pair(&w, "mimeType", json_get(file, "media_type"));
    json_close(&w);
    json_close(&w);
    return buf_check(&out->content, "the image", e);
}

static bool action_get_note(const struct action_call *c, struct answer *out,
                            struct err *e)
{
    scoped(vault_close) struct vault *vault = action_own_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    if (!vault || !notes_get(vault, c->arguments, &w, e))
        return false;
    struct err none = {0};
    if (c->outcome->absent &&
        is_image_name(json_str(json_get(c->arguments, "identifier"))) &&
        show_attachment(c, vault, out, &none))
        return true;
    if (none.code && none.code != ERR_NOT_FOUND)
        return err_pass(e, &none);
    if (c->outcome->absent)
        return note_refuse(c, vault, e);
    return note_answer(out, e);
}

/* Notices: why nothing was found, if the filter names something missing, and that there
 * may be more. */
static void put_notices(const struct action_call *c, struct vault *vault,
                        struct json_writer *w)
{
    scoped_notices struct notices told;
    scoped_buf struct buf list;
    notices_init(&told);
    buf_init(&list, BUF_TEXT);
    const char *name = c->row->shown.name;
    if (!c->outcome->rows)
        notice_unknown(vault, name, c->arguments, false, &told);
    notice_limit(name, host_call_named(c->row->needs), c->arguments, c->outcome->rows,
                 &told);
    buf_printf(&list, "[%.*s]", STR_ARGS(buf_view(&told.rows)));
    if (told.rows.n)
        json_pair_raw(w, "warnings", buf_view(&list));
}

static bool action_search_notes(const struct action_call *c, struct answer *out,
                                struct err *e)
{
    scoped(vault_close) struct vault *vault = action_own_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_key(&w, "results");
    if (!vault || !notes_search(vault, c->arguments, &w, e))
        return false;
    put_notices(c, vault, &w);
    json_close(&w);
    return note_answer(out, e);
}

static bool action_create_note(const struct action_call *c, struct answer *out,
                               struct err *e)
{
    scoped(vault_close) struct vault *vault = action_own_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    return vault && notes_create(vault, c->arguments, &w, e) && note_answer(out, e);
}

static bool action_update_note(const struct action_call *c, struct answer *out,
                               struct err *e)
{
    scoped(vault_close) struct vault *vault = action_own_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    return vault && notes_update(vault, c->arguments, &w, e) && note_answer(out, e);
}

static struct permit_need action_rename_note_asks(const struct action_call *c,
                                                  struct permit_need need)
{
    return json_get(c->arguments, "new_type")
               ? host_call_need(host_call_of_right(RIGHT_MOVE_NOTES))
               : need;
}

/* Another title, or another type: one of the two. */
static bool action_rename_note(const struct action_call *c, struct answer *out,
                               struct err *e)
{
    bool title = json_get(c->arguments, "new_title") != NULL;
    bool type = json_get(c->arguments, "new_type") != NULL;
    if (title == type)
        return err_set(e, ERR_INVALID,
                       "give new_title, or new_type, and not both; nothing was changed");
    /* rename_note needs notes.rename; a change of type has a permission of its own. */
    if (type && !right_permitted(&c->place->permit, RIGHT_MOVE_NOTES, e))
        return false;
    scoped(vault_close) struct vault *vault = action_own_vault(c, e);
    struct json_writer w = json_writer(&out->json);
    return vault &&
           (title ? notes_rename(vault, c->arguments, &w, e)
                  : notes_move(vault, c->arguments, &w, e)) &&
           note_answer(out, e);
}

/* ---- the rows ------------------------------------------------------------ */

static const struct action_row rows[] = {
    {SHOWN(.name = "get_note", .title = "Read a note",
           .description =
               "Read one note: its Markdown, metadata, links and content_hash.",
           GET_NOTE_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_get_note, .checked = GET_NOTE_CHECKED, .needs = "notes.get"},
    {SHOWN(.name = "search_notes", .title = "Search notes",
           .description =
               "Full-text search over titles, bodies and tags. useRegex: PCRE2.",
           SEARCH_NOTES_SCHEMAS, .read_only = true, .idempotent = true),
     .run = action_search_notes, .checked = SEARCH_NOTES_CHECKED,
     .needs = "notes.search"},
    {SHOWN(.name = "create_note", .title = "Create a note",
           .description = "Create a Markdown note in the folder of its type.",
           CREATE_NOTE_SCHEMAS),
     .run = action_create_note, .checked = CREATE_NOTE_CHECKED, .needs = "notes.create"},
    {SHOWN(.name = "update_note", .title = "Change a note",
           .description =
               "Replace a note's body, merge its metadata (null removes a key). Give the "
               "content_hash from get_note: a note that changed since is left alone.",
           UPDATE_NOTE_SCHEMAS, .destructive = true),
     .run = action_update_note, .checked = UPDATE_NOTE_CHECKED, .needs = "notes.update"},
    {SHOWN(.name = "rename_note", .title = "Rename or move a note",
           .description =
               "Give a note another title, or move it to another type. The links to it "
               "follow. Give the content_hash from get_note.",
           RENAME_NOTE_SCHEMAS, .destructive = true),
     .run = action_rename_note, .confirmed = action_rename_note_asks, .seldom = true,
     .needs = "notes.rename"},
};
static const struct action_group plain = {rows, LENGTH(rows), .order = 20};

const struct capability notes_capability = {
    .calls =
        CALLS(&notes_calls, &writing_calls, &search_calls, &note_types_calls,
              &links_calls, &attachment_calls, &hierarchy_calls, &relationships_calls),
    .actions = ACTIONS(&plain),
    .routes = ROUTES(&note_routes, &finding_routes, &change_routes, &past_routes,
                     &one_note_routes),
    .noted = notice_empty};
