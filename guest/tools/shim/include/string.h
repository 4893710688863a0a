/* With what GNU programs know of the C library's besides (string.c). */
#ifndef CLOCHE_STRING_H
#define CLOCHE_STRING_H
#include_next <string.h>
#ifdef __cplusplus
extern "C" {
#endif
void *rawmemchr(const void *, int);
#ifdef __cplusplus
}
#endif
#endif
