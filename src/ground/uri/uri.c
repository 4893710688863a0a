#include "uri/uri.h"

bool uri_read_authority(struct str text, struct str *host, struct str *port)
{
    *port = (struct str){0};
    const char *end = text.at + text.n, *from = text.at;
    if (text.n && *from == '[' && !(from = memchr(from, ']', text.n)))
        return false;
    const char *colon = text.n ? memchr(from, ':', (size_t)(end - from)) : NULL;
    if (text.n && *from == ']' && from + 1 < end && colon != from + 1)
        return false;
    *host = (struct str){text.at, (size_t)((colon ? colon : end) - text.at)};
    if (colon)
        *port = (struct str){colon + 1, (size_t)(end - colon - 1)};
    return host->n > 0;
}

bool uri_read(struct str text, struct uri *out)
{
    const char *sign = text.n ? memmem(text.at, text.n, "://", 3) : NULL;
    *out = (struct uri){0};
    if (!sign || sign == text.at)
        return false;
    out->scheme = (struct str){text.at, (size_t)(sign - text.at)};
    size_t from = out->scheme.n + 3, n = from;
    while (n < text.n && !memchr("/?#", text.at[n], 3))
        n++;
    out->origin = (struct str){text.at, n};
    out->authority = (struct str){text.at + from, n - from};
    out->rest = (struct str){text.at + n, text.n - n};
    return !memchr(out->authority.at, '@', out->authority.n) &&
           uri_read_authority(out->authority, &out->host, &out->port);
}

bool uri_is_web(const struct uri *u)
{
    return str_is(u->scheme, "https") || str_is(u->scheme, "http");
}

/* Unreserved: of pchar what no reader takes for a separator. */
static bool is_plain(char c)
{
    return char_is_letter(c) || char_is_digit(c) || (c && strchr("-._~", c));
}

void uri_escape(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++)
        if (is_plain(text.at[i]))
            buf_char(out, text.at[i]);
        else
            buf_printf(out, "%%%02X", (unsigned char)text.at[i]);
}

size_t uri_unescape(struct str text, bool form, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = text.n - i > 2 ? char_hex(text.at[i + 1]) : -1;
            int low = high < 0 ? -1 : char_hex(text.at[i + 2]);
            if (low < 0)
                return URI_WRONG;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && form) {
            c = ' ';
        }
        out[n++] = c;
    }
    return n;
}

bool uri_decode(struct str text, bool form, struct buf *out)
{
    size_t from = out->n;
    if (!text.n || !buf_str(out, text))
        return !text.n;
    size_t n = uri_unescape(text, form, out->at + from);
    out->n = from + (n == URI_WRONG ? 0 : n);
    return n != URI_WRONG && str_is_utf8((struct str){out->at + from, n}) &&
           !memchr(out->at + from, '\0', n);
}
