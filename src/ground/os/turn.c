#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/os.h"

/* `struct sched_attr` as the system has known it from the first: some headers lack it,
 * others have it twice. See sched_setattr(2). */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

uint64_t os_thread_turn(uint64_t ns)
{
    struct attributes a = {0};
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0 || a.runtime == 0 ||
        (a.policy != SCHED_OTHER && a.policy != SCHED_BATCH))
        return 0;
    /* The thread's other attributes stay, above all its nice value. */
    uint64_t before = a.runtime;
    a.runtime = ns;
    return ns && syscall(SYS_sched_setattr, 0, &a, 0) == 0 ? before : 0;
}
