/* Names: patterns of calls and of hosts, and what was meant by a mistaken one. */
#include <ctype.h>

#include "guard/policy.h"

#define NAME_MAX_COMPARED 48u
#define FUNCTIONS_PREFIX "customFunctions."
#define FUNCTION_BYTES_MAX 256u

/* ---- calls -------------------------------------------------------------- */

bool call_pattern_fits(struct str pattern, const char *call)
{
    if (str_is(pattern, call) || str_is(pattern, "*"))
        return true;
    if (str_is(pattern, "notes.save"))
        return !strcmp(call, "notes.create") || !strcmp(call, "notes.update");
    if (str_ends(pattern, ".*"))
        pattern.n -= 2;
    const char *dot = strchr(call, '.');
    return dot && str_eq(pattern, (struct str){call, (size_t)(dot - call)});
}

bool tool_name_fits(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        bool letter = c >= 'a' && c <= 'z';
        if (!letter && (i == 0 || !(c == '-' || c == '_' || (c >= '0' && c <= '9'))))
            return false;
    }
    return name.n > 0 && name.n <= 64;
}

/* Whatever may be installed: guard does not know which tools there are. */
static bool names_tool(struct str pattern)
{
    size_t n = strlen(TOOLS_PREFIX);
    return str_is(pattern, "tools") || str_is(pattern, TOOLS_PREFIX "*") ||
           (str_starts(pattern, TOOLS_PREFIX) &&
            tool_name_fits((struct str){pattern.at + n, pattern.n - n}));
}

/* Whatever may be registered: what code can call a function, and a little more. */
static bool names_function(struct str pattern)
{
    size_t n = strlen(FUNCTIONS_PREFIX);
    if (!str_starts(pattern, FUNCTIONS_PREFIX) || pattern.n == n ||
        pattern.n > n + FUNCTION_BYTES_MAX)
        return false;
    struct str name = {pattern.at + n, pattern.n - n};
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.at[i];
        if (!isalnum(c) && c != '_' && c != '$' && c < 0x80)
            return str_is(name, "*");
    }
    return true;
}

bool call_pattern_known(struct str pattern, const struct known_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++)
        if (call_pattern_fits(pattern, calls->at[i]))
            return true;
    return names_tool(pattern) || names_function(pattern);
}

/* ---- what was meant ----------------------------------------------------- */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits between two names, case left aside; neighbours that changed places count as
 * one. Names longer than the bound are not compared. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][NAME_MAX_COMPARED + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (unsigned j = 0; j <= b.n; j++)
        last[j] = j;
    for (unsigned i = 1; i <= a.n; i++) {
        now[0] = i;
        for (unsigned j = 1; j <= b.n; j++) {
            int x = tolower((unsigned char)a.at[i - 1]);
            int y = tolower((unsigned char)b.at[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b.at[j - 2]) &&
                y == tolower((unsigned char)a.at[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b.n];
}

const char *nearest_name(struct str wrong, const char *const *names, size_t count)
{
    const char *best = NULL;
    /* Further away than a third of its letters, nothing is "near". */
    unsigned bound = (unsigned)(wrong.n / 3 + 1);
    if (wrong.n > NAME_MAX_COMPARED)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct str name = str_of(names[i]);
        if (name.n > NAME_MAX_COMPARED)
            continue;
        unsigned d = distance(wrong, name);
        if (d < bound) {
            bound = d;
            best = names[i];
        }
    }
    return best;
}

/* ---- hosts -------------------------------------------------------------- */

/* "https://api.example.org:443" in its parts. */
struct host_pattern {
    struct str scheme, host, port; /* empty: not said */
};

static struct host_pattern split_host(const char *text)
{
    struct host_pattern h = {0};
    const char *colon = strstr(text, "://");
    if (colon) {
        h.scheme = (struct str){text, (size_t)(colon - text)};
        text = colon + 3;
    }
    const char *port = strrchr(text, ':');
    const char *bracket = strrchr(text, ']');
    size_t n =
        port && (!bracket || port > bracket) ? (size_t)(port - text) : strlen(text);
    h.host = (struct str){text, n};
    if (text[n])
        h.port = str_of(text + n + 1);
    return h;
}

static bool same_letters(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (tolower((unsigned char)a.at[i]) != tolower((unsigned char)b.at[i]))
            return false;
    return true;
}

/* Does `wide` allow every host that `narrow` does? */
static bool host_covers(struct str wide, struct str narrow)
{
    if (str_is(wide, "*") || same_letters(wide, narrow))
        return true;
    if (!str_starts(wide, "*.") || narrow.n < wide.n)
        return false;
    struct str tail = {wide.at + 1, wide.n - 1};
    return same_letters(tail, (struct str){narrow.at + narrow.n - tail.n, tail.n});
}

static bool pattern_covers(const char *wide, const char *narrow)
{
    struct host_pattern w = split_host(wide), n = split_host(narrow);
    return same_letters(w.scheme, n.scheme) && str_eq(w.port, n.port) &&
           host_covers(w.host, n.host);
}

const char *host_pattern_both(const char *a, const char *b)
{
    if (pattern_covers(a, b))
        return b;
    return pattern_covers(b, a) ? a : NULL;
}
