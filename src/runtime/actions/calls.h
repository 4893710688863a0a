/* actions/calls.h - evaluations, and the table of what their code may call. Private to
 * actions. */
#pragma once
#include "actions/capabilities.h"
#include "actions/consent.h"
#include "actions/internal.h"
#include "effect/effect.h"

/* ---- the host calls ----------------------------------------------------- */

/* Bits of script_row.feature: what an evaluation has only where it asked for it. */
#define FEATURE_NETWORK 1u
#define FEATURE_FILES 2u
#define FEATURES 2u
struct feature {
    uint32_t bit;
    const char *option;          /* of an evaluation: "enableNetwork" */
    const char *missing;         /* a sentence where code lacks its global */
    const char *const *programs; /* of a shell that do the same, up to a NULL; or NULL */
    const char *world; /* declarations of what comes with it besides the rows, or NULL */
    bool (*check)(const struct place *p, struct err *e); /* may code there have it? */
};

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

struct capability;
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
    struct buf told;             /* insides of a JSON array of warnings (unknown.h) */
    struct {                     /* its failure, by the linter (explaining.c) */
        bool known;              /* else nobody has looked */
        bool null_note;          /* notes.get answered null there, for `note` if not "" */
        char note[200];
        struct buf suggestion; /* empty: none */
    } explained;
    struct str diagnostics; /* JSON, where types were only checked (checking.c) */
    struct dry *dry;        /* NULL: what it does is done (dry.h) */
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

/* What a capability keeps of it; at first NULL. It ends with capability.end. */
void **evaluation_part(struct evaluation *v, const struct capability *c);

/* The vault that the code works in now, which vaults.switch changes; NULL and
 * ERR_NO_VAULT. Threads: safe. */
struct vault *actions_vault(struct evaluation *v, struct err *e);

/* The same for a call that reads, and ends with its caller or with the evaluation. The
 * caller of this ends it with vault_close(). NULL and ERR_NO_VAULT. Threads: safe. */
struct vault *read_vault(struct calling *x, struct err *e);

/* The same for a call that writes or matches patterns: the history then names the caller,
 * patterns end with the call, and it is reviewed where a person was asked for it
 * (preview.h). The caller of this ends it with vault_close(). */
struct vault *own_vault(struct calling *x, struct err *e);

/* The content_hash that a note was read with last, by any of its names; empty: never.
 * Threads: safe. */
struct str seen_hash(struct evaluation *v, struct str name);
/* The call is done: the versions that its answer tells are known from now on, by what the
 * code called the note, too. `made`: also of notes that it has made. Best effort: without it
 * the code is asked for a hash. Threads: safe. */
void seen_note(struct calling *x, bool made);
/* The same of a change of the hierarchy: the parent's new hash. */
void seen_relisted(struct calling *x);
/* The options as they came, with what the code may leave out: the identifier, and the
 * hash that was read last of the note `name`. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e);

struct host_call;
/* One host call on its way. Those that may wait begin it by a function of their own, which
 * calls calling_wait() and returns, and go on in `again`, on another thread. */
struct calling {
    struct evaluation *v;
    const struct host_call *c;
    struct script_task *task; /* NULL: it has to answer when its function returns */
    const struct json *args;  /* until its end */
    void *state;              /* of its functions */

    /* calling.c's own. */
    uint32_t row;
    struct str asked;   /* its arguments as they came, until its end */
    struct place *here; /* where it was permitted */
    struct arena *arena;
    struct outcome outcome; /* what it did */
    uint64_t begun_ns, until_ns, patient_ns;
    unsigned attempt;
    struct err busy;           /* of the last attempt */
    struct consent consent;    /* a person's, that it waits for */
    struct preview *preview;   /* what he was shown; NULL: nothing */
    struct resolved *resolved; /* the vault that it names (resolve.h); NULL: none */
    bool (*again)(struct calling *x, struct buf *out, struct err *e);
    bool (*then)(struct calling *x, struct buf *out, struct err *e);
    enum script_wait_kind kind;
    bool waits, inside, kept;
    bool within; /* code of a custom function makes it */
    bool made;   /* else it was not permitted */
};
/* Does what x->args ask for, and appends its answer. */
typedef bool host_call_fn(struct calling *x, struct json_writer *out, struct err *e);
typedef bool calling_fn(struct calling *x, struct buf *out, struct err *e);
/* As script_wait(). `x` may be another when `again` is called; what wakes it knows its
 * task. Not where there is no task. */
void calling_wait(struct calling *x, calling_fn *again, enum script_wait_kind kind,
                  uint64_t until_ns);
/* Does nobody want its answer any more? Then `again` has to end it. */
bool calling_over(const struct calling *x);
/* For whoever asks a person before anything is done; the call is made anew when the word
 * is there. NULL: it has to block. */
struct consent *calling_consent(struct calling *x);
/* Fired then. One call alone registers with it. */
struct cancel *calling_cancel(struct calling *x);
/* It needs nothing of the vault any more: others may go to another one while it waits. */
void calling_leave_vault(struct calling *x);

/* What somebody may do with notes, whichever way: who may make the call that carries it. */
enum right {
    RIGHT_NONE,
    RIGHT_READ_NOTES,
    RIGHT_READ_TYPES,
    RIGHT_LIST_NOTES,
    RIGHT_CREATE_NOTES,
    RIGHT_CHANGE_NOTES,
    RIGHT_DELETE_NOTES,
    RIGHT_MOVE_NOTES
};

/* Of a row: the first member; so rows are laid out like lines of text. */
#define CALL(...) .row = {__VA_ARGS__}
#define TABLE(rows) rows, LENGTH(rows) /* of a group: its first members */
/* A row of the one table from which the namespaces in code, what agents read and
 * the names of permissions come. */
struct host_call {
    struct script_row row;
    /* Valid TypeScript behind the name, "(noteId: string): Promise<Note | null>";
     * further lines are further overloads. Types that it names stand in api_types.c. */
    const char *signature;
    const char *summary; /* one line: what it does */
    host_call_fn *call;  /* NULL: it is code of the guest's own */
    enum level level;    /* the least trusted level that may call it */
    const char *alias;   /* what lists of a policy may call it besides; NULL */
    /* A list's or search's options name types, tags and keys of notes; FILTER_OR_TYPE: a text
     * in their place is a type. */
    enum { FILTER_NONE, FILTER_OPTIONS, FILTER_OR_TYPE } filter;
    struct {
        size_t usual;     /* without a limit; 0: nobody is told */
        const char *most; /* that may be asked for */
    } rows;               /* of a list's or search's answer */
    enum right right;     /* that other ways to the same ask for; RIGHT_NONE */
    bool inner;           /* serves what another file tells of: not told of itself */
    /* Its answer depends on its arguments and the notes of the vault alone: `cache: true`
     * may give an evaluation of such calls the same answer again. */
    bool steady;
    bool reads; /* it is called for its answer alone */
    /* All that it writes is a change of own_vault(), and so can be told before it is made. */
    bool reviewed;
    bool never_dry;   /* what it does cannot be tried: refused in a dry run */
    bool names_vault; /* it changes what the list of vaults says of the one it names */
    bool outward;     /* it leads out of the vault: not for custom functions */
    bool asks;        /* for permission by itself, for what it is given */
    /* Tells the account what was asked for where it was not allowed; NULL: its name will do. */
    void (*refused)(struct evaluation *v, const struct json *args, struct arena *arena,
                    enum err_code outcome);

    /* In the place of `call` where there is a task, for it may wait without a thread; or
     * NULL. */
    calling_fn *begin;

    /* What api.describe and the reference pages tell besides; NULL: nothing. */
    const char *details; /* defaults, limits, what is not obvious */
    const char *errors;  /* "NotFound: no such note. Conflict: it changed." */
    const char *example; /* JavaScript that works as it stands, or with an id of yours */
    const char *words;   /* synonyms for api.search, and names that agents guess */
};

#define STEADY_QUESTION .steady = true, .reads = true

/* What the arguments of a call name, before a person is asked, and after. */
typedef bool host_call_resolve_fn(struct evaluation *v, const struct json *args,
                                  struct resolved *out, struct err *e);

/* The rows of one namespace, each group in its file calls_<namespace>.c. */
struct host_call_group {
    const struct host_call *rows;
    size_t count;
    unsigned order;                     /* among all groups, as lists show them */
    bool in_history, scopeless, always; /* as struct permit_need has them */
    bool names_notes;                   /* who is not found is a note */
    const char *subject; /* a word for what they are about, of whoever asks; NULL: none */
    host_call_resolve_fn *resolve; /* of rows with names_vault */
    /* There are names NAMESPACE.x besides the rows, called as the first row is: may there be
     * this x? NULL: there are none. */
    bool (*family)(struct str x);
    /* What api.describe tells of a name that is a family, or one of it: an object. */
    bool (*describes)(struct str name);
    bool (*describe)(struct actions *a, const struct place *place, struct str name,
                     struct json_writer *out, struct err *e);
    bool (*is_installed)(const struct actions_parts *p); /* NULL: always */
    const struct feature *feature;                       /* of all its rows; NULL: none */
    /* Code has the namespace as an interface of this name, whose rows have each a twin
     * NAMESync, which answers at once; NULL: it has not. */
    const char *interface;
    const char *const *members; /* of it besides the rows, up to a NULL; or NULL */
    /* Tells the linter which names of the family there are, a pair of the open object. */
    void (*put_names)(const struct action_call *c, struct json_writer *w);
    /* Appends members of the declaration that are no rows; NULL: there are none. */
    void (*declare)(struct buf *out);
};
/* Of capabilities whose groups stand in several sources. */
extern const struct host_call_group notes_calls, writing_calls, search_calls,
    note_types_calls, links_calls, hierarchy_calls, relationships_calls;
extern const struct host_call_group tools_calls, utils_calls, vm_calls, functions_calls;

const struct host_call_group *const *host_call_groups(size_t *count);
/* The feature of this bit. */
const struct feature *feature_of(uint32_t bit);
/* The features that the options of an evaluation ask for. */
uint32_t features_asked(const struct json *options);

/* All rows, as script knows them by their number. */
const struct host_call *const *host_calls(size_t *count);
const struct script_row *host_call_rows(size_t *count); /* of the same, in their order */
/* Those that agents are told of: the first ones. */
const struct host_call *const *host_calls_told(size_t *count);

#define CALL_ARGS_MAX ((size_t)256 << 20) /* working memory of one call's arguments */
/* The first argument, which must be an object such as {type, title}; NULL and
 * ERR_INVALID. */
const struct json *call_options(const struct json *args, const char *call, struct err *e);

void evaluation_init(struct evaluation *v, const struct action_call *c);
void evaluation_done(struct evaluation *v);
script_perform_fn host_perform;
/* The same as one that its caller has begun: x->v, task and within are set. Without a task it
 * has ended when this returns, and x->outcome tells how. */
bool calling_perform(struct calling *x, uint32_t row, struct str args, struct buf *out,
                     struct err *e);
/* Performs one call. What is busy has done nothing yet: it is asked again a few times,
 * for two seconds at most, since its caller could only do the same. */
bool call_patiently(struct calling *x, struct buf *out, struct err *e);

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
/* The row of this name; NULL: there is none. */
const struct host_call *host_call_named(const char *name);
/* The one row that carries a right. */
const struct host_call *host_call_of_right(enum right r);
/* Is it the name of a row where there are others besides, which so cannot be called it? */
bool host_call_is_family(struct str x);
const struct host_call_group *host_call_group_of(const struct host_call *c);
/* The namespace of a row, "notes". */
struct str api_namespace(const struct host_call *c);
struct permit_need host_call_need(const struct host_call *c);
/* May who has this permit do so? false and ERR_DENIED. */
bool right_permitted(const struct permit *p, enum right r, struct err *e);
/* Its number in the table, where it must be. */
uint32_t host_call_number(const char *name);

/* ---- calls without code ------------------------------------------------- */

/* Whose it is: its own, or the script's. */
struct evaluation *work_evaluation(const struct work *w);

/* ---- what its client sees of an evaluation ------------------------------- */

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
bool evaluation_is_due(void *v);
