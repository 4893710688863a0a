/* Resources: the table of those that belong to no workspace, somebody else's, and how a
 * uri finds the one that it means. */
#include "api/api.h"
#include "evaluating/evaluating.h"
#include "performing/performing.h"
#include "results/results.h"
#include "workspaces/views.h"

/* ---- ours ---------------------------------------------------------------- */

#define RESULT_MAX ((size_t)16 << 20)

void put_contents(struct buf *contents, struct str uri, const char *mime_type,
                  struct str text)
{
    struct json_writer w = json_writer(contents);
    json_open_array(&w);
    json_open_object(&w);
    json_pair_str(&w, "uri", uri);
    json_pair_cstr(&w, "mimeType", mime_type);
    json_pair_str(&w, "text", text);
    json_close(&w);
    json_close(&w);
}

static bool read_result(struct workspaces *w, const struct caller *who, struct str uri,
                        const struct json *values, struct buf *contents, struct err *e)
{
    (void)values;
    scoped_buf struct buf text = buf_of(RESULT_MAX + 1);
    if (!results_read_whole(w->actions, who, uri, &text, e))
        return false;
    put_contents(contents, uri, "application/json", buf_view(&text));
    return true;
}

static bool read_declarations(struct workspaces *w, const struct caller *who,
                              struct str uri, const struct json *values,
                              struct buf *contents, struct err *e)
{
    (void)w, (void)who, (void)values;
    scoped_buf struct buf text = buf_of((size_t)4 << 20);
    if (!api_write_document(API_DOCUMENT_TYPES, STR(""), &text, e))
        return false;
    put_contents(contents, uri, "text/x-typescript", buf_view(&text));
    return true;
}

/* work_audit() decides who may read it. */
static bool read_audit(struct workspaces *w, const struct caller *who, struct str uri,
                       const struct json *values, struct buf *contents, struct err *e)
{
    struct str workspace = json_str(json_get(values, "workspace_id"));
    scoped_buf struct buf text = buf_of(RESULT_MAX);
    struct work *work = work_begin(w->actions, who, workspace, "resources/read audit", e);
    bool ok = work && work_audit(work, &(struct audit_filter){0}, &text, e);
    if (work)
        work_end(work, ok ? NULL : e);
    if (ok)
        put_contents(contents, uri, "application/json", buf_view(&text));
    return ok;
}

static bool read_functions(struct workspaces *w, const struct caller *who, struct str uri,
                           const struct json *values, struct buf *contents, struct err *e)
{
    struct str workspace = json_str(json_get(values, "workspace_id"));
    bool types = str_ends(uri, "/declarations");
    scoped_buf struct buf text = buf_of((size_t)4 << 20);
    struct work *work =
        work_begin(w->actions, who, workspace, "resources/read functions", e);
    bool ok = work && custom_tell(work, types, &text, e);
    if (work)
        work_end(work, ok ? NULL : e);
    if (ok)
        put_contents(contents, uri, types ? "text/x-typescript" : "text/markdown",
                     buf_view(&text));
    return ok;
}

#define FOR_AGENTS "{\"audience\":[\"assistant\"],\"priority\":0.7}"

static const struct own_resource own[] = {
    {{VIEW_SCHEME "{workspace_id}/audit", "audit", "What was done in a workspace",
      "The last calls there, the newest first, as docs/auditing.md has them: for the "
      "person, and for credentials that may read the audit.",
      "application/json", "{\"audience\":[\"user\"],\"priority\":0.2}"},
     .read = read_audit},
    {{"cloche://api/declarations", "api", "What evaluated code finds",
      "TypeScript declarations of everything that evaluate_note_code's code can call.",
      "text/x-typescript", "{\"audience\":[\"assistant\"],\"priority\":0.6}"},
     .read = read_declarations},
    {{FUNCTIONS_URI, "functions", "Custom functions",
      "The custom functions of the workspace in use that code may call, those used most "
      "first: signature, parameters, how each is called.",
      "text/markdown", FOR_AGENTS},
     .read = read_functions,
     .follows = true},
    {{FUNCTIONS_URI "/declarations", "function-types", "Declarations of custom functions",
      "declare namespace customFunctions {...}, for the workspace in use.",
      "text/x-typescript", FOR_AGENTS},
     .read = read_functions,
     .follows = true},
    {{VIEW_SCHEME "{workspace_id}/functions", "functions-of",
      "Custom functions of a workspace", "The same of the workspace that is named.",
      "text/markdown", FOR_AGENTS},
     .read = read_functions,
     .follows = true},
    {{VIEW_SCHEME "{workspace_id}/functions/declarations", "function-types-of",
      "Declarations of a workspace's custom functions",
      "The same of the workspace that is named.", "text/x-typescript", FOR_AGENTS},
     .read = read_functions,
     .follows = true},
    {{"cloche://results/{id}", "result", "A large result",
      "The whole result of a call whose answer was too large; the answer names it, for 15 "
      "minutes.",
      "application/json", "{\"audience\":[\"assistant\"],\"priority\":0.5}"},
     .read = read_result},
};

/* ---- all tables as one ----------------------------------------------------- */

#define OWN_AT VIEWS
#define EXTRA_AT (VIEWS + LENGTH(own))

static size_t static_count(const struct workspaces *w)
{
    return EXTRA_AT + w->extra.resource_count;
}

static const struct resource_shown *static_at(const struct workspaces *w, size_t i)
{
    return i < OWN_AT     ? &view_templates[i]
           : i < EXTRA_AT ? &own[i - OWN_AT].shown
                          : &w->extra.resources[i - EXTRA_AT].shown;
}

bool resources_check(const struct workspaces *w, struct err *e)
{
    for (size_t i = 0; i < static_count(w); i++) {
        const char *uri = static_at(w, i)->uri;
        if (!template_check(uri, e))
            return false;
        for (size_t k = 0; k < i; k++)
            if (!strcmp(uri, static_at(w, k)->uri))
                return err_set(e, ERR_CONFLICT, "there are two resources \"%.200s\"",
                               uri);
    }
    return true;
}

const struct resource_shown *template_named(const struct workspaces *w, struct str uri,
                                            const struct resource_extra **extra)
{
    *extra = NULL;
    for (size_t i = 0; i < static_count(w); i++)
        if (str_is(uri, static_at(w, i)->uri)) {
            if (i >= EXTRA_AT)
                *extra = &w->extra.resources[i - EXTRA_AT];
            return static_at(w, i);
        }
    return NULL;
}

/* Its place in the tables, and the values of a template's variables; SIZE_MAX: it is none
 * of these, but may be a view. What is spelt out goes before any template. */
static size_t resource_find(const struct workspaces *w, struct str uri,
                            struct buf *values)
{
    for (size_t i = OWN_AT; i < static_count(w); i++)
        if (!template_is(static_at(w, i)->uri) && str_is(uri, static_at(w, i)->uri)) {
            buf_cstr(values, "{}");
            return i;
        }
    for (size_t i = OWN_AT; i < static_count(w); i++)
        if (template_is(static_at(w, i)->uri) &&
            template_match(static_at(w, i)->uri, uri, values))
            return i;
    return SIZE_MAX;
}

/* ---- reading -------------------------------------------------------------- */

#define URI_MAX ((size_t)16 << 10)

static bool no_such(struct str uri, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND,
                   "there is no resource '%.*s'; resources/list and "
                   "resources/templates/list list them",
                   STR_ARGS(str_cut(uri, 150)));
}

static bool read_view(struct workspaces *w, const struct caller *who, struct str uri,
                      const struct view *v, struct buf *contents, struct err *e)
{
    const char *mime_type;
    scoped_buf struct buf text = buf_of(contents->ceiling);
    if (!view_show(w, who, v, &text, &mime_type, e))
        return false;
    put_contents(contents, uri, mime_type, buf_view(&text));
    return buf_check(contents, "the resource", e);
}

static bool read_static(struct workspaces *w, const struct caller *who, size_t i,
                        struct str uri, const struct json *values, struct buf *contents,
                        struct err *e)
{
    if (i < EXTRA_AT)
        return own[i - OWN_AT].read(w, who, uri, values, contents, e);
    const struct resource_extra *x = &w->extra.resources[i - EXTRA_AT];
    return x->read(x->arg, uri, values, who, contents, e);
}

bool workspaces_read(struct workspaces *w, const struct caller *who, struct str uri,
                     struct buf *contents, struct err *e)
{
    if (uri.n > URI_MAX)
        return no_such(uri, e);
    scoped(arena_free) struct arena *a = arena_new(16 * URI_MAX);
    scoped_buf struct buf text = buf_of(4 * URI_MAX);
    struct view view;
    if (view_read_uri(uri, a, &view))
        return read_view(w, who, uri, &view, contents, e);
    size_t i = resource_find(w, uri, &text);
    if (i == SIZE_MAX)
        return no_such(uri, e);
    const struct json *values = json_read(buf_view(&text), a, e);
    return values && read_static(w, who, i, uri, values, contents, e) &&
           buf_check(contents, "the resource", e);
}

/* ---- listing -------------------------------------------------------------- */

static void put_resource(const struct resource_shown *r, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, template_is(r->uri) ? "uriTemplate" : "uri", r->uri);
    json_pair_cstr(w, "name", r->name ? r->name : r->uri);
    if (r->title)
        json_pair_cstr(w, "title", r->title);
    if (r->description)
        json_pair_cstr(w, "description", r->description);
    if (r->mime_type)
        json_pair_cstr(w, "mimeType", r->mime_type);
    if (r->annotations)
        json_pair_raw(w, "annotations", str_of(r->annotations));
    json_close(w);
}

/* Lists the resources behind the uri `after`, at most *room, which it counts down; `next` names the last
 * where there are more. */
static bool list_static(struct workspaces *w, bool templates, struct str after,
                        size_t *room, struct json_writer *out, struct buf *next,
                        struct err *e)
{
    size_t i = 0;
    const char *last = "";
    if (after.n) {
        while (i < static_count(w) && !str_is(after, static_at(w, i)->uri))
            i++;
        if (i++ == static_count(w))
            return err_set(e, ERR_INVALID, "unknown cursor");
    }
    for (; i < static_count(w); i++) {
        const struct resource_shown *r = static_at(w, i);
        if (template_is(r->uri) != templates)
            continue;
        if (!*room) {
            buf_cstr(next, last);
            break;
        }
        put_resource(r, out);
        last = r->uri;
        --*room;
    }
    return true;
}

/* Resources of no workspace come first. A cursor begins with a letter that says in
 * which of both lists it is. */
static bool list_resources(struct workspaces *w, const struct caller *who,
                           struct str after, struct json_writer *out, struct buf *next,
                           struct err *e)
{
    struct str behind = after.n ? (struct str){after.at + 1, after.n - 1} : after;
    bool in_workspaces = after.n && after.at[0] == 'w';
    size_t room = WORKSPACES_PAGE;
    scoped_buf struct buf place = buf_of(URI_MAX);
    if (!in_workspaces && !list_static(w, false, behind, &room, out, &place, e))
        return false;
    bool more = place.n > 0;
    if (!more &&
        !view_list(w, who, in_workspaces ? behind : STR(""), room, out, &place, e))
        return false;
    if (place.n) {
        buf_char(next, more ? 's' : 'w');
        buf_str(next, buf_view(&place));
    }
    return true;
}

bool workspaces_list(struct workspaces *w, const struct caller *who,
                     enum workspaces_list what, struct str after, struct buf *rows,
                     struct buf *next, struct err *e)
{
    if (what == LIST_PROMPTS)
        return prompts_list_rows(w, after, rows, next, e);
    struct json_writer out = json_writer(rows);
    size_t room = WORKSPACES_PAGE;
    json_open_array(&out);
    bool ok = what == LIST_RESOURCES ? list_resources(w, who, after, &out, next, e)
                                     : list_static(w, true, after, &room, &out, next, e);
    json_close(&out);
    return ok && buf_check(rows, "the list", e) && buf_check(next, "a cursor", e);
}

/* ---- following ------------------------------------------------------------ */

/* A resource of a workspace changes with it. */
static bool follow_own(struct workspaces *w, const struct caller *who, size_t i,
                       const struct json *values, struct err *e)
{
    if (i < OWN_AT || i >= EXTRA_AT || !own[i - OWN_AT].follows)
        return true;
    struct work *work =
        work_begin(w->actions, who, json_str(json_get(values, "workspace_id")),
                   "resources/subscribe", e);
    if (!work)
        return false;
    work_follow(work);
    work_end(work, NULL);
    return true;
}

bool workspaces_follow(struct workspaces *w, const struct caller *who, struct str uri,
                       struct buf *canonical, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(16 * URI_MAX);
    scoped_buf struct buf values = buf_of(4 * URI_MAX);
    struct view view;
    if (uri.n > URI_MAX)
        return no_such(uri, e);
    if (view_read_uri(uri, a, &view))
        return view_follow(w, who, &view, canonical, e);
    size_t i = resource_find(w, uri, &values);
    if (i == SIZE_MAX)
        return no_such(uri, e);
    buf_str(canonical, uri);
    const struct json *known = json_read(buf_view(&values), a, e);
    return known && follow_own(w, who, i, known, e) && buf_check(canonical, "the uri", e);
}
