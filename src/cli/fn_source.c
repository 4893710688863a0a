/* A custom function as a TypeScript file: reading it, whoever wrote it. Brackets, texts and
 * comments are told apart, nothing more: what is read is checked before it is kept. */
#include "cli/fn_source.h"

#include <ctype.h>

/* ---- reading code ---------------------------------------------------------------------- */

/* A place in code; `last` is the last byte that was no space and no comment. */
struct scan {
    struct str text;
    size_t at;
    char last;
};

static char peek(const struct scan *s, size_t n)
{
    return s->at + n < s->text.n ? s->text.at[s->at + n] : '\0';
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void skip_to(struct scan *s, const char *end)
{
    size_t n = strlen(end);
    while (s->at < s->text.n &&
           (s->text.n - s->at < n || memcmp(s->text.at + s->at, end, n) != 0))
        s->at++;
    s->at = s->at + n < s->text.n ? s->at + n : s->text.n;
}

static void skip_blank(struct scan *s)
{
    for (;;) {
        if (isspace((unsigned char)peek(s, 0)))
            s->at++;
        else if (peek(s, 0) == '/' && peek(s, 1) == '/')
            skip_to(s, "\n");
        else if (peek(s, 0) == '/' && peek(s, 1) == '*')
            skip_to(s, "*/");
        else
            return;
    }
}

/* A string, template or regular expression, up to behind `end`. */
static void skip_quoted(struct scan *s, char end)
{
    bool set = false; /* [...] of a regular expression */
    for (s->at++; s->at < s->text.n && (set || s->text.at[s->at] != end); s->at++) {
        char c = s->text.at[s->at];
        s->at += c == '\\';
        set = end == '/' && (c == '[' || (set && c != ']'));
    }
    s->at += s->at < s->text.n;
}

/* What stands as one: a word, something quoted, or one character. */
static struct str next(struct scan *s)
{
    skip_blank(s);
    size_t from = s->at;
    char c = peek(s, 0);
    if (s->at >= s->text.n)
        return (struct str){0};
    if (is_word(c))
        while (is_word(peek(s, 0)))
            s->at++;
    else if (c == '"' || c == '\'' || c == '`' ||
             (c == '/' && (!s->last || strchr("(,=:[!&|?{};+-*%<>~^", s->last))))
        skip_quoted(s, c);
    else if (c == '=' && peek(s, 1) == '>')
        s->at += 2;
    else
        s->at++;
    s->last = s->text.at[s->at - 1];
    return (struct str){s->text.at + from, s->at - from};
}

static int opens(struct str token)
{
    if (token.n != 1)
        return 0;
    return strchr("([{<", token.at[0]) ? 1 : strchr(")]}>", token.at[0]) ? -1 : 0;
}

/* Up to, and without, the first of `ends` that is in no brackets ("=>" by its '='). */
static struct str until(struct scan *s, const char *ends)
{
    skip_blank(s);
    size_t from = s->at, to = from;
    for (int depth = 0; s->at < s->text.n;) {
        struct scan was = *s;
        struct str t = next(s);
        if (!t.n || (depth == 0 && (t.n == 1 || str_is(t, "=>")) &&
                     strchr(ends, t.at[0]) && !(t.n == 2 && !strchr(ends, '>')))) {
            *s = was;
            break;
        }
        depth += opens(t);
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

#define PARAMETERS_MAX 64u

struct found {
    struct str name, returns;
    bool async, arrow;
    struct {
        struct str name, type, fallback;
        bool optional;
    } parameters[PARAMETERS_MAX];
    size_t count;
};

/* "date?: string = 'today'", up to its comma or the end. */
static bool read_parameter(struct scan *s, struct found *f, struct err *e)
{
    struct str name = next(s);
    unsigned line = line_of(s);
    if (!name.n || !is_word(name.at[0]) || f->count == PARAMETERS_MAX)
        return err_set(e, ERR_INVALID,
                       "line %u: '%.*s' is no parameter of a custom function: names with "
                       "types are, such as date?: string",
                       line, STR_ARGS(str_cut(name, 20)));
    size_t i = f->count++;
    f->parameters[i].name = name;
    skip_blank(s);
    if (peek(s, 0) == '?') {
        f->parameters[i].optional = true;
        (void)next(s);
        skip_blank(s);
    }
    if (peek(s, 0) == ':') {
        (void)next(s);
        f->parameters[i].type = str_trim(until(s, ",)="));
    }
    skip_blank(s);
    if (peek(s, 0) == '=') {
        (void)next(s);
        f->parameters[i].optional = true;
        f->parameters[i].fallback = str_trim(until(s, ",)"));
    }
    return true;
}

static bool read_parameters(struct scan *s, struct found *f, struct err *e)
{
    (void)next(s); /* ( */
    for (;;) {
        skip_blank(s);
        if (peek(s, 0) == ')' || s->at >= s->text.n)
            break;
        if (!read_parameter(s, f, e))
            return false;
        skip_blank(s);
        if (peek(s, 0) == ',')
            (void)next(s);
    }
    (void)next(s); /* ) */
    return true;
}

/* Behind its parameters: ": Promise<Note> {", where the type may begin with a brace. */
static void read_returns(struct scan *s, struct found *f)
{
    skip_blank(s);
    if (peek(s, 0) != ':')
        return;
    (void)next(s);
    skip_blank(s);
    size_t from = s->at;
    if (f->arrow) {
        f->returns = str_trim(until(s, "=>"));
        return;
    }
    while (peek(s, 0) == '{') {
        int depth = 0;
        do
            depth += opens(next(s));
        while (depth > 0 && s->at < s->text.n);
        struct str rest = until(s, "{");
        if (!rest.n || !strchr("|&", rest.at[rest.n - 1]))
            break;
    }
    (void)until(s, "{;");
    f->returns = str_trim((struct str){s->text.at + from, s->at - from});
}

/* Behind "function" or "const": takes it where it is a function. */
static bool read_function(struct scan *s, bool bound, struct found *f, struct err *e)
{
    struct str t = next(s);
    if (str_is(t, "*"))
        t = next(s);
    f->name = t;
    f->count = 0;
    if (bound) {
        (void)until(s, "=;"); /* a type of its own */
        if (peek(s, 0) != '=' || peek(s, 1) == '>')
            return false;
        (void)next(s);
        skip_blank(s);
        struct scan was = *s;
        if (str_is(next(s), "async"))
            f->async = true;
        else
            *s = was;
        skip_blank(s);
        was = *s;
        if (str_is(next(s), "function"))
            (void)until(s, "(");
        else {
            *s = was;
            f->arrow = true;
        }
    }
    skip_blank(s);
    if (peek(s, 0) == '<') {
        int depth = 0;
        do
            depth += opens(next(s));
        while (depth > 0 && s->at < s->text.n);
        skip_blank(s);
    }
    if (peek(s, 0) != '(' || !read_parameters(s, f, e))
        return false;
    read_returns(s, f);
    return true;
}

/* The one that is called `name`; of "" the first that is exported, else the first. */
static bool find_function(struct str code, struct str name, struct found *out,
                          struct err *e)
{
    struct scan s = {.text = code};
    bool async = false, exported = false, any = false;
    for (int depth = 0; s.at < s.text.n;) {
        struct str t = next(&s);
        if (!t.n)
            break;
        bool bound = str_is(t, "const") || str_is(t, "let") || str_is(t, "var");
        if (depth == 0 && (bound || str_is(t, "function"))) {
            struct scan at = s;
            struct found f = {.async = async};
            struct err why = {0};
            bool read = read_function(&at, bound, &f, &why);
            bool meant = name.n ? str_eq(f.name, name) : exported || !any;
            if (!read && why.code && meant)
                return err_set(e, why.code, "%s", why.msg);
            if (read && meant) {
                *out = f;
                any = true;
                if (name.n || exported)
                    return true;
            }
        }
        async = str_is(t, "async");
        exported = str_is(t, "export") || (exported && async);
        depth += strchr("<>", t.at[0]) ? 0 : opens(t);
    }
    return any ||
           err_set(e, ERR_INVALID,
                   "there is no function %.*s in it; 'async function name(...)' at "
                   "the top level is one",
                   STR_ARGS(str_cut(name, 60)));
}

/* ---- the comment ---------------------------------------------------------------------------- */

/* Its text, without the stars at the beginnings of its lines; *rest: what stands behind. */
static void read_comment(struct str text, struct buf *out, struct str *rest)
{
    struct str body = str_trim(text);
    *rest = text;
    if (!str_starts(body, "/**"))
        return;
    const char *end = memmem(body.at + 3, body.n - 3, "*/", 2);
    if (!end)
        return;
    *rest = (struct str){end + 2, (size_t)(text.at + text.n - (end + 2))};
    if (rest->n && rest->at[0] == '\n')
        rest->at++, rest->n--;
    struct str inner = {body.at + 3, (size_t)(end - body.at) - 3};
    bool begins = true;
    for (size_t i = 0; i < inner.n; i++) {
        char c = inner.at[i];
        if (begins && (c == ' ' || c == '\t' || c == '*')) {
            begins = c != '*';
            if (c == '*' && i + 1 < inner.n && inner.at[i + 1] == ' ')
                i++;
            continue;
        }
        begins = c == '\n';
        if (c == '\\' && i + 1 < inner.n && inner.at[i + 1] == '/' && i &&
            inner.at[i - 1] == '*')
            continue; /* "*\/" was no end */
        buf_char(out, c);
    }
}

/* The next "@word text" of it; before the first one `word` is empty. */
static bool next_tag(struct str *rest, struct str *word, struct str *text)
{
    if (!rest->n)
        return false;
    *word = (struct str){rest->at, 0};
    if (rest->at[0] == '@') {
        size_t n = 1;
        while (n < rest->n && isalpha((unsigned char)rest->at[n]))
            n++;
        *word = (struct str){rest->at + 1, n - 1};
        *rest = (struct str){rest->at + n, rest->n - n};
    }
    const char *next = rest->n ? memmem(rest->at, rest->n, "\n@", 2) : NULL;
    size_t n = next ? (size_t)(next - rest->at) + 1 : rest->n;
    *text = str_trim((struct str){rest->at, n});
    *rest = (struct str){rest->at + n, rest->n - n};
    return true;
}

/* The tag of this name; of "param" the one about `about`. */
static struct str tag_of(struct str comment, const char *tag, struct str about)
{
    struct str word, text;
    while (next_tag(&comment, &word, &text)) {
        if (!str_is(word, tag))
            continue;
        struct scan s = {.text = text};
        if (peek(&s, 0) == '{') {
            int depth = 0;
            do
                depth += opens(next(&s));
            while (depth > 0 && s.at < s.text.n);
        }
        struct str name = about.n ? next(&s) : about;
        if (str_is(name, "["))
            name = next(&s);
        if (str_eq(name, about))
            return text;
    }
    return (struct str){0};
}

/* What "{string} [date=\"x\"] words" says. */
struct said {
    struct str type, fallback, words;
    bool optional;
};

static struct said read_said(struct str text, bool named)
{
    struct said out = {0};
    struct scan s = {.text = text};
    if (peek(&s, 0) == '{') {
        int depth = 0;
        do
            depth += opens(next(&s));
        while (depth > 0 && s.at < s.text.n);
        out.type = str_trim((struct str){text.at + 1, s.at - 2});
    }
    skip_blank(&s);
    if (named && peek(&s, 0) == '[') {
        out.optional = true;
        (void)next(&s);
        (void)next(&s);
        if (peek(&s, 0) == '=') {
            (void)next(&s);
            out.fallback = str_trim(until(&s, "]"));
        }
        (void)next(&s);
    } else if (named) {
        (void)next(&s);
    }
    out.words = str_trim((struct str){text.at + s.at, text.n - s.at});
    if (str_starts(out.words, "- "))
        out.words = (struct str){out.words.at + 2, out.words.n - 2};
    return out;
}

/* ---- the definition ------------------------------------------------------------------------- */

/* Lines that were broken for reading are one. */
static void put_words(struct json_writer *w, const char *key, struct str text,
                      struct arena *a, struct err *e)
{
    char *copy = arena_copy(a, text.at, text.n, e);
    size_t n = 0;
    for (size_t i = 0; copy && i < text.n; i++) {
        if (text.at[i] == '\n') {
            copy[n++] = '\n';
            while (i + 1 < text.n && text.at[i + 1] == ' ')
                i++;
        } else {
            copy[n++] = text.at[i];
        }
    }
    if (copy && n)
        json_pair_str(w, key, (struct str){copy, n});
}

/* As far as it is JSON; else it is only known that there is one. */
static const struct json *literal(struct str text, struct arena *a)
{
    struct err none = {0};
    size_t n = text.n;
    if (n >= 2 && text.at[0] == '\'' && text.at[n - 1] == '\'' &&
        !memchr(text.at + 1, '\\', n - 2) && !memchr(text.at, '"', n)) {
        char *quoted = arena_copy(a, text.at, n, &none);
        if (quoted)
            quoted[0] = quoted[n - 1] = '"';
        text = str_of(quoted);
    }
    return n ? json_read(text, a, &none) : NULL;
}

/* As the language tells it, where nobody wrote the type: `most = 5`. */
static struct str type_of(const struct json *fallback)
{
    switch (json_type(fallback)) {
    case JSON_STRING:
        return STR("string");
    case JSON_NUMBER:
        return STR("number");
    case JSON_BOOL:
        return STR("boolean");
    default:
        return STR("any");
    }
}

static void put_definition_parameter(const struct found *f, size_t i, struct str comment,
                                     struct json_writer *w, struct arena *a,
                                     struct err *e)
{
    struct str name = f->parameters[i].name;
    struct said said = read_said(tag_of(comment, "param", name), true);
    struct str type = said.type.n ? said.type : f->parameters[i].type;
    const struct json *fallback =
        literal(said.fallback.n ? said.fallback : f->parameters[i].fallback, a);
    json_key_str(w, name);
    json_open_object(w);
    json_pair_str(w, "type", type.n ? type : type_of(fallback));
    put_words(w, "description", said.words, a, e);
    if (said.optional || f->parameters[i].optional)
        json_pair_bool(w, "optional", true);
    if (fallback)
        json_pair(w, "default", fallback);
    json_close(w);
}

static void put_tags(struct str text, struct json_writer *w)
{
    json_key(w, "tags");
    json_open_array(w);
    while (text.n) {
        const char *comma = memchr(text.at, ',', text.n);
        size_t n = comma ? (size_t)(comma - text.at) : text.n;
        struct str tag = str_trim((struct str){text.at, n});
        if (tag.n)
            json_put_str(w, tag);
        n += comma != NULL;
        text = (struct str){text.at + n, text.n - n};
    }
    json_close(w);
}

/* Those that are JSON: others are for readers alone. */
static void put_examples(struct str comment, struct json_writer *w, struct arena *a)
{
    struct str word, text;
    bool any = false;
    while (next_tag(&comment, &word, &text)) {
        const struct json *v = str_is(word, "example") ? literal(text, a) : NULL;
        if (!json_is(v, JSON_OBJECT))
            continue;
        if (!any) {
            json_key(w, "examples");
            json_open_array(w);
        }
        any = true;
        json_put(w, v);
    }
    if (any)
        json_close(w);
}

static void put_returns(const struct found *f, struct str comment, struct json_writer *w)
{
    struct str text = tag_of(comment, "returns", STR(""));
    if (!text.n)
        text = tag_of(comment, "return", STR(""));
    struct str type = read_said(text, false).type;
    json_pair_str(w, "returnType",
                  type.n         ? type
                  : f->returns.n ? f->returns
                  : f->async     ? STR("Promise<any>")
                                 : STR("any"));
}

static void put_definition(const struct found *f, struct str comment, struct str code,
                           struct json_writer *w, struct arena *a, struct err *e)
{
    struct str all = comment, word, text = {0};
    if (!next_tag(&all, &word, &text) || word.n)
        text = STR("");
    json_open_object(w);
    json_pair_str(w, "name", f->name);
    put_words(w, "description", text, a, e);
    json_key(w, "parameters");
    json_open_object(w);
    for (size_t i = 0; i < f->count; i++)
        put_definition_parameter(f, i, comment, w, a, e);
    json_close(w);
    put_returns(f, comment, w);
    json_pair_str(w, "code", code);
    put_tags(tag_of(comment, "tags", STR("")), w);
    put_examples(comment, w, a);
    json_close(w);
}

bool fn_source_read(struct str text, struct str name, struct buf *out, struct err *e)
{
    struct str code;
    struct found f = {0};
    scoped_buf struct buf comment;
    buf_init(&comment, (size_t)1 << 20);
    scoped(arena_free) struct arena *a = arena_new((size_t)16 << 20);
    read_comment(text, &comment, &code);
    if (code.n && code.at[code.n - 1] == '\n')
        code.n--;
    struct str about = str_trim(buf_view(&comment));
    struct str said = name.n ? name : tag_of(about, "function", STR(""));
    if (!buf_check(&comment, "the comment", e) || !find_function(code, said, &f, e))
        return false;
    struct json_writer w = json_writer(out);
    put_definition(&f, about, code, &w, a, e);
    return e->code == ERR_NONE && buf_check(out, "the definition", e);
}
