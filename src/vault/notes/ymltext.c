#include "notes/ymltext.h"

#include "notes/yml.h"

/* May a scalar begin at `i`, so that a quote there opens one? */
static bool heads_scalar(struct str y, size_t i)
{
    while (i && (y.at[i - 1] == ' ' || y.at[i - 1] == '\t'))
        i--;
    return i == 0 || strchr("\n\r:-,[{?", y.at[i - 1]);
}

/* What the byte does to the quotes; how many bytes it takes. */
static size_t step(struct ymltext *y)
{
    struct str t = y->text;
    size_t i = y->at;
    char c = t.at[i];
    if (y->quote == '"' && c == '\\')
        return 2;
    if (y->quote == '\'' && c == '\'' && i + 1 < t.n && t.at[i + 1] == '\'')
        return 2;
    if (y->quote != YMLTEXT_PLAIN) {
        if (c == y->quote)
            y->quote = YMLTEXT_PLAIN;
    } else if ((c == '"' || c == '\'') && heads_scalar(t, i)) {
        y->quote = c;
    } else if (c == '#' && (i == 0 || strchr(" \t\n\r", t.at[i - 1]))) {
        const char *end = memchr(t.at + i, '\n', t.n - i);
        return end ? (size_t)(end - t.at) - i : t.n - i;
    }
    return 1;
}

bool ymltext_next(struct ymltext *y)
{
    if (y->at < y->text.n)
        y->at += step(y);
    return y->at < y->text.n;
}

void ymltext_put(struct buf *out, char quote, struct str name)
{
    bool add = quote == YMLTEXT_PLAIN && !yml_is_plain(name);
    if (add)
        buf_char(out, quote = '"');
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        if (quote == '\'' && c == '\'')
            buf_char(out, '\'');
        else if (quote == '"' && (c == '"' || c == '\\'))
            buf_char(out, '\\');
        buf_char(out, c);
    }
    if (add)
        buf_char(out, '"');
}
