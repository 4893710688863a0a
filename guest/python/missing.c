/* Functions that CPython names and that WASI has not: there is no network. */
#include <stddef.h>

static int host_error;

int *__h_errno_location(void)
{
    return &host_error;
}
void *gethostbyname(const char *name)
{
    (void)name;
    return NULL;
}
void *gethostbyaddr(const void *at, unsigned size, int type)
{
    (void)at, (void)size, (void)type;
    return NULL;
}
const char *hstrerror(int code)
{
    (void)code;
    return "there is no network";
}
void *getservbyname(const char *name, const char *protocol)
{
    (void)name, (void)protocol;
    return NULL;
}
void *getservbyport(int port, const char *protocol)
{
    (void)port, (void)protocol;
    return NULL;
}
void *getprotobyname(const char *name)
{
    (void)name;
    return NULL;
}
/* The stack of CPython's frames grows by doubling an int until the frame fits. A code object made by
 * hand may ask for so much that the int is 0 before, and that loop touches no memory: nothing
 * could stop it. So such frames do not get there; callers report NULL as out of memory.
 * CPython's own function has its other name by mk/python.mk. */
#define FRAME_SLOTS_MAX (1u << 24)
struct frame;
struct frame *_PyThreadState_PushLimit(void *state, size_t slots);
struct frame *_PyThreadState_PushFrame(void *state, size_t slots);
struct frame *_PyThreadState_PushFrame(void *state, size_t slots)
{
    return slots > FRAME_SLOTS_MAX ? NULL : _PyThreadState_PushLimit(state, slots);
}

/* bzip2 was misused. */
void bz_internal_error(int code)
{
    (void)code;
    __builtin_trap();
}
