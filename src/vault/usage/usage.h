/* usage/usage.h - how custom functions are used: counted for each version, told with
 * figures, and what the figures suggest; and code that comes again and could be one.
 *
 * Kept in `.cloche/functions-usage.db` of the vault, a database of its own because it may
 * be lost: it is written without waiting for the disk, and neither damage nor a crowd of
 * writers there reaches the functions' versions, which must last. Bounded in every
 * direction; of arguments and results nothing is kept, of errors their kind. Knows neither
 * definitions nor who may call.
 * Source: seed 001, "Success Metrics"; docs/functions.md.
 * Threads: safe, except open and close. Any number of processes share a vault.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

struct usage; /* of one vault */

/* Opens the use of the vault in the open folder `vault`, which may be closed. Reads nothing
 * yet. */
struct usage *usage_open(int vault);
/* Writes what still waits, which takes at most some seconds. NULL is fine. */
void usage_close(struct usage *u);
SCOPED(usage, usage_close);

/* ---- noting --------------------------------------------------------------- */

/* A function as this room knows it. Borrowed for the call. */
struct usage_function {
    struct str id, name, code;
    uint32_t version;
    int64_t made_ms;  /* when it was registered; 0: not known */
    uint64_t counted; /* calls that its file knows of */
};

/* An evaluation's use of a function. A guest's figures are taken as they come. */
struct usage_use {
    const struct usage_function *of;
    uint32_t calls, failed;
    const struct usage_failure { /* by error.name; what is no name counts as "other" */
        struct str kind;
        uint32_t count;
    } *failures;
    size_t failure_count;
    double ms;              /* of all calls together */
    const double *times_ms; /* of each, or of the first of them */
    size_t time_count;
    uint32_t each;     /* calls that each of these stands for; 0 is 1 */
    double load_ms;    /* until it could be called; 0: not known */
    uint32_t in_a_row; /* most host calls that were awaited one after the other */
    bool shared;       /* it is a library's */
};
struct usage_evaluation {
    struct str caller, session; /* of its client; empty: it has none */
    int64_t at_ms;
    const struct usage_use *uses; /* none: it called no function */
    size_t use_count;
    bool is_trial; /* told among the runs of the functions, and counted nowhere else */
};
/* Noted in memory and written soon, by a thread of its own: never waits and cannot fail.
 * Where nothing can be written (a read-only vault), or more than 4,096 uses wait, nothing
 * is kept; what a killed process has noted in its last moments is lost. */
void usage_note(struct usage *u, const struct usage_evaluation *v);

/* How an attempt to register or change a function ended; ms: what checking it took. */
enum usage_trial {
    USAGE_KEPT,
    USAGE_INVALID,  /* its definition or its code */
    USAGE_MISTYPED, /* its types */
    USAGE_UNPROVEN, /* its examples failed */
};
#define USAGE_TRIALS 4
void usage_tried(struct usage *u, enum usage_trial how, double ms);

/* ---- telling -------------------------------------------------------------- */

/* How often each function was called and when last, as of now, what this process has
 * noted included. Where nothing is known nothing is in it; never NULL. */
struct usage_counts;
struct usage_count {
    uint64_t calls;
    int64_t last_ms; /* 0: never */
};
struct usage_counts *usage_count_all(struct usage *u);
void usage_counts_free(struct usage_counts *c); /* NULL is fine */
SCOPED(usage_counts, usage_counts_free);
struct usage_count usage_count_of(const struct usage_counts *c, struct str id);

/* Durations are told from buckets: at most this part off. */
#define USAGE_ERROR 0.1

/* Appends an object: what is known of `all` functions of the vault, the most called hundred
 * of them, with totals, the seed's metrics and suggestions; docs/functions.md has its
 * fields. false and ERR_LIMIT. */
bool usage_stats(struct usage *u, const struct usage_function *all, size_t count,
                 struct json_writer *out, struct err *e);
/* The same of one function, with its versions and last runs. */
bool usage_stats_of(struct usage *u, const struct usage_function *one,
                    struct json_writer *out, struct err *e);

/* ---- code that comes again ------------------------------------------------ */

/* Remembers, in memory and bounded, the form of code that ran in a conversation: the third
 * time that code, or a function in it, has one form whatever its names and literals,
 * appends a sentence that it could be a custom function, once. Threads: safe. */
struct repeats;
#define REPEATS_CODE_MAX ((size_t)64 << 10) /* longer code is not looked at */
struct repeats *repeats_new(void);
void repeats_free(struct repeats *r); /* NULL is fine */
bool repeats_look(struct repeats *r, struct str conversation, struct str code,
                  struct buf *hint);
