/* actions/custom.h - code that a vault keeps, which evaluations call by name. Whoever keeps it
 * tells here what an evaluation has to know. Private to actions. */
#pragma once
#include "actions/calls.h"

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
