/* Where a call belongs among others: the trace context that its client sends along, for
 * the record of the call. What is not in the form of its specification is left out, and
 * nothing is answered for it: it is about watching, not about the call.
 * Source: 2026-07-28 basic/index (OpenTelemetry trace context); W3C Trace Context and
 * Baggage.
 */
#include "mcp/core.h"

#define PARENT_LENGTH 55u /* of version 00, and the beginning of later ones */
#define STATE_MAX 512u
#define BAGGAGE_MAX 1024u

/* Digits of a hexadecimal number, lower case; not all of them 0, where `some`. */
static bool is_number(struct str s, size_t from, size_t n, bool some)
{
    static const char zeros[] = "00000000000000000000000000000000";
    return str_is_hex((struct str){s.at + from, n}) &&
           !(some && memcmp(s.at + from, zeros, n) == 0);
}

static bool is_parent(struct str s)
{
    if (s.n < PARENT_LENGTH || s.at[2] != '-' || s.at[35] != '-' || s.at[52] != '-')
        return false;
    bool zero = str_starts(s, "00");
    bool fits = zero ? s.n == PARENT_LENGTH : s.n == PARENT_LENGTH || s.at[55] == '-';
    return fits && s.n <= STATE_MAX && is_number(s, 0, 2, false) &&
           !str_starts(s, "ff") && is_number(s, 3, 32, true) &&
           is_number(s, 36, 16, true) && is_number(s, 53, 2, false);
}

static bool is_printable(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.at[i] < ' ' || s.at[i] > '~')
            return false;
    return s.n > 0;
}

void trace_read(const struct json *meta, struct trace *out)
{
    struct str parent = json_str(json_get(meta, "traceparent"));
    struct str state = json_str(json_get(meta, "tracestate"));
    struct str baggage = json_str(json_get(meta, "baggage"));
    *out = (struct trace){0};
    if (is_parent(parent) && is_printable(parent))
        out->parent = parent;
    if (out->parent.n && is_printable(state) && state.n <= STATE_MAX)
        out->state = state;
    if (is_printable(baggage) && baggage.n <= BAGGAGE_MAX)
        out->baggage = baggage;
}
