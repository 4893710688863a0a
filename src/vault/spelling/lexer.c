#include "spelling/lexer.h"

void lexer_init(struct lexer *l, struct str code, bool types)
{
    *l = (struct lexer){.rest = code, .types = types};
}

char lexer_inside(const struct lexer *l)
{
    return l->depth ? l->open[l->depth - 1] : '\0';
}

bool lexer_is(struct token t, const char *text)
{
    return (t.kind == TOKEN_WORD || t.kind == TOKEN_SIGN) && str_is(t.text, text);
}

/* ---- what is taken off --------------------------------------------------- */

static struct token take_off(struct lexer *l, enum token_kind kind, size_t n)
{
    struct token t = {kind, {l->rest.at, n}};
    l->rest.at += n;
    l->rest.n -= n;
    if (kind != TOKEN_COMMENT)
        l->last = t;
    return t;
}

static struct token lex_bad(struct lexer *l)
{
    struct token t = {TOKEN_BAD, str_cut(l->rest, 20)};
    l->rest.n = 0;
    l->last = t;
    return t;
}

static bool lexer_push(struct lexer *l, char bracket)
{
    if (l->depth == LEXER_DEPTH)
        return false;
    l->open[l->depth++] = bracket;
    return true;
}

static bool is_word_byte(char c)
{
    return char_is_word(c) || c == '#';
}

static void skip_space(struct lexer *l)
{
    while (l->rest.n && strchr(" \t\r\n\f\v", l->rest.at[0]) && l->rest.at[0])
        l->rest.at++, l->rest.n--;
}

/* ---- what is more than a sign --------------------------------------------- */

static struct token comment(struct lexer *l)
{
    const char *at = l->rest.at;
    if (at[1] == '/') {
        const char *end = memchr(at, '\n', l->rest.n);
        return take_off(l, TOKEN_COMMENT, end ? (size_t)(end - at) : l->rest.n);
    }
    for (size_t i = 2; i + 1 < l->rest.n; i++)
        if (at[i] == '*' && at[i + 1] == '/')
            return take_off(l, TOKEN_COMMENT, i + 2);
    return lex_bad(l);
}

static struct token string(struct lexer *l)
{
    const char *at = l->rest.at;
    for (size_t i = 1; i < l->rest.n && at[i] != '\n'; i++) {
        if (at[i] == at[0])
            return take_off(l, TOKEN_STRING, i + 1);
        i += at[i] == '\\';
    }
    return lex_bad(l);
}

/* Behind a "`", or the "}" of a "${": up to what ends this part. */
static struct token template_part(struct lexer *l)
{
    const char *at = l->rest.at;
    for (size_t i = 0; i < l->rest.n; i++) {
        if (at[i] == '`' || (at[i] == '$' && i + 1 < l->rest.n && at[i + 1] == '{')) {
            if (i)
                return take_off(l, TOKEN_TEXT, i);
            if (at[0] == '$')
                return lexer_push(l, '$') ? take_off(l, TOKEN_SIGN, 2) : lex_bad(l);
            l->depth--;
            return take_off(l, TOKEN_SIGN, 1);
        }
        i += at[i] == '\\';
    }
    return lex_bad(l);
}

/* May an expression begin behind what came last? Then a slash begins a pattern. */
static bool begins_expression(const struct lexer *l)
{
    static const char *const words[] = {"return", "typeof", "case",  "in",        "of",
                                        "delete", "void",   "throw", "new",       "else",
                                        "do",     "await",  "yield", "instanceof"};
    struct token t = l->last;
    if (t.kind == TOKEN_WORD) {
        for (size_t i = 0; i < LENGTH(words); i++)
            if (str_is(t.text, words[i]))
                return true;
        return false;
    }
    if (t.kind == TOKEN_SIGN)
        return t.text.n > 1 || !strchr(")]}`", t.text.at[0]);
    return t.kind == TOKEN_END;
}

static struct token pattern(struct lexer *l)
{
    const char *at = l->rest.at;
    bool in_class = false;
    for (size_t i = 1; i < l->rest.n && at[i] != '\n'; i++) {
        if (at[i] == '/' && !in_class) {
            for (i++; i < l->rest.n && is_word_byte(at[i]);)
                i++;
            return take_off(l, TOKEN_PATTERN, i);
        }
        in_class = at[i] == '[' || (in_class && at[i] != ']');
        i += at[i] == '\\';
    }
    return lex_bad(l);
}

static struct token lex_word(struct lexer *l)
{
    size_t n = 1;
    bool number = char_is_digit(l->rest.at[0]);
    while (n < l->rest.n &&
           (is_word_byte(l->rest.at[n]) || (number && l->rest.at[n] == '.')))
        n++;
    return take_off(l, number ? TOKEN_NUMBER : TOKEN_WORD, n);
}

/* ---- signs ------------------------------------------------------------------ */

static char closes(char c)
{
    return c == ')' ? '(' : c == ']' ? '[' : c == '>' ? '<' : '{';
}

static struct token lex_sign(struct lexer *l)
{
    static const char *const long_ones[] = {"=>", "?.", "..."};
    char c = l->rest.at[0];
    for (size_t i = 0; i < LENGTH(long_ones); i++)
        if (str_starts(l->rest, long_ones[i]))
            return take_off(l, TOKEN_SIGN, strlen(long_ones[i]));
    if (strchr("([{`", c) || (c == '<' && l->types))
        return lexer_push(l, c) ? take_off(l, TOKEN_SIGN, 1) : lex_bad(l);
    if (strchr(")]}", c) || (c == '>' && l->types)) {
        char open = lexer_inside(l);
        if (open != closes(c) && !(open == '$' && c == '}'))
            return lex_bad(l);
        l->depth--;
    }
    return take_off(l, TOKEN_SIGN, 1);
}

struct token lexer_next(struct lexer *l)
{
    if (l->last.kind == TOKEN_BAD)
        return l->last;
    if (lexer_inside(l) == '`')
        return l->rest.n ? template_part(l) : lex_bad(l);
    skip_space(l);
    if (!l->rest.n)
        return l->depth ? lex_bad(l) : (struct token){TOKEN_END, l->rest};
    char c = l->rest.at[0], next = l->rest.n > 1 ? l->rest.at[1] : '\0';
    if (c == '\0' || c == '\\')
        return lex_bad(l);
    if (c == '/' && (next == '/' || next == '*'))
        return comment(l);
    if (c == '"' || c == '\'')
        return string(l);
    if (c == '/' && begins_expression(l))
        return pattern(l);
    return is_word_byte(c) ? lex_word(l) : lex_sign(l);
}
