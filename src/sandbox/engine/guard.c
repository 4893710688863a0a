/* Handling of SIGBUS: a file that memory is mapped from was truncated.
 *
 * Nobody should do that, but another program may, to a file in a cache folder; and a page
 * that is no longer there would end the process by SIGBUS, with everything else in it. So
 * the handler lays a page of zeros there and the access is made again. The world that this
 * happened to goes wrong at most until its call is over, and then ends.
 *
 * The handler takes no lock: it reads a table whose entries are published last, cleared
 * first. Whatever is no affair of ours goes to the handler that was there before.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include "engine/internal.h"

#define GUARDED_MAX 256u

struct guarded {
    _Atomic uintptr_t base; /* 0: free */
    _Atomic uintptr_t end;  /* 0: not yet, or no longer */
    atomic_bool hit;
};
static struct guarded table[GUARDED_MAX];
static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct guarded *guarded_at(uintptr_t address)
{
    for (size_t i = 0; i < GUARDED_MAX; i++)
        if (address < atomic_load(&table[i].end) &&
            address >= atomic_load(&table[i].base))
            return &table[i];
    return NULL;
}

static void signal_pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else /* the access is made again, and ends the process */
        (void)sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
}

static void page_is_gone(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t address = (uintptr_t)info->si_addr;
    struct guarded *p = info->si_code == BUS_ADRERR ? guarded_at(address) : NULL;
    void *page = (void *)(address / PAGE * PAGE);
    if (p && mmap(page, PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                  0) != MAP_FAILED)
        atomic_store(&p->hit, true);
    else
        signal_pass_on(number, info, context);
    errno = saved;
}

static void handlers_install(void)
{
    struct sigaction a = {.sa_sigaction = page_is_gone,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&a.sa_mask);
    (void)sigaction(SIGBUS, &a, &before);
}

struct guarded *guard_on(const void *base, size_t size)
{
    pthread_once(&once, handlers_install);
    for (size_t i = 0; i < GUARDED_MAX; i++) {
        uintptr_t none = 0;
        if (!atomic_compare_exchange_strong(&table[i].base, &none, (uintptr_t)base))
            continue;
        atomic_store(&table[i].hit, false);
        atomic_store(&table[i].end, (uintptr_t)base + size);
        return &table[i];
    }
    return NULL;
}

bool guard_was_hit(const struct guarded *p)
{
    return atomic_load(&p->hit);
}

void guard_off(struct guarded *p)
{
    if (!p)
        return;
    atomic_store(&p->end, 0);
    atomic_store(&p->base, 0);
}
