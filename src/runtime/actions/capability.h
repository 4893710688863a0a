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

struct capability {
    const struct host_call_group *const *calls; /* up to a NULL; or NULL */
    const struct action_group *const *actions;  /* the same */
    const struct account_list *const *records;  /* of the audit's records; the same */
    /* What is its own of all calls, actions.own[]; NULL: nothing is. */
    void *(*open)(struct actions *a);
    void (*close)(void *own);
    void (*metrics)(struct actions *a, struct buf *out); /* NULL: it counts nothing */
    void (*end)(struct evaluation *v); /* NULL: nothing of an evaluation is its own */
    /* Puts its rows into the doctor's report, by check_put(); NULL: it has none. */
    void (*doctor)(struct actions *a, struct check_list *l);
};

#define DECLARE_CAPABILITY(name) extern const struct capability name##_capability;
CAPABILITIES(DECLARE_CAPABILITY)

extern const struct capability *const capabilities[];
extern const size_t capability_count;
/* The group that follows after this place in the order, from 0; NULL: there is none. */
const struct action_group *action_group_after(unsigned order);
