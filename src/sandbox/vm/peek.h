/* vm/peek.h - the server that the first bytes of a connection name by TLS's server name (RFC 6066).
 * HTTP: follow.h. Private to the room vm. Threads: safe. */
#pragma once
#include "base/base.h"

#define PEEK_MAX ((size_t)16 << 10) /* bytes that are looked at */
#define PEEK_NAME 256u

enum peek {
    PEEK_MORE, /* is needed */
    PEEK_FOUND,
    PEEK_NOTHING, /* it is something else, or names no server, or two */
};
/* `bytes` are all so far, PEEK_MAX at most. The name has no port, and any bytes but NUL. */
enum peek peek_tls(struct str bytes, char name[static PEEK_NAME]);
/* A name of n bytes, if it can be one. */
enum peek peek_take(const char *at, size_t n, char name[static PEEK_NAME]);
