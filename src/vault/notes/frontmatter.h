/* notes/frontmatter.h - the YAML block at the head of a note.
 *
 * Cuts a note's bytes into head and body, and changes single keys of the head so
 * that all other bytes stay as they are. A block that is no YAML is kept as it is
 * and never guessed at.
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/yml.h"

enum frontmatter_state {
    FRONTMATTER_NONE,
    FRONTMATTER_GOOD,
    FRONTMATTER_BROKEN, /* see `error` */
};

struct frontmatter {
    enum frontmatter_state state;
    struct str head; /* before the body: byte order mark, fences, a blank line */
    struct str yaml; /* between the fences */
    bool spaced;     /* the head ends with a blank line */
    struct str body;
    struct yml yml; /* all is {} unless the state is GOOD */
    char error[200];
};

/* Cuts `bytes`, from which all parts are borrowed. Any bytes will do. false only
 * with ERR_LIMIT, when the arena is full. */
bool frontmatter_read(struct str bytes, struct arena *a, struct frontmatter *out,
                      struct err *e);

/* The body alone. */
struct str frontmatter_skip(struct str bytes);

struct frontmatter_change {
    struct str key;
    const struct json *value; /* null removes the key */
};

/* A string as such a value, in the arena. */
const struct json *frontmatter_text(struct str text, struct arena *a, struct err *e);

/* Appends the head with the changes made; without a head one is made, if there is
 * a key for it. Values that are equal already change no byte. false and
 * ERR_INVALID: it is broken, or cannot be changed key by key. */
bool frontmatter_edit(const struct frontmatter *f,
                      const struct frontmatter_change *changes, size_t count,
                      struct arena *a, struct buf *out, struct err *e);

/* Appends head and body so that reading cuts them at the same place: before a body
 * that begins like a head itself stands an empty one, if there was none. With
 * `crlf` the body's line ends become CRLF. */
void frontmatter_join(struct str head, struct str body, bool crlf, struct buf *out);

/* Are all line ends of the text CRLF, and is there one? */
bool frontmatter_is_crlf(struct str text);
