/* The machines of a process: opening and closing, their information, and the maintenance
 * thread, which stops unused machines and joins the threads of ended ones. */
#include <inttypes.h>
#include <stdio.h>

#include "os/os.h"
#include "vm/kept.h"

#define WAIT_DEFAULT_NS (5 * SECOND_NS)
#define KEEPER_STACK ((size_t)256 << 10)

static const struct vm_timeouts usual = {
    .start_ns = 60 * SECOND_NS,
    .silence_ns = 10 * SECOND_NS,
    .answer_ns = 30 * SECOND_NS,
    .kill_ns = SECOND_NS,
    .grace_ns = 10 * SECOND_NS,
    .spare_ns = 30 * SECOND_NS,
};

/* ---- the keeper ---------------------------------------------------------------------- */

/* Joins ended machines. With the lock, which is released meanwhile. */
static void join_ended(struct vms *s)
{
    for (struct vm *m = s->first, *next; m; m = next) {
        next = m->next;
        pthread_mutex_lock(&m->lock);
        bool due = m->over && m->machine && !m->starting;
        pthread_mutex_unlock(&m->lock);
        if (!due)
            continue;
        m->holds++;
        pthread_mutex_unlock(&s->lock);
        table_reap(m);
        pthread_mutex_lock(&s->lock);
        m->holds--;
        table_trim(s, m);
        next = s->first; /* the table may have changed */
    }
}

/* Stops idle machines; returns when to look again. */
static uint64_t stop_idle(struct vms *s)
{
    uint64_t now = os_mono_ns(), look = UINT64_MAX;
    for (struct vm *m = s->first; m; m = m->next) {
        uint64_t unused = table_unused_ns(m, now), most = m->made_of.idle_ns;
        if (most == UINT64_MAX)
            continue;
        if (unused >= most && now < m->freeze_ns) {
            look = m->freeze_ns < look ? m->freeze_ns : look;
            continue;
        }
        if (unused >= most)
            table_stop_unused(s, m, "without use", unused);
        else if (!table_is_over(m) && now + most - unused < look)
            look = now + most - unused;
    }
    return look;
}

static void *keep_house(void *arg)
{
    struct vms *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        s->noticed = false;
        uint64_t left = exec_look_left(s), idle = stop_idle(s);
        uint64_t look = left < idle ? left : idle;
        kept_freeze_due(s);
        join_ended(s);
        if (s->closing && s->running == 0 && !s->left)
            break;
        if (!s->noticed)
            (void)os_cond_wait(&s->work, &s->lock, look);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

bool keeper_begin(struct vms *s, struct err *e)
{
    if (s->has_keeper)
        return true;
    s->has_keeper = os_thread_start(&s->keeper, "vm-keeper", KEEPER_STACK, keep_house, s);
    return s->has_keeper ||
           err_set(e, ERR_BUSY, "the system has no thread left for machines");
}

/* ---- interface ------------------------------------------------------------------------- */

struct vms *vms_open(const struct vms_options *o)
{
    struct vms *s = mem_new(sizeof *s);
    s->o = *o;
    s->timeouts = usual;
    s->o.image = s->image = mem_strdup(o->image ? o->image : "");
    s->o.cache = s->cache = o->cache ? mem_strdup(o->cache) : NULL;
    s->o.copies = s->copies = o->copies ? mem_strdup(o->copies) : NULL;
    if (!s->o.machines_max)
        s->o.machines_max = VM_MACHINES_DEFAULT;
    if (!s->o.per_owner)
        s->o.per_owner = VM_PER_OWNER_DEFAULT;
    if (!s->o.ram_bytes)
        s->o.ram_bytes = os_memory_bytes() / 4 * 3;
    if (!s->o.wait_ns)
        s->o.wait_ns = WAIT_DEFAULT_NS;
    pthread_mutex_init(&s->images_lock, NULL);
    pthread_mutex_init(&s->naming, NULL);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    pthread_cond_init(&s->work, NULL);
    s->last = &s->first;
    s->accounts = accounts_new();
    return s;
}

static void stop_all(struct vms *s)
{
    struct err why = {0};
    (void)err_set(&why, ERR_CANCELLED, "the program that ran the machine is ending");
    pthread_mutex_lock(&s->lock);
    s->closing = s->noticed = true;
    for (struct vm *m = s->first; m; m = m->next) {
        pthread_mutex_lock(&m->lock);
        port_end(m, true, &why);
        pthread_mutex_unlock(&m->lock);
    }
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

void vms_close(struct vms *s)
{
    if (!s)
        return;
    kept_freeze_all(s);
    stop_all(s);
    if (s->has_keeper)
        (void)pthread_join(s->keeper, NULL);
    while (s->first)
        table_forget(s, s->first);
    accounts_free(s->accounts);
    images_close(s->images);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->images_lock);
    pthread_mutex_destroy(&s->naming);
    free(s->image);
    free(s->cache);
    free(s->copies);
    free(s);
}

void vms_hurry(struct vms *s, const struct vm_timeouts *p)
{
    s->timeouts = *p;
}

bool vms_ready(struct vms *s, struct err *e)
{
    pthread_mutex_lock(&s->images_lock);
    if (!s->images)
        s->images = images_open(s->o.engine, s->o.image, s->o.cache, e);
    bool ready = s->images != NULL;
    pthread_mutex_unlock(&s->images_lock);
    return ready;
}

/* ---- listing --------------------------------------------------------------------------------- */

static struct vm *find_handle(struct vms *s, struct str owner, struct str handle)
{
    struct vm *m = s->first;
    while (m && !((!owner.at || table_owns(m, owner)) && str_is(handle, m->handle) &&
                  !m->starting))
        m = m->next;
    return m;
}

static struct vm *hold_handle(struct vms *s, struct str owner, struct str handle,
                              struct err *e)
{
    struct vm *m = find_handle(s, owner, handle);
    if (!m) {
        err_set(e, ERR_NOT_FOUND,
                "you have no machine \"%.*s\"; without a handle, your default machine is "
                "used",
                STR_ARGS(str_cut(handle, 40)));
        return NULL;
    }
    if (table_is_over(m)) {
        err_set(e, ERR_NOT_FOUND, "machine %s has ended: %.220s", m->handle, m->why.msg);
        return NULL;
    }
    m->holds++;
    return m;
}

struct vm *vm_find(struct vms *s, struct str owner, struct str handle,
                   const struct vm_options *o, struct err *e)
{
    if (handle.n == 0)
        return vm_begin(s, owner, o, true, e);
    pthread_mutex_lock(&s->lock);
    struct vm *m = hold_handle(s, owner, handle, e);
    pthread_mutex_unlock(&s->lock);
    return m;
}

void vm_release(struct vm *m)
{
    if (!m)
        return;
    struct vms *s = m->in;
    pthread_mutex_lock(&s->lock);
    m->holds--;
    table_trim(s, m);
    pthread_mutex_unlock(&s->lock);
}

void vm_stop(struct vm *m)
{
    struct err why = {0};
    (void)err_set(&why, ERR_CANCELLED, "the machine was stopped on request");
    pthread_mutex_lock(&m->lock);
    port_end(m, true, &why);
    pthread_mutex_unlock(&m->lock);
    table_reap(m);
}

const struct vm_network *vm_network_of(const struct vm *m)
{
    return m->made_of.network;
}

bool vm_expose(struct vm *m, struct vm_port *p, struct err *e)
{
    pthread_mutex_lock(&m->lock);
    bool ok = port_over(m, false, e) && machine_expose(m->machine, p, e);
    pthread_mutex_unlock(&m->lock);
    return ok;
}

bool vm_unexpose(struct vm *m, uint16_t port)
{
    pthread_mutex_lock(&m->lock);
    bool was = m->machine && machine_unexpose(m->machine, port);
    pthread_mutex_unlock(&m->lock);
    return was;
}

const char *vm_handle(const struct vm *m)
{
    return m->handle;
}

const char *vm_state_name(enum vm_state s)
{
    static const char *const names[] = {"running", "stopped", "failed"};
    return names[s];
}

/* With the machine's lock. */
static void machine_describe(struct vm *m, struct vm_info *out)
{
    uint64_t now = os_mono_ns();
    struct machine_usage usage = m->machine ? machine_usage(m->machine) : m->usage;
    *out = (struct vm_info){
        .state = !m->over     ? VM_STATE_RUNNING
                 : m->stopped ? VM_STATE_STOPPED
                              : VM_STATE_FAILED,
        .is_default = m->is_default,
        .ram_mb = m->made_of.ram_mb,
        .started_ms = m->started_ms,
        .idle_ns = m->exec_count == 0 && now > m->used_ns ? now - m->used_ns : 0,
        .idle_max_ns = m->made_of.idle_ns,
        .cpu_ns = usage.cpu_ns,
        .cpu_max_ns = m->made_of.cpu_ns,
        .memory_bytes = usage.memory_bytes,
        .disk_bytes = usage.disk_bytes,
        /* callers that wait are about to be woken */
        .execs = m->over ? 0 : m->exec_count,
        .sessions = m->over ? 0 : m->session_count,
        .network = m->made_of.network,
    };
    out->port_count = m->machine ? machine_ports(m->machine, out->ports) : 0;
    memcpy(out->handle, m->handle, sizeof out->handle);
    memcpy(out->name, m->name, sizeof out->name);
    memcpy(out->origin, m->origin, sizeof out->origin);
    (void)snprintf(out->reason, sizeof out->reason, "%.250s", m->why.msg);
}

void vm_get_info(struct vm *m, struct vm_info *out)
{
    pthread_mutex_lock(&m->lock);
    machine_describe(m, out);
    pthread_mutex_unlock(&m->lock);
}

void vm_list(struct vms *s, struct str owner, vm_info_fn *each, void *arg)
{
    struct vm_info info;
    pthread_mutex_lock(&s->lock);
    for (struct vm *m = s->first; m; m = m->next) {
        if ((owner.at && !table_owns(m, owner)) || m->starting)
            continue;
        vm_get_info(m, &info);
        each(arg, &info);
    }
    pthread_mutex_unlock(&s->lock);
}

struct vms_totals vms_total(struct vms *s)
{
    struct vms_totals all = {0};
    struct vm_info info;
    pthread_mutex_lock(&s->lock);
    for (struct vm *m = s->first; m; m = m->next) {
        vm_get_info(m, &info);
        if (info.state != VM_STATE_RUNNING)
            continue;
        all.machines++;
        all.ram_bytes += (uint64_t)info.ram_mb << 20;
        all.memory_bytes += info.memory_bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return all;
}
