/* The place where a call works, and its permit there. A vault's policy stays with the
 * vault: code that switches to another is under the other's policy from then on. */
#include "place/place.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "effect/effect.h"
#include "notes/notes.h"
#include "place/internal.h"

unsigned place_last(struct actions *a, const struct caller *who)
{
    unsigned last = who->vault ? *who->vault : 0;
    return last && vault_set_reaches(a->vaults, last, who->grant) ? last : 0;
}

bool place_find(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, struct err *e)
{
    *p = (struct place){.vault = vault};
    /* Numbers come from checked lookups; a caller without that check fails here. */
    if (vault && !vault_set_reaches(a->vaults, vault, who->grant))
        return err_set(e, ERR_NO_VAULT,
                       "no vault is open: the token is not for that one");
    scoped(free) char *path = vault_set_path(a->vaults, vault);
    p->ward = guard_ward(a->guard, path, e);
    return p->ward != NULL;
}

bool place_permit(struct place *p, const struct caller *who, const struct json *allowed,
                  struct err *e)
{
    return permit_open(&p->permit, p->ward, who, allowed, e);
}

bool place_open(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, const struct json *allowed, struct err *e)
{
    return place_find(p, a, vault, who, e) && place_permit(p, who, allowed, e);
}

void place_close(struct place *p)
{
    permit_close(&p->permit);
}

static bool may_see(const struct place *p, enum right r)
{
    struct err none = {0};
    return right_permitted(&p->permit, r, &none);
}

bool place_sees_notes(const struct place *p)
{
    return may_see(p, RIGHT_READ_NOTES);
}

/* By level and lists only: the call under way has its scope, and was recorded. */
static bool permits(const void *arg, const char *call, struct err *e)
{
    const struct place *p = arg;
    const struct host_call *row = host_call_named(call);
    must(row);
    struct permit_need need = host_call_need(row);
    need.writes = false;
    need.scopeless = true;
    return permit_call(&p->permit, &need, e);
}

struct vault *place_view(const struct place *p, struct vault *v, struct cancel *first,
                         struct cancel *second, struct vault_review *review,
                         struct outcome *outcome)
{
    const struct vault_view view = {.author = p->author,
                                    .notes = place_sees_notes(p),
                                    .types = may_see(p, RIGHT_READ_TYPES),
                                    .cancel = {first, second},
                                    .review = review,
                                    .outcome = outcome,
                                    .permits = permits,
                                    .permits_arg = p};
    return v ? vault_as(v, &view) : NULL;
}
