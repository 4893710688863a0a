/* Line by line, as the specification's appendix has it: first the open containers are
 * matched, then new blocks are looked for, then what is left is text. */
#include "notes/blocks.h"

#include <strings.h>

enum leaf { LEAF_NONE, LEAF_PARAGRAPH, LEAF_FENCE, LEAF_HTML, LEAF_CODE };

struct container {
    bool is_item;  /* else a quote */
    size_t indent; /* columns to an item's content, from its parent's */
    bool empty;    /* an item whose first line was blank */
};

struct parser {
    struct str text;
    size_t at, number;
    struct str line; /* without its end */
    size_t start;    /* of the line */
    /* Where we are in the line: a byte, its column, and columns of a tab not used yet. */
    size_t i, column, left;
    struct container open[BLOCKS_DEPTH_MAX];
    size_t depth;
    enum leaf leaf;
    char fence;
    size_t fence_size;
    int html;                         /* kind, 1 to 7 */
    size_t paragraph, paragraph_line; /* its first byte and line */
    struct heading *headings;
    size_t count, capacity;
    struct arena *arena;
};

/* ---- moving along a line ------------------------------------------------- */

/* Columns of white space from here. */
static size_t indent_here(const struct parser *p)
{
    size_t column = p->column + p->left, i = p->i;
    for (; i < p->line.n && (p->line.at[i] == ' ' || p->line.at[i] == '\t'); i++)
        column = p->line.at[i] == '\t' ? (column / 4 + 1) * 4 : column + 1;
    return column - p->column;
}

/* Steps over at most `columns` of white space; a tab may be used in part. */
static void skip_columns(struct parser *p, size_t columns)
{
    while (columns) {
        if (p->left) {
            p->left--;
        } else if (p->i < p->line.n && p->line.at[p->i] == '\t') {
            p->left = 3 - p->column % 4;
            p->i++;
        } else if (p->i < p->line.n && p->line.at[p->i] == ' ') {
            p->i++;
        } else {
            return;
        }
        p->column++;
        columns--;
    }
}

static void skip_bytes(struct parser *p, size_t n)
{
    p->i += n;
    p->column += n;
}

/* What is left of the line behind its white space. */
static struct str rest_of(const struct parser *p)
{
    size_t i = p->i;
    while (i < p->line.n && (p->line.at[i] == ' ' || p->line.at[i] == '\t'))
        i++;
    return (struct str){p->line.at + i, p->line.n - i};
}

static bool is_blank(const struct parser *p)
{
    return rest_of(p).n == 0;
}

static size_t run_of(struct str s, char c)
{
    size_t n = 0;
    while (n < s.n && s.at[n] == c)
        n++;
    return n;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- what begins here ---------------------------------------------------- */

static size_t fence_of(struct str s)
{
    if (!s.n || (s.at[0] != '`' && s.at[0] != '~'))
        return 0;
    size_t n = run_of(s, s.at[0]);
    bool tick = s.at[0] == '`';
    return n >= 3 && !(tick && memchr(s.at + n, '`', s.n - n)) ? n : 0;
}

static unsigned atx_of(struct str s)
{
    size_t n = run_of(s, '#');
    return n >= 1 && n <= 6 && (n == s.n || is_space(s.at[n])) ? (unsigned)n : 0;
}

static bool is_break(struct str s)
{
    size_t marks = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (is_space(s.at[i]))
            continue;
        if (!strchr("-_*", s.at[i]) || s.at[i] != s.at[0])
            return false;
        marks++;
    }
    return marks >= 3;
}

/* The level of a heading that this line underlines; 0: it does not. */
static unsigned underline_of(struct str s)
{
    if (!s.n || (s.at[0] != '=' && s.at[0] != '-'))
        return 0;
    size_t n = run_of(s, s.at[0]);
    struct str tail = {s.at + n, s.n - n};
    return str_trim(tail).n ? 0 : s.at[0] == '=' ? 1 : 2;
}

/* Bytes of a list mark, 0: none. */
static size_t mark_of(struct str s, char *mark)
{
    size_t n = 0;
    while (n < s.n && n < 10 && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    bool number = n >= 1 && n <= 9 && n < s.n && (s.at[n] == '.' || s.at[n] == ')');
    bool bullet = n == 0 && s.n && strchr("-+*", s.at[0]) && s.at[0];
    if (!number && !bullet)
        return 0;
    *mark = s.at[n++];
    return n == s.n || is_space(s.at[n]) ? n : 0;
}

static bool starts_name(struct str s, const char *name)
{
    size_t n = strlen(name);
    return s.n >= n && !strncasecmp(s.at, name, n);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Kind 1 and 6: a tag of the list, and what may follow its name. */
static bool is_tag_of(struct str s, const char *const *names, bool may_close)
{
    if (may_close && s.n && s.at[0] == '/')
        s.at++, s.n--;
    for (size_t i = 0; names[i]; i++) {
        size_t n = strlen(names[i]);
        if (!starts_name(s, names[i]))
            continue;
        if (s.n == n || is_space(s.at[n]) || s.at[n] == '>' ||
            (may_close && s.n > n + 1 && s.at[n] == '/' && s.at[n + 1] == '>'))
            return true;
    }
    return false;
}

static size_t skip_white(struct str s, size_t i)
{
    while (i < s.n && is_space(s.at[i]))
        i++;
    return i;
}

/* ' name = "value"' at `i`; where it ends, or `i` itself where there is none. SIZE_MAX:
 * it is broken. */
static size_t attribute(struct str s, size_t i)
{
    size_t k = skip_white(s, i);
    if (k == i || k >= s.n || (!is_letter(s.at[k]) && s.at[k] != '_' && s.at[k] != ':'))
        return i;
    while (k < s.n && (is_letter(s.at[k]) || (s.at[k] >= '0' && s.at[k] <= '9') ||
                       (strchr("_.:-", s.at[k]) && s.at[k])))
        k++;
    size_t v = skip_white(s, k);
    if (v >= s.n || s.at[v] != '=')
        return k;
    v = skip_white(s, v + 1);
    if (v >= s.n)
        return SIZE_MAX;
    if (s.at[v] == '"' || s.at[v] == '\'') {
        const char *end = memchr(s.at + v + 1, s.at[v], s.n - v - 1);
        return end ? (size_t)(end + 1 - s.at) : SIZE_MAX;
    }
    k = v;
    while (k < s.n && !is_space(s.at[k]) && !(strchr("\"'=<>`", s.at[k]) && s.at[k]))
        k++;
    return k > v ? k : SIZE_MAX;
}

/* Kind 7: one whole tag, alone on its line. */
static bool is_lone_tag(struct str s)
{
    size_t i = 1;
    bool closing = s.n > 1 && s.at[1] == '/';
    i += closing;
    if (i >= s.n || !is_letter(s.at[i]))
        return false;
    while (i < s.n &&
           (is_letter(s.at[i]) || (s.at[i] >= '0' && s.at[i] <= '9') || s.at[i] == '-'))
        i++;
    for (size_t next; !closing && (next = attribute(s, i)) != i; i = next)
        if (next == SIZE_MAX)
            return false;
    i = skip_white(s, i);
    if (!closing && i < s.n && s.at[i] == '/')
        i++;
    if (i >= s.n || s.at[i] != '>')
        return false;
    return skip_white(s, i + 1) == s.n;
}

static int html_of(struct str s, bool in_paragraph)
{
    static const char *const raw[] = {"script", "pre", "style", "textarea", NULL};
    static const char *const blocks[] = {
        "address",  "article",    "aside",   "base",     "basefont", "blockquote",
        "body",     "caption",    "center",  "col",      "colgroup", "dd",
        "details",  "dialog",     "dir",     "div",      "dl",       "dt",
        "fieldset", "figcaption", "figure",  "footer",   "form",     "frame",
        "frameset", "h1",         "h2",      "h3",       "h4",       "h5",
        "h6",       "head",       "header",  "hr",       "html",     "iframe",
        "legend",   "li",         "link",    "main",     "menu",     "menuitem",
        "nav",      "noframes",   "ol",      "optgroup", "option",   "p",
        "param",    "search",     "section", "summary",  "table",    "tbody",
        "td",       "tfoot",      "th",      "thead",    "title",    "tr",
        "track",    "ul",         NULL};
    if (!s.n || s.at[0] != '<')
        return 0;
    struct str name = {s.at + 1, s.n - 1};
    if (is_tag_of(name, raw, false))
        return 1;
    if (str_starts(s, "<!--"))
        return 2;
    if (str_starts(s, "<?"))
        return 3;
    if (str_starts(s, "<![CDATA["))
        return 5;
    if (str_starts(s, "<!") && s.n > 2 && is_letter(s.at[2]))
        return 4;
    if (is_tag_of(name, blocks, true))
        return 6;
    return !in_paragraph && is_lone_tag(s) ? 7 : 0;
}

/* Does an HTML block of this kind end with this line? */
static bool html_ends(int kind, struct str s)
{
    static const char *const raw[] = {"</script>", "</pre>", "</style>", "</textarea>"};
    static const char *const ends[] = {NULL, NULL, "-->", "?>", ">", "]]>"};
    if (kind >= 6)
        return false; /* by a blank line */
    if (kind > 1)
        return memmem(s.at, s.n, ends[kind], strlen(ends[kind])) != NULL;
    for (const char *c = memchr(s.at, '<', s.n); c;
         c = memchr(c + 1, '<', s.n - (size_t)(c + 1 - s.at)))
        for (size_t i = 0; i < LENGTH(raw); i++)
            if (starts_name((struct str){c, s.n - (size_t)(c - s.at)}, raw[i]))
                return true;
    return false;
}

/* ---- headings ------------------------------------------------------------ */

static bool add_heading(struct parser *p, struct heading h, struct err *e)
{
    if (p->depth)
        return true;
    if (p->count == p->capacity) {
        size_t more = p->capacity ? 2 * p->capacity : 64;
        struct heading *grown = arena_get(p->arena, more * sizeof *grown, e);
        if (!grown)
            return false;
        if (p->count)
            memcpy(grown, p->headings, p->count * sizeof *grown);
        p->headings = grown;
        p->capacity = more;
    }
    p->headings[p->count++] = h;
    return true;
}

static struct str atx_text(struct str s, unsigned level)
{
    struct str t = str_trim((struct str){s.at + level, s.n - level});
    size_t n = t.n;
    while (n && t.at[n - 1] == '#')
        n--;
    bool closed = n == 0 || is_space(t.at[n - 1]);
    return closed ? str_trim((struct str){t.at, n}) : t;
}

static bool add_atx(struct parser *p, struct str s, unsigned level, struct err *e)
{
    return add_heading(
        p, (struct heading){level, atx_text(s, level), p->start, p->at, p->number}, e);
}

/* A paragraph of link definitions alone is none, and cannot be underlined. */
static bool is_definitions(struct str text)
{
    struct str t = str_trim(text);
    const char *close = t.n && t.at[0] == '[' ? memmem(t.at, t.n, "]:", 2) : NULL;
    return close && close > t.at + 1 && t.at[1] != '^' && !memchr(t.at, '\n', t.n);
}

static bool add_setext(struct parser *p, unsigned level, struct err *e)
{
    struct str text = {p->text.at + p->paragraph, p->start - p->paragraph};
    return add_heading(
        p,
        (struct heading){level, str_trim(text), p->paragraph, p->at, p->paragraph_line},
        e);
}

/* ---- one line ------------------------------------------------------------ */

/* How many of the open containers go on with this line. */
static size_t match_containers(struct parser *p)
{
    for (size_t d = 0; d < p->depth; d++) {
        struct container *c = &p->open[d];
        size_t indent = indent_here(p);
        struct str s = rest_of(p);
        if (!c->is_item) {
            if (indent > 3 || !s.n || s.at[0] != '>')
                return d;
            skip_columns(p, indent);
            skip_bytes(p, 1);
            skip_columns(p, 1);
        } else if (!s.n) {
            if (c->empty) /* it began with a blank line, too: that was all of it */
                return d;
            skip_columns(p, indent);
        } else if (indent >= c->indent) {
            skip_columns(p, c->indent);
        } else {
            return d;
        }
    }
    return p->depth;
}

static void close_to(struct parser *p, size_t depth)
{
    if (p->depth > depth)
        p->leaf = LEAF_NONE;
    p->depth = depth;
}

static bool open_container(struct parser *p, struct container c, struct err *e)
{
    if (p->depth == BLOCKS_DEPTH_MAX)
        return err_set(e, ERR_LIMIT,
                       "line %zu: quotes and lists stand in each other more than %u deep",
                       p->number, BLOCKS_DEPTH_MAX);
    p->leaf = LEAF_NONE;
    p->open[p->depth++] = c;
    return true;
}

/* May the mark begin a list item here? One that interrupts a paragraph must not be
 * empty, and a number must be 1. */
static bool may_begin(struct str s, size_t n, char mark, bool in_paragraph)
{
    if (!in_paragraph)
        return true;
    bool empty = str_trim((struct str){s.at + n, s.n - n}).n == 0;
    bool number = mark == '.' || mark == ')';
    return !empty && (!number || (n == 2 && s.at[0] == '1'));
}

static bool open_item(struct parser *p, size_t indent, size_t n, struct err *e)
{
    skip_columns(p, indent);
    skip_bytes(p, n);
    size_t spaces = indent_here(p);
    bool empty = is_blank(p);
    size_t taken = empty || spaces > 4 || spaces < 1 ? 1 : spaces;
    if (!empty || spaces)
        skip_columns(p, empty ? spaces : taken);
    return open_container(
        p,
        (struct container){.is_item = true, .indent = indent + n + taken, .empty = empty},
        e);
}

/* Does a leaf take the line as it is? */
static bool go_on(struct parser *p)
{
    struct str s = rest_of(p);
    size_t indent = indent_here(p);
    if (p->leaf == LEAF_FENCE) {
        size_t n = indent < 4 ? run_of(s, p->fence) : 0;
        if (n >= p->fence_size && str_trim((struct str){s.at + n, s.n - n}).n == 0)
            p->leaf = LEAF_NONE;
        return true;
    }
    if (p->leaf == LEAF_HTML) {
        if (p->html >= 6 ? s.n == 0 : html_ends(p->html, s))
            p->leaf = LEAF_NONE;
        return true;
    }
    return false;
}

/* What of a line's beginnings was found. */
enum begun { BEGUN_NOTHING, BEGUN_CONTAINER, BEGUN_LEAF };

/* `matched` containers go on; the others end with whatever begins here. */
struct place {
    size_t matched;
    bool all; /* that were open */
};

static bool begin_leaf(struct parser *p, const struct place *at, enum leaf leaf)
{
    close_to(p, at->matched);
    p->leaf = leaf;
    return true;
}

static bool begin_html(struct parser *p, const struct place *at, struct str s, int kind)
{
    /* The end may stand on the same line; a comment's not in its "<!--". */
    struct str tail = kind == 2 ? (struct str){s.at + 2, s.n - 2} : s;
    p->html = kind;
    return begin_leaf(p, at, html_ends(kind, tail) ? LEAF_NONE : LEAF_HTML);
}

static bool begin_heading(struct parser *p, const struct place *at, struct str s,
                          unsigned level, struct err *e)
{
    (void)begin_leaf(p, at, LEAF_NONE);
    return add_atx(p, s, level, e);
}

static bool begin_fence(struct parser *p, const struct place *at, struct str s, size_t n)
{
    p->fence = s.at[0];
    p->fence_size = n;
    return begin_leaf(p, at, LEAF_FENCE);
}

static bool underlines(const struct parser *p, const struct place *at, struct str s)
{
    struct str written = {p->text.at + p->paragraph, p->start - p->paragraph};
    return p->leaf == LEAF_PARAGRAPH && at->all && underline_of(s) &&
           !is_definitions(written);
}

static bool end_setext(struct parser *p, struct str s, struct err *e)
{
    p->leaf = LEAF_NONE;
    return add_setext(p, underline_of(s), e);
}

static bool begin_quote(struct parser *p, const struct place *at, struct err *e)
{
    close_to(p, at->matched);
    skip_columns(p, indent_here(p));
    skip_bytes(p, 1);
    skip_columns(p, 1);
    return open_container(p, (struct container){0}, e);
}

static bool begin_item(struct parser *p, const struct place *at, size_t n, struct err *e)
{
    close_to(p, at->matched);
    return open_item(p, indent_here(p), n, e);
}

/* The next thing that begins in the line. */
static bool begin(struct parser *p, const struct place *at, enum begun *begun,
                  struct err *e)
{
    struct str s = rest_of(p);
    bool paragraph = p->leaf == LEAF_PARAGRAPH;
    size_t n;
    unsigned level;
    int html;
    char mark;
    *begun = BEGUN_LEAF;
    /* Four columns are code; in a paragraph they are nothing but text. */
    if (s.n && indent_here(p) > 3 && !paragraph)
        return begin_leaf(p, at, LEAF_CODE);
    bool plain = !s.n || indent_here(p) > 3;
    if (!plain && (level = atx_of(s)))
        return begin_heading(p, at, s, level, e);
    if (!plain && (n = fence_of(s)))
        return begin_fence(p, at, s, n);
    if (!plain && (html = html_of(s, paragraph)))
        return begin_html(p, at, s, html);
    if (!plain && underlines(p, at, s))
        return end_setext(p, s, e);
    if (!plain && is_break(s))
        return begin_leaf(p, at, LEAF_NONE);
    *begun = BEGUN_CONTAINER;
    if (!plain && s.at[0] == '>')
        return begin_quote(p, at, e);
    if (!plain && (n = mark_of(s, &mark)) && may_begin(s, n, mark, paragraph && at->all))
        return begin_item(p, at, n, e);
    *begun = BEGUN_NOTHING;
    return true;
}

static void take_blank(struct parser *p, const struct place *at)
{
    close_to(p, at->matched);
    if (p->leaf == LEAF_PARAGRAPH || p->leaf == LEAF_CODE)
        p->leaf = LEAF_NONE;
}

/* Where a container did not match, text belongs to its paragraph all the same. */
static void take_text(struct parser *p)
{
    if (p->leaf == LEAF_PARAGRAPH)
        return;
    p->leaf = LEAF_PARAGRAPH;
    p->paragraph = p->start;
    p->paragraph_line = p->number;
}

static bool take_line(struct parser *p, struct err *e)
{
    struct place at = {.matched = match_containers(p)};
    at.all = at.matched == p->depth;
    if (at.all && go_on(p))
        return true;
    if (p->leaf != LEAF_PARAGRAPH)
        close_to(p, at.matched);
    enum begun begun = BEGUN_CONTAINER;
    while (begun == BEGUN_CONTAINER) {
        if (!begin(p, &at, &begun, e))
            return false;
        if (begun == BEGUN_CONTAINER)
            at = (struct place){p->depth, true};
    }
    bool blank = is_blank(p);
    if (begun == BEGUN_NOTHING && blank)
        take_blank(p, &at);
    else if (begun == BEGUN_NOTHING)
        take_text(p);
    for (size_t d = 0; d < p->depth && !(begun == BEGUN_NOTHING && blank); d++)
        p->open[d].empty = false;
    return true;
}

static bool next_line(struct parser *p)
{
    if (p->at >= p->text.n)
        return false;
    p->start = p->at;
    size_t i = p->at;
    while (i < p->text.n && p->text.at[i] != '\n' && p->text.at[i] != '\r')
        i++;
    p->line = (struct str){p->text.at + p->start, i - p->start};
    if (i < p->text.n)
        i += p->text.at[i] == '\r' && i + 1 < p->text.n && p->text.at[i + 1] == '\n' ? 2
                                                                                     : 1;
    p->at = i;
    p->number++;
    p->i = p->column = p->left = 0;
    return true;
}

struct heading *blocks_headings(struct str text, struct arena *a, size_t *count,
                                struct err *e)
{
    struct parser *p = mem_new(sizeof *p);
    p->text = text;
    p->arena = a;
    p->headings = arena_get(a, 64 * sizeof *p->headings, e);
    p->capacity = 64;
    bool ok = p->headings != NULL;
    while (ok && next_line(p))
        ok = take_line(p, e);
    struct heading *all = ok ? p->headings : NULL;
    *count = p->count;
    free(p);
    return all;
}
