/* notes/words.h - a query's words, and what FTS5 is asked for them.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define WORDS_QUERY_MAX 1000u /* bytes of a query */
#define WORDS_MAX 32u

struct words {
    struct str all[WORDS_MAX]; /* borrowed from the query */
    bool phrase[WORDS_MAX];
    size_t count;
};

/* Words between spaces; what stands in double quotes is one, unless the query is `plain`:
 * then no sign is special. What has neither letter nor digit is left out, for the index
 * does not know it. */
void words_split(struct str query, bool plain, struct words *out);
/* Appends an expression of FTS5: all of them, or any; the last may be unfinished. */
void words_put_match(const struct words *w, bool any, struct buf *out);
