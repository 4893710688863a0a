#include "notes/excerpt.h"

#include <strings.h>

static bool is_inside(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Back by about `reach` bytes, to the head of a word where one is near. */
static size_t reach_back(struct str t, size_t at, size_t reach)
{
    size_t from = at > reach ? at - reach : 0;
    for (size_t i = from; i > 0 && i < at && i < from + 30; i++)
        if (char_is_space(t.at[i - 1]))
            return i;
    while (from > 0 && is_inside(t.at[from]))
        from--;
    return from;
}

static size_t reach_on(struct str t, size_t at, size_t reach)
{
    size_t to = t.n - at > reach ? at + reach : t.n;
    for (size_t i = to; i < t.n && i > at && i + 30 > to; i--)
        if (char_is_space(t.at[i]))
            return i;
    while (to < t.n && is_inside(t.at[to]))
        to++;
    return to;
}

void excerpt_put(struct str text, size_t at, size_t n, struct buf *out)
{
    if (at > text.n)
        at = text.n;
    if (n > EXCERPT_BYTES)
        n = EXCERPT_BYTES;
    size_t from = 0;
    if (text.n > EXCERPT_BYTES)
        from = reach_back(
            text, at < text.n - EXCERPT_BYTES / 2 ? at : text.n - EXCERPT_BYTES / 2,
            (EXCERPT_BYTES - n) / 3);
    size_t to = reach_on(text, from, EXCERPT_BYTES);
    if (from > 0)
        buf_cstr(out, "...");
    size_t start = out->n;
    bool space = false;
    for (size_t i = from; i < to; i++) {
        if (char_is_space(text.at[i])) {
            space = true;
            continue;
        }
        if (space && out->n > start)
            buf_char(out, ' ');
        space = false;
        buf_char(out, text.at[i]);
    }
    if (to < text.n && str_trim((struct str){text.at + to, text.n - to}).n)
        buf_cstr(out, "...");
}

static bool is_word(char c)
{
    return char_is_letter(c) || char_is_digit(c) || (unsigned char)c >= 0x80;
}

size_t excerpt_find(struct str text, const struct str *words, size_t count,
                    size_t *length)
{
    /* Most bytes begin no word: a table passes over them. */
    bool begins[256] = {false};
    for (size_t k = 0; k < count; k++)
        if (words[k].n)
            begins[(unsigned char)words[k].at[0] | 0x20] = true;
    /* A word by itself is a better place than a part of one. */
    size_t part = text.n;
    *length = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (!begins[(unsigned char)text.at[i] | 0x20])
            continue;
        for (size_t k = 0; k < count; k++) {
            struct str w = words[k];
            if (w.n == 0 || w.n > text.n - i || strncasecmp(text.at + i, w.at, w.n) != 0)
                continue;
            if (i == 0 || !is_word(text.at[i - 1])) {
                *length = w.n;
                return i;
            }
            if (part == text.n) {
                part = i;
                *length = w.n;
            }
        }
    }
    return part;
}
