/* Names: patterns of calls and of hosts. */
#include <ctype.h>

#include "egress/egress.h"
#include "policy/internal.h"

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

/* Does `wide` allow every host that `narrow` does? */
static bool host_covers(const struct egress_entry *wide,
                        const struct egress_entry *narrow)
{
    struct str w = wide->name, n = narrow->name;
    if (!wide->below)
        return !narrow->below && str_same(w, n);
    if (egress_entry_is_address(narrow))
        return false; /* a star stands for names */
    if (!w.n || (narrow->below && str_same(w, n)))
        return true;
    if (n.n < w.n + 2 || n.at[n.n - w.n - 1] != '.')
        return false;
    return str_same(w, (struct str){n.at + n.n - w.n, w.n});
}

/* Both were checked when their policies were read. */
static bool pattern_covers(const char *wide, const char *narrow)
{
    struct egress_entry w, n;
    return !egress_entry_read(str_of(wide), &w) &&
           !egress_entry_read(str_of(narrow), &n) && w.scheme == n.scheme &&
           w.port == n.port && host_covers(&w, &n);
}

const char *host_pattern_both(const char *a, const char *b)
{
    if (pattern_covers(a, b))
        return b;
    return pattern_covers(b, a) ? a : NULL;
}
