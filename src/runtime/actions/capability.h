/* actions/capability.h - what agents can do, as values that the runtime is made of: it knows
 * none of them by name. Private to actions. */
#pragma once
#include "actions/calls.h"

struct action_group {
    const struct action_row *rows;
    size_t count;
    unsigned order; /* among all groups, as lists show them */
    action_resolve_fn
        *resolve; /* NULL: what a call would change is all that is asked for */
};

struct account_list;
struct check_list;
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

struct custom_code;
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
    const struct custom_code *custom;       /* custom.h; NULL: it has none */
    /* Another number when what it keeps of this vault is another; NULL: it tells nobody. */
    uint64_t (*state)(struct actions *a, unsigned vault);
    /* Appends what a client is told beforehand of what there is in a place, in `most` bytes;
     * `brief`: within a description. NULL: nothing. */
    void (*introduce)(struct actions *a, const struct place *place, size_t most,
                      bool brief, struct buf *out);
    capability_meant_fn *meant; /* NULL: it knows no names */
    /* Puts its rows into the doctor's report, by check_put(); NULL: it has none. */
    void (*doctor)(struct actions *a, struct check_list *l);
};

#define DECLARE_CAPABILITY(name) extern const struct capability name##_capability;
CAPABILITIES(DECLARE_CAPABILITY)

extern const struct capability *const capabilities[];
extern const size_t capability_count;
/* What it has opened: actions.own[]. */
void *capability_own(const struct actions *a, const struct capability *c);
size_t capability_number(const struct capability *c); /* in capabilities[] */
/* capability_meant_fn, of all of them. */
void capability_meant(struct actions *a, const struct place *place, unsigned vault,
                      struct str name, bool action, struct buf *out);
/* The first family of actions, and custom code; NULL: no capability has any. */
const struct action_family *capability_family(void);
const struct custom_code *capability_custom(void);
/* The group that follows after this place in the order, from 0; NULL: there is none. */
const struct action_group *action_group_after(unsigned order);
