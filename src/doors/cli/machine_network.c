/* cloche vm: what a person's machine may reach: the hosts of the policy, with --network, and those
 * of --allow-host. Without both it has a network at which nothing is allowed, so that what a
 * command asked for is known. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "egress/egress.h"
#include "guard/guard.h"
#include "place/place.h"
#include "policy/policy.h"

#define CONNECTIONS_MAX 250u
#define PER_SECOND_MAX 250u

struct machine_network {
    const struct machine_words *words;
    struct egress_rules *rules;
    struct machine_refusal refused;
    struct egress_proxy *proxy;
    struct vm_network network;
};

/* With the policy's hosts, where these are asked for. */
static struct egress_rules *rules_of(const struct machine_words *w, struct err *e)
{
    struct ward *ward;
    if (!w->network)
        return network_rules(NULL, w->allow, e);
    scoped(guard_close) struct guard *g = cli_guard(NULL, &ward, e);
    const struct policy *p = g ? ward_policy(ward, e) : NULL;
    if (!p)
        return NULL;
    struct egress_rules *r = NULL;
    const struct network_policy *network = policy_values(p, &network_policy);
    if (network->hosts.n || network->allow_private.n || w->allow[0])
        r = network_rules(network, w->allow, e);
    else
        err_set(
            e, ERR_DENIED,
            "the policy names no host: cloche policy set network.hosts HOST..., or give "
            "--allow-host HOST");
    policy_release(p);
    return r;
}

/* Would --allow-host with what was refused have allowed it? Metadata services it would not. */
static bool would_allow(const char *host, const struct egress_peer *q)
{
    struct err why = {0};
    struct egress_rules *r = network_rules(NULL, (const char *const[]){host, NULL}, &why);
    enum egress_speaks speaks;
    bool would = r && egress_may_connect(r, q, 0, &speaks, &why);
    egress_rules_free(r);
    return would;
}

static bool may_resolve(void *arg, const char *name, struct err *why)
{
    struct machine_network *n = arg;
    bool may = egress_may_resolve(n->rules, name, why);
    if (!may)
        machine_refused_name(&n->refused, name);
    return may;
}

static bool may_connect(void *arg, struct vm_peer *p, struct err *why)
{
    struct machine_network *n = arg;
    struct egress_peer q = {(enum egress_kind)p->kind, p->names, p->name_count,
                            p->address, p->port};
    enum egress_speaks speaks;
    bool may = egress_may_connect(n->rules, &q, 0, &speaks, why);
    p->speaks = (enum vm_speaks)speaks;
    if (!may && machine_refused_peer(&n->refused, p))
        n->refused.never = !would_allow(n->refused.what, &q);
    return may;
}

static bool may_speak(void *arg, const struct vm_peer *p, const char *name,
                      struct err *why)
{
    const struct machine_network *n = arg;
    return egress_may_speak(n->rules, name, p->port, (enum egress_speaks)p->speaks, why);
}

static void tell(void *arg, const struct vm_flow *f)
{
    struct machine_network *n = arg;
    bool told = f->end == VM_FLOW_FAILED || f->end == VM_FLOW_LIMIT;
    if (told && *f->why && !*n->refused.failed)
        (void)snprintf(n->refused.failed, sizeof n->refused.failed, "%s", f->why);
}

/* What --publish exposes is the person's own choice. */
static bool may_accept(void *arg, uint16_t port, char mark[VM_MARK], struct err *why)
{
    (void)arg, (void)port, (void)mark, (void)why;
    return true;
}

static struct egress_rules *proxy_rules(void *arg, bool *reads_only, struct err *why)
{
    const struct machine_network *n = arg;
    *reads_only = false;
    return rules_of(n->words, why);
}

static bool proxy(void *arg, int fd)
{
    const struct machine_network *n = arg;
    struct egress_proxy_client c = {.rules = proxy_rules, .arg = arg};
    return egress_proxy_take(n->proxy, fd, &c);
}

_Static_assert((int)VM_NET_ECHO == (int)EGRESS_ECHO &&
                   (int)VM_NET_UDP == (int)EGRESS_DATAGRAMS,
               "both count alike");
_Static_assert((int)VM_SPEAKS_HTTP == (int)EGRESS_SPEAKS_HTTP &&
                   (int)VM_SPEAKS_TLS == (int)EGRESS_SPEAKS_TLS,
               "both count alike");

struct machine_network *machine_network_open(const struct machine_words *w, struct err *e)
{
    scoped(machine_network_close) struct machine_network *n = mem_new(sizeof *n);
    n->refused.off = !w->network && !w->allow[0];
    n->words = w;
    n->rules = rules_of(w, e);
    n->proxy = egress_proxy_new();
    n->network = (struct vm_network){.may_resolve = may_resolve,
                                     .may_connect = may_connect,
                                     .may_speak = may_speak,
                                     .may_accept = may_accept,
                                     .proxy = proxy,
                                     .tell = tell,
                                     .arg = n,
                                     .connections_max = CONNECTIONS_MAX,
                                     .per_second = PER_SECOND_MAX,
                                     .bytes_max = UINT64_MAX};
    return n->rules ? take(n) : NULL;
}

void machine_network_report(const struct machine_network *n)
{
    if (n)
        machine_refused_report(&n->refused);
}

void machine_network_close(struct machine_network *n)
{
    if (!n)
        return;
    egress_proxy_free(n->proxy);
    egress_rules_free(n->rules);
    free(n);
}

const struct vm_network *machine_network_of(const struct machine_network *n)
{
    return &n->network;
}
