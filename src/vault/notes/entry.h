/* notes/entry.h - what is in a change. Of change.c and of what it is made of alone: commit.c,
 * told.c, review.c, session.c, linktext.c. */
#pragma once
#include "notes/change.h"
#include "notes/twins.h"

struct step;
struct linktext;
struct linktexts;
struct linker;

/* A note of the change: its state before and after. */
struct entry {
    const char *from;      /* "": it was not there */
    const char *to;        /* where it is now; in the trash when it is removed */
    size_t from_at, to_at; /* their numbers among the change's paths */
    bool removed;
    bool opaque; /* too large, or not readable: moved and removed only */
    char old_hash[HASH_SIZE], new_hash[HASH_SIZE];
    struct os_stat st;
    struct str old, now;
    struct note *note;      /* of `now`; parsed when asked for */
    struct linktext *links; /* in `now`, in a session; some may be newer than it */
    unsigned order;         /* 0: merely read */
    const char *action, *summary;
    const char *known; /* where the index has it, in a session; NULL: nowhere */
    bool is_news;      /* changed since it was told there */
    struct entry *next_news;
    bool answered; /* the answer tells its new hash */
    struct entry *next_answered;
    int64_t key; /* in the history; 0: not asked yet */
};

/* The change's knowledge of a path. */
struct place {
    struct entry *here; /* the note that is there now, or NULL */
    struct entry *came; /* the one that was there before the change, or NULL */
    bool named;         /* by the caller itself */
};

struct change {
    struct vault *v;
    struct change_options options;
    struct db *db;    /* NULL: a dry run */
    struct db *index; /* of a session, or NULL; so are the next two */
    struct linker *linker;
    struct linktexts *texts;
    struct entry *news, *answered;
    struct arena *arena;
    struct entry **entries;
    size_t count, capacity;
    struct map paths;
    struct place *places; /* by the numbers of `paths` */
    size_t place_capacity;
    struct twins twins;
    unsigned order;
    size_t bytes; /* that shall be written */
    int64_t now_ms;
    int64_t last_revision; /* before the commit */
    struct step *steps;    /* of the commit */
    size_t step_count;
    bool looked;
    const char *held; /* why nothing is done; NULL: it is */
    bool reviewed;    /* change_review() has let it go on */
};

/* The note that is at the path, as the change has it so far; NULL: none that it knows. */
struct entry *entry_at(const struct change *c, const char *path);
/* Was a note there that the change has moved away or removed? */
bool entry_has_left(const struct change *c, const char *path);
/* A new one, which came from `from` ("": from nowhere) and is at `to`. NULL and ERR_LIMIT. */
struct entry *entry_add(struct change *c, const char *from, const char *to,
                        struct err *e);
/* It is at `to` from now on, which is copied; in the trash, where it is `removed`. */
bool entry_move(struct change *c, struct entry *n, const char *to, bool removed,
                struct err *e);
/* `now`, parsed: borrowed until it changes. NULL and ERR_LIMIT. */
const struct note *entry_parse(struct change *c, struct entry *n, struct err *e);
/* `now` from now on, which is copied. ERR_LIMIT. */
bool entry_set(struct change *c, struct entry *n, struct str bytes, struct err *e);
/* The change does something to it; a place in the order of steps that it has, it keeps. */
void entry_touch(struct change *c, struct entry *n);
/* Finds or makes the place of a path; it stays. NULL and ERR_LIMIT. */
struct place *entry_place(struct change *c, const char *path, size_t *number,
                          struct err *e);

/* Puts what is to be done in its order, and all that was merely read away; how much it is. */
size_t change_sort(struct change *c);
