/* approvals/internal.h - an entry on disk, for entries.c, which reads and forgets entries, and
 * approvals.c, which makes and decides them.
 */
#pragma once
#include "approvals/approvals.h"
#include "os/os.h"

#define WAITING_FILE "waiting"
#define ENTRY ".json"
#define SAID ".said"
#define LOCK_MS 5000u
#define ENTRY_MAX ((size_t)128 << 10)
#define SAID_MAX (APPROVAL_EDIT_MAX + (size_t)4096)
#define KNOWN_BAD 32u
#define LIST_MAX (4 * APPROVALS_MAX * ENTRY_MAX) /* working memory */

struct approvals {
    int dir;
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t changed;  /* by this process */
    uint64_t bad[KNOWN_BAD]; /* hashes of names that were warned of */
    size_t bad_count;
};

struct entry {
    const struct json *json;
    struct str id;
    int64_t asked_ms, keep_ms;
    const struct json *decision; /* NULL: none yet */
    int64_t until_ms;            /* when it is forgotten, unless a call waits */
    bool waiting;
};

struct entries {
    struct entry at[APPROVALS_MAX];
    size_t n;
};

void entry_make_id(char out[static APPROVAL_ID]);
bool entry_is_id(struct str s);
/* The name of its file, or of the decision's. */
void entry_file(struct str id, const char *suffix, char out[static 32]);

/* The folder's lock, until it is closed; it is held in all that follows. -1: ERR_BUSY, ERR_IO. */
int approvals_lock(const struct approvals *a, struct err *e);
/* ERR_NOT_FOUND, ERR_INVALID: damaged. What it holds lies in `arena`. */
bool entry_read(struct approvals *a, struct str id, struct entry *x, struct arena *arena,
                struct err *e);
/* All of them, oldest first; those whose time is over are forgotten. */
bool entries_read(struct approvals *a, struct entries *out, struct arena *arena,
                  struct err *e);
void entry_forget(const struct approvals *a, struct str id);
