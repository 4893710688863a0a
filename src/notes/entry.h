/* notes/entry.h - what is in a change. Of change.c and told.c alone. */
#pragma once
#include "notes/change.h"

struct step;

/* One note: what it was and what it shall be. */
struct entry {
    const char *from; /* "": it was not there */
    const char *to;   /* where it is now; in the trash when it is removed */
    uint64_t to_sum, from_sum;
    bool removed;
    bool opaque; /* too large, or not readable: moved and removed only */
    char old_hash[HASH_SIZE], new_hash[HASH_SIZE];
    struct os_stat st;
    struct str old, now;
    struct note *note; /* of `now`; parsed when asked for */
    unsigned order;    /* 0: merely read */
    const char *action, *summary;
    const char *known; /* where the index has it, in a session; NULL: nowhere */
    bool is_news;      /* changed since it was told there */
    struct entry *next_news;
    int64_t key; /* in the history; 0: not asked yet */
};

struct change {
    struct vault *v;
    struct change_options options;
    struct db *db;    /* NULL: a dry run */
    struct db *index; /* of a session, or NULL */
    struct entry *news;
    struct arena *arena;
    struct entry **entries;
    size_t count, capacity;
    unsigned order;
    size_t bytes; /* that shall be written */
    int64_t now_ms;
    int64_t last_revision; /* before the commit */
    struct step *steps;    /* of the commit */
    size_t step_count;
    uint64_t *named; /* sums of the paths that the caller named */
    size_t named_count, named_capacity;
    bool looked;
    bool reviewed; /* change_review() has let it go on */
};

/* Of a path: many are compared, mostly by this alone. */
uint64_t entry_sum(const char *path);

/* Puts what is to be done in its order, and all that was merely read away; how much it is. */
size_t change_sort(struct change *c);
