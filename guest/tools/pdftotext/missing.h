/* What poppler calls and WASI has not. */
#pragma once
#ifdef __cplusplus
#include <cerrno>
#include <cstdio>

static inline int mkstemp(char *)
{
    errno = ENOSYS;
    return -1;
}

static inline FILE *popen(const char *, const char *)
{
    errno = ENOSYS;
    return nullptr;
}

static inline int pclose(FILE *)
{
    return -1;
}
#endif
