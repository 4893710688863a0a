/* routes/internal.h - what the files of this room share. Private to the room. */
#pragma once
#include "routes/locator.h"
#include "routes/routes.h"

/* The next group at or after position `order`, from 0; NULL: none. */
const struct route_group *route_group_after(unsigned order);
/* All rows, one after the other. */
struct route_walk {
    const struct route_group *group; /* NULL: before the first */
    size_t next;                     /* row of the group */
};
/* NULL: the end. */
const struct route *route_walk_next(struct route_walk *walk);
/* "": there is none of this name. */
const char *route_schema_named(const char *name);

/* Groups that are no capability's (own.c); up to a NULL. */
extern const struct route_group *const own_routes[];
/* The OpenAPI document (openapi.c). */
route_fn route_openapi;

/* ---- media types (media.c) ----------------------------------------------------- */

/* Is this the media type, parameters aside, as of "text/markdown; charset=utf-8"? */
bool media_is(struct str field, const char *type);
/* How much Accept wants this type: 0 (not at all) to 1000. An empty one wants all. */
unsigned media_wanted(struct str accept, const char *type);

/* The words of a status ("Not Found"; problem.c). */
const char *problem_title(int status);
