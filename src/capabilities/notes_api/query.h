/* notes_api/query.h - filters and orders of POST /query, as a question for
 * notes.searchSQL().
 *
 * Strangers' JSON is bounded here (conditions, depth, values); time, rows
 * and memory are bounded by who answers. Nothing of the JSON gets into the SQL's text:
 * names are looked up in a table, all else is a parameter.
 * Source: docs/rest.md, "Queries".
 * Threads: safe. Private to the room.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define QUERY_CONDITIONS 60u /* of one filter; each value of a list counts */
#define QUERY_DEPTH 16u
#define QUERY_KEYS 8u        /* to sort by */
#define QUERY_PROPERTIES 20u /* different ones, in filter and sort */

struct query_text {
    struct buf sql;    /* both are to be init by the caller, who ends them */
    struct buf params; /* a JSON array */
};

/* Appends the question for at most `limit` rows behind the note `after` (empty: from the first on);
 * its columns are id, title, type, properties, updated, created, tags, content_hash,
 * path, uid, size, properties_cut. `filter` and `sort` may be NULL. false and ERR_INVALID, ERR_LIMIT:
 * the place ("body.filter.properties.Due"), what is there and what would be accepted. */
bool query_write(const struct json *filter, const struct json *sort, struct str after,
                 int64_t limit, struct query_text *out, struct err *e);
