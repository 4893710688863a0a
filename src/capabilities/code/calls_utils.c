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
    "(date = new Date(), pattern) => {\n"
    "const day = /^(\\d{4})-(\\d\\d)-(\\d\\d)$/.exec(date);\n"
    "const d = day && pattern !== undefined ? new Date(+day[1], day[2] - 1, +day[3]) : new Date(date);\n"
    "if (Number.isNaN(d.getTime()))\n"
    " throw new RangeError(`formatDate: '${date}' is not a date; an ISO text or a Date is accepted`);\n"
    "if (pattern === undefined) return d.toISOString();\n"
    "const two = (n, width = 2) => String(n).padStart(width, '0');\n"
    "const nth = (n) => n + (n % 100 > 10 && n % 100 < 14 ? 'th' : ['th', 'st', 'nd', 'rd'][n % 10] || 'th');\n"
    "const Y = d.getFullYear(), M = d.getMonth(), D = d.getDate(), w = d.getDay(), H = d.getHours();\n"
    "const h = H % 12 || 12, m = d.getMinutes(), s = d.getSeconds(), ms = two(d.getMilliseconds(), 3);\n"
    "const month = 'January February March April May June July August September October November December'.split(' ')[M];\n"
    "const name = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')[w];\n"
    "const nthDay = (t) => (t - Date.UTC(new Date(t).getUTCFullYear(), 0, 1)) / 864e5 + 1;\n"
    "const at = (shift) => Date.UTC(Y, M, D + shift), thursday = at(4 - (w || 7)), saturday = at(6 - w);\n"
    "const W = Math.ceil(nthDay(thursday) / 7), G = new Date(thursday).getUTCFullYear();\n"
    "const ww = Math.ceil(nthDay(saturday) / 7), g = new Date(saturday).getUTCFullYear();\n"
    "const Q = 1 + Math.floor(M / 3), n = nthDay(at(0)), off = -d.getTimezoneOffset(), o = Math.abs(off);\n"
    "const zone = (colon) => (off < 0 ? '-' : '+') + two(Math.floor(o / 60)) + colon + two(o % 60);\n"
    "const parts = {YYYY: two(Y, 4), YY: two(Y % 100), Y, Q, Qo: nth(Q), M: M + 1, MM: two(M + 1), MMM: month.slice(0, 3), MMMM: month,\n"
    " Mo: nth(M + 1), D, DD: two(D), Do: nth(D), DDD: n, DDDD: two(n, 3), DDDo: nth(n), d: w, dd: name.slice(0, 2), ddd: name.slice(0, 3),\n"
    " dddd: name, do: nth(w), E: w || 7, e: w, W, WW: two(W), Wo: nth(W), w: ww, ww: two(ww), wo: nth(ww), GGGG: two(G, 4),\n"
    " GG: two(G % 100), gggg: two(g, 4), gg: two(g % 100), H, HH: two(H), h, hh: two(h), k: H || 24, kk: two(H || 24), m, mm: two(m),\n"
    " s, ss: two(s), S: ms[0], SS: ms.slice(0, 2), SSS: ms, A: H < 12 ? 'AM' : 'PM', a: H < 12 ? 'am' : 'pm', Z: zone(':'), ZZ: zone(''),\n"
    " X: Math.floor(d / 1000), x: d.getTime(), T: 'T'};\n"
    "return String(pattern).replace(/\\[([^\\]]*)\\]|DDDo|[DMQWwd]o|([A-Za-z])\\2*/g, (part, literal) => {\n"
    " if (literal !== undefined) return literal;\n"
    " if (!Object.hasOwn(parts, part)) throw new RangeError(`formatDate: '${part}' in the pattern is unknown; there are ${Object.keys(parts).join(' ')}, and [text] for text`);\n"
    " return parts[part];\n"
    "}); }";
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
         "The pattern is one of Moment's, as Obsidian has them: YYYY MM DD HH mm ss SSS, MMM MMMM, ddd dddd, Do, Q, WW GGGG (ISO weeks), h A, Z, [text] and others; names are English. Times are of the person's time zone; a date without a time is that day there. Without a pattern: ISO 8601 in UTC. The default date is now.",
     .errors =
         "RangeError: the argument is not a date, or the pattern has unknown letters.",
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
