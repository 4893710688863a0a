/* capability/capability.h - what agents can do, as values that the runtime is made of. It
 * knows none of them by name: capability_list[] is defined by the room above all of them.
 *
 * An action takes one JSON object and answers with one; its schemas say which. Rows and
 * capabilities are constants; what a capability has opened belongs to the actions, and is
 * closed with them. Threads: safe; each call runs on its caller's thread from start to
 * end. */
#pragma once
#include "caller/caller.h"
#include "guard/guard.h"

struct account;
struct account_list;
struct actions;
struct cache;
struct calling;
struct check_list;
struct custom_code;
struct evaluation;
struct host_call_group;
struct outcome;
struct place;
struct resolved;
struct results;
struct services;
struct telemetry;
struct vault_review;
struct vault_set;
struct watching;

struct action {
    const char *name;         /* "evaluate_note_code" */
    const char *title;        /* for people */
    const char *description;  /* for agents; at most 1,024 bytes: OpenAI takes no more */
    const char *input_schema; /* JSON text, an object schema at its root */
    const char *output_schema;
    bool read_only, destructive, idempotent, open_world; /* hints for hosts */
};

/* What came of a call. The JSON object is there in both cases when the action ran;
 * `is_error`: it did not do what was asked. */
struct answer {
    struct buf json;    /* the caller inits it with a ceiling, and ends it */
    struct buf content; /* MCP content blocks, an array, instead of its text; or empty */
    bool is_error;
    enum err_code outcome; /* ERR_NONE: it went well */
    bool text_alone; /* over MCP it is told as text, not as structured content too */
    /* Bytes of JSON beyond which the caller is told a part; 0: it takes any. Of such a
     * part `whole` is what actions_resource() has all by: "" where that is not kept (16
     * MiB), or nothing was cut. */
    size_t most;
    char whole[80];
    size_t whole_bytes; /* 0: nothing was cut */
};

/* An action of somebody else's: of who embeds this, or of a test. Checked against its
 * schema, permitted, counted and recorded like the others. Threads: several at once. */
struct action_extra {
    struct action shown;
    bool (*run)(void *arg, const struct json *arguments, const struct caller *who,
                struct answer *out, struct err *e);
    void *arg;
};

/* Is told of an action that is shown, which it borrows. false: enough, or *e. */
typedef bool action_shown_fn(void *arg, const struct action *shown, struct err *e);

/* What host.call of run_script asks for: one of the routes of REST. */
struct action_request {
    struct str method, path; /* the path with its query, as the code gave them */
    struct str body;         /* JSON, mostly; empty: none */
    /* The script's; work_begin() with it is a part of its call: its rights, its record,
     * what it has read. */
    const struct caller *who;
};
struct action_reply {
    int status;      /* of HTTP */
    bool is_json;    /* the body is; else it is text */
    struct buf body; /* empty: none; who asks inits and ends it */
    struct buf next; /* the path of the next page of a list; likewise */
};

/* Answers a request, also one that is refused. false and *e: no answer, which reads as
 * that kind of failure. Threads: several at once. */
typedef bool action_request_fn(void *arg, const struct action_request *rq,
                               struct action_reply *out, struct err *e);

typedef void actions_record_fn(void *arg, const char *record);
#define ACTIONS_MAX 256
#define HOST_CALLS_MAX 256 /* rows of the table */
#define CAPABILITIES_MAX 16u

struct action_call;
typedef bool action_fn(const struct action_call *c, struct answer *out, struct err *e);
/* What a call names, before a person is asked. */
typedef bool action_resolve_fn(const struct action_call *c, struct resolved *out,
                               struct err *e);

#define SHOWN(...) .shown = {__VA_ARGS__} /* the first member of a row */
struct action_row {
    struct action shown;
    action_fn *run;
    const char *needs; /* the host call that a level must allow, or NULL */
    /* Or a permission of no host call, asked for in the same way; NULL: none. */
    const char *permission;
    enum level least; /* the least trusted level that has it */
    /* Which permission a person is asked for, where that is not always `needs`. */
    struct permit_need (*confirmed)(const struct action_call *c, struct permit_need need);
    action_resolve_fn *resolve; /* of its group */
    bool writes;
    unsigned scope;      /* of SCOPE_*: what a credential must allow besides */
    const char *vault;   /* the argument that names its vault; NULL: the caller's own */
    const char *checked; /* what its arguments are held against; NULL: what is shown */
    bool seldom;    /* not listed, unless the policy says so: find_tools tells of it */
    bool finds;     /* of use only where not all that there is is listed */
    bool unchecked; /* it looks at its arguments itself */
    bool fits;      /* its answers are never too large: it sees to that itself */
    /* Appends an answer that is too large in part; NULL: shorten(). */
    bool (*shorten)(struct str json, size_t most, struct buf *out, struct err *e);
    /* Writes a refusal in the shape of its answers; NULL: it has none for that. */
    void (*refuse)(const struct err *why, struct answer *out);
    /* It failed before it began: tells the record what was asked for. NULL: its name does. */
    void (*refused)(const struct action_call *c, enum err_code outcome);
    /* The name of another action that its call may be meant for, which then is called with
     * the member `arguments`; NULL: it is itself. */
    struct str (*stands_for)(const struct json *arguments);
    /* Its description for this caller, made of `text`; NULL: as it is. */
    void (*describe)(struct actions *a, const struct caller *who, const char *text,
                     struct buf *out);
    /* An object whose members code of it finds as variables; NULL: `context` is that. */
    const struct json *(*variables)(const struct action_call *c);
    const char *trial; /* arguments that the doctor calls it with, of one alone; NULL */
    const char *counted_as; /* the action whose calls its own are counted among; NULL */
    const struct action_extra *extra; /* somebody else's; NULL: ours */
};

struct actions {
    struct vault_set *vaults;
    struct services *services; /* its patterns are the vaults', too */
    struct guard *guard;
    struct telemetry *telemetry;
    atomic_bool serves;          /* it lives long: some work is done in the background */
    void *own[CAPABILITIES_MAX]; /* what each capability has opened */
    _Atomic uint16_t own_port;   /* where this program listens; 0: nowhere */
    struct once sessions;
    action_request_fn *on_request; /* NULL: there are no routes */
    void *request_arg;
    actions_record_fn *on_record; /* NULL: nobody wants to hear */
    void *record_arg;
    struct cache *cache;       /* of answers; own lock */
    struct results *results;   /* too large for their answers; own lock */
    struct watching *watching; /* who tells of changes; own lock */
    /* All actions, ours first: nothing of this changes after the start. */
    size_t count;
    struct action_row rows[ACTIONS_MAX];
    struct action shown[ACTIONS_MAX];
    struct arena *schemas; /* their input schemas, read once */
    const struct json *input[ACTIONS_MAX];
};

struct action_call {
    struct actions *actions;
    const struct action_row *row;
    const struct json *arguments; /* checked against the schema */
    const struct caller *who;
    struct place *place; /* where it begins, and what it may do there */
    struct account *account;
    struct arena *arena;         /* of this call */
    struct vault_review *review; /* of what it changes; NULL: none (permits.h) */
    struct outcome *outcome;     /* what it did */
};

struct action_group {
    const struct action_row *rows;
    size_t count;
    unsigned order; /* among all groups, as lists show them */
    action_resolve_fn
        *resolve; /* NULL: what a call would change is all that is asked for */
};

void check_put(struct check_list *l, const char *name, bool ok, const char *detail);
/* Lists of a capability, up to a NULL. */
#define CALLS(...) ((const struct host_call_group *const[]){__VA_ARGS__, NULL})
#define ACTIONS(...) ((const struct action_group *const[]){__VA_ARGS__, NULL})
#define RECORDS(...) ((const struct account_list *const[]){__VA_ARGS__, NULL})

/* Appends what does what `name` stands for, "ripgrep does that"; nothing where nobody knows.
 * `action`: it was called as an action, and may be a command-line tool or a custom function
 * of the place (NULL: of none); else it was to be a command-line tool. */
typedef void capability_meant_fn(struct actions *a, const struct place *place,
                                 unsigned vault, struct str name, bool action,
                                 struct buf *out);

/* Actions that are made while the program runs. Threads: safe. */
struct action_family {
    const char *prefix; /* of all their names */
    /* The one of this name, the same until actions_close(); NULL: there is none. */
    const struct action *(*named)(struct actions *a, struct str name);
    const struct action_row *(*row)(struct actions *a, const struct action *which);
    /* Calls `fn` for those that the policy shows in this vault, ordered by name, behind the
     * one named `after` (empty: for all), until it answers false. */
    void (*show)(struct actions *a, unsigned vault, const struct policy *p,
                 struct str after, action_shown_fn *fn, void *arg, struct err *e);
    uint64_t (*version)(struct actions *a); /* another number when there are others */
};

/* What is built apart from the program ('make tools'). Where it is not there it is offered to
 * nobody. */
struct capability_part {
    bool (*is_installed)(struct actions *a);
    const char *tells;      /* what the description of evaluate_note_code says of it */
    const char *name, *how; /* "Linux machine", and how a person adds it */
};

struct capability {
    const struct host_call_group *const *calls; /* up to a NULL; or NULL */
    const struct action_group *const *actions;  /* the same */
    const struct account_list *const *records;  /* of the audit's records; the same */
    /* What is its own of all calls, actions.own[]; NULL: nothing is. */
    void *(*open)(struct actions *a);
    void (*close)(void *own);
    void (*metrics)(struct actions *a, struct buf *out); /* NULL: it counts nothing */
    void (*end)(struct evaluation *v); /* NULL: nothing of an evaluation is its own */
    void (*noted)(const struct calling *x); /* after each host call; NULL */
    const struct action_family *family;     /* NULL: all its actions are rows */
    const struct custom_code *custom;       /* evaluating.h; NULL: it has none */
    /* Another number when what it keeps of this vault is another; NULL: it tells nobody. */
    uint64_t (*state)(struct actions *a, unsigned vault);
    /* Appends what a client is told beforehand of what there is in a place, in `most` bytes;
     * `brief`: within a description. NULL: nothing. */
    void (*introduce)(struct actions *a, const struct place *place, size_t most,
                      bool brief, struct buf *out);
    capability_meant_fn *meant;         /* NULL: it knows no names */
    const struct capability_part *part; /* that it needs; NULL: none */
    /* Puts its rows into the doctor's report, by check_put(); NULL: it has none. */
    void (*doctor)(struct actions *a, struct check_list *l);
};

extern const struct capability *const capability_list[];
extern const size_t capability_count;
/* What it has opened: actions.own[]. */
void *capability_own(const struct actions *a, const struct capability *c);
size_t capability_number(const struct capability *c); /* in capability_list[] */
/* capability_meant_fn, of all of them. */
void capability_meant(struct actions *a, const struct place *place, unsigned vault,
                      struct str name, bool action, struct buf *out);
/* The first family of actions, and custom code; NULL: no capability has any. */
const struct action_family *capability_family(void);
const struct custom_code *capability_custom(void);
/* The group that follows after this place in the order, from 0; NULL: there is none. */
const struct action_group *action_group_after(unsigned order);
