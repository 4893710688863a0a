/* The uris of a workspace's resources. */
#include "uri/uri.h"
#include "workspaces/views.h"

const struct resource_shown view_templates[VIEWS] = {
    [VIEW_LIST] =
        {.uri = VIEW_SCHEME "{workspace_id}/notes/list",
         .name = "notes",
         .title = "All notes",
         .description =
             "JSON: every note of a workspace with its class, properties and time of "
             "change; no contents.",
         .mime_type = "application/json",
         .annotations = "{\"priority\":0.8}"},
    [VIEW_NOTE] = {.uri = VIEW_SCHEME "{workspace_id}/notes/{note_id}",
                   .name = "note",
                   .title = "A note",
                   .description = "The Markdown file of one note, with its frontmatter.",
                   .mime_type = "text/markdown",
                   .annotations = "{\"priority\":0.7}"},
    [VIEW_HISTORY] = {.uri = VIEW_SCHEME "{workspace_id}/notes/{note_id}/history",
                      .name = "history",
                      .title = "A note's history",
                      .description =
                          "JSON: the kept revisions of one note, the newest first.",
                      .mime_type = "application/json",
                      .annotations = "{\"priority\":0.3}"},
    [VIEW_CLASSES] =
        {.uri = VIEW_SCHEME "{workspace_id}/classes",
         .name = "classes",
         .title = "Classes",
         .description = "JSON: the classes of notes and the fields that each describes.",
         .mime_type = "application/json",
         .annotations = "{\"priority\":0.6}"},
    [VIEW_LINKS] = {.uri = VIEW_SCHEME "{workspace_id}/links",
                    .name = "links",
                    .title = "Links",
                    .description = "JSON: every link from note to note.",
                    .mime_type = "application/json",
                    .annotations = "{\"priority\":0.5}"},
};

/* ---- reading --------------------------------------------------------------- */

/* The part before the first '/', which is stepped over; *any: there was one. */
static struct str segment(struct str *rest, bool *any)
{
    const char *slash = memchr(rest->at, '/', rest->n);
    size_t n = slash ? (size_t)(slash - rest->at) : rest->n;
    struct str part = {rest->at, n};
    *any = slash != NULL;
    *rest = slash ? (struct str){slash + 1, rest->n - n - 1} : (struct str){"", 0};
    return part;
}

static bool note_decode(struct str coded, struct arena *a, struct str *out)
{
    struct err ignored = {0};
    scoped_buf struct buf plain = buf_of(coded.n + 1);
    char *copy = uri_decode(coded, false, &plain)
                     ? arena_copy(a, buf_cz(&plain), plain.n, &ignored)
                     : NULL;
    *out = (struct str){copy, copy ? plain.n : 0};
    return copy && plain.n;
}

static bool read_note(struct str rest, struct arena *a, struct view *out)
{
    static const char history[] = "/history";
    out->kind = VIEW_NOTE;
    if (str_is(rest, "list")) {
        out->kind = VIEW_LIST;
        return true;
    }
    if (str_ends(rest, history)) {
        out->kind = VIEW_HISTORY;
        rest.n -= sizeof history - 1;
    }
    return note_decode(rest, a, &out->note);
}

bool view_read_uri(struct str uri, struct arena *a, struct view *out)
{
    *out = (struct view){0};
    if (!str_starts(uri, VIEW_SCHEME))
        return false;
    struct str rest = {uri.at + sizeof VIEW_SCHEME - 1, uri.n - sizeof VIEW_SCHEME + 1};
    bool more;
    if (!note_decode(segment(&rest, &more), a, &out->workspace) || !more)
        return false;
    if (str_is(rest, "classes") || str_is(rest, "links")) {
        out->kind = str_is(rest, "links") ? VIEW_LINKS : VIEW_CLASSES;
        return true;
    }
    return str_is(segment(&rest, &more), "notes") && more && read_note(rest, a, out);
}

/* ---- writing ---------------------------------------------------------------- */

void view_put_uri(const struct view *v, struct buf *out)
{
    buf_cstr(out, VIEW_SCHEME);
    uri_escape(v->workspace, out);
    switch (v->kind) {
    case VIEW_CLASSES:
        buf_cstr(out, "/classes");
        return;
    case VIEW_LINKS:
        buf_cstr(out, "/links");
        return;
    case VIEW_LIST:
        buf_cstr(out, "/notes/list");
        return;
    default:
        buf_cstr(out, "/notes/");
        uri_escape(v->note, out);
        buf_cstr(out, v->kind == VIEW_HISTORY ? "/history" : "");
    }
}
