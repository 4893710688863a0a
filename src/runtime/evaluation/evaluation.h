/* evaluation/evaluation.h - one run of code, or a call without code, as its host calls
 * see it: where it works, what it has been told, what its client hears, and the copy that
 * a dry run changes. It belongs to whoever began it, and ends after its last call.
 * Failures are those of place, and ERR_DENIED. Threads: any, where not said otherwise. */
#pragma once
#include "capability/capability.h"
#include "effect/effect.h"

struct dry;
struct kept;
struct script;
struct vault;

/* The vault that the caller works in; NULL and ERR_NO_VAULT. */
struct vault *action_vault(const struct action_call *c, struct err *e);

/* What host calls leave behind for the words of a failure (advice.c). */
struct advice {
    const struct host_call *failed; /* the last one; NULL: none has */
    char message[sizeof((struct err *)0)->msg];
    enum refusal why;
    char identifier[200];            /* of the note that it was about, or "" */
    char option[64];                 /* that it does not take, or "" */
    char no_note[200];               /* for which notes.get answered null, or "" */
    char command[240];               /* of the first command that failed, how; or "" */
    uint32_t writes[HOST_CALLS_MAX]; /* by row: how often it has changed something */
    bool written;                    /* has any? */
};

/* One evaluation, as its host calls see it. */
struct evaluation {
    struct actions *actions;
    const struct caller *who;
    const struct json *allowed; /* allowedAPIs; NULL: no list was given */
    atomic_uint vault;          /* the number of the one it works in; 0: none yet */
    /* Every call is inside from its check to its end, also while it waits without a
     * thread; who goes to another vault waits until none is: no call is checked against
     * one vault and done in another. */
    struct {
        pthread_mutex_t lock;
        pthread_cond_t empty;
        unsigned calls;
    } inside;
    struct place *here, *places; /* where it works now; all that it went to */
    struct account *account;
    struct script *script; /* whose threads make its slow calls; NULL: its own does */
    pthread_mutex_t lock;  /* guards what follows */
    struct arena *arena;
    void *
        parts[CAPABILITIES_MAX]; /* what each capability keeps of it; NULL: nothing yet */
    struct buf warnings;         /* JSON; empty: none (check.c) */
    struct buf told;             /* insides of a JSON array of warnings (told_add()) */
    struct {                     /* its failure, by the linter (explaining.c) */
        bool known;              /* else nobody has looked */
        bool null_note;          /* notes.get answered null there, for `note` if not "" */
        char note[200];
        struct buf suggestion; /* empty: none */
    } explained;
    struct str diagnostics; /* JSON, where types were only checked (checking.c) */
    struct dry *dry;        /* NULL: what it does is done (dry_new()) */
    struct advice advice;
    struct {
        double done, total; /* what the code said of it */
        double calls;       /* and the host calls since the beginning */
    } far;
    struct {
        unsigned waiting;
        uint64_t since_ns, waited_ns;
    } persons;               /* that were asked: their time does not count */
    const struct kept *kept; /* NULL: no session */
    bool trace;
    /* Fired when nobody wants the answers of the calls any more: whatever waits for more
     * than a moment (a network, a guest) looks at it, or has itself stopped by it. */
    struct cancel stopping;
    atomic_uint_least64_t due_ns; /* when calls that are performed now have to end */
    atomic_uint retries;          /* of host calls that were busy */
    bool by_requests;      /* a script: what it calls are routes, not rows of the table */
    struct cancel *cancel; /* of what its calls do: the caller's, or `stopping` */
    uint64_t until_ns; /* os_mono_ns() at which it ends, persons' time not counted; 0 */

    struct buf again;     /* a hint: this code could be a function; empty: none */
    bool cached;          /* answered from the cache */
    atomic_bool unsteady; /* it called a row that is not steady */

    /* Of a result that was put aside (results.h); 0 and "": none was. */
    size_t result_bytes;
    char resource[80];
};

void evaluation_init(struct evaluation *v, const struct action_call *c);
void evaluation_done(struct evaluation *v);
/* What a capability keeps of it; at first NULL. It ends with capability.end. */
void **evaluation_part(struct evaluation *v, const struct capability *c);
/* The vault that the code works in now, which vaults.switch changes; NULL and
 * ERR_NO_VAULT. Threads: safe. */
struct vault *actions_vault(struct evaluation *v, struct err *e);
/* A call begins, and ends, in the vault where the code works now. Threads: any. */
void evaluation_enter(struct evaluation *v);
void evaluation_leave(struct evaluation *v);
/* Goes to another vault, for all calls that begin from now on, and for the caller's
 * later ones. From within a call. false and *e: it stays. */
bool evaluation_go(struct evaluation *v, unsigned vault, struct err *e);
/* The same from outside of a call, and not for the caller's later ones. */
bool evaluation_visit(struct evaluation *v, unsigned vault, struct err *e);
/* May this evaluation call it, where it works now? false and ERR_DENIED. */
bool evaluation_allows(const struct evaluation *v, const struct host_call *c,
                       struct err *e);
void evaluation_wrote(void *v, const char *level, struct str message); /* console */
/* A host call was made; the code said itself how far it is. Threads: safe. */
void evaluation_went_on(struct evaluation *v, const char *call);
void evaluation_said(struct evaluation *v, double done, double total, struct str message);
/* A person is waited for, or no more: the time does not count, nor the thread, if there is
 * one. false and ERR_BUSY: too many wait so. Threads: safe, as is evaluation_stood(). */
bool evaluation_awaits(struct evaluation *v, bool thread, struct err *e);
void evaluation_awaited(struct evaluation *v, bool thread);
uint64_t evaluation_stood(void *v); /* ns that persons took so far */

/* When calls that are performed now come to an end, and whether that is past. */
void evaluation_due(void *v, uint64_t ns);
struct dry *dry_new(void);
void dry_free(struct dry *d); /* NULL is fine; no call of its evaluation may be running */
/* The copy of the vault of this number; NULL: it is as it was. */
struct vault *dry_vault(struct dry *d, unsigned number);
/* Instead of the vault of this number: one with its types and these notes (an array of what
 * notes.create takes; NULL: as the vault is). `now_ms`: the time in what is written; 0: as
 * it is. Before its first call. false and *e: a note cannot be made, or as
 * vault_copy_make(). */
bool dry_fixture(struct evaluation *v, unsigned number, const struct json *notes,
                 int64_t now_ms, struct err *e);
/* Before this call is made: a copy, where it writes. false and ERR_DENIED (not in a dry
 * run), or as vault_copy_make(). */
bool dry_begin(struct evaluation *v, const struct host_call *c, struct err *e);
/* The folder that a tool may be shown: a copy with all files in it, or, where it only reads
 * and nothing was written yet, the vault's own. To be freed. NULL and *e. */
char *dry_folder(struct evaluation *v, unsigned number, bool writes, struct err *e);
/* "changes": [{path, action, id? ...}], "changeCount": what would have been changed, as
 * pairs of an open object. Without the list, and "hidden", where it may not be `told`:
 * notes change that the call did not name. */
bool dry_put_changes(struct dry *d, bool told, struct json_writer *out, struct err *e);

#define TOLD_MAX ((size_t)8 << 10) /* bytes of what one evaluation is told */

/* Appends {rule, severity: "warning", message, suggestion?} to `all`, the inside of a JSON
 * array: each once, and only as far as there is room. `suggestion` may be empty. */
void told_put(struct buf *all, const char *rule, struct str message,
              struct str suggestion);
/* The same of a run: to v->told. Threads: safe. */
void told_add(struct evaluation *v, const char *rule, struct str message,
              struct str suggestion);
/* Such as told_put() has made. */
void told_rows(struct evaluation *v, struct str rows);
