/* access/access.h - who may come in over HTTP: tokens, what they grant, and how much of
 * the server one caller may have at a time.
 *
 * A person makes a token, at the terminal or on the page, and sees it once; its hash is kept in
 * tokens.json in the user's configuration folder. A running server looks at that file
 * at every request: a token that was revoked is refused from the next one on, and what it
 * still has open is ended by who asks access_stands(). A file that cannot be believed
 * lets nobody in. Besides, tokens of an OAuth issuer are taken where one was named.
 * Source: RFC 6750 (bearer tokens), RFC 9110 (401, 403, 429); RFC 9068 and 9728 (OAuth).
 */
#pragma once
#include "base/base.h"
#include "caller/caller.h"
#include "http/http.h"
#include "json/json.h"

/* ---- tokens: a person makes them ---------------------------------------- */

#define TOKEN_NAME_MAX 40u /* bytes: letters, digits, '.', '_', '-' */
#define TOKEN_TEXT 64u     /* "cloche_", 12 digits, "_", 43 characters, and a NUL */
#define TOKENS_MAX 1000u   /* that can be used; and ten times as many names */
#define TOKEN_VAULTS_MAX 100u

struct token_wish {
    const char *name; /* no other token has, or had, this name */
    enum level level;
    unsigned scopes; /* of SCOPE_*, at least one */
    struct policy_names vaults;
    int64_t expires_ms; /* since 1970; 0: never */
};
/* Makes one and writes it down; `text` is told this once. ERR_INVALID, ERR_CONFLICT (the
 * name was used already: what the audit says of it stays true), ERR_LIMIT, ERR_IO. Safe
 * between processes, as the others here are. */
bool token_create(const struct token_wish *w, char text[static TOKEN_TEXT],
                  struct err *e);
/* By name or id; whoever uses it is refused from now on. ERR_NOT_FOUND: none that could
 * be used has that name. `name` receives its name. */
bool token_revoke(const char *which, char name[static TOKEN_NAME_MAX + 1], struct err *e);
/* [{"id", "name", "level", "scopes", "vaults": [] | null, "created", "expires",
 * "revoked", "last_used"}]; times are null where there is none; never a hash. */
bool tokens_list(struct json_writer *out, struct err *e);

/* "30d", "12h", "90m" from now, at most 3650d, or "never", which is 0; ms since 1970. false
 * and ERR_INVALID. */
bool expiry_read(const char *text, int64_t *out_ms, struct err *e);
/* "read,write"; false and ERR_INVALID says which there are. */
bool scopes_read(const char *text, unsigned *out, struct err *e);

/* ---- a server's door ---------------------------------------------------- */

/* An OAuth 2.1 issuer whose tokens (JWT) are good here, too; all borrowed until
 * access_close(). */
struct access_oauth {
    const char *issuer;         /* its URL; NULL: there is none, and no OAuth at all */
    const char *public_url;     /* ours, to clients; NULL: as access_listens() says */
    struct policy_names vaults; /* of tokens that name none */
};

/* Zero means the value in brackets. */
struct access_options {
    bool required; /* a token is asked for on loopback, too */
    /* Requests of one token, on average; twice as many may come at once [100]. */
    unsigned per_second;
    unsigned running; /* requests and streams of one token at a time [128] */
    /* Is told of wrong tokens: of an address at first, and one a second at most, on a
     * connection's thread, so it must not wait. NULL: nobody is. */
    void (*refused)(void *arg, const char *caller, const char *why);
    void *arg; /* of refused() */
    /* Paths (and all below, and "/") where a person comes in by other means: no token is
     * asked for there of this machine, and none is looked at. Ends with NULL, or NULL: there
     * is none; static. A slash at the end is fine. */
    const char *const *persons_paths;
    /* A path where no token is asked for of anybody; NULL: there is none; a literal. */
    const char *public_path;
    struct access_oauth oauth;
};

struct access;
/* NULL and ERR_INVALID: the issuer or the public URL is none. An issuer that does not
 * answer yet, and what is wrong with tokens.json, show at the requests; where there is no
 * configuration folder, or one that others may write to, no token of ours lets anybody
 * in. */
struct access *access_open(const struct access_options *o, struct err *e);
void access_close(struct access *a); /* NULL is fine; nothing may be admitted any more */
SCOPED(access, access_close);

/* Where the server listens, as http_url(), before anybody is told; once. */
void access_listens(struct access *a, const char *url);
#define ACCESS_ROUTES 2u
/* The documents of OAuth: how many routes there are, 0 or ACCESS_ROUTES. */
size_t access_routes(struct access *a, struct http_route out[static ACCESS_ROUTES]);

/* Admits requests (http_options.admit). true: it leaves the
 * `const struct grant *` of its caller, or NULL for the person of this machine, who came
 * from this machine without a token. false: `rs` says why, with 400 (several tokens, or
 * one in the URL), 401, 403 (a token without any scope), 429 or 503 (the issuer's keys are
 * not known yet). On a connection's thread, and quick. */
bool access_admit(void *access, struct http_request *rq, struct http_response *rs,
                  void **left);
/* The same number for all requests of one principal, and hardly ever for another's. */
uint64_t access_share(void *access, const void *left);
/* The request, or its stream, is over. */
void access_release(void *access, void *left);
/* To be asked every second or so: may somebody have lost what he came in with? Then
 * http_expel() with access_stands() ends what he has open. */
bool access_changed(struct access *a);
/* http_options.stays: would what was left still be let in, as of the last
 * access_changed()? */
bool access_stands(void *access, const void *left);
