/* actions/streams.h - what a command printed, as answers tell it: text as it is, other
 * bytes as base64, and what is not there counted.
 *
 * {"stdout": "...", "stdoutEncoding": "base64"?, "truncated": {"stdout": bytes that are
 * left out, "stdoutAt": behind how many}?}, and the same for stderr. Text says it in its
 * place, too.
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "base/base.h"
#include "json/json.h"

#define STREAMS 2u
struct stream {
    struct str bytes; /* what is there: the first part and the last */
    uint64_t lost;    /* bytes between them */
    size_t gap;       /* bytes of the first part */
};
/* The members of an open object: stdout and stderr, in that order. */
void streams_put(const struct stream s[static STREAMS], struct json_writer *w);
/* "truncated", where something is left out. */
void streams_put_truncated(const struct stream s[static STREAMS], struct json_writer *w);

/* Appends the object with more of its streams left out, so that it has at most `most`
 * bytes. false and ERR_OUTPUT: its other members are too large for that. */
bool streams_shorten(struct str json, size_t most, struct buf *out, struct err *e);
