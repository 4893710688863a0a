/* apart/apart.h - native code over a stranger's input, in a process of its own.
 *
 * Two sides. Whoever needs the work done begins a program with two descriptors, and ends
 * it at any moment. The program gives up its rights before it looks at a byte of the
 * input: memory and files are limited, nothing can be opened, connected to or begun.
 * It ends when the process that began it does, however that ended.
 */
#pragma once
#include "base/base.h"

/* ---- outside ---------------------------------------------------------------- */

struct apart;

struct apart_program {
    const char *path;        /* of an executable file */
    const char *const *args; /* behind its name; ends with NULL */
    int in, out;             /* its descriptors 0 and 1; borrowed; -1: /dev/null */
    int given;               /* its descriptor APART_GIVEN; borrowed; -1: none */
};

/* Begins it with an environment of nothing but TZ, in the folder "/", with those
 * descriptors and no others. NULL and ERR_IO. Threads: safe. */
struct apart *apart_begin(const struct apart_program *p, struct err *e);
/* Waits for its end, at most that long (-1: for ever); kills it then. Its status as
 * waitpid() has it; -1: nobody knows. */
int apart_wait(struct apart *a, int timeout_ms);
/* Waits for its end, at most that long, and leaves it alone. Has it ended? */
bool apart_ends_within(struct apart *a, int ms);
/* Has it ended? Never waits. */
bool apart_is_over(struct apart *a);
/* Kills it if it still runs, waits for its end, forgets it. NULL is fine. */
void apart_end(struct apart *a);
SCOPED(apart, apart_end);

/* The program `name` in the folder above `guest_dir`, as both the build and an
 * installation have it (`elsewhere`: or at that path from `guest_dir`; may be NULL); the
 * caller frees. NULL and ERR_IO, which says what it is needed for. */
char *apart_find(const char *guest_dir, const char *name, const char *elsewhere,
                 const char *purpose, struct err *e);

/* ---- inside ------------------------------------------------------------------ */

#define APART_GIVEN 4

struct apart_limits {
    unsigned cpu_s;        /* of the processor; 0: none */
    uint64_t memory_bytes; /* that it may write to (RLIMIT_DATA) */
    uint64_t file_bytes;   /* that it may write to a file */
};

/* The first thing that the program does: limits; no new privileges, no core, and its end
 * with the process that began it. */
void apart_limit(const struct apart_limits *limits);

/* A system call that stays allowed, if each condition holds that it has. Several rows of
 * one number are alternatives. */
enum apart_test {
    APART_ANY,
    APART_IS,    /* the argument is `value` */
    APART_LACKS, /* the argument has none of the bits of `value` */
};
struct apart_call {
    int number;
    struct {
        enum apart_test test;
        unsigned argument; /* from 0 */
        uint32_t value;
    } when[2];
};
#define APART_CALLS_MAX 64u

/* From now on nothing but these calls, in all threads; all others are EPERM. No file can
 * be opened in any case. false and ERR_IO: the kernel refuses, and the program must not
 * go on. */
bool apart_allow(const struct apart_call *calls, size_t count, struct err *e);
/* The same for programs that begin threads and need too much to be listed: all but what
 * opens, connects, begins programs, or changes what is not their own. */
bool apart_refuse(struct err *e);
