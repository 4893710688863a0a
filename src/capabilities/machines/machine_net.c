/* The rules are those of the policies as they stand whenever a machine asks: what a person
 * changes holds at once, also for what runs in the background. All is recorded in the vault
 * whose call used the machine last; of the same refusal once a minute. */
#include "machines/machine_net.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "caller/caller.h"
#include "capability/capability.h"
#include "crypto/crypto.h"
#include "egress/egress.h"
#include "machines/machine_use.h"
#include "os/os.h"
#include "place/place.h"
#include "policy/policy.h"

#define WARDS_MAX 8u         /* of one machine; used for more, it has no network */
#define PER_SECOND_USUAL 64u /* until a policy was read */
#define REFUSALS_KEPT 8u     /* for answers */
#define REPEATS_KEPT 16u
#define REPEAT_NS ((uint64_t)60 * 1000000000)

struct under {
    struct ward *ward;
    char digest[17]; /* of the policy that `rules` are made of */
    struct egress_rules *rules;
    uint32_t connections, mb, kbps, new_connections, tcp_idle_minutes, udp_idle_seconds;
};

struct machine_net {
    struct vm_network network;
    struct actions *actions;
    char caller[100];
    bool is_program;
    _Atomic unsigned holds;
    pthread_mutex_t lock; /* guards what follows */
    char machine[13];     /* the beginning of its handle's hash */
    bool open, crowded;
    bool reads_only; /* a call that used it may not change anything */
    bool spent;      /* its records have taken their share: it reaches nothing more */
    struct under under[WARDS_MAX];
    size_t count;
    struct ward *last; /* the one of the last call */
    struct machine_running *running;
    char before[13]; /* the last command that ran */
    uint64_t refusals;
    struct refused_one {
        uint64_t number;
        char text[400];
    } refused[REFUSALS_KEPT];
    struct repeat {
        uint64_t since_ns;
        char to[300];
    } repeats[REPEATS_KEPT];
    uint64_t left_out; /* refusals since the last record */
};

/* ---- policies, with the lock ------------------------------------------------------- */

static bool refresh(struct under *u, const struct policy *now, struct err *e)
{
    if (u->rules && !strcmp(u->digest, now->digest))
        return true;
    egress_rules_free(take(u->rules));
    u->rules = network_rules(policy_values(now, &network_policy), NULL, e);
    memcpy(u->digest, now->digest, sizeof u->digest);
    const struct vm_policy *vm = policy_values(now, &machines_policy);
    u->connections = vm->connections;
    u->mb = vm->network_mb;
    u->kbps = vm->network_kbps;
    u->new_connections = vm->new_connections;
    u->tcp_idle_minutes = vm->tcp_idle_minutes;
    u->udp_idle_seconds = vm->udp_idle_seconds;
    return u->rules != NULL;
}

/* Something that the policies allow, or not, of the machine. */
typedef struct permit_use permission_fn(const struct policy *p, const char *call);

static bool under_allows(struct under *u, permission_fn *of, const char *without,
                         struct err *why)
{
    const struct policy *now = ward_policy(u->ward, why);
    struct permit_use use = now ? of(now, "") : (struct permit_use){0};
    bool never = now && permission_for(&use, NULL) == PERMISSION_NEVER;
    if (never)
        err_set(why, ERR_NOT_FOUND,
                "%s: %s of the policy is 'never'; a person may change that ('%s')",
                without, use.key, use.change);
    bool ok = now && !never && refresh(u, now, why);
    policy_release(now);
    return ok;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Do all policies allow it, and how much? */
static bool all_allow(struct machine_net *n, permission_fn *of, const char *without,
                      struct err *why)
{
    uint32_t connections = UINT32_MAX, mb = UINT32_MAX, kbps = UINT32_MAX;
    uint32_t per_second = UINT32_MAX, minutes = UINT32_MAX, seconds = UINT32_MAX;
    for (size_t i = 0; i < n->count; i++) {
        if (!under_allows(&n->under[i], of, without, why))
            return false;
        connections = least(connections, n->under[i].connections);
        mb = least(mb, n->under[i].mb);
        kbps = least(kbps, n->under[i].kbps);
        per_second = least(per_second, n->under[i].new_connections);
        minutes = least(minutes, n->under[i].tcp_idle_minutes);
        seconds = least(seconds, n->under[i].udp_idle_seconds);
    }
    n->network.connections_max = connections;
    n->network.bytes_max = (uint64_t)mb << 20;
    n->network.rate_max = (uint64_t)kbps << 10;
    n->network.per_second = per_second;
    n->network.idle_ns = (uint64_t)minutes * 60 * 1000000000;
    n->network.idle_udp_ns = (uint64_t)seconds * 1000000000;
    return !n->spent || err_set(why, ERR_LIMIT,
                                "its records have taken their share of a day "
                                "(audit.callerMegabytes of the policy)");
}

/* Is there a network now? */
static bool net_allows(struct machine_net *n, struct err *why)
{
    if (!all_allow(n, machine_network_permission, "the machine has no network", why))
        return false;
    if (!n->open || !n->count)
        return err_set(why, ERR_NOT_FOUND,
                       "the machine has no network yet: 'network: true' of the call asks "
                       "for what the policy allows");
    if (n->crowded)
        return err_set(why, ERR_NOT_FOUND,
                       "the machine has no network: it was used for more than %u vaults",
                       WARDS_MAX);
    return true;
}

static void note_refusal(struct machine_net *n, const char *to, const struct err *why)
{
    char text[sizeof n->refused[0].text];
    (void)snprintf(text, sizeof text, "%.120s: %.250s", to, why->msg);
    struct refused_one *r = &n->refused[0];
    for (size_t i = 0; i < REFUSALS_KEPT && strcmp(r->text, text) != 0; i++)
        if (!strcmp(n->refused[i].text, text) || n->refused[i].number < r->number)
            r = &n->refused[i];
    memcpy(r->text, text, sizeof text);
    r->number = ++n->refusals;
}

/* As flows are told: the commands that run, or "<" and the last one that did. */
static void write_mark(const struct machine_net *n, char out[static VM_MARK])
{
    size_t at = 0;
    if (!n->running && *n->before)
        (void)snprintf(out, VM_MARK, "<%s", n->before);
    for (const struct machine_running *r = n->running; r && at + 14 < VM_MARK;
         r = r->next)
        at += (size_t)snprintf(out + at, VM_MARK - at, "%s%s", at ? "," : "", r->command);
}

/* ---- records ------------------------------------------------------------------------ */

static void write_address(const struct vm_flow *f, char out[static INET6_ADDRSTRLEN])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool v4 = memcmp(f->address, mapped, sizeof mapped) == 0;
    must(inet_ntop(v4 ? AF_INET : AF_INET6, f->address + (v4 ? 12 : 0), out,
                   INET6_ADDRSTRLEN));
}

static void put_commands(const char *mark, struct json_writer *w)
{
    bool after = *mark == '<';
    struct str left = str_of(mark + after);
    if (!left.n)
        return;
    json_key(w, after ? "after" : "commands");
    json_open_array(w);
    while (left.n) {
        const char *comma = memchr(left.at, ',', left.n);
        size_t n = comma ? (size_t)(comma - left.at) : left.n;
        json_put_str(w, (struct str){left.at, n});
        left = (struct str){left.at + n + (comma != NULL), left.n - n - (comma != NULL)};
    }
    json_close(w);
}

/* Requests by the proxy are told without an address. */
static bool is_nowhere(const struct vm_flow *f)
{
    static const uint8_t none[16];
    return memcmp(f->address, none, sizeof none) == 0;
}

static const char *const protocols[] = {
    [VM_NET_TCP] = "tcp", [VM_NET_UDP] = "udp", [VM_NET_ECHO] = "icmp"};

/* A name that was refused has neither address nor port. */
static void put_flow(const struct vm_flow *f, struct json_writer *w)
{
    static const char *const ends[] = {
        [VM_FLOW_ENDED] = "success", [VM_FLOW_RESET] = "reset",
        [VM_FLOW_FAILED] = "failed", [VM_FLOW_REFUSED] = "denied",
        [VM_FLOW_LIMIT] = "limit",   [VM_FLOW_IDLE] = "idle"};
    char address[INET6_ADDRSTRLEN];
    if (*f->name)
        json_pair_str(w, "name",
                      str_is_utf8(str_of(f->name)) ? str_of(f->name) : STR("?"));
    if (f->port || f->kind == VM_NET_ECHO) {
        write_address(f, address);
        json_pair_cstr(w, "protocol", protocols[f->kind]);
        if (f->inbound || is_nowhere(f))
            json_pair_bool(w, f->inbound ? "inbound" : "proxy", true);
        else
            json_pair_cstr(w, "address", address);
        if (f->port)
            json_pair_int(w, "port", f->port);
        if (f->upgraded)
            json_pair_bool(w, "upgraded", true);
        json_pair_int(w, "sent_bytes", (int64_t)f->sent_bytes);
        json_pair_int(w, "received_bytes", (int64_t)f->received_bytes);
        json_pair_number(w, "ms", (double)(os_mono_ns() - f->began_ns) / 1e6);
    }
    json_pair_cstr(w, "result", ends[f->end]);
    if (*f->why)
        json_pair_str(w, "why", str_is_utf8(str_of(f->why)) ? str_of(f->why) : STR("?"));
}

static void record(struct machine_net *n, struct ward *w, const struct vm_flow *f,
                   uint64_t left_out)
{
    struct err none = {0};
    struct ward_event told;
    const struct caller who = {.name = n->caller, .is_program = n->is_program};
    ward_event_begin(&told, "connection");
    json_pair_cstr(&told.out, "caller", n->caller);
    json_pair_cstr(&told.out, "machine", n->machine);
    put_commands(f->mark, &told.out);
    put_flow(f, &told.out);
    if (left_out)
        json_pair_int(&told.out, "refusals_left_out", (int64_t)left_out);
    size_t bytes = told.text.n;
    bool kept =
        ward_event_end(&told, w, NULL, false, &none) && ward_spend(w, &who, bytes);
    struct observed seen = {.denials = f->end == VM_FLOW_REFUSED,
                            .hosts = &f->name,
                            .host_count = f->end != VM_FLOW_REFUSED && *f->name};
    ward_observe(w, &who, &seen);
    pthread_mutex_lock(&n->lock);
    n->spent |= !kept;
    pthread_mutex_unlock(&n->lock);
}

/* Was it told within the last minute? With the lock. */
static bool is_repeated(struct machine_net *n, const char *to)
{
    uint64_t now = os_mono_ns();
    struct repeat *oldest = &n->repeats[0];
    for (size_t i = 0; i < REPEATS_KEPT; i++) {
        struct repeat *r = &n->repeats[i];
        if (!strcmp(r->to, to) && now - r->since_ns < REPEAT_NS)
            return true;
        if (r->since_ns < oldest->since_ns)
            oldest = r;
    }
    oldest->since_ns = now;
    (void)snprintf(oldest->to, sizeof oldest->to, "%s", to);
    return false;
}

static void tell(void *arg, const struct vm_flow *f)
{
    struct machine_net *n = arg;
    struct err failed = {0};
    char to[300], address[INET6_ADDRSTRLEN];
    (void)snprintf(failed.msg, sizeof failed.msg, "%.200s%s", f->why,
                   f->end == VM_FLOW_LIMIT
                       ? "; the policy says how many (vm.connections, "
                         "vm.newConnections, vm.networkMB)"
                       : "");
    write_address(f, address);
    (void)snprintf(to, sizeof to, "%.200s %s %s:%u", f->name, protocols[f->kind], address,
                   f->port);
    pthread_mutex_lock(&n->lock);
    bool told = f->end == VM_FLOW_FAILED || f->end == VM_FLOW_LIMIT;
    if (told && *f->why) /* a command is told why */
        note_refusal(n, *f->name ? f->name : address, &failed);
    bool silent = f->end == VM_FLOW_REFUSED && !n->open && !f->inbound;
    bool again = !silent && f->end >= VM_FLOW_REFUSED && !f->sent_bytes &&
                 !f->received_bytes && is_repeated(n, to);
    n->left_out += again;
    uint64_t left_out = again ? 0 : n->left_out;
    n->left_out -= left_out;
    struct ward *w = n->last;
    pthread_mutex_unlock(&n->lock);
    if (silent)
        return;
    machine_count(n->actions, f);
    if (!again && w)
        record(n, w, f, left_out);
}

/* ---- what machines ask ---------------------------------------------------------------- */

static bool may_resolve(void *arg, const char *name, struct err *why)
{
    struct machine_net *n = arg;
    struct vm_flow f = {.name = name, .end = VM_FLOW_REFUSED, .began_ns = os_mono_ns()};
    pthread_mutex_lock(&n->lock);
    bool may = net_allows(n, why);
    for (size_t i = 0; may && i < n->count; i++)
        may = egress_may_resolve(n->under[i].rules, name, why);
    write_mark(n, f.mark);
    if (!may)
        note_refusal(n, str_is_utf8(str_of(name)) ? name : "?", why);
    pthread_mutex_unlock(&n->lock);
    if (!may) {
        (void)snprintf(f.why, sizeof f.why, "%s", why->msg);
        tell(n, &f);
    }
    return may;
}

static bool may_connect(void *arg, struct vm_peer *p, struct err *why)
{
    struct machine_net *n = arg;
    struct egress_peer q = {(enum egress_kind)p->kind, p->names, p->name_count,
                            p->address, p->port};
    struct vm_flow f = {0};
    char address[INET6_ADDRSTRLEN], to[300];
    pthread_mutex_lock(&n->lock);
    enum egress_speaks speaks = EGRESS_SPEAKS_ANYTHING, most = EGRESS_SPEAKS_ANYTHING;
    bool may = net_allows(n, why);
    for (size_t i = 0; may && i < n->count; i++) {
        may = egress_may_connect(n->under[i].rules, &q,
                                 atomic_load(&n->actions->own_port), &speaks, why);
        most = may && speaks > most ? speaks : most;
    }
    p->speaks = (enum vm_speaks)most;
    if (!may) {
        memcpy(f.address, p->address, sizeof f.address);
        write_address(&f, address);
        (void)snprintf(to, sizeof to, "%.200s:%u", p->name_count ? p->names[0] : address,
                       p->port);
        note_refusal(n, to, why);
    }
    write_mark(n, p->mark);
    pthread_mutex_unlock(&n->lock);
    return may;
}

static bool may_speak(void *arg, const struct vm_peer *p, const char *name,
                      struct err *why)
{
    struct machine_net *n = arg;
    char to[300];
    pthread_mutex_lock(&n->lock);
    bool may = net_allows(n, why);
    for (size_t i = 0; may && i < n->count; i++)
        may = egress_may_speak(n->under[i].rules, name, p->port,
                               (enum egress_speaks)p->speaks, why);
    (void)snprintf(to, sizeof to, "%.200s:%u", str_is_utf8(str_of(name)) ? name : "?",
                   p->port);
    if (!may)
        note_refusal(n, to, why);
    pthread_mutex_unlock(&n->lock);
    return may;
}
static bool may_accept(void *arg, uint16_t port, char mark[VM_MARK], struct err *why)
{
    struct machine_net *n = arg;
    (void)port;
    pthread_mutex_lock(&n->lock);
    bool may = all_allow(n, machine_expose_permission, "its ports are not reached", why);
    if (mark)
        write_mark(n, mark);
    pthread_mutex_unlock(&n->lock);
    return may;
}

_Static_assert((int)VM_NET_ECHO == (int)EGRESS_ECHO &&
                   (int)VM_NET_UDP == (int)EGRESS_DATAGRAMS,
               "both count alike");
_Static_assert((int)VM_SPEAKS_HTTP == (int)EGRESS_SPEAKS_HTTP &&
                   (int)VM_SPEAKS_TLS == (int)EGRESS_SPEAKS_TLS,
               "both count alike");

static void hold(void *arg)
{
    struct machine_net *n = arg;
    atomic_fetch_add(&n->holds, 1);
}

static void let_go(void *arg)
{
    machine_net_free(arg);
}

/* ---- the proxy ------------------------------------------------------------------------ */

/* Those of the one policy: where there are several, each would have to allow the request, and none
 * could say whose secret is meant. */
static struct egress_rules *proxy_rules(void *arg, bool *reads_only, struct err *why)
{
    struct machine_net *n = arg;
    struct egress_rules *rules = NULL;
    pthread_mutex_lock(&n->lock);
    bool may = net_allows(n, why);
    if (may && n->count > 1)
        may = err_set(why, ERR_DENIED,
                      "the machine was used for several vaults, and secrets are of one");
    const struct policy *now = may ? ward_policy(n->under[0].ward, why) : NULL;
    if (now) {
        *reads_only = n->reads_only || now->read_only;
        rules = network_rules(policy_values(now, &network_policy), NULL, why);
        policy_release(now);
    }
    pthread_mutex_unlock(&n->lock);
    return rules;
}

static void proxy_tell(void *arg, const struct egress_hop *hop)
{
    struct machine_net *n = arg;
    struct vm_flow f = {.name = hop->host,
                        .port = (uint16_t)hop->port,
                        .end = hop->outcome == ERR_NONE        ? VM_FLOW_ENDED
                               : hop->outcome == ERR_DENIED    ? VM_FLOW_REFUSED
                               : hop->outcome == ERR_LIMIT     ? VM_FLOW_LIMIT
                               : hop->outcome == ERR_CANCELLED ? VM_FLOW_RESET
                                                               : VM_FLOW_FAILED,
                        .began_ns = hop->began_ns,
                        .sent_bytes = hop->sent_bytes,
                        .received_bytes = hop->received_bytes};
    (void)snprintf(f.why, sizeof f.why, "%s", hop->why ? hop->why : "");
    pthread_mutex_lock(&n->lock);
    write_mark(n, f.mark);
    pthread_mutex_unlock(&n->lock);
    tell(n, &f);
}

static bool proxy(void *arg, int fd)
{
    struct machine_net *n = arg;
    struct err none = {0};
    pthread_mutex_lock(&n->lock);
    bool may = net_allows(n, &none);
    pthread_mutex_unlock(&n->lock);
    if (!may)
        return false;
    hold(n);
    struct egress_proxy_client c = {.rules = proxy_rules,
                                    .tell = proxy_tell,
                                    .done = let_go,
                                    .arg = n,
                                    .own_port = atomic_load(&n->actions->own_port)};
    bool taken = egress_proxy_take(machines_proxy(n->actions), fd, &c);
    if (!taken)
        let_go(n);
    return taken;
}

/* ---- the whole -------------------------------------------------------------------------- */

struct machine_net *machine_net_new(struct actions *a, const struct caller *who)
{
    struct machine_net *n = mem_new(sizeof *n);
    n->actions = a;
    n->is_program = who->is_program;
    (void)snprintf(n->caller, sizeof n->caller, "%s", who->name);
    atomic_store(&n->holds, 1);
    pthread_mutex_init(&n->lock, NULL);
    n->network = (struct vm_network){.may_resolve = may_resolve,
                                     .may_connect = may_connect,
                                     .may_speak = may_speak,
                                     .may_accept = may_accept,
                                     .proxy = proxy,
                                     .tell = tell,
                                     .hold = hold,
                                     .let_go = let_go,
                                     .arg = n,
                                     .per_second = PER_SECOND_USUAL,
                                     .connections_max = UINT32_MAX,
                                     .bytes_max = UINT64_MAX};
    return n;
}

void machine_net_free(struct machine_net *n)
{
    if (atomic_fetch_sub(&n->holds, 1) != 1)
        return;
    for (size_t i = 0; i < n->count; i++)
        egress_rules_free(n->under[i].rules);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

const struct vm_network *machine_net_rules(const struct machine_net *n)
{
    return &n->network;
}

struct machine_net *machine_net_of(const struct vm *m)
{
    return vm_network_of(m)->arg;
}

void machine_net_join(struct machine_net *n, const char *handle, const struct permit *p)
{
    struct ward *w = p->ward;
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(str_of(handle), hex);
    pthread_mutex_lock(&n->lock);
    if (*handle)
        (void)snprintf(n->machine, sizeof n->machine, "%.12s", hex);
    n->last = w;
    n->reads_only |= p->read_only;
    size_t i = 0;
    while (i < n->count && n->under[i].ward != w)
        i++;
    if (i < WARDS_MAX && i == n->count)
        n->under[n->count++] = (struct under){.ward = w};
    n->crowded |= i == WARDS_MAX;
    pthread_mutex_unlock(&n->lock);
}

void machine_net_card(struct machine_net *n, const uint8_t mac[static 6])
{
    memcpy(n->network.mac, mac, sizeof n->network.mac);
}

void machine_net_open(struct machine_net *n)
{
    pthread_mutex_lock(&n->lock);
    n->open = true;
    pthread_mutex_unlock(&n->lock);
}

bool machine_net_is_open(struct machine_net *n)
{
    pthread_mutex_lock(&n->lock);
    bool open = n->open;
    pthread_mutex_unlock(&n->lock);
    return open;
}

const char *machine_net_caller(const struct machine_net *n)
{
    return n->caller;
}

void machine_net_tell_port(struct machine_net *n, const struct vm_port *p, bool open)
{
    struct err none = {0};
    struct ward_event told;
    pthread_mutex_lock(&n->lock);
    struct ward *w = n->last;
    pthread_mutex_unlock(&n->lock);
    if (!w)
        return;
    ward_event_begin(&told, "port");
    json_pair_cstr(&told.out, "caller", "terminal");
    json_pair_cstr(&told.out, "machine", n->machine);
    json_pair_int(&told.out, "port", p->port);
    if (open)
        json_pair_cstr(&told.out, "address", p->address);
    if (open)
        json_pair_int(&told.out, "hostPort", p->host_port);
    json_pair_cstr(&told.out, "result", open ? "exposed" : "closed");
    (void)ward_event_end(&told, w, NULL, false, &none);
}

void machine_net_run(struct machine_net *n, struct machine_running *r, struct str command)
{
    char hex[CRYPTO_SHA256_HEX];
    crypto_sha256_hex(command, hex);
    (void)snprintf(r->command, sizeof r->command, "%.12s", hex);
    pthread_mutex_lock(&n->lock);
    r->net = n;
    r->refusals = n->refusals;
    r->next = n->running;
    n->running = r;
    pthread_mutex_unlock(&n->lock);
}

void machine_net_ran(struct machine_running *r)
{
    struct machine_net *n = r->net;
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    struct machine_running **at = &n->running;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    memcpy(n->before, r->command, sizeof n->before);
    r->net = NULL;
    pthread_mutex_unlock(&n->lock);
}

void machine_net_put_refused(const struct machine_running *r, struct json_writer *w)
{
    struct machine_net *n = r->net;
    bool any = false;
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < REFUSALS_KEPT; i++) {
        if (n->refused[i].number <= r->refusals)
            continue;
        if (!any) {
            json_key(w, "networkRefused");
            json_open_array(w);
        }
        any = true;
        json_put_cstr(w, n->refused[i].text);
    }
    if (any)
        json_close(w);
    pthread_mutex_unlock(&n->lock);
}
