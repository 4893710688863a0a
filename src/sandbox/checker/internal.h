/* checker/internal.h - what the files of this room share. */
#pragma once
#include "cache/cache.h"
#include "checker/checker.h"

/* ---- what was answered (answers.c) ---------------------------------------- */

#define ANSWER_BYTES ((size_t)1 << 20) /* of one answer: ERR_OUTPUT */

/* Reads the guest's text. NULL and ERR_GUEST: it is none of its answers. */
struct checker_answer *answer_read(struct str json, struct err *e);
bool answer_has_shapes(const struct checker_answer *a);

/* ---- Python (python.c) --------------------------------------------------------- */

extern const struct guest_kind checker_python;
struct guest_world;
/* Appends the text that a guest answered. (checker.c) */
bool checker_take(struct guest_world *w, uint32_t at, uint32_t size, struct buf *out,
                  struct err *e);
/* Asks mypy, and appends what it says. */
bool checker_ask_python(struct guest_world *w, struct str question, struct buf *out,
                        struct err *e);

/* Where answers came from, for tests. */
struct checker_counts {
    uint64_t from_memory, from_disk, made;
};
struct checker_counts checker_count(const struct checker *c);
