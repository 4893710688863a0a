/* functions_api/functioning.h - custom functions as this room offers them: to agents as
 * actions (register_custom_function ...), to code as customFunctions.*, to REST and to
 * persons.
 *
 * The room functions keeps them; here they are checked, tested, run and told of. Threads:
 * safe. Private to the room. */
#pragma once
#include "api/api.h"
#include "caller/caller.h"
#include "calls/calls.h"
#include "capability/capability.h"
#include "checker/checker.h"
#include "evaluation/evaluation.h"
#include "functions/functions.h"
#include "functions_api/functions_api.h"
#include "guard/guard.h"
#include "os/os.h"
#include "place/place.h"
#include "services/services.h"
#include "usage/usage.h"
#include "json/json.h"

struct findings;
struct function_shelf;
struct later;
struct metric_family;
struct repeating;

/* The functions of the vault of this number, opened when first asked for; stays open until
 * actions_close(). NULL and *e: ERR_NO_VAULT (0, or it was removed), or as
 * functions_open(). */
struct functions *actions_functions(struct actions *a, unsigned vault, struct err *e);

/* What is theirs of a struct actions. */
struct functioning {
    pthread_mutex_t lock;           /* guards the next */
    struct function_shelf *shelves; /* of the vaults where they were asked for */
    struct repeating *repeating;    /* code that comes again; own lock */
    struct later *later;            /* checks in the background; own lock */
    struct metric_family *calls, *trials;
};
static inline struct functioning *functioning_of(const struct actions *a)
{
    return capability_own(a, &functions_capability);
}
void *functioning_open(struct actions *a);
void functioning_close(void *own);                           /* no call may be running */
uint64_t functions_state(struct actions *a, unsigned vault); /* capability.state */
void functioning_metrics(struct actions *a, struct buf *out);
/* All that is wrong with `fn` as one of `among` (what it is to become a part of, with or
 * without its last version, which has its id): names, parameters, dependencies, types,
 * security, complexity. Nothing is run. false and *e: it could not be looked at; what is
 * wrong is in `out`. */
bool function_check(const struct action_call *c, const struct function *fn,
                    const struct function_set *among, struct findings *out,
                    struct err *e);
/* Of that only what its code may not do. */
bool function_lint(const struct action_call *c, const struct function *fn,
                   struct findings *out, struct err *e);
/* What its code tells, as pairs of an open object: "security": {issues: [{rule, severity,
 * message, line, column, suggestion?}], safe}, "complexity": {lines, cyclomatic, nesting,
 * parameters ...}, "uses": {functions: [{name, line, column}], dynamic, calls}. */
bool function_facts(const struct action_call *c, const struct function *fn,
                    struct json_writer *out, struct err *e);
/* What breaks when `fn` takes the place of the function `name` (`fn` NULL: when that is
 * removed), by caller, as warnings. */
bool function_breaks(const struct action_call *c, struct str name,
                     const struct function *fn, const struct function_set *among,
                     struct findings *out, struct err *e);
/* Which examples are run: those that bring their notes, or need none of the vault's, can be
 * held to what they say at any time; what reads the vault as it is need not hold any more. */
enum examples { EXAMPLES_ALL, EXAMPLES_APART, EXAMPLES_NONE };
/* Runs its examples dry, each in a world of its own: {passed, failed, skipped?, results:
 * [{name, success, ...} | {name, skipped: why}]} into `out`; *failed of them did not end as
 * they say. */
bool function_examples(const struct action_call *c, const struct function *fn,
                       const struct function_set *among, enum examples which,
                       struct json_writer *out, uint32_t *failed, struct err *e);
/* Runs it once with these arguments (an object by name, or an array): the members
 * {success, result, error, errorDetails, logs, executionTime, stats, changes (of a dry
 * run)} into an open object. */
bool function_try(const struct action_call *c, const struct function *fn,
                  const struct function_set *among, const struct json *args, bool dry,
                  struct json_writer *out, bool *success, struct err *e);
/* What customFunctions means to this evaluation, which has not begun: these (NULL: none),
 * with `draft` (NULL: none) in the place of the one of its name. Both are borrowed until it
 * ends. Without this it means the functions of the vault that it begins in, as they are
 * when its code first asks. */
void evaluation_functions(struct evaluation *v, const struct function_set *among,
                          const struct function *draft);

struct repeating *repeating_new(void);
void repeating_free(struct repeating *r); /* NULL is fine */
/* The session that an evaluation is a part of: over stdio a process is one; over HTTP one
 * has no name where its client does not keep any, and this is empty. */
struct str functioning_session(const struct evaluation *v);
/* An evaluation has ended that called these functions. Called once for each evaluation, also
 * where it called none; waits for nothing. */
void functioning_used(struct evaluation *v, const struct usage_use *uses, size_t n);
/* An attempt to register or change one has ended; ms: what checking it took. */
void functioning_tried(const struct action_call *c, struct functions *f,
                       enum usage_trial how, double ms);
/* This code has run, and well: is it the third of its form in this conversation? */
void functioning_repeated(struct evaluation *v, struct str code);
/* The one that is meant; NULL and ERR_NOT_FOUND with the nearest name. */
const struct function *function_wanted(const struct function_set *s, struct str name,
                                       struct err *e);
/* "customFunctions", or "customFunctions.daily"? */
bool functioning_is_name(struct str name);
/* Could there be a function of this name? */
bool functioning_may_name(struct str name);
/* For the linter, a pair of the open object: those that code of the call finds. */
void functioning_put_names(const struct action_call *c, struct json_writer *w);
/* What api.describe tells of such a name, an object. ERR_NOT_FOUND. */
bool functioning_describe(struct actions *a, const struct place *place, struct str name,
                          struct json_writer *out, struct err *e);
/* declare namespace customFunctions { ... } of `all`, bounded by `most` bytes or so:
 * valid TypeScript whatever the file holds. `comments`: with descriptions. */
void functioning_declarations(const struct function *const *all, size_t count,
                              size_t most, bool comments, struct buf *out);
/* The same in a namespace of another name. */
void functioning_declare(const struct function *const *all, size_t count, size_t most,
                         bool comments, const char *space, struct buf *out);
/* Appends functioning_introduction() of a place, where its caller may list them. */
void functioning_introduce(struct actions *a, const struct place *place, size_t most,
                           bool brief, struct buf *out);
extern const struct host_call_group functions_calls;
