/* evaluation/evaluation.h - the state of one run of code, or of one call without code:
 * its vault, its notices, its client's progress, and the copy that a dry run changes. It
 * belongs to the function that began it, and ends after its last call. Errors are those
 * of place, and ERR_DENIED. Threads: any, unless said otherwise. */
#pragma once
#include "capability/capability.h"

struct dry;
struct session_lease;
struct script;
struct vault;

/* The vault that the caller works in; NULL and ERR_NO_VAULT. */
struct vault *action_vault(const struct action_call *c, struct err *e);

/* Facts about host calls from which advice on a failure is made (evaluating/advice.c). */
struct advice {
    const struct host_call *failed; /* the last call that failed; NULL: none */
    char message[sizeof((struct err *)0)->msg];
    enum err_cause why;
    char identifier[200]; /* of the note that it was about, or "" */
    char option[64];      /* the unknown option, or "" */
    char no_note[200];    /* the note that notes.get returned null for, or "" */
    char command[240];    /* the first command that failed, and how; or "" */
    uint32_t writes[HOST_CALLS_MAX]; /* by row: number of calls that made changes */
    bool written;                    /* any of these */
};

/* Warnings of a run. */
struct notices {
    struct buf rows; /* insides of a JSON array: {rule, severity, message, suggestion?} */
    struct buf messages; /* the same for people, with "; " between them */
};
void notices_init(struct notices *t);
void notices_done(struct notices *t);
#define scoped_notices __attribute__((cleanup(notices_done)))

/* One evaluation, as its host calls see it. */
struct evaluation {
    struct actions *actions;
    const struct caller *who;
    const struct json *allowed; /* allowedAPIs; NULL: no list was given */
    atomic_uint vault;          /* number of the current vault; 0: none yet */
    /* Every call is inside from its check to its end, also while it waits without a
     * thread. A switch to another vault waits until no call is inside, so that no call is
     * checked in one vault and performed in another. */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t empty;
        unsigned calls;
    } inside;
    struct place *here, *places; /* current one; all that it has used */
    struct account *account;
    /* whose threads run slow calls; NULL: the caller's thread does */
    struct script *script;
    pthread_mutex_t lock; /* guards what follows */
    struct arena *arena;
    void *parts[CAPABILITIES_MAX]; /* each capability's state; NULL: none yet */
    struct buf warnings;    /* the linter's, JSON; empty: none (evaluating/check.c) */
    bool await_warned;      /* one of them says where an await is missing */
    struct notices notices; /* of notice_add() */
    struct { /* the linter's explanation of its failure (evaluating/explaining.c) */
        bool known;     /* else not looked for */
        bool null_note; /* notes.get returned null, for `note` if not "" */
        char note[200];
        struct buf suggestion; /* empty: none */
    } explained;
    struct str
        diagnostics; /* JSON, where types were only checked (evaluating/checking.c) */
    struct dry *dry; /* NULL: not a dry run (dry_new()) */
    bool python;     /* what the code is written in; else JavaScript or TypeScript */
    struct advice advice;
    struct {
        double done, total; /* as the code reported it */
        double calls;       /* host calls since the beginning */
    } progress;
    struct {
        unsigned waiting;
        uint64_t since_ns, waited_ns;
    } human_waits; /* waits for a user's decision: not counted as time */
    const struct session_lease *lease; /* NULL: no session */
    bool trace;
    uint32_t features; /* of its run (struct script_request) */
    /* Fired when the answers of calls are not needed any more: a call that blocks longer
     * than a moment (network, guest) checks it or is stopped by it. */
    struct cancel stopping;
    atomic_uint_least64_t deadline_ns; /* deadline of the calls that run now */
    atomic_uint retries;               /* of host calls that were busy */
    bool by_requests;      /* a script: it calls routes, not rows of the table */
    struct cancel *cancel; /* of its calls: the caller's, or `stopping` */
    uint64_t until_ns;     /* deadline, os_mono_ns(), without waits for users; 0: none */

    struct buf repeat_hint; /* a hint to make the code a function; empty: none */
    bool cached;            /* answered from the cache */
    atomic_bool unsteady;   /* it called a row that is not steady */

    /* A result that was kept aside (results/results.h); 0 and "": none. */
    size_t result_bytes;
    char resource[80];
};

void evaluation_init(struct evaluation *v, const struct action_call *c);
void evaluation_done(struct evaluation *v);
/* A capability's state of it; NULL at first. capability.end frees it. */
void **evaluation_part(struct evaluation *v, const struct capability *c);
/* The vault that the code works in now, as vaults.switch sets it; NULL and ERR_NO_VAULT.
 * Threads: safe. */
struct vault *evaluation_vault(struct evaluation *v, struct err *e);
/* A call begins, and ends, in the current vault. Threads: any. */
void evaluation_enter(struct evaluation *v);
void evaluation_leave(struct evaluation *v);
/* Switches to another vault, for all calls that begin from now on and for the caller's
 * later ones. From within a call. false and *e: nothing changed. */
bool evaluation_go(struct evaluation *v, unsigned vault, struct err *e);
/* The same from outside of a call, and without effect on the caller's later calls. */
bool evaluation_visit(struct evaluation *v, unsigned vault, struct err *e);
/* Whether this evaluation may call it in the current vault. false and ERR_DENIED. */
bool evaluation_allows(const struct evaluation *v, const struct host_call *c,
                       struct err *e);
/* a line of the console */
void evaluation_log(void *v, const char *level, struct str message);
/* Progress: a host call was made, or the code reported it. Threads: safe. */
void evaluation_count_call(struct evaluation *v, const char *call);
void evaluation_report_progress(struct evaluation *v, double done, double total,
                                struct str message);
/* Begins or ends a wait for a user's decision: its time does not count, and it occupies
 * the thread if there is one. false and ERR_BUSY: too many wait so. Threads: safe, as is
 * evaluation_human_wait_ns(). */
bool evaluation_begin_wait(struct evaluation *v, bool thread, struct err *e);
void evaluation_end_wait(struct evaluation *v, bool thread);
uint64_t evaluation_human_wait_ns(void *v); /* ns of such waits until now */

/* Sets the deadline of the calls that run now. */
void evaluation_set_deadline(void *v, uint64_t ns);
/* The copies of a dry run; makes none yet. The evaluation frees it. */
struct dry *dry_new(void);
void dry_free(struct dry *d); /* NULL is fine; no call of its evaluation may be running */
/* The copy of the vault of this number; NULL: unchanged. */
struct vault *dry_vault(struct dry *d, unsigned number);
/* Replaces the vault of this number by one with its types and these notes (an array of
 * what notes.create takes; NULL: the vault's notes). `now_ms`: the time of writes; 0: the
 * current time. Before its first call. false and *e: a note cannot be created, or as
 * vault_copy_make(). */
bool dry_fixture(struct evaluation *v, unsigned number, const struct json *notes,
                 int64_t now_ms, struct err *e);
/* Makes the copy before a call that writes. false and ERR_DENIED (not in a dry run), or
 * as vault_copy_make(). */
bool dry_begin(struct evaluation *v, const struct host_call *c, struct err *e);
/* The folder that a tool may be shown: a copy with all files, or the vault itself if the
 * tool only reads and nothing was written yet. To be freed. NULL and *e. */
char *dry_folder(struct evaluation *v, unsigned number, bool writes, struct err *e);
/* "changes": [{path, action, id?, diff? ...}], "changeCount": the changes of a dry run, pairs of
 * an open object. Without `listed`, only the count and "hidden": the call changes notes
 * that it did not name. */
bool dry_put_changes(struct dry *d, bool listed, struct json_writer *out, struct err *e);

#define NOTICES_MAX ((size_t)8 << 10) /* bytes of one evaluation's notices */

/* Adds a warning: each once, and only as far as there is room. `suggestion` may be empty. */
void notice_put(struct notices *all, const char *rule, struct str message,
                struct str suggestion);
/* The same, to the evaluation's notices. Threads: safe. */
void notice_add(struct evaluation *v, const char *rule, struct str message,
                struct str suggestion);
/* All of these. */
void notice_add_all(struct evaluation *v, const struct notices *all);
