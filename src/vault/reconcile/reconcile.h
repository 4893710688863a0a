/* reconcile/reconcile.h - the audit of a vault and its history, held against each other.
 *
 * Each call that will change something says so in the audit first (an intent), and the
 * history keeps its name with every revision: so a call that was interrupted can be told
 * whole, and a change that no record names, or a history that was cut, is found.
 * Threads: safe.
 */
#pragma once
#include "audit/audit.h"
#include "base/base.h"
#include "json/json.h"

/* For audit_on_interrupted(); `arg` is not used. Tells {changed, notes, more_notes}. */
void reconcile_interrupted(void *arg, const char *vault, struct str intent,
                           struct json_writer *w);

/* Writes {"ok", "unrecorded"?: [{call, id, revision, time}] (the first 100),
 * "unrecorded_count"?, "missing_revisions"? (taken out of the history), "history_ends"?,
 * "recorded_revision"?, "record"? (names a revision behind the history's end)}. Revisions of
 * before there were intents are not looked at. *sound is made false where not ok. */
bool reconcile_verify(struct trail *t, const char *vault, struct json_writer *out,
                      bool *sound, struct err *e);
