/* functions_api/function_text.h - texts about custom functions: a section of a prompt, a
 * declaration. Threads: safe. Private to the room. */
#pragma once
#include "base/base.h"

struct function;
struct function_set;
struct functions;

/* Appends the text on one line, at most about `most` bytes, without characters that would
 * be markup there, end a comment, or are invisible. */
void words_put(struct str text, size_t most, struct buf *out);
/* Appends a type; "any" where it is longer, or could end its context. */
void words_put_type(struct str type, size_t most, struct buf *out);
/* Appends TypeScript as types_declared() has it, without invisible characters, and with
 * nothing that would end a comment around it. */
void words_put_code(struct str code, struct buf *out);
/* Whether the text is an identifier, by the rules of these texts. */
bool words_are_name(struct str text);
#define SIGNATURE_TYPE 300u /* bytes of a type in texts */
/* "(date?: string, content?: string): Promise<Note>" */
void function_put_signature(const struct function *fn, size_t most, struct buf *out);
/* "const note = await customFunctions.daily('2024-01-15');" */
void function_put_usage(const struct function *fn, struct buf *out);
#define PROMPT_MOST \
    ((size_t)8 << 10) /* bytes of the section; names of further functions come besides */
/* All of the set, most used first; the caller frees the array only. */
const struct function **functioning_ranked(struct functions *f,
                                           const struct function_set *s, size_t *count);
/* Appends a paragraph about `all`, in their order, as many as fit into `most` bytes, with
 * signature and description (`brief`: with parameter names only), and the number of the
 * others. `vault`: its id. Nothing where there are none, or not one fits. */
void functioning_introduction(const struct function *const *all, size_t count,
                              struct str vault, size_t most, bool brief, struct buf *out);
/* The section "Available Custom Functions" of a prompt, Markdown as seed 001 has it:
 * `all`, in their order, as many as fit, and the names of the rest. */
void functioning_prompt(const struct function *const *all, size_t count, size_t most,
                        struct buf *out);
