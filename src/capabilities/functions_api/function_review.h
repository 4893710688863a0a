/* functions_api/function_review.h - the linter's review of a custom function's code,
 * cached while other functions are checked.
 *
 * Threads: one caller at a time. Private to the room. */
#pragma once
#include "typescript/typescript.h"
#include "validity/validity.h"

struct action_call;

/* The review of one function; positions are those of its own text. */
struct review {
    const struct function *fn;
    const struct json *json; /* lint_review()'s, or Python's; NULL: it cannot be parsed */
    struct function_uses uses;
    struct err why; /* why not, and `where` */
    struct typescript_place where;
    struct review *next;
};

/* All reviews of one check, in its call's arena. */
struct reviews {
    const struct action_call *call;
    struct review *all;
};

/* NULL and *e: it could not be reviewed (busy, cancelled, no guest). */
const struct review *review_of(struct reviews *r, const struct function *fn,
                               struct err *e);
/* Appends the findings of a review as JSON. */
void review_list(const struct json *review, struct findings *out);
/* Appends the findings; of code that cannot be parsed, the syntax error alone. */
void review_findings(const struct review *v, struct findings *out);
