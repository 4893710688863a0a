/* There are no children to wait for: ECHILD (process.c). */
#ifndef CLOCHE_SYS_WAIT_H
#define CLOCHE_SYS_WAIT_H
#include <stdlib.h>
#include <sys/types.h>
#ifdef __cplusplus
extern "C" {
#endif
pid_t wait(int *);
pid_t waitpid(pid_t, int *, int);
#ifdef __cplusplus
}
#endif
#endif
