/* Linux machines: owners, limits by the policy, start and stop. */
#include "machines/machines.h"

#include <stdio.h>

#include "audit/audit.h"
#include "crypto/crypto.h"
#include "egress/egress.h"
#include "machines/internal.h"
#include "machines/machine_copies.h"
#include "machines/machine_net.h"
#include "machines/machine_terminal.h"
#include "machines/machine_use.h"
#include "machines/machines.api.h"
#include "metrics/metrics.h"
#include "nearby/nearby.h"
#include "os/os.h"
#include "place/place.h"
#include "policy/policy.h"
#include "services/services.h"

/* ---- all of them -------------------------------------------------------------- */

/* A caller whose default machine is starting. */
struct starting {
    struct starting *next;
    const char *owner;
};

/* The capability's state. */
struct machines {
    struct once all;      /* of struct vms */
    pthread_mutex_t lock; /* guards the list */
    struct starting *starting;
    struct metric_family *calls, *connections;
    _Atomic uint64_t sent_bytes, received_bytes;
    struct egress_proxy *proxy; /* of all machines */
    struct nearby *person;      /* a person at the terminal asks here */
    struct terminals *terminals;
};

static struct machines *own_of(const struct actions *a)
{
    return capability_own(a, &machines_capability);
}

struct terminals *machines_terminals(struct actions *a)
{
    return own_of(a)->terminals;
}

/* The calls that have counters. */
static const char *const counted[] = {
    "vm.exec",      "vm.start", "vm.stop",  "vm.expose",   "vm.read",
    "vm.write",     "vm.ls",    "vm.fork",  "vm.snapshot", "vm.restore",
    "vm.snapshots", "vm.apply", "tools.run"};
static const char *const protocols[] = {"tcp", "udp", "icmp"};

bool machines_installed(struct actions *a)
{
    struct err none = {0};
    const char *guests = services_guests(a->services, &none);
    scoped(free) char *image = NULL;
    if (!guests)
        return false;
    must(asprintf(&image, "%s/../vm", guests) > 0);
    return vm_is_installed(image);
}

void *machines_open(struct actions *a)
{
    (void)a;
    struct machines *m = mem_new(sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    m->proxy = egress_proxy_new();
    m->terminals = terminals_new();
    m->calls = metric_family_new("cloche_machine_calls",
                                 "Calls of Linux machines, wherever they came from.",
                                 "call", counted, LENGTH(counted));
    m->connections = metric_family_new("cloche_machine_connections",
                                       "Connections of Linux machines that are over.",
                                       "protocol", protocols, LENGTH(protocols));
    return m;
}

void machines_close(void *own)
{
    struct machines *m = own;
    nearby_close(m->person);
    vms_close(once_peek(&m->all));
    egress_proxy_free(m->proxy);
    terminals_free(m->terminals);
    pthread_mutex_destroy(&m->lock);
    metric_family_free(m->calls);
    metric_family_free(m->connections);
    free(m);
}

void machines_metrics(struct actions *a, struct buf *out)
{
    const struct machines *m = own_of(a);
    struct vms *all = once_peek(&m->all);
    struct vms_totals n = all ? vms_total(all) : (struct vms_totals){0};
    metric_family_write(m->calls, out);
    metric_family_write(m->connections, out);
    metric_write(out, "cloche_machine_network_bytes_total", "counter",
                 "Bytes of connections of Linux machines that are over.",
                 "direction=\"sent\"", (double)m->sent_bytes);
    metric_write_more(out, "cloche_machine_network_bytes_total", "direction=\"received\"",
                      (double)m->received_bytes);
    metric_write(out, "cloche_machines", "gauge", "Linux machines that run.", NULL,
                 n.machines);
    metric_write(out, "cloche_machine_ram_bytes", "gauge",
                 "RAM of the machines that run, which they may take.", NULL,
                 (double)n.ram_bytes);
    metric_write(out, "cloche_machine_memory_bytes", "gauge",
                 "Memory of this computer that is theirs alone.", NULL,
                 (double)n.memory_bytes);
}

/* Beside the folder of the guests. */
static char *image_folder(struct actions *a, struct err *e)
{
    const char *guests = services_guests(a->services, e);
    char *path = NULL;
    if (guests)
        must(asprintf(&path, "%s/../vm", guests) > 0);
    return path;
}

static void *open_all(void *arg, struct err *e)
{
    struct actions *a = arg;
    struct engine *engine = services_engine(a->services, e);
    scoped(free) char *image = engine ? image_folder(a, e) : NULL;
    /* Of images of other sizes; NULL: those are refused. */
    scoped(free) char *cache = os_cache_path("machines");
    scoped(free) char *copies = machine_copies_folder();
    if (!image)
        return NULL;
    struct vms *all = vms_open(&(struct vms_options){.engine = engine,
                                                     .image = image,
                                                     .cache = cache,
                                                     .copies = copies,
                                                     .certificates = true});
    struct err none = {0}; /* without it a person exposes no port */
    own_of(a)->person = nearby_listen(MACHINE_TOPIC, machine_person, all, &none);
    return all;
}

struct vms *actions_machines(struct actions *a, struct err *e)
{
    return once_need(&own_of(a)->all, open_all, a, e);
}

bool machines_ready(struct actions *a, struct err *e)
{
    struct vms *all = actions_machines(a, e);
    return all && vms_ready(all, e);
}

/* ---- records ------------------------------------------------------------------- */

struct machine_row {
    struct machine_operation d;
    char machine[13], command[65]; /* hashes; "": none */
};

static void put_row(const void *row, struct json_writer *w)
{
    const struct machine_row *m = row;
    const struct machine_operation *d = &m->d;
    json_pair_cstr(w, "call", d->call);
    if (*m->machine)
        json_pair_cstr(w, "machine", m->machine);
    json_pair_cstr(w, "result", account_word(d->outcome));
    json_pair_number(w, "ms", (double)d->wall_ns / 1e6);
    if (*m->command) {
        json_pair_cstr(w, "command", m->command);
        json_pair_int(w, "command_bytes", (int64_t)d->command.n);
        json_pair_int(w, "exit", d->exit_code);
        json_pair_number(w, "compute_ms", (double)d->cpu_ns / 1e6);
        json_pair_int(w, "stdin_bytes", (int64_t)d->input_bytes);
        json_pair_int(w, "stdout_bytes", (int64_t)d->stdout_bytes);
        json_pair_int(w, "stderr_bytes", (int64_t)d->stderr_bytes);
    }
}

const struct account_list machines_record = {.name = "machines",
                                             .more = "more_machines",
                                             .size = sizeof(struct machine_row),
                                             .put = put_row};

void machine_account(const struct tool_call *c, const struct machine_operation *d)
{
    struct err none = {0};
    struct account_part *p = c->place->part;
    struct machine_row m = {.d = *d};
    char hex[CRYPTO_HASH_HEX] = "";
    if (!p)
        return;
    if (d->command.at)
        crypto_sha256_hex(d->command, m.command);
    if (d->command.at && p->keep_code) /* its text is recorded where code is */
        (void)trail_keep(ward_trail(p->ward), m.command, d->command, &none);
    if (d->machine && *d->machine) /* a handle gives access */
        crypto_hash_hex(str_of(d->machine), hex);
    (void)snprintf(m.machine, sizeof m.machine, "%.12s", hex);
    m.d.command.at = m.d.machine = NULL; /* pointers of the caller's */
    account_row(p, &machines_record, &m);
    for (size_t i = 0; i < LENGTH(counted); i++)
        if (!strcmp(d->call, counted[i]))
            metric_count(own_of(c->actions)->calls, i, metric_outcome(d->outcome),
                         d->wall_ns);
}

/* ---- owners --------------------------------------------------------------------- */

static void hash_names(const char *const *names, size_t n, char out[static MACHINE_OWNER])
{
    scoped_buf struct buf text;
    buf_init(&text, BUF_TEXT);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < n; i++)
        json_put_cstr(&w, names[i] ? names[i] : "");
    json_close(&w);
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&text), hex);
    (void)snprintf(out, MACHINE_OWNER, "%s", hex);
}

void machine_owner(const struct caller *who, char out[static MACHINE_OWNER])
{
    const char *names[] = {who->grant ? who->grant->principal : "", who->name,
                           who->session};
    hash_names(names, LENGTH(names), out);
}

void machine_payer(const struct caller *who, char out[static MACHINE_OWNER])
{
    const char *names[] = {who->grant ? who->grant->principal : "", who->name};
    hash_names(names, LENGTH(names), out);
}

/* ---- use by a call ---------------------------------------------------------------- */

bool machine_use_begin(struct machine_use *u, const struct tool_call *c, const char *call,
                       enum permission *word, struct err *e)
{
    const struct permit *permit = &c->place->permit;
    struct permit_use use = machine_permission(permit->policy, call);
    *u = (struct machine_use){.call = c,
                              .policy = policy_values(permit->policy, &machines_policy)};
    machine_owner(c->who, u->owner);
    machine_payer(c->who, u->payer);
    if (!permit_run(permit, &use, word, e))
        return false;
    u->word = *word;
    u->all = actions_machines(c->actions, e);
    return u->all != NULL;
}

/* The machine for commands that name none; "": none runs. */
struct first {
    char handle[VM_HANDLE];
    char name[VM_NAME_MAX + 1]; /* of one that is meant by its name */
};

static void note_first(void *arg, const struct vm_info *m)
{
    struct first *first = arg;
    if (m->state == VM_STATE_RUNNING && m->is_default)
        memcpy(first->handle, m->handle, VM_HANDLE);
}

static struct first first_of(const struct machine_use *u)
{
    struct first first = {0};
    vm_list(u->all, str_of(u->owner), note_first, &first);
    return first;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

struct vm_options machine_use_options(const struct machine_use *u)
{
    const struct vm_policy *p = u->policy;
    return (struct vm_options){
        .ram_mb = least(VM_RAM_DEFAULT_MB, least(p->ram_mb, p->total_ram_mb)),
        .disk_bytes = (uint64_t)p->disk_mb << 20,
        .cpu_ns = UINT64_MAX, /* no limit for one alone; together they have a budget */
        .idle_ns = (uint64_t)p->idle_minutes * 60 * 1000000000,
        .budget = {.payer = str_of(u->payer),
                   .machines = p->machines,
                   .ram_mb = p->total_ram_mb,
                   .cpu_ns = (uint64_t)p->cpu_seconds * 1000000000,
                   .hint = "a person says in the policy how much (vm.machines, "
                           "vm.totalRamMB, vm.cpuSeconds)"},
        .cancel = u->call->cancel};
}

static bool may_any(const struct machine_use *u, struct err *e)
{
    return u->policy->machines > 0 ||
           err_set(e, ERR_LIMIT, "the policy allows no machines (vm.machines is 0)");
}

/* Of a machine that may be started. What goes on in one that was saved or copied may ask for the
 * network before the start returns, so it is open by then. */
static struct machine_net *net_for(const struct machine_use *u, struct vm_options *o)
{
    struct machine_net *net = machine_net_new(u->call->actions, u->call->who);
    o->network = machine_net_rules(net);
    machine_net_card(net, u->mac);
    if (u->network) {
        machine_net_join(net, "", &u->call->place->permit);
        machine_net_open(net);
    }
    return net;
}

/* It has been found or made, with `mine`, unless it was there. */
static struct vm *enter(const struct machine_use *u, struct vm *m,
                        struct machine_net *mine)
{
    if (m)
        machine_net_join(machine_net_of(m), vm_handle(m), &u->call->place->permit);
    machine_net_free(mine);
    return m;
}

/* Handles begin so, and names do not. */
static bool is_name(struct str handle)
{
    return handle.n && !(handle.n > 3 && !memcmp(handle.at, "vm_", 3));
}

static struct vm *find_kept(const struct machine_use *u, struct str name, bool make,
                            struct vm_options *o, struct err *e)
{
    struct vm_shelf shelf;
    machine_shelf(u, &shelf);
    struct machine_net *net = net_for(u, o);
    o->shelf = &shelf;
    struct vm *m = vm_find_kept(u->all, str_of(u->owner), name, make, o, e);
    o->shelf = NULL; /* it ends here */
    return enter(u, m, net);
}

struct vm *machine_use_find(const struct machine_use *u, struct str handle, struct err *e)
{
    struct vm_options o = machine_use_options(u);
    if (is_name(handle))
        return may_any(u, e) ? find_kept(u, handle, false, &o, e) : NULL;
    bool starts = !handle.n && !*first_of(u).handle;
    if (starts && (!may_any(u, e) || !machine_from_default(u, 0, &o, e)))
        return NULL;
    scoped(vm_copy_drop) struct vm_copy *from = o.from;
    struct machine_net *net = net_for(u, &o);
    return enter(u, vm_find(u->all, str_of(u->owner), handle, &o, e), net);
}

struct vm *machine_use_start(const struct machine_use *u, struct vm_options *o,
                             struct err *e)
{
    if (!may_any(u, e))
        return NULL;
    struct machine_net *net = net_for(u, o);
    return enter(u, vm_start(u->all, str_of(u->owner), o, e), net);
}

static struct vm *running(const struct machine_use *u, struct str handle, struct err *e)
{
    struct first first = first_of(u);
    if (!handle.n)
        handle = str_of(first.handle);
    if (handle.n)
        return vm_find(u->all, str_of(u->owner), handle, NULL, e);
    err_set(e, ERR_NOT_FOUND, "no machine of yours runs; vm_exec and vm_start start one");
    return NULL;
}

struct vm *machine_use_running(const struct machine_use *u, struct str handle,
                               struct err *e)
{
    struct vm_options o = machine_use_options(u);
    if (is_name(handle))
        return may_any(u, e) ? find_kept(u, handle, false, &o, e) : NULL;
    struct vm *m = running(u, handle, e);
    if (m)
        machine_net_join(machine_net_of(m), vm_handle(m), &u->call->place->permit);
    return m;
}

bool machine_use_has_network(const struct machine_use *u, struct str handle)
{
    struct err none = {0};
    scoped(vm_release) struct vm *m = is_name(handle) ? NULL : running(u, handle, &none);
    return m && machine_net_is_open(machine_net_of(m));
}

struct egress_proxy *machines_proxy(const struct actions *a)
{
    return own_of(a)->proxy;
}

void machine_count(struct actions *a, const struct vm_flow *f)
{
    static const enum metric_outcome outcomes[] = {
        [VM_FLOW_ENDED] = METRIC_SUCCESS, [VM_FLOW_RESET] = METRIC_ERROR,
        [VM_FLOW_FAILED] = METRIC_ERROR,  [VM_FLOW_REFUSED] = METRIC_DENIED,
        [VM_FLOW_LIMIT] = METRIC_LIMIT,   [VM_FLOW_IDLE] = METRIC_LIMIT};
    struct machines *m = own_of(a);
    metric_count(m->connections, f->kind, outcomes[f->end], os_mono_ns() - f->began_ns);
    m->sent_bytes += f->sent_bytes;
    m->received_bytes += f->received_bytes;
}

void machine_put(const struct vm_info *m, struct json_writer *w)
{
    const struct vm_network *n = m->network;
    json_open_object(w);
    json_pair_cstr(w, "machine", m->handle);
    json_pair_cstr(w, "state", vm_state_name(m->state));
    json_pair_bool(w, "default", m->is_default);
    if (*m->name)
        json_pair_cstr(w, "name", m->name);
    if (*m->origin)
        json_pair_cstr(w, "from", m->origin);
    if (*m->reason)
        json_pair_cstr(w, "reason", m->reason);
    json_pair_int(w, "ramMB", m->ram_mb);
    json_pair_bool(w, "network", n && machine_net_is_open(n->arg));
    json_pair_time(w, "started", m->started_ms);
    json_pair_int(w, "idle_ms", (int64_t)(m->idle_ns / 1000000));
    json_pair_int(w, "idle_limit_ms", (int64_t)(m->idle_max_ns / 1000000));
    json_pair_int(w, "compute_ms", (int64_t)(m->cpu_ns / 1000000));
    json_pair_int(w, "memory_bytes", (int64_t)m->memory_bytes);
    json_pair_int(w, "disk_bytes", (int64_t)m->disk_bytes);
    json_pair_int(w, "commands", m->execs);
    json_pair_int(w, "sessions", m->sessions);
    if (m->port_count) {
        json_key(w, "ports");
        json_open_array(w);
        for (size_t i = 0; i < m->port_count; i++)
            machine_port_put(&m->ports[i], NULL, w);
        json_close(w);
    }
    json_close(w);
}

/* ---- starting ---------------------------------------------------------------------- */

static bool read_size(const char *key, const struct json *v, uint64_t min, uint64_t max,
                      uint64_t *out, struct err *e)
{
    int64_t n = json_is_int(v) ? json_int(v, 0) : 0;
    *out = (uint64_t)n;
    return (n >= (int64_t)min && *out <= max) ||
           err_set(e, ERR_INVALID,
                   "%s is not a whole number from %llu to %llu, which is what the policy "
                   "allows; nothing was started",
                   key, (unsigned long long)min, (unsigned long long)max);
}

_Static_assert(VM_START_RAM_MB_USUAL == VM_RAM_DEFAULT_MB &&
                   VM_START_RAM_MB_MOST == VM_RAM_MAX_MB,
               "sizes are declared as they are");

/* What vm.start is asked for, besides the machine's sizes. */
struct start_request {
    bool network, keep, plain;
    uint32_t ram_mb; /* 0: nothing was said */
    struct str name;
    struct machine_mounts mounts;
};

static bool check_request(const struct machine_use *u, const struct start_request *x,
                          struct err *e)
{
    if (x->keep != (x->name.n > 0))
        return err_set(e, ERR_INVALID,
                       "keep: true and a name are given together; nothing was started");
    if (x->keep && x->mounts.count)
        return err_set(e, ERR_INVALID,
                       "a machine that is kept has no mounts that stay; give them to "
                       "vm.exec; nothing was started");
    return !x->keep || (vm_saved_check_name(x->name, e) && machine_may_save(u, e));
}

static bool read_options(struct machine_use *u, const struct json *options,
                         struct vm_options *o, struct start_request *x, struct err *e)
{
    const struct vm_policy *p = u->policy;
    struct json_iter it = json_iter(options);
    uint64_t n;
    while (json_next(&it)) {
        bool ok = true;
        if (json_is(it.value, JSON_NULL)) {
            continue;
        } else if (str_is(it.key, "ramMB")) {
            ok = read_size("ramMB", it.value, VM_RAM_MIN_MB, p->ram_mb, &n, e);
            o->ram_mb = x->ram_mb = (uint32_t)n;
        } else if (str_is(it.key, "diskMB")) {
            ok = read_size("diskMB", it.value, 1, p->disk_mb, &n, e);
            o->disk_bytes = n << 20;
        } else if (str_is(it.key, "cpuSeconds")) {
            ok = read_size("cpuSeconds", it.value, 1, p->cpu_seconds, &n, e);
            o->cpu_ns = n * 1000000000;
        } else if (str_is(it.key, "network")) {
            ok = machine_read_network(u, it.value, &x->network, "nothing was started", e);
        } else if (str_is(it.key, "mac")) {
            ok = machine_read_mac(it.value, u->mac, "nothing was started", e);
        } else if (str_is(it.key, "keep")) {
            ok = read_flag("keep", it.value, &x->keep, "nothing was started", e);
        } else if (str_is(it.key, "plain")) {
            ok = read_flag("plain", it.value, &x->plain, "nothing was started", e);
        } else if (str_is(it.key, "name") && json_is(it.value, JSON_STRING)) {
            x->name = json_str(it.value);
        } else if (str_is(it.key, "mounts")) {
            ok = machine_mounts_read(&x->mounts, it.value, u->call->arena, e);
        } else {
            ok = call_option_unknown(it.key, VM_START_KEYS, "nothing was started", e);
        }
        if (!ok)
            return false;
    }
    return check_request(u, x, e);
}

/* A caller's first machine becomes the default; of two started at once, one does. */
static bool claim_first(struct machine_use *u, struct starting *mine)
{
    pthread_mutex_lock(&own_of(u->call->actions)->lock);
    bool taken = *first_of(u).handle != '\0';
    for (struct starting *s = own_of(u->call->actions)->starting; s && !taken;
         s = s->next)
        taken = !strcmp(s->owner, u->owner);
    if (!taken) {
        *mine = (struct starting){own_of(u->call->actions)->starting, u->owner};
        own_of(u->call->actions)->starting = mine;
    }
    pthread_mutex_unlock(&own_of(u->call->actions)->lock);
    return !taken;
}

static void give_first(struct machine_use *u, struct starting *mine)
{
    pthread_mutex_lock(&own_of(u->call->actions)->lock);
    struct starting **at = &own_of(u->call->actions)->starting;
    while (*at != mine)
        at = &(*at)->next;
    *at = mine->next;
    pthread_mutex_unlock(&own_of(u->call->actions)->lock);
}

static struct vm *start(struct machine_use *u, struct vm_options *o, struct err *e)
{
    struct starting mine;
    if (!may_any(u, e))
        return NULL;
    bool first = claim_first(u, &mine);
    struct vms *all = u->all;
    struct machine_net *net = net_for(u, o);
    struct vm *m = first ? vm_find(all, str_of(u->owner), STR(""), o, e)
                         : vm_start(all, str_of(u->owner), o, e);
    if (first)
        give_first(u, &mine);
    return enter(u, m, net);
}

static struct vm *start_as_asked(struct machine_use *u, struct vm_options *o,
                                 const struct start_request *x, struct err *e)
{
    if (!x->plain && !machine_from_default(u, x->ram_mb, o, e))
        return NULL;
    scoped(vm_copy_drop) struct vm_copy *from = o->from;
    if (!x->keep)
        return start(u, o, e);
    return may_any(u, e) ? find_kept(u, x->name, true, o, e) : NULL;
}

bool machines_start(const struct tool_call *c, const struct json *options,
                    struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    uint64_t begun_ns = os_mono_ns();
    bool ok = machine_use_begin(&u, c, "vm.start", &word, e);
    struct vm_options o = ok ? machine_use_options(&u) : (struct vm_options){0};
    struct start_request x = {0};
    ok = ok && read_options(&u, options, &o, &x, e) &&
         machine_use_permitted(&u, x.mounts.count ? word : PERMISSION_ALWAYS, x.network,
                               options, e);
    u.network = x.network;
    scoped(vm_release) struct vm *m = ok ? start_as_asked(&u, &o, &x, e) : NULL;
    struct vm_info info = {0};
    bool shown = m && machine_mounts_stay(&x.mounts, c, m, e);
    if (m && !shown) /* as if it had not started */
        vm_stop(m);
    if (shown && x.network)
        machine_net_open(machine_net_of(m));
    if (shown) {
        vm_get_info(m, &info);
        machine_put(&info, out);
    }
    machine_account(c, &(struct machine_operation){.call = "vm.start",
                                                   .machine = m ? info.handle : "",
                                                   .outcome = e->code,
                                                   .wall_ns = os_mono_ns() - begun_ns});
    return shown && buf_check(out->out, "the answer", e);
}

/* ---- ending ------------------------------------------------------------------------ */

/* One that is frozen is not started for that. */
static void note_named(void *arg, const struct vm_info *m)
{
    struct first *first = arg;
    if (m->state == VM_STATE_RUNNING && !strcmp(m->name, first->name))
        memcpy(first->handle, m->handle, VM_HANDLE);
}

static struct vm *find_to_end(const struct machine_use *u, struct str handle,
                              struct err *e)
{
    struct first named = {0};
    if (!is_name(handle))
        return vm_find(u->all, str_of(u->owner), handle, NULL, e);
    (void)snprintf(named.name, sizeof named.name, "%.*s", STR_ARGS(handle));
    vm_list(u->all, str_of(u->owner), note_named, &named);
    if (*named.handle)
        return vm_find(u->all, str_of(u->owner), str_of(named.handle), NULL, e);
    err_set(e, ERR_NOT_FOUND, "no machine \"%s\" of yours runs in this session",
            named.name);
    return NULL;
}

static bool end_session(const struct machine_use *u, struct str handle,
                        struct str session, struct json_writer *out, struct err *e)
{
    scoped(vm_release) struct vm *m = find_to_end(u, handle, e);
    if (!m || !vm_session_close(m, session, e))
        return false;
    json_open_object(out);
    json_pair_cstr(out, "machine", vm_handle(m));
    json_pair_str(out, "session", session);
    json_pair_bool(out, "stopped", true);
    json_close(out);
    return true;
}

static bool end_machine(const struct machine_use *u, struct str handle,
                        struct json_writer *out, struct err *e)
{
    scoped(vm_release) struct vm *m = find_to_end(u, handle, e);
    if (!m)
        return false;
    bool kept = *vm_kept_name(m) != '\0';
    if (kept && !vm_freeze(m, e))
        return false;
    if (!kept)
        vm_stop(m);
    json_open_object(out);
    if (kept)
        json_pair_cstr(out, "name", vm_kept_name(m));
    json_pair_cstr(out, "machine", vm_handle(m));
    json_pair_bool(out, "stopped", true);
    json_close(out);
    return true;
}

static bool stop(const struct machine_use *u, const struct json *options,
                 struct json_writer *out, struct err *e)
{
    struct str handle = {0}, session = {0};
    struct json_iter it = json_iter(options);
    while (json_next(&it)) {
        bool is_machine = str_is(it.key, "machine");
        if (!json_is(it.value, JSON_STRING) ||
            (!is_machine && !str_is(it.key, "session")))
            return err_set(e, ERR_INVALID,
                           "'%.*s' is not taken here; machine and session, strings, are "
                           "accepted, nothing was stopped",
                           STR_ARGS(str_cut(it.key, 60)));
        *(is_machine ? &handle : &session) = json_str(it.value);
    }
    struct first first = first_of(u);
    if (!handle.n)
        handle = str_of(first.handle);
    if (handle.n)
        return session.n ? end_session(u, handle, session, out, e)
                         : end_machine(u, handle, out, e);
    json_open_object(out);
    json_pair_bool(out, "stopped", false);
    json_close(out);
    return true;
}

bool machines_stop(const struct tool_call *c, const struct json *options,
                   struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    uint64_t begun_ns = os_mono_ns();
    bool ok = machine_use_begin(&u, c, "vm.stop", &word, e) && stop(&u, options, out, e);
    machine_account(
        c, &(struct machine_operation){.call = "vm.stop",
                                       .machine = json_cstr(json_get(options, "machine")),
                                       .outcome = e->code,
                                       .wall_ns = os_mono_ns() - begun_ns});
    return ok && buf_check(out->out, "the answer", e);
}

/* ---- list -------------------------------------------------------------------------- */

static void list_one(void *arg, const struct vm_info *m)
{
    machine_put(m, arg);
}

bool machines_list(const struct tool_call *c, struct json_writer *out, struct err *e)
{
    struct machine_use u;
    enum permission word;
    if (!machine_use_begin(&u, c, "vm.list", &word, e))
        return false;
    json_open_array(out);
    vm_list(u.all, str_of(u.owner), list_one, out);
    json_close(out);
    return buf_check(out->out, "the answer", e);
}
