/* The host calls utils.*: code of the guest's own, but for what is told to others. */
#include "code/internal.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "json/json.h"

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

static bool call_progress(struct calling *x, struct json_writer *out, struct err *e)
{
    double done = json_number(json_at(x->args, 0), -1);
    double total = json_number(json_at(x->args, 1), 0);
    if (!(done >= 0) || !(total >= 0))
        return err_set(e, ERR_INVALID,
                       "utils.progress needs how much is done, a number from 0 on, and "
                       "may be given how much there is in all");
    evaluation_said(x->v, done, total, json_str(json_at(x->args, 2)));
    json_put_null(out);
    return true;
}

static const struct host_call rows[] = {
    {CALL(.name = "utils.generateId", .source = generate_id), "(): string",
     "a new random id", NULL, LEVEL_ZERO,
     .details = "Ten characters, letters and digits.",
     .example = "const id = utils.generateId()",
     .words = "random unique uuid uid nanoid"},
    {CALL(.name = "utils.parseLinks", .source = parse_links),
     "(content: string): string[]", "what stands inside of each [[...]] in a text", NULL,
     LEVEL_ZERO,
     .details =
         "As written: 'type/name|label' stays whole. links.getForNote answers resolved "
         "links, and knows code blocks.",
     .example = "utils.parseLinks('see [[meeting/Standup|the standup]]')",
     .words = "wiki extract references mentions"},
    {CALL(.name = "utils.formatDate", .source = format_date),
     "(date?: string | number | Date, pattern?: string): string",
     "a date as ISO 8601, or by a pattern", NULL, LEVEL_ZERO,
     .details = "The pattern knows YYYY MM DD HH mm ss SSS, in UTC. Without a date: now.",
     .errors = "RangeError: what is given is no date.",
     .example = "utils.formatDate(new Date(), 'YYYY-MM-DD HH:mm')",
     .words = "time day today now timestamp iso format"},
    {CALL(.name = "utils.sanitizeTitle", .source = sanitize_title),
     "(title: string): string", "a title with letters, digits, spaces and hyphens only",
     NULL, LEVEL_ZERO, .example = "utils.sanitizeTitle('What now? (draft)')",
     .words = "clean slug filename safe escape"},
    {CALL(.name = "utils.progress", .sync = true),
     "(done: number, total?: number, message?: string): null",
     "tells whoever waits for this evaluation how far it is", call_progress, LEVEL_ZERO,
     .steady = true,
     .details = "Shown by clients that asked for progress; of several quick ones after "
                "another some are left out. It should only grow.",
     .errors = "InvalidInput: done is no number from 0 on.",
     .example = "utils.progress(3, 10, 'reading meetings')",
     .words = "status percent notify bar advance tell"},
};
const struct host_call_group utils_calls = {TABLE(rows), .order = 50, .scopeless = true};
