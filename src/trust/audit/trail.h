/* audit/trail.h - a trail: where its chains lie, and which of them this process has. Private
 * to audit. */
#pragma once
#include "audit/audit.h"
#include "audit/chain.h"

struct trail {
    struct audit *audit;
    struct trail *next;
    char *vault; /* NULL: none */
    atomic_uint_least64_t rotate_at, keep_most;
    atomic_uint_least64_t kept_bytes; /* of texts, and one; 0: not counted yet */
    atomic_bool ready;                /* the next record can be appended */
    atomic_uint_least64_t written;    /* records that were appended */

    pthread_mutex_t lock; /* guards what follows; held for a few microseconds */
    bool is_open;
    bool is_aside, was_open;
    struct chain chain; /* the lane of this process */

    pthread_mutex_t sync_lock; /* one at a time; the others find theirs done */
    uint64_t synced;           /* of `written` */
};

struct audit {
    audit_interrupted_fn *on_interrupted; /* NULL: nothing is added */
    void *interrupted_arg;
    pthread_mutex_t lock; /* guards the opening, the list and the syncer's beginning */
    bool is_open;
    int folder, heads; /* in the user's state folder */
    char *path;
    unsigned char key[CRYPTO_KEY];
    struct trail *_Atomic trails;
    atomic_uint_least64_t lost, appended;

    pthread_t syncer;
    bool has_syncer;
    pthread_mutex_t sync_lock; /* guards the two below */
    pthread_cond_t sync_wake;
    atomic_bool dirty;
    bool stop;
};

bool audit_make_ready(struct audit *a, struct err *e); /* the state folder and the key */
/* A vault's chain: "v-" or, for records kept aside, "s-", with a hash of its path. */
void trail_chain_name(const struct trail *t, bool aside, char out[static 40]);
/* The folder of one of the two; -1 and *e. `make`: where it is missing. */
int trail_folder(const struct trail *t, bool aside, bool make, char **path,
                 struct err *e);
/* Opens one lane; errors of chain_open(). `write`: its folder is made where it is missing. */
bool trail_open_chain(const struct trail *t, bool aside, unsigned lane, bool write,
                      struct chain *c, struct err *e);
bool trail_has_head(const struct trail *t, bool aside, unsigned lane);
/* Opens one lane to be read; where the folder or the head is gone, without it. */
bool trail_open_to_read(const struct trail *t, bool aside, unsigned lane, struct chain *c,
                        struct err *e);
bool trail_settle_chain(struct trail *t, struct chain *c, struct err *e);
/* The lane of this process, fit to be appended to; the lock is held. */
bool trail_begin(struct trail *t, struct err *e);

/* Calls `each` for every lane of the trail that has files, or a head without any. */
struct lane_visit {
    bool (*each)(void *arg, struct chain *c, bool aside, struct err *e);
    void *arg;
    bool files_only; /* heads are not looked for: one look at each folder */
};
bool trail_visit(const struct trail *t, const struct lane_visit *v, struct err *e);
