/* vm/init/shell.h - the shells of sessions: processes of bash that take orders (order.h).
 *
 * The first one runs no command. It is started at boot, before a machine's image is baked,
 * and each further shell is a fork of it.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/vm.h"
#include "vm/init/leaf.h"
#include "vm/init/order.h"
#include "vm/init/source.h"

struct exec;

struct session {
    struct source socket;
    enum { SHELL_NONE, SHELL_ASKED, SHELL_READY } state;
    bool used, closed;    /* it takes no more commands, and its number may be reused */
    uint32_t number;      /* 0: of a single exec without a session */
    pid_t pid;            /* while it is READY */
    uint64_t nonce;       /* of the current order */
    uint64_t cpu_ns;      /* as last reported */
    unsigned tries;       /* to start a shell */
    struct leaf *leaf;    /* of its current or last shell; may be NULL */
    bool forked;          /* its last command started processes, which may still run */
    struct exec *running; /* the command it runs, or will run first */
};

struct shell_events {
    void (*ready)(struct session *s);
    void (*failed)(struct session *s, const char *why); /* no shell can be started */
    void (*replied)(struct session *s, const struct reply *r);
    /* The process has ended; `status` as of wait(), `cpu_ns` in all. state is NONE again. */
    void (*ended)(struct session *s, int status, uint64_t cpu_ns);
};

/* `library` is the path of session.so. */
void shells_open(const char *library, const struct shell_events *events);

/* The session of that number, created if needed; 0: a new one. NULL: there are too
 * many. */
struct session *session_of(uint32_t number);
/* Closes the session of that number (0: all), except for its running command. */
void session_close(uint32_t number);
void session_free(struct session *s); /* its state is NONE */

/* Starts a shell: ready() or failed() is called, but not before this returns. */
void shell_ask(struct session *s);
/* false: it takes no orders any more. Sets the nonce; `text` is that of an order without
 * a file. */
bool shell_order(struct session *s, struct order *o, const char *rest, const char *text,
                 const int *fds, size_t count);

/* A child has ended. false: it was no shell. */
bool shell_reaped(pid_t pid, int status, uint64_t cpu_ns);
