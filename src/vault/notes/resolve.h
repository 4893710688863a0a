/* notes/resolve.h - what a name means: the one order in which calls, links, lists of subnotes
 * and changes look for a note. See notes.h, "Words".
 *
 * Threads: safe. Private to the room notes.
 */
#pragma once
#include "base/base.h"

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
    RESOLVE_ID_ANYCASE, /* of ASCII letters */
    RESOLVE_TITLE_ANYCASE,
    RESOLVE_STEM_ANYCASE,
    RESOLVE_WAYS,
};

/* The index's notes that one way gives for ?1. Its indexes know no case; names do. */
#define RESOLVE_SQL(columns, way, tail) \
    "SELECT " columns " FROM notes WHERE " RESOLVE_BY_##way " " tail
#define RESOLVE_BY_PATH "path = ?1"
#define RESOLVE_BY_UID "uid = ?1"
#define RESOLVE_BY_TITLE "title = ?1 COLLATE NOCASE AND title = ?1"
#define RESOLVE_BY_STEM "stem = ?1 COLLATE NOCASE AND stem = ?1"
#define RESOLVE_BY_ID_ANYCASE "id = ?1 COLLATE NOCASE"
#define RESOLVE_BY_TITLE_ANYCASE "title = ?1 COLLATE NOCASE"
#define RESOLVE_BY_STEM_ANYCASE "stem = ?1 COLLATE NOCASE"

/* Looks in one way, and keeps what it finds. With *e set the search ends. */
typedef enum name_outcome resolve_look(void *arg, enum resolve_way way, struct str name,
                                       struct err *e);

/* By the file itself: "type/stem", "stem.md", and "note/stem" at the root: with RESOLVE_PATH
 * alone. Of a name with a folder the caller cuts ".md" off. */
enum name_outcome resolve_file(resolve_look *look, void *arg, struct str name,
                               struct err *e);
/* Resolves a name that is no file's: the other ways, those with `any_case` last, or not at all. */
enum name_outcome resolve_name(resolve_look *look, void *arg, struct str name,
                               bool any_case, struct err *e);
