/* subscriptions/listen of the newer era, and resources/subscribe of the older: what is
 * asked for, and what is agreed to.
 * Source: 2026-07-28 basic/patterns/subscriptions; 2025-11-25 server/resources.
 */
#include "mcp/core.h"

/* ---- the request -------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bit;
} lists[] = {{"toolsListChanged", HEARS_TOOLS},
             {"promptsListChanged", HEARS_PROMPTS},
             {"resourcesListChanged", HEARS_RESOURCES}};

static bool listen_check_names(const struct json *names, const char *what, struct err *e)
{
    if (!json_is(names, JSON_ARRAY) || json_length(names) > FOLLOWED_MAX)
        return err_set(e, ERR_INVALID,
                       "Invalid params: %s must be an array of at most %u strings", what,
                       FOLLOWED_MAX);
    struct json_iter it = json_iter(names);
    while (json_next(&it))
        if (!json_is(it.value, JSON_STRING) || json_str(it.value).n > FOLLOWED_URI_MAX)
            return err_set(e, ERR_INVALID,
                           "Invalid params: %s holds strings of at most %u bytes", what,
                           FOLLOWED_URI_MAX);
    return true;
}

static bool read_filter(const struct json *filter, unsigned *hears, struct err *e)
{
    if (!json_is(filter, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "Invalid params: subscriptions/listen needs notifications, an "
                       "object, not %s",
                       json_type_name(json_type(filter)));
    *hears = 0;
    for (size_t i = 0; i < LENGTH(lists); i++) {
        const struct json *v = json_get(filter, lists[i].name);
        if (v && !json_is(v, JSON_BOOL))
            return err_set(e, ERR_INVALID, "Invalid params: %s must be a boolean, not %s",
                           lists[i].name, json_type_name(json_type(v)));
        *hears |= json_bool(v, false) ? lists[i].bit : 0;
    }
    const struct json *uris = json_get(filter, "resourceSubscriptions");
    const struct json *tasks = json_get(filter, "taskIds");
    return (!uris || listen_check_names(uris, "resourceSubscriptions", e)) &&
           (!tasks || listen_check_names(tasks, "taskIds", e));
}

/* ---- the acknowledgement ------------------------------------------------ */

static bool follow_one(const struct call *c, const struct caller *who, struct listener *l,
                       struct str uri)
{
    const struct library *lib = &c->m->backend.library;
    struct err ignored = {0}; /* it is left out of what is agreed to */
    scoped_buf struct buf canonical = buf_of((size_t)4 * FOLLOWED_URI_MAX);
    return lib->follow && lib->follow(lib->arg, who, uri, &canonical, &ignored) &&
           listener_follow(l, uri, buf_view(&canonical), &ignored);
}

/* Writes the ones of `names` that it will hear of; `who` is NULL for tasks. */
static void put_followed(struct json_writer *w, const char *key, const struct json *names,
                         const struct call *c, const struct caller *who,
                         struct listener *l)
{
    struct err ignored = {0};
    json_key(w, key);
    json_open_array(w);
    struct json_iter it = json_iter(names);
    while (json_next(&it)) {
        struct str name = json_str(it.value);
        ignored = (struct err){0};
        if (who ? follow_one(c, who, l, name) : listener_follow_task(l, name, &ignored))
            json_put(w, it.value);
    }
    json_close(w);
}

static void put_agreed(struct json_writer *w, const struct call *c,
                       const struct caller *who, struct listener *l, unsigned hears)
{
    const struct json *filter = json_get(c->params, "notifications");
    const struct json *uris = json_get(filter, "resourceSubscriptions");
    const struct json *tasks = json_get(filter, "taskIds");
    json_key(w, "notifications");
    json_open_object(w);
    for (size_t i = 0; i < LENGTH(lists); i++)
        if (hears & lists[i].bit)
            json_pair_bool(w, lists[i].name, true);
    if (uris)
        put_followed(w, "resourceSubscriptions", uris, c, who, l);
    if (tasks)
        put_followed(w, "taskIds", tasks, c, NULL, l);
    json_close(w);
}

static void listen_refuse(const struct call *c, struct reply *r, const struct err *e)
{
    bool ours = e->code == ERR_BUSY || e->code == ERR_LIMIT;
    struct json_writer w =
        error_open(r->out, c->id, ours ? err_kind(e->code)->jsonrpc : RPC_PARAMS);
    json_pair_cstr(&w, "message", e->msg);
    json_close(&w);
    json_close(&w);
    r->status = ours ? 200 : 400;
}

static void listen_run(struct call *c, const struct front *f, struct reply *r)
{
    struct err e = {0};
    struct caller who = {.name = f->who,
                         .level = f->grant ? f->grant->level : LEVEL_FULL,
                         .grant = f->grant,
                         .cancel = c->cancel};
    struct listener *l =
        listener_open(&c->m->changes, c->id, &c->session, f->grant, c->hears, &e);
    /* From now on it can be cancelled as a listener, no longer as a call. */
    bool wanted = calls_leave(&c->m->calls, c);
    if (!l || !wanted) {
        if (l)
            listener_drop(l);
        if (wanted)
            listen_refuse(c, r, &e);
        return;
    }
    scoped_buf struct buf first = buf_of((size_t)8 * FOLLOWED_MAX * FOLLOWED_URI_MAX);
    struct json_writer w =
        notice_open(&first, "notifications/subscriptions/acknowledged", c->id);
    put_agreed(&w, c, &who, l, c->hears);
    json_close(&w);
    json_close(&w);
    r->attached = true;
    f->attach(f->attach_arg, l, buf_view(&first));
}

/* ---- subscriptions/listen ----------------------------------------------- */

void listen_prepare(struct exchange *x)
{
    unsigned hears;
    struct err e = {0};
    if (x->env->http && !x->env->events) {
        reply_error(x, RPC_REQUEST,
                    "Invalid Request: what subscriptions/listen answers is "
                    "text/event-stream; Accept must allow that");
        x->reply->status = 406;
    } else if (!read_filter(json_get(x->params, "notifications"), &hears, &e)) {
        reply_error(x, RPC_PARAMS, "%s", e.msg);
    } else if (json_get(json_get(x->params, "notifications"), "taskIds") &&
               !tasks_declared(x->params)) {
        tasks_refuse(x);
    } else {
        struct call *c = call_leave(x, NULL);
        c->listens = true;
        c->run = listen_run;
        c->hears = x->m->backend.library.hear ? hears : 0;
    }
}

/* ---- the older era ------------------------------------------------------ */

static bool subscribe(const struct call *c, const struct caller *who, struct answer *out,
                      struct err *e)
{
    const struct library *lib = &c->m->backend.library;
    struct str uri = json_str(json_get(c->params, "uri"));
    scoped_buf struct buf canonical = buf_of((size_t)4 * FOLLOWED_URI_MAX);
    return (lib->follow ? lib->follow(lib->arg, who, uri, &canonical, e)
                        : err_set(e, ERR_NOT_FOUND, "there are no resources")) &&
           changes_follow(&c->m->changes, &c->session, uri, buf_view(&canonical), e) &&
           buf_cstr(&out->json, "{}");
}

static bool unsubscribe(const struct call *c, const struct caller *who,
                        struct answer *out, struct err *e)
{
    (void)who;
    (void)e;
    changes_unfollow(&c->m->changes, &c->session, json_str(json_get(c->params, "uri")));
    return buf_cstr(&out->json, "{}");
}

static void put_nothing(const struct call *c, struct json_writer *w,
                        const struct answer *a)
{
    (void)c;
    (void)w;
    (void)a;
}

static void leave_errand(struct exchange *x, const struct errand *errand)
{
    if (json_is(json_get(x->params, "uri"), JSON_STRING))
        call_leave_errand(x, errand);
    else
        reply_error(x, RPC_PARAMS, "Invalid params: %s needs uri, a string",
                    errand->method);
}

void resources_subscribe(struct exchange *x)
{
    static const struct errand errand = {"resources/subscribe", subscribe, put_nothing,
                                         KEEP_UNSAID};
    leave_errand(x, &errand);
}

void resources_unsubscribe(struct exchange *x)
{
    static const struct errand errand = {"resources/unsubscribe", unsubscribe,
                                         put_nothing, KEEP_UNSAID};
    leave_errand(x, &errand);
}
