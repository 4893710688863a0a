#include <pthread.h>
#include <sys/mman.h>

#include "os/os.h"

#define KEPT ((uintptr_t)256 * 1024) /* below the caller: the next calls' */
#define PAGE ((uintptr_t)4096)

void os_stack_trim(void)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    (void)pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), from = (uintptr_t)low;
    if (here < from || here - from >= size || here - from <= KEPT)
        return;
    uintptr_t to = (here - KEPT) & ~(PAGE - 1);
    (void)madvise(low, to - from, MADV_DONTNEED);
}
