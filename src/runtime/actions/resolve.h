/* actions/resolve.h - what a call means that a person is asked for and that changes no
 * notes: the custom functions and the vaults behind the names in its arguments, as they are
 * now. Made before the question, and again before the deed. Private to actions. */
#pragma once
#include "actions/confirm.h"

struct resolved {
    struct buf lines; /* an array of texts; empty: nothing is known */
    char digest[CRYPTO_HASH_HEX];
    struct confirm_changes changes; /* these two */
};
void resolved_init(struct resolved *r);
void resolved_done(struct resolved *r);
#define scoped_resolved __attribute__((cleanup(resolved_done)))

/* Ends the array that `w` writes to r->lines. */
bool resolved_end(struct resolved *r, struct json_writer *w, struct err *e);
/* The same again, after the word. false and ERR_CONFLICT: it is another one by now. */
bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e);
