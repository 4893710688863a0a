#include "notes/html.h"

#include <strings.h>

static const char *const ends[] = {[2] = "-->", [3] = "?>", [4] = ">", [5] = "]]>"};

static bool is_name(char c)
{
    return char_is_letter(c) || char_is_digit(c) || c == '-';
}

static size_t skip_white(struct str s, size_t i)
{
    while (i < s.n && char_is_space(s.at[i]))
        i++;
    return i;
}

static bool starts_name(struct str s, const char *name)
{
    size_t n = strlen(name);
    return s.n >= n && !strncasecmp(s.at, name, n);
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
        if (s.n == n || char_is_space(s.at[n]) || s.at[n] == '>' ||
            (may_close && s.n > n + 1 && s.at[n] == '/' && s.at[n + 1] == '>'))
            return true;
    }
    return false;
}

/* ' name = "value"' at `i`; where it ends, or `i` itself where there is none. SIZE_MAX:
 * it is broken. */
static size_t attribute(struct str s, size_t i)
{
    size_t k = skip_white(s, i);
    if (k == i || k >= s.n ||
        (!char_is_letter(s.at[k]) && s.at[k] != '_' && s.at[k] != ':'))
        return i;
    while (k < s.n && (is_name(s.at[k]) || (strchr("_.:", s.at[k]) && s.at[k])))
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
    while (k < s.n && !char_is_space(s.at[k]) && !(strchr("\"'=<>`", s.at[k]) && s.at[k]))
        k++;
    return k > v ? k : SIZE_MAX;
}

/* Length of the whole tag at the head, 0: none. Tags that begin in the values of one that
 * does not end are read anew, but at most two of them beyond any one place: what one has
 * outside of quotes, another has within. */
static size_t tag(struct str s)
{
    size_t i = 1;
    bool closing = s.n > 1 && s.at[1] == '/';
    i += closing;
    if (i >= s.n || !char_is_letter(s.at[i]))
        return 0;
    while (i < s.n && is_name(s.at[i]))
        i++;
    for (size_t next; !closing && (next = attribute(s, i)) != i; i = next)
        if (next == SIZE_MAX)
            return 0;
    i = skip_white(s, i);
    if (!closing && i < s.n && s.at[i] == '/')
        i++;
    return i < s.n && s.at[i] == '>' ? i + 1 : 0;
}

/* Kinds 2 to 5, which blocks and texts have alike; 0: none of them. */
static int markup(struct str s)
{
    if (str_starts(s, "<!--"))
        return 2;
    if (str_starts(s, "<?"))
        return 3;
    if (str_starts(s, "<![CDATA["))
        return 5;
    return str_starts(s, "<!") && s.n > 2 && char_is_letter(s.at[2]) ? 4 : 0;
}

int html_block_begins(struct str s, bool in_paragraph)
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
    int kind = markup(s);
    if (kind)
        return kind;
    if (is_tag_of(name, blocks, true))
        return 6;
    size_t n = in_paragraph ? 0 : tag(s);
    return n && skip_white(s, n) == s.n ? 7 : 0;
}

bool html_block_ends(int kind, struct str s)
{
    static const char *const raw[] = {"</script>", "</pre>", "</style>", "</textarea>"};
    if (kind >= 6)
        return s.n == 0;
    if (kind > 1)
        return memmem(s.at, s.n, ends[kind], strlen(ends[kind])) != NULL;
    for (const char *c = memchr(s.at, '<', s.n); c;
         c = memchr(c + 1, '<', s.n - (size_t)(c + 1 - s.at)))
        for (size_t i = 0; i < LENGTH(raw); i++)
            if (starts_name((struct str){c, s.n - (size_t)(c - s.at)}, raw[i]))
                return true;
    return false;
}

size_t html_inline(struct str s, unsigned *endless)
{
    int kind = markup(s);
    if (!kind)
        return tag(s);
    /* "<!-->" is a whole comment. */
    size_t head = kind == 5 ? sizeof "<![CDATA[" - 1 : 2, n = strlen(ends[kind]);
    const char *end =
        *endless & 1u << kind ? NULL : memmem(s.at + head, s.n - head, ends[kind], n);
    if (!end)
        *endless |= 1u << kind;
    return end ? (size_t)(end - s.at) + n : 0;
}
