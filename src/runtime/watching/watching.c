#include "watching/watching.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capability/capability.h"
#include "os/os.h"
#include "place/place.h"
#include "watching/news.h"

#define GATHER_MS 100 /* changes within this time are reported as one */
#define REST_MS 2000  /* between looks at what has no notices: types, the list */

struct watched {
    unsigned vault;
    struct news *news; /* NULL: it could not be opened; tried again */
    bool tried;
    uint64_t functions; /* as kept_state() */
};

/* Watched from the moment it is followed, so that nothing is missed until the thread
 * takes it over. */
struct followed {
    unsigned vault;
    struct news *news; /* until the thread takes it over; NULL: none */
    uint64_t functions;
};

struct watching {
    struct actions *actions;
    struct vault_set *vaults;
    watching_shown_fn *shown;
    vault_change_fn *fn;
    void *arg;
    /* -1: no thread; written under the lock, read without it by the thread only */
    int wake;
    /* Used by the thread only. */
    uint64_t listed;   /* as vault_set_state() */
    uint64_t tools;    /* as tools_state() */
    int64_t rested_ms; /* time of the last look at everything */
    struct watched all[WATCHED_MAX];
    size_t count; /* taken over by it */

    pthread_mutex_t running; /* held to start, stop and follow; before `lock` */
    bool runs;
    pthread_t thread;

    pthread_mutex_t lock; /* guards what follows */
    struct followed followed[WATCHED_MAX];
    size_t followed_count;
    bool functions; /* some changed */
    bool stop;
};

/* ---- one vault ------------------------------------------------------------------ */

static void change_report(struct watching *w, unsigned vault, struct vault_change change)
{
    char id[VAULT_ID_MAX + 1];
    vault_set_id(w->vaults, vault, id);
    change.vault = id;
    if (id[0])
        w->fn(w->arg, &change);
}

/* Reports that everything in it may have changed. */
static void report_all(struct watching *w, unsigned vault)
{
    change_report(w, vault, (struct vault_change){.many = true, .came_or_went = true});
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
        report_all(w, v->vault);
}

static void vault_look(struct watching *w, struct watched *v)
{
    struct vault_change change;
    bool any = false;
    struct err why = {0};
    if (!v->news) {
        open_one(w, v);
    } else if (!news_look(v->news, &change, &any, &why)) {
        news_close(v->news);
        v->news = NULL;
        report_all(w, v->vault);
    } else if (any) {
        change_report(w, v->vault, change);
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

/* A number that changes with the tools, or with a policy that shows them, here or in a
 * watched vault. */
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

/* A number that changes with what capabilities store of the vault. */
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
        change_report(w, v->vault, (struct vault_change){.functions = true});
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

/* Whether some changed since the last call. */
static bool take_functions(struct watching *w)
{
    pthread_mutex_lock(&w->lock);
    bool changed = w->functions;
    w->functions = false;
    pthread_mutex_unlock(&w->lock);
    return changed;
}

/* Waits until there is something to report, or it is time to look at everything; `ready`
 * marks vaults. */
static bool watching_wait(struct watching *w, bool ready[static WATCHED_MAX])
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
    /* Further notices of the burst come soon. */
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
    w->tools = tools_state(w); /* the state at the start is not reported */
    while (take_over(w)) {
        if (count != w->count) /* more vaults are watched, which is no change */
            w->tools = tools_state(w);
        count = w->count;
        for (size_t i = 0; i < w->count; i++)
            if (!w->all[i].tried) {
                open_one(w, &w->all[i]);
                if (w->all[i].news)
                    vault_look(w, &w->all[i]); /* changes meanwhile */
            }
        bool all = watching_wait(w, ready);
        if (!take_over(w))
            break;
        for (size_t i = 0; i < w->count; i++)
            if (w->all[i].tried && ready[i])
                vault_look(w, &w->all[i]);
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

/* ---- interface ----------------------------------------------------------------------- */

static void watching_wake(struct watching *w)
{
    uint64_t one = 1;
    (void)!write(w->wake, &one, sizeof one);
}

static void begin_from_now(struct watching *w, struct followed *f)
{
    f->news = watch_from_now(w, f->vault);
    f->functions = kept_state(w, f->vault);
}

/* `running` is held: no other thread adds one. */
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
        watching_wake(w);
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
        watching_wake(w);
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

/* Frees those that the thread has not taken over. */
static void drop_followed(struct watching *w)
{
    for (size_t i = 0; i < w->followed_count; i++) {
        news_close(w->followed[i].news);
        w->followed[i].news = NULL;
    }
}

static bool thread_start(struct watching *w, struct err *e)
{
    w->stop = false;
    w->listed = vault_set_state(w->vaults);
    follow(w, vault_set_begin(w->vaults, NULL));
    for (size_t i = 0; i < w->followed_count; i++)
        begin_from_now(w, &w->followed[i]);
    int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set_wake(w, made);
    w->runs = made >= 0 && os_thread_start(&w->thread, "vault-watch", 0, watch_all, w);
    if (w->runs)
        return true;
    int failed = errno;
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
        ok = thread_start(w, e);
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
        watching_wake(w);
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
