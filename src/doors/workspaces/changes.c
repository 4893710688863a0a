/* Listeners for changes, and the resources that a change of a vault affects. */
#include "uri/uri.h"
#include "workspaces/views.h"

/* ---- telling --------------------------------------------------------------- */

void workspaces_tell(struct workspaces *w, const struct workspaces_change *change)
{
    pthread_rwlock_rdlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX; i++)
        if (w->hearers[i].fn)
            w->hearers[i].fn(w->hearers[i].arg, change);
    pthread_rwlock_unlock(&w->hearing);
}

static void tell_view(struct workspaces *w, const struct view *v)
{
    scoped_buf struct buf uri = buf_of(BUF_TEXT);
    view_put_uri(v, &uri);
    workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_ONE,
                                                   .workspace = v->workspace.at,
                                                   .uri = buf_view(&uri)});
}

static void tell_kind(struct workspaces *w, const char *workspace, enum view_kind kind)
{
    tell_view(w, &(struct view){.kind = kind, .workspace = str_of(workspace)});
}

static void tell_notes(struct workspaces *w, const struct vault_change *c)
{
    struct view v = {.workspace = str_of(c->vault)};
    for (size_t i = 0; i < c->note_count; i++) {
        v.note = c->notes[i];
        v.kind = VIEW_NOTE;
        tell_view(w, &v);
        v.kind = VIEW_HISTORY;
        tell_view(w, &v);
    }
    tell_kind(w, c->vault, VIEW_LIST);
    tell_kind(w, c->vault, VIEW_LINKS);
}

static void tell_everything(struct workspaces *w, const char *workspace)
{
    scoped_buf struct buf uri = buf_of(BUF_PAGE);
    buf_cstr(&uri, VIEW_SCHEME);
    uri_escape(str_of(workspace), &uri);
    buf_char(&uri, '/');
    workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_ALL,
                                                   .workspace = workspace,
                                                   .uri = buf_view(&uri)});
}

/* A client with the workspace in use reads them without its name. */
static void notify_functions(struct workspaces *w, const char *workspace)
{
    static const char *const parts[] = {"", "/declarations"};
    scoped_buf struct buf uri = buf_of(BUF_PAGE);
    for (size_t i = 0; i < LENGTH(parts); i++) {
        buf_clear(&uri);
        buf_printf(&uri, FUNCTIONS_URI "%s", parts[i]);
        workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_ONE,
                                                       .workspace = workspace,
                                                       .uri = buf_view(&uri)});
        buf_clear(&uri);
        buf_cstr(&uri, VIEW_SCHEME);
        uri_escape(str_of(workspace), &uri);
        buf_printf(&uri, "/functions%s", parts[i]);
        workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_ONE,
                                                       .workspace = workspace,
                                                       .uri = buf_view(&uri)});
    }
    workspaces_tell(
        w, &(struct workspaces_change){.what = CHANGED_PROMPTS, .workspace = workspace});
    /* The description of what runs code tells which there are. */
    workspaces_tell(
        w, &(struct workspaces_change){.what = CHANGED_TOOLS, .workspace = workspace});
}

static void take_change(void *arg, const struct vault_change *c)
{
    struct workspaces *w = arg;
    if (c->tools)
        workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_TOOLS});
    if (c->functions)
        notify_functions(w, c->vault);
    if (c->came_or_went)
        workspaces_tell(w, &(struct workspaces_change){.what = CHANGED_RESOURCES,
                                                       .workspace = c->vault});
    if (!c->vault)
        return;
    if (c->many) {
        tell_everything(w, c->vault);
        return;
    }
    if (c->note_count)
        tell_notes(w, c);
    if (c->types || c->came_or_went)
        tell_kind(w, c->vault, VIEW_CLASSES);
}

/* ---- hearing ----------------------------------------------------------------- */

static bool is_heard(struct workspaces *w)
{
    bool heard = false;
    pthread_rwlock_rdlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX; i++)
        heard = heard || w->hearers[i].fn;
    pthread_rwlock_unlock(&w->hearing);
    return heard;
}

/* Vaults are watched while somebody hears. */
static bool watch_as_needed(struct workspaces *w, struct err *e)
{
    pthread_mutex_lock(&w->watch_lock);
    bool ok = true, heard = is_heard(w);
    if (heard && !w->watches)
        w->watches = ok = actions_watch(w->actions, take_change, w, e);
    if (!heard && w->watches) {
        actions_unwatch(w->actions);
        w->watches = false;
    }
    pthread_mutex_unlock(&w->watch_lock);
    return ok;
}

bool workspaces_hear(struct workspaces *w, workspaces_change_fn *fn, void *arg,
                     struct err *e)
{
    bool heard = false;
    pthread_rwlock_wrlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX && !heard; i++)
        if (!w->hearers[i].fn) {
            w->hearers[i] = (struct hearer){fn, arg};
            heard = true;
        }
    pthread_rwlock_unlock(&w->hearing);
    if (!heard)
        return err_set(e, ERR_LIMIT, "the maximum of %u change listeners is reached",
                       HEARERS_MAX);
    if (watch_as_needed(w, e))
        return true;
    workspaces_unhear(w, fn, arg);
    return false;
}

void workspaces_unhear(struct workspaces *w, workspaces_change_fn *fn, void *arg)
{
    struct err ignored = {0};
    pthread_rwlock_wrlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX; i++)
        if (w->hearers[i].fn == fn && w->hearers[i].arg == arg)
            w->hearers[i] = (struct hearer){0};
    pthread_rwlock_unlock(&w->hearing);
    (void)watch_as_needed(w, &ignored);
}
