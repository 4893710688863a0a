/* http/target.h - what a request's first line asks for: path and query.
 *
 * Strict, because what two readers take differently is how one of them is led around
 * its own checks. Pure functions over text. Private to the room http.
 */
#pragma once
#include "base/base.h"

#define TARGET_PARTS_MAX 16u
#define TARGET_QUERY_MAX 64u

struct pair {
    struct str name, value;
};

/* A single block of memory; free() ends it. */
struct target {
    struct str sent;      /* path and query as they came */
    struct str path;      /* decoded, with its first slash, without one at the end */
    struct str authority; /* of "http://HOST/path"; `at` is NULL in the usual form */
    bool slashes;         /* a part holds one, which was encoded */
    unsigned n_parts, n_query;
    struct str parts[TARGET_PARTS_MAX];
    struct pair *query;
};

/* NULL: `*why` says in words why it is refused. */
struct target *target_parse(const char *text, const char **why);
