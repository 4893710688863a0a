/* Calls the resolver. A thread whose answer is not needed any more ends by itself. */
#include "vm/lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "os/os.h"
#include "vm/ways.h"

#define TYPE_AAAA 28u
#define TTL_S 60u /* the resolver does not say */
#define STACK ((size_t)256 << 10)

struct lookup {
    _Atomic unsigned holds; /* of the thread, and of the caller */
    _Atomic bool done;
    int tell;
    uint32_t type;
    struct vm_net_answer answer;
    char name[];
};

static void drop(struct lookup *l)
{
    if (atomic_fetch_sub(&l->holds, 1) != 1)
        return;
    (void)close(l->tell);
    free(l);
}

/* Of IPv6 only what this computer has a way to: programs in a machine try it first. IPv4 in its
 * spelling is none. */
static void answer_add(struct vm_net_answer *a, const struct sockaddr *sa)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint8_t at[16];
    bool v6 = sa->sa_family == AF_INET6;
    if (sa->sa_family == AF_INET) {
        memcpy(at, mapped, sizeof mapped);
        memcpy(at + 12, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
    } else {
        memcpy(at, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
    }
    if (v6 && (!memcmp(at, mapped, sizeof mapped) || !ways_lead_to(at)))
        return;
    if (a->count < VM_NET_ADDRESSES)
        memcpy(a->addresses[a->count++], at, sizeof at);
}

static void lookup_resolve(struct lookup *l)
{
    enum { NO_ERROR = 0, SERVER_FAILED = 2, NO_NAME = 3 };
    int family = l->type == TYPE_AAAA ? AF_INET6 : AF_INET;
    struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    int failed = getaddrinfo(l->name, NULL, &hints, &all);
    l->answer.ttl_s = TTL_S;
    l->answer.status = !failed || failed == EAI_NODATA || failed == EAI_ADDRFAMILY
                           ? NO_ERROR
                       : failed == EAI_NONAME ? NO_NAME
                                              : SERVER_FAILED;
    for (struct addrinfo *i = all; i; i = i->ai_next)
        if (i->ai_family == family)
            answer_add(&l->answer, i->ai_addr);
    if (all)
        freeaddrinfo(all);
}

static void *lookup_live(void *arg)
{
    struct lookup *l = arg;
    uint64_t one = 1;
    lookup_resolve(l);
    atomic_store(&l->done, true);
    ssize_t n = write(l->tell, &one, sizeof one);
    (void)n; /* it is readable already */
    drop(l);
    return NULL;
}

struct lookup *lookup_begin(const char *name, uint32_t type, int tell)
{
    size_t n = strlen(name) + 1;
    struct lookup *l = mem_new(sizeof *l + n);
    pthread_t thread;
    memcpy(l->name, name, n);
    l->type = type;
    l->tell = dup(tell);
    atomic_store(&l->holds, 2);
    if (l->tell >= 0 && os_thread_start(&thread, "vm-lookup", STACK, lookup_live, l)) {
        (void)pthread_detach(thread);
        return l;
    }
    if (l->tell >= 0)
        (void)close(l->tell);
    free(l);
    return NULL;
}

bool lookup_done(struct lookup *l, struct vm_net_answer *out)
{
    if (!atomic_load(&l->done))
        return false;
    *out = l->answer;
    return true;
}

void lookup_free(struct lookup *l)
{
    if (l)
        drop(l);
}
