/* How deeply brackets stand in one another, where the parser has given up, or would take too
 * long. Seen are signs, not programs: a text that a regular expression begins is taken for one. */
#include "guest/guest.h"

/* Behind the text that begins here. */
static size_t text_end(struct str s, size_t at)
{
    char quote = s.at[at++];
    while (at < s.n && s.at[at] != quote && (quote == '`' || s.at[at] != '\n'))
        at += 1u + (s.at[at] == '\\');
    return at < s.n ? at + 1 : s.n;
}

/* Behind the comment that begins here, or behind the sign that begins none. */
static size_t comment_end(struct str s, size_t at)
{
    char next = at + 1 < s.n ? s.at[at + 1] : 0;
    if (next != '/' && next != '*')
        return at + 1;
    const char *end = next == '/' ? memchr(s.at + at, '\n', s.n - at)
                                  : memmem(s.at + at + 2, s.n - at - 2, "*/", 2);
    return end ? (size_t)(end - s.at) + (next == '/' ? 1 : 2) : s.n;
}

/* The place of the first bracket within `most` others; s.n: there is none. */
static size_t deep_bracket(struct str s, unsigned most)
{
    unsigned depth = 0;
    for (size_t at = 0; at < s.n;) {
        char c = s.at[at];
        if (c == '"' || c == '\'' || c == '`') {
            at = text_end(s, at);
        } else if (c == '/') {
            at = comment_end(s, at);
        } else if (c == '\\') {
            at += 2;
        } else {
            if (c == '(' || c == '[' || c == '{') {
                if (depth++ == most)
                    return at;
            } else if (depth && (c == ')' || c == ']' || c == '}')) {
                depth--;
            }
            at++;
        }
    }
    return s.n;
}

bool guest_code_is_nested(struct str code, unsigned most, uint32_t *line,
                          uint32_t *column)
{
    size_t found = deep_bracket(code, most);
    if (found >= code.n)
        return false;
    *line = *column = 1;
    for (const char *at = code.at, *end = code.at + found; at < end;) {
        bool ends = str_next_char(&at, end) == '\n';
        *line += ends;
        *column = ends ? 1 : *column + 1;
    }
    return true;
}
