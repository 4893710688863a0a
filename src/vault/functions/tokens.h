/* functions/tokens.h - TypeScript or Python cut into its tokens, as far as names mind.
 *
 * For what has to be told apart to rename something: words, texts, and what stands
 * between them. Not a parser: whether '/' divides or begins a regular expression is told
 * from what stands before it, as editors do; who changes code by this has to have it
 * checked. Threads: one. Private to the room functions. */
#pragma once
#include "base/base.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,  /* an identifier or a keyword */
    TOKEN_TEXT,  /* a string, or a template without ${} */
    TOKEN_PART,  /* a piece of a template around its ${} */
    TOKEN_OTHER, /* a number, a regular expression */
    TOKEN_SIGN,  /* one character, or "?." */
};
struct token {
    enum token_kind kind;
    struct str text;
};

#define TOKENS_NESTED 200u /* templates within templates; deeper is odd */
struct tokens {
    struct str code;
    size_t at;
    struct token last;
    unsigned braces[TOKENS_NESTED]; /* open ones within each ${ */
    unsigned nested;
    bool odd; /* it ends in the middle of something, or is too deep */
    bool python;
};
struct tokens tokens_of(struct str code, bool python);
/* Passes comments and white space over. TOKEN_END at the end, and from then on. */
struct token token_next(struct tokens *t);
bool token_is(const struct token *t, const char *text);
