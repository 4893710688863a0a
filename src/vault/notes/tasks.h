/* notes/tasks.h - the tasks in a note's text.
 *
 * An item of a list that begins with a mark, as `- [ ] call Ann`, or, as Logseq has it, with
 * a word: `- TODO call Ann`. Dates and priorities stand in its line by the signs of Obsidian's
 * Tasks, as inline fields `[due:: 2026-12-01]`, or as Logseq's `DEADLINE: <2026-12-01 Tue>`.
 * Pure text. Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

#define TASKS_MAX 10000u /* of one note; more are passed over */

enum task_status { TASK_OPEN, TASK_DONE, TASK_CANCELLED };
const char *task_status_name(enum task_status s); /* "open", "done", "cancelled" */

enum task_date { TASK_DUE, TASK_SCHEDULED, TASK_START, TASK_FINISHED, TASK_DATES };

/* Borrowed from the text. */
struct task {
    struct str text; /* of its first line, behind the mark */
    struct str mark; /* the character in [ ], or Logseq's word */
    enum task_status status;
    struct str dates[TASK_DATES]; /* "2026-12-01"; empty: none */
    int priority;                 /* 1, the highest, to 5; 0: none is given */
    size_t line;                  /* from 1 */
};

/* In the order in which they stand; code and HTML have none. */
void tasks_read(struct str text, void (*each)(void *arg, const struct task *t),
                void *arg);
/* May the text have one? Quick, and never wrong where it says no. */
bool tasks_may(struct str text);
