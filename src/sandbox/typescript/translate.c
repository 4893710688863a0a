/* From TypeScript to code that script takes, by way of esbuild, which wants modules.
 *
 * Returns. A module may not return at its top level, and code that awaits there is a
 * module to esbuild. It names every such return, so each becomes a `throw`, which may
 * stand wherever a return may, and is turned back afterwards, found by its place.
 * Exports. The words are taken out, so that what was exported is only declared.
 * The end. A last expression that esbuild finds to be a constant (`-1`) is left out,
 * but is the result: it is kept by a throw as well. */
#include <ctype.h>

#include "typescript/internal.h"

#define RETURN_ERROR "Top-level return cannot be used inside an ECMAScript module"
#define BARE "throw void 0"
#define BARE_LONGER (sizeof BARE - 1 - 6) /* than the `return` that it stands for */
#define TAIL_MAX 200u

/* A place in the TypeScript, from 0; in UTF-16 units. */
struct spot {
    uint32_t line, column;
    size_t offset;  /* bytes */
    bool bare;      /* a return of nothing, */
    bool open;      /* which only the line's end ends: a throw would go on */
    uint32_t moved; /* by bare ones before it on its line */
};

struct work {
    struct guest_world *guest;
    struct arena *arena;
    struct lined from;
    struct transformed t;
    struct positions positions;
    struct buf out;
    struct spot *returns; /* in their order */
    size_t return_count;
};

/* ---- refusing ----------------------------------------------------------- */

static bool message_refuse(const struct work *k, const struct message *m,
                           struct typescript_place *where, struct err *e)
{
    if (m->line) {
        struct str line = lined_at(&k->from, m->line - 1);
        *where = (struct typescript_place){m->line, chars_of_bytes(line, m->column) + 1};
    }
    return err_set(e, ERR_SYNTAX, "%.*s", STR_ARGS(m->text));
}

static bool has_word(struct str s, size_t at, const char *word)
{
    size_t n = strlen(word);
    return at <= s.n && s.n - at >= n && memcmp(s.at + at, word, n) == 0;
}

/* ---- returns ------------------------------------------------------------ */

static bool is_return(const struct message *m)
{
    return str_is(m->text, RETURN_ERROR);
}

/* NULL: they are all about returns. */
static const struct message *other_error(const struct transformed *t)
{
    for (size_t i = 0; i < t->message_count; i++)
        if (!is_return(&t->messages[i]))
            return &t->messages[i];
    return NULL;
}

/* The kind of text behind a return on its line. */
enum follows { AN_EXPRESSION, AN_END, NOTHING };
static enum follows what_follows(struct str rest)
{
    size_t i = 0;
    while (i < rest.n && (strchr(" \t\v\f", rest.at[i]) || has_word(rest, i, "/*"))) {
        bool comment = rest.at[i] == '/';
        const char *end =
            comment ? memmem(rest.at + i + 2, rest.n - i - 2, "*/", 2) : NULL;
        if (comment && !end)
            return NOTHING; /* it ends on another line */
        i = comment ? (size_t)(end - rest.at) + 2 : i + 1;
    }
    if (i == rest.n || rest.at[i] == '\r' || has_word(rest, i, "//"))
        return NOTHING;
    return rest.at[i] == ';' || rest.at[i] == '}' ? AN_END : AN_EXPRESSION;
}

static int order_spots(const void *a, const void *b)
{
    const struct spot *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool find_returns(struct work *k, struct err *e)
{
    size_t n = k->t.message_count;
    k->returns = arena_get(k->arena, n * sizeof *k->returns, e);
    for (size_t i = 0; k->returns && i < n; i++) {
        const struct message *m = &k->t.messages[i];
        uint32_t line = m->line ? m->line - 1 : 0;
        struct str text = lined_at(&k->from, line);
        size_t offset = (size_t)(text.at - k->from.text.at) + m->column;
        if (m->column > text.n || text.n - m->column < 6 ||
            memcmp(text.at + m->column, "return", 6) != 0)
            return err_set(e, ERR_SYNTAX, "%.*s", STR_ARGS(m->text));
        enum follows follows =
            what_follows((struct str){text.at + m->column + 6, text.n - m->column - 6});
        k->returns[k->return_count++] =
            (struct spot){.line = line,
                          .column = units_of_bytes(text, m->column),
                          .offset = offset,
                          .bare = follows != AN_EXPRESSION,
                          .open = follows == NOTHING};
    }
    if (!k->returns)
        return false;
    qsort(k->returns, n, sizeof *k->returns, order_spots);
    for (size_t i = 1; i < n; i++) {
        const struct spot *before = &k->returns[i - 1];
        if (before->line == k->returns[i].line)
            k->returns[i].moved =
                before->moved + (before->bare ? (uint32_t)BARE_LONGER : 0);
    }
    return true;
}

/* The source with throws for returns. */
static bool put_throws(struct work *k, struct buf *out, struct err *e)
{
    struct str all = k->from.text;
    size_t at = 0;
    for (size_t i = 0; i < k->return_count; i++) {
        const struct spot *r = &k->returns[i];
        if (r->offset < at)
            continue; /* told twice */
        buf_put(out, all.at + at, r->offset - at);
        buf_cstr(out, r->open ? BARE ";" : r->bare ? BARE : "throw ");
        at = r->offset + 6;
    }
    buf_put(out, all.at + at, all.n - at);
    return buf_check(out, "the code", e);
}

/* The last return at or before a place of the source with throws; NULL: none. */
static const struct spot *return_before(const struct work *k, const struct segment *s)
{
    size_t from = 0, to = k->return_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const struct spot *r = &k->returns[middle];
        if (r->line < s->from_line ||
            (r->line == s->from_line && r->column + r->moved <= s->from_column))
            from = middle + 1;
        else
            to = middle;
    }
    return to ? &k->returns[to - 1] : NULL;
}

/* Gives a segment its place in the source as it was; true: a return stands there. */
static bool place_segment(const struct work *k, struct segment *s)
{
    const struct spot *r = return_before(k, s);
    if (!r || r->line != s->from_line)
        return false;
    bool there = r->column + r->moved == s->from_column;
    s->from_column -= r->moved;
    if (!there && r->bare)
        s->from_column -= (uint32_t)BARE_LONGER;
    return there;
}

/* Copies the JavaScript to `out`; throws that stand for returns are returns again. */
static bool restore_returns(struct work *k, struct err *e)
{
    scoped_lined struct lined to;
    struct str code = k->t.javascript;
    size_t at = 0;
    uint32_t line = 0, longer = 0; /* by so much this line has become */
    if (!lined_init(&to, code))
        return err_set(e, ERR_LIMIT, "there is no memory for the code");
    for (size_t i = 0; i < k->positions.count; i++) {
        struct segment *s = &k->positions.row[i];
        uint32_t column = s->column;
        longer = s->line == line ? longer : 0;
        line = s->line;
        s->column += longer;
        if (!place_segment(k, s))
            continue;
        struct str text = lined_at(&to, line);
        size_t offset = (size_t)(text.at - code.at) + bytes_of_units(text, column);
        while (offset < code.n && strchr(" \n", code.at[offset]))
            offset++; /* a statement's place is the one before its indentation */
        if (offset < at || !has_word(code, offset, "throw"))
            continue;
        buf_put(&k->out, code.at + at, offset - at);
        buf_cstr(&k->out, "return");
        at = offset + 5;
        longer++;
    }
    buf_put(&k->out, code.at + at, code.n - at);
    return true;
}

/* ---- imports and exports ------------------------------------------------ */

static void blank(char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = at[i] == '\n' ? '\n' : ' ';
}

/* `export { a, "b" };`: the end of it, or 0 where it gives what another module has. */
static size_t end_of_list(struct str code, size_t at)
{
    char quote = 0;
    for (; at < code.n && (quote || code.at[at] != '}'); at++) {
        char c = code.at[at];
        if (quote && c == '\\')
            at++;
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
    }
    at += at < code.n;
    return has_word(code, at, " from ") ? 0 : at + has_word(code, at, ";");
}

static bool names_what_it_declares(struct str code, size_t at)
{
    static const char *const heads[] = {"async function* ", "async function ",
                                        "function* ", "function ", "class "};
    for (size_t i = 0; i < LENGTH(heads); i++)
        if (has_word(code, at, heads[i])) {
            size_t name = at + strlen(heads[i]);
            return name < code.n && !strchr("({", code.at[name]) &&
                   !has_word(code, name, "extends ");
        }
    return false;
}

/* Takes the word away that stands at `at`. false: it is about another module. */
static bool drop_export(struct buf *out, size_t at)
{
    struct str code = buf_view(out);
    size_t n = sizeof "export " - 1;
    if (has_word(code, at + n, "* "))
        return false;
    if (has_word(code, at + n, "{")) {
        size_t end = end_of_list(code, at + n);
        if (end)
            blank(out->at + at, end - at);
        return end != 0;
    }
    bool is_default = has_word(code, at + n, "default ");
    if (is_default)
        n += sizeof "default " - 1;
    bool is_value = is_default && !names_what_it_declares(code, at + n);
    blank(out->at + at, n);
    if (is_value) /* an expression from here on, whatever it begins with */
        memcpy(out->at + at, "0,", 2);
    return true;
}

/* The name between quotes in the statement of the source that begins around there. */
static struct str module_named(struct str from)
{
    size_t i = 0;
    while (i < from.n && from.at[i] != '"' && from.at[i] != '\'')
        i++;
    const char *end =
        i < from.n ? memchr(from.at + i + 1, from.at[i], from.n - i - 1) : NULL;
    return end ? (struct str){from.at + i + 1, (size_t)(end - from.at) - i - 1}
               : STR("another file");
}

static bool refuse_import(const struct work *k, const struct segment *s,
                          struct typescript_place *where, struct err *e)
{
    struct str line = lined_at(&k->from, s->from_line);
    size_t at = bytes_of_units(line, s->from_column);
    size_t rest = (size_t)(line.at - k->from.text.at) + at;
    *where = (struct typescript_place){s->from_line + 1,
                                       chars_of_units(line, s->from_column) + 1};
    struct str name =
        module_named((struct str){k->from.text.at + rest, k->from.text.n - rest});
    return err_set(
               e, ERR_SYNTAX,
               "nothing can be imported, including '%.*s': there are no modules; notes, utils and the rest of the API need no import, and 'import type' is accepted",
               STR_ARGS(str_cut(name, 80))) ||
           err_because(e, CAUSE_IMPORT);
}

/* esbuild begins such a statement, and nothing but parts of template texts, at a line's
 * first column; and to those it gives the place of what stands before them. */
static bool drop_module_words(struct work *k, struct typescript_place *where,
                              struct err *e)
{
    scoped_lined struct lined to;
    if (!lined_init(&to, buf_view(&k->out)))
        return err_set(e, ERR_LIMIT, "there is no memory for the code");
    const struct segment *before = NULL, *row = k->positions.row;
    for (size_t i = 0; i < k->positions.count; before = &row[i++]) {
        const struct segment *s = &row[i];
        if (s->column != 0 || (before && before->from_line == s->from_line &&
                               before->from_column == s->from_column))
            continue;
        struct str line = lined_at(&to, s->line);
        size_t offset = (size_t)(line.at - to.text.at);
        if (str_starts(line, "import ") ||
            (str_starts(line, "export ") && !drop_export(&k->out, offset)))
            return refuse_import(k, s, where, e);
    }
    return true;
}

/* ---- the last expression ------------------------------------------------ */

/* Where the last statement begins, were it one line; the source's end: there is none
 * that could be a constant. */
static size_t find_tail(struct str source)
{
    size_t end = source.n;
    while (end &&
           (isspace((unsigned char)source.at[end - 1]) || source.at[end - 1] == ';'))
        end--;
    size_t at = end;
    while (at && !strchr("\n;}", source.at[at - 1]))
        at--;
    while (at < end && isspace((unsigned char)source.at[at]))
        at++;
    return end - at > TAIL_MAX || at == end || strchr("/)]}", source.at[at]) ? source.n
                                                                             : at;
}

/* Puts an expression back that esbuild has left out: with a `throw` before it, it must
 * come out behind the very same code. Whatever goes wrong: there was none. Where anything
 * comes from there, nothing was left out, and esbuild is not asked again. */
static void keep_tail(struct work *k)
{
    struct str source = k->from.text;
    size_t at = find_tail(source);
    uint32_t line = k->from.count - 1;
    while (line && k->from.starts[line] > at)
        line--;
    uint32_t column =
        units_of_bytes(lined_at(&k->from, line), (uint32_t)at - k->from.starts[line]);
    if (at == source.n || positions_reach(&k->positions, line, column))
        return;
    struct err none = {0};
    struct transformed t;
    scoped_buf struct buf with = buf_of(source.n + 16);
    buf_put(&with, source.at, at);
    buf_cstr(&with, "throw ");
    buf_put(&with, source.at + at, source.n - at);
    if (!esbuild_transform(k->guest, buf_view(&with), k->arena, &t, &none) ||
        t.message_count)
        return;
    struct str was = k->t.javascript, now = str_trim(t.javascript);
    if (now.n < was.n || memcmp(now.at, was.at, was.n) != 0 ||
        !has_word(now, was.n, "throw "))
        return;
    buf_put(&k->out, now.at + was.n + 6, now.n - was.n - 6);
    buf_char(&k->out, '\n');
}

/* ---- all of it ---------------------------------------------------------- */

static bool transform(struct work *k, struct typescript_place *where, struct err *e)
{
    struct str source = k->from.text;
    if (!esbuild_transform(k->guest, source, k->arena, &k->t, e))
        return false;
    const struct message *error = other_error(&k->t);
    if (error)
        return message_refuse(k, error, where, e);
    if (k->t.message_count == 0)
        return true;
    scoped_buf struct buf with = buf_of(source.n * 2 + 64);
    if (!find_returns(k, e) || !put_throws(k, &with, e) ||
        !esbuild_transform(k->guest, buf_view(&with), k->arena, &k->t, e))
        return false;
    return k->t.message_count == 0 || message_refuse(k, &k->t.messages[0], where, e);
}

static bool edit(struct work *k, struct typescript_place *where, struct err *e)
{
    if (!transform(k, where, e) || !positions_read(k->t.mappings, &k->positions, e) ||
        !restore_returns(k, e) || !drop_module_words(k, where, e))
        return false;
    if (k->return_count == 0)
        keep_tail(k);
    return buf_check(&k->out, "the JavaScript", e);
}

struct typescript_code *translate(struct guest_world *w, struct str source,
                                  struct arena *a, struct typescript_place *where,
                                  struct err *e)
{
    struct work k = {.guest = w, .arena = a};
    struct typescript_code *c = NULL;
    buf_init(&k.out, 2 * TYPESCRIPT_OUTPUT_BYTES);
    if (!lined_init(&k.from, source))
        err_set(e, ERR_LIMIT, "there is no memory for %zu bytes of code", source.n);
    else if (edit(&k, where, e))
        c = code_new(source, buf_view(&k.out), &k.positions, e);
    positions_done(&k.positions);
    lined_done(&k.from);
    buf_done(&k.out);
    return c;
}
