/* How much of the server one caller may have: a bucket of requests that fills up with
 * time, and a number that may run at once; and log-ins that failed, by address. All of it
 * is bounded, and what nobody uses any more makes room. */
#include <arpa/inet.h>
#include <stdio.h>

#include "access/internal.h"

#define BURST_SECONDS 2u /* what may come at once, in seconds of the rate */
#define SECOND_NS 1000000000u
#define MINUTE_NS (60ull * SECOND_NS)

/* ---- principals --------------------------------------------------------- */

struct account {
    char principal[PRINCIPAL_MAX + 1];
    double left; /* requests that may come at once */
    uint64_t at_ns, noted_ns;
    unsigned running;
};

struct limits {
    unsigned per_second, running;
    pthread_mutex_t lock; /* guards all below */
    struct map names;
    struct account *all; /* by their numbers; room for ACCOUNTS_MAX */
};

struct limits *limits_new(unsigned per_second, unsigned running)
{
    struct limits *l = mem_new(sizeof *l);
    l->per_second = per_second;
    l->running = running;
    l->all = mem_new(ACCOUNTS_MAX * sizeof *l->all);
    os_brief_mutex(&l->lock);
    return l;
}

void limits_free(struct limits *l)
{
    if (!l)
        return;
    map_done(&l->names);
    free(l->all);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static double most(const struct limits *l)
{
    return (double)l->per_second * BURST_SECONDS;
}

static void refill(const struct limits *l, struct account *x, uint64_t now_ns)
{
    double more = (double)(now_ns - x->at_ns) / SECOND_NS * l->per_second;
    x->left = x->left + more < most(l) ? x->left + more : most(l);
    x->at_ns = now_ns;
}

static struct account *find_account(struct limits *l, const char *principal)
{
    size_t at =
        map_find(&l->names, (struct str){principal, strnlen(principal, PRINCIPAL_MAX)});
    return at == MAP_NONE ? NULL : &l->all[at];
}

static struct account *add_account(struct limits *l, const struct account *x)
{
    struct err e = {0};
    struct account *to = &l->all[l->names.count];
    *to = *x;
    must(map_add(&l->names, str_of(to->principal), &e) != MAP_NONE); /* as mem_new() */
    return to;
}

/* Forgets all that nobody would miss: they run nothing and have their bucket full. */
static void forget_idle(struct limits *l, uint64_t now_ns)
{
    size_t count = l->names.count;
    map_done(&l->names);
    for (struct account *x = l->all; x < l->all + count; x++) {
        refill(l, x, now_ns);
        if (x->running || x->left < most(l))
            add_account(l, x);
    }
}

/* NULL: there are too many. */
static struct account *get_account(struct limits *l, const char *principal,
                                   uint64_t now_ns)
{
    struct account *known = find_account(l, principal);
    if (known)
        return known;
    if (l->names.count == ACCOUNTS_MAX)
        forget_idle(l, now_ns);
    if (l->names.count == ACCOUNTS_MAX)
        return NULL;
    struct account x = {.left = most(l), .at_ns = now_ns};
    (void)snprintf(x.principal, sizeof x.principal, "%s", principal);
    return add_account(l, &x);
}

static bool account_begin_call(struct limits *l, struct account *x, uint64_t now_ns,
                               bool *first, unsigned *wait_s, const char **why)
{
    *wait_s = 1;
    *why = "too many callers at a time";
    if (!x)
        return false;
    refill(l, x, now_ns);
    *why = "too many requests of this caller run at a time";
    if (x->running >= l->running)
        return false;
    *why = "too many requests of this caller within a second";
    if (x->left < 1)
        return false;
    x->left -= 1;
    x->running++;
    *first = !x->noted_ns || now_ns - x->noted_ns >= MINUTE_NS;
    if (*first)
        x->noted_ns = now_ns;
    return true;
}

bool limits_begin(struct limits *l, const char *principal, uint64_t now_ns, bool *first,
                  unsigned *wait_s, const char **why)
{
    pthread_mutex_lock(&l->lock);
    bool ok = account_begin_call(l, get_account(l, principal, now_ns), now_ns, first,
                                 wait_s, why);
    pthread_mutex_unlock(&l->lock);
    return ok;
}

bool limits_spend(struct limits *l, const char *principal, uint64_t now_ns, unsigned more)
{
    pthread_mutex_lock(&l->lock);
    struct account *x = find_account(l, principal);
    must(x && x->running); /* its request, or what that has begun */
    refill(l, x, now_ns);
    bool ok = x->left >= 0;
    if (ok)
        x->left -= more;
    pthread_mutex_unlock(&l->lock);
    return ok;
}

void limits_end(struct limits *l, const char *principal)
{
    pthread_mutex_lock(&l->lock);
    struct account *x = find_account(l, principal);
    /* A principal with running calls is not evicted. */
    must(x && x->running);
    x->running--;
    pthread_mutex_unlock(&l->lock);
}

/* ---- log-ins that failed ------------------------------------------------ */

#define SETS 1024u
#define WAYS 4u
#define FREE_FAILURES 10.0
#define FORGIVE_NS (6ull * SECOND_NS) /* one failure */

struct address {
    unsigned char key[16];
    double failures; /* as of `at_ns` */
    uint64_t at_ns;  /* 0: nobody's */
};

struct failures {
    uint64_t seed[2]; /* nobody chooses his neighbours */
    pthread_mutex_t lock;
    struct address all[SETS][WAYS];
};

struct failures *failures_new(void)
{
    struct failures *f = mem_new(sizeof *f);
    os_random(f->seed, sizeof f->seed);
    os_brief_mutex(&f->lock);
    return f;
}

void failures_free(struct failures *f)
{
    if (!f)
        return;
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* IPv4 as it stands in IPv6; of IPv6 what one customer is given, a /64; anything else by
 * its letters. */
static void address_key(const char *peer, unsigned char key[static 16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    memset(key, 0, 16);
    if (inet_pton(AF_INET, peer, key + 12) == 1) {
        memcpy(key, mapped, sizeof mapped);
    } else if (inet_pton(AF_INET6, peer, key) == 1) {
        if (memcmp(key, mapped, sizeof mapped) != 0)
            memset(key + 8, 0, 8);
    } else {
        uint64_t hash = hash_fnv(HASH_FNV, str_of(peer));
        memcpy(key, &hash, sizeof hash);
        key[15] = 1;
    }
}

static double failures_now(const struct address *x, uint64_t now_ns)
{
    double left = x->failures - (double)(now_ns - x->at_ns) / FORGIVE_NS;
    return x->at_ns && left > 0 ? left : 0;
}

/* Its own place, or that of the one who has failed least. */
static struct address *find_address(struct failures *f, const unsigned char key[16],
                                    uint64_t now_ns)
{
    struct str bytes = {(const char *)key, 16};
    struct address *set = f->all[hash_keyed(f->seed, bytes) % SETS], *least = set;
    for (struct address *x = set; x < set + WAYS; x++) {
        if (x->at_ns && !memcmp(x->key, key, sizeof x->key))
            return x;
        if (failures_now(x, now_ns) < failures_now(least, now_ns))
            least = x;
    }
    *least = (struct address){.at_ns = now_ns};
    memcpy(least->key, key, sizeof least->key);
    return least;
}

unsigned failures_add(struct failures *f, const char *peer, uint64_t now_ns, bool *first)
{
    unsigned char key[16];
    address_key(peer, key);
    pthread_mutex_lock(&f->lock);
    struct address *x = find_address(f, key, now_ns);
    double before = failures_now(x, now_ns);
    *first = before == 0;
    /* Trying on costs nothing more than waiting on: nobody is shut out for hours. */
    x->failures = before + 1 > FREE_FAILURES + 1 ? FREE_FAILURES + 1 : before + 1;
    x->at_ns = now_ns;
    pthread_mutex_unlock(&f->lock);
    if (before < FREE_FAILURES)
        return 0;
    return (unsigned)((before - FREE_FAILURES + 1) * FORGIVE_NS / SECOND_NS) + 1;
}
