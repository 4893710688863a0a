/* http/local.h - listening on a socket in the file system, for one account alone.
 *
 * Private to the room http. Source: unix(7).
 */
#pragma once
#include "base/base.h"

struct local {
    int dir; /* its folder; -1: there is no socket */
    bool bound;
    char path[108];
    const char *name; /* in its folder */
};

/* Binds `fd`, not bound yet, to `path`, an absolute one, mode 0600, and listens. The folder
 * must be this account's, and nobody else may write it. A socket that nobody listens on any
 * more, as a server leaves it that was killed, is replaced. false and *e: ERR_INVALID (no
 * such path), ERR_DENIED (the folder), ERR_CONFLICT (somebody listens there, or it is no
 * socket), ERR_IO. */
bool local_bind(struct local *l, int fd, const char *path, struct err *e);
/* Takes the socket away, once `fd` is closed; where another server listens by now, it
 * stays. */
void local_remove(struct local *l);
