/* spelling/lexer.h - TypeScript's words and signs, one after the other: enough to see
 * whether the text of a type is whole, and what parts it has.
 *
 * No parser: a slash behind a closing bracket is taken for a division, which is what it is
 * nearly always.
 * Threads: a lexer belongs to one. Private to the room spelling.
 */
#pragma once
#include "base/base.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD, /* a name or a keyword */
    TOKEN_NUMBER,
    TOKEN_STRING,  /* with its quotes */
    TOKEN_TEXT,    /* a part of a template, without its signs */
    TOKEN_PATTERN, /* a regular expression */
    TOKEN_SIGN,    /* one character, or "=>", "?.", "..." */
    TOKEN_COMMENT,
    TOKEN_BAD, /* no TypeScript, or nested deeper than LEXER_DEPTH: nothing follows */
};
struct token {
    enum token_kind kind;
    struct str text; /* borrowed from the code */
};

#define LEXER_DEPTH 200u /* brackets and templates in each other */
struct lexer {
    struct str rest;
    struct token last;      /* that was no comment */
    char open[LEXER_DEPTH]; /* '(', '[', '{', '<' where it is told so, '`', '$' of "${" */
    unsigned depth;
    bool types; /* '<' and '>' are brackets: the text is a type */
};
void lexer_init(struct lexer *l, struct str code, bool types);
struct token lexer_next(struct lexer *l);
/* The innermost bracket that is open; 0: none. */
char lexer_inside(const struct lexer *l);
bool lexer_is(struct token t, const char *text); /* a word or a sign */
