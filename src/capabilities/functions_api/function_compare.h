/* functions_api/function_compare.h - is a result what an example says, and where is it not?
 *
 * Private to the room.
 */
#pragma once
#include "base/base.h"

struct json;
struct json_writer;

#define COMPARED_SHOWN 400u /* bytes of each value that are shown */

/* The first place where two values differ. */
struct difference {
    char path[200];                    /* "result.items[3].name" */
    const struct json *expected, *got; /* NULL: nothing is there */
    const char *what;                  /* in words */
};

/* Are they the same: objects in any order, numbers by value? With `part`, what is expected
 * may be less: every field of it, and in lists every item in its place. */
bool compare_values(const struct json *expected, const struct json *got, bool part,
                    struct difference *out);
/* {path, expected, got, message} */
void difference_write(const struct difference *d, struct json_writer *out);
