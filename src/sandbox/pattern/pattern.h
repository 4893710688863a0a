/* pattern/pattern.h - patterns of agents, of types and of strangers' vaults, matched where
 * they can be stopped.
 *
 * A pattern is code: within PCRE2's own limits it may take minutes. So PCRE2 (10.46) runs in
 * WebAssembly, in a world for each search or check, with a deadline, a limit of memory and a
 * cancel that reach it at whatever it does. The syntax is all of PCRE2's but \C and callouts;
 * patterns and texts are UTF-8 with Unicode properties, and bytes of a text that are none
 * match nothing.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

/* ---- the guest ---------------------------------------------------------- */

struct patterns;

/* Gives the engine, and the folder of the baked guest, when they are first needed. Both
 * outlive the patterns. */
typedef struct engine *patterns_engine(void *arg, const char **guest_dir, struct err *e);

/* Opens nothing yet: the guest is loaded by the first matcher_open(). Threads: safe. */
struct patterns *patterns_new(patterns_engine *engine, void *arg);
void patterns_free(struct patterns *p); /* NULL is fine; no matcher may be open */
SCOPED(patterns, patterns_free);

/* ---- matching ----------------------------------------------------------- */

struct matcher;

struct matcher_limits {
    uint64_t compute_ns;      /* of computing, over all that it does; 0: none */
    uint64_t until_ns;        /* os_mono_ns() at which all ends; 0: never */
    struct cancel *cancel[2]; /* either ends it; NULL is fine. They outlive it */
};

/* A fresh world without a pattern. NULL and ERR_NOT_FOUND (no guest there), ERR_IO,
 * ERR_CANCELLED, ERR_BUSY. Threads: one at a time. */
struct matcher *matcher_open(struct patterns *p, const struct matcher_limits *limits,
                             struct err *e);
void matcher_close(struct matcher *m); /* NULL is fine */
SCOPED(matcher, matcher_close);

/* The pattern that is looked for from now on. false and ERR_INVALID: why it is none, and at
 * which character ("missing closing parenthesis, at character 2"). ERR_TIMEOUT (a limit of
 * time), ERR_CANCELLED, ERR_LIMIT (more than 64 MB) or ERR_GUEST: here and below, after
 * these the matcher is only fit to be closed. */
bool matcher_set(struct matcher *m, struct str pattern, struct err *e);

#define MATCHER_TEXT_MAX ((size_t)16 << 20) /* bytes of each text; ERR_LIMIT above */

struct matcher_place {
    bool found;
    bool in_whole;
    struct str line;   /* of `lines`, without its line end; or `whole` */
    size_t at, length; /* bytes within it */
};
/* Looks for the first match in each line of `lines` (they end in LF or CR LF) and, where
 * there is none, in `whole`. Any bytes may be searched. false and, besides the above,
 * ERR_LIMIT: the pattern backtracks too much on some line. */
bool matcher_find(struct matcher *m, struct str lines, struct str whole,
                  struct matcher_place *out, struct err *e);
