/* The start of a machine: its place, its computer, and the first exchange with it. */
#include <inttypes.h>
#include <stdio.h>

#include "fuse/fuse.h"
#include "os/os.h"
#include "vm/certificates.h"
#include "vm/copy.h"
#include "vm/table.h"
#include "vm/ways.h"

/* ---- requests ------------------------------------------------------------------- */

static bool fill_options(const struct vm_options *from, struct vm_options *o,
                         struct err *e)
{
    *o = from ? *from : (struct vm_options){0};
    o->ram_mb = o->ram_mb ? o->ram_mb : VM_RAM_DEFAULT_MB;
    o->disk_bytes = o->disk_bytes ? o->disk_bytes : VM_DISK_DEFAULT;
    o->cpu_ns = o->cpu_ns ? o->cpu_ns : VM_CPU_DEFAULT_NS;
    o->idle_ns = o->idle_ns ? o->idle_ns : VM_IDLE_DEFAULT_NS;
    if (o->from && from->ram_mb && from->ram_mb != vm_copy_ram_mb(o->from))
        return err_set(e, ERR_INVALID,
                       "the copy is of a machine with %" PRIu32 " MB of RAM, not %" PRIu32
                       "; none was started",
                       vm_copy_ram_mb(o->from), from->ram_mb);
    if (o->from)
        o->ram_mb = vm_copy_ram_mb(o->from);
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

static void machine_wake(void *arg)
{
    struct wake *w = arg;
    pthread_mutex_lock(w->lock);
    pthread_cond_broadcast(w->cond);
    pthread_mutex_unlock(w->lock);
}

/* Adds a machine to the table. */
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

/* Whether the payer's budget has room for one more. */
static bool check_room(struct vms *s, const struct account *k, struct str owner,
                       const struct vm_options *o, struct err *e)
{
    struct table_sum has = table_sum(s, k, owner);
    unsigned most = o->budget.machines ? o->budget.machines : s->o.per_owner;
    uint64_t ram_mb = has.ram_bytes >> 20, max_mb = o->budget.ram_mb;
    if (has.machines >= most)
        return err_set(e, ERR_LIMIT,
                       "%u machines run for you (%u for other sessions of yours), of %u "
                       "that may; none was started: stop one, or use one that runs",
                       has.machines, has.others, most);
    return !max_mb || ram_mb + o->ram_mb <= max_mb ||
           err_set(e, ERR_LIMIT,
                   "your machines have %" PRIu64 " MB of RAM (%u of %u run for other "
                   "sessions of yours), and may have %" PRIu64
                   " together, so not %" PRIu32
                   " more; none was started: stop one, or start a smaller one",
                   ram_mb, has.others, has.machines, max_mb, o->ram_mb);
}

/* As check_room(), but stops unused machines of the payer's other owners. */
static bool check_budget(struct vms *s, struct str owner, const struct vm_options *o,
                         struct err *e)
{
    struct account *k = account_enter(s->accounts, payer_of(owner, o), os_mono_ns());
    bool fits = account_check(k, o->budget.cpu_ns, os_mono_ns(), e);
    while (fits && !(fits = check_room(s, k, owner, o, e)) && table_evict(s, k, owner)) {
        *e = (struct err){0};
        fits = true;
    }
    account_leave(k);
    return fits || budget_refuse(&o->budget, e);
}

/* Whether all machines leave room for it. One machine alone always has. */
static bool has_place(struct vms *s, const struct vm_options *o)
{
    uint64_t ram = table_sum(s, NULL, STR("")).ram_bytes + ((uint64_t)o->ram_mb << 20);
    return s->running == 0 || (s->running < s->o.machines_max && ram <= s->o.ram_bytes);
}

static void report_full(struct vms *s, const struct vm_options *o, struct err *e)
{
    uint64_t ram = table_sum(s, NULL, STR("")).ram_bytes;
    if (s->running >= s->o.machines_max)
        err_set(e, ERR_BUSY,
                "%u machines run, as many as may, and none was idle; none was started: "
                "try again later",
                s->o.machines_max);
    else
        err_set(e, ERR_BUSY,
                "machines with %" PRIu64 " MB of RAM run, and none was idle; %" PRIu32
                " MB more are not to be had of the %" PRIu64
                " that this computer has for them; none was started: try again later, or "
                "start a smaller one",
                ram >> 20, o->ram_mb, s->o.ram_bytes >> 20);
}

/* A new machine with `starting` set, or the existing default one, held. */
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
        if (!there && !check_budget(s, owner, o, e))
            return NULL;
        if (!there && has_place(s, o))
            return begin_start(s, owner, o, is_default, e);
        if (!there)
            (void)table_evict(s, NULL, owner);
        bool late = !os_cond_wait(&s->changed, &s->lock, there ? UINT64_MAX : until);
        if (late && !there && os_mono_ns() >= until) {
            report_full(s, o, e);
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
    struct cancel_stop stop;
    if (!cancel_on(o->cancel, &stop, machine_wake, &w)) {
        err_set(e, ERR_CANCELLED, "cancelled before a machine was started");
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    m = claim(s, owner, o, is_default, e);
    pthread_mutex_unlock(&s->lock);
    cancel_off(o->cancel, &stop);
    return m;
}

/* ---- its computer ------------------------------------------------------------- */

static void send_resume(struct vm *m, struct str certificates)
{
    scoped_buf struct buf payload;
    struct vm_resume r = {.wall_ns = (uint64_t)os_real_ms() * 1000000,
                          .disk_bytes = m->made_of.disk_bytes};
    static const uint8_t none[6], usual[6] = LAN_MACHINE_MAC;
    const struct vm_network *net = m->made_of.network;
    r.network = net ? (uint8_t)ways_here() : 0;
    memcpy(r.mac, net && memcmp(net->mac, none, 6) ? net->mac : usual, sizeof r.mac);
    os_random(r.entropy, sizeof r.entropy);
    os_random(&r.machine, sizeof r.machine);
    m->unready++;
    buf_init(&payload, VM_FRAME_MAX);
    buf_put(&payload, &r, sizeof r);
    buf_str(&payload, certificates);
    port_send_frame(m, 0, VM_RESUME, buf_view(&payload));
}

/* Of a computer without a place for settings there are none. */
static bool read_certificates(struct buf *out, struct err *e)
{
    struct err none = {0};
    scoped_fd int config = os_config_dir(NULL, &none);
    return config < 0 || certificates_read(config, out, e);
}

static bool await_up(struct vm *m, struct str certificates, struct cancel *cancel,
                     struct err *e)
{
    struct wake w = {&m->lock, &m->ready};
    struct cancel_stop stop;
    if (!cancel_on(cancel, &stop, machine_wake, &w))
        return err_set(e, ERR_CANCELLED, "cancelled while the machine started");
    pthread_mutex_lock(&m->lock);
    if (m->over)
        *e = m->why;
    else
        send_resume(m, certificates);
    bool up =
        !e->code && port_await_ready(m, os_mono_ns() + m->timeouts->start_ns, cancel, e);
    pthread_mutex_unlock(&m->lock);
    cancel_off(cancel, &stop);
    return up;
}

static bool vm_boot(struct vm *m, const struct vm_options *from, struct err *e)
{
    struct cancel *cancel = from->cancel;
    struct vm_copy *copy = from->from;
    struct machine_options o = {.ram_mb = m->made_of.ram_mb,
                                .disk_bytes = m->made_of.disk_bytes,
                                .cpu_ns = m->made_of.cpu_ns,
                                .network = m->made_of.network,
                                .account = m->account,
                                .files = m->files,
                                .cancel = cancel,
                                .from = copy ? copy->machine : NULL};
    struct machine_events events = {port_output, port_ended, port_computed, m};
    scoped_buf struct buf certificates;
    buf_init(&certificates, VM_CERTIFICATES_MAX);
    if (m->in->o.certificates && !read_certificates(&certificates, e))
        return false;
    if (copy)
        fuse_continue(m->files);
    pthread_mutex_lock(&m->lock);
    if (copy)
        copy_join(m, copy);
    pthread_mutex_unlock(&m->lock);
    struct machine *machine = machine_open(m->in->images, &o, &events, e);
    pthread_mutex_lock(&m->lock);
    m->machine = machine;
    if (machine && copy) {
        copy_end_execs(m, copy);
        copy_end_mounts(m, copy);
    }
    pthread_mutex_unlock(&m->lock);
    return machine && await_up(m, buf_view(&certificates), cancel, e);
}

/* A machine that did not come up is removed. */
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

static struct vm *finish_start(struct vm *m, const struct vm_options *o, struct err *e)
{
    struct vms *s = m->in;
    if (!vm_boot(m, o, e)) {
        (void)err_wrap(e, "no machine was started");
        give_up(m, e);
        return NULL;
    }
    pthread_mutex_lock(&s->lock);
    m->starting = false;
    pthread_cond_broadcast(&s->changed);
    pthread_cond_signal(&s->work); /* for the keeper */
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
    return m && m->starting ? finish_start(m, &o, e) : m;
}

struct vm *vm_start(struct vms *s, struct str owner, const struct vm_options *o,
                    struct err *e)
{
    return vm_begin(s, owner, o, false, e);
}
