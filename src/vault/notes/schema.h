/* notes/schema.h - what a type of notes wants of their metadata.
 *
 * A schema is given as JSON Schema has it, {type: "object", properties, required ...}, or
 * as a list, {fields: [{name, type, required, description, constraints ...}]}, and read
 * into the first form. What cannot be checked is refused when the schema is given, so
 * that nobody relies on it.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define SCHEMA_TEXT_MAX (64u * 1024) /* bytes of JSON */
#define SCHEMA_FIELDS_MAX 200u
#define SCHEMA_DEPTH_MAX 6u /* objects and arrays inside each other */

/* The schema in its first form, in the arena. Patterns are any strings here: whether they are
 * regular expressions tells schema_each_pattern(). NULL and ERR_INVALID: the field, what is
 * there and what would be accepted. */
const struct json *schema_read(const struct json *given, struct arena *a, struct err *e);

/* Calls `each` with every pattern of a schema that schema_read() gave, and the field that it
 * is for, as messages name it ("\"code\""); until one is false. */
typedef bool schema_pattern(void *arg, const char *field, struct str pattern,
                            struct err *e);
bool schema_each_pattern(const struct json *schema, schema_pattern *each, void *arg,
                         struct err *e);

/* The matcher of texts against patterns; `place` is "metadata.code". */
struct schema_matching {
    bool (*matches)(void *arg, const char *place, struct str pattern, struct str text,
                    bool *yes, struct err *e);
    void *arg;
};

/* Is metadata what the schema wants? Keys that are null, and those that the vault keeps
 * itself (id, type, title, created, updated, subnotes), are passed over. Unless it is `whole`, what
 * is required may be missing, but not be null. false and ERR_INVALID: the field, its
 * value and what is accepted. */
bool schema_check(const struct json *schema, const struct json *metadata, bool whole,
                  const struct schema_matching *m, struct err *e);
