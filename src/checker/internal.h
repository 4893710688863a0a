/* checker/internal.h - what the files of this room share. */
#pragma once
#include <pthread.h>

#include "checker/checker.h"
#include "stash/stash.h"

/* ---- what was answered (answers.c) ---------------------------------------- */

#define ANSWER_BYTES ((size_t)1 << 20) /* of one answer: ERR_OUTPUT */

/* Reads the guest's text. NULL and ERR_GUEST: it is none of its answers. */
struct checker_answer *answer_read(struct str json, struct err *e);
bool answer_has_shapes(const struct checker_answer *a);
const struct checker_answer *answer_share(const struct checker_answer *a);

struct answers;
/* Takes the files over. */
struct answers *answers_new(struct stash *files);
void answers_free(struct answers *s);
/* A reference of the caller's; NULL: it is not there. */
const struct checker_answer *answers_find(struct answers *s, const char *key,
                                          bool *on_disk);
void answers_keep(struct answers *s, const char *key, const struct checker_answer *a);
