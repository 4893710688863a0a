/* policy/internal.h - what the files of this room share. Private to policy. */
#pragma once
#include "policy/policy.h"

/* Does some key lie beneath this path ("levels", "levels.full", "")? */
bool key_is_group(const struct key_table *t, struct str path);
/* Where the value of this dotted key begins in JSON text that is known to be valid; 0
 * if it is not there. */
size_t policy_place(struct str text, const char *key);
/* The part of two host patterns that both allow, or NULL. */
const char *host_pattern_both(const char *a, const char *b);
/* A value of a key that is a number, a boolean or a word, as a number. */
int64_t key_rank(const struct key *k, const struct json *v);
