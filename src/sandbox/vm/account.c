/* A ring of hours for each name, under one lock: each machine takes it twice a second. */
#include "vm/account.h"

#include <inttypes.h>
#include <pthread.h>

enum use { COMPUTED_NS, MOVED_BYTES, USES };

struct account {
    struct account *next;
    struct accounts *in;
    char *name;
    unsigned holds, connections;
    uint64_t hour;                      /* the last hour that was looked at */
    uint64_t used[USES][ACCOUNT_HOURS]; /* by hour, modulo: of the last 24 */
};

struct accounts {
    pthread_mutex_t lock; /* guards all; nothing is called with it held */
    struct account *first;
};

struct accounts *accounts_new(void)
{
    struct accounts *a = mem_new(sizeof *a);
    pthread_mutex_init(&a->lock, NULL);
    return a;
}

static void account_forget(struct account **at)
{
    struct account *k = *at;
    *at = k->next;
    free(k->name);
    free(k);
}

void accounts_free(struct accounts *a)
{
    if (!a)
        return;
    while (a->first)
        account_forget(&a->first);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* ---- with the lock -------------------------------------------------------------- */

/* Drops hours older than a day. */
static void pass_time(struct account *k, uint64_t now_ns)
{
    uint64_t hour = now_ns / ACCOUNT_HOUR_NS;
    for (unsigned n = 0; k->hour < hour && n < ACCOUNT_HOURS; n++) {
        k->hour++;
        for (unsigned u = 0; u < USES; u++)
            k->used[u][k->hour % ACCOUNT_HOURS] = 0;
    }
    if (k->hour < hour)
        k->hour = hour;
}

static uint64_t sum(const struct account *k, enum use which)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < ACCOUNT_HOURS; i++)
        all += k->used[which][i];
    return all;
}

/* Frees accounts that are not held and have no CPU time. */
static void accounts_drop_idle(struct accounts *a, uint64_t now_ns)
{
    for (struct account **at = &a->first; *at;) {
        pass_time(*at, now_ns);
        if ((*at)->holds == 0 && sum(*at, COMPUTED_NS) == 0 && sum(*at, MOVED_BYTES) == 0)
            account_forget(at);
        else
            at = &(*at)->next;
    }
}

static struct account *account_new(struct accounts *a, struct str name)
{
    struct account *k = mem_new(sizeof *k);
    k->in = a;
    k->name = mem_new(name.n + 1);
    if (name.n)
        memcpy(k->name, name.at, name.n);
    k->next = a->first;
    return a->first = k;
}

/* The time until less than `max_ns` counts: hours expire one by one. */
static uint64_t wait_ns(const struct account *k, uint64_t max_ns, uint64_t now_ns)
{
    uint64_t left = sum(k, COMPUTED_NS);
    unsigned hours = 0;
    while (left >= max_ns && hours < ACCOUNT_HOURS)
        left -= k->used[COMPUTED_NS][(k->hour + ++hours) % ACCOUNT_HOURS];
    return hours * ACCOUNT_HOUR_NS - now_ns % ACCOUNT_HOUR_NS;
}

/* ---- interface ------------------------------------------------------------------ */

struct account *account_enter(struct accounts *a, struct str name, uint64_t now_ns)
{
    pthread_mutex_lock(&a->lock);
    accounts_drop_idle(a, now_ns);
    struct account *k = a->first;
    while (k && !str_is(name, k->name))
        k = k->next;
    if (!k)
        k = account_new(a, name);
    k->holds++;
    pthread_mutex_unlock(&a->lock);
    return k;
}

void account_leave(struct account *k)
{
    if (!k)
        return;
    struct accounts *a = k->in;
    pthread_mutex_lock(&a->lock);
    k->holds--;
    pthread_mutex_unlock(&a->lock);
}

static void add(struct account *k, enum use which, uint64_t n, uint64_t now_ns)
{
    pthread_mutex_lock(&k->in->lock);
    pass_time(k, now_ns);
    k->used[which][k->hour % ACCOUNT_HOURS] += n;
    pthread_mutex_unlock(&k->in->lock);
}

void account_add(struct account *k, uint64_t cpu_ns, uint64_t now_ns)
{
    add(k, COMPUTED_NS, cpu_ns, now_ns);
}

void account_add_bytes(struct account *k, uint64_t n, uint64_t now_ns)
{
    add(k, MOVED_BYTES, n, now_ns);
}

uint64_t account_bytes(struct account *k, uint64_t now_ns)
{
    pthread_mutex_lock(&k->in->lock);
    pass_time(k, now_ns);
    uint64_t n = sum(k, MOVED_BYTES);
    pthread_mutex_unlock(&k->in->lock);
    return n;
}

bool account_connect(struct account *k, unsigned most)
{
    pthread_mutex_lock(&k->in->lock);
    bool fits = k->connections < most;
    k->connections += fits;
    pthread_mutex_unlock(&k->in->lock);
    return fits;
}

void account_disconnect(struct account *k)
{
    pthread_mutex_lock(&k->in->lock);
    k->connections--;
    pthread_mutex_unlock(&k->in->lock);
}

bool account_check(struct account *k, uint64_t max_ns, uint64_t now_ns, struct err *e)
{
    pthread_mutex_lock(&k->in->lock);
    pass_time(k, now_ns);
    bool spent = max_ns > 0 && sum(k, COMPUTED_NS) >= max_ns;
    uint64_t wait = spent ? wait_ns(k, max_ns, now_ns) : 0;
    pthread_mutex_unlock(&k->in->lock);
    return !spent ||
           err_set(e, ERR_LIMIT,
                   "your machines have used the %" PRIu64
                   " seconds of computing time that they have in 24 hours; in %" PRIu64
                   " minutes there is more",
                   max_ns / 1000000000u, wait / 60000000000u + 1);
}
