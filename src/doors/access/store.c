/* tokens.json in a running server: looked at before every use, read when it changed.
 *
 * A reading is an immutable state: requests hold the one by which
 * they came in, and it goes when the last of them ends. */
#include <stdio.h>

#include "access/internal.h"

struct entry {
    struct str id, hash;
    int64_t expires_ms;
    struct grant grant;
};

/* A reading of the file. */
struct state {
    atomic_uint holders;
    struct arena *arena;
    struct entry *all; /* by id */
    size_t count;
};

struct store {
    int config, state_dir; /* descriptors; -1: there is no such folder */
    pthread_mutex_t lock;  /* guards all below */
    struct os_stamp stamp;
    struct state *now;
    bool is_read;
    bool is_news; /* since it was asked last (tokens_changed) */
};

/* ---- states ------------------------------------------------------------- */

static void state_release(void *held)
{
    struct state *s = held;
    if (s && atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) == 1)
        arena_free(s->arena); /* it lies in there itself */
}

static int by_id(const void *a, const void *b)
{
    return str_cmp(((const struct entry *)a)->id, ((const struct entry *)b)->id);
}

static bool fill_entry(struct entry *to, const struct token *t, struct arena *a,
                       struct err *e)
{
    char *principal = arena_printf(a, e, "token %.*s", STR_ARGS(t->name));
    *to = (struct entry){.id = t->id,
                         .hash = t->hash,
                         .expires_ms = t->expires_ms,
                         .grant = {.principal = principal,
                                   .level = t->level,
                                   .scopes = t->scopes,
                                   .vaults = t->vaults}};
    return principal != NULL;
}

/* NULL and *e: then nobody comes in. */
static struct state *state_read(int config, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(TOKENS_MEMORY);
    struct tokens list;
    if (!tokens_read(config, a, &list, e))
        return NULL;
    struct state *s = arena_get(a, sizeof *s, e);
    struct entry *all = arena_get(a, (list.count + 1) * sizeof *all, e);
    if (!s || !all)
        return NULL;
    for (size_t i = 0; i < list.count; i++)
        if (!list.all[i].revoked_ms && !fill_entry(&all[s->count++], &list.all[i], a, e))
            return NULL;
    qsort(all, s->count, sizeof *all, by_id);
    s->all = all;
    s->arena = take(a);
    atomic_init(&s->holders, 1);
    return s;
}

static const struct entry *state_find(const struct state *s, struct str id)
{
    struct entry key = {.id = id};
    return s ? bsearch(&key, s->all, s->count, sizeof *s->all, by_id) : NULL;
}

static struct state *state_hold(struct state *s)
{
    if (s)
        atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    return s;
}

/* The present one, held; NULL: nobody comes in. */
static struct state *store_state(struct store *s)
{
    struct err why = {0};
    /* Looked at before it is read: a change in between is seen the next time. */
    struct os_stamp stamp = os_stamp(s->config, TOKENS_FILE);
    pthread_mutex_lock(&s->lock);
    if (!s->is_read || !os_same_stamp(&stamp, &s->stamp)) {
        state_release(s->now);
        s->now = s->config >= 0 ? state_read(s->config, &why) : NULL;
        s->stamp = stamp;
        s->is_read = s->is_news = true;
    }
    struct state *now = state_hold(s->now);
    pthread_mutex_unlock(&s->lock);
    if (why.code)
        log_line(LOG_ERROR, "%s%s", why.msg, ERR_ORIGIN(&why));
    return now;
}

/* ---- verifying ---------------------------------------------------------- */

static enum verdict token_verify(void *arg, struct str credential, int64_t now_ms,
                                 struct bearer *out)
{
    if (!str_starts(credential, TOKEN_PREFIX))
        return VERDICT_FOREIGN;
    char hash[CRYPTO_HASH_HEX];
    token_hash(credential, hash);
    struct state *s = store_state(arg);
    const struct entry *x = state_find(s, token_id(credential));
    bool same = x && crypto_equal(str_of(hash), x->hash);
    if (!same || (x->expires_ms && x->expires_ms <= now_ms)) {
        state_release(s);
        return same ? VERDICT_EXPIRED : VERDICT_BAD;
    }
    *out = (struct bearer){.grant = x->grant,
                           .expires_ms = x->expires_ms,
                           .held = s,
                           .let_go = state_release};
    (void)snprintf(out->id, sizeof out->id, "%.*s", STR_ARGS(x->id));
    return VERDICT_GOOD;
}

static bool token_stands(void *arg, const struct bearer *b)
{
    struct store *s = arg;
    pthread_mutex_lock(&s->lock);
    struct state *now = state_hold(s->now);
    pthread_mutex_unlock(&s->lock);
    bool there = state_find(now, str_of(b->id)) != NULL;
    state_release(now);
    return there;
}

static bool token_changed(void *arg)
{
    struct store *s = arg;
    state_release(store_state(s));
    pthread_mutex_lock(&s->lock);
    bool news = s->is_news;
    s->is_news = false;
    pthread_mutex_unlock(&s->lock);
    return news;
}

static void used(void *arg, const struct bearer *b, int64_t now_ms)
{
    const struct store *s = arg;
    token_touch(s->state_dir, str_of(b->id), now_ms);
}

struct verifier store_verifier(struct store *s)
{
    return (struct verifier){.verify = token_verify,
                             .stands = token_stands,
                             .changed = token_changed,
                             .used = used,
                             .arg = s};
}

/* ---- opening ------------------------------------------------------------ */

struct store *store_open(void)
{
    struct err why = {0}, none = {0};
    struct store *s = mem_new(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    s->config = os_config_dir(NULL, &why);
    s->state_dir = os_state_dir(NULL, &none);
    if (s->config < 0)
        log_line(LOG_WARN, "all tokens are refused: %s%s", why.msg, ERR_ORIGIN(&why));
    return s;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    state_release(s->now);
    os_close(s->config);
    os_close(s->state_dir);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

#define MINUTES_MOST (3650ll * 24 * 60)

bool expiry_read(const char *text, int64_t *out_ms, struct err *e)
{
    static const struct {
        char letter;
        long long minutes;
    } units[] = {{'m', 1}, {'h', 60}, {'d', 24 * 60}};
    *out_ms = 0;
    if (!strcmp(text, "never"))
        return true;
    size_t digits = strspn(text, "0123456789");
    long long n = digits && digits <= 7 ? strtoll(text, NULL, 10) : 0;
    for (size_t i = 0; i < LENGTH(units) && n; i++) {
        if (text[digits] != units[i].letter || text[digits + 1] ||
            n * units[i].minutes > MINUTES_MOST)
            continue;
        *out_ms = os_real_ms() + n * units[i].minutes * 60000;
        return true;
    }
    return err_set(e, ERR_INVALID,
                   "'%.40s' is not a time of expiry; 30d, 12h or 90m (at most 3650d) "
                   "and 'never' are accepted",
                   text);
}
