/* mcp/spent.h - which requestStates came back already: each is good for one request.
 *
 * An entry stays for as long as its state would be good. One principal has a quarter of
 * the places at most (share_fits), so that nobody pushes another's out: who has no place
 * left is refused until some of his are too old.
 * Threads: safe. Private to the room mcp.
 */
#pragma once
#include <pthread.h>

#include "base/base.h"

#define SPENT_MAX 16384u /* of all principals */
#define SPENT_ID 16u     /* bytes */

struct spent {
    pthread_mutex_t lock; /* guards what follows */
    struct spent_one *at;
    size_t count, capacity;
};

void spent_init(struct spent *s);
void spent_done(struct spent *s);
/* false and ERR_INVALID: it was spent; ERR_BUSY: the principal has spent too many. */
bool spent_take(struct spent *s, const unsigned char id[static SPENT_ID],
                const char *principal, int64_t now_ms, int64_t until_ms, struct err *e);
