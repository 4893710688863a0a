/* cli/fn_scan.h - TypeScript read as far as a file of functions needs it: words, what is
 * quoted, brackets, comments; and the functions at its top level.
 *
 * Strings are borrowed from the text. Threads: one. Private to cli. */
#pragma once
#include "base/base.h"

/* A place in code; `last` is the last byte that was no space and no comment, `comment` the
 * block comment right before what was read last: empty where there is none. */
struct scan {
    struct str text;
    size_t at;
    char last;
    struct str comment;
};
char scan_peek(const struct scan *s, size_t n);
void scan_skip_blank(struct scan *s); /* and comments */
/* The next token: a word, something quoted, or one character; empty: the end. */
struct str scan_next(struct scan *s);
int scan_opens(struct str token); /* 1: a bracket opens, -1: one closes */
/* Up to, and without, the first of `ends` that is in no brackets ("=>" by its '='). */
struct str scan_until(struct scan *s, const char *ends);

/* ---- a function ------------------------------------------------------------------ */

#define PARAMETERS_MAX 64u

struct found {
    struct str name, returns, generics; /* "<T, U extends X>", or empty */
    struct str comment;                 /* right before it; empty: none */
    bool async, arrow, first;           /* of all functions of the file */
    struct {
        struct str name, type, fallback; /* no name: it is taken apart, or "..." */
        bool optional, rest, list;
    } parameters[PARAMETERS_MAX];
    size_t count;
    struct str
        exported[16]; /* functions of the file that are, in its order, the first ones */
    size_t exported_count;
};
/* The one that is called `name`; of "" the first that is exported, else the first. false
 * and ERR_INVALID, with the line. */
bool scan_find(struct str code, struct str name, struct found *out, struct err *e);
