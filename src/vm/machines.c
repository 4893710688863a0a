/* The machines of a process: who owns which, how many there may be, how one starts and is
 * found, and the one thread that keeps house: it stops machines that nobody uses, and joins
 * the threads of those that have ended.
 *
 * A machine that has ended stays in the table for a while, without its memory, so that who
 * asks for it hears what became of it. */
#include "vm/internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "crypto/crypto.h"
#include "os/os.h"

#define WAIT_DEFAULT_NS (5 * SECOND_NS)
#define ENDED_PER_OWNER 4u /* kept to tell of */
#define ENDED_MAX 64u
#define KEEPER_STACK ((size_t)256 << 10)

static const struct patience usual = {
    .start_ns = 60 * SECOND_NS,
    .silence_ns = 10 * SECOND_NS,
    .answer_ns = 30 * SECOND_NS,
    .kill_ns = SECOND_NS,
    .grace_ns = 10 * SECOND_NS,
    .spare_ns = 30 * SECOND_NS,
};

struct vms {
    struct vms_options o;
    struct patience patience;
    char *image, *cache; /* behind o's */
    pthread_mutex_t images_lock;
    struct images *images; /* NULL: not looked for yet */

    pthread_mutex_t lock;     /* of all below, and of the machines' part of it */
    pthread_cond_t changed;   /* a place is free, or a machine has come up or not */
    pthread_cond_t work;      /* for the keeper */
    struct vm *first, **last; /* in the order of their start */
    unsigned running;         /* that have, or will have, a machine.c */
    bool has_keeper, closing, noticed;
    pthread_t keeper;
};

/* ---- one -------------------------------------------------------------------- */

static void make_handle(char out[static VM_HANDLE])
{
    unsigned char random[16];
    scoped_buf struct buf text;
    buf_init(&text, VM_HANDLE);
    os_random(random, sizeof random);
    crypto_base64url(random, sizeof random, &text);
    (void)snprintf(out, VM_HANDLE, "vm_%s", buf_cz(&text));
}

static struct vm *vm_new(struct vms *s, struct str owner, const struct vm_options *o)
{
    struct vm *m = mem_new(sizeof *m);
    m->in = s;
    m->patience = &s->patience;
    make_handle(m->handle);
    m->owner = mem_new(owner.n + 1);
    memcpy(m->owner, owner.at, owner.n);
    m->made_of = *o;
    m->made_of.cancel = NULL;
    m->started_ms = os_real_ms();
    m->used_ns = os_mono_ns();
    m->holds = 1;
    m->starting = true;
    pthread_mutex_init(&m->lock, NULL);
    cond_init(&m->ready);
    frames_init(&m->frames);
    return m;
}

static void vm_free(struct vm *m)
{
    session_free_all(m);
    frames_done(&m->frames);
    pthread_cond_destroy(&m->ready);
    pthread_mutex_destroy(&m->lock);
    free(m->owner);
    free(m);
}

/* Joins the thread of a machine that is over. Without a lock; somebody holds it. */
static void reap(struct vm *m)
{
    struct vms *s = m->in;
    pthread_mutex_lock(&m->lock);
    struct machine *machine = take(m->machine);
    pthread_mutex_unlock(&m->lock);
    if (!machine)
        return;
    struct machine_usage usage = machine_usage(machine);
    machine_close(machine);
    pthread_mutex_lock(&s->lock);
    pthread_mutex_lock(&m->lock);
    m->usage = (struct machine_usage){.cpu_ns = usage.cpu_ns};
    pthread_mutex_unlock(&m->lock);
    s->running--;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

/* ---- the table, with vms.lock held ---------------------------------------------- */

static bool is_over(struct vm *m)
{
    pthread_mutex_lock(&m->lock);
    bool over = m->over;
    pthread_mutex_unlock(&m->lock);
    return over;
}

static bool owns(const struct vm *m, struct str owner)
{
    return str_is(owner, m->owner);
}

static void insert(struct vms *s, struct vm *m)
{
    *s->last = m;
    s->last = &m->next;
}

static void forget(struct vms *s, struct vm *m)
{
    struct vm **at = &s->first;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    if (s->last == &m->next)
        s->last = at;
    vm_free(m);
}

/* Has it ended, and is its thread joined? */
static bool is_ended(struct vm *m)
{
    pthread_mutex_lock(&m->lock);
    bool ended = m->over && !m->machine && !m->starting;
    pthread_mutex_unlock(&m->lock);
    return ended;
}

/* The oldest of those that have ended, of that owner (NULL: of all), if there are more
 * than `max`. */
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

/* Forgets the oldest that have ended, of those who had many; `of` may be among them. */
static void trim(struct vms *s, const struct vm *of)
{
    char owner[VM_OWNER_MAX + 1];
    struct vm *m;
    (void)snprintf(owner, sizeof owner, "%s", of->owner);
    while ((m = one_too_many(s, owner, ENDED_PER_OWNER)) != NULL ||
           (m = one_too_many(s, NULL, ENDED_MAX)) != NULL)
        forget(s, m);
}

/* The owner's default machine, or NULL. */
static struct vm *find_default(struct vms *s, struct str owner, bool over)
{
    struct vm *found = NULL;
    for (struct vm *m = s->first; m; m = m->next)
        if (m->is_default && owns(m, owner) && is_over(m) == over)
            found = m; /* the last one */
    return found;
}

static unsigned count_running(struct vms *s, struct str owner)
{
    unsigned n = 0;
    for (struct vm *m = s->first; m; m = m->next)
        n += owns(m, owner) && !is_over(m);
    return n;
}

/* How long nothing has run in it; 0 where something does, or may at once. */
static uint64_t unused_ns(struct vm *m, uint64_t now)
{
    if (m->holds > 0 || m->starting)
        return 0;
    pthread_mutex_lock(&m->lock);
    bool idle = !m->over && m->exec_count == 0 && now > m->used_ns;
    uint64_t ns = idle ? now - m->used_ns : 0;
    pthread_mutex_unlock(&m->lock);
    return ns;
}

static void stop_unused(struct vms *s, struct vm *m, const char *why, uint64_t ns)
{
    struct err e = {0};
    (void)err_set(&e, ERR_CANCELLED, "the machine was stopped after %" PRIu64 " s %s",
                  ns / SECOND_NS, why);
    pthread_mutex_lock(&m->lock);
    port_end(m, true, &e);
    pthread_mutex_unlock(&m->lock);
    s->noticed = true;
    pthread_cond_signal(&s->work);
}

/* Stops the machine that was not used for longest. */
static void make_place(struct vms *s)
{
    uint64_t now = os_mono_ns(), most = s->patience.spare_ns;
    struct vm *which = NULL;
    for (struct vm *m = s->first; m; m = m->next)
        if (unused_ns(m, now) >= most) {
            most = unused_ns(m, now);
            which = m;
        }
    if (which)
        stop_unused(s, which, "without use, since another needed its place", most);
}

/* ---- the keeper ---------------------------------------------------------------------- */

/* Joins what has ended. With the lock, which is let go meanwhile. */
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
        reap(m);
        pthread_mutex_lock(&s->lock);
        m->holds--;
        trim(s, m);
        next = s->first; /* the table may be another */
    }
}

/* Stops what is idle; answers when to look again. */
static uint64_t stop_idle(struct vms *s)
{
    uint64_t now = os_mono_ns(), look = UINT64_MAX;
    for (struct vm *m = s->first; m && s->o.idle_ns != UINT64_MAX; m = m->next) {
        uint64_t unused = unused_ns(m, now);
        if (unused >= s->o.idle_ns)
            stop_unused(s, m, "without use", unused);
        else if (!is_over(m) && now + s->o.idle_ns - unused < look)
            look = now + s->o.idle_ns - unused;
    }
    return look;
}

static void *keep_house(void *arg)
{
    struct vms *s = arg;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        s->noticed = false;
        uint64_t look = stop_idle(s);
        join_ended(s);
        if (s->closing && s->running == 0)
            break;
        if (!s->noticed)
            (void)cond_wait_until(&s->work, &s->lock, look);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void vms_notice(struct vms *s)
{
    pthread_mutex_lock(&s->lock);
    s->noticed = true;
    pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static bool want_keeper(struct vms *s, struct err *e)
{
    if (s->has_keeper)
        return true;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, KEEPER_STACK);
    s->has_keeper = pthread_create(&s->keeper, &attr, keep_house, s) == 0;
    pthread_attr_destroy(&attr);
    return s->has_keeper ||
           err_set(e, ERR_BUSY, "the system has no thread left for machines");
}

/* ---- all ------------------------------------------------------------------------------- */

struct vms *vms_open(const struct vms_options *o)
{
    struct vms *s = mem_new(sizeof *s);
    s->o = *o;
    s->patience = usual;
    s->o.image = s->image = mem_strdup(o->image ? o->image : "");
    s->o.cache = s->cache = o->cache ? mem_strdup(o->cache) : NULL;
    if (!s->o.machines_max)
        s->o.machines_max = VM_MACHINES_DEFAULT;
    if (!s->o.per_owner)
        s->o.per_owner = VM_PER_OWNER_DEFAULT;
    if (!s->o.idle_ns)
        s->o.idle_ns = VM_IDLE_DEFAULT_NS;
    if (!s->o.wait_ns)
        s->o.wait_ns = WAIT_DEFAULT_NS;
    pthread_mutex_init(&s->images_lock, NULL);
    pthread_mutex_init(&s->lock, NULL);
    cond_init(&s->changed);
    cond_init(&s->work);
    s->last = &s->first;
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
    stop_all(s);
    if (s->has_keeper)
        (void)pthread_join(s->keeper, NULL);
    while (s->first)
        forget(s, s->first);
    images_close(s->images);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->images_lock);
    free(s->image);
    free(s->cache);
    free(s);
}

void vms_hurry(struct vms *s, const struct patience *p)
{
    s->patience = *p;
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

/* ---- a start ------------------------------------------------------------------------------ */

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
                       "a machine's disk has at most %" PRIu64 " bytes, not %" PRIu64
                       "; none was started",
                       VM_DISK_MAX, o->disk_bytes);
    return true;
}

static bool check_owner(struct str owner, struct err *e)
{
    bool fine = owner.n <= VM_OWNER_MAX && !(owner.n && memchr(owner.at, 0, owner.n));
    return fine ||
           err_set(e, ERR_INVALID, "an owner's name has at most %u bytes, and no NUL",
                   VM_OWNER_MAX);
}

/* Takes a place for a new one. */
static struct vm *begin_start(struct vms *s, struct str owner, const struct vm_options *o,
                              bool is_default, struct err *e)
{
    if (!want_keeper(s, e))
        return NULL;
    struct vm *m = vm_new(s, owner, o), *old;
    m->is_default = is_default;
    if (is_default && (old = find_default(s, owner, true)) != NULL)
        (void)snprintf(m->before, sizeof m->before, "%.200s", old->why.msg);
    insert(s, m);
    s->running++;
    return m;
}

static bool check_count(struct vms *s, struct str owner, struct err *e)
{
    if (count_running(s, owner) < s->o.per_owner)
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
        struct vm *there = is_default ? find_default(s, owner, false) : NULL;
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
            make_place(s);
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

static void tell_resume(struct vm *m)
{
    struct vm_resume r = {.wall_ns = (uint64_t)os_real_ms() * 1000000};
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
    reap(m);
    pthread_mutex_lock(&s->lock);
    s->running -= !opened;
    pthread_cond_broadcast(&s->changed);
    forget(s, m);
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

static struct vm *start(struct vms *s, struct str owner, const struct vm_options *from,
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
    return start(s, owner, o, false, e);
}

/* ---- what is there --------------------------------------------------------------------------- */

static struct vm *find_handle(struct vms *s, struct str owner, struct str handle)
{
    struct vm *m = s->first;
    while (m && !(owns(m, owner) && str_is(handle, m->handle) && !m->starting))
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
    if (is_over(m)) {
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
        return start(s, owner, o, true, e);
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
    trim(s, m);
    pthread_mutex_unlock(&s->lock);
}

void vm_stop(struct vm *m)
{
    struct err why = {0};
    (void)err_set(&why, ERR_CANCELLED, "the machine was stopped, as was asked for");
    pthread_mutex_lock(&m->lock);
    port_end(m, true, &why);
    pthread_mutex_unlock(&m->lock);
    reap(m);
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
static void tell(struct vm *m, struct vm_info *out)
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
        .cpu_ns = usage.cpu_ns,
        .cpu_max_ns = m->made_of.cpu_ns,
        .memory_bytes = usage.memory_bytes,
        .disk_bytes = usage.disk_bytes,
        .execs = m->exec_count,
        .sessions = m->session_count,
    };
    memcpy(out->handle, m->handle, sizeof out->handle);
    (void)snprintf(out->reason, sizeof out->reason, "%.250s", m->why.msg);
}

void vm_look(struct vm *m, struct vm_info *out)
{
    pthread_mutex_lock(&m->lock);
    tell(m, out);
    pthread_mutex_unlock(&m->lock);
}

void vm_list(struct vms *s, struct str owner, vm_info_fn *each, void *arg)
{
    struct vm_info info;
    pthread_mutex_lock(&s->lock);
    for (struct vm *m = s->first; m; m = m->next) {
        if (!owns(m, owner) || m->starting)
            continue;
        vm_look(m, &info);
        each(arg, &info);
    }
    pthread_mutex_unlock(&s->lock);
}
