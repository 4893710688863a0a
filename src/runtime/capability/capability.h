/* capability/capability.h - the types that capabilities are declared with. The runtime
 * knows no capability by name: capability_list[] is defined by the room above them all.
 *
 * An action takes one JSON object and returns one, as its schemas say. Rows and
 * capabilities are constants; the state that a capability opens belongs to the actions
 * and is closed with them. Threads: safe; a call runs on its caller's thread from start
 * to end. */
#pragma once
#include "caller/caller.h"
#include "capability/action.h"
#include "guard/guard.h"

struct account;
struct account_list;
struct actions;
struct cache;
struct calling;
struct check_list;
struct custom_code;
struct evaluation;
struct granted;
struct host_call_group;
struct outcome;
struct place;
struct resolved;
struct results;
struct route_group;
struct services;
struct telemetry;
struct tool_runner;
struct vault_review;
struct vault_set;
struct watching;

#define ACTIONS_MAX 256
#define HOST_CALLS_MAX 256 /* rows of the table */
#define CAPABILITIES_MAX 16u

struct action_call;
typedef bool action_fn(const struct action_call *c, struct answer *out, struct err *e);
/* Resolves what the arguments of a call name, before a user is asked. */
typedef bool action_resolve_fn(const struct action_call *c, struct resolved *out,
                               struct err *e);

#define SHOWN(...) .shown = {__VA_ARGS__} /* the first member of a row */
struct action_row {
    struct action shown;
    action_fn *run;
    const char *needs; /* the host call that the caller's level must allow, or NULL */
    /* A permission that is not a host call's, checked in the same way; NULL: none. */
    const char *permission;
    enum level least; /* the least trusted level that may call it */
    /* The permission that a user confirms, where that is not always `needs`. */
    struct permit_need (*confirmed)(const struct action_call *c, struct permit_need need);
    action_resolve_fn *resolve; /* of its group */
    bool writes;
    unsigned scope;      /* SCOPE_*: what a credential must allow besides */
    const char *vault;   /* the argument that names the vault; NULL: the caller's vault */
    const char *checked; /* the schema of the arguments; NULL: the one that is shown */
    bool seldom;         /* found by find_tools; listed only if the policy says so */
    bool finds;          /* it searches the others: listed only where some are not */
    bool unchecked;      /* it checks its arguments itself */
    bool fits;           /* its answers never exceed the limit: it sees to that itself */
    /* Shortens an answer that is too large; NULL: shorten(). */
    bool (*shorten)(struct str json, size_t most, struct buf *out, struct err *e);
    /* Writes a refusal in the shape of its answers; NULL: they have none for it. */
    void (*refuse)(const struct err *why, struct answer *out);
    /* Records the arguments of a call that was refused. NULL: its name is enough. */
    void (*refused)(const struct action_call *c, enum err_code outcome);
    /* The name of the action that the call is for, which is called instead with the
     * member `arguments`; NULL: always itself. */
    struct str (*stands_for)(const struct json *arguments);
    /* Its description for this caller, made from `text`; NULL: `text`. */
    void (*describe)(struct actions *a, const struct caller *who, const char *text,
                     struct buf *out);
    /* The object whose members its code sees as variables; NULL: `context`. */
    const struct json *(*variables)(const struct action_call *c);
    /* The text of its description before which stands what all parts tell; NULL: none. */
    const char *parts_before;
    /* arguments of the doctor's trial call; one action has them; NULL */
    const char *trial;
    /* the action among whose calls its own are counted; NULL: itself */
    const char *counted_as;
    const struct action_extra *extra; /* an added one; NULL: ours */
};

struct actions {
    struct vault_set *vaults;
    struct services *services; /* its patterns serve the vaults, too */
    struct guard *guard;
    const char *const *mounts; /* of the one who started it; up to a NULL. NULL: none */
    struct telemetry *telemetry;
    atomic_bool serves;          /* a server: some work is done in the background */
    void *own[CAPABILITIES_MAX]; /* each capability's state */
    _Atomic uint16_t own_port;   /* the port this program listens on; 0: none */
    struct once sessions;
    action_request_fn *on_request; /* NULL: there are no routes */
    void *request_arg;
    actions_record_fn *on_record; /* NULL: no subscriber */
    void *record_arg;
    struct granted *granted;   /* programs/programs.h; own lock */
    struct cache *cache;       /* of evaluations' answers; has its own lock */
    struct results *results;   /* that are too large for answers; has its own lock */
    struct watching *watching; /* for changes; has its own lock */
    /* All actions, ours first; constant after the start. */
    size_t count;
    struct action_row rows[ACTIONS_MAX];
    struct action shown[ACTIONS_MAX];
    struct arena *schemas; /* their input schemas, parsed once */
    const struct json *input[ACTIONS_MAX];
};

struct action_call {
    struct actions *actions;
    const struct action_row *row;
    const struct json *arguments; /* checked against the schema */
    const struct caller *who;
    struct place *place; /* where the call begins, and its permit there */
    struct account *account;
    struct arena *arena;         /* of this call */
    struct vault_review *review; /* of its changes; NULL: none (permits/permits.h) */
    struct outcome *outcome;     /* its effects */
    struct ask_edit *edit;       /* for a person who is asked (permits/permits.h) */
};

struct action_group {
    const struct action_row *rows;
    size_t count;
    unsigned order;             /* position among all groups in lists */
    action_resolve_fn *resolve; /* NULL: only the call's changes are confirmed */
};

void check_put(struct check_list *l, const char *name, bool ok, const char *detail);
/* Lists of a capability, up to a NULL. */
#define CALLS(...) ((const struct host_call_group *const[]){__VA_ARGS__, NULL})
#define ACTIONS(...) ((const struct action_group *const[]){__VA_ARGS__, NULL})
#define ROUTES(...) ((const struct route_group *const[]){__VA_ARGS__, NULL})
#define POLICIES(...) ((const struct policy_group *const[]){__VA_ARGS__, NULL})
#define RECORDS(...) ((const struct account_list *const[]){__VA_ARGS__, NULL})

/* A name that was called, and is none. */
struct capability_name {
    struct str text;
    bool action; /* as an action; else it was to be a command-line tool */
    /* All capabilities are asked by each way in turn, until one knows. */
    enum { MEANT_EXACTLY, MEANT_OTHERWISE, MEANT_NEARLY, MEANT_WAYS } how;
};
/* Appends what does what the name stands for, "ripgrep does that": exactly of this name in
 * the place (NULL: in none), by another word for it, or nearest; nothing where it knows of
 * nothing. */
typedef void capability_meant_fn(struct actions *a, const struct place *place,
                                 unsigned vault, const struct capability_name *name,
                                 struct buf *out);

/* Which actions clients find in their list: those of `listed`; besides, those that are not
 * seldom used, which find the others; or all. */
struct action_exposure {
    enum exposure { EXPOSE_SEARCH, EXPOSE_LISTED, EXPOSE_ALL } which;
    struct policy_names listed;
};

/* Actions that are created while the program runs. Threads: safe. */
struct action_family {
    const char *prefix; /* of all their names */
    /* The action of this name, the same until actions_close(); NULL: none. */
    const struct action *(*named)(struct actions *a, struct str name);
    const struct action_row *(*row)(struct actions *a, const struct action *which);
    /* Calls `fn` for those that the policy shows in this vault, ordered by name, behind
     * the one named `after` (empty: from the first), until it returns false. */
    void (*show)(struct actions *a, unsigned vault, const struct policy *p,
                 struct str after, action_shown_fn *fn, void *arg, struct err *e);
    uint64_t (*version)(struct actions *a); /* changes when the list does */
    struct action_exposure (*exposure)(const struct policy *p); /* of all actions */
};

/* An optional part, built apart from the program ('make tools'). Where it is not
 * installed its actions are not offered. */
struct capability_part {
    bool (*is_installed)(struct actions *a);
    /* What descriptions of actions (action_row.parts_before) and the instructions to clients
     * say of it; NULL: nothing. */
    const char *tells, *instructs;
    const char *name, *how; /* "Linux machine", and how to install it */
};

struct capability {
    const struct host_call_group *const *calls; /* up to a NULL; or NULL */
    const struct action_group *const *actions;  /* the same */
    const struct route_group *const *routes;    /* of REST; the same */
    const struct account_list *const *records;  /* lists in audit records; the same */
    const struct policy_group *const *policies; /* whose values it reads; the same */
    /* The capability's state for all calls, actions.own[]; NULL: none. */
    void *(*open)(struct actions *a);
    void (*close)(void *own);
    void (*metrics)(struct actions *a, struct buf *out); /* NULL: it has no counters */
    void (*end)(struct evaluation *v);      /* NULL: it keeps nothing in an evaluation */
    void (*noted)(const struct calling *x); /* called after each host call; NULL */
    const struct action_family *family;     /* NULL: all its actions are rows */
    const struct custom_code *custom;       /* evaluating/evaluating.h; NULL: none */
    /* A number that changes when what it stores of this vault changes; NULL: never. */
    uint64_t (*state)(struct actions *a, unsigned vault);
    /* Appends its section of a client's instructions about a place, in `most` bytes;
     * `brief`: for a description. NULL: none. */
    void (*introduce)(struct actions *a, const struct place *place, size_t most,
                      bool brief, struct buf *out);
    capability_meant_fn *meant;         /* NULL: it resolves no names */
    const struct capability_part *part; /* the part that it needs; NULL: none */
    /* How the policy stands to the use `at` (0, 1 ...) of what has a permission of its own,
     * besides tools; false: there are no further ones. NULL: it has none. */
    bool (*use)(const struct policy *p, size_t at, struct permit_use *out);
    /* Runs tools that are commands of machines (programs/programs.h); NULL: it runs none. */
    const struct tool_runner *tool_runner;
    /* Adds its rows to the doctor's report by check_put(); NULL: none. */
    void (*doctor)(struct actions *a, struct check_list *l);
};

extern const struct capability *const capability_list[];
extern const size_t capability_count;
/* The capability's state, actions.own[]. */
void *capability_own(const struct actions *a, const struct capability *c);
size_t capability_number(const struct capability *c); /* in capability_list[] */
/* The first that a capability knows. */
void capability_meant(struct actions *a, const struct place *place, unsigned vault,
                      struct str name, bool action, struct buf *out);
/* The first family of actions, and the first custom code; NULL: no capability has any. */
const struct action_family *capability_family(void);
const struct custom_code *capability_custom(void);
/* The first that runs commands of machines; NULL: none does. */
const struct tool_runner *capability_tool_runner(void);
/* The next group at or after position `order`, from 0; NULL: none. */
const struct action_group *action_group_after(unsigned order);
