/* connect/toml.h - one table of a TOML text is set or removed, line by line; all others stay as
 * they are. Private to connect.
 */
#pragma once
#include "base/base.h"

/* Is [table.name] there? ERR_INVALID: the table is written in a form that is not edited here
 * (inline, or by dotted keys). */
bool toml_has(struct str text, const char *table, const char *name, bool *there,
              struct err *e);
/* Appends the text with [table.name] and `lines` as its body; tables below it stay. Names are
 * letters, digits, '-' and '_'. */
bool toml_set(struct str text, const char *table, const char *name, struct str lines,
              struct buf *out, struct err *e);
/* Appends the text without [table.name] and the tables below it. */
bool toml_remove(struct str text, const char *table, const char *name, struct buf *out,
                 struct err *e);
