/* How a machine starts: a place for it, its computer, and the first word with it. */
#include <inttypes.h>
#include <stdio.h>

#include "os/os.h"
#include "vm/table.h"

/* ---- what may be asked for ------------------------------------------------------ */

static bool fill_options(const struct vm_options *from, struct vm_options *o,
                         struct err *e)
{
    *o = from ? *from : (struct vm_options){0};
    o->ram_mb = o->ram_mb ? o->ram_mb : VM_RAM_DEFAULT_MB;
    o->disk_bytes = o->disk_bytes ? o->disk_bytes : VM_DISK_DEFAULT;
    o->cpu_ns = o->cpu_ns ? o->cpu_ns : VM_CPU_DEFAULT_NS;
    if (o->ram_mb < VM_RAM_MIN_MB || o->ram_mb > VM_RAM_MAX_MB)
        return err_set(e, ERR_INVALID,
                       "a machine has from %u to %u MB of RAM, not %" PRIu32
                       "; none was started",
                       VM_RAM_MIN_MB, VM_RAM_MAX_MB, o->ram_mb);
    if (o->disk_bytes > VM_DISK_MAX)
        return err_set(e, ERR_INVALID,
                       "a machine's disk has at most %" PRIu64 " MB, not %" PRIu64
                       "; none was started",
                       VM_DISK_MAX >> 20, o->disk_bytes >> 20);
    return true;
}

static bool check_owner(struct str owner, struct err *e)
{
    bool fine = owner.n <= VM_OWNER_MAX && !(owner.n && memchr(owner.at, 0, owner.n));
    return fine ||
           err_set(e, ERR_INVALID, "an owner's name has at most %u bytes, and no NUL",
                   VM_OWNER_MAX);
}

/* ---- a place ----------------------------------------------------------------- */

struct wake {
    pthread_mutex_t *lock;
    pthread_cond_t *cond;
};

static void wake(void *arg)
{
    struct wake *w = arg;
    pthread_mutex_lock(w->lock);
    pthread_cond_broadcast(w->cond);
    pthread_mutex_unlock(w->lock);
}

/* Takes a place for a new one. */
static struct vm *begin_start(struct vms *s, struct str owner, const struct vm_options *o,
                              bool is_default, struct err *e)
{
    if (!keeper_begin(s, e))
        return NULL;
    struct vm *m = table_add(s, owner, o), *old;
    m->is_default = is_default;
    if (is_default && (old = table_default(s, owner, true)) != NULL)
        (void)snprintf(m->before, sizeof m->before, "%.200s", old->why.msg);
    return m;
}

static bool check_count(struct vms *s, struct str owner, struct err *e)
{
    if (table_count(s, owner) < s->o.per_owner)
        return true;
    return err_set(
        e, ERR_LIMIT,
        "%u machines run for you, as many as may; none was started: stop one, or "
        "use one that runs",
        s->o.per_owner);
}

/* A new machine with starting set, or the default one that is there, held. */
static struct vm *claim(struct vms *s, struct str owner, const struct vm_options *o,
                        bool is_default, struct err *e)
{
    uint64_t until = os_mono_ns() + s->o.wait_ns;
    for (;;) {
        struct vm *there = is_default ? table_default(s, owner, false) : NULL;
        if (there && !there->starting) {
            there->holds++;
            return there;
        }
        if (cancel_fired(o->cancel)) {
            err_set(e, ERR_CANCELLED, "cancelled before a machine was started");
            return NULL;
        }
        if (!there && !check_count(s, owner, e))
            return NULL;
        if (!there && s->running < s->o.machines_max)
            return begin_start(s, owner, o, is_default, e);
        if (!there)
            table_make_place(s);
        bool late = !cond_wait_until(&s->changed, &s->lock, there ? UINT64_MAX : until);
        if (late && !there && os_mono_ns() >= until) {
            err_set(
                e, ERR_BUSY,
                "%u machines run, as many as may, and none was idle; none was started: "
                "try again later",
                s->o.machines_max);
            return NULL;
        }
    }
}

static struct vm *claim_waiting(struct vms *s, struct str owner,
                                const struct vm_options *o, bool is_default,
                                struct err *e)
{
    struct vm *m = NULL;
    struct wake w = {&s->lock, &s->changed};
    if (!cancel_on(o->cancel, wake, &w)) {
        err_set(e, ERR_CANCELLED, "cancelled before a machine was started");
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    m = claim(s, owner, o, is_default, e);
    pthread_mutex_unlock(&s->lock);
    cancel_off(o->cancel);
    return m;
}

/* ---- its computer ------------------------------------------------------------- */

static void tell_resume(struct vm *m)
{
    struct vm_resume r = {.wall_ns = (uint64_t)os_real_ms() * 1000000,
                          .disk_bytes = m->made_of.disk_bytes};
    os_random(r.entropy, sizeof r.entropy);
    os_random(&r.machine, sizeof r.machine);
    m->unready++;
    port_tell(m, 0, VM_RESUME, (struct str){(const char *)&r, sizeof r});
}

static bool await_up(struct vm *m, struct cancel *cancel, struct err *e)
{
    struct wake w = {&m->lock, &m->ready};
    if (!cancel_on(cancel, wake, &w))
        return err_set(e, ERR_CANCELLED, "cancelled while the machine started");
    pthread_mutex_lock(&m->lock);
    if (m->over)
        *e = m->why;
    else
        tell_resume(m);
    bool up =
        !e->code && port_await_ready(m, os_mono_ns() + m->patience->start_ns, cancel, e);
    pthread_mutex_unlock(&m->lock);
    cancel_off(cancel);
    return up;
}

static bool come_up(struct vm *m, struct cancel *cancel, struct err *e)
{
    struct machine_options o = {.ram_mb = m->made_of.ram_mb,
                                .disk_bytes = m->made_of.disk_bytes,
                                .cpu_ns = m->made_of.cpu_ns,
                                .cancel = cancel};
    struct machine_events events = {port_said, port_ended, m};
    struct machine *machine = machine_open(m->in->images, &o, &events, e);
    pthread_mutex_lock(&m->lock);
    m->machine = machine;
    pthread_mutex_unlock(&m->lock);
    return machine && await_up(m, cancel, e);
}

/* Of a machine that did not come up nothing stays. */
static void give_up(struct vm *m, const struct err *why)
{
    struct vms *s = m->in;
    pthread_mutex_lock(&m->lock);
    port_end(m, false, why);
    bool opened = m->machine != NULL;
    pthread_mutex_unlock(&m->lock);
    table_reap(m);
    pthread_mutex_lock(&s->lock);
    s->running -= !opened;
    pthread_cond_broadcast(&s->changed);
    table_forget(s, m);
    pthread_mutex_unlock(&s->lock);
}

static struct vm *finish_start(struct vm *m, struct cancel *cancel, struct err *e)
{
    struct vms *s = m->in;
    if (!come_up(m, cancel, e)) {
        (void)err_wrap(e, "no machine was started");
        give_up(m, e);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    m->starting = false;
    pthread_cond_broadcast(&s->changed);
    pthread_cond_signal(&s->work); /* it has to be looked after */
    s->noticed = true;
    pthread_mutex_unlock(&s->lock);
    return m;
}

struct vm *vm_begin(struct vms *s, struct str owner, const struct vm_options *from,
                    bool is_default, struct err *e)
{
    struct vm_options o;
    if (!check_owner(owner, e) || !fill_options(from, &o, e) || !vms_ready(s, e))
        return NULL;
    struct vm *m = claim_waiting(s, owner, &o, is_default, e);
    return m && m->starting ? finish_start(m, o.cancel, e) : m;
}

struct vm *vm_start(struct vms *s, struct str owner, const struct vm_options *o,
                    struct err *e)
{
    return vm_begin(s, owner, o, false, e);
}
