/* spelling/spelling.h - TypeScript as it is spelt: names, and the texts of types.
 *
 * Sees words and signs, not programs: what is judged here is so without a parser.
 * Source: ECMA-262, 12 (lexical grammar).
 * Threads: safe.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

/* ---- names --------------------------------------------------------------- */

#define NAME_LONGEST 64u        /* characters */
#define NAME_SUGGESTION_MAX 96u /* bytes, with the NUL */

/* Faults of a name by itself; NAME_FINE: none. */
enum name_fault {
    NAME_FINE,
    NAME_EMPTY,
    NAME_LONG,
    NAME_NO_WORD,   /* no identifier */
    NAME_INVISIBLE, /* an identifier with signs that nobody sees */
    NAME_CONFUSING, /* name_confuses() */
    NAME_RESERVED,  /* a word of the language */
    NAME_OBJECTS,   /* what every object has, or promises are known by */
    NAME_GLOBAL,    /* what code finds already */
};
/* Names that code finds besides the language's own: "notes" too, of "notes.get". */
struct name_words {
    const char *const *at;
    size_t count;
};
enum name_fault name_look(struct str name, const struct name_words *taken);
/* Could it be taken for another (Unicode TR 39)? Its letters are of several scripts, of
 * forms that only look different ("\uff4eotes"), or all of them look like Latin ones.
 * ASCII never does. `like`: as it looks, in ASCII, or "". */
#define NAME_LIKE_MAX 65u
bool name_confuses(struct str name, char like[static NAME_LIKE_MAX]);
bool name_is_camel(struct str name); /* as names of the API are written? */
/* Makes one of it that is fine and free (`is_used` may be NULL). */
typedef bool name_used_fn(const void *arg, struct str name);
void name_suggest(struct str name, const struct name_words *taken, name_used_fn *is_used,
                  const void *arg, char out[static NAME_SUGGESTION_MAX]);

/* ---- types --------------------------------------------------------------- */

/* Is it one type, on one line: brackets in pairs, nothing behind it, no comment? Else
 * `why` says what is wrong, and it must not be written into a declaration. */
bool type_is_whole(struct str type, const char **why);
/* May a value of JSON be of this type? Only what is plain is known (string, "a" | "b",
 * number[], ...); whatever else is true. */
bool type_may_hold(struct str type, const struct json *v);

/* ---- types that code declares -------------------------------------------------- */

#define OWN_TYPES_MAX 64u
struct own_types {
    struct str at[OWN_TYPES_MAX]; /* their names, borrowed from the code */
    size_t count;
};
/* The interfaces, aliases and enums at the top level of code, on one line and without
 * comments, for the inside of a declared namespace: "interface Row { id: string } ". What
 * hangs on values of the code, and a class, is any. Nothing of code that is no TypeScript. */
void types_declared(struct str code, struct own_types *names, struct buf *out);
/* Appends a type in which those are members of a namespace: "Row[]" as "space.Row[]". */
void type_qualify(struct str type, const struct own_types *names, struct str space,
                  struct buf *out);
