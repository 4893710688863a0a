/* evaluating/report.h - what came of an evaluation, told to its caller.
 *
 * Private to the room.
 */
#pragma once
#include "base/base.h"

struct evaluation;
struct json_writer;
struct script_outcome;

/* The answer of evaluate_note_code as one JSON object. `v` is NULL where the code did
 * not run at all. */
void report_write(struct evaluation *v, const struct script_outcome *o,
                  struct json_writer *w);
/* "trace": [...] of the calls that were made, and "hints": [...], where there are any:
 * pairs of the open object. */
void trace_write(const struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w);
void hints_write(struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w);
/* Appends what would help against this failure; nothing where nobody knows. */
void advise(struct evaluation *v, const struct script_outcome *o, struct buf *out);
/* {"notes.create": 2}: the calls that have changed something. */
void advice_put_writes(const struct evaluation *v, struct json_writer *out);
