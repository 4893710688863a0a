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

/* bzip2 was misused. */
void bz_internal_error(int code)
{
    (void)code;
    __builtin_trap();
}
