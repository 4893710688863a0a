/* Sessions of evaluations: opened before the code runs, stored after it. */
#include <stdio.h>

#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "session/session.h"

#define SESSION_BYTES_MAX ((uint64_t)64 << 20)
#define SESSION_WAIT_MS 10000u

static void *make_store(void *arg, struct err *e)
{
    (void)arg;
    struct sessions *s = sessions_open(e);
    if (!s)
        err_wrap(e, "sessions");
    return s;
}

/* Opened at first use: most processes have no sessions. */
static struct sessions *store_of(struct actions *a, struct err *e)
{
    return once_need(&a->sessions, make_store, NULL, e);
}

static struct session_limits limits_of(const struct policy *p)
{
    uint64_t bytes = (uint64_t)p->sessions.megabytes << 20;
    return (struct session_limits){
        .idle_ms = (uint64_t)p->sessions.idle_minutes * 60000u,
        .bytes = bytes,
        .one_bytes = bytes < SESSION_BYTES_MAX ? bytes : SESSION_BYTES_MAX,
        .max = p->sessions.max,
        .wait_ms = SESSION_WAIT_MS,
    };
}

/* The owner: the caller, in the vault that the call begins in. */
struct own {
    char *vault;
    struct session_owner owner;
    struct session_limits limits;
};

static void own_init(struct own *o, const struct action_call *c)
{
    o->vault = vault_set_path(c->actions->vaults, c->place->vault);
    o->owner = (struct session_owner){c->who->name, o->vault ? o->vault : ""};
    o->limits = limits_of(c->place->permit.policy);
    /* The sessions of one token do not count against another's limit. */
    o->limits.each = c->who->grant != NULL;
}

/* ---- an evaluation's session -------------------------------------------- */

enum {
    HOLDS_SCRIPT = 1,
    HOLDS_PYTHON
}; /* the kinds of sessions: their numbers are in files */

/* A world of one language cannot go on in another. */
static bool fits_language(struct session *x, bool python, struct err *e)
{
    uint64_t kind = python ? HOLDS_PYTHON : HOLDS_SCRIPT;
    if (x->saved.n && x->kind && x->kind != kind)
        return err_set(
            e, ERR_CONFLICT,
            "session '%s' was begun in %s and goes on in it alone; nothing was run; use "
            "another session for %s",
            x->name, python ? "JavaScript" : "Python", python ? "Python" : "JavaScript");
    x->kind = kind;
    return true;
}

bool lease_begin(struct session_lease *k, const struct action_call *c, bool python,
                 struct script_request *q, struct err *e)
{
    *k = (struct session_lease){0};
    struct str name = json_str(json_get(c->arguments, "session"));
    if (!json_get(c->arguments, "session"))
        return true;
    struct sessions *store = store_of(c->actions, e);
    struct own own;
    own_init(&own, c);
    k->vault = own.vault;
    if (store)
        k->session =
            session_take(store, &own.owner, &own.limits, name, c->who->cancel, e);
    if (!k->session || !fits_language(k->session, python, e))
        return false;
    q->session = true;
    q->saved = buf_view(&k->session->saved);
    q->saved_max = own.limits.one_bytes;
    return true;
}

bool lease_refuse(struct session_lease *k, const struct script_outcome *o, struct err *e)
{
    struct err none = {0}, why = *e;
    if (!k->session || !o->unrestored)
        return false;
    const char *name = k->session->name;
    if (why.code == ERR_CONFLICT) {
        (void)session_forget(k->session, &none);
        *e = none;
        err_set(e, ERR_CONFLICT,
                "session '%s' cannot be restored (%.120s) and was deleted; nothing was "
                "run; repeat the call to start a new session",
                name, why.msg);
    } else if (why.code == ERR_MEMORY) {
        *e = none;
        err_set(e, ERR_MEMORY,
                "session '%s': %.120s; ask for a larger memoryLimit (MB), or end it with "
                "close_session; nothing was run",
                name, why.msg);
    }
    return false;
}

void lease_end(struct session_lease *k, const struct script_outcome *o)
{
    struct session *x = k->session;
    if (!x)
        return;
    k->is_new = x->calls == 0;
    k->why = o->unsaved;
    if (o->saved.n)
        k->kept = session_keep(x, buf_view(&o->saved), &k->why);
    k->bytes = k->kept ? o->saved.n : x->saved.n;
}

static void put_reason(const struct session_lease *k, bool exists, struct json_writer *w)
{
    char text[sizeof k->why.msg + 80];
    (void)snprintf(text, sizeof text, "%s: the session %s",
                   k->why.code ? k->why.msg : "the call was stopped",
                   exists ? "is as it was before" : "has not begun");
    json_pair_cstr(w, "reason", text);
}

void lease_write(const struct session_lease *k, struct json_writer *w)
{
    const struct session *x = k->session;
    if (!x)
        return;
    bool exists = k->kept || !k->is_new;
    json_key(w, "session");
    json_open_object(w);
    json_pair_cstr(w, "name", x->name);
    json_pair_cstr(w, "handle", x->handle);
    json_pair_bool(w, "new", k->is_new);
    json_pair_bool(w, "kept", k->kept);
    if (!k->kept)
        put_reason(k, exists, w);
    if (exists) {
        int64_t used = x->used_ms;
        json_pair_int(w, "calls", (int64_t)x->calls);
        json_pair_int(w, "bytes", (int64_t)k->bytes);
        json_pair_time(w, "expires", used + (int64_t)x->limits.idle_ms);
    }
    json_close(w);
}

void lease_done(struct session_lease *k)
{
    session_release(k->session);
    free(k->vault);
    *k = (struct session_lease){0};
}

/* ---- close_session ------------------------------------------------------ */

bool action_close_session(const struct action_call *c, struct answer *out, struct err *e)
{
    struct sessions *store = store_of(c->actions, e);
    struct str name = json_str(json_get(c->arguments, "session"));
    struct own own;
    own_init(&own, c);
    bool ok = store && sessions_end(store, &own.owner, &own.limits, name, e);
    free(own.vault);
    if (!ok)
        return false;
    struct json_writer w = json_writer(&out->json);
    json_open_object(&w);
    json_pair_str(&w, "session", name);
    json_pair_bool(&w, "closed", true);
    json_close(&w);
    return buf_check(&out->json, "the answer", e);
}
