/* The state of one evaluation: its vault, and its parts from creation to end. */
#include "evaluation/evaluation.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "evaluation/internal.h"
#include "guard/guard.h"
#include "place/place.h"
#include "record/record.h"
#include "json/json.h"

#define PLACES_MAX 64u /* vaults that one evaluation may use */

void evaluation_init(struct evaluation *v, const struct action_call *c)
{
    *v = (struct evaluation){.actions = c->actions,
                             .who = c->who,
                             .allowed = json_get(c->arguments, "allowedAPIs"),
                             .here = c->place,
                             .places = c->place,
                             .account = c->account,
                             .cancel = c->who->cancel,
                             .arena = arena_new(ARENA_CALL)};
    atomic_init(&v->vault, c->place->vault);
    atomic_init(&v->deadline_ns, UINT64_MAX);
    cancel_init(&v->stopping);
    cancel_set_due(&v->stopping, evaluation_is_past_deadline, v);
    pthread_mutex_init(&v->lock, NULL);
    buf_init(&v->warnings, (size_t)128 << 10);
    buf_init(&v->explained.suggestion, 2000);
    notices_init(&v->notices);
    buf_init(&v->repeat_hint, 2000);
    pthread_mutex_init(&v->inside.lock, NULL);
    pthread_cond_init(&v->inside.empty, NULL);
}

void evaluation_done(struct evaluation *v)
{
    for (size_t i = 0; i < capability_count; i++)
        if (capability_list[i]->end)
            capability_list[i]->end(v);
    for (struct place *p = v->places; p->next; p = p->next)
        place_close(p->next);
    v->places->next = NULL; /* the first is the call's own */
    buf_done(&v->warnings);
    buf_done(&v->explained.suggestion);
    notices_done(&v->notices);
    buf_done(&v->repeat_hint);
    pthread_cond_destroy(&v->inside.empty);
    pthread_mutex_destroy(&v->inside.lock);
    pthread_mutex_destroy(&v->lock);
    arena_free(v->arena);
}

void **evaluation_part(struct evaluation *v, const struct capability *c)
{
    return &v->parts[capability_number(c)];
}

/* The place of this vault, opened at first use; the lock is held for writing. */
static struct place *evaluation_place(struct evaluation *v, unsigned vault, struct err *e)
{
    struct place *p = v->places;
    for (unsigned n = 1;; n++, p = p->next) {
        if (p->vault == vault)
            return p;
        if (n == PLACES_MAX) {
            err_set(e, ERR_LIMIT, "one evaluation may work in %u vaults", PLACES_MAX);
            return NULL;
        }
        if (!p->next)
            break;
    }
    struct place *made = arena_get(v->arena, sizeof *made, e);
    if (!made || !place_open(made, v->actions, vault, v->who, v->allowed, e))
        return NULL;
    account_place(v->account, made, made->permit.policy);
    return p->next = made;
}

void evaluation_enter(struct evaluation *v)
{
    pthread_mutex_lock(&v->inside.lock);
    v->inside.calls++;
    pthread_mutex_unlock(&v->inside.lock);
}

void evaluation_leave(struct evaluation *v)
{
    pthread_mutex_lock(&v->inside.lock);
    if (--v->inside.calls == 0)
        pthread_cond_broadcast(&v->inside.empty);
    pthread_mutex_unlock(&v->inside.lock);
}

bool evaluation_visit(struct evaluation *v, unsigned vault, struct err *e)
{
    pthread_mutex_lock(&v->inside.lock);
    while (v->inside.calls)
        pthread_cond_wait(&v->inside.empty, &v->inside.lock);
    struct place *to = evaluation_place(v, vault, e);
    if (to) {
        v->here = to;
        atomic_store(&v->vault, vault);
    }
    pthread_mutex_unlock(&v->inside.lock);
    return to != NULL;
}

/* Called from within a call, which is inside again when this returns. */
bool evaluation_go(struct evaluation *v, unsigned vault, struct err *e)
{
    evaluation_leave(v);
    bool gone = evaluation_visit(v, vault, e);
    if (gone && v->who->vault)
        *v->who->vault = vault;
    evaluation_enter(v);
    return gone;
}

bool evaluation_allows(const struct evaluation *v, const struct host_call *c,
                       struct err *e)
{
    struct permit_need need = host_call_need(c);
    if (!c->asks)
        return permit_call(&v->here->permit, &need, e) &&
               (!c->changes_vaults || vault_set_owned(v->who->grant, c->row.name, e));
    return v->here->permit.level <= c->level ||
           err_set(e, ERR_DENIED, "%s is not allowed at the level '%s'", c->row.name,
                   level_name(v->here->permit.level));
}

/* ---- its vault ---------------------------------------------------------- */

struct vault *evaluation_vault(struct evaluation *v, struct err *e)
{
    struct vault_set *s = v->actions->vaults;
    unsigned n = atomic_load(&v->vault);
    /* A vault that became current meanwhile is not the one this evaluation's calls were
     * checked against. */
    if (!n && vault_set_first(s, v->who->grant, e))
        err_set(e, ERR_NO_VAULT, "no vault was open when this began; run it again");
    struct vault *copy = v->dry ? dry_vault(v->dry, n) : NULL;
    return copy ? copy : vault_set_get(s, n, e);
}

struct vault *action_vault(const struct action_call *c, struct err *e)
{
    struct vault_set *s = c->actions->vaults;
    if (!c->place->vault && vault_set_first(s, c->who->grant, e))
        err_set(e, ERR_NO_VAULT, "no vault was open when this began; try again");
    return vault_set_get(s, c->place->vault, e);
}
