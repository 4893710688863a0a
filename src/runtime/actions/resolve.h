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

/* Of an action on custom functions: those that it names, and their code beside the code
 * that it brings. */
bool resolve_functions(const struct action_call *c, struct resolved *out, struct err *e);
/* Of vaults.update and vaults.remove. */
bool resolve_vault(struct evaluation *v, const struct json *args, struct resolved *out,
                   struct err *e);
/* The same again, after the word. false and ERR_CONFLICT: it is another one by now. */
bool resolved_holds(const struct resolved *before, const struct resolved *now,
                    struct err *e);
