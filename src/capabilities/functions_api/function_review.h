/* functions_api/function_review.h - a custom function's code, looked through by room
 * lint, and what of it is asked for again while others are looked at.
 *
 * Threads: one caller at a time. Private to the room. */
#pragma once
#include "typescript/typescript.h"
#include "validity/validity.h"

struct action_call;

/* One function, as its code tells: places are those of its own text. */
struct review {
    const struct function *fn;
    const struct json *json; /* lint_review()'s; NULL: it could not be made JavaScript */
    struct function_uses uses;
    struct err why; /* it could not, and `where` */
    struct typescript_place where;
    struct review *next;
};

/* All that were looked at in one check, kept in its call's arena. */
struct reviews {
    const struct action_call *call;
    struct review *all;
};

/* NULL and *e: it could not be looked at (busy, cancelled, no guest). */
const struct review *review_of(struct reviews *r, const struct function *fn,
                               struct err *e);
/* Appends what was found to the findings; of code that is no TypeScript that alone. */
void review_findings(const struct review *v, struct findings *out);
