/* functions_api/function_compare.h - compares a result with the one an example expects.
 *
 * Private to the room. */
#pragma once
#include "base/base.h"

struct json;
struct json_writer;

#define COMPARED_SHOWN 400u /* bytes of each value that are shown */

/* The first place where two values differ. */
struct difference {
    char path[200];                    /* "result.items[3].name" */
    const struct json *expected, *got; /* NULL: nothing is there */
    const char *what;                  /* a phrase */
};

/* Whether they are equal: objects in any order, numbers by value. With `part` the
 * expected value may be less: each of its fields, and each item at its index. */
bool compare_values(const struct json *expected, const struct json *got, bool part,
                    struct difference *out);
/* {path, expected, got, message} */
void difference_write(const struct difference *d, struct json_writer *out);
