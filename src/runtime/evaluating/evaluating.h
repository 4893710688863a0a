/* evaluating/evaluating.h - code of a caller: parsed, checked, run and explained, in
 * JavaScript or TypeScript, or as a script of requests. Errors in the code are part of
 * the answer; *e is an error of the call, or a missing part. An outcome belongs to its
 * run. Threads: safe; a run uses its caller's thread. */
#pragma once
#include "calls/calls.h"
#include "capability/capability.h"

struct script_visit;

/* Rows of run_script's host.call, as script knows them. */
const struct script_row *run_script_rows(size_t *count);
/* Appends the table of host calls for the linter. */
void check_put_table(struct buf *out);
/* The same for the Python guest (script_open_python). */
void python_put_table(struct buf *out);
action_fn action_evaluate, action_run_script;
const struct json *action_run_script_variables(const struct action_call *c);
void action_evaluate_refused(const struct err *why, struct answer *out);
action_fn action_check_code;
action_fn action_close_session;
/* A cache of at most 256 answers and 32 MB, each below 8 MB. */
struct cache *answers_new(void);
/* Bits of declarations: those that all code has, and those of each feature. */
#define CHECKING_PARTS (1u + FEATURES)
#define CHECKING_ALL ((1u << CHECKING_PARTS) - 1)

struct api_words;
struct work;
struct custom_found {
    double score;   /* as api_score() */
    struct str row; /* JSON: what api.search tells of it */
};

/* Code that a vault stores and that evaluations call by name, provided by a capability
 * (capability.custom). Threads: of the evaluation. */
struct custom_code {
    /* Appends the version of all such code that the call can reach; false: unknown. */
    bool (*put_key)(const struct action_call *c, struct buf *out);
    /* Appends declarations of the functions that the call's code names. */
    void (*declare)(const struct action_call *c, struct buf *out);
    /* The same for code in Python, as checker_question.functions has them. */
    void (*define)(const struct action_call *c, struct buf *out);
    /* The JavaScript of one; for script_request. */
    struct str (*source)(void *v, struct str file);
    /* Source maps of those that were loaded: *count, to be freed. NULL: out of memory. */
    struct script_origin *(*origins)(struct evaluation *v, size_t *count);
    /* The name of a source by its number, or NULL. */
    const char *(*source_name)(const struct evaluation *v, uint32_t number);
    /* errorDetails.function: the function that failed, and where; nothing if none did. */
    void (*put_failure)(const struct evaluation *v, const struct script_outcome *o,
                        struct json_writer *w);
    /* One call of such a function, for the trace. */
    void (*put_visit)(const struct evaluation *v, const struct script_outcome *o,
                      const struct script_visit *visit, struct json_writer *w);
    /* Those that fit the words and that the caller may know of, the best first; answers how
     * many, `max` (from 1 on) at most. Their rows lie in the arena. */
    size_t (*find)(struct actions *a, const struct place *place,
                   const struct api_words *words, struct custom_found *out, size_t max,
                   struct arena *rows);
    /* Appends what there is in the vault, bounded: declarations in TypeScript, or Markdown for
     * a prompt. */
    bool (*tell)(struct work *w, bool types, struct buf *out, struct err *e);
    /* The evaluation of `code` has ended: for the account and the statistics. */
    void (*ended)(struct evaluation *v, const struct script_outcome *o, struct str code);
};

/* custom_code.tell; ERR_NOT_FOUND: there is no such code. */
bool custom_tell(struct work *w, bool types, struct buf *out, struct err *e);
/* Fills v->explained after a failed run, its positions still q->code's. Best effort. */
void check_explains(const struct action_call *c, struct evaluation *v,
                    const struct script_request *q, const struct script_outcome *o);
/* Maps every position of the outcome to its source; `code`: what it was made from, or
 * NULL. */
void language_explain(struct evaluation *v, struct script_outcome *o,
                      const struct script_origin *code);

#define LOGS_MAX ((size_t)64 << 10) /* bytes of all logs of one run */

/* A number of the arguments between `min` and its ceiling; if it is absent the default,
 * or the ceiling where that is lower. false and ERR_INVALID. */
bool limit_read(const struct json *arguments, const char *key, int64_t min, int64_t usual,
                int64_t ceiling, const char *unit, uint64_t *out, struct err *e);
/* The argument `memoryLimit`, in bytes; ERR_INVALID. */
bool limit_memory(const struct action_call *c, uint64_t *bytes, struct err *e);
/* Shortens a result that is too large for an answer; the whole is kept. */
void evaluation_put_aside(const struct action_call *c, struct evaluation *v,
                          struct script_outcome *o);
/* The outcome is decided: pending calls are not awaited. */
void evaluation_stop_calls(void *arg);
/* The answer's pairs, into the open object. */
void report_put(struct evaluation *v, const struct script_outcome *o,
                struct json_writer *w);
/* The largest number of host calls that this source awaited one after the other. */
uint32_t trace_in_a_row(const struct script_outcome *o, uint32_t source);
