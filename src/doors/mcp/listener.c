/* Listeners and the topics that they follow. A topic is there for as long as anybody follows it.
 */
#include "mcp/listener.h"

#include "os/os.h"

#define BUCKETS 4096u /* a power of two */

/* ---- topics; the lock is held ------------------------------------------- */

struct topic *topic_find(const struct changes *c, struct str uri)
{
    uint64_t hash = hash_keyed(c->seed, uri);
    struct topic *t = c->topics ? c->topics[hash & (BUCKETS - 1)] : NULL;
    while (t && (t->hash != hash || !str_is(uri, t->uri)))
        t = t->next;
    return t;
}

static struct topic *topic_need(struct changes *c, struct str uri)
{
    struct topic *t = topic_find(c, uri);
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

static void watch_drop(struct changes *c, struct watch *w)
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

bool listener_may_hear(const struct listener *l, const char *workspace)
{
    if (!workspace || !l->vaults)
        return true;
    for (char *const *v = l->vaults; *v; v++)
        if (!strcmp(*v, workspace))
            return true;
    return false;
}

void listener_mark(struct listener *l)
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

void listener_unmark(struct listener *l)
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
    listener_unmark(l);
    if (l->slot)
        *l->slot = NULL;
    *(l->before ? &l->before->after : &c->first) = l->after;
    if (l->after)
        l->after->before = l->before;
    while (l->watches) {
        struct watch *w = l->watches;
        l->watches = w->next;
        watch_drop(c, w);
    }
    (*(l->id ? &c->requests : &c->sessions))--;
    if (!c->first) {
        c->idle = true;
        pthread_cond_signal(&c->changed);
    }
}

void listener_finish(struct listener *l)
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
void listeners_finish(struct listener *list)
{
    while (list) {
        struct listener *l = list;
        list = l->after;
        listener_finish(l);
    }
}

void listener_leave_to(struct listener *l, struct listener **list)
{
    listener_leave(l);
    l->after = *list;
    *list = l;
}

void topic_mark(const struct topic *t, const char *workspace)
{
    for (struct watch *w = t->first; w; w = w->after)
        if (listener_may_hear(w->listener, workspace)) {
            w->pending = true;
            listener_mark(w->listener);
        }
}

void topics_mark_beneath(struct changes *c, struct str begin, const char *workspace)
{
    for (size_t i = 0; c->topics && i < BUCKETS; i++)
        for (const struct topic *t = c->topics[i]; t; t = t->next)
            if (strlen(t->uri) >= begin.n && !memcmp(t->uri, begin.at, begin.n))
                topic_mark(t, workspace);
}

/* ---- listeners ---------------------------------------------------------- */

bool listener_follow_uri(struct listener *l, struct str uri, struct str canonical,
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
    w->topic = topic_need(c, canonical);
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
        listener_leave_to(*slot, &gone);
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
}

/* ---- sessions ----------------------------------------------------------- */

/* The streams that a session listens on are where it hears. */
bool listener_tell_session(void *arg, struct str message)
{
    const struct listener *l = arg;
    return channels_tell(&l->changes->m->channels, &l->session, message);
}

static bool session_is_there(const struct listener *l)
{
    int64_t now_ms = os_mono_ms();
    return l->sink.say != listener_tell_session ||
           sessions_touch(&l->changes->m->sessions, &l->session, now_ms, false);
}

/* A session of the older era may be without a stream to hear on, and be back. */
bool listener_is_lost(const struct listener *l)
{
    return l->id || !session_is_there(l);
}

static bool listener_is_of(const struct listener *l, const struct session *session)
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
        if (!l->id || !listener_is_of(l, session) || !str_is(buf_view(&text), l->id))
            continue;
        if (l->started)
            listener_leave_to(l, &gone);
        else
            l->dead = true; /* as soon as it starts */
    }
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
}

/* The lock is held. */
struct listener *listener_of_session(struct changes *c, const struct session *session)
{
    struct listener *l = c->first;
    while (l && (l->id || !listener_is_of(l, session)))
        l = l->after;
    return l;
}

bool changes_follow(struct changes *c, const struct session *session, struct str uri,
                    struct str canonical, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    struct listener *l = listener_of_session(c, session);
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
    struct listener *l = listener_of_session(c, session);
    for (struct watch **at = l ? &l->watches : NULL; at && *at;) {
        struct watch *w = *at;
        if (str_is(uri, w->uri)) {
            *at = w->next;
            l->follows--;
            watch_drop(c, w);
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
    struct listener *l = listener_of_session(c, session);
    if (l && l->started)
        listener_leave_to(l, &gone);
    pthread_mutex_unlock(&c->lock);
    listeners_finish(gone);
}
