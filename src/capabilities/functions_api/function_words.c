/* Quotes others' text - names, types, descriptions of custom functions - in a text of
 * ours: a prompt's line, a comment, a declaration. None of it can end its context. */
#include "functions_api/function_text.h"

/* ---- prose ---------------------------------------------------------------------- */

static bool codepoint_is_space(uint32_t c)
{
    return c <= ' ' || (c >= 0x7f && c <= 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Invisible characters that reverse or hide text: bidirectional controls, zero-width
 * spaces, tags. */
static bool codepoint_is_hidden(uint32_t c)
{
    return (c >= 0x200b && c <= 0x200f && c != 0x200c && c != 0x200d) ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x2069) || c == 0xfeff ||
           (c >= 0xe0000 && c <= 0xe007f);
}

/* Markdown's markup at the beginning of a line. */
static bool is_mark(uint32_t c)
{
    return c == '#' || c == '>' || c == '-' || c == '=' || c == '*' || c == '+' ||
           c == '`' || c == '~' || c == '|' || c == '<';
}

void words_put(struct str text, size_t most, struct buf *out)
{
    const char *at = text.at, *end = text.at + text.n;
    size_t from = out->n;
    bool space = false, begun = false;
    while (at < end && out->n - from < most) {
        const char *was = at;
        uint32_t c = str_next_char(&at, end);
        if (codepoint_is_hidden(c) || (!begun && is_mark(c)))
            continue;
        if (codepoint_is_space(c)) {
            space = begun;
            continue;
        }
        if (space)
            buf_char(out, ' ');
        if (c == '`')
            buf_char(out, '\'');
        else
            buf_put(out, was, (size_t)(at - was));
        if (c == '*' && at < end && *at == '/')
            buf_char(out, ' ');
        space = false;
        begun = true;
    }
    if (at < end)
        buf_cstr(out, "...");
}

/* ---- names and types -------------------------------------------------------------- */

bool words_are_name(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                      c == '$' || c >= 0x80;
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return text.n > 0 && text.n <= 256;
}

#define NESTED_MAX 64u

/* A scan over a type: position, and open brackets. */
struct nesting {
    struct str text;
    size_t i, depth;
    char open[NESTED_MAX];
};

/* The end of a string, or nothing. */
static bool skip_string(struct nesting *n)
{
    char quote = n->text.at[n->i];
    while (++n->i < n->text.n && n->text.at[n->i] != quote)
        n->i += n->text.at[n->i] == '\\';
    return n->i < n->text.n;
}

static char closes(char c)
{
    switch (c) {
    case '(':
        return ')';
    case '[':
        return ']';
    case '{':
        return '}';
    default:
        return '>';
    }
}

/* One character outside of strings. A type cannot contain, outside of brackets, what
 * would end its context (a parameter's, a result's). */
static bool step(struct nesting *n)
{
    char c = n->text.at[n->i];
    char next = n->i + 1 < n->text.n ? n->text.at[n->i + 1] : '\0';
    if (c == '=' && next == '>') {
        n->i++;
        return true;
    }
    if (strchr("([{<", c)) {
        if (n->depth == NESTED_MAX)
            return false;
        n->open[n->depth++] = closes(c);
        return true;
    }
    if (strchr(")]}>", c))
        return n->depth && n->open[--n->depth] == c;
    if (strchr("'\"`", c))
        return skip_string(n);
    return !(c == '/' && (next == '/' || next == '*')) && c != '\\' && c != '\0' &&
           !(n->depth == 0 && strchr(";,=", c));
}

static bool is_contained(struct str type)
{
    struct nesting n = {.text = type};
    for (; n.i < type.n; n.i++)
        if (!step(&n))
            return false;
    return n.depth == 0;
}

/* Steps over one character, appended as it is, as a space, or not at all; returns it. */
static uint32_t put_visible(const char **at, const char *end, struct buf *out)
{
    const char *was = *at;
    uint32_t c = str_next_char(at, end);
    if (codepoint_is_space(c))
        buf_char(out, ' ');
    else if (!codepoint_is_hidden(c))
        buf_put(out, was, (size_t)(*at - was));
    return c;
}

void words_put_type(struct str type, size_t most, struct buf *out)
{
    type = str_trim(type);
    if (!type.n || type.n > most || !is_contained(type)) {
        buf_cstr(out, "any");
        return;
    }
    for (const char *at = type.at, *end = at + type.n; at < end;)
        (void)put_visible(&at, end, out);
}

void words_put_code(struct str code, struct buf *out)
{
    for (const char *at = code.at, *end = at + code.n; at < end;)
        if (put_visible(&at, end, out) == '*' && at < end && *at == '/')
            buf_char(out, ' ');
}
