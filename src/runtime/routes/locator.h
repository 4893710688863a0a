/* routes/locator.h - the path and the query of a request, taken apart.
 *
 * Both come from strangers, spelt as they were sent: percent signs are decoded here, once,
 * after the cut at slashes and ampersands, so that a slash that was encoded stays within
 * its segment.
 * Source: RFC 3986, sections 3.3 and 3.4; the form encoding of the URL standard.
 * Threads: safe. Private to the room.
 */
#pragma once
#include "base/base.h"

#define LOCATOR_MAX 8192u /* bytes of path and query */
#define LOCATOR_SEGMENTS 32u
#define LOCATOR_PARAMETERS 32u

struct locator {
    struct str segments[LOCATOR_SEGMENTS]; /* decoded; none is empty, "." or ".." */
    size_t count;
    struct locator_parameter {
        struct str name, value; /* decoded */
    } parameters[LOCATOR_PARAMETERS];
    size_t parameter_count;
};

/* "/workspaces/notes/notes/task%2FBuy?limit=3"; one slash at the end does not count. The
 * parts lie in the arena. false and *e: ERR_INVALID says which part, and what is wrong. */
bool locator_read(struct str text, struct locator *t, struct arena *a, struct err *e);

/* Does the path fit "/workspaces/{workspace_id}/notes/{note_id}/history"? The
 * variable `several` (NULL: none) stands for one segment or more, all others for one.
 * `values` gets what they stand for, in their order, at most `max`. false: no, or *e:
 * ERR_LIMIT. */
bool locator_fits(const struct locator *t, const char *pattern, const char *several,
                  struct str *values, size_t max, struct arena *a, struct err *e);

/* NULL: it is not there. */
const struct str *locator_parameter(const struct locator *t, const char *name);

/* The part of a text before the next `end`, or all of it; steps behind it. */
struct str locator_next(struct str *rest, char end);
