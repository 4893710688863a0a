/* functions_api/functions_api.h - custom functions: to agents as actions
 * (register_custom_function ...), to code as customFunctions.*, to REST and to persons.
 * The room functions keeps them; here they are checked, tested, run and told of. Sets are
 * dropped by whoever asked for them. Threads: safe. */
#pragma once
#include "capability/capability.h"

struct api_words;
struct function;
struct function_set;
struct functions;
struct work;

extern const struct capability functions_capability;
/* Appends what custom functions its vault has, bounded: Markdown for a prompt, or
 * declarations in TypeScript. */
enum work_functions { WORK_FUNCTIONS_PROMPT, WORK_FUNCTIONS_TYPES };
bool work_functions(struct work *w, enum work_functions what, struct buf *out,
                    struct err *e);
/* What is to be called in a place now, its own and those that libraries share with it;
 * *out (may be NULL) is where they are kept. Dropped by the caller. NULL and *e. */
const struct function_set *functioning_now(struct actions *a, const struct place *place,
                                           struct functions **out, struct err *e);
/* Those that fit the words and that the caller may know of, the best first; answers how
 * many, `max` (from 1 on) at most. */
struct found_function {
    const struct function *fn;
    double score; /* as api_score() */
};
size_t functioning_find(const struct place *place, const struct function_set *s,
                        const struct api_words *words, struct found_function *out,
                        size_t max);
/* What api.search tells of one. */
void functioning_put_row(const struct function *fn, struct json_writer *out);
