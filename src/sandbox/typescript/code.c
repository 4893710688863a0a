/* JavaScript with its positions: made once, shared by all who evaluate it. */
#include "typescript/internal.h"

static char *code_copy(struct str s)
{
    char *c = malloc(s.n + 1);
    if (!c)
        return NULL;
    memcpy(c, s.at, s.n);
    c[s.n] = '\0';
    return c;
}

static size_t code_size(const struct typescript_code *c)
{
    return sizeof *c + c->from.text.n + c->to.text.n +
           (c->from.count + c->to.count) * sizeof *c->to.starts +
           c->positions.count * sizeof *c->positions.row;
}

static void free_code(struct cached *v)
{
    struct typescript_code *c = (struct typescript_code *)v;
    positions_done(&c->positions);
    lined_done(&c->from);
    lined_done(&c->to);
    free(c->source);
    free(c->javascript);
    free(c);
}

struct typescript_code *code_new(struct str source, struct str javascript,
                                 struct positions *positions, struct err *e)
{
    struct typescript_code *c = mem_new(sizeof *c);
    c->positions = *positions;
    *positions = (struct positions){0};
    c->source = code_copy(source);
    c->javascript = code_copy(javascript);
    if (c->source && c->javascript &&
        lined_init(&c->from, (struct str){c->source, source.n}) &&
        lined_init(&c->to, (struct str){c->javascript, javascript.n})) {
        cached_init(&c->cached, code_size(c), free_code);
        return c;
    }
    err_set(e, ERR_LIMIT, "there is no memory for %zu bytes of code", javascript.n);
    free_code(&c->cached);
    return NULL;
}

void typescript_drop(const struct typescript_code *c)
{
    cached_release(c ? &c->cached : NULL);
}

struct str typescript_javascript(const struct typescript_code *c)
{
    return c->to.text;
}

struct typescript_place typescript_origin(const struct typescript_code *c,
                                          struct typescript_place at)
{
    struct typescript_place none = {0};
    if (at.line == 0)
        return none;
    uint32_t line = at.line - 1, column = at.column ? at.column - 1 : 0;
    const struct segment *s = positions_find(
        &c->positions, line, units_of_chars(lined_at(&c->to, line), column));
    if (!s)
        return none;
    struct str from = lined_at(&c->from, s->from_line);
    return (struct typescript_place){s->from_line + 1,
                                     chars_of_units(from, s->from_column) + 1};
}
