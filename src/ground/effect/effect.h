/* effect/effect.h - what a call did, as data beside the JSON that it answers.
 *
 * Rooms that change or read something add an effect to the outcome of the call that they
 * work for; whoever runs calls reads there what was changed, and by what the note is known
 * now, instead of the answer's text.
 *
 * Threads: an outcome belongs to one call, which is on one thread at a time. */
#pragma once
#include "base/base.h"

enum effect_deed {
    EFFECT_READ,
    EFFECT_MADE,
    EFFECT_CHANGED,
    EFFECT_MOVED, /* and may be changed besides */
    EFFECT_REMOVED,
};

#define EFFECT_KNOWN_MAX 1024u /* that an outcome keeps */

/* Strings are borrowed until outcome_add() returns; those in an outcome, as its arena. */
struct effect {
    const char *what; /* "note", "type", "file", "vault": a constant */
    enum effect_deed deed;
    bool dry;   /* what would be done */
    bool known; /* the call answers this version, or its hash */
    /* As it is called now; of what was removed, as it was. */
    struct str id, path;
    struct str before,
        after;        /* hashes; empty: it was not there, is no more, or not said */
    int64_t revision; /* the history's last then; 0: not in it */
    struct str list;  /* of a note: its subnotes as JSON; without a pointer: not said */
};
typedef void effect_fn(void *arg, const struct effect *e);

struct effect_row {
    struct effect_row *next;
    struct effect of;
};

/* All zeros to begin with, but for who wants what. */
struct outcome {
    effect_fn *hear; /* each change that was made, at once; NULL: nobody */
    void *arg;
    struct arena *arena;      /* in which `known` is kept; NULL: it is not */
    struct effect_row *known; /* what is known, or made; not what is dry */
    size_t known_count;
    bool dry;         /* a dry run */
    bool held;        /* it asked to be confirmed instead, or would ask */
    bool changed;     /* something, whatever it was */
    bool absent;      /* it answered that there is no such thing */
    size_t changes;   /* made, or that a dry run would make */
    uint32_t removed; /* of these, what is gone now */
    size_t rows;      /* of a list or a search */
    bool failed;      /* a command, with this exit code and first line on stderr */
    int exit_code;
    char said[128];
};

/* In the following an outcome of NULL is nobody's. */

void outcome_add(struct outcome *o, const struct effect *e);
void outcome_rows(struct outcome *o, size_t rows);
/* A command failed; `errors` is what it wrote to stderr. */
void outcome_fail(struct outcome *o, int exit_code, struct str errors);
