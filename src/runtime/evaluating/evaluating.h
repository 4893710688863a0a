/* evaluating/evaluating.h - code that a caller brings: read, checked, run, explained and
 * answered, in JavaScript or TypeScript, or as a script of requests. What is wrong with
 * the code is in the answer; *e is what the caller did wrong, or what is not there. An
 * outcome belongs to its run. Threads: safe; each run has its caller's thread. */
#pragma once
#include "calls/calls.h"
#include "capability/capability.h"

struct script_visit;

/* Rows of run_script's host.call, as script knows them. */
const struct script_row *run_script_rows(size_t *count);
/* The table of host calls, as the linter reads it. */
void check_put_table(struct buf *out);
action_fn action_evaluate, action_run_script;
const struct json *action_run_script_variables(const struct action_call *c);
void action_evaluate_refused(const struct err *why, struct answer *out);
action_fn action_check_code;
action_fn action_close_session;
/* At most 256 of them and 32 MB, none of 8 MB or more. */
struct cache *answers_new(void);
/* Bits of declarations: of those that all code finds, and of each feature. */
#define CHECKING_PARTS (1u + FEATURES)
#define CHECKING_ALL ((1u << CHECKING_PARTS) - 1)

/* Code that a vault keeps, which evaluations call by name: what the capability that keeps it
 * tells of it (capability.custom). Threads: of the evaluation. */
struct custom_code {
    /* Appends what stands for all that code of the call could find; false: who knows. */
    bool (*put_key)(const struct action_call *c, struct buf *out);
    /* Appends declarations of what the code of the call names. */
    void (*declare)(const struct action_call *c, struct buf *out);
    /* Of script_request: the JavaScript of one. */
    struct str (*source)(void *v, struct str file);
    /* How places of those that were loaded lead back: *count of them, to be freed. NULL:
     * there is no memory. */
    struct script_origin *(*origins)(struct evaluation *v, size_t *count);
    /* Its name by its number; NULL: there is none. */
    const char *(*source_name)(const struct evaluation *v, uint32_t number);
    /* errorDetails.function: in which one it failed, and where; nothing where in none. */
    void (*put_failure)(const struct evaluation *v, const struct script_outcome *o,
                        struct json_writer *w);
    /* One call of one, for the trace. */
    void (*put_visit)(const struct evaluation *v, const struct script_outcome *o,
                      const struct script_visit *visit, struct json_writer *w);
    /* The evaluation of `code` is over: for the account and the counts. */
    void (*ended)(struct evaluation *v, const struct script_outcome *o, struct str code);
};

/* After a run that failed, as its places still are those of q->code: fills v->explained.
 * Best effort. */
void check_explains(const struct action_call *c, struct evaluation *v,
                    const struct script_request *q, const struct script_outcome *o);
/* Turns every place of the outcome into one of the sources; `code`: what the code was made
 * of, or NULL. */
void language_explain(struct evaluation *v, struct script_outcome *o,
                      const struct script_origin *code);

#define LOGS_MAX ((size_t)64 << 10) /* bytes of all logs of one run */

/* A number of the arguments between `min` and its ceiling; without one the default, or
 * the ceiling where that is lower. false and ERR_INVALID. */
bool limit_read(const struct json *arguments, const char *key, int64_t min, int64_t usual,
                int64_t ceiling, const char *unit, uint64_t *out, struct err *e);
/* The argument `memoryLimit`, in bytes; ERR_INVALID. */
bool limit_memory(const struct action_call *c, uint64_t *bytes, struct err *e);
/* What is too large for an answer: its beginning is shown, and the whole is kept. */
void evaluation_put_aside(const struct action_call *c, struct evaluation *v,
                          struct script_outcome *o);
/* It is decided: what is still on its way is not waited for. */
void evaluation_over(void *arg);
/* The same as pairs of the open object. */
void report_put(struct evaluation *v, const struct script_outcome *o,
                struct json_writer *w);
/* Most host calls that the source of this number awaited one after the other. */
uint32_t trace_in_a_row(const struct script_outcome *o, uint32_t source);
