#include "connect/toml.h"

#include "connect/newline.h"

#define FOUND_NONE SIZE_MAX

struct lines {
    struct str text;
    size_t at;                 /* of the next line */
    bool in_basic, in_literal; /* a string of several lines is open */
};

static bool next_line(struct lines *l, struct str *line)
{
    if (l->at >= l->text.n)
        return false;
    const char *from = l->text.at + l->at;
    const char *end = memchr(from, '\n', l->text.n - l->at);
    line->at = from;
    line->n = end ? (size_t)(end - from) + 1 : l->text.n - l->at;
    l->at += line->n;
    return true;
}

/* Does a string of several lines begin or end in this one? */
static void pass_strings(struct lines *l, struct str line)
{
    for (size_t i = 0; i + 2 < line.n; i++) {
        bool basic = !memcmp(line.at + i, "\"\"\"", 3),
             literal = !memcmp(line.at + i, "'''", 3);
        if (!l->in_basic && !l->in_literal && line.at[i] == '#')
            return;
        if (basic && !l->in_literal)
            l->in_basic = !l->in_basic;
        else if (literal && !l->in_basic)
            l->in_literal = !l->in_literal;
        else
            continue;
        i += 2;
    }
}

/* Takes one key of a dotted name: bare, or in quotes. */
static bool take_key(struct str *s, struct str *key)
{
    *s = str_trim(*s);
    if (!s->n)
        return false;
    char quote = s->at[0] == '"' || s->at[0] == '\'' ? s->at[0] : '\0';
    size_t from = quote != '\0', n = 0;
    while (from + n < s->n &&
           (quote ? s->at[from + n] != quote
                  : char_is_letter(s->at[from + n]) || char_is_digit(s->at[from + n]) ||
                        s->at[from + n] == '-' || s->at[from + n] == '_'))
        n++;
    *key = (struct str){s->at + from, n};
    n += from + (quote && from + n < s->n);
    s->at += n;
    s->n -= n;
    *s = str_trim(*s);
    return key->n || quote;
}

static bool take_char(struct str *s, char c)
{
    if (!s->n || s->at[0] != c)
        return false;
    s->at++;
    s->n--;
    return true;
}

enum header { NO_HEADER, ANOTHER, OURS, BELOW };

static enum header header_of(struct str line, const char *table, const char *name)
{
    struct str s = str_trim(line), first, second;
    if (!take_char(&s, '['))
        return NO_HEADER;
    bool array = take_char(&s, '[');
    if (!take_key(&s, &first) || array || !str_is(first, table) || !take_char(&s, '.') ||
        !take_key(&s, &second) || !str_is(second, name))
        return ANOTHER;
    return take_char(&s, '.') ? BELOW : OURS;
}

/* "table = {...}", "table.name = ..." at the top, or "name = {...}" in [table]. */
static bool is_inline(struct str line, bool at_top, bool in_table, const char *table,
                      const char *name)
{
    struct str s = str_trim(line), key;
    if (!take_key(&s, &key))
        return false;
    return (at_top && str_is(key, table)) || (in_table && str_is(key, name));
}

static bool is_plain_header(struct str line, const char *table)
{
    struct str s = str_trim(line), key;
    return take_char(&s, '[') && take_key(&s, &key) && str_is(key, table) &&
           take_char(&s, ']');
}

/* A comment or a blank line. */
static bool is_blank(struct str line)
{
    struct str s = str_trim(line);
    return !s.n || s.at[0] == '#';
}

/* Where the table is: its header, and what follows its last line that is no comment. With
 * `below` the tables below it count. from FOUND_NONE: there is none. */
static bool find(struct str text, const char *table, const char *name, bool below,
                 size_t *from, size_t *to, struct err *e)
{
    struct lines l = {.text = text};
    struct str line;
    bool at_top = true, in_table = false, ours = false, left = false;
    *from = FOUND_NONE;
    while (next_line(&l, &line)) {
        bool open = l.in_basic || l.in_literal;
        pass_strings(&l, line);
        enum header h = open ? NO_HEADER : header_of(line, table, name);
        if (h) {
            at_top = false;
            in_table = is_plain_header(line, table);
            ours = h == OURS || (h == BELOW && below);
        } else if (!open && is_inline(line, at_top, in_table, table, name))
            return err_set(e, ERR_INVALID,
                           "it has %s in a form that is not edited here (inline, or by "
                           "dotted keys)",
                           table);
        if (h && ours && left)
            return err_set(e, ERR_INVALID, "it has [%s.%s] in several places", table,
                           name);
        left |= h && !ours && *from != FOUND_NONE;
        if (ours && *from == FOUND_NONE)
            *from = (size_t)(line.at - text.at);
        if (ours && (open || !is_blank(line)))
            *to = l.at;
    }
    return true;
}

bool toml_has(struct str text, const char *table, const char *name, bool *there,
              struct err *e)
{
    size_t from, to;
    bool ok = find(text, table, name, true, &from, &to, e);
    *there = ok && from != FOUND_NONE;
    return ok;
}

static void put_table(const char *table, const char *name, struct str lines,
                      struct str newline, struct buf *out)
{
    buf_printf(out, "[%s.%s]%.*s", table, name, STR_ARGS(newline));
    for (size_t i = 0; i < lines.n; i++)
        if (lines.at[i] == '\n')
            buf_str(out, newline);
        else
            buf_char(out, lines.at[i]);
}

bool toml_set(struct str text, const char *table, const char *name, struct str lines,
              struct buf *out, struct err *e)
{
    size_t from, to = 0;
    struct str newline = newline_of(text);
    if (!find(text, table, name, false, &from, &to, e))
        return false;
    if (from != FOUND_NONE) {
        buf_put(out, text.at, from);
        put_table(table, name, lines, newline, out);
        buf_put(out, text.at + to, text.n - to);
        return buf_check(out, "the settings", e);
    }
    buf_str(out, text);
    if (text.n && text.at[text.n - 1] != '\n')
        buf_str(out, newline);
    if (text.n)
        buf_str(out, newline);
    put_table(table, name, lines, newline, out);
    return buf_check(out, "the settings", e);
}

bool toml_remove(struct str text, const char *table, const char *name, struct buf *out,
                 struct err *e)
{
    size_t from, to = 0;
    if (!find(text, table, name, true, &from, &to, e))
        return false;
    if (from == FOUND_NONE) {
        buf_str(out, text);
        return buf_check(out, "the settings", e);
    }
    while (to < text.n && (text.at[to] == '\n' || text.at[to] == '\r'))
        to++; /* with the blank lines behind it */
    size_t end = newline_of(text).n;
    if (to == text.n && from >= 2 * end && text.at[from - end - 1] == '\n')
        from -= end;
    buf_put(out, text.at, from);
    buf_put(out, text.at + to, text.n - to);
    return buf_check(out, "the settings", e);
}
