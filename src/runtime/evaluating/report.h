/* evaluating/report.h - the answer about an evaluation.
 *
 * Private to the room. */
#pragma once
#include "base/base.h"

struct evaluation;
struct json_writer;
struct script_outcome;

/* Writes the answer of evaluate_note_code, one JSON object. `v` is NULL where the code
 * did not run at all. */
void report_write(struct evaluation *v, const struct script_outcome *o,
                  struct json_writer *w);
/* Pairs of the open object, left out where empty: "trace": [...] of the calls that were
 * made, and "hints": [...]. */
void trace_write(const struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w);
void hints_write(struct evaluation *v, const struct script_outcome *o,
                 struct json_writer *w);
/* Appends advice on this failure; nothing where there is none. */
void advise(struct evaluation *v, const struct script_outcome *o, struct buf *out);
/* {"notes.create": 2}: the calls that have made changes, with their number. */
void advice_put_writes(const struct evaluation *v, struct json_writer *out);
