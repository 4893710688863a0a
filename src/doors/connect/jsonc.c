#include "connect/jsonc.h"

#include "connect/newline.h"

#define NONE SIZE_MAX

/* A member of an object, by places in the text. */
struct member {
    size_t key, value, end;
    size_t comma; /* behind it; NONE */
};
struct object {
    size_t open, close, count;
    struct member first, before, found, next, last; /* `before` and `next` of `found` */
    bool is_found, has_before, has_next;
};

/* ---- reading ----------------------------------------------------------------- */

static char at(struct str t, size_t i)
{
    return i < t.n ? t.at[i] : '\0';
}

static size_t skip_comment(struct str t, size_t i)
{
    bool line = at(t, i + 1) == '/';
    i += 2;
    while (i < t.n && !(line ? t.at[i] == '\n' : t.at[i] == '*' && at(t, i + 1) == '/'))
        i++;
    return line || i >= t.n ? i : i + 2;
}

static bool is_comment(struct str t, size_t i)
{
    return at(t, i) == '/' && (at(t, i + 1) == '/' || at(t, i + 1) == '*');
}

/* Behind spaces and comments. */
static size_t skip(struct str t, size_t i)
{
    while (i < t.n && (char_is_space(t.at[i]) || is_comment(t, i)))
        i = char_is_space(t.at[i]) ? i + 1 : skip_comment(t, i);
    return i;
}

/* Behind the string that begins at i; beyond the text where it does not end. */
static size_t skip_string(struct str t, size_t i)
{
    for (i++; i < t.n && t.at[i] != '"'; i++)
        i += t.at[i] == '\\';
    return i + 1;
}

static size_t skip_brackets(struct str t, size_t i)
{
    size_t depth = 0;
    do {
        char c = at(t, i);
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        i = c == '"' ? skip_string(t, i) : is_comment(t, i) ? skip_comment(t, i) : i + 1;
    } while (depth && i < t.n);
    return depth ? t.n + 1 : i;
}

/* Behind the value at i; beyond the text where there is none, or it does not end. */
static size_t skip_value(struct str t, size_t i)
{
    char c = at(t, i);
    size_t from = i;
    if (c == '"')
        return skip_string(t, i);
    if (c == '{' || c == '[')
        return skip_brackets(t, i);
    while (i < t.n && !char_is_space(t.at[i]) && !strchr(",:{}[]\"/", t.at[i]))
        i++;
    return i == from ? t.n + 1 : i;
}

/* The member at *i, and behind it. */
static bool read_member(struct str t, size_t *i, struct member *m)
{
    m->key = *i;
    if (at(t, *i) != '"')
        return false;
    size_t colon = skip(t, skip_string(t, *i));
    if (at(t, colon) != ':')
        return false;
    m->value = skip(t, colon + 1);
    m->end = skip_value(t, m->value);
    if (m->end > t.n)
        return false;
    *i = skip(t, m->end);
    m->comma = at(t, *i) == ',' ? *i : NONE;
    if (m->comma != NONE)
        *i = skip(t, *i + 1);
    return m->comma != NONE || at(t, *i) == '}';
}

static bool is_key(struct str t, const struct member *m, const char *key)
{
    size_t n = strlen(key);
    return t.n - m->key > n + 1 && memcmp(t.at + m->key + 1, key, n) == 0 &&
           t.at[m->key + 1 + n] == '"';
}

/* The object at `open`. Of members of one name the last counts, as for JSON.parse. */
static bool read_object(struct str t, size_t open, const char *key, struct object *o)
{
    struct member m;
    *o = (struct object){.open = open};
    size_t i = skip(t, open + 1);
    while (i < t.n && t.at[i] != '}') {
        if (!read_member(t, &i, &m))
            return false;
        if (is_key(t, &m, key)) {
            o->has_before = o->count > 0;
            o->before = o->last;
            o->found = m;
            o->is_found = true;
            o->has_next = false;
        } else if (o->is_found && !o->has_next) {
            o->next = m;
            o->has_next = true;
        }
        if (!o->count++)
            o->first = m;
        o->last = m;
    }
    o->close = i;
    return i < t.n;
}

/* Where the whole begins: behind a byte order mark. */
static size_t beginning(struct str t)
{
    return skip(t, str_starts(t, "\xef\xbb\xbf") ? 3 : 0);
}

/* The innermost object that is there on the way to the member, and how many keys lead to it.
 * ERR_INVALID. */
static bool find(struct str t, const char *const *keys, size_t depth, struct object *o,
                 size_t *level, struct err *e)
{
    size_t open = beginning(t);
    for (*level = 0;; ++*level) {
        if (at(t, open) != '{')
            return err_set(e, ERR_INVALID, "%s is no object",
                           *level ? keys[*level - 1] : "the whole");
        if (!read_object(t, open, keys[*level], o))
            return err_set(e, ERR_INVALID,
                           "it is not valid JSON, with or without comments");
        if (!o->is_found || *level + 1 == depth)
            break;
        open = o->found.value;
    }
    /* What follows an object that is not the whole was read already. */
    size_t end = skip(t, skip_value(t, beginning(t)));
    return end == t.n || err_set(e, ERR_INVALID, "something follows the JSON object");
}

bool jsonc_get(struct str text, const char *const *keys, size_t depth, struct str *value,
               bool *there, struct err *e)
{
    struct object o;
    size_t level;
    *there = false;
    if (beginning(text) >= text.n)
        return true;
    if (!find(text, keys, depth, &o, &level, e))
        return false;
    *there = o.is_found;
    if (o.is_found)
        *value = (struct str){text.at + o.found.value, o.found.end - o.found.value};
    return true;
}

/* ---- writing ----------------------------------------------------------------- */

/* What a line begins with. */
static struct str indent_of(struct str t, size_t i)
{
    size_t from = i, n = 0;
    while (from && t.at[from - 1] != '\n')
        from--;
    while (from + n < i && (t.at[from + n] == ' ' || t.at[from + n] == '\t'))
        n++;
    return (struct str){t.at + from, n};
}

static bool begins_its_line(struct str t, size_t i)
{
    struct str indent = indent_of(t, i);
    return indent.at + indent.n == t.at + i;
}

/* One level of indentation, as the whole object has it. */
static struct str unit_of(struct str t)
{
    struct object o;
    size_t open = beginning(t);
    if (open < t.n && read_object(t, open, "", &o) && o.count &&
        begins_its_line(t, o.first.key)) {
        struct str indent = indent_of(t, o.first.key);
        if (indent.n && indent.n <= 8)
            return indent;
    }
    return STR("  ");
}

static void put_value(struct buf *out, struct str t, struct str value, struct str indent)
{
    struct str unit = unit_of(t), newline = newline_of(t);
    for (size_t i = 0; i < value.n; i++) {
        char c = value.at[i];
        if (c == '\n') {
            buf_str(out, newline);
            buf_str(out, indent);
        } else if (c == '\t')
            buf_str(out, unit);
        else
            buf_char(out, c);
    }
}

/* The value in the objects that are made for it. */
static bool wrap(const char *const *keys, size_t count, struct str value, struct buf *out,
                 struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        buf_cstr(out, "{\n");
        for (size_t k = 0; k <= i; k++)
            buf_char(out, '\t');
        buf_printf(out, "\"%s\": ", keys[i]);
    }
    for (size_t i = 0; i < value.n; i++) {
        buf_char(out, value.at[i]);
        for (size_t k = 0; value.at[i] == '\n' && k < count; k++)
            buf_char(out, '\t');
    }
    for (size_t i = count; i-- > 0;) {
        buf_char(out, '\n');
        for (size_t k = 0; k < i; k++)
            buf_char(out, '\t');
        buf_char(out, '}');
    }
    return buf_check(out, "the settings", e);
}

static void put_part(struct buf *out, struct str t, size_t from, size_t to)
{
    buf_put(out, t.at + from, to - from);
}

/* Behind the last member, what belongs to it and comments, and before the closing brace. */
static void insert(struct str t, const struct object *o, const char *key,
                   struct str value, struct buf *out)
{
    struct str unit = unit_of(t), indent = indent_of(t, o->open);
    scoped_buf struct buf own = buf_of(BUF_LINE);
    bool lines = !o->count || begins_its_line(t, o->first.key);
    size_t end = o->close;
    if (o->count && lines)
        buf_str(&own, indent_of(t, o->first.key));
    else {
        buf_str(&own, indent);
        buf_str(&own, unit);
    }
    while (end > o->open + 1 && char_is_space(t.at[end - 1]))
        end--;
    size_t cut = o->count ? o->last.end : o->open + 1;
    put_part(out, t, 0, cut);
    bool comma = o->count && o->last.comma == NONE;
    if (comma)
        buf_char(out, ',');
    put_part(out, t, cut, end);
    if (lines) {
        buf_str(out, newline_of(t));
        buf_str(out, buf_view(&own));
    } else
        buf_char(out, ' ');
    buf_printf(out, "\"%s\": ", key);
    put_value(out, t, value, buf_view(&own));
    if (o->count && !comma)
        buf_char(out, ',');
    if (lines) {
        buf_str(out, newline_of(t));
        buf_str(out, indent);
    } else
        put_part(out, t, end, o->close);
    put_part(out, t, o->close, t.n);
}

bool jsonc_set(struct str text, const char *const *keys, size_t depth, struct str value,
               struct buf *out, struct err *e)
{
    struct object o;
    size_t level;
    scoped_buf struct buf wrapped = buf_of(BUF_TEXT), fresh = buf_of(BUF_FILE);
    if (beginning(text) >= text.n) { /* comments stay above it */
        buf_str(&fresh, text);
        if (text.n && text.at[text.n - 1] != '\n')
            buf_char(&fresh, '\n');
        buf_cstr(&fresh, "{}\n");
        text = buf_view(&fresh);
    }
    if (!find(text, keys, depth, &o, &level, e) ||
        !wrap(keys + level + 1, depth - level - 1, value, &wrapped, e))
        return false;
    if (o.is_found) {
        put_part(out, text, 0, o.found.value);
        put_value(out, text, value, indent_of(text, o.found.key));
        put_part(out, text, o.found.end, text.n);
    } else
        insert(text, &o, keys[level], buf_view(&wrapped), out);
    return buf_check(out, "the settings", e);
}

/* The only member: the braces close up, where there is nothing else between them. */
static void cut_only(struct str t, const struct object *o, size_t *from, size_t *to)
{
    size_t first = *from, last = *to;
    while (char_is_space(t.at[first - 1]))
        first--;
    while (char_is_space(at(t, last)))
        last++;
    if (first == o->open + 1 && last == o->close) {
        *from = first;
        *to = last;
    }
}

bool jsonc_remove(struct str text, const char *const *keys, size_t depth, struct buf *out,
                  struct err *e)
{
    struct object o;
    size_t level, comma = NONE;
    bool empty = beginning(text) >= text.n;
    if (!empty && !find(text, keys, depth, &o, &level, e))
        return false;
    if (empty || !o.is_found || level + 1 < depth) {
        buf_str(out, text);
        return buf_check(out, "the settings", e);
    }
    size_t from = o.found.key,
           to = o.found.comma == NONE ? o.found.end : o.found.comma + 1;
    if (o.has_next)
        to = o.next.key;
    else if (o.has_before) { /* comments between the two are of the one before */
        comma = o.found.comma == NONE ? o.before.comma : NONE;
        if (begins_its_line(text, from))
            from = (size_t)(indent_of(text, from).at - text.at) - 1;
        while (char_is_space(text.at[from - 1]))
            from--;
    } else
        cut_only(text, &o, &from, &to);
    put_part(out, text, 0, comma == NONE ? from : comma);
    if (comma != NONE)
        put_part(out, text, comma + 1, from);
    put_part(out, text, to, text.n);
    return buf_check(out, "the settings", e);
}
