/* functions_api/function_text.h - custom functions told in words: a section of a prompt, a
 * declaration. Threads: safe. Private to the room. */
#pragma once
#include "base/base.h"

struct function;
struct function_set;
struct functions;

/* The text on one line, at most about `most` bytes: without marks that would begin
 * something else there, end a comment, or are not seen. */
void words_put(struct str text, size_t most, struct buf *out);
/* A type; "any" where it is longer, or would not stay where it is put. */
void words_put_type(struct str type, size_t most, struct buf *out);
/* Code of types, as types_declared() has it: without marks that are not seen, and with
 * nothing that would end a comment around it. */
void words_put_code(struct str code, struct buf *out);
/* Is it an identifier, as far as a text of ours minds? */
bool words_are_name(struct str text);
#define SIGNATURE_TYPE 300u /* bytes of a type where people and agents read it */
/* "(date?: string, content?: string): Promise<Note>" */
void function_put_signature(const struct function *fn, size_t most, struct buf *out);
/* "const note = await customFunctions.daily('2024-01-15');" */
void function_put_usage(const struct function *fn, struct buf *out);
#define PROMPT_MOST \
    ((size_t)8 << 10) /* bytes of the section, but for names of the rest */
/* All of the set, those used most first; the caller frees the list alone. */
const struct function **functioning_ranked(struct functions *f,
                                           const struct function_set *s, size_t *count);
/* A paragraph that tells of them: of `all`, in their order, as many as there is room for in
 * `most` bytes, with signature and description (`brief`: with the names of the parameters
 * alone), and how many more there are. `vault`: its id. Nothing where there are none, or no
 * room for one. */
void functioning_introduction(const struct function *const *all, size_t count,
                              struct str vault, size_t most, bool brief, struct buf *out);
/* The section "Available Custom Functions" of a prompt, Markdown as seed 001 has it: of
 * `all`, in their order, as many as there is room for, and the names of the rest. */
void functioning_prompt(const struct function *const *all, size_t count, size_t most,
                        struct buf *out);
