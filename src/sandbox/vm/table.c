/* The table of a process' machines: their owners, and the choice of those to stop for
 * others.
 *
 * An ended machine stays for a while, without its memory, so that its owner can ask why
 * it ended. */
#include "vm/table.h"

#include <inttypes.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "fuse/fuse.h"
#include "os/os.h"

#define ENDED_PER_OWNER 4u /* ended machines kept */
#define ENDED_MAX 64u

/* ---- a machine ---------------------------------------------------------------------- */

static void make_handle(char out[static VM_HANDLE])
{
    unsigned char random[16];
    scoped_buf struct buf text;
    buf_init(&text, VM_HANDLE);
    os_random(random, sizeof random);
    crypto_base64url(random, sizeof random, &text);
    (void)snprintf(out, VM_HANDLE, "vm_%s", buf_cz(&text));
}

void vms_notice(struct vms *s)
{
    pthread_mutex_lock(&s->lock);
    s->noticed = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

bool budget_refuse(const struct vm_budget *b, struct err *e)
{
    struct err why = *e;
    if (!b->hint)
        return false;
    *e = (struct err){0};
    return err_set(e, why.code, "%.280s; %s", why.msg, b->hint);
}

struct str payer_of(struct str owner, const struct vm_options *o)
{
    return o->budget.payer.n ? o->budget.payer : owner;
}

struct vm *table_add(struct vms *s, struct str owner, const struct vm_options *o)
{
    struct vm *m = mem_new(sizeof *m);
    m->in = s;
    m->timeouts = &s->timeouts;
    make_handle(m->handle);
    m->owner = mem_new(owner.n + 1);
    memcpy(m->owner, owner.at, owner.n);
    m->made_of = *o;
    m->made_of.cancel = NULL;
    m->made_of.from = NULL;
    m->made_of.origin = NULL;
    (void)snprintf(m->origin, sizeof m->origin, "%s", o->origin ? o->origin : "");
    m->made_of.shelf = NULL;
    m->name_lock = -1;
    m->made_of.budget.payer = (struct str){0};
    m->account = account_enter(s->accounts, payer_of(owner, o), os_mono_ns());
    if (o->network && o->network->hold)
        o->network->hold(o->network->arg);
    m->started_ms = os_real_ms();
    m->used_ns = os_mono_ns();
    m->holds = 1;
    m->starting = true;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->ready, NULL);
    frames_init(&m->frames);
    m->files = fuse_new();
    *s->last = m;
    s->last = &m->next;
    s->running++;
    return m;
}

static void vm_free(struct vm *m)
{
    const struct vm_network *n = m->made_of.network;
    session_free_all(m);
    mounts_free_all(m);
    if (n && n->let_go)
        n->let_go(n->arg);
    account_leave(m->account);
    frames_done(&m->frames);
    os_close(m->name_lock);
    free((void *)(uintptr_t)m->shelf.payer.at);
    free((void *)(uintptr_t)m->shelf.label);
    pthread_cond_destroy(&m->ready);
    pthread_mutex_destroy(&m->lock);
    free(m->owner);
    free(m);
}

void table_reap(struct vm *m)
{
    struct vms *s = m->in;
    pthread_mutex_lock(&m->lock);
    while (m->copies)
        pthread_cond_wait(&m->ready, &m->lock);
    struct machine *machine = take(m->machine);
    if (machine)
        m->usage.cpu_ns = machine_usage(machine).cpu_ns;
    pthread_mutex_unlock(&m->lock);
    if (!machine)
        return;
    struct machine_usage usage = machine_usage(machine);
    machine_close(machine);
    pthread_mutex_lock(&s->lock);
    pthread_mutex_lock(&m->lock);
    m->usage = (struct machine_usage){.cpu_ns = usage.cpu_ns};
    pthread_mutex_unlock(&m->lock);
    os_close(m->name_lock);
    m->name_lock = -1;
    s->running--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- all of them ------------------------------------------------------------ */

bool table_is_over(struct vm *m)
{
    pthread_mutex_lock(&m->lock);
    bool over = m->over;
    pthread_mutex_unlock(&m->lock);
    return over;
}

bool table_owns(const struct vm *m, struct str owner)
{
    return str_is(owner, m->owner);
}

void table_forget(struct vms *s, struct vm *m)
{
    struct vm **at = &s->first;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    if (s->last == &m->next)
        s->last = at;
    vm_free(m);
}

/* Whether it has ended and its thread is joined. */
static bool is_ended(struct vm *m)
{
    pthread_mutex_lock(&m->lock);
    bool ended = m->over && !m->machine && !m->starting;
    pthread_mutex_unlock(&m->lock);
    return ended;
}

/* The oldest ended machine of that owner (NULL: of all), if there are more than `max`. */
static struct vm *one_too_many(struct vms *s, const char *owner, unsigned max)
{
    struct vm *oldest = NULL;
    unsigned count = 0;
    for (struct vm *m = s->first; m; m = m->next) {
        if ((owner && strcmp(owner, m->owner) != 0) || m->holds > 0 || !is_ended(m))
            continue;
        count++;
        oldest = oldest ? oldest : m;
    }
    return count > max ? oldest : NULL;
}

void table_trim(struct vms *s, const struct vm *of)
{
    char owner[VM_OWNER_MAX + 1];
    struct vm *m;
    (void)snprintf(owner, sizeof owner, "%s", of->owner);
    while ((m = one_too_many(s, owner, ENDED_PER_OWNER)) != NULL ||
           (m = one_too_many(s, NULL, ENDED_MAX)) != NULL)
        table_forget(s, m);
}

struct vm *table_default(struct vms *s, struct str owner, bool over)
{
    struct vm *found = NULL;
    for (struct vm *m = s->first; m; m = m->next)
        if (m->is_default && table_owns(m, owner) && table_is_over(m) == over)
            found = m; /* the last one found */
    return found;
}

struct table_sum table_sum(struct vms *s, const struct account *of, struct str owner)
{
    struct table_sum all = {0};
    for (struct vm *m = s->first; m; m = m->next) {
        if (of ? m->account != of || table_is_over(m) : is_ended(m))
            continue;
        all.machines++;
        all.others += !table_owns(m, owner);
        all.ram_bytes += (uint64_t)m->made_of.ram_mb << 20;
    }
    return all;
}

uint64_t table_unused_ns(struct vm *m, uint64_t now)
{
    if (m->holds > 0 || m->starting)
        return 0;
    pthread_mutex_lock(&m->lock);
    bool idle = !m->over && m->exec_count == 0 && now > m->used_ns;
    uint64_t ns = idle ? now - m->used_ns : 0;
    pthread_mutex_unlock(&m->lock);
    return ns;
}

void table_stop_unused(struct vms *s, struct vm *m, const char *why, uint64_t ns)
{
    struct err e = {0};
    s->noticed = true;
    pthread_cond_signal(&s->work);
    m->freeze = *m->name != '\0';
    if (m->freeze)
        return;
    (void)err_set(&e, ERR_CANCELLED, "the machine was stopped after %" PRIu64 " s %s",
                  ns / SECOND_NS, why);
    pthread_mutex_lock(&m->lock);
    port_end(m, true, &e);
    pthread_mutex_unlock(&m->lock);
}

bool table_evict(struct vms *s, const struct account *of, struct str owner)
{
    uint64_t now = os_mono_ns(), most = s->timeouts.spare_ns;
    struct vm *which = NULL;
    for (struct vm *m = s->first; m; m = m->next)
        /* the place of one that is kept is free only when it is frozen */
        if ((!of || (m->account == of && !table_owns(m, owner) && !*m->name)) &&
            now >= m->freeze_ns && !table_is_over(m) && table_unused_ns(m, now) >= most) {
            most = table_unused_ns(m, now);
            which = m;
        }
    if (which)
        table_stop_unused(s, which, "without use, since another needed its place", most);
    return which != NULL;
}
