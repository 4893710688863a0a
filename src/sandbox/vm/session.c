/* Sessions of a machine: the name of each long-lived shell, and its queue of commands.
 * The machine knows them by numbers that are never used again. */
#include "vm/internal.h"

#include "os/os.h"

static bool session_check_name(struct str name, struct err *e)
{
    bool fine = name.n <= VM_SESSION_NAME_MAX;
    for (size_t i = 0; i < name.n && fine; i++)
        fine = name.at[i] && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789._-",
                                    name.at[i]);
    return fine || err_set(e, ERR_INVALID,
                           "a session's name has at most %u characters of letters, "
                           "digits, '.', '_' and '-'; nothing was run",
                           VM_SESSION_NAME_MAX);
}

static struct session *session_find(struct vm *m, struct str name)
{
    struct session *s = m->sessions;
    while (s && !str_is(name, s->name))
        s = s->next;
    return s;
}

static struct session *session_make(struct vm *m, struct str name, struct err *e)
{
    if (m->session_count >= VM_SESSIONS_MAX) {
        err_set(
            e, ERR_LIMIT,
            "the machine has %u sessions, as many as it may: use one of them, or close "
            "one; nothing was run",
            VM_SESSIONS_MAX);
        return NULL;
    }
    struct session *s = mem_new(sizeof *s);
    memcpy(s->name, name.at, name.n);
    s->number = ++m->last_session;
    s->last = &s->first;
    s->next = m->sessions;
    m->sessions = s;
    m->session_count++;
    return s;
}

void session_revive(struct vm *m, const char *name, uint32_t number)
{
    struct err none = {0};
    uint32_t last = m->last_session;
    struct session *s = session_make(m, str_of(name), &none);
    m->last_session = last;
    if (s)
        s->number = number;
}

static void session_remove(struct vm *m, struct session *s)
{
    struct session **at = &m->sessions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    m->session_count--;
    free(s);
}

void session_wake(struct vm *m)
{
    for (struct session *s = m->sessions; s; s = s->next)
        for (struct turn *t = s->first; t; t = t->next)
            exec_wake(t->of);
}

static void next_turn(struct session *s)
{
    if (!s->taken && s->first)
        exec_wake(s->first->of);
}

struct session *session_join(struct vm *m, struct str name, struct turn *t, struct err *e)
{
    if (name.n == 0)
        name = STR("default");
    if (!session_check_name(name, e))
        return NULL;
    struct session *s = session_find(m, name);
    if (!s)
        s = session_make(m, name, e);
    if (!s)
        return NULL;
    t->next = NULL;
    *s->last = t;
    s->last = &t->next;
    return s;
}

bool session_has_turn(const struct session *s, const struct turn *t)
{
    return !s->taken && s->first == t;
}

void session_unjoin(struct session *s, struct turn *t, bool taken)
{
    struct turn **at = &s->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    if (s->last == &t->next)
        s->last = at;
    s->taken |= taken;
    next_turn(s);
}

void session_leave(struct session *s)
{
    s->taken = false;
    next_turn(s);
}

void session_free_all(struct vm *m)
{
    while (m->sessions)
        session_remove(m, m->sessions);
}

/* A running command gets its end from the machine; a waiting one gets a new shell. */
static bool close_one(struct vm *m, struct str name, struct err *e)
{
    struct session *s = session_find(m, name.n ? name : STR("default"));
    if (!s)
        return err_set(e, ERR_NOT_FOUND, "the machine has no session \"%.*s\"",
                       STR_ARGS(str_cut(name, VM_SESSION_NAME_MAX)));
    m->unready++;
    port_send_u32(m, 0, VM_CLOSE, s->number);
    if (s->taken || s->first)
        s->number = ++m->last_session;
    else
        session_remove(m, s);
    return port_await_ready(m, os_mono_ns() + m->timeouts->start_ns, NULL, e);
}

bool vm_session_close(struct vm *m, struct str session, struct err *e)
{
    pthread_mutex_lock(&m->lock);
    bool fine = session_check_name(session, e) && port_over(m, false, e) &&
                close_one(m, session, e);
    pthread_mutex_unlock(&m->lock);
    return fine;
}
