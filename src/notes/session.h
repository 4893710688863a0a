/* notes/session.h - the index as if a change that has several steps were done already.
 *
 * A step of a change may be about what an earlier one has done: a link that it wrote, a
 * title that it gave. Nothing of a session stays in the index, which learns from the
 * files once they are written.
 *
 * Threads: a session belongs to its change. Private to the room notes.
 */
#pragma once
#include "notes/change.h"
#include "notes/index.h"

/* Works with a session open; `work` must not call index_use(), nor commit. */
typedef bool session_work(void *arg, struct err *e);
bool session_run(struct vault *v, struct change *c, session_work *work, void *arg,
                 struct err *e);

/* index_use() for a step of a change: where a session is open, with what it shows. */
bool session_use(struct vault *v, struct change *c, index_work *work, void *arg,
                 struct err *e);
