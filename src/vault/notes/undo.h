/* notes/undo.h - which notes calls have changed, and what each held before and after.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/history.h"

/* Which revisions are meant. What is empty or 0 does not matter. */
struct undo_filter {
    struct str call, agent;
    int64_t since_ms;
};
/* Reads `call`, `since` (a date, or "90s", "30m", "1h", "2d", "1w" before now) and `agent`.
 * ERR_INVALID: none of them is given, or `since` is neither. */
bool undo_read_filter(const struct json *o, int64_t now_ms, struct undo_filter *out,
                      struct err *e);
/* The condition on `revisions` (as r) with parameters 1 to 3, and what binds them. */
#define UNDO_WHERE                                                         \
    " r.author <> 'external' AND (?1 = '' OR r.call = ?1) AND (?2 = '' OR" \
    " r.author = ?2) AND r.time >= ?3"
void undo_bind(struct query *q, const struct undo_filter *f);

/* A note as one of its revisions left it. Texts are the arena's. */
struct undo_moment {
    bool there;       /* else it was not: deleted, or not made yet */
    const char *path; /* where it is, or was last */
    const char *hash;
    int64_t content, number;   /* 0: its bytes were not kept; there is no such revision */
    const char *author, *call; /* `call` may be "" */
};
bool undo_same(const struct undo_moment *a, const struct undo_moment *b);

/* A note that is to be as it was. */
struct undo_note {
    int64_t key, first, last, count;   /* numbers of its revisions that are meant */
    struct undo_moment was, done, now; /* before `first`, after `last`, at its newest */
    const char *path;                  /* where the change has it; NULL: nowhere */
    struct str bytes;                  /* that it gets */
    const char *why;                   /* it stays as it is; NULL: it does not */
    const char *by, *by_call;          /* who has changed it since, where that is known */
    char hash[HASH_SIZE];              /* of its file, where that is read */
    struct str mine,
        theirs; /* diffs of a note that stays: what is undone, what came since */
};

/* The notes that are meant, those changed first in front, with their moments and the bytes
 * that they get. ERR_LIMIT: too many, or too large. */
bool undo_list(struct db *db, const struct undo_filter *f, struct arena *a,
               struct undo_note **out, size_t *count, struct err *e);
/* Why it cannot be undone as the history alone has it; NULL: nothing is against it. */
const char *undo_objection(struct undo_note *n);
