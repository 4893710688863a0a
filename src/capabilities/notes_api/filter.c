/* Filters, as conditions in SQL.
 *
 * A property is what a section or the frontmatter says: text that looks like a number is
 * one when it is compared with a number, text that begins like a date is one when it is
 * compared with a date. A list is equal to what one of its items is equal to. */
#include <stdio.h>

#include "notes_api/question.h"

/* An open object or array of the filter. */
struct frame {
    struct json_iter it;
    const char *join, *end;
    bool any;      /* a member was written */
    bool of_field; /* its members are operators of this one: */
    struct operand operand;
    struct str place; /* its name in messages */
};

struct writer {
    struct question *question;
    struct buf *where;
    size_t conditions, depth;
    struct frame frames[QUERY_DEPTH];
};

/* ---- values --------------------------------------------------------------------- */

#define DATES "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'"

static bool is_digits(struct str s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        if (s.at[i] < '0' || s.at[i] > '9')
            return false;
    return true;
}

static bool is_date(const struct json *value)
{
    struct str s = json_str(value);
    return s.n >= 10 && is_digits(s, 0, 4) && s.at[4] == '-' && is_digits(s, 5, 2) &&
           s.at[7] == '-' && is_digits(s, 8, 2);
}

/* Is it one of a list's items? */
static void put_item(struct buf *out, const struct operand *o, size_t param)
{
    if (o->kind == KIND_LIST)
        buf_printf(out, "EXISTS(SELECT 1 FROM json_each(%s) i WHERE i.value=?%zu)",
                   o->value, param);
    else
        buf_printf(out, "EXISTS(SELECT 1 FROM json_each(a%s) i WHERE i.value=?%zu)",
                   o->value + 1, param);
}

static bool has_items(const struct operand *o)
{
    return o->kind == KIND_LIST || o->kind == KIND_PROPERTY;
}

/* A number stands in `param`, a date or other text in it as well. */
static void put_compared(struct buf *out, const struct operand *o, const char *sign,
                         const struct json *value, size_t param)
{
    if (json_is(value, JSON_NUMBER)) {
        buf_char(out, '(');
        question_put_number(out, o);
        buf_printf(out, ")%s?%zu", sign, param);
    } else if (is_date(value)) {
        buf_printf(out,
                   "CASE WHEN %s GLOB " DATES " THEN coalesce(julianday(%s),"
                   "julianday(substr(%s,1,10)))%sjulianday(?%zu) END",
                   o->value, o->value, o->value, sign, param);
    } else {
        buf_printf(out, "(typeof(%s)='text' AND %s%s?%zu)", o->value, o->value, sign,
                   param);
    }
}

static void put_truth(struct buf *out, const struct operand *o, bool value)
{
    const char *word = value ? "true" : "false";
    if (o->kind == KIND_PROPERTY)
        buf_printf(out, "(%s='%s' OR (%s='text' AND lower(%s)='%s'))", o->type, word,
                   o->type, o->value, word);
    else
        buf_cstr(out, "0");
}

/* ---- operators -------------------------------------------------------------------- */

struct asked {
    struct writer *w;
    const struct operand *operand;
    const struct json *value;
    struct str place;
};

static bool is_scalar(const struct json *v)
{
    return !json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY);
}

static bool wrong_value(const struct asked *q, const char *accepted, struct err *e)
{
    return err_set(e, ERR_INVALID, "%.*s is a value of type %s; accepted is %s",
                   STR_ARGS(q->place), json_type_name(json_type(q->value)), accepted);
}

static bool count_condition(struct writer *w, struct err *e)
{
    return ++w->conditions <= QUERY_CONDITIONS ||
           err_set(e, ERR_LIMIT, "body.filter has more than %u conditions",
                   QUERY_CONDITIONS);
}

static bool put_equal(const struct asked *q, struct err *e)
{
    struct buf *out = q->w->where;
    const struct operand *o = q->operand;
    if (!is_scalar(q->value))
        return wrong_value(q, "a string, a number, a boolean or null", e);
    if (!count_condition(q->w, e))
        return false;
    if (json_is(q->value, JSON_NULL)) {
        buf_printf(out, "%s IS NULL", o->value);
        return true;
    }
    if (json_is(q->value, JSON_BOOL)) {
        put_truth(out, o, json_bool(q->value, false));
        return true;
    }
    if (!question_add(q->w->question, q->value, e))
        return false;
    size_t param = q->w->question->param_count;
    buf_char(out, '(');
    if (json_is(q->value, JSON_STRING) && o->kind != KIND_LIST)
        buf_printf(out, "%s=?%zu", o->value, param);
    else
        buf_char(out, '0');
    if (json_is(q->value, JSON_NUMBER) || (is_date(q->value) && o->kind != KIND_LIST)) {
        buf_cstr(out, " OR ");
        put_compared(out, o, "=", q->value, param);
    }
    if (has_items(o)) {
        buf_cstr(out, " OR ");
        put_item(out, o, param);
    }
    buf_char(out, ')');
    return true;
}

static bool put_ordered(const struct asked *q, const char *sign, struct err *e)
{
    if (!json_is(q->value, JSON_NUMBER) && !json_is(q->value, JSON_STRING))
        return wrong_value(q, "a number, a date such as \"2025-11-29\", or a text", e);
    if (!count_condition(q->w, e) || !question_add(q->w->question, q->value, e))
        return false;
    put_compared(q->w->where, q->operand, sign, q->value, q->w->question->param_count);
    return true;
}

static bool put_greater(const struct asked *q, struct err *e)
{
    return put_ordered(q, ">", e);
}

static bool put_at_least(const struct asked *q, struct err *e)
{
    return put_ordered(q, ">=", e);
}

static bool put_less(const struct asked *q, struct err *e)
{
    return put_ordered(q, "<", e);
}

static bool put_at_most(const struct asked *q, struct err *e)
{
    return put_ordered(q, "<=", e);
}

static bool put_unequal(const struct asked *q, struct err *e)
{
    buf_cstr(q->w->where, "NOT coalesce(");
    bool ok = put_equal(q, e);
    buf_cstr(q->w->where, ",0)");
    return ok;
}

static bool put_one_of(const struct asked *q, struct err *e)
{
    if (!json_is(q->value, JSON_ARRAY))
        return wrong_value(q, "an array of strings, numbers, booleans or null", e);
    struct json_iter it = json_iter(q->value);
    buf_cstr(q->w->where, "(0");
    while (json_next(&it)) {
        struct asked one = *q;
        one.value = it.value;
        buf_cstr(q->w->where, " OR ");
        if (!put_equal(&one, e))
            return false;
    }
    buf_char(q->w->where, ')');
    return true;
}

static bool put_none_of(const struct asked *q, struct err *e)
{
    buf_cstr(q->w->where, "NOT coalesce(");
    bool ok = put_one_of(q, e);
    buf_cstr(q->w->where, ",0)");
    return ok;
}

static bool put_exists(const struct asked *q, struct err *e)
{
    if (!json_is(q->value, JSON_BOOL))
        return wrong_value(q, "true or false", e);
    buf_printf(q->w->where, "%s IS %sNULL", q->operand->value,
               json_bool(q->value, false) ? "NOT " : "");
    return count_condition(q->w, e);
}

static bool put_contains(const struct asked *q, struct err *e)
{
    const struct operand *o = q->operand;
    struct buf *out = q->w->where;
    if (!json_is(q->value, JSON_STRING))
        return wrong_value(q, "a string", e);
    if (!count_condition(q->w, e) || !question_add(q->w->question, q->value, e))
        return false;
    size_t param = q->w->question->param_count;
    if (o->kind == KIND_PROPERTY) {
        buf_printf(out, "CASE WHEN %s='array' THEN ", o->type);
        put_item(out, o, param);
        buf_printf(out, " ELSE instr(lower(%s),lower(?%zu))>0 END", o->value, param);
    } else if (o->kind == KIND_LIST) {
        put_item(out, o, param);
    } else {
        buf_printf(out, "instr(lower(%s),lower(?%zu))>0", o->value, param);
    }
    return true;
}

static const struct operator {
    const char *name;
    bool (*put)(const struct asked *q, struct err *e);
} operators[] = {
    {"eq", put_equal},          {"ne", put_unequal},  {"gt", put_greater},
    {"gte", put_at_least},      {"lt", put_less},     {"lte", put_at_most},
    {"in", put_one_of},         {"nin", put_none_of}, {"exists", put_exists},
    {"contains", put_contains},
};

/* "$and" and "and" are the same. */
static struct str bare(struct str name)
{
    return str_starts(name, "$") ? (struct str){name.at + 1, name.n - 1} : name;
}

static bool no_such_operator(struct str place, struct str name, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%.*s: there is no operator \"%.*s\"; the operators are $eq, $ne, "
                   "$gt, $gte, $lt, $lte, $in, $nin, $exists, $contains and $not",
                   STR_ARGS(place), STR_ARGS(str_cut(name, 40)));
}

/* ---- walking the filter --------------------------------------------------------------- */

static bool writer_push(struct writer *w, const struct json *value, struct frame frame,
                        struct err *e)
{
    if (w->depth == QUERY_DEPTH)
        return err_set(e, ERR_LIMIT, "body.filter is nested more than %u deep",
                       QUERY_DEPTH);
    frame.it = json_iter(value);
    buf_char(w->where, '(');
    w->frames[w->depth++] = frame;
    return true;
}

static struct str place_of(struct str outer, struct str key, char room[static 120])
{
    int n = snprintf(room, 120, "%.*s.%.*s", STR_ARGS(str_cut(outer, 60)),
                     STR_ARGS(str_cut(key, 50)));
    return (struct str){room, n > 0 ? (size_t)n : 0};
}

static bool field_put_operator(struct writer *w, struct frame *f, struct str place,
                               struct err *e)
{
    struct str name = bare(f->it.key);
    struct asked q = {w, &f->operand, f->it.value, place};
    if (str_is(name, "not")) {
        if (!json_is(f->it.value, JSON_OBJECT))
            return wrong_value(&q, "an object with operators", e);
        buf_cstr(w->where, "NOT coalesce(");
        return writer_push(w, f->it.value,
                           (struct frame){.join = " AND ",
                                          .end = ",0)",
                                          .of_field = true,
                                          .operand = f->operand,
                                          .place = f->place},
                           e);
    }
    for (size_t i = 0; i < LENGTH(operators); i++)
        if (str_is(name, operators[i].name))
            return operators[i].put(&q, e);
    return no_such_operator(f->place, f->it.key, e);
}

static bool put_field(struct writer *w, struct frame *f, struct str place, struct err *e)
{
    struct operand o;
    if (!question_operand(w->question, f->it.key, f->place, &o, e))
        return false;
    struct asked q = {w, &o, f->it.value, place};
    if (!json_is(f->it.value, JSON_OBJECT))
        return put_equal(&q, e);
    if (!json_length(f->it.value))
        return no_such_operator(place, STR(""), e);
    return writer_push(w, f->it.value,
                       (struct frame){.join = " AND ",
                                      .end = "",
                                      .of_field = true,
                                      .operand = o,
                                      .place = f->it.key},
                       e);
}

static bool put_joined(struct writer *w, const struct frame *f, const char *join,
                       struct str place, struct err *e)
{
    const struct json *list = f->it.value;
    if (!json_is(list, JSON_ARRAY) || !json_length(list))
        return err_set(e, ERR_INVALID, "%.*s must be an array of at least one filter",
                       STR_ARGS(place));
    return writer_push(w, list,
                       (struct frame){.join = join, .end = "", .place = f->it.key}, e);
}

/* A member of an object of the filter. */
static bool put_member(struct writer *w, struct frame *f, struct err *e)
{
    char room[120];
    struct str place = place_of(f->place, f->it.key, room), name = bare(f->it.key);
    if (f->of_field)
        return field_put_operator(w, f, place, e);
    if (str_is(name, "and"))
        return put_joined(w, f, " AND ", place, e);
    if (str_is(name, "or"))
        return put_joined(w, f, " OR ", place, e);
    if (!str_is(name, "not"))
        return put_field(w, f, place, e);
    if (!json_is(f->it.value, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "%.*s must be a filter, an object",
                       STR_ARGS(place));
    buf_cstr(w->where, "NOT coalesce(");
    return writer_push(w, f->it.value,
                       (struct frame){.join = " AND ", .end = ",0)", .place = f->it.key},
                       e);
}

static bool put_element(struct writer *w, struct frame *f, struct err *e)
{
    if (json_is(f->it.value, JSON_OBJECT))
        return writer_push(w, f->it.value,
                           (struct frame){.join = " AND ", .end = "", .place = f->place},
                           e);
    return err_set(e, ERR_INVALID,
                   "%.*s: each of its elements must be a filter, an object",
                   STR_ARGS(f->place));
}

static bool put_where(struct writer *w, const struct json *filter, struct err *e)
{
    if (!filter || json_is(filter, JSON_NULL))
        filter = NULL;
    else if (!json_is(filter, JSON_OBJECT))
        return err_set(e, ERR_INVALID, "body.filter must be an object, not %s",
                       json_type_name(json_type(filter)));
    if (!writer_push(
            w, filter,
            (struct frame){.join = " AND ", .end = "", .place = STR("body.filter")}, e))
        return false;
    while (w->depth) {
        struct frame *f = &w->frames[w->depth - 1];
        if (!json_next(&f->it)) {
            buf_printf(w->where, "%s)%s", f->any ? "" : "1", f->end);
            w->depth--;
            continue;
        }
        if (f->any)
            buf_cstr(w->where, f->join);
        f->any = true;
        bool is_object = json_is(f->it.container, JSON_OBJECT);
        if (!(is_object ? put_member(w, f, e) : put_element(w, f, e)))
            return false;
    }
    return buf_check(w->where, "the filter", e);
}

bool filter_write(struct question *q, const struct json *filter, struct buf *where,
                  struct err *e)
{
    struct writer w = {.question = q};
    w.where = where;
    return put_where(&w, filter, e);
}
