/* Which name of the agent's code is not there. The engine says "not a function" and
 * where; what stands at that place in the code is "notes.serach". */
#include <ctype.h>

#include "script/internal.h"

#define PARTS_MAX 6u    /* of a dotted name */
#define LOOK_BACK 4000u /* bytes */

/* What code of other places calls, and finds undefined here. */
static const char *const absent[] = {"fetch",   "require", "process",    "module",
                                     "exports", "global",  "globalThis", "fs"};

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The byte at which that line and column (in characters, from 1) begin; code.n where
 * there is no such place. */
static size_t offset_of(struct str code, uint32_t line, uint32_t column)
{
    const char *at = code.at, *end = code.at + code.n;
    for (uint32_t l = 1; l < line; l++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            return code.n;
        at = stop + 1;
    }
    for (uint32_t c = 1; c < column && at < end && *at != '\n'; c++)
        (void)str_next_char(&at, end);
    return (size_t)(at - code.at);
}

static struct str word_at(struct str code, size_t from)
{
    size_t to = from;
    while (to < code.n && is_letter(code.at[to]))
        to++;
    return (struct str){code.at + from, to - from};
}

/* Steps left over "." or "?." and white space around it to the word before. false:
 * what stands there is no plain word, as in "f().x". */
static bool step_left(struct str code, size_t *at, bool *dotted)
{
    size_t i = *at;
    while (i > 0 && is_space(code.at[i - 1]))
        i--;
    *dotted = i > 0 && code.at[i - 1] == '.';
    if (!*dotted)
        return true;
    i--;
    i -= i > 0 && code.at[i - 1] == '?';
    while (i > 0 && is_space(code.at[i - 1]))
        i--;
    size_t end = i;
    while (i > 0 && is_letter(code.at[i - 1]))
        i--;
    *at = i;
    return i < end;
}

struct chain {
    struct str parts[PARTS_MAX]; /* the last one first */
    size_t count;
};

/* The dotted name that ends in the word at `from`. */
static bool read_left(struct str code, size_t from, struct chain *out)
{
    bool dotted = true;
    out->count = 0;
    while (dotted && out->count < PARTS_MAX) {
        struct str word = word_at(code, from);
        if (!word.n || isdigit((unsigned char)word.at[0]))
            return false;
        out->parts[out->count++] = word;
        if (!step_left(code, &from, &dotted))
            return false;
    }
    return !dotted;
}

/* Where the bracket stands that is open at `at`; code.n: none, or too far away. */
static size_t find_open(struct str code, size_t at)
{
    int depth = 0;
    for (size_t i = at; i-- > 0 && at - i < LOOK_BACK;) {
        char c = code.at[i];
        depth += (c == ')' || c == ']' || c == '}');
        depth -= (c == '(' || c == '[' || c == '{');
        if (depth < 0)
            return i;
    }
    return code.n;
}

static void put_chain(const struct chain *c, size_t without, struct buf *out)
{
    for (size_t i = c->count; i-- > without;)
        buf_printf(out, "%s%.*s", out->n ? "." : "", STR_ARGS(c->parts[i]));
}

/* The name that begins at `from`, as far as dots lead. */
static void put_right(struct str code, size_t from, struct buf *out)
{
    for (unsigned i = 0; i < PARTS_MAX; i++) {
        struct str word = word_at(code, from);
        if (!word.n)
            break;
        buf_printf(out, "%s%.*s", out->n ? "." : "", STR_ARGS(word));
        from += word.n;
        if (from >= code.n || code.at[from] != '.')
            break;
        from++;
    }
}

/* The rows, and which of them this run has: a feature that was not asked for is not
 * there. */
struct given {
    const struct script *script;
    uint32_t features;
};

static bool is_row(const struct given *g, struct str name, bool whole)
{
    for (size_t i = 0; i < g->script->row_count; i++) {
        const char *row = g->script->rows[i].name;
        uint32_t feature = g->script->rows[i].feature;
        bool there = !whole || !feature || (feature & g->features);
        if (there &&
            str_eq(name, (struct str){row, whole ? strlen(row) : strcspn(row, ".")}))
            return true;
    }
    return false;
}

/* Puts the name where it is sure that this is what is no function, and not one of its
 * arguments: it would be the host's, or is of what is never there. */
static bool put_if_ours(const struct given *g, const struct chain *c, struct buf *out)
{
    struct str root = c->parts[c->count - 1];
    bool ours = is_row(g, root, false);
    for (size_t i = 0; i < LENGTH(absent); i++)
        ours |= str_is(root, absent[i]);
    if (!ours)
        return false;
    put_chain(c, 0, out);
    if (!is_row(g, buf_view(out), true))
        return true;
    buf_clear(out);
    return false;
}

/* The place is that of the callee or, where its arguments name something, that of the
 * last of these: then the callee stands before a bracket that is open there. */
static bool find_callee(const struct given *g, struct str code, size_t from,
                        struct buf *out)
{
    struct chain chain;
    if (read_left(code, from, &chain) && put_if_ours(g, &chain, out))
        return true;
    for (size_t at = find_open(code, from); at < code.n; at = find_open(code, at)) {
        size_t word = at;
        while (word > 0 && is_letter(code.at[word - 1]))
            word--;
        if (code.at[at] == '(' && read_left(code, word, &chain) &&
            put_if_ours(g, &chain, out))
            return true;
    }
    return false;
}

static void name_callee(const struct given *g, struct str code, size_t from,
                        struct script_outcome *out)
{
    if (!find_callee(g, code, from, &out->missing))
        return;
    buf_clear(&out->message);
    buf_str(&out->message, buf_view(&out->missing));
    buf_cstr(&out->message, " is not a function");
}

/* What is looked into begins at `from`; the last property of that name is not its. */
static void name_object(struct str code, size_t from, struct str message, struct buf *out)
{
    scoped_buf struct buf whole;
    buf_init(&whole, code.n + 64);
    put_right(code, from, &whole);
    const char *quote = memchr(message.at, '\'', message.n);
    const char *end =
        quote ? memchr(quote + 1, '\'', (size_t)(message.at + message.n - quote - 1))
              : NULL;
    struct str name = buf_view(&whole);
    while (end && name.n) {
        const char *dot = memrchr(name.at, '.', name.n);
        if (!dot)
            return;
        struct str last = {dot + 1, (size_t)(name.at + name.n - dot - 1)};
        name.n -= last.n + 1;
        if (str_eq(last, (struct str){quote + 1, (size_t)(end - quote - 1)}))
            break;
    }
    buf_str(out, name);
}

void explain_missing(const struct script *s, const struct script_request *q,
                     struct script_outcome *out)
{
    bool within = out->within.line != 0;
    struct str code = !within     ? q->code
                      : q->source ? q->source(q->perform_arg, str_of(out->within.file))
                                  : (struct str){0};
    if (!code.n)
        return;
    struct str message = buf_view(&out->message);
    uint32_t line = within ? out->within.line : out->line;
    size_t from = offset_of(code, line, within ? out->within.column : out->column);
    if (!line || from >= code.n)
        return;
    if (str_ends(message, " is not defined"))
        put_right(code, from, &out->missing);
    else if (str_is(message, "not a function"))
        name_callee(&(struct given){s, q->features}, code, from, out);
    else if (str_starts(message, "cannot read property "))
        name_object(code, from, message, &out->missing);
}
