/* Temporary files, and what runs processes (temporary.c, process.c). */
#ifndef CLOCHE_STDLIB_H
#define CLOCHE_STDLIB_H
#include_next <stdlib.h>
#ifdef __cplusplus
extern "C" {
#endif
#define WNOHANG        1
#define WUNTRACED      2
#define WEXITSTATUS(s) (((s) & 0xff00) >> 8)
#define WTERMSIG(s)    ((s) & 0x7f)
#define WSTOPSIG(s)    WEXITSTATUS(s)
#define WIFEXITED(s)   (!WTERMSIG(s))
#define WIFSTOPPED(s)  ((short)((((s) & 0xffff) * 0x10001U) >> 8) > 0x7f00)
#define WIFSIGNALED(s) (((s) & 0xffff) - 1U < 0xffu)
#define WCOREDUMP(s)   ((s) & 0x80)
int system(const char *);
int mkstemp(char *);
int mkstemps(char *, int);
int mkostemp(char *, int);
int mkostemps(char *, int, int);
char *mkdtemp(char *);
char *mktemp(char *);
char *realpath(const char *__restrict, char *__restrict);
void *reallocarray(void *, size_t, size_t);
void qsort_r(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
int getloadavg(double *, int);
#ifdef __cplusplus
}
#endif
#endif
