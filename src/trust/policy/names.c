/* Names: patterns of calls and of hosts. */
#include <ctype.h>

#include "policy/internal.h"
#include "uri/uri.h"

/* ---- calls -------------------------------------------------------------- */

bool call_pattern_fits(struct str pattern, const char *call)
{
    if (str_is(pattern, call) || str_is(pattern, "*"))
        return true;
    if (str_ends(pattern, ".*"))
        pattern.n -= 2;
    const char *dot = strchr(call, '.');
    return dot && str_eq(pattern, (struct str){call, (size_t)(dot - call)});
}

bool call_pattern_known(struct str pattern, const struct known_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++)
        if (call_pattern_fits(pattern, calls->at[i]))
            return true;
    return calls->further && calls->further(pattern);
}

/* ---- permissions -------------------------------------------------------- */

const char *const permission_words[] = {"usual", "always", "ask", "never", NULL};

/* ---- hosts -------------------------------------------------------------- */

/* "https://api.example.org:443", whose scheme and port need not be said. */
static struct uri split_host(const char *text)
{
    struct uri u;
    if (!uri_read(str_of(text), &u))
        (void)uri_read_authority(str_of(text), &u.host, &u.port);
    return u;
}

/* Does `wide` allow every host that `narrow` does? */
static bool host_covers(struct str wide, struct str narrow)
{
    if (str_is(wide, "*") || str_same(wide, narrow))
        return true;
    if (!str_starts(wide, "*.") || narrow.n < wide.n)
        return false;
    struct str tail = {wide.at + 1, wide.n - 1};
    return str_same(tail, (struct str){narrow.at + narrow.n - tail.n, tail.n});
}

static bool pattern_covers(const char *wide, const char *narrow)
{
    struct uri w = split_host(wide), n = split_host(narrow);
    return str_same(w.scheme, n.scheme) && str_eq(w.port, n.port) &&
           host_covers(w.host, n.host);
}

const char *host_pattern_both(const char *a, const char *b)
{
    if (pattern_covers(a, b))
        return b;
    return pattern_covers(b, a) ? a : NULL;
}
