/* caller/caller.h - the caller of a call: its trust level, and what its credential grants.
 *
 * Made by the transport or the command line, read by everything that works on the call.
 * Knows neither policies nor credentials.
 * Threads: safe; nothing in a caller changes while its call runs, but `*vault`.
 */
#pragma once
#include "base/base.h"
#include "client/client.h"
#include "json/json.h"

/* How far a caller is trusted, least last: a ceiling over limits and calls.
 *   full     30 s, 256 MB, everything
 *   limited  10 s, 64 MB, notes.get, list, create, update, utils and api
 *   zero     2 s, 32 MB, notes.get, notes.list, utils and api
 * The limits are those of a policy that says nothing else. */
enum level { LEVEL_FULL, LEVEL_LIMITED, LEVEL_ZERO };
#define LEVELS 3
const char *level_name(enum level level);
/* false: no level of that name. */
bool level_named(const char *name, enum level *out);
/* The one that is trusted less. */
enum level level_lower(enum level a, enum level b);

/* `given` is false where no list was given at all, which is not an empty list. */
struct policy_names {
    const char *const *at;
    size_t n;
    bool given;
};
bool policy_names_have(const struct policy_names *list, const char *name);

/* ---- credentials -------------------------------------------------------- */

#define SCOPE_READ 1u     /* read notes */
#define SCOPE_WRITE 2u    /* change them */
#define SCOPE_EVALUATE 4u /* run code */
#define SCOPE_AUDIT 8u    /* read what was done, by everyone, in its vaults */
#define SCOPE_ALL 15u
const char *scope_name(unsigned scope); /* of one: "read" */
unsigned scope_named(struct str name);  /* 0: there is none */

/* The grant of a credential, at most; the policy may narrow it. */
#define PRINCIPAL_MAX 52u /* bytes */
struct grant {
    /* "token ci": the same for all calls with this credential, and of no other one,
     * ever: sessions, results and the like belong to it. */
    const char *principal;
    enum level level;
    unsigned scopes;            /* of SCOPE_* */
    struct policy_names vaults; /* ids of those that it may reach; not given: all */
    /* Where a client learns how to get a better one, for WWW-Authenticate; NULL: nowhere
     * (RFC 9728). */
    const char *metadata_url;
    /* References, for what outlives the request that brought it: hold() as often as
     * let_go(), from any thread. NULL: it outlives all calls. */
    void (*hold)(const struct grant *g);
    void (*let_go)(const struct grant *g);
    /* Counts `more` requests that came in one; false: its limit is reached. NULL: there is
     * no limit. */
    bool (*spend)(const struct grant *g, unsigned more);
};
/* NULL: the person of this machine, who may reach all. */
bool grant_reaches(const struct grant *g, const char *vault_id);
/* The challenge for missing scopes (RFC 6750, section 3.1), the value
 * of WWW-Authenticate, with its NUL. */
#define CHALLENGE_MAX 600u
void grant_challenge(const struct grant *g, unsigned needed,
                     char out[static CHALLENGE_MAX]);

/* ---- clients ------------------------------------------------------------ */

/* The program that a call came from, as it names itself. That is unverified: it is shown to
 * people, and grants nothing. */
#define CLIENT_NAME_MAX 64u /* characters */
#define CLIENT_VERSION_MAX 32u
struct client_claim {
    char name[4 * CLIENT_NAME_MAX + 1]; /* "": it names none */
    char version[4 * CLIENT_VERSION_MAX + 1];
};
/* Cut, and without what str_is_unseen(); what is no UTF-8 reads as empty. */
void client_claim_read(struct client_claim *c, struct str name, struct str version);
/* The same of a User-Agent: its first product, "curl/8.5". */
void client_claim_agent(struct client_claim *c, struct str agent);
/* The member "client": {"name", "version", "claimed": true}; none where none is named.
 * NULL is fine. */
void client_claim_put(const struct client_claim *c, struct json_writer *w);

/* ---- callers ------------------------------------------------------------ */

/* Where a call belongs among others, as its client says (W3C Trace Context, Baggage);
 * checked, and empty where it says nothing. */
struct trace {
    struct str parent, state, baggage;
};

struct caller {
    const char *name; /* for the audit: "stdio", "http 127.0.0.1", "terminal" */
    enum level level;
    const struct grant *grant;   /* NULL: the person whose machine this is */
    const struct client *client; /* for progress and questions; NULL: none */
    struct cancel *cancel;       /* NULL: cannot be cancelled */
    const char *session; /* of the client, where the transport has one; else NULL */
    /* The vault that it works in, kept between its calls: 0 at first, written by
     * vaults.switch. NULL: a switch holds for the one call. */
    unsigned *vault;
    const struct trace *trace;        /* for the audit; NULL: none */
    const struct client_claim *claim; /* the program that it claims to be; NULL: none */
    struct evaluation *within; /* the script that this is a part of; actions sets it */
    bool is_program; /* a person's program that asks by itself (REST), and no agent */
};

/* The name of a caller over HTTP: "http token ci", or "http 127.0.0.1". */
#define CALLER_NAME 64u
void caller_http_name(char out[static CALLER_NAME], const struct grant *g,
                      const char *peer);

/* The transports, each with a level of its own in the policy: the first word of a
 * caller's name; all other names are WAY_OTHER, which no policy lowers. */
enum way { WAY_STDIO, WAY_HTTP, WAY_TERMINAL, WAY_OTHER };
enum way caller_way(const struct caller *who);

#define CALLER_PAGE "page"
/* Is it a person, at the terminal or on the page of a server? A person is asked nothing. */
bool caller_is_person(const struct caller *who);

/* The principal among which shared resources are divided: the credential's
 * principal, or "" for the person of this machine. */
const char *caller_principal(const struct caller *who);

/* Does its credential allow this? `scope` is one of SCOPE_*, `what` is named in the
 * message ("evaluate_note_code"). false and ERR_DENIED. */
bool caller_may(const struct caller *who, unsigned scope, const char *what,
                struct err *e);
