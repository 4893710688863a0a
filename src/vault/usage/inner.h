/* usage/inner.h - what the files of this room share: durations, what waits to be written,
 * the tables and what is read from them. Private to usage. */
#pragma once
#include "db/db.h"
#include "usage/usage.h"

/* ---- durations ---------------------------------------------------------- */

/* Buckets whose bounds grow by the fourth root of two, from 1 us to an hour. */
#define USAGE_BUCKETS 130u

uint32_t usage_bucket(double ms);
double usage_bucket_ms(uint32_t bucket); /* its middle */
/* The duration that `share` of them (0.95) stay within; 0 where there are none. */
double usage_quantile(const uint64_t counts[static USAGE_BUCKETS], double share);

/* ---- what waits to be written ------------------------------------------- */

#define USAGE_ID 64u   /* bytes, with their NUL: of a function's id */
#define USAGE_KIND 40u /* of an error's kind */
#define USAGE_CALLER 64u
#define USAGE_KINDS_AT_ONCE 8u

enum deed_kind { DEED_USE, DEED_SESSION, DEED_TRIAL, DEED_RUN /* a use on trial */ };
struct deed {
    struct deed *next;
    enum deed_kind what;
    int64_t at_ms;
    /* Members of an evaluation's row: */
    int64_t session; /* 0: none */
    /* Members of a use: */
    int64_t made_ms; /* when the function was registered */
    char id[USAGE_ID], caller[USAGE_CALLER];
    uint32_t version, lines, calls, failed, in_a_row;
    double ms, load_ms;
    struct {
        char kind[USAGE_KIND];
        uint32_t count;
    } kinds[USAGE_KINDS_AT_ONCE];
    uint32_t times[USAGE_BUCKETS];
    /* Members of a trial: */
    enum usage_trial trial;
};

/* ---- the tables (store.c) ----------------------------------------- */

/* Bounds of what is kept. */
#define USAGE_RUNS 20u        /* of a function: its last evaluations, and trials */
#define USAGE_VERSIONS 50u    /* of a function, by themselves; older ones as version 0 */
#define USAGE_KINDS 16u       /* of errors of a version; the others as "other" */
#define USAGE_DAYS 92u        /* for which calls are counted by day, and sessions kept */
#define USAGE_SESSIONS 20000u /* the last ones */
#define USAGE_FUNCTIONS 5000u /* the last used ones, deleted ones among them */
#define USAGE_WAIT_MS 2000u   /* for another process that writes */
#define USAGE_OTHER "other"

/* Opens the tables beneath `.cloche` of the vault's open folder: for writing (made where they are not
 * there), or for reading (ERR_NOT_FOUND: there are none; `frozen`: as they are now, and to
 * be closed soon). NULL and *e. */
struct db *usage_open_writer(int vault, struct err *e);
struct db *usage_open_reader(int vault, bool *frozen, struct err *e);
/* Removes them: they are no tables of ours. */
bool usage_discard(int vault);
/* The file's inode now; 0: it is not there. */
uint64_t usage_inode(int vault);
/* Writes all of them in one transaction. */
bool usage_write(struct db *d, const struct deed *first, struct err *e);
/* Drops what is beyond the bounds above; in a transaction of its own. */
bool usage_prune(struct db *d, int64_t now_ms, struct err *e);

/* ---- what is read (read.c) ---------------------------------------- */

struct usage_kind {
    char kind[USAGE_KIND];
    uint64_t count;
    int64_t last_ms;
};
/* Figures of a version, or of all of a function's together (then `version` is 0). */
struct usage_figures {
    uint32_t version, lines, in_a_row;
    uint64_t calls, failed, evaluations, loads;
    double ms, load_ms;
    int64_t first_ms, last_ms;
    uint64_t times[USAGE_BUCKETS];
    struct usage_kind kinds[USAGE_KINDS + 1]; /* the commonest first */
    size_t kind_count;
};
struct usage_run {
    int64_t at_ms;
    uint32_t version, calls, failed;
    double ms;
    bool trial;
    char kind[USAGE_KIND], caller[USAGE_CALLER];
};
struct usage_day { /* on which it was called */
    int64_t day;   /* since 1970 */
    uint64_t calls, failed;
};
struct usage_detail {
    struct usage_figures all;
    struct usage_figures *versions; /* the newest first; in the arena */
    size_t version_count;
    struct usage_run runs[2 * USAGE_RUNS]; /* the last first; trials as many again */
    size_t run_count;
    struct usage_day days[USAGE_DAYS + 1]; /* the first first */
    size_t day_count;
    uint64_t month_calls, month_failed; /* of the last 30 days */
};
/* `versions`: how many of them by themselves; with USAGE_VERSIONS also the runs and days. */
bool usage_detail(struct db *d, struct str id, int64_t now_ms, size_t versions,
                  struct arena *a, struct usage_detail *out, struct err *e);

/* Totals of the vault. */
struct usage_totals {
    uint64_t calls, failed, evaluations; /* of all time */
    double ms, load_ms;
    uint64_t loads;
    uint64_t month_calls, month_failed;
    struct usage_day days[USAGE_DAYS + 1]; /* the first first */
    size_t day_count;
    uint64_t month_sessions, month_reusing, month_lines; /* lines that were not written */
    uint64_t trials[USAGE_TRIALS], month_trials[USAGE_TRIALS];
    double trial_ms;  /* of those that were kept, together */
    int64_t since_ms; /* the first of all; 0: nothing yet */
    uint64_t times[USAGE_BUCKETS];
    uint64_t bytes; /* of the database */
};
bool usage_totals(struct db *d, int64_t now_ms, struct usage_totals *out, struct err *e);

#define USAGE_DAY_MS 86400000LL
#define USAGE_MONTH_MS (30 * USAGE_DAY_MS)

/* ---- what is told ------------------------------------------------------- */

/* A function with its figures. */
struct usage_subject {
    const struct usage_function *fn;
    const struct usage_detail *used;
};
/* Appends what the figures suggest to an open array: at most `most` of them (advice.c). */
void usage_advise(const struct usage_subject *of, size_t count, int64_t now_ms,
                  size_t most, struct json_writer *w);
/* The file of functions: its size, and what reading it takes. */
struct usage_file {
    uint64_t bytes;
    double ms;
};
void usage_weigh(int vault, struct usage_file *out);
/* The pairs of "metrics": the seed's, by their names (metrics.c). */
void usage_metrics(const struct usage_totals *t, const struct usage_subject *of,
                   size_t count, const struct usage_file *file, int64_t now_ms,
                   struct json_writer *w);

/* ---- reading (queue.c) --------------------------------------------------- */

/* To read from, with all in it that this process has noted, where that does not take
 * long; NULL: nothing can be read. Ended by usage_end_read() in both cases. */
struct db *usage_begin_read(struct usage *u);
void usage_end_read(struct usage *u);
int usage_vault(const struct usage *u); /* its folder */
