/* lint/lint.h - looks through an agent's code before it runs, and says what is wrong.
 *
 * The code is parsed by acorn in a sandbox of its own: whatever it is, it harms nothing
 * here. The linter informs: what protects is the sandbox that the code runs in.
 */
#pragma once
#include "base/base.h"
#include "engine/engine.h"

struct lint;

/* Opens the linter for the API that code may use, a JSON array of {name, sync?, reads?, writes?, feature?,
 * options?: [name, ...], returns?: TypeScript, words?: [word, ...]} in `api`, and of
 * {type, definition} for types that `returns` names. Loads the baked guest from the folder `guest_dir`.
 * NULL and ERR_NOT_FOUND (no guest there), ERR_INVALID or ERR_IO. Threads: safe
 * afterwards. */
struct lint *lint_open(struct engine *g, const char *guest_dir, struct str api,
                       struct err *e);
void lint_close(struct lint *l); /* NULL is fine */
SCOPED(lint, lint_close);

#define LINT_CODE_MAX ((size_t)1 << 20) /* bytes */

/* Findings, in their order in the code, at most 50; positions from 1, columns in
 * characters:
 *   [{"rule", "severity": "error" | "warning" | "hint", "message", "line", "column",
 *     "endLine", "endColumn", "suggestion"?}]
 * error: it will fail, or is refused; warning: probably not what is meant; hint: could
 * be better. */
struct lint_findings {
    struct buf json;
    uint32_t errors, warnings, hints;
};
void lint_findings_init(struct lint_findings *f);
void lint_findings_done(struct lint_findings *f);

/* Checks JavaScript in the forms in which it is evaluated; the same question a second time
 * is answered from memory. `features`: of the optional rows, those that the call will
 * have. `own`: what it finds besides, as a JSON object {names?: [..], functions?: [{name, min,
 * max, async, signature}], open?: there are more names, unsure?: there may be}; empty:
 * nobody says, and names that nobody declares are not told of. false and *e: it was not checked: ERR_INVALID (no UTF-8), ERR_LIMIT (too long),
 * ERR_TIMEOUT (1 s of computing), ERR_MEMORY (256 MiB), ERR_GUEST (nested too
 * deeply), ERR_CANCELLED or ERR_BUSY. */
bool lint_check(struct lint *l, struct str code, struct str own, uint32_t features,
                struct cancel *cancel, struct lint_findings *out, struct err *e);

/* Advice for code that failed. `question`: {code, line, column (0: not known), message,
 * own?}. Appends {} (nobody knows), {suggestion} or {note}: there notes.get answered null,
 * for the id `note`, or true. false and *e as lint_check(). */
bool lint_explain(struct lint *l, struct str question, struct cancel *cancel,
                  struct buf *out, struct err *e);

/* Looks through a custom function: `javascript` is what became of its code (`source`, in
 * whatever language). Appends an object, positions in the JavaScript:
 *   {"findings": as above, errors first,
 *    "uses": {"functions": [{"name", "line", "column"}], "dynamic": [{"line", "column"}],
 *             "calls": ["notes.get"]},
 *    "complexity": {"lines", "functions", "statements", "cyclomatic", "nesting",
 *                   "parameters", "awaitsInLoops"} or null where it does not parse,
 *    "binding": {"kind", "async", "generator", "parameters", "line", "column"} or null}
 * `functions` are those it calls by name, `dynamic` where it goes to customFunctions in a
 * way that only a run can tell; `binding` is the function `name` at its top level. Also
 * errors here: what would change the world of whoever calls it, loops without an end, and
 * code that hides what it does. false and *e as lint_check(). */
bool lint_review(struct lint *l, struct str javascript, struct str source,
                 struct str name, struct cancel *cancel, struct buf *out, struct err *e);
