/* What is asked, as a person reads it. An agent wrote parts of it, and would like to have
 * written the rest: nothing of it may look like ours, move the cursor, or hide.
 */
#include "approvals/approvals.h"

struct range {
    uint32_t first, last;
};
/* What draws nothing, draws elsewhere, or turns the direction of what follows. */
static const struct range unseen[] = {
    {0, 0x1f},          {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x61c, 0x61c},     {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},
    {0x3000, 0x3000},   {0x3164, 0x3164},   {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x13430, 0x13455},
    {0x1bca0, 0x1bca3}, {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

static bool is_unseen(uint32_t c)
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

void approvals_spell(struct str text, struct buf *out)
{
    if (!str_is_utf8(text)) {
        buf_printf(out, "(%zu bytes that are no text)", text.n);
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
        else if (is_unseen(c) || marks > STACKED_MAX)
            buf_printf(out, "\\u{%x}", c);
        else
            buf_put(out, from, (size_t)(at - from));
    }
}

static void tell_line(struct str label, struct str text, bool first, struct buf *out)
{
    scoped_buf struct buf name;
    buf_init(&name, 1 << 11);
    if (first)
        approvals_spell(str_cut(label, 128), &name);
    buf_printf(out, "  %-11s ", buf_cz(&name));
    approvals_spell(text, out);
    buf_char(out, '\n');
}

void approvals_tell_shown(const struct json *shown, struct buf *out)
{
    struct json_iter it = json_iter(shown);
    while (json_next(&it)) {
        if (!json_is(it.value, JSON_ARRAY)) {
            tell_line(it.key, json_str(it.value), true, out);
            continue;
        }
        bool first = true;
        struct json_iter line = json_iter(it.value);
        for (; json_next(&line); first = false)
            tell_line(it.key, json_str(line.value), first, out);
    }
}

void approvals_tell(const struct json *entry, struct buf *out)
{
    int64_t left = json_int(json_get(entry, "left_ms"), 0) / 1000;
    approvals_spell(json_str(json_get(entry, "id")), out);
    buf_cstr(out, str_is(json_str(json_get(entry, "kind")), "install")
                      ? "  to be installed, proposed by "
                      : "  to be run, asked by ");
    approvals_spell(str_cut(json_str(json_get(entry, "caller")), 100), out);
    buf_printf(out, ", %s\n",
               json_bool(json_get(entry, "waiting"), false)
                   ? "who waits"
                   : "who does not wait any more");
    approvals_tell_shown(json_get(entry, "shown"), out);
    buf_printf(out, "  %-11s %lld s\n", "good for", (long long)left);
}
