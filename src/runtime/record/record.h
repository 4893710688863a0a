/* record/record.h - counters, and the audit record of a call. An account belongs to its
 * call and is ended once; its parts are valid until then. Where memory or room is
 * missing, rows are dropped and the record says how many. Threads: safe but for its
 * beginning and end. */
#pragma once
#include "audit/audit.h"
#include "caller/caller.h"
#include "capability/capability.h"
#include "notes/notes.h"
#include "script/script.h"

struct host_call;

/* All counters in Prometheus' text format (0.0.4). */
bool telemetry_metrics(struct actions *a, struct buf *out, struct err *e);
/* `a` has its rows already. */
struct telemetry *telemetry_new(const struct actions *a);
void telemetry_free(struct telemetry *t);
/* Threads: safe, without a lock. */
void telemetry_tool(struct telemetry *t, size_t action, const struct caller *who,
                    enum err_code outcome, uint64_t ns);
void telemetry_call(struct telemetry *t, uint32_t row, enum err_code outcome,
                    uint64_t ns);

struct call_count {
    atomic_uint done, denied, failed;
};
#define ACCOUNT_STEPS \
    160u /* host calls that are kept in time; further ones are counted */

/* A host call in time. */
struct account_step {
    uint32_t at_us, us; /* from the beginning of the call; how long it took */
    uint16_t row, outcome;
};
struct account_steps {
    size_t count, shortest;
    uint64_t left, left_us; /* those that were left out, and the time they took */
    struct account_step at[ACCOUNT_STEPS];
};

#define ACCOUNT_LISTED 32u /* rows of one list in a record; further ones are counted */
#define ACCOUNT_ID_HEX 25u /* id of a call that makes changes, with its NUL */

/* A list that a capability adds to records; each row is an object. */
struct account_list {
    const char *name, *more; /* "tools"; the number of rows left out: "more_tools" */
    size_t size;             /* of a row */
    bool changes;            /* its rows are changes */
    void (*put)(const void *row, struct json_writer *w); /* pairs of the open object */
};

/* The part of a call in one vault; the vault's record contains nothing else. */
struct account_part {
    struct account *of;
    struct account_part *next;
    struct ward *ward;
    struct vault_author author; /* of what is written through it */
    char digest[17];
    bool keep_code;
    atomic_bool has_calls; /* else `calls` is all zeros */
    struct call_count calls[HOST_CALLS_MAX];
    /* The account's lock guards what follows. */
    char id[ACCOUNT_ID_HEX]; /* "": no intent was recorded */
    bool lasting;            /* the intent is on the disk */
    bool changed;
    int64_t revision;            /* of the history after its last change; 0: none */
    uint32_t asked, allowed;     /* users' decisions, and those that allowed it */
    struct account_steps *steps; /* NULL: no host call yet */
    struct tally notes;          /* names of changed notes and other things */
    struct tally hosts;          /* hosts that it sent requests to */
    struct account_rows {
        const struct account_list *list;
        struct account_rows *next;
        size_t count;                    /* number of rows, stored or not */
        _Alignas(max_align_t) char at[]; /* up to ACCOUNT_LISTED rows */
    } *rows;                             /* of lists that have any */
};

/* The account of one call, until its records are written. */
struct account {
    const struct actions *actions;
    uint64_t begun_ns;
    const char *action; /* the action and its caller, for the record of an intent */
    const struct json *arguments;
    const struct caller *who;
    enum level level;
    enum err_code outcome; /* ERR_NONE: success */
    bool dry;              /* while changes go to a copy */
    bool has_stats;
    struct script_stats stats;
    char code_hash[65];
    pthread_mutex_t lock;
    struct account_part *parts; /* of the vaults that it used, the first one first */
    struct account_part first;
};

/* The three pointers are borrowed until account_end(); `arguments` may be NULL. */
void account_begin(struct account *a, const struct actions *of, const char *action,
                   const struct json *arguments, const struct caller *who);
/* The call works in this place, under its permit's policy; NULL: one that could not be
 * used. From then on an intent is recorded before its first change there (struct
 * permit). */
void account_place(struct account *a, struct place *p, const struct policy *policy);
/* In the functions below a NULL part means that nothing is counted. Threads: safe. */

/* Counts a host call that was performed or refused. */
void account_call(struct account_part *p, uint32_t row, const struct host_call *c,
                  enum err_code outcome, const struct outcome *did);
/* When it was begun, and ended (os_mono_ns()). */
void account_step(struct account_part *p, uint32_t row, enum err_code outcome,
                  uint64_t begun_ns, uint64_t ended_ns);
void account_host(struct account_part *p, const char *host);
/* Copies one more row into a list. */
void account_row(struct account_part *p, const struct account_list *l, const void *row);
/* The same as an effect_fn, of a part. */
void account_effect(void *part, const struct effect *e);
/* Records a successful call that makes changes. */
void account_done(struct account_part *p, const struct host_call *c,
                  const struct outcome *did);
/* Passes what a call removed to the alerts. */
void account_removed(struct account_part *p, const struct outcome *did);
/* Has the call changed something there? It has an intent then, and author.call is its id. */
bool account_has_changed(struct account_part *p);
/* Counts a user's decision. */
void account_decision(struct account_part *p, bool allowed);
void account_script(struct account *a, const struct script_outcome *o);
/* An outcome in records: "success", "Timeout". */
const char *account_word(enum err_code outcome);
/* Of a record that was read from its trail: the pair "timeline" of the open object, {calls: [{call,
 * at, ms, outcome?}], left?, leftMs?}: its host calls by their start, in ms from the
 * beginning of the call; `left`: those that were left out. Nothing where none are kept. */
void account_tell_steps(struct trail *trail, const struct json *record, struct arena *a,
                        struct json_writer *w);
/* Writes the records; on return they survive the end of this process and, if something
 * was changed, a power failure. */
void account_end(struct account *a);
