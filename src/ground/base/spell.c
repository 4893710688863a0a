/* Text of strangers, spelt so that it can stand in a line of ours: on a terminal, in a log,
 * on the page. Nothing of it may look like ours, move the cursor, or hide.
 */
#include "base/base.h"

struct range {
    uint32_t first, last;
};
/* Characters that draw nothing, draw elsewhere, or turn the direction of text. */
static const struct range unseen[] = {
    {0, 0x1f},          {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},
    {0x3000, 0x3000},   {0x3164, 0x3164},   {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x13430, 0x13455},
    {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

bool str_is_unseen(uint32_t c)
{
    for (size_t i = 0; i < LENGTH(unseen); i++)
        if (c >= unseen[i].first && c <= unseen[i].last)
            return true;
    return false;
}

/* Marks that stand above or below a letter: many of them reach into other lines. */
static const struct range stacked[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe20, 0xfe2f},
};
#define STACKED_MAX 2u
#define SPACES_MAX \
    3u /* more of them, where a line wraps, would look like a line of ours */

static bool is_stacked(uint32_t c)
{
    for (size_t i = 0; i < LENGTH(stacked); i++)
        if (c >= stacked[i].first && c <= stacked[i].last)
            return true;
    return false;
}

/* All spaces that stand there, `*at` behind them. */
static void spell_spaces(const char **at, const char *end, struct buf *out)
{
    const char *from = *at;
    while (*at < end && **at == ' ')
        ++*at;
    size_t n = (size_t)(*at - from);
    if (n > SPACES_MAX)
        buf_printf(out, "\\u{20}*%zu", n);
    else
        buf_put(out, from, n);
}

void str_spell(struct str text, struct buf *out)
{
    if (!str_is_utf8(text)) {
        buf_printf(out, "(%zu bytes that are not text)", text.n);
        return;
    }
    const char *at = text.at, *end = text.at + text.n;
    unsigned marks = 0;
    while (at < end) {
        if (*at == ' ') {
            spell_spaces(&at, end, out);
            marks = 0;
            continue;
        }
        const char *from = at;
        uint32_t c = str_next_char(&at, end);
        marks = is_stacked(c) ? marks + 1 : 0;
        if (c == '\n')
            buf_cstr(out, "\\n");
        else if (c == '\t')
            buf_cstr(out, "\\t");
        else if (str_is_unseen(c) || marks > STACKED_MAX)
            buf_printf(out, "\\u{%x}", c);
        else
            buf_put(out, from, (size_t)(at - from));
    }
}

static void escape(uint32_t c, struct buf *out)
{
    if (c > 0xffff) {
        c -= 0x10000;
        buf_printf(out, "\\u%04x", 0xd800 + (c >> 10));
        c = 0xdc00 + (c & 0x3ff);
    }
    buf_printf(out, "\\u%04x", c);
}

void str_escape(struct str text, struct buf *out)
{
    const char *at = text.at, *end = text.at + text.n;
    unsigned marks = 0;
    while (at < end) {
        const char *from = at;
        uint32_t c = str_next_char(&at, end);
        marks = is_stacked(c) ? marks + 1 : 0;
        if (c == 0xfffd || (c != '\n' && c != '\t' && str_is_unseen(c)) ||
            marks > STACKED_MAX)
            escape(c, out);
        else
            buf_put(out, from, (size_t)(at - from));
    }
}
