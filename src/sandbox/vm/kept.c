/* Machines that are kept: frozen to the disk when they are idle, when another machine needs
 * their place, on request, and when the process ends; found again by name. */
#include <inttypes.h>
#include <stdio.h>

#include "os/os.h"
#include "vm/copy.h"
#include "vm/kept.h"
#include "vm/shelf.h"

#define AGAIN_NS (60 * SECOND_NS) /* after it could not be frozen */

const char *vm_kept_name(const struct vm *m)
{
    return m->name;
}

/* ---- freezing ------------------------------------------------------------------------ */

static bool save(struct vm *m, const struct vm_copy *c, struct err *e)
{
    return vm_save(m->in, &m->shelf, VM_SAVED_KEPT, str_of(m->name), c, NULL, e);
}

static void put_reason(const struct vm *m, const char *why, struct err *out)
{
    (void)err_set(out, ERR_CANCELLED, "the machine \"%s\" was frozen %s", m->name, why);
}

/* Its last moment is what is saved: what ran in it is ended with that reason. */
static bool freeze_last(struct vm *m, const char *why, struct err *e)
{
    struct err last = {0};
    put_reason(m, why, &last);
    scoped(vm_copy_drop) struct vm_copy *c = vm_copy_ending(m, &last, e);
    return c && save(m, c, e);
}

/* Ends it if nothing has run in it since the copy; one that is frozen for want of use also must have
 * no holder but the keeper: whoever found it while it was saved is about to use it. */
static bool end_if_rested(struct vm *m, const struct vm_copy *c, bool idle,
                          const struct err *last)
{
    pthread_mutex_lock(&m->in->lock);
    pthread_mutex_lock(&m->lock);
    bool rested =
        m->last_id == c->last_id && m->exec_count == 0 && (!idle || m->holds == 1);
    if (rested)
        port_end(m, true, last);
    pthread_mutex_unlock(&m->lock);
    pthread_mutex_unlock(&m->in->lock);
    return rested;
}

/* Saves it first, so that one that cannot be saved runs on. */
static bool freeze(struct vm *m, bool idle, const char *why, struct err *e)
{
    struct err last = {0};
    put_reason(m, why, &last);
    scoped(vm_copy_drop) struct vm_copy *c = vm_copy(m, e);
    if (!c || !save(m, c, e))
        return false;
    return end_if_rested(m, c, idle, &last) || idle || freeze_last(m, why, e);
}

/* The thread of the machine is not joined meanwhile, nor its name free. */
static void begin(struct vm *m, bool on)
{
    pthread_mutex_lock(&m->lock);
    m->copies = on ? m->copies + 1 : m->copies - 1;
    pthread_cond_broadcast(&m->ready);
    pthread_mutex_unlock(&m->lock);
}

bool vm_freeze(struct vm *m, struct err *e)
{
    begin(m, true);
    bool ok = freeze(m, false, "on request; it is found again by its name", e);
    begin(m, false);
    if (ok)
        table_reap(m);
    return ok;
}

/* ---- by the keeper ----------------------------------------------------------------------- */

static struct vm *first_due(struct vms *s)
{
    struct vm *m = s->first;
    while (m && !(m->freeze && !m->starting && !table_is_over(m)))
        m = m->next;
    return m;
}

void kept_freeze_due(struct vms *s)
{
    for (struct vm *m; (m = first_due(s)) != NULL;) {
        struct err e = {0};
        m->freeze = false;
        m->holds++;
        pthread_mutex_unlock(&s->lock);
        begin(m, true);
        bool ok = freeze(m, true, "without use; it is found again by its name", &e);
        begin(m, false);
        if (!ok)
            log_line(LOG_WARN, "the machine \"%s\" cannot be frozen, and runs on: %s",
                     m->name, e.msg);
        pthread_mutex_lock(&s->lock);
        if (!ok)
            m->freeze_ns = os_mono_ns() + AGAIN_NS;
        m->holds--;
        s->noticed = true;
    }
}

void kept_freeze_all(struct vms *s)
{
    pthread_mutex_lock(&s->lock);
    for (struct vm *m = s->first; m; m = m->next) {
        struct err e = {0};
        if (!*m->name || table_is_over(m))
            continue;
        m->holds++;
        pthread_mutex_unlock(&s->lock);
        begin(m, true);
        if (!freeze_last(m, "since the program that ran it is ending", &e))
            log_line(LOG_ERROR,
                     "the machine \"%s\" cannot be frozen; it is found again as it was "
                     "frozen before: %s",
                     m->name, e.msg);
        begin(m, false);
        pthread_mutex_lock(&s->lock);
        m->holds--;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_kept(const struct vm *m, struct str payer, struct str name)
{
    return *m->name && str_is(name, m->name) && str_is(payer, m->shelf.payer.at);
}

/* The one that runs, held; waits for one that is being frozen. With the lock. */
static struct vm *running(struct vms *s, struct str payer, struct str name)
{
    for (struct vm *m = s->first; m; m = m->next) {
        if (!is_kept(m, payer, name))
            continue;
        pthread_mutex_lock(&m->lock);
        bool over = m->over, ending = over && m->name_lock >= 0;
        pthread_mutex_unlock(&m->lock);
        if (!over) {
            m->holds++;
            return m;
        }
        if (ending) {
            (void)os_cond_wait(&s->changed, &s->lock, UINT64_MAX);
            return running(s, payer, name);
        }
    }
    return NULL;
}

static void keep(struct vm *m, const struct vm_shelf *shelf, struct str name, int lock)
{
    pthread_mutex_lock(&m->in->lock);
    pthread_mutex_lock(&m->lock);
    (void)snprintf(m->name, sizeof m->name, "%.*s", STR_ARGS(name));
    m->shelf = *shelf;
    char *payer = mem_new(shelf->payer.n + 1);
    memcpy(payer, shelf->payer.at, shelf->payer.n);
    m->shelf.payer.at = payer;
    m->shelf.label = mem_strdup(shelf->label ? shelf->label : "");
    m->name_lock = lock;
    pthread_mutex_unlock(&m->lock);
    pthread_mutex_unlock(&m->in->lock);
}

/* NULL without *e: none is saved, and none is to be made. */
static struct vm *start_kept(struct vms *s, struct str owner, struct str name, bool make,
                             const struct vm_options *from, struct err *e)
{
    struct vm_options o = *from;
    struct err why = {0};
    scoped_fd int lock = shelf_lock_name(s, from->shelf->payer, name, e);
    if (lock < 0)
        return NULL;
    scoped(vm_copy_drop) struct vm_copy *c =
        vm_saved_open(s, from->shelf->payer, VM_SAVED_KEPT, name, &why);
    if (!c && !(make && why.code == ERR_NOT_FOUND)) {
        err_pass(e, &why);
        return NULL;
    }
    if (c) {
        o.from = c;
        o.ram_mb = 0;
    }
    struct vm *m = vm_start(s, owner, &o, e);
    if (m) {
        keep(m, from->shelf, name, lock);
        lock = -1;
    }
    return m;
}

struct vm *vm_find_kept(struct vms *s, struct str owner, struct str name, bool make,
                        const struct vm_options *o, struct err *e)
{
    if (!vm_saved_check_name(name, e) || !vms_ready(s, e))
        return NULL;
    pthread_mutex_lock(&s->naming);
    pthread_mutex_lock(&s->lock);
    struct vm *m = running(s, o->shelf->payer, name);
    pthread_mutex_unlock(&s->lock);
    if (!m)
        m = start_kept(s, owner, name, make, o, e);
    pthread_mutex_unlock(&s->naming);
    return m;
}
