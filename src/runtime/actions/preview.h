/* actions/preview.h - what a call would change, found out before a person is asked, shown in
 * the question, and compared under the vault's lock before it is written.
 * Private to actions. */
#pragma once
#include "actions/confirm.h"
#include "notes/notes.h"

struct preview {
    struct vault_review of; /* for place_view() */
    struct buf lines;
    struct confirm_changes changes;
};

/* It looks, until preview_end_look(). */
struct preview *preview_new(void);
void preview_free(struct preview *r); /* NULL is fine */
SCOPED(preview, preview_free);
/* The call was made, to look (`ok`: what it answered, `why` of a failure). From now on the
 * review compares. *asks: something would be changed, and r->changes tells what. false and
 * *e: the call would fail, and nobody is to be asked. */
bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e);
