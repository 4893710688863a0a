/* notes_api/question.h - a query while it is put together: what it compares, and its
 * parameters.
 *
 * Threads: one. Private to query.c and filter.c.
 */
#pragma once
#include "notes_api/query.h"

enum operand_kind { KIND_TEXT, KIND_DATE, KIND_NUMBER, KIND_LIST, KIND_PROPERTY };

/* An operand as SQL. Property n is pN, its JSON type tN, as a list aN (or NULL), as
 * a number xN (or NULL). */
struct operand {
    enum operand_kind kind;
    char value[16], type[16];
};

struct question {
    struct buf order, *params;
    size_t param_count, property_count, key_count;
    struct str properties[QUERY_PROPERTIES];
    size_t property_params[QUERY_PROPERTIES];
};

/* Adds a parameter, whose number is then q->param_count. */
bool question_add(struct question *q, const struct json *value, struct err *e);
bool question_add_text(struct question *q, struct str text, struct err *e);
/* The field or property of this name. false: ERR_INVALID, or ERR_LIMIT. */
bool question_operand(struct question *q, struct str name, struct str place,
                      struct operand *out, struct err *e);
/* The value as a number, NULL where it is none. A boolean is none. */
void question_put_number(struct buf *out, const struct operand *o);

#define NUMBERS "('integer','real')"

/* Appends the filter (NULL: none) as a condition. */
bool filter_write(struct question *q, const struct json *filter, struct buf *where,
                  struct err *e);
