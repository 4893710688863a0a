/* Admission of requests: is it from this machine, or whose token does it bring,
 * and is that one within its limits? */
#include <stdio.h>
#include <strings.h>

#include "access/oauth.h"
#include "caller/caller.h"

#define PER_SECOND 100u
#define RUNNING 128u
#define VERIFIERS_MAX 4u
#define CREDENTIAL_MAX JWT_MAX
#define TOLD_NS 1000000000u   /* between words about log-ins that failed */
#define EXPIRY_NS 5000000000u /* between looks for what has expired */

struct access {
    struct access_options o;
    struct store *store;
    struct oauth *oauth; /* NULL: there is none */
    struct limits *limits;
    struct failures *failures;
    struct verifier verifiers[VERIFIERS_MAX];
    size_t count;
    uint64_t seed[2]; /* nobody chooses with whom he shares */
    atomic_uint_least64_t told_ns;
    uint64_t asked_ns; /* of the thread that asks access_changed() */
};

/* The admission of a request; read as its grant by all but this file. */
struct admission {
    struct bearer bearer; /* the grant is its beginning */
    const struct verifier *verifier;
    struct access *access;
    atomic_uint holders; /* its request, and what goes on behind that */
};
_Static_assert(offsetof(struct admission, bearer.grant) == 0, "what http_admitted() is");

/* ---- refusing ----------------------------------------------------------- */

/* At /mcp as JSON-RPC, without an id: the body was not read. */
static bool admission_refuse(const struct http_request *rq, struct http_response *rs,
                             int status, enum err_code code, const char *why)
{
    http_refuse(rq, rs, status, "%s", why);
    if (!str_starts(http_path(rq), "/mcp"))
        return false;
    buf_clear(&rs->body);
    rs->type = "application/json";
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, "jsonrpc", "2.0");
    json_key(&w, "error");
    json_open_object(&w);
    json_pair_int(&w, "code", err_kind(code)->jsonrpc);
    json_pair_cstr(&w, "message", why);
    json_close(&w);
    json_close(&w);
    return false;
}

static bool refuse_for_now(const struct http_request *rq, struct http_response *rs,
                           unsigned wait_s, const char *what)
{
    char text[12], why[160];
    (void)snprintf(text, sizeof text, "%u", wait_s);
    (void)snprintf(why, sizeof why, "%s; nothing was done, try again in %u s", what,
                   wait_s);
    (void)http_set_header(rs, "Retry-After", text);
    return admission_refuse(rq, rs, 429, ERR_BUSY, why);
}

/* For the first of an address, and not more than one a second: who has no token fills no
 * disk. */
static void tell_failure(struct access *a, const char *peer, const char *why,
                         uint64_t now_ns)
{
    char caller[CALLER_NAME];
    uint64_t before = atomic_load(&a->told_ns);
    if (now_ns - before < TOLD_NS ||
        !atomic_compare_exchange_strong(&a->told_ns, &before, now_ns))
        return;
    caller_http_name(caller, NULL, peer);
    log_line(LOG_WARN, "%s was refused: %s", caller, why);
    if (a->o.refused)
        a->o.refused(a->o.arg, caller, why);
}

/* Names the issuer to ask for a token, where there is one. */
static void challenge_put(const struct access *a, const char *error,
                          struct http_response *rs)
{
    char text[CHALLENGE_MAX] = "Bearer";
    if (a->oauth)
        oauth_challenge(a->oauth, error, text);
    else if (error)
        (void)snprintf(text, sizeof text, "Bearer error=\"%s\"", error);
    (void)http_set_header(rs, "WWW-Authenticate", text);
}

static bool refuse_unsure(const struct http_request *rq, struct http_response *rs)
{
    (void)http_set_header(rs, "Retry-After", "2");
    return admission_refuse(
        rq, rs, 503, ERR_BUSY,
        "the keys of the token's issuer are not known yet; nothing was done, try "
        "again in 2 s");
}

static bool refuse_powerless(const struct access *a, const struct http_request *rq,
                             struct http_response *rs)
{
    challenge_put(a, "insufficient_scope", rs);
    return admission_refuse(
        rq, rs, 403, ERR_DENIED,
        "the token has none of the scopes read, write, evaluate and audit; "
        "nothing was done");
}

static bool refuse_token(struct access *a, struct http_request *rq,
                         struct http_response *rs, enum verdict verdict)
{
    const char *why = verdict == VERDICT_EXPIRED
                          ? "the token has expired; get another from its issuer, or "
                            "create one with: cloche token create NAME"
                          : "the token is not, or no longer, one of this server's";
    bool first;
    uint64_t now_ns = os_mono_ns();
    unsigned wait_s = failures_add(a->failures, http_peer(rq), now_ns, &first);
    if (first)
        tell_failure(a, http_peer(rq), why, now_ns);
    /* A guesser has no expired token; and clients renew theirs at 401 only. */
    if (wait_s && verdict != VERDICT_EXPIRED)
        return refuse_for_now(rq, rs, wait_s, "too many wrong tokens from this address");
    challenge_put(a, "invalid_token", rs);
    return admission_refuse(rq, rs, 401, ERR_DENIED, why);
}

/* Why this one needs a token, though it comes from this machine. */
static const char *why_needed(enum http_whence whence)
{
    switch (whence) {
    case HTTP_OTHER_ACCOUNT:
        return ", since this comes from another account of this computer than the "
               "server's";
    case HTTP_UNKNOWN_ACCOUNT:
        return ", because the system does not report which account of this computer "
               "opened the connection";
    default:
        return "";
    }
}

static bool refuse_nobody(const struct access *a, struct http_request *rq,
                          struct http_response *rs)
{
    char why[320];
    (void)snprintf(
        why, sizeof why,
        "a token is needed%s: Authorization: Bearer TOKEN, or X-API-Key: TOKEN; a "
        "person makes one with: cloche token create NAME",
        a->o.required ? "" : why_needed(http_whence(rq)));
    challenge_put(a, NULL, rs);
    return admission_refuse(rq, rs, 401, ERR_DENIED, why);
}

static bool refuse_verdict(struct access *a, struct http_request *rq,
                           struct http_response *rs, enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_LATER:
        return refuse_unsure(rq, rs);
    case VERDICT_POWERLESS:
        return refuse_powerless(a, rq, rs);
    default:
        return refuse_token(a, rq, rs, verdict);
    }
}

/* ---- what was brought --------------------------------------------------- */

enum brought { BROUGHT_NOTHING, BROUGHT_TOKEN, BROUGHT_NONSENSE };

static enum brought read_credential(const struct http_request *rq, struct str *out)
{
    struct str bearer = http_header(rq, "Authorization"),
               key = http_header(rq, "X-API-Key");
    size_t n =
        http_header_count(rq, "Authorization") + http_header_count(rq, "X-API-Key");
    *out = key;
    if (n == 0)
        return BROUGHT_NOTHING;
    if (n > 1)
        return BROUGHT_NONSENSE;
    /* A scheme that nobody here knows is a credential that nobody here can check. */
    if (bearer.at)
        *out = bearer.n > 7 && strncasecmp(bearer.at, "Bearer ", 7) == 0
                   ? str_trim((struct str){bearer.at + 7, bearer.n - 7})
                   : STR("");
    return BROUGHT_TOKEN;
}

static enum verdict credential_verify(struct access *a, struct str credential,
                                      struct admission *out)
{
    int64_t now_ms = os_real_ms();
    if (credential.n > CREDENTIAL_MAX)
        return VERDICT_BAD;
    for (size_t i = 0; i < a->count; i++) {
        const struct verifier *v = &a->verifiers[i];
        enum verdict verdict = v->verify(v->arg, credential, now_ms, &out->bearer);
        out->verifier = v;
        if (verdict != VERDICT_FOREIGN)
            return verdict;
    }
    return VERDICT_BAD;
}

static void let_go(const struct bearer *b)
{
    if (b->let_go)
        b->let_go(b->held);
}

static void grant_hold(const struct grant *g)
{
    struct admission *x = (struct admission *)(uintptr_t)g;
    atomic_fetch_add_explicit(&x->holders, 1, memory_order_relaxed);
}

static void let_go_of(const struct grant *g)
{
    struct admission *x = (struct admission *)(uintptr_t)g;
    if (atomic_fetch_sub_explicit(&x->holders, 1, memory_order_acq_rel) != 1)
        return;
    let_go(&x->bearer);
    free(x);
}

static bool grant_spend(const struct grant *g, unsigned more)
{
    const struct admission *x = (const struct admission *)(uintptr_t)g;
    return limits_spend(x->access->limits, g->principal, os_mono_ns(), more);
}

/* Has its bearer had his share? */
static bool admission_count(struct access *a, struct http_request *rq,
                            struct http_response *rs, const struct admission *new)
{
    bool first = false;
    unsigned wait_s;
    const char *why;
    if (!limits_begin(a->limits, new->bearer.grant.principal, os_mono_ns(), &first,
                      &wait_s, &why))
        return refuse_for_now(rq, rs, wait_s, why);
    if (first && new->verifier->used)
        new->verifier->used(new->verifier->arg, &new->bearer, os_real_ms());
    return true;
}

/* On one of the person's paths, or below it? */
static bool is_persons(const struct access *a, const struct http_request *rq)
{
    struct str path = http_path(rq);
    if (a->o.persons_paths && str_is(path, "/"))
        return true;
    for (const char *const *p = a->o.persons_paths; p && *p; p++) {
        struct str one = str_of(*p);
        one.n -= str_ends(one, "/");
        if (path.n >= one.n && !memcmp(path.at, one.at, one.n) &&
            (path.n == one.n || path.at[one.n] == '/'))
            return true;
    }
    return false;
}

static bool is_public(const struct access *a, const struct http_request *rq)
{
    return (a->oauth && oauth_is_public(rq)) ||
           (a->o.public_path && str_is(http_path(rq), a->o.public_path));
}

bool access_admit(void *access, struct http_request *rq, struct http_response *rs,
                  void **left)
{
    struct access *a = access;
    struct str credential;
    if (is_public(a, rq))
        return true;
    /* It asks for other credentials, and looks at no token. */
    if (is_persons(a, rq) && http_is_local(rq))
        return true;
    /* It would stand in logs and histories by now; nobody shall get used to that. */
    if (http_query(rq, "access_token").at)
        return admission_refuse(
            rq, rs, 400, ERR_INVALID,
            "a token does not belong in a URL, where others see it; send it as "
            "Authorization: Bearer TOKEN, and revoke this one");
    switch (read_credential(rq, &credential)) {
    case BROUGHT_NONSENSE:
        return admission_refuse(
            rq, rs, 400, ERR_INVALID,
            "one token is accepted, in Authorization or in X-API-Key");
    case BROUGHT_NOTHING:
        return (!a->o.required && http_is_local(rq)) || refuse_nobody(a, rq, rs);
    case BROUGHT_TOKEN:
        break;
    }
    struct admission new = {0};
    enum verdict verdict = credential_verify(a, credential, &new);
    if (verdict != VERDICT_GOOD) {
        let_go(&new.bearer);
        return refuse_verdict(a, rq, rs, verdict);
    }
    if (!admission_count(a, rq, rs, &new)) {
        let_go(&new.bearer);
        return false;
    }
    struct admission *kept = mem_new(sizeof *kept);
    *kept = new;
    kept->bearer.grant.hold = grant_hold;
    kept->bearer.grant.let_go = let_go_of;
    kept->bearer.grant.spend = grant_spend;
    kept->access = a;
    atomic_init(&kept->holders, 1);
    *left = kept;
    return true;
}

uint64_t access_share(void *access, const void *left)
{
    const struct access *a = access;
    const struct grant *g = left;
    uint64_t share = hash_keyed(a->seed, str_of(g->principal));
    return share ? share : 1;
}

void access_release(void *access, void *left)
{
    struct access *a = access;
    struct admission *x = left;
    limits_end(a->limits, x->bearer.grant.principal);
    let_go_of(&x->bearer.grant);
}

bool access_changed(struct access *a)
{
    uint64_t now_ns = os_mono_ns();
    bool news = now_ns - a->asked_ns >= EXPIRY_NS;
    if (news)
        a->asked_ns = now_ns;
    for (size_t i = 0; i < a->count; i++)
        if (a->verifiers[i].changed && a->verifiers[i].changed(a->verifiers[i].arg))
            news = true;
    return news;
}

bool access_stands(void *access, const void *left)
{
    (void)access;
    const struct admission *x = left;
    const struct bearer *b = x ? &x->bearer : NULL;
    return !x || ((!b->expires_ms || b->expires_ms > os_real_ms()) &&
                  x->verifier->stands(x->verifier->arg, b));
}

/* ---- the documents of OAuth --------------------------------------------- */

static bool admit_send_metadata(void *arg, struct http_request *rq,
                                struct http_response *rs, void **work)
{
    const struct access *a = arg;
    (void)work;
    oauth_tell(a->oauth, rq, rs);
    return true;
}

size_t access_routes(struct access *a, struct http_route out[static ACCESS_ROUTES])
{
    static const char *const paths[ACCESS_ROUTES] = {OAUTH_METADATA,
                                                     OAUTH_METADATA "/mcp"};
    if (!a->oauth)
        return 0;
    for (size_t i = 0; i < ACCESS_ROUTES; i++)
        out[i] = (struct http_route){
            .path = paths[i], .arg = a, .head = true, .begin = admit_send_metadata};
    return ACCESS_ROUTES;
}

void access_listens(struct access *a, const char *url)
{
    if (a->oauth && !a->o.oauth.public_url)
        oauth_reached_at(a->oauth, url);
}

/* ---- opening ------------------------------------------------------------ */

struct access *access_open(const struct access_options *o, struct err *e)
{
    struct oauth *oauth = o->oauth.issuer ? oauth_open(&o->oauth, e) : NULL;
    if (o->oauth.issuer && !oauth)
        return NULL;
    struct access *a = mem_new(sizeof *a);
    a->o = *o;
    a->store = store_open();
    os_random(a->seed, sizeof a->seed);
    a->limits = limits_new(o->per_second ? o->per_second : PER_SECOND,
                           o->running ? o->running : RUNNING);
    a->failures = failures_new();
    a->oauth = oauth;
    a->verifiers[a->count++] = store_verifier(a->store);
    if (oauth)
        a->verifiers[a->count++] = oauth_verifier(oauth);
    return a;
}

void access_close(struct access *a)
{
    if (!a)
        return;
    oauth_close(a->oauth);
    failures_free(a->failures);
    limits_free(a->limits);
    store_close(a->store);
    free(a);
}
