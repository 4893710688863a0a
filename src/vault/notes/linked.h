/* notes/linked.h - what links, hierarchy and relationships share: a question about one
 * note, rows of an answer, a note's neighbours.
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "notes/find.h"

/* A question about the note that an identifier means: a string, or an object with the
 * key identifier or note_id. The work fills `rows`, which is empty, with one value. */
struct question {
    char path[PATH_MAX];
    int64_t note; /* its key, for the work */
    struct buf rows;
    bool (*answer)(struct db *db, struct question *q, struct json_writer *w,
                   struct err *e);
    void *arg;
};
typedef bool question_fn(struct db *db, struct question *q, struct json_writer *w,
                         struct err *e);
/* Everything that `answer` reads is of one state of the index. */
bool question_ask(struct vault *v, struct str identifier, question_fn *answer, void *arg,
                  struct json_writer *out, struct err *e);
/* The same, for a call that takes an identifier alone. */
bool question_about(struct vault *v, const struct json *identifier, const char *call,
                    question_fn *answer, struct json_writer *out, struct err *e);

/* Each puts an array: see notes.h for the rows. */
bool put_outgoing(struct db *db, int64_t note, bool external, struct json_writer *w,
                  struct err *e);
bool put_incoming(struct db *db, int64_t note, struct json_writer *w, struct err *e);
bool put_children(struct db *db, int64_t note, struct json_writer *w, struct err *e);
bool put_parents(struct db *db, int64_t note, struct json_writer *w, struct err *e);

/* ---- neighbours --------------------------------------------------------- */

/* The relation of the second of two notes to the first. */
enum relation { RELATION_LINK, RELATION_BACKLINK, RELATION_CHILD, RELATION_PARENT };
const char *relation_name(enum relation r); /* "link", "backlink", "child", "parent" */

struct neighbour {
    int64_t note;
    enum relation relation;
};

struct neighbours {
    struct neighbour *all;
    size_t count, capacity;
};
void neighbours_done(struct neighbours *n); /* a zeroed one is empty and fine */
#define scoped_neighbours __attribute__((cleanup(neighbours_done)))

/* Statements for one walk. */
struct graph {
    struct db *db;
    struct query *around, *path;
};
void graph_done(struct graph *g); /* a zeroed one is fine */
#define scoped_graph __attribute__((cleanup(graph_done)))

/* Fills `out` with all neighbours of the note but itself, by relation; one that is
 * joined to it several times comes several times. */
bool graph_around(struct graph *g, int64_t note, struct neighbours *out, struct err *e);
/* A copy of the note's path, which orders notes; "" where it is gone. NULL and *e. */
const char *graph_path(struct graph *g, int64_t note, struct arena *a, struct err *e);
/* Puts the note's public id. */
bool graph_put_id(struct graph *g, int64_t note, struct json_writer *w, struct err *e);
