/* Functions in a file of TypeScript, whoever wrote it. Brackets, texts and comments are told
 * apart, nothing more: what is read is checked before it is kept. */
#include "cli/fn_scan.h"

#include <ctype.h>

/* ---- reading code ---------------------------------------------------------------------- */

char scan_peek(const struct scan *s, size_t n)
{
    return s->at + n < s->text.n ? s->text.at[s->at + n] : '\0';
}

static void scan_skip_to(struct scan *s, const char *end)
{
    size_t n = strlen(end);
    while (s->at < s->text.n &&
           (s->text.n - s->at < n || memcmp(s->text.at + s->at, end, n) != 0))
        s->at++;
    s->at = s->at + n < s->text.n ? s->at + n : s->text.n;
}

void scan_skip_blank(struct scan *s)
{
    for (;;) {
        size_t from = s->at;
        if (isspace((unsigned char)scan_peek(s, 0)))
            s->at++;
        else if (scan_peek(s, 0) == '/' && scan_peek(s, 1) == '/')
            scan_skip_to(s, "\n");
        else if (scan_peek(s, 0) == '/' && scan_peek(s, 1) == '*') {
            scan_skip_to(s, "*/");
            s->comment = (struct str){s->text.at + from, s->at - from};
        } else
            return;
    }
}

/* A string, template or regular expression, up to behind `end`. */
static void scan_skip_quoted(struct scan *s, char end)
{
    bool set = false; /* [...] of a regular expression */
    for (s->at++; s->at < s->text.n && (set || s->text.at[s->at] != end); s->at++) {
        char c = s->text.at[s->at];
        s->at += c == '\\';
        set = end == '/' && (c == '[' || (set && c != ']'));
    }
    s->at += s->at < s->text.n;
}

/* The next token: a word, something quoted, or one character. */
struct str scan_next(struct scan *s)
{
    s->comment = (struct str){0};
    scan_skip_blank(s);
    size_t from = s->at;
    char c = scan_peek(s, 0);
    if (s->at >= s->text.n)
        return (struct str){0};
    if (char_is_word(c))
        while (char_is_word(scan_peek(s, 0)))
            s->at++;
    else if (c == '"' || c == '\'' || c == '`' ||
             (c == '/' && (!s->last || strchr("(,=:[!&|?{};+-*%<>~^", s->last))))
        scan_skip_quoted(s, c);
    else if (c == '=' && scan_peek(s, 1) == '>')
        s->at += 2;
    else
        s->at++;
    s->last = s->text.at[s->at - 1];
    return (struct str){s->text.at + from, s->at - from};
}

int scan_opens(struct str token)
{
    if (token.n != 1)
        return 0;
    return strchr("([{<", token.at[0]) ? 1 : strchr(")]}>", token.at[0]) ? -1 : 0;
}

/* Up to, and without, the first of `ends` that is in no brackets ("=>" by its '='). */
struct str scan_until(struct scan *s, const char *ends)
{
    scan_skip_blank(s);
    size_t from = s->at, to = from;
    for (int depth = 0; s->at < s->text.n;) {
        struct scan was = *s;
        struct str t = scan_next(s);
        if (!t.n || (depth == 0 && (t.n == 1 || str_is(t, "=>")) &&
                     strchr(ends, t.at[0]) && !(t.n == 2 && !strchr(ends, '>')))) {
            *s = was;
            break;
        }
        depth += scan_opens(t);
        to = s->at;
    }
    return (struct str){s->text.at + from, to - from};
}

static unsigned line_of(const struct scan *s)
{
    unsigned line = 1;
    for (size_t i = 0; i < s->at && i < s->text.n; i++)
        line += s->text.at[i] == '\n';
    return line;
}

/* ---- the function ------------------------------------------------------------------------ */

/* A destructured parameter - {a, b = 1}, [first] - has no name; "...rest" has, behind its dots. */
static bool read_parameter_name(struct scan *s, struct found *f, struct err *e)
{
    size_t i = f->count;
    struct str name = scan_next(s);
    unsigned line = line_of(s);
    if (name.n == 1 && (name.at[0] == '{' || name.at[0] == '[') && i < PARAMETERS_MAX) {
        f->parameters[f->count++].list = name.at[0] == '[';
        for (int depth = 1; depth > 0 && s->at < s->text.n;)
            depth += scan_opens(scan_next(s));
        return true;
    }
    if (str_is(name, ".") && scan_peek(s, 0) == '.' && scan_peek(s, 1) == '.' &&
        i < PARAMETERS_MAX) {
        f->parameters[i].rest = true;
        s->at += 2;
        name = scan_next(s);
    }
    if (!name.n || !char_is_word(name.at[0]) || i == PARAMETERS_MAX)
        return err_set(e, ERR_INVALID,
                       "line %u: '%.*s' is not a parameter of a custom function; "
                       "names with types are accepted, such as date?: string",
                       line, STR_ARGS(str_cut(name, 20)));
    f->parameters[f->count++].name = name;
    return true;
}

/* "date?: string = 'today'", up to its comma or the end. */
static bool scan_read_parameter(struct scan *s, struct found *f, struct err *e)
{
    if (!read_parameter_name(s, f, e))
        return false;
    size_t i = f->count - 1;
    scan_skip_blank(s);
    if (scan_peek(s, 0) == '?') {
        f->parameters[i].optional = true;
        (void)scan_next(s);
        scan_skip_blank(s);
    }
    if (scan_peek(s, 0) == ':') {
        (void)scan_next(s);
        f->parameters[i].type = str_trim(scan_until(s, ",)="));
    }
    scan_skip_blank(s);
    if (scan_peek(s, 0) == '=') {
        (void)scan_next(s);
        f->parameters[i].optional = true;
        f->parameters[i].fallback = str_trim(scan_until(s, ",)"));
    }
    return true;
}

static bool scan_read_parameters(struct scan *s, struct found *f, struct err *e)
{
    (void)scan_next(s); /* ( */
    for (;;) {
        scan_skip_blank(s);
        if (scan_peek(s, 0) == ')' || s->at >= s->text.n)
            break;
        if (!scan_read_parameter(s, f, e))
            return false;
        scan_skip_blank(s);
        if (scan_peek(s, 0) == ',')
            (void)scan_next(s);
    }
    (void)scan_next(s); /* ) */
    return true;
}

/* Behind its parameters: ": Promise<Note> {", where the type may begin with a brace. */
static void read_returns(struct scan *s, struct found *f)
{
    scan_skip_blank(s);
    if (scan_peek(s, 0) != ':')
        return;
    (void)scan_next(s);
    scan_skip_blank(s);
    size_t from = s->at;
    if (f->arrow) {
        f->returns = str_trim(scan_until(s, "=>"));
        return;
    }
    while (scan_peek(s, 0) == '{') {
        int depth = 0;
        do
            depth += scan_opens(scan_next(s));
        while (depth > 0 && s->at < s->text.n);
        struct str rest = scan_until(s, "{");
        if (!rest.n || !strchr("|&", rest.at[rest.n - 1]))
            break;
    }
    (void)scan_until(s, "{;");
    f->returns = str_trim((struct str){s->text.at + from, s->at - from});
}

/* Behind "function" or "const": takes it where it is a function. */
static bool read_function(struct scan *s, bool bound, struct found *f, struct err *e)
{
    struct str t = scan_next(s);
    if (str_is(t, "*"))
        t = scan_next(s);
    f->name = t;
    if (bound) {
        (void)scan_until(s, "=;"); /* a type of its own */
        if (scan_peek(s, 0) != '=' || scan_peek(s, 1) == '>')
            return false;
        (void)scan_next(s);
        scan_skip_blank(s);
        struct scan was = *s;
        if (str_is(scan_next(s), "async"))
            f->async = true;
        else
            *s = was;
        scan_skip_blank(s);
        was = *s;
        if (str_is(scan_next(s), "function"))
            (void)scan_until(s, "(");
        else {
            *s = was;
            f->arrow = true;
        }
    }
    scan_skip_blank(s);
    if (scan_peek(s, 0) == '<') {
        size_t from = s->at;
        int depth = 0;
        do
            depth += scan_opens(scan_next(s));
        while (depth > 0 && s->at < s->text.n);
        f->generics = (struct str){s->text.at + from, s->at - from};
        scan_skip_blank(s);
    }
    if (scan_peek(s, 0) != '(' || !scan_read_parameters(s, f, e))
        return false;
    read_returns(s, f);
    return true;
}

/* The words that may stand before "function" or "const", and belong to it. */
static bool is_modifier(struct str t)
{
    return str_is(t, "export") || str_is(t, "default") || str_is(t, "async");
}

static void keep_exported(struct found *out, struct str name)
{
    if (out->exported_count < LENGTH(out->exported))
        out->exported[out->exported_count++] = name;
}

/* The one that is called `name`; of "" the first that is exported, else the first. */
bool scan_find(struct str code, struct str name, struct found *out, struct err *e)
{
    struct scan s = {.text = code};
    struct str comment = {0};
    bool async = false, exported = false, any = false, modified = false, first = true;
    bool sure = false; /* it is this one, whatever comes */
    for (int depth = 0; s.at < s.text.n;) {
        struct str t = scan_next(&s);
        if (!t.n)
            break;
        if (!modified)
            comment = s.comment;
        bool bound = str_is(t, "const") || str_is(t, "let") || str_is(t, "var");
        if (depth == 0 && (bound || str_is(t, "function"))) {
            struct scan at = s;
            struct found f = {.async = async, .comment = comment, .first = first};
            struct err why = {0};
            bool read = read_function(&at, bound, &f, &why);
            bool meant = !sure && (name.n ? str_eq(f.name, name) : exported || !any);
            if (!read && why.code && meant)
                return err_set(e, why.code, "%s", why.msg);
            first = first && !read;
            if (read && meant) {
                f.exported_count = out->exported_count;
                memcpy(f.exported, out->exported, sizeof f.exported);
                *out = f;
                any = true;
                sure = name.n || exported;
            }
            if (read && exported)
                keep_exported(out, f.name);
        }
        modified = is_modifier(t);
        async = str_is(t, "async");
        exported = modified && (str_is(t, "export") || exported);
        depth += strchr("<>", t.at[0]) ? 0 : scan_opens(t);
    }
    return any ||
           err_set(e, ERR_INVALID,
                   "the file has no function%s%.*s; 'async function name(...)' at the "
                   "top level is accepted",
                   name.n ? " " : "", STR_ARGS(str_cut(name, 60)));
}
