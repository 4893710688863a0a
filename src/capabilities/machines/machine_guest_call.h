/* machines/machine_guest_call.h - one call by a program of a machine (abi/callback.h).
 *
 * Threads: one evaluation's calls come one after the other. Private to the room. */
#pragma once
#include "base/base.h"

struct evaluation;

#define GUEST_CALLS_MAX 10000u /* of one command */

struct guest_calls {
    struct evaluation *v; /* whose rights they have */
    unsigned *count;      /* of the command so far */
};

/* Reads the request, makes the call and appends what cloche-guest prints. false and *e: its own
 * error, or ERR_INVALID, ERR_NOT_FOUND, ERR_DENIED (not for such programs), ERR_LIMIT. */
bool machine_guest_call(const struct guest_calls *g, struct str text, struct buf *answer,
                        struct err *e);
