/* record/record.h - what is counted, and what is recorded of a call. An account belongs
 * to its call, and is ended once; its parts are good until then. Counting fails silently
 * where there is no room, and says how much is missing. Threads: safe but for its
 * beginning and end. */
#pragma once
#include "audit/audit.h"
#include "caller/caller.h"
#include "capability/capability.h"
#include "notes/notes.h"
#include "script/script.h"

struct host_call;

/* All counters in Prometheus' text format (0.0.4). */
bool actions_metrics(struct actions *a, struct buf *out, struct err *e);
/* `a` has its rows. */
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
#define ACCOUNT_LISTED 32u /* rows of one kind that a record tells; the rest is counted */
#define ACCOUNT_ID_HEX 25u /* of a call that changes something, with its NUL */

/* A list that a capability adds to records, each row an object. */
struct account_list {
    const char *name, *more; /* "tools"; how many there were besides: "more_tools" */
    size_t size;             /* of a row */
    bool changes;            /* what it tells of are changes */
    void (*put)(const void *row, struct json_writer *w); /* pairs of the open object */
};

/* What a call did in one vault: of that, and of nothing else, the vault's record tells. */
struct account_part {
    struct account *of;
    struct account_part *next;
    struct ward *ward;
    struct vault_author author; /* of what is written through it */
    char digest[17];
    bool keep_code;
    atomic_bool has_calls; /* else all of `calls` are zeros */
    struct call_count calls[HOST_CALLS_MAX];
    /* The account's lock guards what follows. */
    char id[ACCOUNT_ID_HEX]; /* "": it has not said that it will change anything */
    bool lasting;            /* that it said so outlasts a power failure */
    bool changed;
    int64_t revision; /* the history's last, when it had made its last change; 0: none */
    uint32_t asked, allowed; /* persons, and how often they said yes */
    struct tally notes;      /* and other things that it changed */
    struct tally hosts;      /* that it asked for something */
    struct account_rows {
        const struct account_list *list;
        struct account_rows *next;
        size_t count;                    /* all there were */
        _Alignas(max_align_t) char at[]; /* ACCOUNT_LISTED rows */
    } *rows;                             /* of the lists that have any */
};

/* Of one call, until its records are written. */
struct account {
    const struct actions *actions;
    uint64_t begun_ns;
    const char
        *action; /* what is called, and by whom: for what is said before a change */
    const struct json *arguments;
    const struct caller *who;
    enum level level;
    enum err_code outcome; /* ERR_NONE: well */
    bool dry;              /* while what is done is done to a copy */
    bool has_stats;
    struct script_stats stats;
    char code_hash[65];
    pthread_mutex_t lock;
    struct account_part
        *parts; /* of the vaults in which it worked, the first one first */
    struct account_part first;
};

/* The three are borrowed until account_end(); `arguments` may be NULL. */
void account_begin(struct account *a, const struct actions *of, const char *action,
                   const struct json *arguments, const struct caller *who);
/* It works in this place, under its permit's policy; NULL: one that could not be used.
 * From then on what is changed there is announced first (struct permit). */
void account_place(struct account *a, struct place *p, const struct policy *policy);
/* In all that follow a part of NULL is nobody's: nothing is counted. Threads: safe. */

/* A host call was performed, or refused. */
void account_call(struct account_part *p, uint32_t row, const struct host_call *c,
                  enum err_code outcome, const struct outcome *did);
void account_host(struct account_part *p, const char *host);
/* One more row of a list, which is copied. */
void account_row(struct account_part *p, const struct account_list *l, const void *row);
/* The same as an effect_fn, of a part. */
void account_effect(void *part, const struct effect *e);
/* A call that changes something has ended well. */
void account_done(struct account_part *p, const struct host_call *c,
                  const struct outcome *did);
/* The alerts hear of what a call has removed. */
void account_removed(struct account_part *p, const struct outcome *did);
/* A person was asked, and said yes or did not. */
void account_asked(struct account_part *p, bool allowed);
void account_script(struct account *a, const struct script_outcome *o);
/* As records tell it: "success", "Timeout". */
const char *account_word(enum err_code outcome);
/* Writes the records; when it returns they outlast this process and, where something was
 * changed, a power failure. */
void account_end(struct account *a);
