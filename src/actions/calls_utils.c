/* The host calls utils.*: code of the guest's own, which needs nothing of the host. */
#include "actions/internal.h"

/* Code of the guest's own: nothing in it needs the host. */
static const char generate_id[] =
    "() => { const b = crypto.getRandomValues(new Uint8Array(10));"
    " return Array.from(b, (x) => (x % 36).toString(36)).join(''); }";
static const char parse_links[] =
    "(content) => Array.from(String(content).matchAll(/\\[\\[([^\\]]+)\\]\\]/g), (m) => m[1])";
static const char format_date[] =
    "(date = new Date(), pattern) => {"
    " const d = new Date(date);"
    " if (Number.isNaN(d.getTime()))"
    "  throw new RangeError(`formatDate: '${date}' is no date; an ISO text or a Date is`);"
    " if (pattern === undefined) return d.toISOString();"
    " const two = (n) => String(n).padStart(2, '0');"
    " const parts = { YYYY: String(d.getUTCFullYear()).padStart(4, '0'),"
    "  MM: two(d.getUTCMonth() + 1), DD: two(d.getUTCDate()), HH: two(d.getUTCHours()),"
    "  mm: two(d.getUTCMinutes()), ss: two(d.getUTCSeconds()),"
    "  SSS: String(d.getUTCMilliseconds()).padStart(3, '0') };"
    " return String(pattern).replace(/YYYY|MM|DD|HH|mm|SSS|ss/g, (part) => parts[part]); }";
static const char sanitize_title[] =
    "(title) => String(title).replace(/[^\\p{L}\\p{N}\\s-]/gu, '').trim()";

static const struct host_call rows[] = {
    {{.name = "utils.generateId", .source = generate_id},
     "(): string",
     "a new random id",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.parseLinks", .source = parse_links},
     "(content): string[]",
     "what stands inside [[...]]",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.formatDate", .source = format_date},
     "(date, pattern?): string",
     "ISO 8601, or by a pattern such as 'YYYY-MM-DD HH:mm' (UTC)",
     NULL,
     LEVEL_ZERO},
    {{.name = "utils.sanitizeTitle", .source = sanitize_title},
     "(title): string",
     "letters, digits, spaces and hyphens only",
     NULL,
     LEVEL_ZERO},
};
const struct host_call_group utils_calls = {rows, LENGTH(rows)};
