/* The shape of a piece of code, names and literals aside: two pieces with one
 * shape do the same to other things. Told by tokens alone, so that it is quick, takes code
 * that does not parse, and cannot be made to do more than read it once.
 */
#include "usage/shape.h"

struct reader {
    const char *at, *end;
    uint32_t line;
    struct code_shape *out;
    bool names; /* count, too: nothing is left out but comments, spaces and `self` */
    struct str self;
    bool value;     /* the token before ends a value: a slash divides it */
    bool after_dot; /* a property's name comes */
};

static void mix(struct reader *r, const char *bytes, size_t n)
{
    uint64_t hash = hash_fnv(r->out->hash, (struct str){bytes, n});
    r->out->hash =
        hash_fnv(hash, STR("\xff")); /* what ends here cannot begin what follows */
}

static void token(struct reader *r, const char *from, bool value)
{
    mix(r, from, (size_t)(r->at - from));
    r->out->tokens++;
    r->value = value;
    r->after_dot = false;
}

static void put_literal(struct reader *r, const char *from, uint32_t line, char kind)
{
    struct code_shape *s = r->out;
    if (r->names) {
        token(r, from, true);
        return;
    }
    if (s->literal_count < LENGTH(s->literals))
        s->literals[s->literal_count++] =
            (struct code_literal){{from, (size_t)(r->at - from)}, line};
    mix(r, &kind, 1);
    s->tokens++;
    r->value = true;
    r->after_dot = false;
}

static bool is_name_char(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static void newline_if(struct reader *r)
{
    r->line += *r->at == '\n';
}

/* Up to the end of the comment; false: it is none. */
static bool skip_comment(struct reader *r)
{
    if (r->end - r->at < 2 || r->at[0] != '/' || (r->at[1] != '/' && r->at[1] != '*'))
        return false;
    bool block = r->at[1] == '*';
    for (r->at += 2; r->at < r->end; r->at++) {
        if (!block && *r->at == '\n')
            return true;
        if (block && *r->at == '*' && r->at + 1 < r->end && r->at[1] == '/') {
            r->at += 2;
            return true;
        }
        newline_if(r);
    }
    return true;
}

/* A string, or a regular expression, or a template with all that is in it. */
static void quoted(struct reader *r, char quote)
{
    const char *from = r->at++;
    uint32_t line = r->line, depth = 0;
    bool class = false;
    for (; r->at < r->end; r->at++) {
        char c = *r->at;
        newline_if(r);
        if (c == '\\' && r->at + 1 < r->end) {
            r->at++;
            newline_if(r);
        } else if (quote == '`' && c == '$' && r->at + 1 < r->end && r->at[1] == '{') {
            depth++;
            r->at++;
        } else if (depth) {
            depth -= c == '}';
        } else if (quote == '/' && (c == '[' || c == ']')) {
            class = c == '[';
        } else if ((c == quote && !class) || (c == '\n' && quote != '`')) {
            break;
        }
    }
    r->at += r->at < r->end && *r->at == quote;
    while (quote == '/' && r->at < r->end && is_name_char(*r->at))
        r->at++;
    put_literal(r, from, line, '"');
}

static void skip_number(struct reader *r)
{
    const char *from = r->at;
    while (r->at < r->end &&
           (is_name_char(*r->at) ||
            (*r->at == '.' && r->at + 1 < r->end && r->at[1] >= '0' && r->at[1] <= '9')))
        r->at++;
    put_literal(r, from, r->line, '0');
}

static bool is_keyword(struct str name, bool *value)
{
    /* Behind these a slash begins a regular expression; behind the second row it divides. */
    static const char before[] =
        " as async await break case catch class const continue default delete do else enum"
        " export extends finally for from function if implements import in instanceof"
        " interface let new of return switch throw try type typeof var void while with"
        " yield ";
    static const char after[] = " false null super this true undefined ";
    char padded[16];
    if (name.n + 2 >= sizeof padded)
        return false;
    padded[0] = ' ';
    memcpy(padded + 1, name.at, name.n);
    padded[name.n + 1] = ' ';
    *value = memmem(after, sizeof after - 1, padded, name.n + 2);
    return *value || memmem(before, sizeof before - 1, padded, name.n + 2);
}

static void put_word(struct reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && is_name_char(*r->at))
        r->at++;
    struct str name = {from, (size_t)(r->at - from)};
    bool value = true, keyword = !r->after_dot && is_keyword(name, &value);
    const char *next = r->at;
    while (next < r->end && (*next == ' ' || *next == '?'))
        next++;
    bool key = next < r->end && *next == ':';
    if (r->names ? !str_eq(name, r->self) : keyword || r->after_dot || key) {
        token(r, from, keyword ? value : true);
        return;
    }
    mix(r, "a", 1);
    r->out->tokens++;
    r->value = true;
    r->after_dot = false;
}

static void punctuation(struct reader *r)
{
    char c = *r->at;
    const char *from = r->at++;
    token(r, from, c == ')' || c == ']' || c == '}');
    r->after_dot = c == '.' && r->at < r->end && *r->at != '.';
}

static void read_all(struct reader *r)
{
    uint32_t last = 0;
    while (r->at < r->end) {
        char c = *r->at;
        if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
            newline_if(r);
            r->at++;
            continue;
        }
        if (skip_comment(r))
            continue;
        if (r->line != last)
            r->out->lines++;
        if (c == '"' || c == '\'' || c == '`' || (c == '/' && !r->value))
            quoted(r, c);
        else if (char_is_digit(c))
            skip_number(r);
        else if (is_name_char(c))
            put_word(r);
        else
            punctuation(r);
        last = r->line;
    }
}

void code_shape(struct str code, struct code_shape *out)
{
    *out = (struct code_shape){.hash = HASH_FNV};
    struct reader r = {.at = code.at, .end = code.at + code.n, .line = 1, .out = out};
    read_all(&r);
}

uint64_t code_sum(struct str code, struct str self)
{
    struct code_shape s = {.hash = HASH_FNV};
    struct reader r = {.at = code.at,
                       .end = code.at + code.n,
                       .line = 1,
                       .out = &s,
                       .names = true,
                       .self = self};
    read_all(&r);
    return s.hash;
}

/* ---- parts ----------------------------------------------------------------- */

static bool begins_function(struct str line)
{
    static const char *const heads[] = {"export ", "default ", "async ", "const ",
                                        "let "};
    for (size_t i = 0; i < LENGTH(heads); i++)
        if (str_starts(line, heads[i])) {
            size_t n = strlen(heads[i]);
            line = (struct str){line.at + n, line.n - n};
            if (i >= 3)
                return memmem(line.at, line.n, "=>", 2) ||
                       memmem(line.at, line.n, "function", 8);
        }
    return str_starts(line, "function ") || str_starts(line, "function*") ||
           str_starts(line, "class ");
}

size_t code_functions(struct str code, struct str *out, size_t room)
{
    size_t count = 0;
    const char *end = code.at + code.n;
    /* Where programs are laid out as usual: from a head in the first column to the next
     * line that closes there. */
    for (const char *at = code.at; at < end && count < room;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        struct str line = {at, (size_t)(stop - at)};
        if (begins_function(line)) {
            const char *close = memmem(stop, (size_t)(end - stop), "\n}", 2);
            if (!close)
                break;
            close += 2;
            out[count++] = (struct str){at, (size_t)(close - at)};
            stop = memchr(close, '\n', (size_t)(end - close));
            stop = stop ? stop : end;
        }
        at = stop + (stop < end);
    }
    return count;
}
