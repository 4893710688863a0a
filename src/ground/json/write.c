/* Writing JSON as a stream. */
#include <math.h>
#include <stdio.h>
#include <yyjson.h>

#include "json/json.h"

struct json_writer json_writer(struct buf *out)
{
    return (struct json_writer){.out = out};
}

static void begin_line(struct json_writer *w)
{
    if (!w->lines)
        return;
    buf_char(w->out, '\n');
    for (unsigned i = 0; i < w->depth; i++)
        buf_cstr(w->out, "  ");
}

static void before_value(struct json_writer *w)
{
    if (w->comma && !w->after_key)
        buf_char(w->out, ',');
    if (w->depth && !w->after_key)
        begin_line(w);
    w->after_key = false;
    w->comma = true;
}

static void open_container(struct json_writer *w, bool object)
{
    must(w->depth < JSON_DEPTH_MAX);
    before_value(w);
    uint64_t bit = (uint64_t)1 << (w->depth % 64);
    if (object)
        w->is_object[w->depth / 64] |= bit;
    else
        w->is_object[w->depth / 64] &= ~bit;
    w->depth++;
    w->comma = false;
    buf_char(w->out, object ? '{' : '[');
}

void json_open_object(struct json_writer *w)
{
    open_container(w, true);
}

void json_open_array(struct json_writer *w)
{
    open_container(w, false);
}

void json_close(struct json_writer *w)
{
    must(w->depth > 0);
    w->depth--;
    bool object = w->is_object[w->depth / 64] >> (w->depth % 64) & 1;
    if (w->comma) /* there is something in it */
        begin_line(w);
    buf_char(w->out, object ? '}' : ']');
    w->comma = true;
}

#define EACH_BYTE(c) ((uint64_t)0x0101010101010101u * (c))

/* Is one of eight bytes a control character, a quote or a backslash? */
static bool has_special(uint64_t x)
{
    uint64_t quote = x ^ EACH_BYTE('"'), backslash = x ^ EACH_BYTE('\\');
    uint64_t found = (x - EACH_BYTE(' ')) & ~x;
    found |= (quote - EACH_BYTE(1)) & ~quote;
    found |= (backslash - EACH_BYTE(1)) & ~backslash;
    return found & EACH_BYTE(0x80);
}

/* Letters of escapes; 'u': with four digits. */
static const char escapes[256] = {[0 ... 8] = 'u',   ['\t'] = 't', ['\n'] = 'n',
                                  [11 ... 12] = 'u', ['\r'] = 'r', [14 ... 31] = 'u',
                                  ['"'] = '"',       ['\\'] = '\\'};

static char *write_escaped(char *to, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char escape = escapes[c];
    if (!escape) {
        *to++ = (char)c;
        return to;
    }
    *to++ = '\\';
    *to++ = escape;
    if (escape == 'u') {
        memcpy(to, "00", 2);
        to[2] = hex[c >> 4];
        to[3] = hex[c & 15];
        to += 4;
    }
    return to;
}

#define ESCAPED_MAX 6u
#define PIECE 1024u

/* Most of a text is copied eight bytes at a time. */
static char *writer_put_piece(char *to, const char *p, const char *end)
{
    uint64_t x;
    while (p < end) {
        size_t n = (size_t)(end - p) < sizeof x ? (size_t)(end - p) : sizeof x;
        if (n == sizeof x) {
            memcpy(&x, p, sizeof x);
            if (!has_special(x)) {
                memcpy(to, &x, sizeof x);
                to += sizeof x;
                p += sizeof x;
                continue;
            }
        }
        for (size_t i = 0; i < n; i++)
            to = write_escaped(to, (unsigned char)*p++);
    }
    return to;
}

/* In pieces of which each has room, however it is written. false: the buf may not grow so
 * far, although the text might fit. */
static bool put_pieces(struct buf *out, struct str s)
{
    for (size_t at = 0, n; at < s.n; at += n) {
        n = s.n - at < PIECE ? s.n - at : PIECE;
        if (out->failed || out->ceiling - out->n < n * ESCAPED_MAX)
            return false;
        char *to = buf_room(out, n * ESCAPED_MAX);
        if (to)
            out->n += (size_t)(writer_put_piece(to, s.at + at, s.at + at + n) - to);
    }
    return true;
}

/* Byte by byte; what is no UTF-8 becomes U+FFFD. */
static void put_slowly(struct buf *out, struct str s)
{
    const char *p = s.at, *end = s.at + s.n;
    while (p < end) {
        unsigned char c = (unsigned char)*p;
        char text[ESCAPED_MAX];
        if (c < 0x80) {
            buf_put(out, text, (size_t)(write_escaped(text, c) - text));
            p++;
            continue;
        }
        const char *before = p;
        if (str_next_char(&p, end) == 0xfffd && p == before + 1)
            buf_cstr(out, "\xef\xbf\xbd");
        else
            buf_put(out, before, (size_t)(p - before));
    }
}

static void put_string(struct buf *out, struct str s)
{
    size_t from = out->n;
    buf_char(out, '"');
    if (!str_is_utf8(s) || !put_pieces(out, s)) {
        out->n = out->failed ? out->n : from + 1; /* all of it anew */
        put_slowly(out, s);
    }
    buf_char(out, '"');
}

void json_key_str(struct json_writer *w, struct str key)
{
    if (w->comma)
        buf_char(w->out, ',');
    begin_line(w);
    put_string(w->out, key);
    buf_cstr(w->out, w->lines ? ": " : ":");
    w->after_key = true;
    w->comma = true;
}

void json_key(struct json_writer *w, const char *key)
{
    json_key_str(w, str_of(key));
}

void json_put_null(struct json_writer *w)
{
    json_put_raw(w, STR("null"));
}

void json_put_bool(struct json_writer *w, bool v)
{
    json_put_raw(w, v ? STR("true") : STR("false"));
}

#define NUMBER_MAX 24u /* characters of a whole number */

static struct str digits_of(uint64_t v, bool negative, char text[static NUMBER_MAX])
{
    char *at = text + NUMBER_MAX;
    do
        *--at = (char)('0' + v % 10);
    while (v /= 10);
    if (negative)
        *--at = '-';
    return (struct str){at, (size_t)(text + NUMBER_MAX - at)};
}

void json_put_int(struct json_writer *w, int64_t v)
{
    before_value(w);
    char text[NUMBER_MAX];
    buf_str(w->out, digits_of(v < 0 ? -(uint64_t)v : (uint64_t)v, v < 0, text));
}

/* A time in milliseconds has whole nanoseconds: a quotient of a million is the nearest
 * number to its decimal digits, which are the fewest, since there are no more than 15.
 * false: `v` is no such number, or one that is written with an exponent. */
static bool put_millionths(struct json_writer *w, double v)
{
    double size = fabs(v);
    if (!(size >= 1e-4 && size < 1e9))
        return false;
    uint64_t n = (uint64_t)(size * 1e6 + 0.5);
    if ((double)n / 1e6 != size)
        return false;
    char text[NUMBER_MAX], rest[6];
    for (size_t i = 6, left = n % 1000000; i-- > 0; left /= 10)
        rest[i] = (char)('0' + left % 10);
    size_t used = 6;
    while (rest[used - 1] == '0')
        used--;
    before_value(w);
    buf_str(w->out, digits_of(n / 1000000, v < 0, text));
    buf_char(w->out, '.');
    buf_put(w->out, rest, used);
    return true;
}

void json_put_number(struct json_writer *w, double v)
{
    if (!isfinite(v)) {
        json_put_null(w);
        return;
    }
    if (v == floor(v) && fabs(v) < 9007199254740992.0) {
        json_put_int(w, (int64_t)v);
        return;
    }
    if (put_millionths(w, v))
        return;
    /* The fewest digits that read back as the same number. */
    char text[32];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    json_put_raw(w, str_of(text));
}

void json_put_str(struct json_writer *w, struct str v)
{
    before_value(w);
    put_string(w->out, v);
}

void json_put_cstr(struct json_writer *w, const char *v)
{
    json_put_str(w, str_of(v));
}

void json_put_time(struct json_writer *w, int64_t ms)
{
    char text[25];
    date_format(ms, text);
    json_put_cstr(w, text);
}

void json_put_raw(struct json_writer *w, struct str json)
{
    before_value(w);
    buf_str(w->out, json);
}

/* A number as it was read: integers beyond 64 bits keep their text. */
static void put_read_number(struct json_writer *w, yyjson_val *v)
{
    if (yyjson_is_raw(v))
        json_put_raw(w, (struct str){yyjson_get_raw(v), yyjson_get_len(v)});
    else if (yyjson_is_real(v))
        json_put_number(w, yyjson_get_real(v));
    else if (yyjson_is_sint(v))
        json_put_int(w, yyjson_get_sint(v));
    else {
        before_value(w);
        buf_printf(w->out, "%llu", (unsigned long long)yyjson_get_uint(v));
    }
}

void json_put(struct json_writer *w, const struct json *v)
{
    struct json_iter it = json_iter(v);
    bool is_container = json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT);
    if (is_container && w->depth == JSON_DEPTH_MAX) {
        w->out->failed = true; /* as deep as was read, inside something of ours */
        return;
    }
    switch (json_type(v)) {
    case JSON_ABSENT:
    case JSON_NULL:
        json_put_null(w);
        break;
    case JSON_BOOL:
        json_put_bool(w, json_bool(v, false));
        break;
    case JSON_NUMBER:
        put_read_number(w, (yyjson_val *)(uintptr_t)v);
        break;
    case JSON_STRING:
        json_put_str(w, json_str(v));
        break;
    case JSON_ARRAY:
        json_open_array(w);
        while (json_next(&it))
            json_put(w, it.value);
        json_close(w);
        break;
    case JSON_OBJECT:
        json_open_object(w);
        json_put_pairs(w, v, NULL);
        json_close(w);
        break;
    }
}

void json_put_pairs(struct json_writer *w, const struct json *object,
                    const char *const *but)
{
    struct json_iter it = json_iter(object);
    while (json_is(object, JSON_OBJECT) && json_next(&it))
        if (!but || !str_is_one_of(it.key, but)) {
            json_key_str(w, it.key);
            json_put(w, it.value);
        }
}

void json_pair_str(struct json_writer *w, const char *key, struct str v)
{
    json_key(w, key);
    json_put_str(w, v);
}

void json_pair_cstr(struct json_writer *w, const char *key, const char *v)
{
    json_key(w, key);
    json_put_cstr(w, v);
}

void json_pair_int(struct json_writer *w, const char *key, int64_t v)
{
    json_key(w, key);
    json_put_int(w, v);
}

void json_pair_bool(struct json_writer *w, const char *key, bool v)
{
    json_key(w, key);
    json_put_bool(w, v);
}

void json_pair_number(struct json_writer *w, const char *key, double v)
{
    json_key(w, key);
    json_put_number(w, v);
}

void json_pair_time(struct json_writer *w, const char *key, int64_t ms)
{
    json_key(w, key);
    json_put_time(w, ms);
}

void json_pair_time_known(struct json_writer *w, const char *key, int64_t ms)
{
    if (ms)
        json_pair_time(w, key, ms);
}

void json_pair_raw(struct json_writer *w, const char *key, struct str json)
{
    json_key(w, key);
    json_put_raw(w, json);
}

void json_pair(struct json_writer *w, const char *key, const struct json *v)
{
    json_key(w, key);
    json_put(w, v);
}
