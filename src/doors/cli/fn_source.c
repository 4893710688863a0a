/* A custom function as a TypeScript file: its comment, and the definition that comes of it
 * and the function. */
#include "cli/fn_source.h"

#include <ctype.h>

#include "cli/fn_scan.h"

/* ---- the comment ---------------------------------------------------------------------------- */

/* The text of a block comment, without the stars at the beginnings of its lines. */
static void read_comment(struct str body, struct buf *out)
{
    struct str inner = {body.at + 3, body.n - 5};
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

static bool is_doc(struct str comment)
{
    return comment.n >= 5 && str_starts(comment, "/**") && str_ends(comment, "*/");
}

/* The comment that the file begins with; empty: none. */
static struct str top_comment(struct str text)
{
    struct str body = str_trim(text);
    const char *end = is_doc(body) || (body.n > 5 && str_starts(body, "/**"))
                          ? memmem(body.at + 3, body.n - 3, "*/", 2)
                          : NULL;
    return end ? (struct str){body.at, (size_t)(end + 2 - body.at)} : (struct str){0};
}

/* The file without the comment. At its beginning nothing is left of it, so that what is
 * written reads back as it was; elsewhere its lines are, so that all keep their numbers. */
static void cut_comment(struct str text, struct str comment, struct buf *out)
{
    const char *end = comment.at + comment.n;
    struct str before = {text.at, (size_t)(comment.at - text.at)};
    struct str behind = {end, (size_t)(text.at + text.n - end)};
    bool top = str_trim(before).n == 0;
    if (top && behind.n && behind.at[0] == '\n')
        behind.at++, behind.n--;
    if (!top)
        buf_str(out, before);
    for (size_t i = 0; !top && i < comment.n; i++)
        if (comment.at[i] == '\n')
            buf_char(out, '\n');
    buf_str(out, behind);
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

/* "{string | number}", where it stands. */
static void skip_type(struct scan *s)
{
    int depth = 0;
    if (scan_peek(s, 0) == '{')
        do
            depth += scan_opens(scan_next(s));
        while (depth > 0 && s->at < s->text.n);
}

/* The tag of this name; of "param" the one about `about`. */
static struct str tag_of(struct str comment, const char *tag, struct str about)
{
    struct str word, text;
    while (next_tag(&comment, &word, &text)) {
        if (!str_is(word, tag))
            continue;
        struct scan s = {.text = text};
        skip_type(&s);
        struct str name = about.n ? scan_next(&s) : about;
        if (str_is(name, "["))
            name = scan_next(&s);
        /* "@param options.limit" is about a part of it. */
        if (str_eq(name, about) && (!about.n || scan_peek(&s, 0) != '.'))
            return text;
    }
    return (struct str){0};
}

/* The parts of "{string} [date=\"x\"] words". */
struct said {
    struct str type, fallback, words;
    bool optional;
};

static struct said read_said(struct str text, bool named)
{
    struct said out = {0};
    struct scan s = {.text = text};
    if (scan_peek(&s, 0) == '{') {
        int depth = 0;
        do
            depth += scan_opens(scan_next(&s));
        while (depth > 0 && s.at < s.text.n);
        out.type = str_trim((struct str){text.at + 1, s.at - 2});
    }
    scan_skip_blank(&s);
    if (named && scan_peek(&s, 0) == '[') {
        out.optional = true;
        (void)scan_next(&s);
        (void)scan_next(&s);
        if (scan_peek(&s, 0) == '=') {
            (void)scan_next(&s);
            out.fallback = str_trim(scan_until(&s, "]"));
        }
        (void)scan_next(&s);
    } else if (named) {
        (void)scan_next(&s);
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
static const struct json *read_literal(struct str text, struct arena *a)
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

/* A type in which T of "<T extends X>" is any: a definition has no such types. */
static void put_type_text(struct str type, struct str generics, struct buf *out)
{
    struct scan s = {.text = type};
    size_t copied = 0;
    while (generics.n && s.at < s.text.n) {
        struct str t = scan_next(&s);
        struct scan g = {.text = generics};
        int depth = 0;
        bool is = false;
        char last = ',';
        for (struct str p; t.n && (p = scan_next(&g)).n; last = p.at[p.n - 1]) {
            is = is || (depth == 1 && strchr("<,", last) && str_eq(p, t));
            depth += scan_opens(p);
        }
        if (!is || !char_is_word(t.at[0]))
            continue;
        buf_put(out, type.at + copied, (size_t)(t.at - type.at) - copied);
        buf_cstr(out, "any");
        copied = s.at;
    }
    buf_put(out, type.at + copied, type.n - copied);
}

/* The name that the comment gives the parameter in this place; empty: none. */
static struct str documented_name(struct str comment, size_t place)
{
    struct str word, text;
    while (next_tag(&comment, &word, &text)) {
        if (!str_is(word, "param"))
            continue;
        struct scan s = {.text = text};
        skip_type(&s);
        struct str name = scan_next(&s);
        if (str_is(name, "["))
            name = scan_next(&s);
        if (scan_peek(&s, 0) != '.' && place-- == 0)
            return name.n && char_is_word(name.at[0]) ? name : (struct str){0};
    }
    return (struct str){0};
}

static bool is_named(const struct found *f, struct str name)
{
    for (size_t i = 0; i < f->count; i++)
        if (str_eq(f->parameters[i].name, name))
            return true;
    return false;
}

/* Names destructured parameters as the comment does, or "options", "options2" ... */
static bool name_parameters(struct found *f, struct str comment, struct arena *a,
                            struct err *e)
{
    for (size_t i = 0; i < f->count; i++) {
        struct str name = documented_name(comment, i);
        const char *stem = f->parameters[i].list ? "list" : "options";
        if (f->parameters[i].rest)
            f->parameters[i].name =
                str_of(arena_printf(a, e, "...%.*s", STR_ARGS(f->parameters[i].name)));
        if (f->parameters[i].name.n)
            continue;
        for (unsigned n = 1; !name.n || is_named(f, name); n++)
            name = str_of(n > 1 ? arena_printf(a, e, "%s%u", stem, n)
                                : arena_printf(a, e, "%s", stem));
        f->parameters[i].name = name;
    }
    return e->code == ERR_NONE;
}

static void put_definition_parameter(const struct found *f, size_t i, struct str comment,
                                     struct json_writer *w, struct arena *a,
                                     struct err *e)
{
    struct str name = f->parameters[i].name, bare = name;
    scoped_buf struct buf type_text = buf_of(BUF_TEXT);
    if (f->parameters[i].rest)
        bare = (struct str){name.at + 3, name.n - 3};
    struct said said = read_said(tag_of(comment, "param", bare), true);
    put_type_text(said.type.n ? said.type : f->parameters[i].type, f->generics,
                  &type_text);
    struct str type = buf_view(&type_text);
    const struct json *fallback =
        read_literal(said.fallback.n ? said.fallback : f->parameters[i].fallback, a);
    json_key_str(w, name);
    json_open_object(w);
    json_pair_str(w, "type",
                  type.n                  ? type
                  : f->parameters[i].rest ? STR("any[]")
                                          : type_of(fallback));
    put_words(w, "description", said.words, a, e);
    if (!f->parameters[i].rest && (said.optional || f->parameters[i].optional))
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

/* Puts the examples that are JSON: others are for readers alone. */
static void put_examples(struct str comment, struct json_writer *w, struct arena *a)
{
    struct str word, text;
    bool any = false;
    while (next_tag(&comment, &word, &text)) {
        const struct json *v = str_is(word, "example") ? read_literal(text, a) : NULL;
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
    struct str said = read_said(text, false).type;
    scoped_buf struct buf type = buf_of(BUF_TEXT);
    put_type_text(said.n ? said : f->returns, f->generics, &type);
    json_pair_str(w, "returnType",
                  type.n     ? buf_view(&type)
                  : f->async ? STR("Promise<any>")
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

static unsigned lines_in(struct str text)
{
    unsigned n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += text.at[i] == '\n';
    return n;
}

/* The comment that tells of the function: the file's first where that names it, or the one
 * right before it, or the first one where it names nobody and no function stands before it. */
static struct str choose_comment(const struct found *f, struct str top, struct str named)
{
    if (top.n && named.n && str_eq(named, f->name))
        return top;
    if (is_doc(f->comment))
        return f->comment;
    return top.n && !named.n && f->first ? top : (struct str){0};
}

/* Where nobody said which is meant: the other functions that are exported. */
static void put_others(const struct found *f, struct buf *out)
{
    for (size_t i = 0; i < f->exported_count; i++)
        if (!str_eq(f->exported[i], f->name))
            buf_printf(out, "%s%.*s", out->n ? ", " : "",
                       STR_ARGS(str_cut(f->exported[i], 64)));
}

bool fn_source_read(struct str text, struct str name, struct buf *out, struct buf *others,
                    unsigned *first_line, struct err *e)
{
    struct found f = {0};
    struct str top = top_comment(text), named = {0};
    scoped_buf struct buf about, code;
    buf_init(&about, BUF_LIST);
    buf_init(&code, text.n + 1);
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    if (top.n) {
        read_comment(top, &about);
        named = tag_of(str_trim(buf_view(&about)), "function", STR(""));
        named = str_of(str_cz(named, a, e));
    }
    if (e->code || !scan_find(text, name.n ? name : named, &f, e))
        return false;
    if (!name.n && !named.n)
        put_others(&f, others);
    struct str comment = choose_comment(&f, top, named), kept = text;
    buf_clear(&about);
    if (comment.n) {
        read_comment(comment, &about);
        cut_comment(text, comment, &code);
        kept = buf_view(&code);
    }
    *first_line = lines_in(text) - lines_in(kept);
    if (kept.n && kept.at[kept.n - 1] == '\n')
        kept.n--;
    struct json_writer w = json_writer(out);
    struct str words = str_trim(buf_view(&about));
    if (!buf_check(&about, "the comment", e) || !name_parameters(&f, words, a, e))
        return false;
    put_definition(&f, words, kept, &w, a, e);
    return e->code == ERR_NONE && buf_check(out, "the definition", e);
}
