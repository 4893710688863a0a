/* notes/resolve.h - what a name means: the one order in which calls, links, lists of subnotes
 * and changes look for a note. See notes.h, "Words".
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "db/db.h"

/* The number of notes that a name means: the column `outcome` of the index's names. */
enum name_outcome {
    NAME_MISSING, /* no note is called so */
    NAME_FOUND,
    NAME_SEVERAL, /* more than one is */
};

/* Ways to look, in their order. */
enum resolve_way {
    RESOLVE_PATH,
    RESOLVE_UID,
    RESOLVE_TITLE,
    RESOLVE_STEM,
    RESOLVE_ID_ANYCASE, /* whatever the case and the normal form: see fold.h */
    RESOLVE_TITLE_ANYCASE,
    RESOLVE_STEM_ANYCASE,
    RESOLVE_ALIAS,
    RESOLVE_TAIL, /* the end of its path: of links alone */
    RESOLVE_WAYS,
};

/* The index's notes that one way gives; resolve_bind() binds ?1 and ?2. */
#define RESOLVE_SQL(columns, way, tail) \
    "SELECT " columns " FROM notes WHERE " RESOLVE_BY_##way " " tail
#define RESOLVE_BY_PATH "path = ?1"
#define RESOLVE_BY_UID "uid = ?1"
#define RESOLVE_BY_TITLE "title_key = ?2 AND title = ?1"
#define RESOLVE_BY_STEM "stem_key = ?2 AND stem = ?1"
#define RESOLVE_BY_ID_ANYCASE "id_key = ?1"
#define RESOLVE_BY_TITLE_ANYCASE "title_key = ?1"
#define RESOLVE_BY_STEM_ANYCASE "stem_key = ?1"
#define RESOLVE_BY_ALIAS "key IN (SELECT note FROM aliases WHERE text_key = ?1)"
#define RESOLVE_BY_TAIL "stem_key = ?1 AND substr(id_key, -1 - length(?2)) = '/' || ?2"
/* `key` (of FOLD_KEY_MAX) is written to, and lasts as long as the query. */
void resolve_bind(struct query *q, enum resolve_way way, struct str name,
                  struct buf *key);

/* Looks in one way, and keeps what it finds. With *e set the search ends. */
typedef enum name_outcome resolve_look(void *arg, enum resolve_way way, struct str name,
                                       struct err *e);

/* By the file itself: "type/stem", "stem.md", and "note/stem" at the root: with RESOLVE_PATH
 * alone. Of a name with a folder the caller cuts ".md" off. */
enum name_outcome resolve_file(resolve_look *look, void *arg, struct str name,
                               struct err *e);
/* Resolves a name that is no file's: the other ways before `end`, in their order. */
enum name_outcome resolve_name(resolve_look *look, void *arg, struct str name,
                               enum resolve_way end, struct err *e);
