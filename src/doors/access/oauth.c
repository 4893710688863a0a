/* The verifier of tokens that somebody else issued, and what we say of ourselves.
 *
 * A request never waits for the issuer. A thread of its own fetches the keys: at the
 * start, every ten minutes, after failures soon again, and when a token names a key that
 * nobody has heard of, which anybody can do, so once a minute. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "access/oauth.h"
#include "os/os.h"

#define PUBLIC_URL_MAX 380u      /* bytes, so that a challenge holds it */
#define REFRESH_NS 600000000000u /* between fetches that succeed */
#define RETRY_NS 1000000000u     /* after the first that failed; then twice as long */
#define RETRY_MOST_NS 60000000000u
#define ASKED_NS 60000000000u /* between fetches for keys that are unknown */
#define PASSES 1024u          /* tokens that are known by their hash */
#define PASS_MEMORY ((size_t)64 * 1024)
#define SCOPES "read write evaluate" /* what a client shall ask for, to begin with */

/* A verified token and its grant. */
struct pass {
    atomic_uint holders;
    struct arena *arena; /* holds the names of the vaults */
    char hash[CRYPTO_HASH_HEX], principal[PRINCIPAL_MAX];
    struct grant grant;
    int64_t expires_ms;
    struct jwks_mark mark; /* of the key that signed it */
};

struct oauth {
    struct access_oauth o;
    char *base, *resource, *metadata_url; /* set once, before `reached` */
    atomic_bool reached;
    struct cancel stop; /* of a fetch */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t wake;
    struct jwks *keys; /* NULL: none were fetched yet */
    struct pass *passes[PASSES];
    uint64_t asked_ns; /* when an unknown key was asked for; 0: never */
    bool stopping, fetching, wanted, failing, news;
};

/* ---- passes ------------------------------------------------------------- */

static void pass_release(void *held)
{
    struct pass *p = held;
    if (!p || atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) != 1)
        return;
    arena_free(p->arena);
    free(p);
}

static void pass_release_at(struct pass **p)
{
    pass_release(*p);
}

static struct pass *pass_hold(struct pass *p)
{
    atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return p;
}

static bool copy_names(struct arena *a, const struct policy_names *from,
                       struct policy_names *to, struct err *e)
{
    const char **names = arena_get(a, (from->n + 1) * sizeof *names, e);
    for (size_t i = 0; names && i < from->n; i++)
        if (!(names[i] = arena_copy(a, from->at[i], strlen(from->at[i]), e)))
            return false;
    *to = (struct policy_names){.at = names, .n = from->n, .given = from->given};
    return names != NULL;
}

static struct pass *pass_new(const struct oauth *o, const char *hash,
                             const struct jwt_claims *c, struct err *e)
{
    __attribute__((cleanup(pass_release_at))) struct pass *p = mem_new(sizeof *p);
    atomic_init(&p->holders, 1);
    p->arena = arena_new(PASS_MEMORY);
    memcpy(p->hash, hash, sizeof p->hash);
    memcpy(p->principal, c->principal, sizeof p->principal);
    p->expires_ms = c->expires_ms;
    p->grant = (struct grant){.principal = p->principal,
                              .level = c->level,
                              .scopes = c->scopes,
                              .metadata_url = o->metadata_url};
    return copy_names(p->arena, &c->vaults, &p->grant.vaults, e) ? take(p) : NULL;
}

static struct pass **pass_place(struct oauth *o, const char *hash)
{
    return &o->passes[hash_fnv(HASH_FNV, (struct str){hash, CRYPTO_HASH_HEX - 1}) %
                      PASSES];
}

static struct pass *pass_find(struct oauth *o, const char *hash)
{
    pthread_mutex_lock(&o->lock);
    struct pass *p = *pass_place(o, hash);
    p = p && !strcmp(p->hash, hash) ? pass_hold(p) : NULL;
    pthread_mutex_unlock(&o->lock);
    return p;
}

/* Unless its key has been withdrawn meanwhile. */
static void pass_keep(struct oauth *o, struct pass *p)
{
    pthread_mutex_lock(&o->lock);
    struct pass **place = pass_place(o, p->hash);
    if (jwks_has(o->keys, &p->mark)) {
        pass_release(*place);
        *place = pass_hold(p);
    }
    pthread_mutex_unlock(&o->lock);
}

/* ---- the issuer's keys -------------------------------------------------- */

static struct jwks *keys_hold(struct oauth *o)
{
    pthread_mutex_lock(&o->lock);
    struct jwks *keys = jwks_hold(o->keys);
    pthread_mutex_unlock(&o->lock);
    return keys;
}

/* The verdict on a token whose key is not known: it may be, after the next fetch. */
static enum verdict ask_for_keys(struct oauth *o)
{
    uint64_t now_ns = os_mono_ns();
    pthread_mutex_lock(&o->lock);
    bool soon = !o->keys || o->fetching || o->wanted || o->failing;
    if (!soon && (!o->asked_ns || now_ns - o->asked_ns >= ASKED_NS)) {
        o->asked_ns = now_ns;
        o->wanted = soon = true;
        pthread_cond_signal(&o->wake);
    }
    pthread_mutex_unlock(&o->lock);
    return soon ? VERDICT_LATER : VERDICT_BAD;
}

/* Called with the lock. Tokens of keys that are not there any more are forgotten. */
static void take_keys(struct oauth *o, struct jwks *keys)
{
    jwks_release(o->keys);
    o->keys = keys;
    o->news = true;
    for (size_t i = 0; i < PASSES; i++) {
        if (!o->passes[i] || jwks_has(keys, &o->passes[i]->mark))
            continue;
        pass_release(o->passes[i]);
        o->passes[i] = NULL;
    }
}

/* Once; says so where that changes anything. */
static bool keys_refresh(struct oauth *o)
{
    struct err why = {0};
    struct jwks *keys = issuer_fetch(o->o.issuer, &o->stop, &why);
    if (keys && !jwks_count(keys)) {
        err_set(&why, ERR_INVALID, "it has no key that can be used");
        jwks_release(keys);
        keys = NULL;
    }
    pthread_mutex_lock(&o->lock);
    bool failed = !keys, was = o->failing, none = !o->keys, silent = o->stopping;
    if (keys)
        take_keys(o, keys);
    o->failing = failed;
    o->fetching = false;
    pthread_mutex_unlock(&o->lock);
    if (failed && !was && !silent)
        log_line(LOG_WARN, "the keys of %s cannot be fetched%s: %s%s", o->o.issuer,
                 none ? ", so its tokens are not accepted yet"
                      : "; the old ones are kept",
                 why.msg, ERR_ORIGIN(&why));
    else if (!failed && was)
        log_line(LOG_WARN, "the keys of %s are there now", o->o.issuer);
    return !failed;
}

/* Called with the lock. */
static void wait_for_turn(struct oauth *o, uint64_t ns)
{
    uint64_t until_ns = os_mono_ns() + ns;
    while (!o->stopping && !o->wanted && os_cond_wait(&o->wake, &o->lock, until_ns))
        continue;
    o->wanted = false;
    o->fetching = true;
}

static void *keep_keys(void *arg)
{
    struct oauth *o = arg;
    uint64_t retry_ns = RETRY_NS;
    bool stopping = false;
    while (!stopping) {
        bool ok = keys_refresh(o);
        pthread_mutex_lock(&o->lock);
        wait_for_turn(o, ok ? REFRESH_NS : retry_ns);
        stopping = o->stopping;
        pthread_mutex_unlock(&o->lock);
        retry_ns = ok ? RETRY_NS : retry_ns * 2;
        retry_ns = retry_ns < RETRY_MOST_NS ? retry_ns : RETRY_MOST_NS;
    }
    return NULL;
}

/* ---- verifying ---------------------------------------------------------- */

static enum verdict pass_admit(struct pass *p, int64_t now_ms, struct bearer *out)
{
    if (p->expires_ms <= now_ms) {
        pass_release(p);
        return VERDICT_EXPIRED;
    }
    *out = (struct bearer){.grant = p->grant,
                           .expires_ms = p->expires_ms,
                           .held = p,
                           .let_go = pass_release};
    return p->grant.scopes ? VERDICT_GOOD : VERDICT_POWERLESS;
}

/* Verifies a token that was not seen before. */
static enum verdict read_token(struct oauth *o, struct str text, const char *hash,
                               int64_t now_ms, struct bearer *out)
{
    struct err why = {0};
    struct jwt t;
    struct jwt_claims claims;
    struct jwks_mark mark;
    const struct jwt_wish wish = {.issuer = str_of(o->o.issuer),
                                  .resource = str_of(o->base),
                                  .vaults = o->o.vaults};
    scoped(arena_free) struct arena *a = arena_new(JWT_MEMORY);
    if (!jwt_read(text, a, &t, &why) ||
        !jwt_claims_read(&t, &wish, now_ms, a, &claims, &why))
        return VERDICT_BAD;
    struct jwks *keys = keys_hold(o);
    enum jwks_found found = jwks_verify(keys, &t, &mark);
    jwks_release(keys);
    if (found != JWKS_GOOD)
        return found == JWKS_UNKNOWN ? ask_for_keys(o) : VERDICT_BAD;
    struct pass *p = pass_new(o, hash, &claims, &why);
    if (!p)
        return VERDICT_BAD;
    p->mark = mark;
    if (p->expires_ms > now_ms)
        pass_keep(o, p);
    return pass_admit(p, now_ms, out);
}

static enum verdict oauth_verify(void *arg, struct str credential, int64_t now_ms,
                                 struct bearer *out)
{
    struct oauth *o = arg;
    char hash[CRYPTO_HASH_HEX];
    if (!jwt_is_like(credential))
        return VERDICT_FOREIGN;
    if (!atomic_load(&o->reached))
        return VERDICT_LATER;
    crypto_hash_hex(credential, hash);
    struct pass *known = pass_find(o, hash);
    return known ? pass_admit(known, now_ms, out)
                 : read_token(o, credential, hash, now_ms, out);
}

static bool pass_stands(void *arg, const struct bearer *b)
{
    struct oauth *o = arg;
    const struct pass *p = b->held;
    pthread_mutex_lock(&o->lock);
    bool there = jwks_has(o->keys, &p->mark);
    pthread_mutex_unlock(&o->lock);
    return there;
}

static bool oauth_changed(void *arg)
{
    struct oauth *o = arg;
    pthread_mutex_lock(&o->lock);
    bool news = o->news;
    o->news = false;
    pthread_mutex_unlock(&o->lock);
    return news;
}

struct verifier oauth_verifier(struct oauth *o)
{
    return (struct verifier){.verify = oauth_verify,
                             .stands = pass_stands,
                             .changed = oauth_changed,
                             .arg = o};
}

/* ---- what we say of ourselves ------------------------------------------- */

void oauth_challenge(const struct oauth *o, const char *error,
                     char out[static CHALLENGE_MAX])
{
    bool reached = atomic_load(&o->reached);
    (void)snprintf(out, CHALLENGE_MAX, "Bearer %s%s%sscope=\"%s\"%s%s%s",
                   error ? "error=\"" : "", error ? error : "", error ? "\", " : "",
                   SCOPES, reached ? ", resource_metadata=\"" : "",
                   reached ? o->metadata_url : "", reached ? "\"" : "");
}

bool oauth_is_public(const struct http_request *rq)
{
    struct str path = http_path(rq), method = http_method(rq);
    return (str_is(method, "GET") || str_is(method, "HEAD")) &&
           (str_is(path, OAUTH_METADATA) || str_is(path, OAUTH_METADATA "/mcp"));
}

static void put_words(struct json_writer *w, const char *key, const char *const *words)
{
    json_key(w, key);
    json_open_array(w);
    for (; *words; words++)
        json_put_cstr(w, *words);
    json_close(w);
}

void oauth_tell(struct oauth *o, struct http_request *rq, struct http_response *rs)
{
    if (!oauth_is_public(rq)) {
        http_refuse(rq, rs, 405, "GET returns the authorization servers");
        (void)http_set_header(rs, "Allow", "GET, HEAD");
        return;
    }
    if (!atomic_load(&o->reached)) {
        http_refuse(rq, rs, 503, "the server is still starting; try again in 1 s");
        (void)http_set_header(rs, "Retry-After", "1");
        return;
    }
    rs->type = "application/json";
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_cstr(&w, "resource", o->resource);
    put_words(&w, "authorization_servers", (const char *const[]){o->o.issuer, NULL});
    put_words(&w, "scopes_supported",
              (const char *const[]){"read", "write", "evaluate", "audit", NULL});
    put_words(&w, "bearer_methods_supported", (const char *const[]){"header", NULL});
    json_pair_cstr(&w, "resource_name", "Cloche");
    json_close(&w);
}

/* ---- opening ------------------------------------------------------------ */

static char *joined(const char *a, const char *b)
{
    char text[PUBLIC_URL_MAX + 64];
    (void)snprintf(text, sizeof text, "%s%s", a, b);
    return mem_strdup(text);
}

void oauth_reached_at(struct oauth *o, const char *url)
{
    must(!atomic_load(&o->reached) && strlen(url) <= PUBLIC_URL_MAX);
    o->base = mem_strdup(url);
    for (size_t n = strlen(o->base); n > 0 && o->base[n - 1] == '/'; n--)
        o->base[n - 1] = '\0';
    o->resource = joined(o->base, "/mcp");
    o->metadata_url = joined(o->base, OAUTH_METADATA "/mcp");
    atomic_store(&o->reached, true);
}

static bool check_public_url(const char *url, struct err *e)
{
    size_t n = url ? strlen(url) : 0;
    bool plain = n <= PUBLIC_URL_MAX;
    for (size_t i = 0; i < n; i++)
        plain &= url[i] > ' ' && url[i] <= '~' && !strchr("\"\\<>?#", url[i]);
    return plain ||
           err_set(e, ERR_INVALID,
                   "--public-url '%.100s' cannot name an OAuth resource; at most "
                   "%u bytes of ASCII, with no query, are accepted",
                   url, PUBLIC_URL_MAX);
}

struct oauth *oauth_open(const struct access_oauth *with, struct err *e)
{
    sigset_t all, before;
    if (!issuer_check(with->issuer, e) || !check_public_url(with->public_url, e))
        return NULL;
    struct oauth *o = mem_new(sizeof *o);
    o->o = *with;
    o->fetching = true;
    cancel_init(&o->stop);
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->wake, NULL);
    if (with->public_url)
        oauth_reached_at(o, with->public_url);
    /* Signals are for the thread that waits for them. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    must(os_thread_start(&o->thread, "oauth-keys", 0, keep_keys, o));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return o;
}

void oauth_close(struct oauth *o)
{
    if (!o)
        return;
    pthread_mutex_lock(&o->lock);
    o->stopping = true;
    pthread_cond_signal(&o->wake);
    pthread_mutex_unlock(&o->lock);
    cancel_fire(&o->stop);
    pthread_join(o->thread, NULL);
    for (size_t i = 0; i < PASSES; i++)
        pass_release(o->passes[i]);
    jwks_release(o->keys);
    pthread_cond_destroy(&o->wake);
    pthread_mutex_destroy(&o->lock);
    free(o->base);
    free(o->resource);
    free(o->metadata_url);
    free(o);
}
