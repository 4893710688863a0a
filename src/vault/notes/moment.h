/* notes/moment.h - days as Moment's patterns write them, which Obsidian's settings hold.
 *
 * Names of months and days are English. Threads: safe. Private to the room notes.
 */
#pragma once
#include <time.h>

#include "base/base.h"

/* Appends the time by the pattern: YYYY, MM, Do, dddd, GGGG-[W]WW and so on. false and
 * ERR_INVALID: a letter outside of [brackets] that the pattern language does not have. */
bool moment_put(struct str pattern, const struct tm *t, struct buf *out, struct err *e);
/* Appends the pattern of Moment for one of Java ("yyyy_MM_dd", "MMM do, yyyy"), as Logseq's
 * settings hold them. */
void moment_from_java(struct str pattern, struct buf *out);
/* Reads "2026-12-01", and makes the rest of it. false: it is no day. */
bool moment_read_day(struct str text, struct tm *out);
