/* nearby/nearby.h - requests between processes of one user: some listen at a socket in the user's
 * state folder, others ask all that do. Both ends check that the other's account is their own.
 */
#pragma once
#include "base/base.h"

#define NEARBY_REQUEST_MAX ((size_t)4096) /* bytes */
#define NEARBY_ANSWER_MAX ((size_t)1 << 20)

/* Appends its answer; called on a thread of the listener's, one at a time. */
typedef void nearby_answer_fn(void *arg, struct str request, struct buf *answer);
struct nearby;
/* `topic`: letters. NULL and ERR_BUSY or ERR_IO: nothing listens. */
struct nearby *nearby_listen(const char *topic, nearby_answer_fn *answer, void *arg,
                             struct err *e);
void nearby_close(struct nearby *n); /* waits for an answer under way; NULL is fine */

/* What a process answered, borrowed for the call. false: no others are asked. */
typedef bool nearby_each_fn(void *arg, struct str answer);
/* Asks each process that listens for this topic, in no order. Those that do not answer within 10 s
 * are passed over. false and ERR_LIMIT or ERR_IO: none could be asked. */
bool nearby_ask(const char *topic, struct str request, nearby_each_fn *each, void *arg,
                struct err *e);
