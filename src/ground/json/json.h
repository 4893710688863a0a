/* json/json.h - JSON values: reading, looking, writing, schema check.
 *
 * Reads RFC 8259 strictly (UTF-8, no duplicate keys, bounded depth) into an
 * arena; writes as a stream into a buf. A value is a borrowed pointer into the
 * arena it was read into; NULL is "not there" and every look at it is safe.
 * Source: RFC 8259; JSON Schema 2020-12 for json_schema_check().
 */
#pragma once
#include "base/base.h"

struct json; /* one value of a document that was read */

enum json_type {
    JSON_ABSENT, /* the type of NULL */
    JSON_NULL,
    JSON_BOOL,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

#define JSON_DEPTH_MAX 128u /* arrays and objects inside each other */

/* ---- reading ------------------------------------------------------------ */

/* Reads a value, nothing behind it but white space. NULL and *e: ERR_INVALID with
 * the byte's position, or ERR_LIMIT from the arena. The text is copied. */
const struct json *json_read(struct str text, struct arena *a, struct err *e);
/* The byte at which that failed; SIZE_MAX: it has no one place. */
size_t json_failed_at(const struct err *e);

/* The value of a key in an object that json_read refuses for its depth, for keys that
 * stand twice or for half a surrogate pair somewhere in it: so that a refusal can name
 * what it is about. NULL: it is no such object, or the key is not there once. */
const struct json *json_read_key(struct str text, const char *key, struct arena *a);

enum json_type json_type(const struct json *v);
const char *json_type_name(enum json_type t); /* "object", "absent" ... */
static inline bool json_is(const struct json *v, enum json_type t)
{
    return json_type(v) == t;
}

/* Looks that never fail: what is absent or of another type reads as the
 * fallback. Strings may hold NUL bytes (\u0000) and are valid UTF-8. */
struct str json_str(const struct json *v);   /* "" if it is no string */
const char *json_cstr(const struct json *v); /* the same; "", too, if it holds a NUL */
double json_number(const struct json *v, double fallback);
int64_t json_int(const struct json *v, int64_t fallback); /* whole numbers only */
bool json_bool(const struct json *v, bool fallback);
bool json_is_int(const struct json *v); /* a whole number in int64's range */

size_t json_length(const struct json *v); /* of an array or object, else 0 */
const struct json *json_at(const struct json *array, size_t i); /* O(i) */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_get_str(const struct json *object, struct str key);

/* Walks an array or an object in its order; for an array key is empty.
 *     struct json_iter it = json_iter(v);
 *     while (json_next(&it)) use(it.key, it.value);  */
struct json_iter {
    struct str key;
    const struct json *value;
    const struct json *container, *cursor;
    size_t left;
};
struct json_iter json_iter(const struct json *container);
bool json_next(struct json_iter *it);

/* Same value: objects regardless of their order, numbers by value. */
bool json_equal(const struct json *a, const struct json *b);

/* The object less such pairs, in the arena; strings are borrowed from it. NULL and *e as
 * arena_get(). */
const struct json *json_less(const struct json *object, const char *const *but,
                             struct arena *a, struct err *e);

/* ---- writing ------------------------------------------------------------ */

/* A stream of JSON into a buf, commas and escapes put by the writer:
 *     struct json_writer w = json_writer(&buf);
 *     json_open_object(&w); json_key(&w, "n"); json_put_int(&w, 1);
 *     json_close(&w);
 * Failures stick in the buf; check it once, at the end. */
struct json_writer {
    struct buf *out;
    unsigned depth;
    bool comma, after_key;
    bool lines; /* every value on a line of its own, for people; set at the start */
    uint64_t is_object[(JSON_DEPTH_MAX + 63) / 64];
};
struct json_writer json_writer(struct buf *out);
void json_open_object(struct json_writer *w);
void json_open_array(struct json_writer *w);
void json_close(struct json_writer *w); /* the innermost open one */
void json_key(struct json_writer *w, const char *key);
void json_key_str(struct json_writer *w, struct str key);
void json_put_null(struct json_writer *w);
void json_put_bool(struct json_writer *w, bool v);
void json_put_int(struct json_writer *w, int64_t v);
void json_put_number(struct json_writer *w, double v); /* not finite: null */
/* Bytes that are not valid UTF-8 become U+FFFD. */
void json_put_str(struct json_writer *w, struct str v);
void json_put_cstr(struct json_writer *w, const char *v);
/* `ms` since 1970, as date_format() writes it. */
void json_put_time(struct json_writer *w, int64_t ms);
/* Text that is one JSON value already; the caller vouches for it. */
void json_put_raw(struct json_writer *w, struct str json);
/* A value that was read, absent as null. */
void json_put(struct json_writer *w, const struct json *v);
/* All pairs of an object, into the one that is open, less those whose keys stand in `but`
 * (ends with NULL; or NULL). */
void json_put_pairs(struct json_writer *w, const struct json *object,
                    const char *const *but);
/* key and value in one: the common pair. */
void json_pair_str(struct json_writer *w, const char *key, struct str v);
void json_pair_cstr(struct json_writer *w, const char *key, const char *v);
void json_pair_int(struct json_writer *w, const char *key, int64_t v);
void json_pair_bool(struct json_writer *w, const char *key, bool v);
void json_pair_number(struct json_writer *w, const char *key, double v);
void json_pair_time(struct json_writer *w, const char *key, int64_t ms);
void json_pair_time_known(struct json_writer *w, const char *key,
                          int64_t ms); /* 0: no pair */
void json_pair_raw(struct json_writer *w, const char *key, struct str json);
void json_pair(struct json_writer *w, const char *key, const struct json *v);

/* ---- schema ------------------------------------------------------------- */

/* Is `value` what `schema` allows? Knows the part of JSON Schema 2020-12 that
 * our own tools and note types use: type, enum, const, properties, required,
 * additionalProperties, items, minimum, maximum, minLength, maxLength,
 * minItems, maxItems, anyOf, oneOf; unknown keywords allow everything. false and
 * ERR_INVALID: the message names the place ("arguments.timeout"), what is there
 * and what would be accepted. `place` names the whole. */
bool json_schema_check(const struct json *schema, const struct json *value,
                       const char *place, struct err *e);
