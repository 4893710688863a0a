/* All listeners are under one lock, which is held while they are told: telling waits for
 * nobody. Sinks are ended without it, for whoever ends one may wait for the word that
 * its client has gone, and that word takes the lock.
 */
#include "mcp/listener.h"

#include "os/os.h"

#define THREAD_STACK ((size_t)256 * 1024)
#define TASK_NOTICE_MAX ((size_t)1024 * 1024)
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

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

static void tell_dirty(struct changes *c)
{
    struct listener *gone = NULL;
    while (c->dirty) {
        struct listener *l = c->dirty;
        listener_unmark(l);
        if (l->dead || (!listener_notify(l) && listener_is_lost(l)))
            listener_leave_to(l, &gone);
    }
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
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
    uint64_t until_ns = os_in_ms(c->rest_ms);
    while (!c->ending && os_cond_wait(&c->changed, &c->lock, until_ns))
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

static bool changes_start_thread(struct changes *c)
{
    c->started =
        os_thread_start(&c->thread, "mcp-changes", THREAD_STACK, changes_main, c);
    return c->started;
}

/* ---- changes ------------------------------------------------------------ */

static void mark_lists(struct changes *c, unsigned bit, const char *workspace)
{
    for (struct listener *l = c->first; l; l = l->after)
        if ((l->hears & bit) && listener_may_hear(l, workspace)) {
            l->pending |= bit;
            listener_mark(l);
        }
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
        one = topic_find(c, change->uri);
        if (one)
            topic_mark(one, change->workspace);
        break;
    case CHANGED_ALL:
        topics_mark_beneath(c, change->uri, change->workspace);
        break;
    }
    pthread_mutex_unlock(&c->lock);
}

void changes_task(struct changes *c, const char *id)
{
    char key[CRYPTO_TOKEN + 1] = {TASK_MARK};
    memcpy(key + 1, id, strnlen(id, CRYPTO_TOKEN - 1));
    pthread_mutex_lock(&c->lock);
    const struct topic *t = topic_find(c, str_of(key));
    if (t)
        topic_mark(t, NULL);
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

static void listener_copy_grant(struct listener *l, const struct grant *g)
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
    listener_copy_grant(l, grant);
    if ((id && !take_id(l, id, e)) || !listener_enter(c, l, e)) {
        listener_finish(l);
        return NULL;
    }
    settle_hearing(c);
    return l;
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

/* Sessions that end by themselves are noticed late: at the latest here. */
static void changes_sweep(struct changes *c)
{
    struct listener *gone = NULL;
    pthread_mutex_lock(&c->lock);
    if (c->sessions >= SESSIONS_MAX)
        for (struct listener *l = c->first, *next; l; l = next) {
            next = l->after;
            if (!l->id && l->started && listener_is_lost(l))
                listener_leave_to(l, &gone);
        }
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
}

void changes_session(struct changes *c, const struct session *session,
                     const struct grant *grant, const struct sink *sink)
{
    changes_sweep(c);
    changes_session_over(c, session); /* one that says initialize again */
    struct err ignored = {0};         /* then it hears of nothing */
    struct listener *l = listener_open(c, NULL, session, grant, HEARS_ALL, &ignored);
    struct sink streams = {.say = listener_tell_session, .arg = l};
    if (l)
        listener_start(l, sink ? sink : &streams, NULL);
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
        listener_leave_to(l, &gone);
    }
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
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
