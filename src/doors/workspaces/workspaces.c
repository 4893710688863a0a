/* Opening and closing. */
#include "routes/routes.h"
#include "workspaces/internal.h"

struct workspaces *workspaces_open(struct actions *a, const struct workspaces_options *o,
                                   struct err *e)
{
    struct workspaces *w = mem_new(sizeof *w);
    w->actions = a;
    if (o)
        w->extra = *o;
    pthread_rwlock_init(&w->hearing, NULL);
    pthread_mutex_init(&w->watch_lock, NULL);
    actions_on_request(a, routes_by_code, a);
    if (resources_check(w, e) && prompts_check(w, e))
        return w;
    workspaces_close(w);
    return NULL;
}

void workspaces_close(struct workspaces *w)
{
    if (!w)
        return;
    if (w->watches)
        actions_unwatch(w->actions);
    pthread_mutex_destroy(&w->watch_lock);
    pthread_rwlock_destroy(&w->hearing);
    free(w);
}
