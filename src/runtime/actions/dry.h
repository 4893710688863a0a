/* actions/dry.h - evaluations that change nothing: what they write goes to a copy of the
 * vault, which is made when they first write, and thrown away with them.
 *
 * What is read before that is read from the vault itself. The rights are those of the
 * vault; a person is asked nothing. Vaults themselves are not made, changed or gone to.
 * Threads: safe.
 * Private to the room actions.
 */
#pragma once
#include "actions/calls.h"

struct dry *dry_new(void);
void dry_free(struct dry *d); /* NULL is fine; no call of its evaluation may be running */

/* The copy of the vault of this number; NULL: it is as it was. */
struct vault *dry_vault(struct dry *d, unsigned number);
/* Instead of the vault of this number: one with its types and these notes (an array of what
 * notes.create takes; NULL: as the vault is). `now_ms`: the time in what is written; 0: as
 * it is. Before its first call. false and *e: a note cannot be made, or as
 * vault_copy_make(). */
bool dry_fixture(struct evaluation *v, unsigned number, const struct json *notes,
                 int64_t now_ms, struct err *e);
/* Before this call is made: a copy, where it writes. false and ERR_DENIED (not in a dry
 * run), or as vault_copy_make(). */
bool dry_begin(struct evaluation *v, const struct host_call *c, struct err *e);
/* The folder that a tool may be shown: a copy with all files in it, or, where it only reads
 * and nothing was written yet, the vault's own. To be freed. NULL and *e. */
char *dry_folder(struct evaluation *v, unsigned number, bool writes, struct err *e);
/* "changes": [{path, action, id? ...}], "changeCount": what would have been changed, as
 * pairs of an open object. Without the list, and "hidden", where it may not be `told`:
 * notes change that the call did not name. */
bool dry_put_changes(struct dry *d, bool told, struct json_writer *out, struct err *e);
