/* A URL becomes a target: read by the very parser that curl connects with, so that no
 * second reading of the same text can see another host in it. */
#include <idn2.h>
#include <stdio.h>

#include "egress/internal.h"

static bool host_is_name(const char *host)
{
    size_t label = 0;
    for (const char *c = host; *c; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-' ||
                     *c == '_';
        if (!plain && (*c != '.' || label == 0))
            return false;
        label = *c == '.' ? 0 : label + 1;
        if (label > 63)
            return false;
    }
    return label > 0;
}

/* A name that ends in a number is an IPv4 address to resolvers, however it is written:
 * only the plain form is let through, so that what was matched is what is resolved. */
static bool is_odd_address(const char *host)
{
    struct address a;
    const char *dot = strrchr(host, '.'), *last = dot ? dot + 1 : host;
    bool hex = last[0] == '0' && (last[1] == 'x' || last[1] == 'X');
    last += hex ? 2 : 0;
    bool number = last[strspn(last, hex ? "0123456789abcdef" : "0123456789")] == '\0';
    return number && !address_read(host, &a);
}

static bool is_bracketed(const char *host)
{
    struct address a;
    char inner[HOST_MAX];
    size_t n = strlen(host);
    if (n < 4 || host[0] != '[' || host[n - 1] != ']')
        return false;
    (void)snprintf(inner, sizeof inner, "%.*s", (int)(n - 2), host + 1);
    return strchr(inner, ':') && address_read(inner, &a);
}

/* A part of the URL. NULL where there is none; curl.free(). */
static char *url_part(CURLU *u, CURLUPart which, unsigned flags)
{
    char *text = NULL;
    return curl.url_get(u, which, &text, flags) == CURLUE_OK ? text : NULL;
}

static bool has_part(CURLU *u, CURLUPart which)
{
    char *text = url_part(u, which, 0);
    curl.free(text);
    return text != NULL;
}

/* A name outside ASCII in the form that the DNS has (UTS #46, as browsers use it); by
 * libidn2 itself, since curl would take the name for text of the locale. NULL: it has
 * none; the caller frees (curl and libidn2 both allocate with malloc). */
static char *ascii_host(CURLU *u)
{
    char *host = url_part(u, CURLUPART_HOST, 0), *ascii = NULL;
    bool is_ascii = true;
    for (const char *c = host; c && *c; c++)
        is_ascii &= (unsigned char)*c < 0x80;
    if (!host || is_ascii)
        return host;
    if (strlen(host) < HOST_MAX && str_is_utf8(str_of(host)))
        (void)curl.idn_lookup((const uint8_t *)host, (uint8_t **)&ascii,
                              IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
    curl.free(host);
    return ascii;
}

/* In its one form, into the target and back into the URL. */
static bool target_read_host(struct target *t)
{
    char *host = ascii_host(t->url);
    size_t n = host ? strlen(host) : 0;
    if (n > 1 && host[n - 1] == '.')
        n--;
    bool fits = n > 0 && n < sizeof t->host;
    for (size_t i = 0; fits && i < n; i++)
        t->host[i] = char_lower(host[i]);
    if (fits)
        t->host[n] = '\0';
    free(host);
    return fits && (host_is_name(t->host) || is_bracketed(t->host)) &&
           !is_odd_address(t->host) &&
           curl.url_set(t->url, CURLUPART_HOST, t->host, 0) == CURLUE_OK;
}

static bool read_scheme(struct target *t)
{
    char *scheme = url_part(t->url, CURLUPART_SCHEME, 0);
    t->https = scheme && !strcmp(scheme, "https");
    bool ok = t->https || (scheme && !strcmp(scheme, "http"));
    curl.free(scheme);
    return ok;
}

static bool read_port(struct target *t)
{
    char *port = url_part(t->url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    unsigned long n = port ? strtoul(port, NULL, 10) : 0;
    curl.free(port);
    t->port = (uint16_t)n;
    return n > 0 && n <= UINT16_MAX;
}

static const char *read_parts(struct target *t)
{
    if (!read_scheme(t))
        return "only http and https can be fetched";
    if (has_part(t->url, CURLUPART_USER) || has_part(t->url, CURLUPART_PASSWORD))
        return "it may not contain a name and a password; send a header";
    if (has_part(t->url, CURLUPART_ZONEID) || !target_read_host(t))
        return "its host is not a name or an address";
    if (!read_port(t))
        return "its port is not 1 to 65535";
    return NULL;
}

/* No line ends, which would end the request's line, nor what browsers read as '/'. */
static bool url_is_plain(struct str url)
{
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.at[i] < ' ' || url.at[i] == 0x7f || url.at[i] == '\\')
            return false;
    return url.n > 0;
}

bool target_read(struct target *t, const struct target *base, struct str url,
                 struct err *e)
{
    *t = (struct target){0};
    struct str shown = str_cut(url, 120);
    if (!curl_load(e))
        return false;
    if (url.n > EGRESS_URL_MAX)
        return err_set(e, ERR_INVALID, "the URL has %zu bytes; at most %zu are accepted",
                       url.n, EGRESS_URL_MAX);
    if (!url_is_plain(url) || !str_is_utf8(url))
        return err_set(e, ERR_INVALID,
                       "'%.*s' is not a URL; for example https://example.org/path is "
                       "accepted",
                       str_is_utf8(url) ? (int)shown.n : 0, shown.at);
    char *text = malloc(url.n + 1);
    must(text != NULL);
    memcpy(text, url.at, url.n);
    text[url.n] = '\0';
    t->url = base ? curl.url_dup(base->url) : curl.url();
    must(t->url != NULL);
    CURLUcode code = curl.url_set(t->url, CURLUPART_URL, text, CURLU_URLENCODE);
    const char *why = code == CURLUE_UNSUPPORTED_SCHEME
                          ? "only http and https can be fetched"
                      : code != CURLUE_OK ? curl.url_strerror(code)
                                          : read_parts(t);
    (void)curl.url_set(t->url, CURLUPART_FRAGMENT, NULL, 0);
    free(text);
    if (!why)
        return true;
    target_done(t);
    return err_set(e, ERR_INVALID, "cannot fetch '%.*s': %s", STR_ARGS(shown), why);
}

void target_done(struct target *t)
{
    if (t->url)
        curl.url_cleanup(t->url);
    t->url = NULL;
}

bool target_same_origin(const struct target *a, const struct target *b)
{
    return a->https == b->https && a->port == b->port && !strcmp(a->host, b->host);
}

bool target_write(const struct target *t, struct buf *out)
{
    char *text = url_part(t->url, CURLUPART_URL, CURLU_NO_DEFAULT_PORT);
    bool ok = text && buf_cstr(out, text);
    curl.free(text);
    return ok;
}
