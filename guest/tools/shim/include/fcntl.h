/* fcntl() that can F_DUPFD as far as dup() can (descriptor.c). */
#ifndef CLOCHE_FCNTL_H
#define CLOCHE_FCNTL_H
#include_next <fcntl.h>
#ifdef __cplusplus
extern "C" {
#endif
/* The same values, without the casts that a preprocessor cannot compare. */
#undef O_APPEND
#undef O_DSYNC
#undef O_NONBLOCK
#undef O_RSYNC
#undef O_SYNC
#define O_APPEND   1
#define O_DSYNC    2
#define O_NONBLOCK 4
#define O_RSYNC    8
#define O_SYNC     16
#ifndef F_DUPFD
#define F_DUPFD 0
#endif
#ifndef F_DUPFD_CLOEXEC
#define F_DUPFD_CLOEXEC 1030
#endif
#ifndef SHIM_PLAIN
int fcntl(int, int, ...) __asm__("shim_fcntl");
#endif
#ifdef __cplusplus
}
#endif
#endif
