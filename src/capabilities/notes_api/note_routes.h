/* notes_api/note_routes.h - what the routes of notes share. Private to the room. */
#pragma once
#include "notes_api/internal.h"
#include "routes/routes.h"

/* ---- preconditions (condition.c) --------------------------------------------- */

/* The version that a change expects. */
struct condition {
    struct str hash; /* empty: any, or the one that was read last */
    bool any;        /* "*" */
};
/* By If-Match, or `content_hash` in the body. false: 428, 412 or ERR_INVALID. */
bool condition_read(struct route_call *c, struct str note, struct condition *out,
                    struct err *e);
/* Adds it to an open object of options. */
void condition_put(const struct condition *d, struct json_writer *w);
/* Answers a change that failed: a conflict of versions is 412. Returns false. */
bool condition_failed(struct route_call *c, const struct condition *d);

/* ---- rows (note_rows.c) -------------------------------------------------------------- */

#define ROW_FIELDS 12u
#define ROW_NAMED 20u /* that are named one by one */
/* The members of rows: the names that filters and orders know, and "properties" for all
 * of them. Borrows from what it was read of. */
struct row_fields {
    bool wanted[ROW_FIELDS];
    struct str properties[ROW_NAMED]; /* of "properties.NAME" */
    size_t property_count;
};
/* "id,title", or an array of names; none: the usual. ERR_INVALID names those there are;
 * ERR_LIMIT. */
bool row_read_fields(struct str list, struct row_fields *out, struct err *e);
bool row_read_field_names(const struct json *names, struct row_fields *out,
                          struct err *e);
/* Puts notes.list's names for them, but the id: elements of an open array. */
void row_put_sources(const struct row_fields *f, struct json_writer *w);
/* A row of notes.list, or of the view of notes, as a row of ours. */
void row_put(struct route_call *c, const struct json *row, const struct row_fields *f,
             struct json_writer *w);
/* All fields of a whole note, members of an open object. */
void row_put_members(const struct json *note, struct json_writer *w);

/* ---- notes (route_notes.c) ---------------------------------------------------------- */

/* Answers with the note as it is now; `id`: an identifier. ERR_NOT_FOUND. */
bool answer_note(struct route_call *c, struct str id, struct err *e);
/* Adds Location: the note's own path. */
bool put_location(struct route_call *c, struct str id, struct err *e);

route_fn route_list_notes, route_create_note, route_get_note, route_put_note,
    route_patch_note, route_delete_note;
route_fn route_query, route_search, route_links, route_attachments, route_classes,
    route_class;
route_fn route_history, route_revision, route_restore, route_log, route_undo, route_trash;
