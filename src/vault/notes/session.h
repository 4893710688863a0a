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

struct linker;
struct linktext;

/* Works with a session open; `work` must not call index_use(), nor commit. */
typedef bool session_work(void *arg, struct err *e);
bool session_run(struct vault *v, struct change *c, session_work *work, void *arg,
                 struct err *e);

/* Makes the index show what the change has done so far; without a session nothing. */
bool session_learn(struct change *c, struct err *e);
/* The same, and which subnotes count: before somebody asks for that. */
bool session_settle_tree(struct change *c, struct err *e);
/* The note, which was the only one that the index did not know all of, has been moved to
 * `path`: its row `key` (0: it has none) says so already, but not what its links are. */
bool session_moved(struct change *c, const char *path, int64_t key, struct err *e);
/* The index's rows of the text's links become what they are, where they differ; the names
 * are not settled. */
bool session_index_links(struct linker *l, struct linktext *t, struct err *e);

/* index_use() for a step of a change: where a session is open, with what it shows. */
bool session_use(struct vault *v, struct change *c, index_work *work, void *arg,
                 struct err *e);
