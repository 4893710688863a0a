/* Opening, and who hears of changes. */
#include "workspaces/internal.h"

struct workspaces *workspaces_open(struct actions *a, const struct workspaces_options *o,
                                   struct err *e)
{
    struct workspaces *w = mem_new(sizeof *w);
    w->actions = a;
    if (o)
        w->extra = *o;
    pthread_rwlock_init(&w->hearing, NULL);
    requests_by_code(w);
    if (resources_check(w, e) && prompts_check(w, e))
        return w;
    workspaces_close(w);
    return NULL;
}

void workspaces_close(struct workspaces *w)
{
    if (!w)
        return;
    pthread_rwlock_destroy(&w->hearing);
    free(w);
}

/* ---- changes ------------------------------------------------------------- */

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
    return heard || err_set(e, ERR_LIMIT, "%u hear of changes already", HEARERS_MAX);
}

void workspaces_unhear(struct workspaces *w, workspaces_change_fn *fn, void *arg)
{
    pthread_rwlock_wrlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX; i++)
        if (w->hearers[i].fn == fn && w->hearers[i].arg == arg)
            w->hearers[i] = (struct hearer){0};
    pthread_rwlock_unlock(&w->hearing);
}

void workspaces_tell(struct workspaces *w, const struct workspaces_change *change)
{
    pthread_rwlock_rdlock(&w->hearing);
    for (size_t i = 0; i < HEARERS_MAX; i++)
        if (w->hearers[i].fn)
            w->hearers[i].fn(w->hearers[i].arg, change);
    pthread_rwlock_unlock(&w->hearing);
}
