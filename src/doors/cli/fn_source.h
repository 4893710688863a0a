/* cli/fn_source.h - a custom function as a TypeScript file, which is what persons edit:
 *
 *  - a comment of the kind that begins with two stars: what it does, then
 *        @function daily
 *        @param {string} [date="today"] what it means
 *        @returns {Promise<Note>}
 *        @tags daily, notes
 *        @example {"args": ["2026-01-31"], "expected": 1}
 *  - async function daily(date?: string): Promise<Note> { ... }
 *
 * All of the comment may be missing: names, types, what may be left out and defaults are
 * then read from the function itself. What is written here reads back as it was.
 * Threads: one. Private to cli. */
#pragma once
#include "json/json.h"

/* Appends the file of a definition, as get_custom_function answers it. */
void fn_source_write(const struct json *function, struct buf *out);
/* The same of a function in Python: a line "# cloche: {...}" with what its code does not say
 * (name, tags, examples ...), and its code. */
void fn_source_python_write(const struct json *function, struct buf *out);
bool fn_source_python_read(struct str text, struct str name, struct buf *out,
                           unsigned *first_line, struct err *e);
/* Appends the definition, an object as register_custom_function takes it. `name`: which
 * function of the file is meant; empty: what the comment says, else the first that is
 * exported, else the first. The comment that tells of it is the one right before it, or the
 * file's first. Where nothing says which is meant, the names of the other functions that are
 * exported go to `others`. *first_line: how many lines of the file stand before its code.
 * false and ERR_INVALID, with the line. */
bool fn_source_read(struct str text, struct str name, struct buf *out, struct buf *others,
                    unsigned *first_line, struct err *e);
