/* WASI knows neither modes nor blocks: these give files the usual ones (stat.c). */
#ifndef CLOCHE_SYS_STAT_H
#define CLOCHE_SYS_STAT_H
#include_next <sys/stat.h>
#ifdef __cplusplus
extern "C" {
#endif

/* The shim itself calls the C library's own. */
#ifndef SHIM_PLAIN
int stat(const char *__restrict, struct stat *__restrict) __asm__("shim_stat");
int lstat(const char *__restrict, struct stat *__restrict) __asm__("shim_lstat");
int fstat(int, struct stat *) __asm__("shim_fstat");
int fstatat(int, const char *__restrict, struct stat *__restrict, int) __asm__("shim_fstatat");
int chmod(const char *, mode_t) __asm__("shim_chmod");
int fchmod(int, mode_t) __asm__("shim_fchmod");

int fchmodat(int, const char *, mode_t, int) __asm__("shim_fchmodat");
#endif
mode_t umask(mode_t);
int lchmod(const char *, mode_t);
int mkfifo(const char *, mode_t);
int mkfifoat(int, const char *, mode_t);
int mknod(const char *, mode_t, dev_t);
int mknodat(int, const char *, mode_t, dev_t);
#ifdef __cplusplus
}
#endif
#endif
