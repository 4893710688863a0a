/* functions_api/functioning.h - custom functions as this room offers them: actions
 * (register_custom_function ...), customFunctions.* in code, REST and the command line.
 *
 * The room functions stores them; this one checks, tests, runs and describes them.
 * Threads: safe. Private to the room. */
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
struct work;

/* The functions of the vault of this number, opened at first use; valid until
 * actions_close(). NULL and *e: ERR_NO_VAULT (0, or it was removed), or as
 * functions_open(). */
struct functions *functioning_in(struct actions *a, unsigned vault, struct err *e);

/* The capability's state. */
struct functioning {
    pthread_mutex_t lock;           /* guards `shelves` */
    struct function_shelf *shelves; /* one for each vault that was used */
    struct repeating *repeating; /* code that was run several times; has its own lock */
    struct later *later;         /* background checks; has its own lock */
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
/* Checks `fn` as one of `among` (the set that it becomes a part of; its last version has
 * the same id): names, parameters, dependencies, types, security, complexity. Runs
 * nothing. false and *e: it could not be checked; its errors are in `out`. */
bool function_check(const struct action_call *c, const struct function *fn,
                    const struct function_set *among, struct findings *out,
                    struct err *e);
/* The security part of it. */
bool function_lint(const struct action_call *c, const struct function *fn,
                   struct findings *out, struct err *e);
/* Facts about its code, pairs of an open object: "security": {issues: [{rule, severity,
 * message, line, column, suggestion?}], safe}, "complexity": {lines, cyclomatic, nesting,
 * parameters ...}, "uses": {functions: [{name, line, column}], dynamic, calls}. */
bool function_facts(const struct action_call *c, const struct function *fn,
                    struct json_writer *out, struct err *e);
/* What breaks when `fn` takes the place of the function `name`, by caller, as warnings. */
bool function_breaks(const struct action_call *c, struct str name,
                     const struct function *fn, const struct function_set *among,
                     struct findings *out, struct err *e);
/* What breaks, but for them, when these of `among` are removed. */
bool functions_break(const struct action_call *c, const struct function *const *gone,
                     size_t count, const struct function_set *among, struct findings *out,
                     struct err *e);
/* Which examples are run. EXAMPLES_APART: those that bring their notes, or need none;
 * their results do not depend on the vault. */
enum examples { EXAMPLES_ALL, EXAMPLES_APART, EXAMPLES_NONE };
/* Runs its examples dry, each in a world of its own, and writes {passed, failed,
 * skipped?, results: [{name, success, ...} | {name, skipped: reason}]}; *failed is the
 * number of failures. */
bool function_examples(const struct action_call *c, const struct function *fn,
                       const struct function_set *among, enum examples which,
                       struct json_writer *out, uint32_t *failed, struct err *e);
/* Runs it once with these arguments (an object by name, or an array), and writes members
 * of an open object: success, result, error, errorDetails, logs, executionTime, stats,
 * changes (of a dry run). */
bool function_try(const struct action_call *c, const struct function *fn,
                  const struct function_set *among, const struct json *args, bool dry,
                  struct json_writer *out, bool *success, struct err *e);
/* Sets what customFunctions is in this evaluation, which has not begun: these (NULL:
 * none), with `draft` (NULL: none) in place of the one of its name. Borrows both until it
 * ends. By default: the functions of the vault that it begins in, at first use. */
void evaluation_functions(struct evaluation *v, const struct function_set *among,
                          const struct function *draft);

struct repeating *repeating_new(void);
void repeating_free(struct repeating *r); /* NULL is fine */
/* The session of an evaluation: over stdio the process; over HTTP the client's; empty if
 * the client keeps none. */
struct str functioning_session(const struct evaluation *v);
/* Counts the use of these functions by an evaluation that has ended. Called once for each
 * evaluation, also without uses; does not block. */
void functioning_used(struct evaluation *v, const struct usage_use *uses, size_t n);
/* Counts an attempt to register or change a function; ms: the time its check took. */
void functioning_tried(const struct action_call *c, struct functions *f,
                       enum usage_trial how, double ms);
/* Notes code that has run successfully, and adds a hint if it is the third of its form in
 * this conversation. */
void functioning_repeated(struct evaluation *v, struct str code);
/* The function of this name; NULL and ERR_NOT_FOUND with the nearest name. */
const struct function *function_by_name(const struct function_set *s, struct str name,
                                        struct err *e);
/* Whether the name is "customFunctions" or "customFunctions.daily". */
bool functioning_is_name(struct str name);
/* Whether a function could have this name. */
bool functioning_may_name(struct str name);
/* Writes, for the linter, the functions that the call's code finds: a pair. */
void functioning_put_names(const struct action_call *c, struct json_writer *w);
/* api.describe of such a name, an object. ERR_NOT_FOUND. */
bool functioning_describe(struct actions *a, const struct place *place, struct str name,
                          struct json_writer *out, struct err *e);
/* declare namespace customFunctions { ... } of `all`, of about `most` bytes: valid
 * TypeScript whatever the file contains. `comments`: with descriptions. */
void functioning_declarations(const struct function *const *all, size_t count,
                              size_t most, bool comments, struct buf *out);
/* The same in a namespace of another name. */
void functioning_declare(const struct function *const *all, size_t count, size_t most,
                         bool comments, const char *space, struct buf *out);
/* Writes {name, type, optional?, rest?, default?}. */
void functioning_put_parameter(const struct function_parameter *p,
                               struct json_writer *out);
/* Appends them as checker_question.functions has them; nothing if that is more than `most`
 * bytes. */
void functioning_define(const struct function *const *all, size_t count, size_t most,
                        struct buf *out);
/* Appends functioning_introduction() of a place, if its caller may list them. */
void functioning_introduce(struct actions *a, const struct place *place, size_t most,
                           bool brief, struct buf *out);
/* The functions that can be called in a place now, its own and those that libraries share
 * with it; *out (may be NULL) is their store. The caller drops the set. NULL and *e. */
const struct function_set *functioning_now(struct actions *a, const struct place *place,
                                           struct functions **out, struct err *e);
/* custom_code.find and .tell, and capability.meant. */
struct custom_found;
size_t functioning_find(struct actions *a, const struct place *place,
                        const struct api_words *words, struct custom_found *out,
                        size_t max, struct arena *rows);
bool functioning_tell(struct work *w, bool types, struct buf *out, struct err *e);
capability_meant_fn functioning_meant;
extern const struct host_call_group functions_calls;
extern const struct route_group function_routes;
extern const struct policy_group functions_policy;
