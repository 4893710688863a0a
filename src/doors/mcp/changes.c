/* All listeners are under one lock, which is held while they are told: telling waits for
 * nobody. Sinks are ended without it, for whoever ends one may wait for the word that
 * its client has gone, and that word takes the lock.
 */
#include "mcp/changes.h"

#include <time.h>

#include "mcp/core.h"
#include "os/os.h"

#define BUCKETS 4096u /* a power of two */
#define THREAD_STACK ((size_t)256 * 1024)
#define TASK_NOTICE_MAX ((size_t)1024 * 1024)
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

/* A resource that a listener follows. */
struct watch {
    struct watch *next;           /* of its listener */
    struct watch *before, *after; /* of its topic */
    struct listener *listener;
    struct topic *topic;
    bool pending;
    char uri[]; /* as the client calls it */
};

struct topic {
    struct topic *next; /* in its bucket */
    struct watch *first;
    uint64_t hash;
    char uri[]; /* canonical */
};

struct listener {
    struct changes *changes;
    struct listener *before, *after;
    struct listener *dirty_before, *dirty_after;
    struct listener **slot;
    char *id; /* of its request, as JSON; NULL: of the older era */
    struct session session;
    char principal[PRINCIPAL_MAX + 1];
    char **vaults; /* ids, ended by NULL; NULL: all */
    unsigned hears, pending;
    struct watch *watches;
    size_t follows;
    struct sink sink;
    struct beat beat;
    bool started, dirty, dead, beats;
};

/* Before a task's id, in the place of a uri: no uri begins so. */
#define TASK_MARK '\x01'

/* ---- topics; the lock is held ------------------------------------------- */

static struct topic *find_topic(const struct changes *c, struct str uri)
{
    uint64_t hash = hash_keyed(c->seed, uri);
    struct topic *t = c->topics ? c->topics[hash & (BUCKETS - 1)] : NULL;
    while (t && (t->hash != hash || !str_is(uri, t->uri)))
        t = t->next;
    return t;
}

static struct topic *need_topic(struct changes *c, struct str uri)
{
    struct topic *t = find_topic(c, uri);
    if (t)
        return t;
    if (!c->topics) {
        c->topics = mem_new(BUCKETS * sizeof *c->topics);
        os_random(c->seed, sizeof c->seed);
    }
    t = mem_new(sizeof *t + uri.n + 1);
    memcpy(t->uri, uri.at, uri.n);
    t->hash = hash_keyed(c->seed, uri);
    struct topic **head = &c->topics[t->hash & (BUCKETS - 1)];
    t->next = *head;
    *head = t;
    return t;
}

static void drop_watch(struct changes *c, struct watch *w)
{
    struct topic *t = w->topic;
    *(w->before ? &w->before->after : &t->first) = w->after;
    if (w->after)
        w->after->before = w->before;
    free(w);
    if (t->first)
        return;
    struct topic **at = &c->topics[t->hash & (BUCKETS - 1)];
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    free(t);
}

/* ---- listeners; the lock is held ----------------------------------------- */

static void listener_mark(struct listener *l)
{
    struct changes *c = l->changes;
    if (l->dirty || !l->started)
        return;
    l->dirty = true;
    l->dirty_before = NULL;
    l->dirty_after = c->dirty;
    if (c->dirty)
        c->dirty->dirty_before = l;
    c->dirty = l;
    pthread_cond_signal(&c->changed);
}

static void unmark(struct listener *l)
{
    if (!l->dirty)
        return;
    l->dirty = false;
    *(l->dirty_before ? &l->dirty_before->dirty_after : &l->changes->dirty) =
        l->dirty_after;
    if (l->dirty_after)
        l->dirty_after->dirty_before = l->dirty_before;
}

/* From then on nobody finds it but who has it; listener_finish() is next, without the lock. */
static void listener_leave(struct listener *l)
{
    struct changes *c = l->changes;
    unmark(l);
    if (l->slot)
        *l->slot = NULL;
    *(l->before ? &l->before->after : &c->first) = l->after;
    if (l->after)
        l->after->before = l->before;
    while (l->watches) {
        struct watch *w = l->watches;
        l->watches = w->next;
        drop_watch(c, w);
    }
    (*(l->id ? &c->requests : &c->sessions))--;
    if (!c->first) {
        c->idle = true;
        pthread_cond_signal(&c->changed);
    }
}

static void listener_finish(struct listener *l)
{
    if (l->beats)
        ticker_leave(&l->changes->m->ticker, &l->beat);
    if (l->started && l->sink.end)
        l->sink.end(l->sink.arg);
    for (char **v = l->vaults; v && *v; v++)
        free(*v);
    free(l->vaults);
    free(l->id);
    free(l);
}

/* Finishes the listeners that have left, by `after`. */
static void finish_all(struct listener *list)
{
    while (list) {
        struct listener *l = list;
        list = l->after;
        listener_finish(l);
    }
}

static void leave_to(struct listener *l, struct listener **list)
{
    listener_leave(l);
    l->after = *list;
    *list = l;
}

/* ---- telling ------------------------------------------------------------ */

struct json_writer notice_open(struct buf *out, const char *method,
                               const struct json *subscription)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    json_pair_cstr(&w, "method", method);
    json_key(&w, "params");
    json_open_object(&w);
    if (subscription) {
        json_key(&w, "_meta");
        json_open_object(&w);
        json_pair(&w, META_SUBSCRIPTION, subscription);
        json_close(&w);
    }
    return w;
}

static void put_meta(const struct listener *l, struct json_writer *w)
{
    if (!l->id)
        return;
    json_key(w, "_meta");
    json_open_object(w);
    json_pair_raw(w, META_SUBSCRIPTION, str_of(l->id));
    json_close(w);
}

static bool listener_send(struct listener *l, const char *method, const char *uri)
{
    scoped_buf struct buf text = buf_of(8 * (FOLLOWED_URI_MAX + LISTENER_ID_MAX));
    struct json_writer w = notice_open(&text, method, NULL);
    put_meta(l, &w);
    if (uri)
        json_pair_cstr(&w, "uri", uri);
    json_close(&w);
    json_close(&w);
    return !text.failed && l->sink.say(l->sink.arg, buf_view(&text));
}

static bool say_task(struct listener *l, const struct watch *w)
{
    scoped_buf struct buf text = buf_of(TASK_NOTICE_MAX);
    struct json_writer out = notice_open(&text, "notifications/tasks", NULL);
    put_meta(l, &out);
    bool there = task_put_notice(&l->changes->m->tasks, str_of(w->topic->uri + 1),
                                 l->principal, &out);
    json_close(&out);
    json_close(&out);
    /* A notice that is too large is dropped: its client asks with tasks/get. */
    return !there || text.failed || l->sink.say(l->sink.arg, buf_view(&text));
}

static bool say_watched(struct listener *l, const struct watch *w)
{
    return w->topic->uri[0] == TASK_MARK
               ? say_task(l, w)
               : listener_send(l, "notifications/resources/updated", w->uri);
}

static bool listener_notify(struct listener *l)
{
    static const struct {
        unsigned bit;
        const char *method;
    } lists[] = {{HEARS_TOOLS, "notifications/tools/list_changed"},
                 {HEARS_PROMPTS, "notifications/prompts/list_changed"},
                 {HEARS_RESOURCES, "notifications/resources/list_changed"}};
    unsigned pending = l->pending;
    l->pending = 0;
    for (size_t i = 0; i < LENGTH(lists); i++)
        if ((pending & lists[i].bit) && !listener_send(l, lists[i].method, NULL))
            return false;
    for (struct watch *w = l->watches; w; w = w->next) {
        bool one = w->pending;
        w->pending = false;
        if (one && !say_watched(l, w))
            return false;
    }
    return true;
}

/* The streams that a session listens on are where it hears. */
static bool tell_session(void *arg, struct str message)
{
    const struct listener *l = arg;
    return channels_tell(&l->changes->m->channels, &l->session, message);
}

static bool session_is_there(const struct listener *l)
{
    int64_t now_ms = os_mono_ms();
    return l->sink.say != tell_session ||
           sessions_touch(&l->changes->m->sessions, &l->session, now_ms, false);
}

/* A session of the older era may be without a stream to hear on, and be back. */
static bool is_lost(const struct listener *l)
{
    return l->id || !session_is_there(l);
}

static void tell_dirty(struct changes *c)
{
    struct listener *gone = NULL;
    while (c->dirty) {
        struct listener *l = c->dirty;
        unmark(l);
        if (l->dead || (!listener_notify(l) && is_lost(l)))
            leave_to(l, &gone);
    }
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
    pthread_mutex_lock(&c->lock);
}

/* Hears of changes while anybody listens, and only then. Without the lock. */
static void settle_hearing(struct changes *c)
{
    struct err ignored = {0};
    const struct library *lib = &c->m->backend.library;
    pthread_mutex_lock(&c->hearing_lock);
    pthread_mutex_lock(&c->lock);
    bool want = c->first && lib->hear;
    pthread_mutex_unlock(&c->lock);
    if (want && !c->hearing)
        c->hearing = lib->hear(lib->arg, changes_take, c, &ignored);
    else if (!want && c->hearing) {
        lib->unhear(lib->arg, changes_take, c);
        c->hearing = false;
    }
    pthread_mutex_unlock(&c->hearing_lock);
}

/* Waits, so that changes which come meanwhile are told together. */
static void changes_rest(struct changes *c)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += c->rest_ms / 1000;
    until.tv_nsec += (long)(c->rest_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!c->ending &&
           pthread_cond_clockwait(&c->changed, &c->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
}

static void *changes_main(void *arg)
{
    struct changes *c = arg;
    pthread_mutex_lock(&c->lock);
    while (!c->ending) {
        if (c->dirty) {
            tell_dirty(c);
            changes_rest(c);
        } else if (c->idle) {
            c->idle = false;
            pthread_mutex_unlock(&c->lock);
            settle_hearing(c);
            pthread_mutex_lock(&c->lock);
        } else {
            pthread_cond_wait(&c->changed, &c->lock);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- changes ------------------------------------------------------------ */

static bool may_hear(const struct listener *l, const char *workspace)
{
    if (!workspace || !l->vaults)
        return true;
    for (char *const *v = l->vaults; *v; v++)
        if (!strcmp(*v, workspace))
            return true;
    return false;
}

static void mark_lists(struct changes *c, unsigned bit, const char *workspace)
{
    for (struct listener *l = c->first; l; l = l->after)
        if ((l->hears & bit) && may_hear(l, workspace)) {
            l->pending |= bit;
            listener_mark(l);
        }
}

static void mark_topic(const struct topic *t, const char *workspace)
{
    for (struct watch *w = t->first; w; w = w->after)
        if (may_hear(w->listener, workspace)) {
            w->pending = true;
            listener_mark(w->listener);
        }
}

static void mark_beneath(struct changes *c, struct str begin, const char *workspace)
{
    for (size_t i = 0; c->topics && i < BUCKETS; i++)
        for (const struct topic *t = c->topics[i]; t; t = t->next)
            if (strlen(t->uri) >= begin.n && !memcmp(t->uri, begin.at, begin.n))
                mark_topic(t, workspace);
}

void changes_take(void *arg, const struct workspaces_change *change)
{
    struct changes *c = arg;
    const struct topic *one = NULL;
    pthread_mutex_lock(&c->lock);
    switch (change->what) {
    case CHANGED_TOOLS:
        mark_lists(c, HEARS_TOOLS, change->workspace);
        break;
    case CHANGED_PROMPTS:
        mark_lists(c, HEARS_PROMPTS, change->workspace);
        break;
    case CHANGED_RESOURCES:
        mark_lists(c, HEARS_RESOURCES, change->workspace);
        break;
    case CHANGED_ONE:
        one = find_topic(c, change->uri);
        if (one)
            mark_topic(one, change->workspace);
        break;
    case CHANGED_ALL:
        mark_beneath(c, change->uri, change->workspace);
        break;
    }
    pthread_mutex_unlock(&c->lock);
}

void changes_task(struct changes *c, const char *id)
{
    char key[CRYPTO_TOKEN + 1] = {TASK_MARK};
    memcpy(key + 1, id, strnlen(id, CRYPTO_TOKEN - 1));
    pthread_mutex_lock(&c->lock);
    const struct topic *t = find_topic(c, str_of(key));
    if (t)
        mark_topic(t, NULL);
    pthread_mutex_unlock(&c->lock);
}

/* ---- listeners ---------------------------------------------------------- */

static bool take_id(struct listener *l, const struct json *id, struct err *e)
{
    scoped_buf struct buf text = buf_of(LISTENER_ID_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, id);
    if (text.failed)
        return err_set(
            e, ERR_INVALID,
            "the id of this request is longer than %u bytes, which is too much "
            "to put into each notification",
            LISTENER_ID_MAX);
    l->id = mem_strdup(buf_cz(&text));
    return true;
}

static void take_grant(struct listener *l, const struct grant *g)
{
    if (!g)
        return;
    size_t n = strnlen(g->principal, sizeof l->principal - 1);
    memcpy(l->principal, g->principal, n);
    if (!g->vaults.given)
        return;
    l->vaults = mem_new((g->vaults.n + 1) * sizeof *l->vaults);
    for (size_t i = 0; i < g->vaults.n; i++)
        l->vaults[i] = mem_strdup(g->vaults.at[i]);
}

static bool changes_start_thread(struct changes *c)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, THREAD_STACK);
    c->started = pthread_create(&c->thread, &attr, changes_main, c) == 0;
    pthread_attr_destroy(&attr);
    if (c->started)
        (void)pthread_setname_np(c->thread, "mcp-changes");
    return c->started;
}

/* The lock is held, here and below. */
static bool may_enter(struct changes *c, const struct listener *l, struct err *e)
{
    if (c->ending || (!c->started && !changes_start_thread(c)))
        return err_set(e, ERR_BUSY,
                       "change notifications are unavailable; try again later");
    if (!l->id)
        return true;
    if (c->requests >= LISTENERS_MAX)
        return err_set(e, ERR_LIMIT, "%u listen already; try again later", LISTENERS_MAX);
    size_t same = 0;
    for (struct listener *o = l->principal[0] ? c->first : NULL; o; o = o->after)
        same += o->id && !strcmp(o->principal, l->principal);
    return same < LISTENERS_GRANT_MAX ||
           err_set(e, ERR_LIMIT, "%u requests with this credential listen already",
                   LISTENERS_GRANT_MAX);
}

static bool listener_enter(struct changes *c, struct listener *l, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    bool ok = may_enter(c, l, e);
    if (ok) {
        (*(l->id ? &c->requests : &c->sessions))++;
        l->after = c->first;
        if (c->first)
            c->first->before = l;
        c->first = l;
    }
    pthread_mutex_unlock(&c->lock);
    return ok;
}

struct listener *listener_open(struct changes *c, const struct json *id,
                               const struct session *of, const struct grant *grant,
                               unsigned hears, struct err *e)
{
    struct listener *l = mem_new(sizeof *l);
    l->changes = c;
    l->session = *of;
    l->hears = hears;
    take_grant(l, grant);
    if ((id && !take_id(l, id, e)) || !listener_enter(c, l, e)) {
        listener_finish(l);
        return NULL;
    }
    settle_hearing(c);
    return l;
}

static bool listener_follow_uri(struct listener *l, struct str uri, struct str canonical,
                                struct err *e)
{
    struct changes *c = l->changes;
    if (l->follows >= FOLLOWED_MAX)
        return err_set(e, ERR_LIMIT, "%u resources can be followed at once, not more",
                       FOLLOWED_MAX);
    if (uri.n > FOLLOWED_URI_MAX || canonical.n > FOLLOWED_URI_MAX)
        return err_set(e, ERR_LIMIT, "a uri of %zu bytes; %u are accepted", uri.n,
                       FOLLOWED_URI_MAX);
    struct watch *w = mem_new(sizeof *w + uri.n + 1);
    memcpy(w->uri, uri.at, uri.n);
    w->listener = l;
    w->topic = need_topic(c, canonical);
    w->after = w->topic->first;
    if (w->after)
        w->after->before = w;
    w->topic->first = w;
    w->next = l->watches;
    l->watches = w;
    l->follows++;
    return true;
}

bool listener_follow(struct listener *l, struct str uri, struct str canonical,
                     struct err *e)
{
    pthread_mutex_lock(&l->changes->lock);
    bool ok = listener_follow_uri(l, uri, canonical, e);
    pthread_mutex_unlock(&l->changes->lock);
    return ok;
}

bool listener_follow_task(struct listener *l, struct str id, struct err *e)
{
    char key[CRYPTO_TOKEN + 1] = {TASK_MARK};
    if (id.n >= CRYPTO_TOKEN ||
        !task_put_notice(&l->changes->m->tasks, id, l->principal, NULL))
        return err_set(e, ERR_NOT_FOUND, "there is no such task");
    memcpy(key + 1, id.at, id.n);
    return listener_follow(l, id, str_of(key), e);
}

static void give_sign(void *arg)
{
    struct listener *l = arg;
    pthread_mutex_lock(&l->changes->lock);
    if (!l->dead && !l->sink.beat(l->sink.arg)) {
        l->dead = true;
        listener_mark(l);
    }
    pthread_mutex_unlock(&l->changes->lock);
}

void listener_start(struct listener *l, const struct sink *sink, struct listener **slot)
{
    struct changes *c = l->changes;
    pthread_mutex_lock(&c->lock);
    l->sink = *sink;
    l->slot = slot;
    if (slot)
        *slot = l;
    l->started = true;
    if (sink->beat) {
        l->beats = true;
        l->beat = (struct beat){.fn = give_sign, .arg = l};
        ticker_enter(&c->m->ticker, &l->beat);
    }
    /* Changes since it was opened. */
    bool pending = l->pending != 0 || l->dead;
    for (const struct watch *w = l->watches; w && !pending; w = w->next)
        pending = w->pending;
    if (pending)
        listener_mark(l);
    pthread_mutex_unlock(&c->lock);
}

void listener_drop(struct listener *l)
{
    pthread_mutex_lock(&l->changes->lock);
    listener_leave(l);
    pthread_mutex_unlock(&l->changes->lock);
    listener_finish(l);
}

void changes_gone(struct changes *c, struct listener **slot)
{
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    if (*slot)
        leave_to(*slot, &gone);
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
}

/* ---- sessions ----------------------------------------------------------- */

static bool is_of(const struct listener *l, const struct session *session)
{
    return l->session.there && session->there &&
           memcmp(l->session.id, session->id, sizeof session->id) == 0;
}

void changes_cancel(struct changes *c, const struct session *session,
                    const struct json *id)
{
    scoped_buf struct buf text = buf_of(LISTENER_ID_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, id);
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    for (struct listener *l = c->first, *next; l && !text.failed; l = next) {
        next = l->after;
        if (!l->id || !is_of(l, session) || !str_is(buf_view(&text), l->id))
            continue;
        if (l->started)
            leave_to(l, &gone);
        else
            l->dead = true; /* as soon as it starts */
    }
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
}

/* The lock is held. */
static struct listener *find_session(struct changes *c, const struct session *session)
{
    struct listener *l = c->first;
    while (l && (l->id || !is_of(l, session)))
        l = l->after;
    return l;
}

/* Sessions that end by themselves are noticed late: at the latest here. */
static void changes_sweep(struct changes *c)
{
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->sessions >= SESSIONS_MAX)
        for (struct listener *l = c->first, *next; l; l = next) {
            next = l->after;
            if (!l->id && l->started && is_lost(l))
                leave_to(l, &gone);
        }
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
}

void changes_session(struct changes *c, const struct session *session,
                     const struct grant *grant, const struct sink *sink)
{
    changes_sweep(c);
    changes_session_over(c, session); /* one that says initialize again */
    struct err ignored = {0};         /* then it hears of nothing */
    struct listener *l = listener_open(c, NULL, session, grant, HEARS_ALL, &ignored);
    struct sink streams = {.say = tell_session, .arg = l};
    if (l)
        listener_start(l, sink ? sink : &streams, NULL);
}

bool changes_follow(struct changes *c, const struct session *session, struct str uri,
                    struct str canonical, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    struct listener *l = find_session(c, session);
    bool has = false;
    for (const struct watch *w = l ? l->watches : NULL; w; w = w->next)
        has = has || str_is(uri, w->uri);
    bool ok = has || (l ? listener_follow_uri(l, uri, canonical, e)
                        : err_set(e, ERR_INVALID,
                                  "only a session that initialize opened can subscribe"));
    pthread_mutex_unlock(&c->lock);
    return ok;
}

void changes_unfollow(struct changes *c, const struct session *session, struct str uri)
{
    pthread_mutex_lock(&c->lock);
    struct listener *l = find_session(c, session);
    for (struct watch **at = l ? &l->watches : NULL; at && *at;) {
        struct watch *w = *at;
        if (str_is(uri, w->uri)) {
            *at = w->next;
            l->follows--;
            drop_watch(c, w);
        } else {
            at = &w->next;
        }
    }
    pthread_mutex_unlock(&c->lock);
}

void changes_session_over(struct changes *c, const struct session *session)
{
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    struct listener *l = find_session(c, session);
    if (l && l->started)
        leave_to(l, &gone);
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
}

/* ---- beginning and end -------------------------------------------------- */

void changes_init(struct changes *c, struct mcp *m)
{
    *c = (struct changes){.m = m, .rest_ms = CHANGES_REST_MS};
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->hearing_lock, NULL);
    pthread_cond_init(&c->changed, NULL);
}

/* Its request is answered, at last. */
static void say_end(struct listener *l)
{
    scoped_buf struct buf text = buf_of(8 * LISTENER_ID_MAX);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_raw(&w, "jsonrpc", STR("\"2.0\""));
    json_pair_raw(&w, "id", str_of(l->id));
    json_key(&w, "result");
    json_open_object(&w);
    json_pair_raw(&w, "resultType", STR("\"complete\""));
    put_meta(l, &w);
    json_close(&w);
    json_close(&w);
    if (!text.failed)
        (void)l->sink.say(l->sink.arg, buf_view(&text));
}

void changes_end(struct changes *c)
{
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    for (struct listener *l = c->first, *next; l; l = next) {
        next = l->after;
        if (!l->started)
            continue;
        if (l->id && !l->dead)
            say_end(l);
        leave_to(l, &gone);
    }
    pthread_mutex_unlock(&c->lock);
    finish_all(gone);
}

void changes_done(struct changes *c)
{
    changes_end(c);
    must(!c->first);
    pthread_mutex_lock(&c->lock);
    c->ending = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (c->started)
        pthread_join(c->thread, NULL);
    settle_hearing(c);
    free(c->topics);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->hearing_lock);
    pthread_mutex_destroy(&c->lock);
}
