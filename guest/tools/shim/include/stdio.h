/* Temporary files, and the processes that there are none of (temporary.c, process.c). */
#ifndef CLOCHE_STDIO_H
#define CLOCHE_STDIO_H
#include_next <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif
#define P_tmpdir "/tmp"
#define TMP_MAX  10000
#define L_tmpnam 20
FILE *tmpfile(void);
FILE *popen(const char *, const char *);
int pclose(FILE *);
void flockfile(FILE *);
int ftrylockfile(FILE *);
void funlockfile(FILE *);
#ifdef __cplusplus
}
#endif
#endif
