/* A vault, opened with its index and its history. */
#include "notes/history.h"
#include "notes/index.h"

struct vault *vault_open(const char *path, struct err *e)
{
    scoped(vault_close) struct vault *v = mem_new(sizeof *v);
    v->path = mem_strdup(path);
    v->view.notes = v->view.types = true;
    v->dir = os_dir_open(path, e);
    if (v->dir < 0)
        return NULL;
    if (!settings_read(v->dir, &v->settings, e))
        return NULL;
    v->index = index_new(v);
    v->history = history_new(v);
    return take(v);
}

void vault_be_brief(struct vault *v)
{
    index_be_brief(v->index);
}

struct vault *vault_as(struct vault *v, const struct vault_view *how)
{
    struct vault *view = mem_new(sizeof *view);
    *view = *v;
    view->view = *how;
    view->is_a_view = true;
    return view;
}

void vault_close(struct vault *v)
{
    if (!v)
        return;
    if (!v->is_a_view) {
        index_free(v->index);
        history_free(v->history);
        os_close(v->dir);
        settings_done(&v->settings);
        free(v->path);
    }
    free(v);
}
