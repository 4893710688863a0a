#include "watching/watching.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capability/capability.h"
#include "os/os.h"
#include "place/place.h"
#include "watching/news.h"

#define GATHER_MS 100 /* what comes within this is told together */
#define REST_MS 2000  /* between looks at what nobody tells of: types, the list */

struct watched {
    unsigned vault;
    struct news *news; /* NULL: it could not be looked at; tried again */
    bool tried;
    uint64_t functions; /* as kept_state() */
};

/* Watched from when it is followed, so that nothing is missed until the thread comes. */
struct followed {
    unsigned vault;
    struct news *news; /* until the thread takes it over; NULL: there is none */
    uint64_t functions;
};

struct watching {
    struct actions *actions;
    struct vault_set *vaults;
    watching_shown_fn *shown;
    vault_change_fn *fn;
    void *arg;
    int wake; /* -1: no thread; changed under the lock, and read so but by the thread */
    /* The thread's. */
    uint64_t listed;   /* as vault_set_state() */
    uint64_t tools;    /* as tools_state() */
    int64_t rested_ms; /* when all was looked at */
    struct watched all[WATCHED_MAX];
    size_t count; /* that it has taken over */

    pthread_mutex_t running; /* held to start, stop and follow; before `lock` */
    bool runs;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows */
    struct followed followed[WATCHED_MAX];
    size_t followed_count;
    bool functions; /* some were changed here */
    bool stop;
};

/* ---- one vault ------------------------------------------------------------------ */

static void tell(struct watching *w, unsigned vault, struct vault_change change)
{
    char id[VAULT_ID_MAX + 1];
    vault_set_id(w->vaults, vault, id);
    change.vault = id;
    if (id[0])
        w->fn(w->arg, &change);
}

/* Everything in it may be another now. */
static void tell_all(struct watching *w, unsigned vault)
{
    tell(w, vault, (struct vault_change){.many = true, .came_or_went = true});
}

static struct news *watch_from_now(const struct watching *w, unsigned vault)
{
    struct err why = {0};
    scoped(free) char *path = vault_set_path(w->vaults, vault);
    return path ? news_open(path, &why) : NULL;
}

static void open_one(struct watching *w, struct watched *v)
{
    struct err why = {0};
    bool late = !v->news;
    v->tried = true;
    if (late)
        v->news = watch_from_now(w, v->vault);
    struct vault *vault = vault_set_get(w->vaults, v->vault, &why);
    if (v->news && !(vault && news_begin(v->news, vault, &why))) {
        news_close(v->news);
        v->news = NULL;
    }
    if (late && v->news)
        tell_all(w, v->vault);
}

static void look_at(struct watching *w, struct watched *v)
{
    struct vault_change change;
    bool any = false;
    struct err why = {0};
    if (!v->news) {
        open_one(w, v);
    } else if (!news_look(v->news, &change, &any, &why)) {
        news_close(v->news);
        v->news = NULL;
        tell_all(w, v->vault);
    } else if (any) {
        tell(w, v->vault, change);
    }
}

static void look_at_list(struct watching *w)
{
    uint64_t now = vault_set_state(w->vaults);
    if (now == w->listed)
        return;
    w->listed = now;
    w->fn(w->arg, &(struct vault_change){.came_or_went = true});
}

/* Another number when there are other tools, or a policy shows others, here or in a vault
 * that is watched. */
static uint64_t tools_state(struct watching *w)
{
    const struct action_family *family = capability_family();
    uint64_t state = family ? family->version(w->actions) : 0;
    for (size_t i = 0; i <= w->count; i++) {
        unsigned vault = i ? w->all[i - 1].vault : 0;
        struct caller somebody = {.name = "list", .vault = &vault};
        state = state * 31 + w->shown(w->actions, &somebody);
    }
    return state;
}

static void look_at_tools(struct watching *w)
{
    uint64_t now = tools_state(w);
    if (now == w->tools)
        return;
    w->tools = now;
    w->fn(w->arg, &(struct vault_change){.tools = true});
}

/* Another number when a capability keeps something else of the vault. */
static uint64_t kept_state(struct watching *w, unsigned vault)
{
    uint64_t state = 0;
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->state)
            state = state * 31 + capability_list[i]->state(w->actions, vault);
    return state;
}

static void look_at_functions(struct watching *w)
{
    for (size_t i = 0; i < w->count; i++) {
        struct watched *v = &w->all[i];
        uint64_t now = kept_state(w, v->vault);
        if (now == v->functions)
            continue;
        v->functions = now;
        tell(w, v->vault, (struct vault_change){.functions = true});
    }
}

/* ---- the thread -------------------------------------------------------------------- */

static bool take_over(struct watching *w)
{
    pthread_mutex_lock(&w->lock);
    for (; w->count < w->followed_count; w->count++) {
        struct followed *f = &w->followed[w->count];
        w->all[w->count] = (struct watched){
            .vault = f->vault, .news = f->news, .functions = f->functions};
        f->news = NULL;
    }
    bool go_on = !w->stop;
    pthread_mutex_unlock(&w->lock);
    return go_on;
}

/* Were some changed here since it was asked last? */
static bool take_functions(struct watching *w)
{
    pthread_mutex_lock(&w->lock);
    bool changed = w->functions;
    w->functions = false;
    pthread_mutex_unlock(&w->lock);
    return changed;
}

/* Until something is to be told, or it is time to look at everything; `ready` says of
 * which vaults. */
static bool wait_for(struct watching *w, bool ready[static WATCHED_MAX])
{
    struct pollfd p[WATCHED_MAX + 1];
    p[0] = (struct pollfd){.fd = w->wake, .events = POLLIN};
    for (size_t i = 0; i < w->count; i++)
        p[i + 1] = (struct pollfd){.fd = w->all[i].news ? news_fd(w->all[i].news) : -1,
                                   .events = POLLIN};
    int64_t left = w->rested_ms + REST_MS - os_mono_ms();
    int n = poll(p, w->count + 1, left > 0 ? (int)left : 0);
    uint64_t count;
    bool woken = n > 0 && p[0].revents;
    if (woken)
        (void)!read(w->wake, &count, sizeof count);
    /* Others of the same burst come soon. */
    if (n > 0 && !woken)
        (void)poll(p, 1, GATHER_MS);
    bool all = os_mono_ms() - w->rested_ms >= REST_MS;
    for (size_t i = 0; i < w->count; i++)
        ready[i] = all || (n > 0 && p[i + 1].revents);
    return all;
}

static void *watch_all(void *arg)
{
    struct watching *w = arg;
    bool ready[WATCHED_MAX] = {0};
    w->rested_ms = os_mono_ms();
    size_t count = 0;
    w->tools = tools_state(w); /* what there is when it begins is no news */
    while (take_over(w)) {
        if (count != w->count) /* more vaults are looked at, which is no change */
            w->tools = tools_state(w);
        count = w->count;
        for (size_t i = 0; i < w->count; i++)
            if (!w->all[i].tried) {
                open_one(w, &w->all[i]);
                if (w->all[i].news)
                    look_at(w, &w->all[i]); /* what changed meanwhile */
            }
        bool all = wait_for(w, ready);
        if (!take_over(w))
            break;
        for (size_t i = 0; i < w->count; i++)
            if (w->all[i].tried && ready[i])
                look_at(w, &w->all[i]);
        if (all || take_functions(w))
            look_at_functions(w);
        if (all) {
            look_at_list(w);
            look_at_tools(w);
            w->rested_ms = os_mono_ms();
        }
    }
    return NULL;
}

/* ---- the door ------------------------------------------------------------------------ */

static void wake(struct watching *w)
{
    uint64_t one = 1;
    (void)!write(w->wake, &one, sizeof one);
}

static void begin_from_now(struct watching *w, struct followed *f)
{
    f->news = watch_from_now(w, f->vault);
    f->functions = kept_state(w, f->vault);
}

/* `running` is held: nobody else adds one. */
static void follow(struct watching *w, unsigned vault)
{
    bool is_new = vault && w->followed_count < WATCHED_MAX;
    for (size_t i = 0; i < w->followed_count; i++)
        is_new = is_new && w->followed[i].vault != vault;
    if (!is_new)
        return;
    struct followed f = {.vault = vault};
    if (w->runs)
        begin_from_now(w, &f);
    pthread_mutex_lock(&w->lock);
    w->followed[w->followed_count++] = f;
    if (w->wake >= 0)
        wake(w);
    pthread_mutex_unlock(&w->lock);
}

void watching_follow(struct watching *w, unsigned vault)
{
    pthread_mutex_lock(&w->running);
    follow(w, vault);
    pthread_mutex_unlock(&w->running);
}

void watching_functions(struct watching *w)
{
    pthread_mutex_lock(&w->lock);
    w->functions = true;
    if (w->wake >= 0)
        wake(w);
    pthread_mutex_unlock(&w->lock);
}

struct watching *watching_new(struct actions *a, watching_shown_fn *shown)
{
    struct watching *w = mem_new(sizeof *w);
    w->actions = a;
    w->vaults = a->vaults;
    w->shown = shown;
    w->wake = -1;
    pthread_mutex_init(&w->running, NULL);
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

void watching_free(struct watching *w)
{
    if (!w)
        return;
    watching_stop(w);
    pthread_mutex_destroy(&w->running);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void set_wake(struct watching *w, int fd)
{
    pthread_mutex_lock(&w->lock);
    w->wake = fd;
    pthread_mutex_unlock(&w->lock);
}

/* Those that the thread has not taken over. */
static void drop_followed(struct watching *w)
{
    for (size_t i = 0; i < w->followed_count; i++) {
        news_close(w->followed[i].news);
        w->followed[i].news = NULL;
    }
}

static bool start(struct watching *w, struct err *e)
{
    w->stop = false;
    w->listed = vault_set_state(w->vaults);
    follow(w, vault_set_begin(w->vaults, NULL));
    for (size_t i = 0; i < w->followed_count; i++)
        begin_from_now(w, &w->followed[i]);
    int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set_wake(w, made);
    int failed = made < 0 ? errno : pthread_create(&w->thread, NULL, watch_all, w);
    w->runs = !failed;
    if (w->runs) {
        (void)pthread_setname_np(w->thread, "vault-watch");
        return true;
    }
    set_wake(w, -1);
    os_close(made);
    drop_followed(w);
    errno = failed;
    return err_set(e, ERR_IO, "cannot watch vaults for changes: %m");
}

bool watching_start(struct watching *w, vault_change_fn *fn, void *arg, struct err *e)
{
    pthread_mutex_lock(&w->running);
    bool ok =
        !w->runs || err_set(e, ERR_CONFLICT, "a change listener is already registered");
    if (ok) {
        w->fn = fn;
        w->arg = arg;
        ok = start(w, e);
    }
    pthread_mutex_unlock(&w->running);
    return ok;
}

void watching_stop(struct watching *w)
{
    pthread_mutex_lock(&w->running);
    if (w->runs) {
        pthread_mutex_lock(&w->lock);
        w->stop = true;
        wake(w);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        for (size_t i = 0; i < w->count; i++)
            news_close(w->all[i].news);
        w->count = 0;
        drop_followed(w);
        int made = w->wake;
        set_wake(w, -1);
        os_close(made);
        w->runs = false;
    }
    pthread_mutex_unlock(&w->running);
}
