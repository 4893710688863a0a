#include "notes/words.h"

static bool has_letter(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (char_is_digit(c) || char_is_letter(c) || (c & 0x80))
            return true;
    }
    return false;
}

static void add_word(struct words *w, struct str text, bool phrase)
{
    if (w->count == WORDS_MAX || !has_letter(text))
        return;
    w->phrase[w->count] = phrase;
    w->all[w->count++] = text;
}

void words_split(struct str q, bool plain, struct words *out)
{
    out->count = 0;
    for (size_t i = 0; i < q.n;) {
        if (char_is_space(q.at[i]) || (plain && q.at[i] == '"')) {
            i++;
            continue;
        }
        const char *close =
            q.at[i] == '"' ? memchr(q.at + i + 1, '"', q.n - i - 1) : NULL;
        if (close) {
            size_t end = (size_t)(close - q.at);
            add_word(out, (struct str){q.at + i + 1, end - i - 1}, true);
            i = end + 1;
            continue;
        }
        size_t end = i;
        while (end < q.n && !char_is_space(q.at[end]) && (end == i || q.at[end] != '"'))
            end++;
        add_word(out, (struct str){q.at + i, end - i}, false);
        i = end;
    }
}

/* Each word in quotes, so that nothing of it is syntax to FTS5. */
void words_put_match(const struct words *w, bool any, struct buf *out)
{
    for (size_t i = 0; i < w->count; i++) {
        if (i)
            buf_cstr(out, any ? " OR " : " AND ");
        buf_char(out, '"');
        for (size_t k = 0; k < w->all[i].n; k++) {
            char c = w->all[i].at[k];
            if (c == '"')
                buf_char(out, '"');
            buf_char(out, c ? c : ' ');
        }
        buf_char(out, '"');
        if (i + 1 == w->count && !w->phrase[i])
            buf_char(out, '*');
    }
}
