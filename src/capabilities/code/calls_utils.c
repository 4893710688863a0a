/* The host calls utils.*, which the guest implements, but for messages to the client. */
#include "code/code.api.h"
#include "code/internal.h"
#include "evaluation/evaluation.h"
#include "performing/performing.h"
#include "json/json.h"

/* Implemented by the guest alone. */
static const char generate_id[] =
    "() => { const b = crypto.getRandomValues(new Uint8Array(10));"
    " return Array.from(b, (x) => (x % 36).toString(36)).join(''); }";
static const char parse_links[] =
    "(content) => Array.from(String(content).matchAll(/\\[\\[([^\\]]+)\\]\\]/g), (m) => m[1])";
static const char format_date[] =
    "(date = new Date(), pattern) => { const d = new Date(date); if (Number.isNaN(d.getTime()))  throw new RangeError(`formatDate: '${date}' is not a date; an ISO text or a Date is accepted`); if (pattern === undefined) return d.toISOString(); const two = (n) => String(n).padStart(2, '0'); const parts = { YYYY: String(d.getUTCFullYear()).padStart(4, '0'),  MM: two(d.getUTCMonth() + 1), DD: two(d.getUTCDate()), HH: two(d.getUTCHours()),  mm: two(d.getUTCMinutes()), ss: two(d.getUTCSeconds()),  SSS: String(d.getUTCMilliseconds()).padStart(3, '0') }; return String(pattern).replace(/YYYY|MM|DD|HH|mm|SSS|ss/g, (part) => parts[part]); }";
static const char sanitize_title[] =
    "(title) => String(title).replace(/[^\\p{L}\\p{N}\\s-]/gu, '').trim()";

static bool call_progress(struct calling *x, struct json_writer *out, struct err *e)
{
    double done = json_number(json_at(x->args, 0), -1);
    double total = json_number(json_at(x->args, 1), 0);
    if (!(done >= 0) || !(total >= 0))
        return err_set(
            e, ERR_INVALID,
            "utils.progress needs done, a number of at least 0, and accepts total, a number");
    evaluation_report_progress(x->v, done, total, json_str(json_at(x->args, 2)));
    json_put_null(out);
    return true;
}

static const struct host_call rows[] = {
    {CALL(.name = "utils.generateId", .source = generate_id),
     .signature = UTILS_GENERATE_ID_SIGNATURE, .summary = "a new random id",
     .level = LEVEL_ZERO, .details = "Ten characters, letters and digits.",
     .example = "const id = utils.generateId()",
     .words = "random unique uuid uid nanoid"},
    {CALL(.name = "utils.parseLinks", .source = parse_links),
     .signature = UTILS_PARSE_LINKS_SIGNATURE,
     .summary = "the text inside each [[...]] of a text", .level = LEVEL_ZERO,
     .details =
         "Texts are returned as written, such as 'type/name|label'. links.getForNote returns resolved links, and ignores code blocks.",
     .example = "utils.parseLinks('see [[meeting/Standup|the standup]]')",
     .words = "wiki extract references mentions"},
    {CALL(.name = "utils.formatDate", .source = format_date),
     .signature = UTILS_FORMAT_DATE_SIGNATURE,
     .summary = "a date as ISO 8601, or by a pattern", .level = LEVEL_ZERO,
     .details =
         "The pattern has YYYY MM DD HH mm ss SSS, in UTC. The default date is now.",
     .errors = "RangeError: the argument is not a date.",
     .example = "utils.formatDate(new Date(), 'YYYY-MM-DD HH:mm')",
     .words = "time day today now timestamp iso format"},
    {CALL(.name = "utils.sanitizeTitle", .source = sanitize_title),
     .signature = UTILS_SANITIZE_TITLE_SIGNATURE,
     .summary = "a title with letters, digits, spaces and hyphens only",
     .level = LEVEL_ZERO, .example = "utils.sanitizeTitle('What now? (draft)')",
     .words = "clean slug filename safe escape"},
    {CALL(.name = "utils.progress", .sync = true), .signature = UTILS_PROGRESS_SIGNATURE,
     .summary = "reports the progress of this evaluation to its client",
     .call = call_progress, .level = LEVEL_ZERO, .steady = true,
     .details =
         "Clients that requested progress show it; some of several quick reports are skipped. done should only grow.",
     .errors = "InvalidInput: done is not a number of at least 0.",
     .example = "utils.progress(3, 10, 'reading meetings')",
     .words = "status percent notify bar advance tell"},
};
const struct host_call_group utils_calls = {TABLE(rows), .order = 50, .scopeless = true};
