/* YAML is written, by a writer of our own: as people write it, and one pair at a time. */
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "notes/yml.h"

/* Words that some reader of YAML takes for more than a word. */
static bool is_word_with_meaning(struct str s)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on",
                                        "off",  "y",    "n",     "inf", "nan"};
    for (size_t i = 0; i < LENGTH(words); i++)
        if (s.n == strlen(words[i]) && !strncasecmp(s.at, words[i], s.n))
            return true;
    return false;
}

static bool yml_is_letter(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (c > 0xa0 && c < 0xd800 && c != 0x2028 && c != 0x2029) ||
           (c >= 0xe000 && c <= 0xfffd && c != 0xfeff) ||
           (c >= 0x10000 && (c & 0xfffe) != 0xfffe);
}

/* 2026-11-21 or 2026-11-21T05:16:00.000Z: other programs want dates plain. */
static bool yml_is_date(struct str s)
{
    static const char pattern[] = "0000-00-00T00:00:00.000Z";
    if (s.n != 10 && s.n != 20 && s.n != 24)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char want = s.n == 20 && i == 19 ? 'Z' : pattern[i];
        if (want == '0' ? s.at[i] < '0' || s.at[i] > '9' : s.at[i] != want)
            return false;
    }
    return true;
}

bool yml_is_plain(struct str s)
{
    if (yml_is_date(s))
        return true;
    if (s.n == 0 || s.n > 500 || s.at[s.n - 1] == ' ' || is_word_with_meaning(s))
        return false;
    bool first = true;
    for (const char *at = s.at, *end = at + s.n; at < end; first = false) {
        uint32_t c = str_next_char(&at, end);
        bool inner = (c >= '0' && c <= '9') || (c < 0x80 && strchr(" -./()+", (int)c));
        if (c == 0 || !(yml_is_letter(c) || (inner && !first)))
            return false;
    }
    return true;
}

static void put_quoted(struct buf *out, struct str s)
{
    buf_char(out, '"');
    for (const char *at = s.at, *end = at + s.n; at < end;) {
        const char *from = at;
        uint32_t c = str_next_char(&at, end);
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", (int)c);
        else if (c == '\n')
            buf_cstr(out, "\\n");
        else if (c == '\t')
            buf_cstr(out, "\\t");
        else if (c == '\r')
            buf_cstr(out, "\\r");
        else if ((c >= 0x20 && c < 0x7f) || yml_is_letter(c))
            buf_put(out, from, (size_t)(at - from));
        else if (c < 0x100)
            buf_printf(out, "\\x%02X", c);
        else if (c < 0x10000)
            buf_printf(out, "\\u%04X", c);
        else
            buf_printf(out, "\\U%08X", c);
    }
    buf_char(out, '"');
}

static void yml_put_text(struct buf *out, struct str s)
{
    if (yml_is_plain(s))
        buf_str(out, s);
    else
        put_quoted(out, s);
}

static void yml_put_number(struct buf *out, const struct json *v)
{
    double d = json_number(v, 0);
    if (d == floor(d) && fabs(d) < YML_WHOLE_MAX) {
        buf_printf(out, "%.0f", d == 0 ? 0.0 : d);
        return;
    }
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, d);
        if (strtod(text, NULL) == d)
            break;
    }
    /* More than 2^53 but without exponent would be read as a string. */
    if (!strpbrk(text, ".e"))
        (void)snprintf(text, sizeof text, "%.16e", d);
    buf_cstr(out, text);
}

/* In one line, as JSON would be, which is YAML too. */
static void put_flow(struct buf *out, const struct json *v)
{
    struct json_iter it = json_iter(v);
    bool object = json_is(v, JSON_OBJECT), first = true;
    switch (json_type(v)) {
    case JSON_ABSENT:
    case JSON_NULL:
        buf_cstr(out, "null");
        break;
    case JSON_BOOL:
        buf_cstr(out, json_bool(v, false) ? "true" : "false");
        break;
    case JSON_NUMBER:
        yml_put_number(out, v);
        break;
    case JSON_STRING:
        yml_put_text(out, json_str(v));
        break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        buf_char(out, object ? '{' : '[');
        for (; json_next(&it); first = false) {
            if (!first)
                buf_cstr(out, ", ");
            if (object) {
                yml_put_text(out, it.key);
                buf_cstr(out, ": ");
            }
            put_flow(out, it.value);
        }
        buf_char(out, object ? '}' : ']');
        break;
    }
}

static void put_spaces(struct buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_char(out, ' ');
}

void yml_put_pair(struct buf *out, size_t column, const char *eol, struct str key,
                  const struct json *value)
{
    put_spaces(out, column);
    yml_put_text(out, key);
    buf_char(out, ':');
    if (json_length(value) == 0) {
        buf_char(out, ' ');
        put_flow(out, value);
        buf_cstr(out, eol);
        return;
    }
    buf_cstr(out, eol);
    struct json_iter it = json_iter(value);
    while (json_next(&it)) {
        put_spaces(out, column + 2);
        if (json_is(value, JSON_ARRAY)) {
            buf_cstr(out, "- ");
        } else {
            yml_put_text(out, it.key);
            buf_cstr(out, ": ");
        }
        put_flow(out, it.value);
        buf_cstr(out, eol);
    }
}

void yml_put_string(struct buf *out, size_t column, const char *eol, const char *key,
                    struct str value)
{
    put_spaces(out, column);
    buf_printf(out, "%s: ", key);
    yml_put_text(out, value);
    buf_cstr(out, eol);
}

static bool is_exact(int64_t whole)
{
    double d = (double)whole;
    return d < 0x1p63 && (int64_t)d == whole;
}

/* `top` is for messages. */
static bool can_write(struct str top, const struct json *v, unsigned depth, struct err *e)
{
    if (depth > YML_DEPTH_MAX - 2)
        return err_set(e, ERR_INVALID, "metadata.%.*s is nested deeper than %u levels",
                       STR_ARGS(top), YML_DEPTH_MAX - 2);
    if (json_is(v, JSON_NUMBER) && !isfinite(json_number(v, 0)))
        return err_set(e, ERR_INVALID, "metadata.%.*s holds a number that is too large",
                       STR_ARGS(top));
    if (json_is_int(v) && !is_exact(json_int(v, 0)))
        return err_set(e, ERR_INVALID,
                       "metadata.%.*s holds %lld, which JavaScript "
                       "cannot hold exactly; give it as a string",
                       STR_ARGS(top), (long long)json_int(v, 0));
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        if (json_is(v, JSON_OBJECT) && it.key.n > YML_KEY_MAX)
            return err_set(e, ERR_INVALID,
                           "metadata.%.*s holds a key longer than %u "
                           "bytes",
                           STR_ARGS(top), YML_KEY_MAX);
        if (!can_write(top, it.value, depth + 1, e))
            return false;
    }
    return true;
}

bool yml_can_write(struct str key, const struct json *value, struct err *e)
{
    if (key.n == 0 || key.n > YML_KEY_MAX)
        return err_set(e, ERR_INVALID, "a metadata key must have 1 to %u bytes",
                       YML_KEY_MAX);
    return can_write(str_cut(key, 60), value, 1, e);
}
