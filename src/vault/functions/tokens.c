#include "functions/tokens.h"

struct tokens tokens_of(struct str code, bool python)
{
    return (struct tokens){.code = code, .python = python};
}

bool token_is(const struct token *t, const char *text)
{
    return t->kind != TOKEN_TEXT && str_is(t->text, text);
}

static char peek(const struct tokens *t, size_t ahead)
{
    return ahead < t->code.n - t->at ? t->code.at[t->at + ahead] : '\0';
}

static bool is_word_char(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '_' || c == '$' || (c & 0x80);
}

/* ---- what is passed over ------------------------------------------------- */

static void skip_line(struct tokens *t)
{
    while (t->at < t->code.n && t->code.at[t->at] != '\n')
        t->at++;
}

static void skip_comment(struct tokens *t)
{
    const char *from = t->code.at + t->at + 2;
    const char *end = memmem(from, t->code.n - t->at - 2, "*/", 2);
    t->odd |= !end;
    t->at = end ? (size_t)(end + 2 - t->code.at) : t->code.n;
}

static void skip_space(struct tokens *t)
{
    while (t->at < t->code.n) {
        char c = peek(t, 0);
        if (t->python && c == '#')
            skip_line(t);
        else if (!t->python && c == '/' && peek(t, 1) == '/')
            skip_line(t);
        else if (!t->python && c == '/' && peek(t, 1) == '*' && t->code.n - t->at >= 2)
            skip_comment(t);
        else if (memchr(" \t\r\n\v\f", c, 6))
            t->at++;
        else
            break;
    }
}

/* ---- tokens -------------------------------------------------------------- */

/* Behind the sign that ends what begins at `at`; a backslash protects the next one. */
static void skip_quoted(struct tokens *t, char end)
{
    for (t->at++; t->at < t->code.n; t->at++) {
        char c = peek(t, 0);
        if (c == '\\') {
            t->at++;
        } else if (c == end) {
            t->at++;
            return;
        } else if (c == '\n') {
            break;
        }
    }
    t->odd = true;
    t->at = t->at < t->code.n ? t->at : t->code.n;
}

static void skip_regex(struct tokens *t)
{
    bool in_class = false;
    for (t->at++; t->at < t->code.n; t->at++) {
        char c = peek(t, 0);
        if (c == '\\') {
            t->at++;
        } else if (c == '\n') {
            break;
        } else if (c == '/' && !in_class) {
            for (t->at++; is_word_char(peek(t, 0));)
                t->at++;
            return;
        } else if (c == '[' || c == ']') {
            in_class = c == '[';
        }
    }
    t->odd = true;
    t->at = t->at < t->code.n ? t->at : t->code.n;
}

/* From a back quote, or the brace that ends an expression in it, to the next of these. */
static enum token_kind skip_template(struct tokens *t)
{
    bool whole = peek(t, 0) == '`';
    for (t->at++; t->at < t->code.n; t->at++) {
        char c = peek(t, 0);
        if (c == '\\') {
            t->at++;
        } else if (c == '`') {
            t->at++;
            return whole ? TOKEN_TEXT : TOKEN_PART;
        } else if (c == '$' && peek(t, 1) == '{') {
            t->at += 2;
            t->odd |= t->nested == TOKENS_NESTED;
            if (t->nested < TOKENS_NESTED)
                t->braces[t->nested++] = 0;
            return TOKEN_PART;
        }
    }
    t->odd = true;
    t->at = t->code.n;
    return TOKEN_PART;
}

/* Does a '/' after this token divide? */
static bool ends_value(const struct token *last)
{
    static const char *const before[] = {
        "return", "typeof", "case",  "in",   "of", "delete",     "void", "throw",
        "new",    "await",  "yield", "else", "do", "instanceof", NULL};
    switch (last->kind) {
    case TOKEN_END:
        return false;
    case TOKEN_WORD:
        for (size_t i = 0; before[i]; i++)
            if (token_is(last, before[i]))
                return false;
        return true;
    case TOKEN_SIGN:
        return token_is(last, ")") || token_is(last, "]") || token_is(last, "}");
    case TOKEN_PART:
        return last->text.at[last->text.n - 1] == '`';
    default:
        return true;
    }
}

static enum token_kind skip_sign(struct tokens *t)
{
    char c = peek(t, 0);
    unsigned *open = t->nested ? &t->braces[t->nested - 1] : NULL;
    if (c == '}' && open && !*open) {
        t->nested--;
        return skip_template(t);
    }
    if (open && c == '{')
        ++*open;
    if (open && c == '}')
        --*open;
    t->at += c == '?' && peek(t, 1) == '.' ? 2 : 1;
    return TOKEN_SIGN;
}

/* Python's strings, from their quote on; three quotes begin one of several lines. */
static enum token_kind skip_python_text(struct tokens *t)
{
    char quote = peek(t, 0);
    if (peek(t, 1) != quote || peek(t, 2) != quote) {
        skip_quoted(t, quote);
        return TOKEN_TEXT;
    }
    for (t->at += 3; t->at < t->code.n; t->at++) {
        if (peek(t, 0) == '\\') {
            t->at++;
        } else if (peek(t, 0) == quote && peek(t, 1) == quote && peek(t, 2) == quote) {
            t->at += 3;
            return TOKEN_TEXT;
        }
    }
    t->odd = true;
    return TOKEN_TEXT;
}

/* A name, a number, a string with its prefix, or a sign. */
static enum token_kind skip_python(struct tokens *t)
{
    char c = peek(t, 0);
    size_t from = t->at;
    while (is_word_char(peek(t, 0)) && peek(t, 0) != '$')
        t->at++;
    char end = peek(t, 0);
    if ((end == '"' || end == '\'') && t->at - from <= 2)
        return skip_python_text(t);
    if (t->at > from)
        return char_is_digit(c) ? TOKEN_OTHER : TOKEN_WORD;
    t->at++;
    return TOKEN_SIGN;
}

static enum token_kind skip_token(struct tokens *t)
{
    if (t->python)
        return skip_python(t);
    char c = peek(t, 0);
    if (c == '"' || c == '\'') {
        skip_quoted(t, c);
        return TOKEN_TEXT;
    }
    if (c == '`')
        return skip_template(t);
    if (c == '/' && !ends_value(&t->last)) {
        skip_regex(t);
        return TOKEN_OTHER;
    }
    if (!is_word_char(c))
        return skip_sign(t);
    bool number = char_is_digit(c);
    while (is_word_char(peek(t, 0)))
        t->at++;
    return number ? TOKEN_OTHER : TOKEN_WORD;
}

struct token token_next(struct tokens *t)
{
    skip_space(t);
    size_t from = t->at;
    if (from >= t->code.n)
        return (struct token){.kind = TOKEN_END, .text = {"", 0}};
    enum token_kind kind = skip_token(t);
    if (t->at > t->code.n)
        t->at = t->code.n;
    t->last = (struct token){kind, {t->code.at + from, t->at - from}};
    return t->last;
}
