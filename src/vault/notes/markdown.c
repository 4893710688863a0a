#include "notes/markdown.h"

#include "notes/blocks.h"
#include "notes/html.h"

const char *link_kind_name(enum link_kind kind)
{
    static const char *const names[] = {"wiki", "markdown", "external"};
    return names[kind];
}

/* ---- the title ---------------------------------------------------------- */

static bool take_title(void *arg, const struct block *b)
{
    struct str *title = arg;
    if (b->kind == BLOCK_HEADING && b->level == 1 && !b->depth)
        *title = b->text;
    return !title->n;
}

struct str markdown_title(struct str text)
{
    struct str title = STR("");
    blocks_scan(text, take_title, &title);
    return title;
}

/* ---- links in a run of text --------------------------------------------- */

static size_t run_of(struct str s, size_t i, char c)
{
    size_t n = 0;
    while (i + n < s.n && s.at[i + n] == c)
        n++;
    return n;
}

static struct str str_rest(struct str s, size_t i)
{
    return (struct str){s.at + i, s.n - i};
}

#define WIKI_MAX 1000   /* bytes between [[ and ]] */
#define LABEL_MAX 2000  /* bytes of a label */
#define TARGET_MAX 2048 /* bytes of a target */
#define NESTED_MAX 32   /* brackets inside each other */
#define TICKS_MAX 64    /* longer runs of backticks never close */

struct finder {
    struct str s; /* the run: a paragraph, a heading */
    bool heading;
    size_t line;    /* of its first byte */
    size_t counted; /* bytes of it that `line` has been moved over */
    size_t found, most;
    bool images; /* of other sites are told of, too */
    bool image;  /* what is being told of is one */
    bool locals; /* links without a target are told of, and no others */
    void (*each)(void *arg, const struct link *l);
    void (*each_tag)(void *arg, struct str tag); /* NULL: links are looked for */
    void *arg;
    size_t no_ticks[TICKS_MAX + 1]; /* from here on no run of this length, + 1 */
    unsigned endless;               /* of html_inline() */
    const char *end;                /* of the whole text */
    const char *skip_to;            /* a comment or formula ends there; NULL: none */
    size_t no_formula;              /* up to here none ends */
};

static struct str finder_part(const struct finder *f, size_t from, size_t to)
{
    return (struct str){f->s.at + from, to - from};
}

/* Cuts the fragment off. */
static struct str take_fragment(struct str *target)
{
    const char *sign = memchr(target->at, '#', target->n);
    if (!sign)
        return STR("");
    size_t at = (size_t)(sign - target->at);
    struct str fragment = str_trim(str_rest(*target, at + 1));
    target->n = at;
    return fragment;
}

static void finder_found(struct finder *f, size_t at, struct str target, struct str label,
                         struct str fragment, enum link_kind kind)
{
    bool told = f->locals ? !target.n && fragment.n : target.n > 0;
    if (f->found == f->most || !told || f->each_tag)
        return;
    f->found++;
    for (; f->counted < at; f->counted++) {
        char c = f->s.at[f->counted];
        f->line += c == '\n' || (c == '\r' && f->s.at[f->counted + 1] != '\n');
    }
    struct link l = {target, str_trim(label), fragment, kind, f->line, f->image};
    f->each(f->arg, &l);
}

static bool is_alnum(char c)
{
    return char_is_letter(c) || char_is_digit(c);
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
           !char_is_digit(target.at[0]);
}

static void found_target(struct finder *f, size_t at, struct str target, struct str label)
{
    struct str file = target, fragment = take_fragment(&file);
    if (is_external(target)) {
        if (!f->image || f->images)
            finder_found(f, at, target, label, STR(""), LINK_EXTERNAL);
    } else {
        finder_found(f, at, file.n ? target : file, label, fragment, LINK_MARKDOWN);
    }
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
           f->s.at[to] != '\r' && f->s.at[to] != ']' && f->s.at[to] != '[')
        to++;
    if (to + 1 >= f->s.n || f->s.at[to] != ']' || f->s.at[to + 1] != ']')
        return 0;
    struct str inner = finder_part(f, from, to), target = inner, label = inner;
    const char *bar = memchr(inner.at, '|', inner.n);
    if (bar) {
        target.n = (size_t)(bar - inner.at);
        label = str_rest(inner, target.n + 1);
        if (target.n && target.at[target.n - 1] == '\\') /* as tables want it */
            target.n--;
    }
    struct str fragment = take_fragment(&target);
    finder_found(f, i, str_trim(target), label, fragment, LINK_WIKI);
    return to + 2;
}

/* The ']' that belongs to the '[' at `i`, in which at most `nested` stand in each other. */
static size_t closing_bracket(const struct finder *f, size_t i, size_t nested)
{
    size_t depth = 0;
    for (size_t k = i; k < f->s.n && k - i < LABEL_MAX; k++) {
        char c = f->s.at[k];
        if (c == '\\')
            k++;
        else if (c == '[' && ++depth > nested)
            return 0;
        else if (c == ']' && --depth == 0)
            return k;
    }
    return 0;
}

static size_t markdown_skip_space(const struct finder *f, size_t i)
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
    *out = finder_part(f, from, k);
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
    size_t close = closing_bracket(f, i, NESTED_MAX);
    if (!close || close + 1 >= f->s.n || f->s.at[close + 1] != '(')
        return 0;
    struct str target;
    size_t k = destination(f, markdown_skip_space(f, close + 2), &target);
    if (!k ||
        str_starts(target, "[[")) /* [label]([[page]]) of Logseq: a wiki link in it */
        return 0;
    k = markdown_skip_space(f, k);
    k = link_title(f, k);
    if (!k)
        return 0;
    k = markdown_skip_space(f, k);
    if (k >= f->s.n || f->s.at[k] != ')')
        return 0;
    if (!image)
        label_images(f, i + 1, close);
    f->image = image;
    found_target(f, i, target, finder_part(f, i + 1, close));
    f->image = false;
    return k + 1;
}

/* [label]: target, at the head of a run. */
static size_t definition(struct finder *f, size_t i)
{
    size_t close = closing_bracket(f, i, 1);
    if (!close || close + 1 >= f->s.n || f->s.at[close + 1] != ':' ||
        f->s.at[i + 1] == '^')
        return 0;
    struct str target;
    size_t k = destination(f, markdown_skip_space(f, close + 2), &target);
    if (!k)
        return 0;
    found_target(f, i, target, finder_part(f, i + 1, close));
    return k;
}

static size_t autolink(struct finder *f, size_t i)
{
    size_t k = i + 1;
    while (k < f->s.n && k - i < TARGET_MAX && (unsigned char)f->s.at[k] > ' ' &&
           f->s.at[k] != '<' && f->s.at[k] != '>')
        k++;
    if (k >= f->s.n || f->s.at[k] != '>' || !is_external(finder_part(f, i + 1, k)) ||
        f->s.at[i + 1] == '/')
        return 0;
    finder_found(f, i, finder_part(f, i + 1, k), finder_part(f, i + 1, k), STR(""),
                 LINK_EXTERNAL);
    return k + 1;
}

static size_t html(struct finder *f, size_t i)
{
    size_t n = html_inline(finder_part(f, i, f->s.n), &f->endless);
    return n ? i + n : 0;
}

static size_t bare_address(struct finder *f, size_t i)
{
    struct str left = finder_part(f, i, f->s.n);
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
        finder_found(f, i, finder_part(f, i, k), finder_part(f, i, k), STR(""),
                     LINK_EXTERNAL);
    return k;
}

static size_t bracket(struct finder *f, size_t i)
{
    size_t end = 0;
    if (i + 1 < f->s.n && f->s.at[i + 1] == '[')
        end = wiki_link(f, i);
    if (!end)
        end = inline_link(f, i, false);
    bool heads_line = i == 0 || f->s.at[i - 1] == '\n' || f->s.at[i - 1] == '\r';
    return end || f->heading || !heads_line ? end : definition(f, i);
}

/* Bytes of the character at `i` where a tag may have it; 0: it ends there. */
static size_t tag_character(struct str s, size_t i)
{
    unsigned char c = (unsigned char)s.at[i],
                  d = i + 1 < s.n ? (unsigned char)s.at[i + 1] : 0;
    if (c < 0x80)
        return is_alnum((char)c) || c == '-' || c == '_' || c == '/';
    /* Blanks (U+00A0, U+3000) and the punctuation of U+2000 and U+2E00 on. */
    unsigned char third = i + 2 < s.n ? (unsigned char)s.at[i + 2] : 0;
    bool general = c == 0xe2 && (d == 0x80 || (d == 0x81 && third < 0xb0));
    bool supplement = c == 0xe2 && (d == 0xb8 || d == 0xb9);
    bool blank = (c == 0xc2 && d == 0xa0) || (c == 0xe3 && d == 0x80 && third == 0x80);
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    return general || supplement || blank ? 0 : i + n <= s.n ? n : s.n - i;
}

static bool heads_word(struct str s, size_t i)
{
    struct str before = {s.at, i};
    return i == 0 || strchr(" \t\r\n", s.at[i - 1]) || str_ends(before, "\u00a0") ||
           str_ends(before, "\u3000");
}

/* The tag behind the sign at `i`; empty: it is none. */
static struct str tag_at(struct str s, size_t i)
{
    size_t k = i + 1, n;
    bool name = false;
    while (k < s.n && (n = tag_character(s, k))) {
        name = name || !(s.at[k] >= '0' && s.at[k] <= '9');
        k += n;
    }
    return name && heads_word(s, i) ? (struct str){s.at + i + 1, k - i - 1} : STR("");
}

static size_t hash_sign(struct finder *f, size_t i)
{
    struct str tag = f->each_tag ? tag_at(f->s, i) : STR("");
    if (!tag.n)
        return 0;
    f->found++;
    f->each_tag(f->arg, tag);
    return i + 1 + tag.n;
}

/* ---- comments and formulas of Obsidian ----------------------------------- */

static bool stands_alone(const struct finder *f, size_t i, size_t n)
{
    size_t from = i, to = i + n;
    while (from > 0 && (f->s.at[from - 1] == ' ' || f->s.at[from - 1] == '\t'))
        from--;
    while (to < f->s.n && (f->s.at[to] == ' ' || f->s.at[to] == '\t'))
        to++;
    bool heads = from == 0 || f->s.at[from - 1] == '\n' || f->s.at[from - 1] == '\r';
    return heads && (to >= f->s.n || f->s.at[to] == '\n' || f->s.at[to] == '\r');
}

/* From a pair of signs to the next one, within the run; or, where it stands in a line of its
 * own, wherever that is. Without an end it is text. */
static size_t paired(struct finder *f, size_t i, const char sign[static 2])
{
    if (i + 1 >= f->s.n || f->s.at[i + 1] != sign[1])
        return 0;
    const char *from = f->s.at + i + 2, *run_end = f->s.at + f->s.n;
    const char *close = memmem(from, (size_t)(run_end - from), sign, 2);
    if (!close && stands_alone(f, i, 2))
        close = memmem(run_end, (size_t)(f->end - run_end), sign, 2);
    if (!close)
        return 0;
    if (close < run_end)
        return (size_t)(close - f->s.at) + 2;
    f->skip_to = close + 2;
    return f->s.n;
}

/* $a + b$ in one line: no space within its signs, no digit behind it. */
static size_t formula(struct finder *f, size_t i)
{
    size_t end = paired(f, i, "$$");
    if (end || i + 1 >= f->s.n || strchr(" \t\r\n$", f->s.at[i + 1]))
        return end;
    size_t k = i + 1 < f->no_formula ? f->no_formula : i + 1;
    for (; k < f->s.n && f->s.at[k] != '\n' && f->s.at[k] != '\r'; k++) {
        if (f->s.at[k] == '\\')
            k++;
        else if (f->s.at[k] == '$' && !strchr(" \t", f->s.at[k - 1]) &&
                 !(k + 1 < f->s.n && char_is_digit(f->s.at[k + 1])))
            return k + 1;
    }
    f->no_formula = k; /* or many openers would be quadratic */
    return 0;
}

/* With what something may begin that find_in() looks at. */
static const bool begins[256] = {['\\'] = true, ['`'] = true, ['['] = true,
                                 ['!'] = true,  ['<'] = true, ['h'] = true,
                                 ['#'] = true,  ['%'] = true, ['$'] = true};

static bool find_in(void *arg, const struct block *b)
{
    struct finder *f = arg;
    struct str run = b->text;
    if (b->kind != BLOCK_PARAGRAPH && b->kind != BLOCK_HEADING)
        return true;
    f->s = run;
    f->heading = b->kind == BLOCK_HEADING;
    f->line = b->line;
    f->counted = 0;
    f->endless = 0;
    f->no_formula = 0;
    memset(f->no_ticks, 0, sizeof f->no_ticks);
    size_t from = 0;
    if (f->skip_to && f->skip_to > run.at)
        from = (size_t)(f->skip_to - run.at);
    for (size_t i = from; i < run.n && f->found < f->most;) {
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
            end = end ? end : html(f, i);
            break;
        case 'h':
            end = bare_address(f, i);
            break;
        case '#':
            end = hash_sign(f, i);
            break;
        case '%':
            end = paired(f, i, "%%");
            break;
        case '$':
            end = formula(f, i);
            break;
        default:
            break;
        }
        i = end ? end : i + step;
    }
    return f->found < f->most;
}

/* ---- links of a text ---------------------------------------------------- */

static void find_links(struct str text, size_t most, bool images,
                       void (*each)(void *arg, const struct link *l), void *arg)
{
    struct finder *f = mem_new(sizeof *f);
    f->each = each;
    f->arg = arg;
    f->most = most;
    f->images = images;
    f->end = text.at + text.n;
    blocks_scan(text, find_in, f);
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

void markdown_local_links(struct str text, void (*each)(void *arg, const struct link *l),
                          void *arg)
{
    struct finder *f = mem_new(sizeof *f);
    f->each = each;
    f->arg = arg;
    f->most = SIZE_MAX;
    f->locals = true;
    f->end = text.at + text.n;
    blocks_scan(text, find_in, f);
    free(f);
}

void markdown_tags(struct str text, void (*each)(void *arg, struct str tag), void *arg)
{
    struct finder *f = mem_new(sizeof *f);
    f->each_tag = each;
    f->arg = arg;
    f->most = LINKS_MAX;
    f->end = text.at + text.n;
    blocks_scan(text, find_in, f);
    free(f);
}

bool markdown_is_tag(struct str name)
{
    bool letter = false;
    for (size_t i = 0, n; i < name.n; i += n) {
        if (!(n = tag_character(name, i)))
            return false;
        letter = letter || !char_is_digit(name.at[i]);
    }
    return letter && name.at[0] != '/' && name.at[name.n - 1] != '/';
}

bool markdown_may_have_tags(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const char *sign = memchr(text.at + i, '#', text.n - i);
        if (!sign)
            return false;
        i = (size_t)(sign - text.at);
        if (tag_at(text, i).n)
            return true;
    }
    return false;
}

/* ---- where a link leads ------------------------------------------------- */

static void target_decode(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i++) {
        int high = s.at[i] == '%' && i + 2 < s.n ? char_hex(s.at[i + 1]) : -1;
        int low = high >= 0 ? char_hex(s.at[i + 2]) : -1;
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
    scoped_buf struct buf decoded = buf_of(2 * TARGET_MAX);
    target_decode(target, &decoded);
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
