/* actions/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "actions/actions.h"
#include "engine/engine.h"
#include "notes/notes.h"
#include "script/script.h"
#include "session/session.h"
#include "typescript/typescript.h"
#include "vaults/vaults.h"
#include "vfs/vfs.h"

#define ACTIONS_MAX 256

struct action_call;
struct catalogue;
struct tool;
struct tool_action;
struct tool_stage;
struct tool_outcome;
typedef bool action_fn(const struct action_call *c, struct answer *out, struct err *e);

struct action_row {
    struct action shown;
    action_fn *run;
    const char *needs; /* the host call that a level must allow, or NULL */
    unsigned scope;    /* of SCOPE_*: what a credential must allow besides */
    const char *vault; /* the argument that names its vault; NULL: the caller's own */
    bool seldom;       /* not listed, unless the policy says so: find_tools tells of it */
    bool fits;         /* its answers are never too large: it sees to that itself */
    /* Writes a refusal in the shape of its answers; NULL: it has none for that. */
    void (*refuse)(const struct err *why, struct answer *out);
    const struct action_extra *extra; /* somebody else's; NULL: ours */
};
/* Ours. */
extern const struct action_row action_rows[];
extern const size_t action_count;

struct actions {
    struct vault_set *vaults;
    char *guest_dir;
    struct guard *guard;
    struct telemetry *telemetry;
    _Atomic uint16_t own_port; /* where this program listens; 0: nowhere */
    pthread_mutex_t lock;      /* guards what follows while it is made */
    struct engine *engine;
    struct sessions *sessions;
    struct script *_Atomic script, *_Atomic runner;
    action_request_fn *on_request; /* NULL: there are no routes */
    void *request_arg;
    actions_record_fn *on_record; /* NULL: nobody wants to hear */
    void *record_arg;
    struct lint *_Atomic lint;
    struct typescript *typescript;       /* made when first needed, under the lock */
    char *ahead;                         /* the folder of modules compiled ahead */
    struct cache *cache;                 /* of answers; own lock */
    struct results *results;             /* too large for their answers; own lock */
    struct watching *watching;           /* who tells of changes; own lock */
    struct approvals *approvals;         /* made when first needed, under the lock */
    struct granted *granted;             /* what persons allowed for sessions; own lock */
    struct catalogue *_Atomic catalogue; /* of command-line tools (tooling.h) */
    struct tool_action *tool_actions;    /* made when first called, under the lock */
    size_t tool_action_count;
    /* All actions, ours first: nothing of this changes after the start. */
    size_t count;
    struct action_row rows[ACTIONS_MAX];
    struct action shown[ACTIONS_MAX];
    struct arena *schemas; /* their input schemas, read once */
    const struct json *input[ACTIONS_MAX];
};

/* Made when first needed. */
struct engine *actions_engine(struct actions *a, struct err *e);
/* The JavaScript guest, made when first needed. */
struct script *actions_script(struct actions *a, struct err *e);
/* The same guest where fuel is counted, with host.call alone (run_script.c). */
struct script *actions_runner(struct actions *a, struct err *e);
struct script *make_runner(struct engine *g, const char *guest_dir, struct err *e);
/* The linter, made when first needed; it knows the table of host calls. */
struct lint *actions_lint(struct actions *a, struct err *e);
struct lint *make_lint(struct engine *g, const char *guest_dir, struct err *e);
/* What waits for a person's word, opened when first needed. NULL and *e. */
struct approvals *actions_approvals(struct actions *a, struct err *e);
/* What makes JavaScript of TypeScript. NULL and *e. */
struct typescript *actions_typescript(struct actions *a, struct err *e);

/* ---- the vaults --------------------------------------------------------- */

/* All vaults that can be reached, by numbers from 1 on which never change their
 * meaning. Threads: safe. */
struct vault_set;
struct vault_set *vault_set_open(const struct actions_options *o, struct err *e);
void vault_set_close(struct vault_set *s); /* NULL is fine */
/* What `g` does not grant is as if it were not there; NULL grants all. */

/* The number to begin with; 0 and ERR_NO_VAULT. */
unsigned vault_set_first(struct vault_set *s, const struct grant *g, struct err *e);
/* The same, quickly: 0 where there is none. */
unsigned vault_set_begin(struct vault_set *s, const struct grant *g);
/* Is it one of those that are granted? Also of 0 where all are. */
bool vault_set_reaches(struct vault_set *s, unsigned number, const struct grant *g);
/* The open vault of a number; NULL and why not. It stays open until the end. */
struct vault *vault_set_get(struct vault_set *s, unsigned number, struct err *e);
bool vault_set_is_users(const struct vault_set *s); /* the user's list, all of it? */
/* What vaults.* do; `current` is the caller's number, or 0. */
bool vault_set_current(struct vault_set *s, unsigned current, const struct grant *g,
                       struct json_writer *out, struct err *e);
bool vault_set_list(struct vault_set *s, const struct grant *g, struct json_writer *out,
                    struct err *e);
/* `roots`: where the policy lets code make vaults, besides those of the options. */
unsigned vault_set_create(struct vault_set *s, const struct json *options,
                          const struct policy_names *roots, const struct grant *g,
                          bool *use, struct json_writer *out, struct err *e);
unsigned vault_set_find(struct vault_set *s, struct str id, const struct grant *g,
                        struct err *e);
bool vault_set_update(struct vault_set *s, const struct json *options,
                      const struct grant *g, struct err *e);
bool vault_set_remove(struct vault_set *s, struct str id, const struct grant *g,
                      struct err *e);
/* Another number whenever other vaults can be reached. */
uint64_t vault_set_state(struct vault_set *s);
/* Its folder, to be freed; NULL for 0. */
char *vault_set_path(struct vault_set *s, unsigned number);
unsigned vault_set_count(struct vault_set *s); /* the highest number there is */
/* Its id, copied; "" for 0 and for one that was removed. */
void vault_set_id(struct vault_set *s, unsigned number, char id[static VAULT_ID_MAX + 1]);

/* ---- counters ----------------------------------------------------------- */

struct telemetry;
/* `a` has its rows. */
struct telemetry *telemetry_new(const struct actions *a);
void telemetry_free(struct telemetry *t);
/* Threads: safe, without a lock. */
void telemetry_tool(struct telemetry *t, size_t action, const struct caller *who,
                    enum err_code outcome, uint64_t ns);
void telemetry_call(struct telemetry *t, uint32_t row, enum err_code outcome,
                    uint64_t ns);
/* A run of a command-line tool. */
void telemetry_run(struct actions *a, const struct tool *tool, enum err_code outcome,
                   uint64_t ns);

/* ---- what a call comes to ------------------------------------------------ */

#define HOST_CALLS_MAX 256
struct host_call;
struct call_count {
    atomic_uint done, denied, failed;
};
struct account_ward {
    struct ward *ward;
    char digest[17];
    bool keep_code;
};

/* Of one call, until its record is written. */
struct account {
    const struct actions *actions;
    uint64_t begun_ns;
    enum level level;
    enum err_code outcome; /* ERR_NONE: well */
    bool changed;
    bool has_stats;
    struct script_stats stats;
    char code_hash[65];
    struct account_ward wards[16]; /* of the vaults in which it worked */
    size_t ward_count;
    atomic_bool has_calls; /* else all of `calls` are zeros */
    struct call_count calls[HOST_CALLS_MAX];
    pthread_mutex_t lock; /* guards what follows */
    uint32_t changes;
    uint32_t asked, allowed; /* persons, and how often they said yes */
    size_t note_count, host_count, tool_count, tools_more;
    /* Not cleared before the first: most calls have none. */
    char notes[32][120]; /* that it changed: the first of them */
    struct account_tool {
        char name[65], version[40], digest[13]; /* of its arguments */
        uint32_t exit_code;
        enum err_code outcome;
        double ms;
    } tools[32];         /* that ran: the first of them */
    char hosts[32][120]; /* that it asked for something */
};
void account_begin(struct account *a, const struct actions *of);
/* It works there, under this policy; NULL: one that could not be used. */
void account_ward(struct account *a, struct ward *w, const struct policy *p);
/* A host call was performed, or refused. Threads: safe, as is account_host(). */
void account_call(struct account *a, uint32_t row, const struct host_call *c,
                  enum err_code outcome, struct str answer);
void account_host(struct account *a, const char *host);
/* A command-line tool has run (`o`; NULL: it was refused). Threads: safe. */
void account_tool(struct account *a, const struct tool_stage *stage,
                  const struct tool_outcome *o, enum err_code outcome);
/* Something was changed, and this says what. Threads: safe. */
void account_change(struct account *a, struct str answer);
void account_script(struct account *a, const struct script_outcome *o);
/* A person was asked, and said yes or did not. Threads: safe. */
void account_asked(struct account *a, bool allowed);
/* Writes the records; when it returns they outlast this process and, where something was
 * changed, a power failure. */
void account_end(struct account *a, const char *action, const struct json *arguments,
                 const struct caller *who);

/* ---- where a call works ------------------------------------------------- */

/* A vault, or none, and what the call may do there. */
struct place {
    unsigned vault; /* its number; 0: none */
    struct ward *ward;
    struct permit permit;
    struct place *next; /* the evaluation's other ones */
};
/* The vault that the caller went to last; 0: none, or it is not his any more. */
unsigned place_last(struct actions *a, const struct caller *who);
/* The first half of place_open(), and the second, whose failure still knows the ward.
 * ERR_NO_VAULT: the caller is not granted that vault. */
bool place_find(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, struct err *e);
bool place_permit(struct place *p, const struct caller *who, const struct json *allowed,
                  struct err *e);
/* false and *e: as guard_ward() and permit_open(); nothing is to be closed then. */
bool place_open(struct place *p, struct actions *a, unsigned vault,
                const struct caller *who, const struct json *allowed, struct err *e);
void place_close(struct place *p);

/* ---- the actions -------------------------------------------------------- */

struct action_call {
    struct actions *actions;
    const struct action_row *row;
    const struct json *arguments; /* checked against the schema */
    const struct caller *who;
    struct place *place; /* where it begins, and what it may do there */
    struct account *account;
    struct arena *arena; /* of this call */
};
/* The vault that the caller works in; NULL and ERR_NO_VAULT. */
struct vault *action_vault(const struct action_call *c, struct err *e);
action_fn action_evaluate, action_run_script;
void action_evaluate_refused(const struct err *why, struct answer *out);
action_fn action_get_note, action_search_notes, action_create_note, action_update_note;
action_fn action_rename_note;
/* false and ERR_DENIED: the policy wants code without errors, and this has one; or it
 * could not be checked. `from`: what q->code was made from, or NULL. */
bool check_passes(const struct action_call *c, const struct script_request *q,
                  const struct script_origin *from, struct err *e);
/* What the linter warns of in code that was run, as a JSON array; nothing where there is
 * nothing to warn of, or nobody who would: the policy says off, or the linter was not
 * loaded (a server loads it when it starts). */
void check_warns(const struct action_call *c, const struct script_request *q,
                 const struct script_origin *from, struct buf *out);
action_fn action_check_code;
action_fn action_search_api, action_describe_api, action_read_result;
action_fn action_close_session;
action_fn action_wasm, action_run_tool, action_find_tools; /* tool_actions.c */

/* The content_hash that a note was read with last, by any of its names; empty: never.
 * Threads: safe. */
struct str seen_hash(struct evaluation *v, struct str name);

/* ---- calls without code ------------------------------------------------- */

/* Whose it is: its own, or the script's. */
struct evaluation *work_evaluation(const struct work *w);

/* ---- sessions ----------------------------------------------------------- */

/* The session of one evaluation; all zero where it asked for none. */
struct kept {
    struct session *session;
    char *vault; /* a part of its owner's name */
    bool is_new, kept;
    struct err why; /* not kept */
    uint64_t bytes;
};
/* Takes the session that the arguments name, if any, and tells the request. */
bool kept_begin(struct kept *k, const struct action_call *c, struct script_request *q,
                struct err *e);
/* The code did not run at all: *e in words about the session. Answers false. */
bool kept_refuse(struct kept *k, const struct script_outcome *o, struct err *e);
/* Keeps what the evaluation left. */
void kept_end(struct kept *k, const struct script_outcome *o);
/* Its part of the answer, a pair of the open object. */
void kept_write(const struct kept *k, struct json_writer *w);
void kept_done(struct kept *k);

/* ---- persons ------------------------------------------------------------ */

/* Asks a person, where the policy wants that, before `call` is made with these arguments
 * (an object, or an array of them). `again`: what this is part of can be run again from
 * its beginning. `stop`: as in struct client. false and ERR_DENIED (no; or nobody could
 * be asked), ERR_INPUT where it is to be run again, or as client_ask(). */
bool confirm_call(const struct permit *p, const char *call, const struct json *arguments,
                  const char *vault, bool again, const struct cancel *stop,
                  struct account *account, struct err *e);

/* ---- what its client sees of an evaluation ------------------------------- */

struct evaluation;
void evaluation_wrote(void *v, const char *level, struct str message); /* console */
/* A host call was made; the code said itself how far it is. Threads: safe. */
void evaluation_went_on(struct evaluation *v, const char *call);
void evaluation_said(struct evaluation *v, double done, double total, struct str message);
/* A person is waited for, or no more: the time does not count, and the thread does not.
 * false and ERR_BUSY: too many wait so. Threads: safe, as is evaluation_stood(). */
bool evaluation_awaits(struct evaluation *v, struct err *e);
void evaluation_awaited(struct evaluation *v);
uint64_t evaluation_stood(void *v); /* ns that persons took so far */

/* ---- the host calls ----------------------------------------------------- */

/* Bits of script_row.feature: what an evaluation has only where it asked for it. */
#define FEATURE_NETWORK 1u /* enableNetwork */
#define FEATURE_FILES 2u   /* enableFileSystem */

/* What host calls leave behind for the words of a failure (advice.c). */
struct advice {
    const struct host_call *failed; /* the last one; NULL: none has */
    char message[sizeof((struct err *)0)->msg];
    char identifier[200];            /* of the note that it was about, or "" */
    char option[64];                 /* that it does not take, or "" */
    char no_note[200];               /* for which notes.get answered null, or "" */
    uint32_t writes[HOST_CALLS_MAX]; /* by row: how often it has changed something */
    bool written;                    /* has any? */
};

/* One evaluation, as its host calls see it. */
struct evaluation {
    struct actions *actions;
    const struct caller *who;
    const struct json *allowed; /* allowedAPIs; NULL: no list was given */
    atomic_uint vault;          /* the number of the one it works in; 0: none yet */
    /* Held for reading by every call from its check to its end, for writing by who goes
     * to another vault: no call is checked against one vault and done in another. */
    pthread_rwlock_t moving;
    struct place *here, *places; /* where it works now; all that it went to */
    struct account *account;
    struct script *script; /* whose threads make its slow calls; NULL: its own does */
    pthread_mutex_t lock;  /* guards what follows */
    struct arena *arena;
    struct seen *seen;
    struct buf warnings;       /* JSON; empty: none (check.c) */
    struct network *networks;  /* ways out that were used (calls_fetch.c) */
    struct vfs *files;         /* what fs.* shows; NULL: not asked for yet (calls_fs.c) */
    struct place *files_place; /* whose mounts are in it */
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
    atomic_uint retries;   /* of host calls that were busy */
    bool by_requests;      /* a script: what it calls are routes, not rows of the table */
    struct cancel *cancel; /* of what its calls do: the caller's, or `stopping` */
    uint64_t until_ns; /* os_mono_ns() at which it ends, persons' time not counted; 0 */

    bool cached;          /* answered from the cache */
    atomic_bool unsteady; /* it called a row that is not steady */

    /* Of a result that was put aside (results.h); 0 and "": none was. */
    size_t result_bytes;
    char resource[80];
};

/* The vault that the code works in now, which vaults.switch changes; NULL and
 * ERR_NO_VAULT. Threads: safe. */
struct vault *actions_vault(struct evaluation *v, struct err *e);

/* The same, for a call that writes: the history then names the caller. The caller of
 * this ends it with vault_close(). */
struct vault *writing_vault(struct evaluation *v, struct err *e);

/* Notes the version (id, content_hash, path) in what a call has just answered: the text
 * behind `from` in `out`. `asked`: what the code called the note. Best effort: without
 * it the code is asked for a hash. Threads: safe. */
void seen_note(struct evaluation *v, struct str asked, const struct buf *out,
               size_t from);
/* The same for a note that the code has just made: it may go on to change it. */
void seen_made(struct evaluation *v, struct vault *vault, const struct buf *out,
               size_t from);
/* The answer of a change of the hierarchy: the parent's new hash is known, too. */
void seen_relisted(struct evaluation *v, const struct buf *out, size_t from);
/* The options as they came, with what the code may leave out: the identifier, and the
 * hash that was read last of the note `name`. */
const struct json *seen_complete(struct evaluation *v, const struct json *o,
                                 struct str name, struct arena *a, struct err *e);

typedef bool host_call_fn(struct evaluation *v, const struct json *args,
                          struct json_writer *out, struct err *e);

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
    /* Its answer depends on its arguments and the notes of the vault alone: `cache: true`
     * may give an evaluation of such calls the same answer again. */
    bool steady;
    bool
        asks; /* asks for permission by itself, for what it is given; here it is allowed */

    /* What api.describe and the reference pages tell besides; NULL: nothing. */
    const char *details; /* defaults, limits, what is not obvious */
    const char *errors;  /* "NotFound: no such note. Conflict: it changed." */
    const char *example; /* JavaScript that works as it stands, or with an id of yours */
    const char *words;   /* synonyms for api.search, and names that agents guess */
};

/* The rows of one namespace, each group in its file calls_<namespace>.c. */
struct host_call_group {
    const struct host_call *rows;
    size_t count;
};
extern const struct host_call_group api_calls;
extern const struct host_call_group fetch_calls;
extern const struct host_call_group fs_calls;
extern const struct host_call_group hierarchy_calls;
extern const struct host_call_group links_calls;
extern const struct host_call_group relationships_calls;
extern const struct host_call_group note_types_calls;
extern const struct host_call_group notes_calls;
extern const struct host_call_group search_calls;
extern const struct host_call_group tools_calls;
extern const struct host_call_group utils_calls;
extern const struct host_call_group vaults_calls;
extern const struct host_call_group writing_calls;

/* All rows, as script knows them by their number. */
const struct host_call *const *host_calls(size_t *count);

#define CALL_ARGS_MAX ((size_t)256 << 20) /* working memory of one call's arguments */
/* The first argument, which must be an object such as {type, title}; NULL and
 * ERR_INVALID. */
const struct json *call_options(const struct json *args, const char *call, struct err *e);

void evaluation_init(struct evaluation *v, const struct action_call *c);
void evaluation_done(struct evaluation *v);
script_perform_fn host_perform;
/* Performs one call. What is busy has done nothing yet: it is asked again a few times,
 * for two seconds at most, since its caller could only do the same. */
bool call_patiently(struct evaluation *v, const struct host_call *c,
                    const struct json *args, struct buf *out, struct err *e);

/* Goes to another vault, for all calls that begin from now on, and for the caller's
 * later ones. From within a call. false and *e: it stays. */
bool evaluation_go(struct evaluation *v, unsigned vault, struct err *e);
/* The same from outside of a call, and not for the caller's later ones. */
bool evaluation_visit(struct evaluation *v, unsigned vault, struct err *e);
/* May this evaluation call it, where it works now? false and ERR_DENIED. */
bool evaluation_allows(const struct evaluation *v, const struct host_call *c,
                       struct err *e);
/* May code there be given fetch at all? false and ERR_DENIED, with what a person can do. */
bool network_check(const struct place *place, struct err *e);
/* May the place have files at all? false and ERR_DENIED. */
bool files_check(const struct place *place, struct err *e);
void network_close(struct evaluation *v);
/* The row of this name; NULL: there is none. */
const struct host_call *host_call_named(const char *name);
/* Its number in the table, where it must be. */
uint32_t host_call_number(const char *name);
