/* Limits, of which a tool has its runner's alone: none that it could see (process.c). */
#ifndef CLOCHE_SYS_RESOURCE_H
#define CLOCHE_SYS_RESOURCE_H
#include_next <sys/resource.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef unsigned long long rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
#define RLIM_INFINITY (~0ULL)
#define RLIMIT_CPU    0
#define RLIMIT_FSIZE  1
#define RLIMIT_DATA   2
#define RLIMIT_STACK  3
#define RLIMIT_CORE   4
#define RLIMIT_RSS    5
#define RLIMIT_NPROC  6
#define RLIMIT_NOFILE 7
#define RLIMIT_AS     9
int getrlimit(int, struct rlimit *);
int setrlimit(int, const struct rlimit *);
#ifdef __cplusplus
}
#endif
#endif
