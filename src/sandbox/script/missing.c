/* The name in the agent's code that is not there. The engine says "not a function" and
 * where (own.sed); the text that ends at that place is "notes.serach". */

#include "script/internal.h"

#define PARTS_MAX 6u /* of a dotted name */

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
    while (to < code.n && char_is_word(code.at[to]))
        to++;
    return (struct str){code.at + from, to - from};
}

/* Steps left over "." or "?." and white space around it to the word before. false:
 * what stands there is no plain word, as in "f().x". */
static bool step_left(struct str code, size_t *at, bool *dotted)
{
    size_t i = *at;
    while (i > 0 && char_is_space(code.at[i - 1]))
        i--;
    *dotted = i > 0 && code.at[i - 1] == '.' && (i == 1 || code.at[i - 2] != '.');
    if (!*dotted)
        return true;
    i--;
    i -= i > 0 && code.at[i - 1] == '?';
    while (i > 0 && char_is_space(code.at[i - 1]))
        i--;
    size_t end = i;
    while (i > 0 && char_is_word(code.at[i - 1]))
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
        if (!word.n || char_is_digit(word.at[0]))
            return false;
        out->parts[out->count++] = word;
        if (!step_left(code, &from, &dotted))
            return false;
    }
    return !dotted;
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

/* Does `word` stand before the place, with white space between? */
static bool is_behind(struct str code, size_t from, const char *word)
{
    size_t i = from, n = strlen(word);
    while (i > 0 && char_is_space(code.at[i - 1]))
        i--;
    return i < from && i >= n && !memcmp(code.at + i - n, word, n) &&
           (i == n || !char_is_word(code.at[i - n - 1]));
}

/* Was it thrown in a function of the engine's own, which the code at the place calls? */
static bool is_inside_native(const struct script_outcome *out)
{
    struct str stack = buf_view(&out->stack);
    const char *end = stack.n ? memchr(stack.at, '\n', stack.n) : NULL;
    return end && str_ends((struct str){stack.at, (size_t)(end - stack.at)}, "(native)");
}

/* Whatever is called, `missing` is its whole name, where it has one. */
static void name_callee(struct str code, size_t from, struct script_outcome *out)
{
    struct chain chain;
    struct str word = word_at(code, from);
    if (str_ends(word, "Error"))
        return; /* the code says so itself: new TypeError('not a function') */
    if (is_behind(code, from, "of")) { /* for await (const x of 5) */
        buf_clear(&out->message);
        buf_cstr(&out->message, "the value after 'of' is not iterable");
        return;
    }
    if (is_inside_native(out)) {
        buf_clear(&out->message);
        buf_printf(&out->message, "what %.*s was given is not a function",
                   STR_ARGS(word));
        return;
    }
    if (is_behind(code, from, "new")) /* its name goes on to the right */
        put_right(code, from, &out->missing);
    else if (read_left(code, from, &chain))
        put_chain(&chain, 0, &out->missing);
    struct str name = out->missing.n ? buf_view(&out->missing) : word;
    if (!name.n)
        return;
    buf_clear(&out->message);
    buf_printf(&out->message, "%.*s is not a %s", STR_ARGS(name),
               is_behind(code, from, "new") ? "constructor" : "function");
}

/* Names the object that is accessed: the place is that of the property, or where a
 * bracket follows, of the last name before it. */
static void name_object(struct str code, size_t from, struct str message, struct buf *out)
{
    struct chain chain;
    const char *quote = memchr(message.at, '\'', message.n);
    const char *end =
        quote ? memchr(quote + 1, '\'', (size_t)(message.at + message.n - quote - 1))
              : NULL;
    if (!end || !read_left(code, from, &chain))
        return;
    struct str property = {quote + 1, (size_t)(end - quote - 1)};
    bool is_property = str_eq(chain.parts[0], property);
    if (!is_property || chain.count > 1)
        put_chain(&chain, is_property, out);
}

/* "{content} = null": the place is that of the first name in the pattern. */
static void name_pattern(struct str code, size_t from, struct script_outcome *out)
{
    struct str word = word_at(code, from);
    size_t i = from;
    while (i > 0 && char_is_space(code.at[i - 1]))
        i--;
    if (i == 0 || code.at[i - 1] != '{')
        return;
    buf_clear(&out->message);
    if (word.n)
        buf_printf(&out->message, "cannot read property '%.*s' of undefined or null",
                   STR_ARGS(word));
    else
        buf_cstr(&out->message, "undefined or null cannot be taken apart");
}

/* The engine asks for an iterator as for any property. */
static void name_iteration(struct script_outcome *out)
{
    const char *what = str_ends(buf_view(&out->message), "null") ? "null" : "undefined";
    buf_clear(&out->message);
    buf_printf(&out->message, "%s is not iterable", what);
}

void explain_missing(const struct script_request *q, struct script_outcome *out)
{
    bool within = out->within.line != 0;
    struct str code = !within     ? q->code
                      : q->source ? q->source(q->perform_arg, str_of(out->within.file))
                                  : (struct str){0};
    if (str_starts(buf_view(&out->message), "cannot read property 'Symbol.iterator'"))
        name_iteration(out);
    if (!code.n)
        return;
    struct str message = buf_view(&out->message);
    uint32_t line = within ? out->within.line : out->line;
    size_t from = offset_of(code, line, within ? out->within.column : out->column);
    if (!line || from >= code.n)
        return;
    if (str_ends(message, " is not defined"))
        put_right(code, from, &out->missing);
    else if (str_is(message, "not a function") || str_is(message, "not a constructor"))
        name_callee(code, from, out);
    else if (str_starts(message, "cannot read property "))
        name_object(code, from, message, &out->missing);
    else if (str_is(message, "Cannot convert undefined or null to object"))
        name_pattern(code, from, out);
}
