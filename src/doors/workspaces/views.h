/* workspaces/views.h - what can be read of a vault: ieapp://{workspace_id}/...
 *
 * Private to the room workspaces. Source: seed 003, "Resources".
 */
#pragma once
#include "performing/performing.h"
#include "workspaces/internal.h"

#define VIEW_SCHEME "ieapp://"

enum view_kind { VIEW_LIST, VIEW_NOTE, VIEW_HISTORY, VIEW_CLASSES, VIEW_LINKS, VIEWS };

/* A resource, as a uri names it. */
struct view {
    enum view_kind kind;
    struct str workspace; /* its id */
    struct str note;      /* an identifier: of VIEW_NOTE and VIEW_HISTORY */
};

/* The rows of resources/templates/list, by kind. */
extern const struct resource_shown view_templates[VIEWS];

/* Reads a uri, its strings into the arena. The note's '/' may stand there as it is, or as
 * %2F; where it stands as it is, a last "history" is the note's history. false: it is none
 * of these. */
bool view_read_uri(struct str uri, struct arena *a, struct view *out);
/* Appends the uri, in its one canonical spelling: all that is reserved as %XX. */
void view_put_uri(const struct view *v, struct buf *out);

/* Appends what the view shows, as text, and says of which type that is. ERR_NOT_FOUND:
 * no such workspace, or note; other errors as the host calls say. */
bool view_show(struct workspaces *w, const struct caller *who, const struct view *v,
               struct buf *text, const char **mime_type, struct err *e);

/* Appends the uri by which changes name it, and sees to it that they are told: the note by
 * its id, where there is one. ERR_NOT_FOUND: no such workspace of the caller's. */
bool view_follow(struct workspaces *w, const struct caller *who, const struct view *v,
                 struct buf *canonical, struct err *e);

/* Rows of resources/list, at most `room` of them, behind the place `after` (empty: from
 * the beginning on) in the order of workspaces and paths. */
bool view_list(struct workspaces *w, const struct caller *who, struct str after,
               size_t room, struct json_writer *rows, struct buf *next, struct err *e);

/* The workspaces that the caller may know of: rows {id, name ...} by their ids. */
struct workspace_rows {
    const struct json **all;
    size_t count;
};
bool workspace_rows(struct workspaces *w, const struct caller *who, struct arena *a,
                    struct workspace_rows *out, struct err *e);

/* Appends the names that an argument or variable of ours may have: workspace_id, and, of
 * the workspace that is `known` or else the caller's own, note_id and class. A JSON array;
 * an empty one where the caller may not know them. */
bool names_put(struct workspaces *w, const struct caller *who, struct str argument,
               const struct json *known, struct buf *values, struct err *e);

/* For view_call(), of a struct str: itself, or {identifier, markdown: true}. */
void view_fill_name(struct json_writer *w, const void *arg);
void view_fill_note(struct json_writer *w, const void *arg);

/* Calls `name` with one argument, the object or string that `fill` puts (NULL: none), and
 * reads its answer into the arena. NULL and *e. */
const struct json *view_call(struct work *work, const char *name,
                             void (*fill)(struct json_writer *w, const void *arg),
                             const void *arg, struct arena *a, struct err *e);
