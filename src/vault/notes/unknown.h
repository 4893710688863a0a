/* notes/unknown.h - names and values in a filter that no note has: asked for after an answer was
 * empty, so that a slip in the filter is told of, and not an empty vault.
 *
 * Threads: safe.
 */
#pragma once
#include "notes/notes.h"

#define UNKNOWN_KNOWN_MAX 12u

enum filter_kind {
    FILTER_TYPE,
    FILTER_TAG,
    FILTER_KEY,     /* of metadata */
    FILTER_EQUAL,   /* a value that a key has to have */
    FILTER_ORDERED, /* a value that those of a key are compared with by order */
    FILTER_KINDS
};

/* A name of a filter, and what notes have in its place. */
struct filter_name {
    enum filter_kind kind;
    struct str name;          /* of a value: its key */
    const struct json *value; /* a string or a number; NULL: it is no value */
    /* Answered. */
    bool unknown; /* no note has it, nor, of a type, a description; of a value only */
    const char
        *holds; /* where its key has others. Of a value: "numbers" or "texts", where */
    struct str
        nearest; /* all others are of that kind, not its own; else NULL. Empty: none */
    struct str known[UNKNOWN_KNOWN_MAX]; /* the commonest first, at most 60 bytes each */
    size_t known_count;
};

/* Fills in the answers; `a` holds their texts. false and *e: as a call of the vault. */
bool notes_unknown(struct vault *v, struct filter_name *names, size_t count,
                   struct arena *a, struct err *e);
