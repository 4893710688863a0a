/* actions/preview.h - what a call would change, found out before a person is asked, shown in
 * the question, and compared under the vault's lock before it is written.
 * Private to actions. */
#pragma once
#include "actions/confirm.h"
#include "notes/notes.h"

struct preview {
    struct vault_review of;  /* for place_view() */
    const struct json *args; /* of the host call that it is of; NULL: none */
    struct preview *next;    /* of the evaluation's */
    struct buf lines;
    struct confirm_changes changes;
};

/* It looks, until preview_end_look(). */
struct preview *preview_new(const struct json *args);
void preview_free(struct preview *r); /* NULL is fine */
SCOPED(preview, preview_free);
/* The call was made, to look (`ok`: what it answered, `why` of a failure). From now on the
 * review compares. *asks: something would be changed, and r->changes tells what. false and
 * *e: the call would fail, and nobody is to be asked. */
bool preview_end_look(struct preview *r, bool ok, const struct err *why, bool *asks,
                      struct err *e);

/* Of an evaluation's calls, each by its arguments. Threads: safe. */
void preview_join(struct evaluation *v, struct preview *r);
void preview_leave(struct evaluation *v, struct preview *r); /* NULL is fine */
struct vault_review *preview_of(struct evaluation *v, const struct json *args);
