/* actions/shorten.h - an answer that is too large, told in part.
 *
 * Threads: safe. Private to the room actions.
 */
#pragma once
#include "base/base.h"

/* Bytes of a plain action's answer. Hosts of agents cut what is larger where they like,
 * and read nothing of it then. */
#define ANSWER_SHOWN_MAX ((size_t)400000)

/* Appends the JSON value with its long strings cut and, where that is not enough, the
 * ends of its long arrays and objects left out, so that it has at most ANSWER_SHOWN_MAX
 * bytes: what is left has the type that it had, in its place. A string that was cut says
 * so at its end. false and ERR_OUTPUT: that does not do; ERR_LIMIT: no memory. */
bool shorten(struct str json, struct buf *out, struct err *e);
