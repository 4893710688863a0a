#include "notes/markdown.h"

const char *link_kind_name(enum link_kind kind)
{
    static const char *const names[] = {"wiki", "markdown", "external"};
    return names[kind];
}

/* ---- lines -------------------------------------------------------------- */

#define LISTS_MAX 16

/* Walks a text line by line and knows what is code. */
struct scan {
    struct str text;
    size_t at;
    size_t number; /* of the line, from 1 */
    char fence;    /* '`' or '~' inside a fenced block, else 0 */
    size_t fence_length, fence_quotes, fence_base;
    size_t lists[LISTS_MAX]; /* where the contents of the open list items begin */
    size_t list_count;
    size_t quotes;
    bool in_paragraph;
    /* the line */
    struct str line;    /* whole, without its end */
    struct str content; /* behind quote marks, list marks and indentation */
    bool blank, code, heading;
    bool starts; /* begins a block of its own */
};

/* Steps over spaces and tabs; *column counts tabs as up to four. */
static size_t skip_indent(struct str line, size_t i, size_t *column)
{
    for (; i < line.n && (line.at[i] == ' ' || line.at[i] == '\t'); i++)
        *column = line.at[i] == '\t' ? (*column / 4 + 1) * 4 : *column + 1;
    return i;
}

static size_t run_of(struct str s, size_t i, char c)
{
    size_t n = 0;
    while (i + n < s.n && s.at[i + n] == c)
        n++;
    return n;
}

static struct str rest(struct str s, size_t i)
{
    return (struct str){s.at + i, s.n - i};
}

static bool is_blank(struct str s)
{
    return str_trim(s).n == 0;
}

/* Takes at most `max` quote marks from the head of the line. */
static size_t take_quotes(struct str line, size_t max, size_t *column, size_t *count)
{
    size_t i = 0;
    *count = 0;
    while (*count < max) {
        size_t c = *column;
        size_t k = skip_indent(line, i, &c);
        if (k >= line.n || line.at[k] != '>' || c - *column > 3)
            break;
        i = k + 1;
        *column = c + 1;
        if (i < line.n && line.at[i] == ' ') {
            i++;
            (*column)++;
        }
        ++*count;
    }
    return i;
}

/* Bytes of the list mark at `i`, 0 if there is none. */
static size_t list_mark(struct str s, size_t i)
{
    size_t n = i;
    while (n < s.n && n - i < 9 && s.at[n] >= '0' && s.at[n] <= '9')
        n++;
    if (n > i)
        n += n < s.n && (s.at[n] == '.' || s.at[n] == ')') ? 1 : i - n;
    else if (i < s.n && strchr("-*+", s.at[i]) && s.at[i])
        n++;
    if (n == i || (n < s.n && s.at[n] != ' ' && s.at[n] != '\t'))
        return 0;
    return n - i;
}

/* Length of the fence that opens at `i`, 0 if there is none. */
static size_t fence_at(struct str s, size_t i)
{
    if (i >= s.n || (s.at[i] != '`' && s.at[i] != '~'))
        return 0;
    size_t n = run_of(s, i, s.at[i]);
    bool tick = s.at[i] == '`';
    return n >= 3 && !(tick && memchr(s.at + i + n, '`', s.n - i - n)) ? n : 0;
}

/* Inside a fenced block. false: the block's container ended, the line is new. */
static bool fenced_line(struct scan *s)
{
    size_t column = 0, quotes;
    size_t i = take_quotes(s->line, s->fence_quotes, &column, &quotes);
    bool blank = is_blank(rest(s->line, i));
    size_t start = column;
    i = skip_indent(s->line, i, &column);
    if (quotes < s->fence_quotes ||
        (!blank && s->fence_base &&
         column - (s->fence_quotes ? start : 0) < s->fence_base)) {
        s->fence = 0;
        return false;
    }
    size_t n = run_of(s->line, i, s->fence);
    if (n >= s->fence_length && is_blank(rest(s->line, i + n)))
        s->fence = 0;
    s->code = true;
    return true;
}

static void drop_lists(struct scan *s, size_t column)
{
    while (s->list_count && s->lists[s->list_count - 1] > column)
        s->list_count--;
}

static size_t base_of(const struct scan *s)
{
    return s->list_count ? s->lists[s->list_count - 1] : 0;
}

/* Steps over the marks of list items, opening them. */
static size_t take_lists(struct scan *s, size_t i, size_t *column)
{
    for (;;) {
        size_t mark = list_mark(s->line, i);
        if (!mark || *column - base_of(s) > 3 || s->list_count == LISTS_MAX)
            return i;
        size_t after = *column + mark, inner = after;
        size_t k = skip_indent(s->line, i + mark, &inner);
        /* Five spaces and more: the content is indented code. */
        bool code = inner - after > 4 || k == s->line.n;
        s->lists[s->list_count++] = code ? after + 1 : inner;
        s->starts = true;
        s->in_paragraph = false;
        *column = inner;
        i = k;
        if (code)
            return i;
    }
}

static void open_line(struct scan *s)
{
    size_t column = 0, quotes;
    size_t i = take_quotes(s->line, SIZE_MAX, &column, &quotes);
    if (quotes != s->quotes) {
        s->starts = true;
        s->in_paragraph = s->in_paragraph && quotes < s->quotes; /* lazy */
        s->list_count = 0;
    }
    s->quotes = quotes;
    size_t outside = quotes ? column : 0;
    i = skip_indent(s->line, i, &column);
    column -= outside;
    s->content = rest(s->line, i);
    if (i == s->line.n) {
        s->blank = true;
        s->in_paragraph = false;
        return;
    }
    bool item = list_mark(s->line, i) > 0;
    if (!s->in_paragraph || item)
        drop_lists(s, column);
    if (column >= base_of(s) + 4 && !s->in_paragraph) {
        s->code = true;
        return;
    }
    i = take_lists(s, i, &column);
    s->content = rest(s->line, i);
    if (column >= base_of(s) + 4 && !s->in_paragraph) {
        s->code = true;
        return;
    }
    size_t fence = fence_at(s->line, i);
    if (fence) {
        s->fence = s->line.at[i];
        s->fence_length = fence;
        s->fence_quotes = quotes;
        s->fence_base = base_of(s);
        s->code = true;
        s->in_paragraph = false;
        return;
    }
    size_t marks = run_of(s->content, 0, '#');
    s->heading = marks >= 1 && marks <= 6 &&
                 (marks == s->content.n || s->content.at[marks] == ' ' ||
                  s->content.at[marks] == '\t');
    s->starts = s->starts || s->heading || !s->in_paragraph;
    s->in_paragraph = !s->heading;
}

static bool next_line(struct scan *s)
{
    if (s->at >= s->text.n)
        return false;
    const char *start = s->text.at + s->at;
    const char *nl = memchr(start, '\n', s->text.n - s->at);
    size_t n = nl ? (size_t)(nl - start) : s->text.n - s->at;
    s->at += n + (nl != NULL);
    s->number++;
    if (n && start[n - 1] == '\r')
        n--;
    s->line = (struct str){start, n};
    s->blank = s->code = s->heading = s->starts = false;
    s->content = s->line;
    if (!s->fence || !fenced_line(s))
        open_line(s);
    return true;
}

/* ---- the title ---------------------------------------------------------- */

/* "# Title ##" without its marks. */
static struct str heading_text(struct str content)
{
    struct str t = str_trim(rest(content, 1));
    size_t n = t.n;
    while (n && t.at[n - 1] == '#')
        n--;
    bool closed = n == 0 || t.at[n - 1] == ' ' || t.at[n - 1] == '\t';
    return closed ? str_trim((struct str){t.at, n}) : t;
}

struct str markdown_title(struct str text)
{
    struct scan s = {.text = text};
    struct str paragraph = STR(""); /* of one line so far */
    while (next_line(&s)) {
        bool outer = !s.quotes && !s.list_count && !s.code && !s.blank;
        if (outer && s.heading && run_of(s.content, 0, '#') == 1) {
            struct str t = heading_text(s.content);
            if (t.n)
                return t;
        }
        struct str c = str_trim(s.content);
        if (outer && paragraph.n && !s.starts && run_of(c, 0, '=') == c.n)
            return paragraph;
        paragraph = outer && s.starts && !s.heading ? c : STR("");
    }
    return STR("");
}

/* ---- links in a run of text --------------------------------------------- */

#define WIKI_MAX 1000   /* bytes between [[ and ]] */
#define LABEL_MAX 2000  /* bytes of a label */
#define TARGET_MAX 2048 /* bytes of a target */
#define NESTED_MAX 32   /* brackets inside each other */
#define TICKS_MAX 64    /* longer runs of backticks never close */

struct finder {
    struct str s;   /* the run: a paragraph, a heading */
    size_t line;    /* of its first byte */
    size_t counted; /* bytes of it that `line` has been moved over */
    size_t found, most;
    bool images; /* are told of, too */
    bool image;  /* what is being told of is one */
    void (*each)(void *arg, const struct link *l);
    void *arg;
    size_t no_ticks[TICKS_MAX + 1]; /* from here on no run of this length, + 1 */
};

static struct str part(const struct finder *f, size_t from, size_t to)
{
    return (struct str){f->s.at + from, to - from};
}

static void found(struct finder *f, size_t at, struct str target, struct str label,
                  enum link_kind kind)
{
    if (f->found == f->most || target.n == 0)
        return;
    f->found++;
    for (; f->counted < at; f->counted++)
        f->line += f->s.at[f->counted] == '\n';
    struct link l = {target, str_trim(label), kind, f->line, f->image};
    f->each(f->arg, &l);
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* "https:", "mailto:", "//": an address, no file. One letter is a drive. */
static bool is_external(struct str target)
{
    if (str_starts(target, "//"))
        return true;
    size_t i = 0;
    while (i < target.n &&
           (is_alnum(target.at[i]) || (i && strchr("+-.", target.at[i]) && target.at[i])))
        i++;
    return i >= 2 && i < 32 && i < target.n && target.at[i] == ':' &&
           !(target.at[0] >= '0' && target.at[0] <= '9');
}

static void found_target(struct finder *f, size_t at, struct str target, struct str label)
{
    if (is_external(target))
        found(f, at, target, label, LINK_EXTERNAL);
    else if (target.n && target.at[0] != '#')
        found(f, at, target, label, LINK_MARKDOWN);
}

/* Each of these reads one thing that begins at `i` and returns where it ends, or 0
 * when it is not there. */

static size_t code_span(struct finder *f, size_t i)
{
    size_t n = run_of(f->s, i, '`');
    if (n > TICKS_MAX || (f->no_ticks[n] && i + 1 >= f->no_ticks[n]))
        return 0;
    for (size_t k = i + n; k < f->s.n;) {
        if (f->s.at[k] != '`') {
            const char *tick = memchr(f->s.at + k, '`', f->s.n - k);
            k = tick ? (size_t)(tick - f->s.at) : f->s.n;
            continue;
        }
        size_t m = run_of(f->s, k, '`');
        if (m == n)
            return k + m;
        k += m;
    }
    f->no_ticks[n] = i + 1; /* remembered, or many openers would be quadratic */
    return 0;
}

static size_t wiki_link(struct finder *f, size_t i)
{
    size_t from = i + 2, to = from;
    while (to < f->s.n && to - from < WIKI_MAX && f->s.at[to] != '\n' &&
           f->s.at[to] != ']' && f->s.at[to] != '[')
        to++;
    if (to + 1 >= f->s.n || f->s.at[to] != ']' || f->s.at[to + 1] != ']')
        return 0;
    struct str inner = part(f, from, to), target = inner, label = inner;
    const char *bar = memchr(inner.at, '|', inner.n);
    if (bar) {
        target.n = (size_t)(bar - inner.at);
        label = rest(inner, target.n + 1);
        if (target.n && target.at[target.n - 1] == '\\') /* as tables want it */
            target.n--;
    }
    const char *heading = memchr(target.at, '#', target.n);
    if (heading)
        target.n = (size_t)(heading - target.at);
    found(f, i, str_trim(target), label, LINK_WIKI);
    return to + 2;
}

/* The ']' that belongs to the '[' at `i`. */
static size_t closing_bracket(const struct finder *f, size_t i)
{
    size_t depth = 0;
    for (size_t k = i; k < f->s.n && k - i < LABEL_MAX; k++) {
        char c = f->s.at[k];
        if (c == '\\')
            k++;
        else if (c == '[' && ++depth > NESTED_MAX)
            return 0;
        else if (c == ']' && --depth == 0)
            return k;
    }
    return 0;
}

static size_t skip_space(const struct finder *f, size_t i)
{
    while (i < f->s.n && strchr(" \t\r\n", f->s.at[i]) && f->s.at[i])
        i++;
    return i;
}

/* <dest> or dest with its parentheses in balance. */
static size_t destination(const struct finder *f, size_t i, struct str *out)
{
    bool angle = i < f->s.n && f->s.at[i] == '<';
    size_t from = i + angle, k = from, depth = 0;
    for (; k < f->s.n && k - from < TARGET_MAX; k++) {
        unsigned char c = (unsigned char)f->s.at[k];
        /* No space, and no line end, can be escaped. */
        if (c == '\\' && !angle && k + 1 < f->s.n &&
            (unsigned char)f->s.at[k + 1] > ' ') {
            k++;
            continue;
        }
        if (c == '\n' || (angle ? c == '>' || c == '<' : c <= ' '))
            break;
        if (!angle && c == '(' && ++depth > NESTED_MAX)
            return 0;
        if (!angle && c == ')' && depth-- == 0)
            break;
    }
    if (k >= f->s.n ? angle : k - from >= TARGET_MAX)
        return 0;
    if (angle && f->s.at[k] != '>')
        return 0;
    *out = part(f, from, k);
    return k + angle;
}

static size_t link_title(const struct finder *f, size_t i)
{
    if (i >= f->s.n || !f->s.at[i] || !strchr("\"'(", f->s.at[i]))
        return i;
    char end = f->s.at[i] == '(' ? ')' : f->s.at[i];
    for (size_t k = i + 1; k < f->s.n && k - i < LABEL_MAX; k++) {
        if (f->s.at[k] == '\\')
            k++;
        else if (f->s.at[k] == end)
            return k + 1;
    }
    return 0;
}

static size_t inline_link(struct finder *f, size_t i, bool image);

/* The images in a link's label, which is passed over otherwise. */
static void label_images(struct finder *f, size_t from, size_t to)
{
    for (size_t i = from; i + 1 < to; i++)
        if (f->s.at[i] == '!' && f->s.at[i + 1] == '[') {
            size_t end = inline_link(f, i + 1, true);
            i = end ? end - 1 : i;
        }
}

/* [label](target "title"); `image` ones are told of where they are wanted. */
static size_t inline_link(struct finder *f, size_t i, bool image)
{
    size_t close = closing_bracket(f, i);
    if (!close || close + 1 >= f->s.n || f->s.at[close + 1] != '(')
        return 0;
    struct str target;
    size_t k = destination(f, skip_space(f, close + 2), &target);
    if (!k)
        return 0;
    k = skip_space(f, k);
    k = link_title(f, k);
    if (!k)
        return 0;
    k = skip_space(f, k);
    if (k >= f->s.n || f->s.at[k] != ')')
        return 0;
    if (!image && f->images)
        label_images(f, i + 1, close);
    f->image = image;
    if (!image || f->images)
        found_target(f, i, target, part(f, i + 1, close));
    f->image = false;
    return k + 1;
}

/* [label]: target, at the head of a run. */
static size_t definition(struct finder *f, size_t i)
{
    size_t close = closing_bracket(f, i);
    if (!close || close + 1 >= f->s.n || f->s.at[close + 1] != ':' ||
        f->s.at[i + 1] == '^')
        return 0;
    struct str target;
    size_t k = destination(f, skip_space(f, close + 2), &target);
    if (!k)
        return 0;
    found_target(f, i, target, part(f, i + 1, close));
    return k;
}

static size_t autolink(struct finder *f, size_t i)
{
    size_t k = i + 1;
    while (k < f->s.n && k - i < TARGET_MAX && (unsigned char)f->s.at[k] > ' ' &&
           f->s.at[k] != '<' && f->s.at[k] != '>')
        k++;
    if (k >= f->s.n || f->s.at[k] != '>' || !is_external(part(f, i + 1, k)) ||
        f->s.at[i + 1] == '/')
        return 0;
    found(f, i, part(f, i + 1, k), part(f, i + 1, k), LINK_EXTERNAL);
    return k + 1;
}

static size_t bare_address(struct finder *f, size_t i)
{
    struct str left = part(f, i, f->s.n);
    size_t scheme = str_starts(left, "https://")  ? 8
                    : str_starts(left, "http://") ? 7
                                                  : 0;
    if (!scheme || (i && is_alnum(f->s.at[i - 1])))
        return 0;
    size_t k = i + scheme;
    while (k < f->s.n && k - i < TARGET_MAX && (unsigned char)f->s.at[k] > ' ' &&
           !strchr("<>\"`", f->s.at[k]))
        k++;
    k = i + str_cut(left, k - i).n;
    /* Signs that end a sentence are not meant, nor a ')' without its '('. */
    while (k > i + scheme) {
        char last = f->s.at[k - 1];
        bool lone = last == ')' && !memchr(f->s.at + i, '(', k - i);
        if (!lone && !strchr(".,;:!?'*_]", last))
            break;
        k--;
    }
    if (k > i + scheme)
        found(f, i, part(f, i, k), part(f, i, k), LINK_EXTERNAL);
    return k;
}

static size_t bracket(struct finder *f, size_t i)
{
    size_t end = 0;
    if (i + 1 < f->s.n && f->s.at[i + 1] == '[')
        end = wiki_link(f, i);
    if (!end)
        end = inline_link(f, i, false);
    bool heads_line = i == 0 || f->s.at[i - 1] == '\n';
    return end || !heads_line ? end : definition(f, i);
}

/* With what something may begin that find_in() looks at. */
static const bool begins[256] = {['\\'] = true, ['`'] = true, ['['] = true,
                                 ['!'] = true,  ['<'] = true, ['h'] = true};

static void find_in(struct finder *f, struct str run, size_t line)
{
    f->s = run;
    f->line = line;
    f->counted = 0;
    memset(f->no_ticks, 0, sizeof f->no_ticks);
    for (size_t i = 0; i < run.n && f->found < f->most;) {
        size_t end = 0, step = 1;
        if (!begins[(unsigned char)run.at[i]]) {
            i++;
            continue;
        }
        switch (run.at[i]) {
        case '\\':
            step = 2;
            break;
        case '`':
            end = code_span(f, i);
            step = run_of(run, i, '`');
            break;
        case '[':
            end = bracket(f, i);
            break;
        case '!':
            if (i + 1 < run.n && run.at[i + 1] == '[' &&
                !(i + 2 < run.n && run.at[i + 2] == '['))
                end = inline_link(f, i + 1, true);
            break;
        case '<':
            end = autolink(f, i);
            break;
        case 'h':
            end = bare_address(f, i);
            break;
        default:
            break;
        }
        i = end ? end : i + step;
    }
}

/* ---- links of a text ---------------------------------------------------- */

static void find_links(struct str text, size_t most, bool images,
                       void (*each)(void *arg, const struct link *l), void *arg)
{
    struct scan s = {.text = text};
    struct finder *f = mem_new(sizeof *f);
    f->each = each;
    f->arg = arg;
    f->most = most;
    f->images = images;
    struct str run = STR("");
    size_t run_line = 0;
    bool more = true;
    while (more && f->found < f->most) {
        more = next_line(&s);
        bool plain = more && !s.blank && !s.code;
        if (run.n && (!plain || s.starts)) {
            find_in(f, run, run_line);
            run.n = 0;
        }
        if (!plain)
            continue;
        if (run.n == 0) {
            run = s.content;
            run_line = s.number;
        } else {
            run.n = (size_t)(s.line.at + s.line.n - run.at);
        }
    }
    free(f);
}

void markdown_links(struct str text, void (*each)(void *arg, const struct link *l),
                    void *arg)
{
    find_links(text, LINKS_MAX, false, each, arg);
}

void markdown_targets(struct str text, void (*each)(void *arg, const struct link *l),
                      void *arg)
{
    find_links(text, SIZE_MAX, true, each, arg);
}

/* ---- where a link leads ------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void decode(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        int high = s.at[i] == '%' && i + 2 < s.n ? hex_digit(s.at[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(s.at[i + 2]) : -1;
        if (low >= 0 && (high || low)) {
            buf_char(out, (char)(high * 16 + low));
            i += 2;
        } else if (s.at[i] == '\\' && i + 1 < s.n && !is_alnum(s.at[i + 1])) {
            buf_char(out, s.at[++i]);
        } else {
            buf_char(out, s.at[i]);
        }
    }
}

bool markdown_resolve(struct str target, struct str from, struct buf *out)
{
    for (size_t i = 0; i < target.n; i++)
        if (target.at[i] == '#' || target.at[i] == '?')
            target.n = i;
    scoped_buf struct buf decoded;
    buf_init(&decoded, 2 * TARGET_MAX);
    decode(target, &decoded);
    struct str t = buf_view(&decoded);

    size_t base = out->n;
    const char *slash = memrchr(from.at, '/', from.n);
    if (slash && !str_starts(t, "/"))
        buf_put(out, from.at, (size_t)(slash - from.at));
    for (size_t i = 0; i <= t.n;) {
        const char *end = memchr(t.at + i, '/', t.n - i);
        size_t n = end ? (size_t)(end - t.at) - i : t.n - i;
        struct str name = {t.at + i, n};
        i += n + 1;
        if (n == 0 || str_is(name, "."))
            continue;
        if (str_is(name, "..")) {
            if (out->n == base)
                return false;
            const char *up = memrchr(out->at + base, '/', out->n - base);
            out->n = up ? (size_t)(up - out->at) : base;
            continue;
        }
        if (out->n > base)
            buf_char(out, '/');
        buf_str(out, name);
    }
    return !out->failed;
}
