/* Host calls without code: a series in one vault, with the rights of its caller and one
 * audit record. */
#include "capability/capability.h"
#include "notes/notes.h"
#include "performing/internal.h"
#include "performing/performing.h"
#include "place/place.h"
#include "record/record.h"
#include "watching/watching.h"

struct work {
    struct action_call call;
    struct place place;
    struct account account;
    struct evaluation own, *evaluation; /* its own, or that of the script it belongs to */
    const char *what;
    enum err_cause why; /* why the last call failed */
    unsigned number;    /* of its vault, if it belongs to a script; else 0 */
    char vault[VAULT_ID_MAX + 1];
};

/* The number of the vault that is named; 0 and *e. */
static unsigned find_vault(struct actions *a, const struct caller *who, struct str vault,
                           struct err *e)
{
    if (vault.n)
        return vault_set_find(a->vaults, vault, who->grant, e);
    if (who->within)
        return atomic_load(&who->within->vault);
    unsigned last = place_last(a, who);
    return last ? last : vault_set_first(a->vaults, who->grant, e);
}

unsigned work_vault_number(struct actions *a, const struct caller *who, struct str id,
                           struct err *e)
{
    return vault_set_find(a->vaults, id, who->grant, e);
}

static void work_record(struct work *w, enum err_code outcome)
{
    if (w->account.outcome == ERR_NONE)
        w->account.outcome = outcome;
    account_end(&w->account);
    arena_free(w->call.arena);
    free(w);
}

static struct work *work_within(struct evaluation *v, unsigned vault)
{
    struct work *w = mem_new(sizeof *w);
    w->evaluation = v;
    w->number = vault;
    vault_set_id(v->actions->vaults, vault, w->vault);
    return w;
}

/* Work within a script: part of its record, with its rights. */
static struct work *begin_within(struct actions *a, const struct caller *who,
                                 struct str vault, struct err *e)
{
    unsigned number = find_vault(a, who, vault, e);
    return number && evaluation_visit(who->within, number, e)
               ? work_within(who->within, number)
               : NULL;
}

struct work *work_begin(struct actions *a, const struct caller *who, struct str vault,
                        const char *what, struct err *e)
{
    if (who->within)
        return begin_within(a, who, vault, e);
    struct work *w = mem_new(sizeof *w);
    w->what = what;
    w->call = (struct action_call){.actions = a,
                                   .who = who,
                                   .place = &w->place,
                                   .account = &w->account,
                                   .arena = arena_new(ARENA_FILE)};
    account_begin(&w->account, a, what, NULL, who);
    unsigned number = find_vault(a, who, vault, e);
    if (number && place_find(&w->place, a, number, who, e)) {
        bool open = place_permit(&w->place, who, NULL, e);
        account_place(&w->account, &w->place, w->place.permit.policy);
        if (open) {
            vault_set_id(a->vaults, number, w->vault);
            w->account.level = w->place.permit.level;
            evaluation_init(&w->own, &w->call);
            w->evaluation = &w->own;
            return w;
        }
    }
    work_record(w, e->code);
    paths_hide(who, vault, e);
    return NULL;
}

/* A script may send requests at once, in several vaults. */
static bool visit(struct work *w, struct err *e)
{
    return !w->number || w->number == atomic_load(&w->evaluation->vault) ||
           evaluation_visit(w->evaluation, w->number, e);
}

bool work_version(struct work *w, struct buf *out, struct err *e)
{
    struct calling x = {.v = w->evaluation};
    scoped(vault_close) struct vault *vault = visit(w, e) ? own_vault(&x, e) : NULL;
    return vault && notes_version(vault, out, e);
}

bool work_call(struct work *w, const char *name, struct str args, struct buf *out,
               struct err *e)
{
    struct calling x = {.v = w->evaluation};
    bool ok = visit(w, e) && calling_perform(&x, host_call_number(name), args, out, e);
    w->why = ok ? CAUSE_OTHER : e->cause;
    return ok && buf_check(out, "the answer", e);
}

bool evaluation_call(struct evaluation *v, const char *name, struct str args,
                     struct buf *out, struct err *e)
{
    struct calling x = {.v = v};
    return calling_perform(&x, host_call_number(name), args, out, e) &&
           buf_check(out, "the answer", e);
}

bool work_was_stale(const struct work *w)
{
    return w->why == CAUSE_STALE;
}

bool work_was_unguarded(const struct work *w)
{
    return w->why == CAUSE_UNGUARDED;
}

struct evaluation *work_evaluation(const struct work *w)
{
    return w->evaluation;
}

void work_notices(const struct work *w, struct buf *out)
{
    if (w->evaluation == &w->own)
        buf_str(out, buf_view(&w->own.notices.messages));
}

const char *work_vault(const struct work *w)
{
    return w->vault;
}

const char *work_id(const struct work *w)
{
    return w->place.part ? w->place.part->id : "";
}

void work_follow(struct work *w)
{
    watching_follow(w->call.actions->watching, w->place.vault);
}

void work_end(struct work *w, const struct err *why)
{
    if (w->evaluation != &w->own) {
        free(w);
        return;
    }
    cancel_fire(&w->own.stopping);
    evaluation_done(&w->own);
    place_close(&w->place);
    work_record(w, why ? why->code : ERR_NONE);
}
