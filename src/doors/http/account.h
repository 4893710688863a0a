/* http/account.h - whose account of this computer a connection comes from.
 *
 * The kernel is asked: over TCP on loopback by sock_diag(7) for the peer's own socket, of a
 * socket in the file system by SO_PEERCRED. Where it does not tell for sure, it is
 * unknown. Private to the room http.
 */
#pragma once
#include <pthread.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/base.h"

enum account {
    ACCOUNT_UNKNOWN, /* the system does not tell */
    ACCOUNT_OWN,     /* this process's, or root's, who could be it */
    ACCOUNT_OTHER,
};

struct accounts {
    int fd; /* a netlink socket; -1: there is none */
    pthread_mutex_t lock;
    uint32_t serial;
    uid_t own;
    bool has_overflow; /* in a user namespace: accounts of others read as `overflow` */
    uid_t overflow;
};

/* Never fails: without a netlink socket all TCP peers are unknown. */
void accounts_init(struct accounts *a);
void accounts_done(struct accounts *a);

/* The account of the peer of `fd`, an accepted TCP connection whose both ends are on this
 * machine. Waits for nothing: one question and its answer, some microseconds. A peer that
 * has closed its socket by now is unknown. Threads: safe. */
enum account account_of_tcp(struct accounts *a, int fd);
/* The account of the peer of `fd`, accepted from a socket in the file system. */
enum account account_of_unix(const struct accounts *a, int fd);

/* Does it work here? A connection to ourselves is made and asked of. false: *e why. */
bool accounts_work(struct accounts *a, struct err *e);
