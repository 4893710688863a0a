/* Line by line, as the specification's appendix has it: first the open containers are
 * matched, then new blocks are looked for, then what is left is text. */
#include "notes/blocks.h"

#include "notes/html.h"

struct container {
    bool is_item;  /* else a quote */
    size_t indent; /* columns to an item's content, from its parent's */
    bool empty;    /* an item whose first line was blank */
};

struct parser {
    struct str text;
    size_t at, number;
    size_t newline; /* the next one at or behind `at`, once that is beyond the last one */
    struct str line; /* without its end */
    size_t start;    /* of the line */
    /* The place in the line: a byte, its column, and columns of a tab not used yet. */
    size_t i, column, left;
    struct container open[BLOCKS_DEPTH_MAX];
    size_t depth, deep;
    struct block leaf; /* the one that is open */
    char fence;
    size_t fence_size;
    int html; /* kind, 1 to 7 */
    block_fn *each;
    void *arg;
    bool ended; /* by `each` */
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

/* The rest of the line behind its white space. */
static struct str parser_rest(const struct parser *p)
{
    size_t i = p->i;
    while (i < p->line.n && (p->line.at[i] == ' ' || p->line.at[i] == '\t'))
        i++;
    return (struct str){p->line.at + i, p->line.n - i};
}

static bool parser_is_blank(const struct parser *p)
{
    return parser_rest(p).n == 0;
}

static size_t parser_run(struct str s, char c)
{
    size_t n = 0;
    while (n < s.n && s.at[n] == c)
        n++;
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- what begins here ---------------------------------------------------- */

static size_t fence_of(struct str s)
{
    if (!s.n || (s.at[0] != '`' && s.at[0] != '~'))
        return 0;
    size_t n = parser_run(s, s.at[0]);
    bool tick = s.at[0] == '`';
    return n >= 3 && !(tick && memchr(s.at + n, '`', s.n - n)) ? n : 0;
}

static unsigned atx_of(struct str s)
{
    size_t n = parser_run(s, '#');
    return n >= 1 && n <= 6 && (n == s.n || is_blank(s.at[n])) ? (unsigned)n : 0;
}

static bool is_break(struct str s)
{
    size_t marks = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (is_blank(s.at[i]))
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
    size_t n = parser_run(s, s.at[0]);
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
    return n == s.n || is_blank(s.at[n]) ? n : 0;
}

/* ---- leaves ---------------------------------------------------------------- */

/* Tells of the open leaf, which is whole. */
static void end_leaf(struct parser *p)
{
    enum block_kind kind = p->leaf.kind;
    p->leaf.deep = p->deep;
    if (kind != BLOCK_NONE && kind != BLOCK_INDENTED && !p->ended)
        p->ended = !p->each(p->arg, &p->leaf);
    p->leaf.kind = BLOCK_NONE;
}

/* The line belongs to the open leaf. */
static void grow_leaf(struct parser *p)
{
    p->leaf.end = p->at;
    p->leaf.text.n = (size_t)(p->text.at + p->at - p->leaf.text.at);
}

static void close_to(struct parser *p, size_t depth)
{
    if (p->depth > depth)
        end_leaf(p);
    p->depth = depth;
}

/* `matched` containers go on; the others end with whatever begins here. */
struct place {
    size_t matched;
    bool all; /* that were open */
};

/* Begins a leaf of this line, behind its white space. */
static void begin_leaf(struct parser *p, const struct place *at, enum block_kind kind)
{
    close_to(p, at->matched);
    end_leaf(p);
    p->leaf = (struct block){.kind = kind,
                             .depth = p->depth,
                             .text = parser_rest(p),
                             .start = p->start,
                             .line = p->number};
    grow_leaf(p);
}

static struct str atx_text(struct str s, unsigned level)
{
    struct str t = str_trim((struct str){s.at + level, s.n - level});
    size_t n = t.n;
    while (n && t.at[n - 1] == '#')
        n--;
    bool closed = n == 0 || is_blank(t.at[n - 1]);
    return closed ? str_trim((struct str){t.at, n}) : t;
}

static void begin_heading(struct parser *p, const struct place *at, struct str s,
                          unsigned level)
{
    begin_leaf(p, at, BLOCK_HEADING);
    p->leaf.level = level;
    p->leaf.text = atx_text(s, level);
    end_leaf(p);
}

static void begin_fence(struct parser *p, const struct place *at, struct str s, size_t n)
{
    begin_leaf(p, at, BLOCK_FENCE);
    p->leaf.open = true;
    p->leaf.text = (struct str){p->text.at + p->at, 0};
    p->fence = s.at[0];
    p->fence_size = n;
}

static void end_fence(struct parser *p)
{
    p->leaf.open = false;
    end_leaf(p);
}

static void begin_html(struct parser *p, const struct place *at, struct str s, int kind)
{
    begin_leaf(p, at, BLOCK_HTML);
    p->leaf.open = kind < 6;
    p->html = kind;
    /* The end may stand on the same line; a comment's not in its "<!--". */
    struct str tail = kind == 2 ? (struct str){s.at + 2, s.n - 2} : s;
    if (html_block_ends(kind, tail))
        end_fence(p);
}

/* A paragraph of link definitions alone is none, and cannot be underlined. */
static bool is_definitions(struct str text)
{
    struct str t = str_trim(text);
    const char *close = t.n && t.at[0] == '[' ? memmem(t.at, t.n, "]:", 2) : NULL;
    return close && close > t.at + 1 && t.at[1] != '^' && !memchr(t.at, '\n', t.n);
}

static bool underlines(const struct parser *p, const struct place *at, struct str s)
{
    return p->leaf.kind == BLOCK_PARAGRAPH && at->all && underline_of(s) &&
           !is_definitions(p->leaf.text);
}

static void end_setext(struct parser *p, struct str s)
{
    p->leaf.kind = BLOCK_HEADING;
    p->leaf.level = underline_of(s);
    p->leaf.text = str_trim(p->leaf.text);
    p->leaf.end = p->at;
    end_leaf(p);
}

/* Does a leaf take the line as it is? */
static bool parser_go_on(struct parser *p)
{
    struct str s = parser_rest(p);
    bool fence = p->leaf.kind == BLOCK_FENCE;
    if (!fence && p->leaf.kind != BLOCK_HTML)
        return false;
    size_t n = fence && indent_here(p) < 4 ? parser_run(s, p->fence) : 0;
    bool closes = n >= p->fence_size && str_trim((struct str){s.at + n, s.n - n}).n == 0;
    if (fence && closes) {
        end_fence(p);
        return true;
    }
    grow_leaf(p);
    if (!fence && html_block_ends(p->html, s))
        end_fence(p);
    return true;
}

/* ---- containers ------------------------------------------------------------ */

/* Counts the open containers that this line continues. */
static size_t match_containers(struct parser *p)
{
    for (size_t d = 0; d < p->depth; d++) {
        struct container *c = &p->open[d];
        size_t indent = indent_here(p);
        struct str s = parser_rest(p);
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

static void begin_item(struct parser *p, size_t n)
{
    size_t indent = indent_here(p);
    skip_columns(p, indent);
    skip_bytes(p, n);
    size_t spaces = indent_here(p);
    bool empty = parser_is_blank(p);
    size_t taken = empty || spaces > 4 || spaces < 1 ? 1 : spaces;
    if (!empty || spaces)
        skip_columns(p, empty ? spaces : taken);
    p->open[p->depth++] =
        (struct container){.is_item = true, .indent = indent + n + taken, .empty = empty};
}

static void begin_quote(struct parser *p)
{
    skip_columns(p, indent_here(p));
    skip_bytes(p, 1);
    skip_columns(p, 1);
    p->open[p->depth++] = (struct container){0};
}

static bool begin_container(struct parser *p, struct place *at, struct str s)
{
    char mark;
    size_t n = 0;
    bool quote = s.at[0] == '>', paragraph = p->leaf.kind == BLOCK_PARAGRAPH && at->all;
    if (!quote && (!(n = mark_of(s, &mark)) || !may_begin(s, n, mark, paragraph)))
        return false;
    if (at->matched == BLOCKS_DEPTH_MAX) {
        p->deep = p->deep ? p->deep : p->number;
        return false;
    }
    close_to(p, at->matched);
    end_leaf(p);
    if (quote)
        begin_quote(p);
    else
        begin_item(p, n);
    *at = (struct place){p->depth, true};
    return true;
}

/* ---- one line -------------------------------------------------------------- */

/* A leaf that begins in the line, which is not blank. */
static bool block_begin(struct parser *p, const struct place *at)
{
    struct str s = parser_rest(p);
    bool paragraph = p->leaf.kind == BLOCK_PARAGRAPH;
    size_t n;
    unsigned level;
    int html;
    /* Four columns are code; in a paragraph they are nothing but text. */
    if (indent_here(p) > 3) {
        if (!paragraph)
            begin_leaf(p, at, BLOCK_INDENTED);
        return !paragraph;
    }
    if ((level = atx_of(s)))
        begin_heading(p, at, s, level);
    else if ((n = fence_of(s)))
        begin_fence(p, at, s, n);
    else if ((html = html_block_begins(s, paragraph)))
        begin_html(p, at, s, html);
    else if (underlines(p, at, s))
        end_setext(p, s);
    else if (is_break(s))
        begin_leaf(p, at, BLOCK_NONE);
    else
        return false;
    return true;
}

static void take_blank(struct parser *p, const struct place *at)
{
    close_to(p, at->matched);
    if (p->leaf.kind == BLOCK_PARAGRAPH || p->leaf.kind == BLOCK_INDENTED)
        end_leaf(p);
}

/* Text belongs to the paragraph also where a container did not match. */
static void take_text(struct parser *p, const struct place *at)
{
    if (p->leaf.kind == BLOCK_PARAGRAPH)
        grow_leaf(p);
    else
        begin_leaf(p, at, BLOCK_PARAGRAPH);
}

static void parser_take_line(struct parser *p)
{
    struct place at = {.matched = match_containers(p)};
    at.all = at.matched == p->depth;
    if (at.all && parser_go_on(p))
        return;
    if (p->leaf.kind != BLOCK_PARAGRAPH)
        close_to(p, at.matched);
    bool begun = false;
    while (!parser_is_blank(p) && !(begun = block_begin(p, &at)) && indent_here(p) < 4 &&
           begin_container(p, &at, parser_rest(p)))
        ;
    if (parser_is_blank(p) && !begun)
        take_blank(p, &at);
    else if (!begun)
        take_text(p, &at);
    for (size_t d = 0; d < p->depth && (begun || !parser_is_blank(p)); d++)
        p->open[d].empty = false;
}

static bool parser_next_line(struct parser *p)
{
    if (p->at >= p->text.n || p->ended)
        return false;
    const char *from = p->text.at + p->at;
    if (p->newline < p->at || !p->number) {
        const char *nl = memchr(from, '\n', p->text.n - p->at);
        p->newline = nl ? (size_t)(nl - p->text.at) : p->text.n;
    }
    const char *cr = memchr(from, '\r', p->newline - p->at);
    size_t end = cr ? (size_t)(cr - p->text.at) : p->newline;
    p->start = p->at;
    p->line = (struct str){from, end - p->start};
    bool both = end + 1 == p->newline; /* "\r\n" */
    p->at = end + (end < p->text.n) + (cr && both && p->newline < p->text.n);
    p->number++;
    p->i = p->column = p->left = 0;
    return true;
}

void blocks_scan(struct str text, block_fn *each, void *arg)
{
    struct parser *p = mem_new(sizeof *p);
    p->text = text;
    p->each = each;
    p->arg = arg;
    while (parser_next_line(p))
        parser_take_line(p);
    end_leaf(p);
    free(p);
}

/* ---- headings ---------------------------------------------------------------- */

struct headings {
    struct heading *all;
    size_t count, capacity;
    struct arena *arena;
    struct err *e;
};

static bool add_heading(void *arg, const struct block *b)
{
    struct headings *h = arg;
    if (b->deep)
        return err_set(h->e, ERR_LIMIT,
                       "line %zu: quotes and lists are nested more than %u deep", b->deep,
                       BLOCKS_DEPTH_MAX);
    if (b->kind != BLOCK_HEADING || b->depth)
        return true;
    if (h->count == h->capacity) {
        struct heading *grown =
            arena_get(h->arena, 2 * h->capacity * sizeof *grown, h->e);
        if (!grown)
            return false;
        memcpy(grown, h->all, h->count * sizeof *grown);
        h->all = grown;
        h->capacity *= 2;
    }
    h->all[h->count++] = (struct heading){b->level, b->text, b->start, b->end, b->line};
    return true;
}

struct heading *blocks_headings(struct str text, struct arena *a, size_t *count,
                                struct err *e)
{
    struct headings h = {.capacity = 64, .arena = a, .e = e};
    h.all = arena_get(a, h.capacity * sizeof *h.all, e);
    if (h.all)
        blocks_scan(text, add_heading, &h);
    *count = h.count;
    return e->code ? NULL : h.all;
}
