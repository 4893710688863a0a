/* notes/regex.h - patterns from outside, matched within limits. The sole owner of
 * <pcre2.h>.
 *
 * Threads: a pattern belongs to one thread. Private to the room notes.
 */
#pragma once
#include "base/base.h"

struct regex;

/* NULL and ERR_INVALID: what is wrong, and at which character. */
struct regex *regex_new(struct str pattern, struct err *e);
void regex_free(struct regex *r); /* NULL is fine */

/* Looks for the first match; *found tells of one at byte `*at`, `*length` long. Any
 * bytes may be searched. false and ERR_LIMIT: the pattern tries too much. */
bool regex_match(struct regex *r, struct str text, bool *found, size_t *at,
                 size_t *length, struct err *e);
