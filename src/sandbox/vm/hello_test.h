/* vm/hello_test.h - the first message of TLS, for tests. Only for *_test.c. */
#pragma once
#include <string.h>

#include "base/base.h"

/* A ClientHello for that name (NULL: none), in records of `step` bytes. */
static inline struct str hello(const char *name, size_t step,
                               unsigned char out[static 2048])
{
    unsigned char m[1024] = {1, 0, 0, 0, 3, 3};
    size_t n = 6 + 32, at = 0, h = name ? strlen(name) : 0;
    m[n++] = 0;                                    /* session */
    n += 1, m[n++] = 2, m[n++] = 0x13, m[n++] = 1; /* ciphers */
    m[n++] = 1, m[n++] = 0;                        /* compression */
    size_t extensions = 4 + 1 + (name ? 9 + h : 0);
    m[n++] = 0, m[n++] = (unsigned char)extensions;
    m[n++] = 0, m[n++] = 43, m[n++] = 0, m[n++] = 1, m[n++] = 0;
    if (name) {
        const unsigned char head[] = {0,
                                      0,
                                      0,
                                      (unsigned char)(h + 5),
                                      0,
                                      (unsigned char)(h + 3),
                                      0,
                                      0,
                                      (unsigned char)h};
        memcpy(m + n, head, sizeof head);
        memcpy(m + n + sizeof head, name, h);
        n += sizeof head + h;
    }
    m[2] = (unsigned char)((n - 4) >> 8);
    m[3] = (unsigned char)(n - 4);
    for (size_t i = 0; i < n; i += step) {
        size_t part = step < n - i ? step : n - i;
        const unsigned char head[] = {22, 3, 1, (unsigned char)(part >> 8),
                                      (unsigned char)part};
        memcpy(out + at, head, sizeof head);
        memcpy(out + at + sizeof head, m + i, part);
        at += sizeof head + part;
    }
    return (struct str){(const char *)out, at};
}
