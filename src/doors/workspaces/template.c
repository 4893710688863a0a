/* URI templates of the simple kind (RFC 6570, level 1): text, and variables in braces. */
#include <stdio.h>

#include "uri/uri.h"
#include "workspaces/internal.h"

bool template_is(const char *uri)
{
    return strchr(uri, '{') != NULL;
}

/* The name of the variable that begins at a brace; steps behind its end. */
static struct str next_variable(const char **at)
{
    const char *end = strchr(*at, '}');
    struct str name = {*at + 1, (size_t)(end - *at) - 1};
    *at = end + 1;
    return name;
}

bool template_check(const char *uri, struct err *e)
{
    for (const char *at = uri; (at = strpbrk(at, "{}"));) {
        const char *end = *at == '{' ? strpbrk(at + 1, "{}") : NULL;
        if (!end || *end != '}' || end == at + 1)
            return err_set(e, ERR_INVALID,
                           "\"%.200s\" is not a URI template: variables are in braces",
                           uri);
        at = end + 1;
    }
    return true;
}

bool template_has(const char *template, struct str variable)
{
    for (const char *at = template; (at = strchr(at, '{'));)
        if (str_eq(next_variable(&at), variable))
            return true;
    return false;
}

/* The value of a variable reaches up to what stands behind it in the template. */
static struct str value_of(struct str rest, const char *behind)
{
    size_t n = 0;
    while (n < rest.n && rest.at[n] != '/' && rest.at[n] != *behind)
        n++;
    return (struct str){rest.at, n};
}

bool template_match(const char *template, struct str uri, struct buf *values)
{
    scoped_buf struct buf value = buf_of(uri.n + 1);
    struct json_writer w = json_writer(values);
    size_t before = values->n;
    json_open_object(&w);
    const char *at = template;
    bool fits = true;
    while (fits && *at) {
        if (*at != '{') {
            fits = uri.n && uri.at[0] == *at++;
            uri = fits ? (struct str){uri.at + 1, uri.n - 1} : uri;
            continue;
        }
        struct str name = next_variable(&at), part = value_of(uri, at);
        buf_clear(&value);
        fits = part.n && uri_decode(part, false, &value);
        json_key_str(&w, name);
        json_put_str(&w, buf_view(&value));
        uri = (struct str){uri.at + part.n, uri.n - part.n};
    }
    json_close(&w);
    fits = fits && !uri.n && !values->failed;
    if (!fits)
        values->n = before;
    return fits;
}
