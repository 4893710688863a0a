/* notes/verdicts.h - what the patterns of types say of texts, asked while no lock is held.
 *
 * A pattern takes time, and a type that a stranger described may bring one that takes for
 * ever; so none is matched under the vault's lock. But which texts are to match is known
 * only there. Whether a pattern matches a text hangs on these two alone: an attempt under the
 * lock notes what it would have to ask, and commits nothing; then it is asked, without the
 * lock; then the attempt is made again, and finds the answers.
 *
 * Threads: one. Private to the room notes.
 */
#pragma once
#include "notes/vault.h"

#define VERDICTS_MAX 100000u              /* questions of one call */
#define VERDICTS_BYTES ((size_t)64 << 20) /* of all that is asked */
#define VERDICTS_NS_A_NOTE \
    ((uint64_t)250000000) /* of computing, for all patterns of a note */
#define VERDICTS_NS_MAX ((uint64_t)3000000000) /* for a call with many notes */

struct verdicts;
struct verdicts *verdicts_new(void);
void verdicts_free(struct verdicts *s); /* NULL is fine */
SCOPED(verdicts, verdicts_free);

/* Does the pattern match the text? What was not asked yet is noted, and answered with yes.
 * `place` ("metadata.code") and the type are named where asking fails. false and
 * ERR_LIMIT: too many questions. */
bool verdicts_find(struct verdicts *s, struct str type, const char *place,
                   struct str pattern, struct str text, bool *matches, struct err *e);
/* Ends a note: the questions since the last one are its own, and its time is added. */
void verdicts_note_ends(struct verdicts *s);
/* Is there something to ask? Then what was found is not to be relied on. */
bool verdicts_wait(const struct verdicts *s);
/* Asks. false and ERR_INVALID or ERR_LIMIT, which name type, field and pattern: it is none,
 * or takes more than its time; ERR_CANCELLED; or as vault_matcher(). */
bool verdicts_ask(struct verdicts *s, struct vault *v, struct err *e);

/* Makes attempts until one found all its answers. `once` may commit only where
 * verdicts_wait() is false, and begins anew each time. ERR_BUSY: each time there was more
 * to ask, because the types change meanwhile. */
typedef bool verdicts_attempt(void *arg, struct verdicts *s, struct err *e);
bool verdicts_settle(struct vault *v, verdicts_attempt *once, void *arg, struct err *e);
