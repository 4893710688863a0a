/* usage/shape.h - what a piece of JavaScript or TypeScript is made of, whatever its
 * names and literals. Read once, token by token; code that does not parse has a shape, too.
 * Threads: safe. Private to usage.
 */
#pragma once
#include "base/base.h"

struct code_literal {
    struct str text; /* borrowed of the code */
    uint32_t line;
};
struct code_shape {
    /* The same for code that differs in spaces, comments, literals and the names of its
     * variables alone. */
    uint64_t hash;
    uint32_t lines, tokens;           /* lines with something in them */
    struct code_literal literals[32]; /* the first of them */
    size_t literal_count;
};
void code_shape(struct str code, struct code_shape *out);

/* The same for code that differs in spaces, comments and the name `self` alone. */
uint64_t code_sum(struct str code, struct str self);

/* The functions and classes that the code declares at its top level, where it is laid out
 * as usual (they begin and end in the first column): at most `room`. */
size_t code_functions(struct str code, struct str *out, size_t room);
