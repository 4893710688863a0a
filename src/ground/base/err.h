/* base/err.h - errors, as a part of base/base.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Each code is a reaction, not a cause; err_kind() maps them to the outside. */
enum err_code {
    ERR_NONE = 0,
    ERR_INVALID,    /* the caller sent something malformed */
    ERR_NOT_FOUND,  /* what was named does not exist */
    ERR_CONFLICT,   /* it changed, or exists, under the caller's feet */
    ERR_DENIED,     /* policy says no */
    ERR_NO_VAULT,   /* no vault is open */
    ERR_BUSY,       /* try again later */
    ERR_CANCELLED,  /* the caller, or the server's end, stopped it */
    ERR_TIMEOUT,    /* a deadline passed */
    ERR_FUEL,       /* metered guest used its fuel up */
    ERR_MEMORY,     /* guest asked for more memory than it may have */
    ERR_STACK,      /* guest recursed too deeply */
    ERR_OUTPUT,     /* a result is larger than it may be */
    ERR_HOST_CALLS, /* guest made more host calls than it may */
    ERR_SYNTAX,     /* guest code does not parse */
    ERR_GUEST,      /* guest code failed by itself */
    ERR_HOST_CALL,  /* a host call failed, with nothing more exact to say */
    ERR_INPUT,      /* the client has to answer something first (client/client.h) */
    ERR_CAPABILITY, /* needs what the client did not declare that it can */
    ERR_LIMIT,      /* any other size, count or quota would be exceeded */
    ERR_IO,         /* the system refused: disk, descriptor, network */
    ERR_BUG,        /* our own mistake */
};

/* A row for each code: its names and numbers at the interfaces. */
struct err_kind {
    const char *name; /* "NotFound": errorDetails.type, and error.name in code */
    const char *code; /* "NOT_FOUND": errorDetails.code */
    int http;         /* status of REST and of refusals over HTTP */
    int jsonrpc;      /* code of a JSON-RPC error object */
    bool retry;       /* may the same call succeed later, unchanged? */
};

/* Never NULL; an unknown code reads as ERR_BUG. */
const struct err_kind *err_kind(enum err_code code);
/* The code whose name or code this is ("NotFound", "NOT_FOUND"), or ERR_NONE. */
enum err_code err_code_named(const char *name);

/* Why it failed, where whoever is told of it says or does more than of others with that code. */
enum err_cause {
    CAUSE_OTHER,
    CAUSE_SHAPE,         /* no object with options where one is due, or no text */
    CAUSE_UNGUARDED,     /* it has to say which version it means */
    CAUSE_STALE,         /* it means another version */
    CAUSE_TAKEN,         /* there is a note of that name */
    CAUSE_NO_SECTION,    /* the note has no section of that heading */
    CAUSE_QUERY,         /* no query that may be asked */
    CAUSE_NO_TOOL,       /* no command-line tool has such a name */
    CAUSE_NOT_INSTALLED, /* a part of the program; the message says how it is added */
    CAUSE_IMPORT,        /* code has no modules */
};

/* A failure, on the stack of the function that started the work. Never allocates. */
struct err {
    enum err_code code;
    enum err_cause cause;
    char msg[400]; /* English, one line, NUL-terminated, valid UTF-8 */
#ifndef NDEBUG
    struct err_place {
        const char *file; /* static */
        int line;
    } places[8]; /* of err_set, then of each err_wrap; further ones are not kept */
    unsigned place_count;
#endif
};

/* Records a failure and returns false. The first failure wins: a call on an
 * err that is already set changes nothing. `%m` works. */
bool err_set(struct err *e, enum err_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts "CONTEXT: " before the message of an err that is set; returns false. */
bool err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Gives an err that was just set its cause; returns false. */
static inline bool err_because(struct err *e, enum err_cause cause)
{
    e->cause = cause;
    return false;
}
/* Records another err as it is, with its cause and origin; returns false. */
static inline bool err_pass(struct err *e, const struct err *why)
{
    if (!e->code)
        *e = *why;
    return false;
}
/* Both always answer false; said so that the compiler sees it, too. */
static inline bool err_false(void)
{
    return false;
}
/* Builds for debugging keep where an error comes from; `e` is evaluated twice there.
 * ERR_ORIGIN: " [src/a/a.c:12, src/b/b.c:34]" to put behind the message in the log, until the
 * end of the block; "" in a release. err_log: "WHERE: MESSAGE [...]" at LOG_DEBUG, where an
 * error leaves the program. */
#ifdef NDEBUG
#define err_set(e, ...) (err_set((e), __VA_ARGS__), err_false())
#define err_wrap(e, ...) (err_wrap((e), __VA_ARGS__), err_false())
#define ERR_ORIGIN(e) ""
#define err_log(e, where) ((void)0)
#else
#define err_set(e, ...) \
    (err_at((e), false, __FILE__, __LINE__), err_set((e), __VA_ARGS__), err_false())
#define err_wrap(e, ...) \
    (err_at((e), true, __FILE__, __LINE__), err_wrap((e), __VA_ARGS__), err_false())
#define ERR_ORIGIN(e) err_origin((e), (char[400]){0}, 400)
void err_at(struct err *e, bool wraps, const char *file, int line);
const char *err_origin(const struct err *e, char *text, size_t size);
void err_log(const struct err *e, const char *where);
#endif

/* Ends the program with the place: for our own bugs only. Nothing from the
 * network, a guest, a disk or a user may reach a must() that fails. */
#define must(x) ((x) ? (void)0 : must_failed(#x, __FILE__, __LINE__))
_Noreturn void must_failed(const char *what, const char *file, int line);
