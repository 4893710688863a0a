/* The names that arguments and variables of ours may have: of workspaces, notes and
 * classes. */
#include "performing/performing.h"
#include "workspaces/views.h"

#define NAMES_MEMORY ((size_t)256 << 20)
#define NOTES_AT_ONCE 10000
#define NOTES_MAX 100000u /* that are looked through; the last ones by path are not */

static void put_ids(const struct json *rows, const char *key, struct json_writer *out)
{
    struct json_iter it = json_iter(rows);
    while (json_next(&it))
        json_put(out, json_get(it.value, key));
}

static void put_aliases(const struct json *rows, struct json_writer *out)
{
    struct json_iter it = json_iter(rows);
    while (json_next(&it)) {
        struct json_iter alias = json_iter(json_get(it.value, "aliases"));
        while (json_next(&alias))
            json_put(out, alias.value);
    }
}

static bool put_workspaces(struct workspaces *w, const struct caller *who,
                           struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(NAMES_MEMORY);
    struct workspace_rows rows;
    if (!workspace_rows(w, who, a, &rows, e))
        return false;
    for (size_t i = 0; i < rows.count; i++)
        json_put(out, json_get(rows.all[i], "id"));
    return true;
}

static void fill_page(struct json_writer *w, const void *arg)
{
    const struct str *after = arg;
    json_open_object(w);
    json_pair_raw(w, "order", STR("\"path\""));
    json_pair_raw(w, "fields", STR("[\"id\",\"path\",\"aliases\"]"));
    json_pair_int(w, "limit", NOTES_AT_ONCE);
    if (after->n)
        json_pair_str(w, "cursor", *after);
    json_close(w);
}

static bool put_notes(struct work *work, struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(NAMES_MEMORY);
    struct str after = {0};
    for (size_t seen = 0, n = NOTES_AT_ONCE; n == NOTES_AT_ONCE && seen < NOTES_MAX;) {
        const struct json *rows = view_call(work, "notes.list", fill_page, &after, a, e);
        if (!rows)
            return false;
        put_ids(rows, "id", out);
        put_aliases(rows, out);
        n = json_length(rows);
        seen += n;
        after = n ? json_str(json_get(json_at(rows, n - 1), "path")) : after;
    }
    return true;
}

static bool put_classes(struct work *work, struct json_writer *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(NAMES_MEMORY);
    const struct json *rows = view_call(work, "noteTypes.list", NULL, NULL, a, e);
    put_ids(rows, "name", out);
    return rows != NULL;
}

/* A caller that may not know of a workspace, or of its classes, is offered nothing. */
static bool is_nothing(const struct err *why)
{
    return why->code == ERR_NOT_FOUND || why->code == ERR_NO_VAULT ||
           why->code == ERR_DENIED;
}

static bool put_in_workspace(struct workspaces *w, const struct caller *who,
                             struct str argument, struct str workspace,
                             struct json_writer *out, struct err *e)
{
    struct work *work = work_begin(w->actions, who, workspace, "completion/complete", e);
    if (!work)
        return false;
    bool ok =
        str_is(argument, "note_id") ? put_notes(work, out, e) : put_classes(work, out, e);
    work_end(work, ok ? NULL : e);
    return ok;
}

bool names_put(struct workspaces *w, const struct caller *who, struct str argument,
               const struct json *known, struct buf *values, struct err *e)
{
    struct err why = {0};
    struct json_writer out = json_writer(values);
    json_open_array(&out);
    bool ok =
        str_is(argument, "workspace_id")
            ? put_workspaces(w, who, &out, &why)
            : put_in_workspace(w, who, argument,
                               json_str(json_get(known, "workspace_id")), &out, &why);
    json_close(&out);
    return ok || is_nothing(&why) || err_set(e, why.code, "%s", why.msg);
}
