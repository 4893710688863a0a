/* Modules that are loaded when they are first used, and closed when they have not been for
 * a while: a server keeps no checker of types because somebody once wrote a function. */
#include <malloc.h>

#include "engine/internal.h"
#include "os/os.h"

struct loadable {
    struct engine *engine;
    loadable_fn *load;
    void *arg;
    pthread_mutex_t lock; /* guards what follows; held while it is loaded */
    struct module *module;
    size_t users;
    uint64_t unused_since_ns; /* where there are no users */
    struct loadable *next;    /* under the engine's lock */
};

struct loadable *loadable_new(struct engine *g, loadable_fn *load, void *arg)
{
    struct loadable *l = mem_new(sizeof *l);
    l->engine = g;
    l->load = load;
    l->arg = arg;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_lock(&g->lock);
    l->next = g->loadables;
    g->loadables = l;
    pthread_mutex_unlock(&g->lock);
    return l;
}

void loadable_free(struct loadable *l)
{
    if (!l)
        return;
    struct engine *g = l->engine;
    pthread_mutex_lock(&g->lock);
    struct loadable **at = &g->loadables;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    pthread_mutex_unlock(&g->lock);
    must(l->users == 0);
    module_close(l->module);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

bool loadable_is_loaded(struct loadable *l)
{
    pthread_mutex_lock(&l->lock);
    bool there = l->module != NULL;
    pthread_mutex_unlock(&l->lock);
    return there;
}

bool loadable_prepare(struct loadable *l, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    struct module *m = l->module ? NULL : l->load(l->arg, NULL, l->engine, e);
    bool ok = l->module || m;
    module_close(m);
    pthread_mutex_unlock(&l->lock);
    return ok;
}

struct module *loadable_take(struct loadable *l, const void *watch, struct err *e)
{
    pthread_mutex_lock(&l->lock);
    if (!l->module)
        l->module = l->load(l->arg, watch, l->engine, e);
    struct module *m = l->module;
    l->users += m != NULL;
    pthread_mutex_unlock(&l->lock);
    return m;
}

void loadable_give(struct loadable *l)
{
    pthread_mutex_lock(&l->lock);
    must(l->users > 0);
    if (--l->users == 0)
        l->unused_since_ns = os_mono_ns();
    uint64_t look_ns = l->unused_since_ns + l->engine->idle_ns;
    pthread_mutex_unlock(&l->lock);
    watchdog_tend(l->engine->watchdog, look_ns);
}

struct world *loadable_open(struct loadable *l, const struct world_limits *limits,
                            void *data, struct err *e)
{
    struct module *m = loadable_take(l, NULL, e);
    struct world *w = m ? world_open(m, limits, data, e) : NULL;
    if (w)
        w->loadable = l;
    else if (m)
        loadable_give(l);
    return w;
}

/* When it is due, UINT64_MAX where it is not loaded; `closed` where it was now. One that
 * is being loaded, or used, is looked at later: nobody waits here. */
static uint64_t loadable_tend(struct loadable *l, uint64_t now, bool *closed)
{
    uint64_t idle_ns = l->engine->idle_ns, due = now + idle_ns;
    if (pthread_mutex_trylock(&l->lock) != 0)
        return due;
    if (!l->module) {
        due = UINT64_MAX;
    } else if (l->users == 0 && now - l->unused_since_ns >= idle_ns) {
        module_close(take(l->module));
        *closed = true;
        due = UINT64_MAX;
    } else if (l->users == 0) {
        due = l->unused_since_ns + idle_ns;
    }
    pthread_mutex_unlock(&l->lock);
    return due;
}

uint64_t engine_tend(struct engine *g)
{
    uint64_t now = os_mono_ns(), next = UINT64_MAX;
    bool closed = false;
    if (pthread_mutex_trylock(&g->lock) != 0)
        return now + g->idle_ns;
    for (struct loadable *l = g->loadables; l; l = l->next) {
        uint64_t due = loadable_tend(l, now, &closed);
        next = due < next ? due : next;
    }
    pthread_mutex_unlock(&g->lock);
    if (closed)
        (void)malloc_trim(0);
    return next;
}
