/* DNS. What is asked while the host is asked for the same, or for as much as it does at once,
 * waits. Answers are kept as long as their TTL says, and so is that there is nothing (RFC 2308),
 * for all types where the name itself does not exist (RFC 8020). */
#include "vm/net/dns.h"
#include "vm/host.h"
#include "vm/net/dns_message.h"
#include "vm/net/dns_stream.h"
#include "vm/net/udp.h"

#define KEPT 64u
#define FAILED_TTL_S 5u
#define TTL_MAX_S 86400u
#define SECOND_NS 1000000000ull
#define OWN_TTL_S 60u

struct told {
    struct vm_net_answer a;
    char text[DNS_TEXT_MAX];
};

static struct pending {
    enum { UNUSED, WAITS, ASKED } state;
    struct dns_client client;
    struct dns_question q;
} pending[DNS_PENDING];
static struct kept {
    uint64_t until_ns; /* 0: nothing */
    uint16_t type;
    char name[DNS_NAME_MAX];
    uint32_t name_n;
    struct vm_net_answer a;
} kept[KEPT];
static uint32_t next_kept;

static void reply_failed(const struct dns_client *c, const struct dns_question *q,
                         const char *why);

/* The host that was asked is not there any more. Streams end by themselves. */
void dns_begin(void)
{
    for (uint32_t i = 0; i < DNS_PENDING; i++)
        if (pending[i].state != UNUSED && !pending[i].client.stream)
            reply_failed(&pending[i].client, &pending[i].q,
                         "the machine was copied while this was asked: ask again");
    __builtin_memset(pending, 0, sizeof pending);
    __builtin_memset(kept, 0, sizeof kept);
    next_kept = 0;
    dns_stream_begin();
}

static void reply(const struct dns_client *c, const struct dns_question *q,
                  const struct dns_answer *a)
{
    uint8_t bytes[8 + DNS_ANSWER_MAX], *m = bytes + 8;
    uint32_t n = dns_write(q, a, m);
    if (c->stream)
        dns_stream_reply(c->place, c->generation, m, n);
    else
        udp_send(&c->to, DNS_PORT, &c->from, c->from_port, m, n);
}

static void reply_failed(const struct dns_client *c, const struct dns_question *q,
                         const char *why)
{
    struct dns_answer a = {.status = DNS_FAILED};
    dns_say(&a, DNS_EDE_OTHER, why);
    reply(c, q, &a);
}

/* Of what type the host is asked. */
static uint16_t asked_type(const struct dns_question *q)
{
    return q->type == DNS_AAAA ? DNS_AAAA : DNS_A;
}

/* What the host said of the name, with `text`, for whoever asked. */
static void reply_told(const struct dns_client *c, const struct dns_question *q,
                       const struct vm_net_answer *a, const char *text)
{
    bool has = q->type == asked_type(q);
    struct dns_answer out = {.status = (enum dns_status)a->status,
                             .ttl_s = a->ttl_s < TTL_MAX_S ? a->ttl_s : TTL_MAX_S};
    if (a->status == DNS_NO_ERROR && has) {
        out.addresses = a->addresses;
        out.count = a->count;
    } else if (a->status == DNS_NO_ERROR)
        dns_say(&out, DNS_EDE_NOT_SUPPORTED, "only A and AAAA records are answered");
    if (a->text_n) {
        out.ede = a->status == DNS_REFUSED ? DNS_EDE_PROHIBITED : DNS_EDE_OTHER;
        out.text = text;
        out.text_n = a->text_n;
    }
    reply(c, q, &out);
}

/* ---- what is known without the host ------------------------------------------------ */

static bool is_name(const struct dns_question *q, const char *name)
{
    return q->name_n == __builtin_strlen(name) &&
           __builtin_memcmp(q->name, name, q->name_n) == 0;
}

static bool is_below(const struct dns_question *q, const char *zone)
{
    uint32_t n = (uint32_t)__builtin_strlen(zone);
    return is_name(q, zone) || (q->name_n > n && q->name[q->name_n - n - 1] == '.' &&
                                __builtin_memcmp(q->name + q->name_n - n, zone, n) == 0);
}

/* This computer's loopback has a name for each family: what listens there at 127.0.0.1 does not at
 * ::1, and most programs try IPv6 first. */
static const struct own_name {
    const char *name;
    uint32_t v4;         /* 0: none */
    const struct ip *v6; /* NULL: none */
} own_names[] = {
    {"host.cloche.internal", LAN_HOST, 0},
    {"host6.cloche.internal", 0, &plan_host_v6},
    {"gateway.cloche.internal", LAN_GATEWAY, &plan_gateway_v6},
};

static const struct own_name *find_own(const struct dns_question *q)
{
    for (uint32_t i = 0; i < sizeof own_names / sizeof *own_names; i++)
        if (is_name(q, own_names[i].name))
            return &own_names[i];
    return 0;
}

static bool reply_own(const struct dns_client *c, const struct dns_question *q)
{
    struct vm_net_answer a = {.ttl_s = OWN_TTL_S};
    if (is_below(q, "in-addr.arpa") || is_below(q, "ip6.arpa")) {
        struct dns_answer no = {.status = DNS_REFUSED};
        dns_say(&no, DNS_EDE_NOT_SUPPORTED, "names of addresses are not answered");
        reply(c, q, &no);
        return true;
    }
    if (q->name_n && !is_below(q, "cloche.internal"))
        return false;
    const struct own_name *own = find_own(q);
    if (own) {
        const struct ip v4 = ip_v4(own->v4);
        const struct ip *ip = q->type == DNS_A ? &v4 : own->v6;
        a.count = q->type == DNS_A      ? own->v4 != 0
                  : q->type == DNS_AAAA ? own->v6 && lan.ways & LAN_WAY_V6
                                        : 0;
        if (a.count)
            __builtin_memcpy(a.addresses[0], ip->at, 16);
    } else if (q->name_n && !is_name(q, "cloche.internal"))
        a.status = DNS_NO_NAME;
    reply_told(c, q, &a, "");
    return true;
}

/* ---- what is kept ------------------------------------------------------------------ */

static bool is_kept(const struct kept *k, const struct dns_question *q, uint64_t now)
{
    return k->until_ns > now &&
           (k->type == asked_type(q) || k->a.status == DNS_NO_NAME) &&
           k->name_n == q->name_n && __builtin_memcmp(k->name, q->name, q->name_n) == 0;
}

static bool reply_kept(const struct dns_client *c, const struct dns_question *q)
{
    uint64_t now = host_now_ns();
    for (uint32_t i = 0; i < KEPT; i++) {
        const struct kept *k = &kept[i];
        if (!is_kept(k, q, now))
            continue;
        struct vm_net_answer a = k->a;
        a.ttl_s = (uint32_t)((k->until_ns - now) / SECOND_NS);
        reply_told(c, q, &a, "");
        return true;
    }
    return false;
}

/* A name that is refused is asked anew each time: it may have been allowed meanwhile. */
static void keep(const struct dns_question *q, const struct vm_net_answer *a)
{
    uint32_t ttl = a->status == DNS_FAILED ? FAILED_TTL_S : a->ttl_s;
    ttl = ttl < TTL_MAX_S ? ttl : TTL_MAX_S;
    if (!ttl || a->status == DNS_REFUSED)
        return;
    struct kept *k = &kept[next_kept++ % KEPT];
    k->until_ns = host_now_ns() + ttl * SECOND_NS;
    k->type = asked_type(q);
    k->name_n = q->name_n;
    __builtin_memcpy(k->name, q->name, q->name_n);
    k->a = *a;
    k->a.text_n = 0;
}

/* ---- what the host is asked -------------------------------------------------------- */

static bool is_for_same(const struct dns_question *a, const struct dns_question *b)
{
    return asked_type(a) == asked_type(b) && a->name_n == b->name_n &&
           __builtin_memcmp(a->name, b->name, a->name_n) == 0;
}

/* The very question, sent again. */
static bool is_repeated(const struct pending *p, const struct dns_client *c,
                        const struct dns_question *q)
{
    return p->state != UNUSED && !c->stream && !p->client.stream && p->q.id == q->id &&
           p->client.from_port == c->from_port && ip_eq(&p->client.from, &c->from) &&
           p->q.type == q->type && is_for_same(&p->q, q);
}

static bool is_asked(const struct dns_question *q)
{
    for (uint32_t i = 0; i < DNS_PENDING; i++)
        if (pending[i].state == ASKED && is_for_same(&pending[i].q, q))
            return true;
    return false;
}

/* Asks the host, if it is not asked for that already. false: it does not answer so much at once,
 * and has something to answer; else the question is answered. */
static bool ask(struct pending *p)
{
    bool busy = false;
    if (is_asked(&p->q))
        return true;
    int32_t done = host_net_resolve(DNS_FIRST + (uint32_t)(p - pending), p->q.name,
                                    p->q.name_n, asked_type(&p->q));
    for (uint32_t i = 0; i < DNS_PENDING; i++)
        busy |= pending[i].state == ASKED;
    if (done == VM_NET_FULL && busy)
        return false;
    if (done >= 0) {
        p->state = ASKED;
        return true;
    }
    p->state = UNUSED;
    if (done != VM_NET_DENIED) {
        reply_failed(&p->client, &p->q, "the host asks for no more names now");
        return true;
    }
    struct dns_answer no = {.status = DNS_REFUSED};
    dns_say(&no, DNS_EDE_PROHIBITED, "the policy allows no names");
    reply(&p->client, &p->q, &no);
    return true;
}

static void ask_waiting(void)
{
    for (uint32_t i = 0; i < DNS_PENDING; i++)
        if (pending[i].state == WAITS && !ask(&pending[i]))
            return;
}

bool dns_query(const struct dns_client *c, const uint8_t *at, uint32_t n)
{
    struct dns_question q;
    struct dns_answer a;
    struct pending *free = 0;
    enum dns_reading reading = dns_read(&q, at, n, c->stream, &a);
    if (reading == DNS_ANSWERED)
        reply(c, &q, &a);
    if (reading != DNS_READ)
        return reading != DNS_NO_QUESTION;
    if (reply_own(c, &q) || reply_kept(c, &q))
        return true;
    for (uint32_t i = 0; i < DNS_PENDING; i++) {
        struct pending *p = &pending[i];
        if (is_repeated(p, c, &q))
            return true;
        if (p->state == UNUSED && !free)
            free = p;
    }
    if (!free) {
        reply_failed(c, &q, "too many questions at once");
        return true;
    }
    *free = (struct pending){.state = WAITS, .client = *c, .q = q};
    (void)ask(free);
    return true;
}

/* All that wait for the same are answered. */
static void answer(const struct dns_question *q, const struct vm_net_answer *a,
                   const char *text)
{
    for (uint32_t i = 0; i < DNS_PENDING; i++) {
        struct pending *p = &pending[i];
        if (p->state != WAITS || !is_for_same(&p->q, q))
            continue;
        p->state = UNUSED;
        reply_told(&p->client, &p->q, a, text);
    }
}

void dns_event(uint32_t id, uint32_t events)
{
    struct pending *p = &pending[id - DNS_FIRST];
    struct told t = {0};
    if (p->state != ASKED || !(events & VM_NET_READABLE))
        return;
    int32_t n = host_net_receive(id, &t, sizeof t);
    if (n == VM_NET_NONE)
        return;
    host_net_close(id, false);
    p->state = WAITS;
    if (n < (int32_t)sizeof t.a || n > (int32_t)sizeof t ||
        t.a.count > VM_NET_ADDRESSES || t.a.text_n > (uint32_t)n - sizeof t.a ||
        (t.a.status != DNS_NO_ERROR && t.a.status != DNS_NO_NAME &&
         t.a.status != DNS_REFUSED))
        t.a = (struct vm_net_answer){.status = DNS_FAILED};
    keep(&p->q, &t.a);
    struct dns_question q = p->q;
    answer(&q, &t.a, t.text);
    ask_waiting();
}
