/* The account of a call: counted while it runs, by vault; an intent in the audit trail of
 * a vault before the first change there, and a record in those of all vaults it worked in
 * before its answer leaves. */
#include <inttypes.h>
#include <stdio.h>

#include "audit/audit.h"
#include "calls/calls.h"
#include "guard/guard.h"
#include "metrics/metrics.h"
#include "os/os.h"
#include "place/place.h"
#include "record/internal.h"
#include "record/record.h"
#include "json/json.h"

void account_begin(struct account *a, const struct actions *of, const char *action,
                   const struct json *arguments, const struct caller *who)
{
    *a = (struct account){.actions = of,
                          .action = action,
                          .arguments = arguments,
                          .who = who,
                          .level = who->level,
                          .begun_ns = os_mono_ns()};
    pthread_mutex_init(&a->lock, NULL);
}

/* ---- intents -------------------------------------------------------------- */

static bool announce(struct account_part *p, const char *call, bool lasting,
                     struct err *e)
{
    unsigned char id[(ACCOUNT_ID_HEX - 1) / 2];
    if (!*p->id) {
        os_random(id, sizeof id);
        hex_write(id, sizeof id, p->id);
    }
    scoped_buf struct buf text;
    buf_init(&text, AUDIT_RECORD_MAX);
    account_write_intent(p, call, &text);
    const struct trail_entry entry = {.members = buf_view(&text),
                                      .state = p->digest,
                                      .kind = TRAIL_INTENT,
                                      .lasting = lasting};
    if (buf_check(&text, "the record", e) && ward_record(p->ward, &entry, e))
        return true;
    *p->id = '\0';
    return false;
}

/* Called by the permit, once all else allows the call. */
static bool intend(void *arg, const struct permit_need *need, struct err *e)
{
    struct account_part *p = arg;
    if (p->of->dry)
        return true;
    /* Changes of notes are in the vault's history with the call's id, in a commit that
     * survives a power failure: a lost record is restored from there. Other changes have
     * the intent only. */
    bool lasting = !need->in_history, ok = true;
    pthread_mutex_lock(&p->of->lock);
    if (!*p->id || (lasting && !p->lasting))
        ok = announce(p, need->name, lasting, e);
    p->lasting |= ok && lasting;
    pthread_mutex_unlock(&p->of->lock);
    return ok;
}

/* ---- changes ------------------------------------------------------------------ */

void account_change(struct account_part *p, struct str name)
{
    if (!p || p->of->dry)
        return;
    pthread_mutex_lock(&p->of->lock);
    p->changed = true;
    tally_add(&p->notes, name);
    pthread_mutex_unlock(&p->of->lock);
}

void account_effect(void *part, const struct effect *e)
{
    struct account_part *p = part;
    account_change(p, e->id);
    if (!p || p->of->dry)
        return;
    pthread_mutex_lock(&p->of->lock);
    p->revision = e->revision > p->revision ? e->revision : p->revision;
    pthread_mutex_unlock(&p->of->lock);
}

bool account_has_changed(struct account_part *p)
{
    pthread_mutex_lock(&p->of->lock);
    bool changed = p->changed && *p->id;
    pthread_mutex_unlock(&p->of->lock);
    return changed;
}

/* ---- places -------------------------------------------------------------------- */

/* vault_author.admits: bounds what an agent writes. */
static bool admits_notes(void *arg, size_t bytes, struct err *e)
{
    const struct account_part *p = arg;
    return ward_admit(p->ward, p->of->who, bytes, e);
}

static struct account_part *add_part(struct account *a)
{
    struct account_part **end = &a->parts;
    while (*end)
        end = &(*end)->next;
    *end = a->parts ? mem_new(sizeof **end) : &a->first;
    (*end)->of = a;
    return *end;
}

void account_place(struct account *a, struct place *place, const struct policy *policy)
{
    struct account_part *p = a->parts;
    while (p && p->ward != place->ward)
        p = p->next;
    if (!p) {
        p = add_part(a);
        p->ward = place->ward;
        p->author = (struct vault_author){
            .name = a->who->name, .call = p->id, .admits = admits_notes, .arg = p};
        p->keep_code = policy && policy->keep_code;
        /* A call that ends before it has a policy records its ward's. */
        struct err unusable = {0};
        const struct policy *asked = policy ? NULL : ward_policy(p->ward, &unusable);
        const struct policy *now = policy ? policy : asked;
        (void)snprintf(p->digest, sizeof p->digest, "%s", now ? now->digest : "unusable");
        policy_release(asked);
    }
    place->part = p;
    place->author = &p->author;
    place->permit.intend = intend;
    place->permit.intend_arg = p;
}

/* ---- host calls --------------------------------------------------------- */

/* Not every room reports effects; a call without history may have changed something. */
void account_done(struct account_part *p, const struct host_call *c,
                  const struct outcome *did)
{
    if (!host_call_group_of(c)->in_history && !did->dry)
        account_change(p, STR(""));
}

void account_removed(struct account_part *p, const struct outcome *did)
{
    if (p && did->removed && !p->of->dry)
        ward_observe(p->ward, p->of->who, &(struct observed){.deletes = did->removed});
}

void account_call(struct account_part *p, uint32_t row, const struct host_call *c,
                  enum err_code outcome, const struct outcome *did)
{
    if (!p)
        return;
    struct call_count *n = &p->calls[row];
    atomic_store_explicit(&p->has_calls, true, memory_order_relaxed);
    atomic_fetch_add_explicit(outcome == ERR_NONE     ? &n->done
                              : outcome == ERR_DENIED ? &n->denied
                                                      : &n->failed,
                              1, memory_order_relaxed);
    if (outcome == ERR_NONE && c->row.writes && !c->asks)
        account_done(p, c, did);
}

void account_host(struct account_part *p, const char *host)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->of->lock);
    tally_add(&p->hosts, str_of(host));
    pthread_mutex_unlock(&p->of->lock);
}

/* ---- other effects --------------------------------------------------------- */

void account_row(struct account_part *p, const struct account_list *l, const void *row)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->of->lock);
    struct account_rows *r = p->rows;
    while (r && r->list != l)
        r = r->next;
    if (!r) {
        r = mem_new(sizeof *r + ACCOUNT_LISTED * l->size);
        r->list = l;
        r->next = p->rows;
        p->rows = r;
    }
    if (r->count < ACCOUNT_LISTED)
        memcpy(r->at + r->count * l->size, row, l->size);
    r->count++;
    p->changed |= l->changes;
    pthread_mutex_unlock(&p->of->lock);
}

void account_decision(struct account_part *p, bool allowed)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->of->lock);
    p->asked++;
    p->allowed += allowed;
    pthread_mutex_unlock(&p->of->lock);
}

void account_script(struct account *a, const struct script_outcome *o)
{
    a->has_stats = true;
    a->stats = o->stats;
    if (!o->success)
        a->outcome = o->type;
}

/* ---- the end --------------------------------------------------------------- */

static void part_record(struct account_part *p)
{
    struct account *a = p->of;
    struct err e = {0};
    scoped_buf struct buf text;
    buf_init(&text, 2 * AUDIT_RECORD_MAX);
    buf_char(&text, '{');
    account_write(p, &text);
    if (p->keep_code && a->code_hash[0])
        (void)trail_keep(ward_trail(p->ward), a->code_hash,
                         json_str(json_get(a->arguments, "code")), &e);
    struct str members = {text.at + 1, text.n - 1};
    /* A caller over its share gets an error, and is counted: records of refusals would
     * fill the disk as well. */
    if (!ward_spend(p->ward, a->who, members.n) && a->outcome == ERR_BUSY && !*p->id &&
        !p->has_calls)
        return;
    /* A failure shows in the counters and in doctor; the next writing call is refused. */
    e = (struct err){0};
    scoped_buf struct buf steps = buf_of(2 * TRAIL_BESIDE_MAX);
    account_write_steps(p, &steps);
    const struct trail_entry entry = {.members = members,
                                      .state = p->digest,
                                      .kind = *p->id ? TRAIL_END : TRAIL_PLAIN,
                                      .lasting = p->changed,
                                      .beside = buf_view(&steps)};
    (void)ward_record(p->ward, &entry, &e);
    buf_char(&text, '}');
    if (a->actions->on_record && !text.failed)
        a->actions->on_record(a->actions->record_arg, buf_cz(&text));
}

static uint32_t denials_of(struct account_part *p)
{
    size_t count;
    uint32_t n = 0;
    (void)host_call_all(&count);
    for (size_t i = 0; p->has_calls && i < count; i++)
        n += atomic_load_explicit(&p->calls[i].denied, memory_order_relaxed);
    return n;
}

#define HOSTS_OBSERVED 1024u /* further hosts of one call are no more to an alert */

static void observe(struct account_part *p)
{
    const struct account *a = p->of;
    enum metric_outcome how = metric_outcome(a->outcome);
    bool first = p == a->parts;
    size_t most = p->hosts.kept < HOSTS_OBSERVED ? p->hosts.kept : HOSTS_OBSERVED;
    struct observed d = {.ended = first,
                         .limit = first && how == METRIC_LIMIT,
                         .failed = first && a->outcome != ERR_NONE,
                         .denials = denials_of(p)};
    if (first && !d.denials && a->outcome == ERR_DENIED)
        d.denials = 1;
    if (!first && !d.denials && !most)
        return;
    scoped(free) const char **hosts = most ? calloc(most, sizeof *hosts) : NULL;
    const char *host = NULL;
    while (hosts && d.host_count < most && (host = tally_next(&p->hosts, host)))
        hosts[d.host_count++] = host;
    d.hosts = hosts;
    ward_observe(p->ward, a->who, &d);
}

void account_end(struct account *a)
{
    for (struct account_part *p = a->parts; p; p = p->next)
        part_record(p);
    for (struct account_part *p = a->parts, *next; p; p = next) {
        next = p->next;
        observe(p);
        tally_done(&p->notes);
        tally_done(&p->hosts);
        free(p->steps);
        for (struct account_rows *r = p->rows, *after; r; r = after) {
            after = r->next;
            free(r);
        }
        if (p != &a->first)
            free(p);
    }
    a->parts = NULL;
    pthread_mutex_destroy(&a->lock);
}
