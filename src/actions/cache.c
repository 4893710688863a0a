#include "actions/cache.h"
#include "actions/functioning.h"
#include "actions/places.h"
#include "functions/functions.h"

#define ARGUMENTS_MAX ((size_t)64 << 20)

/* Newest use first. */
struct entry {
    struct entry *next;
    char key[CRYPTO_HASH_HEX];
    size_t result_size, logs_size;
    char bytes[]; /* the result, then the logs */
};

struct cache {
    pthread_mutex_t lock;
    struct entry *first;
    size_t count, bytes;
};

struct cache *cache_new(void)
{
    struct cache *c = mem_new(sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static size_t entry_size(const struct entry *x)
{
    return sizeof *x + x->result_size + x->logs_size;
}

/* Takes it out of the list; the caller's now. */
static struct entry *unlink_entry(struct cache *c, struct entry **at)
{
    struct entry *x = *at;
    *at = x->next;
    c->count--;
    c->bytes -= entry_size(x);
    return x;
}

static void push(struct cache *c, struct entry *x)
{
    x->next = c->first;
    c->first = x;
    c->count++;
    c->bytes += entry_size(x);
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    while (c->first)
        free(unlink_entry(c, &c->first));
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- keys ---------------------------------------------------------------- */

static bool may_use(const struct action_call *c)
{
    const struct json *a = c->arguments;
    return json_bool(json_get(a, "cache"), false) && c->place->permit.policy->cache &&
           !json_get(a, "session") && !json_bool(json_get(a, "trace"), false) &&
           !json_bool(json_get(a, "enableNetwork"), false);
}

/* Another function is another answer. */
static bool put_functions(const struct action_call *c, struct buf *out)
{
    struct err e = {0};
    scoped_set const struct function_set *set =
        functioning_now(c->actions, c->place, NULL, &e);
    if (!set)
        return false;
    buf_char(out, ' ');
    buf_str(out, function_set_hash(set));
    return true;
}

/* The rights of the caller, the vault with its version, and the whole call. */
static bool put_key(const struct action_call *c, struct buf *out)
{
    const struct permit *p = &c->place->permit;
    struct err e = {0};
    /* An answer that was there already tells what another has asked. */
    buf_printf(out, "%s\n%d %d %s %u ", c->who->grant ? c->who->grant->principal : "",
               (int)p->level, p->read_only, p->policy->digest, c->place->vault);
    struct vault *vault = c->place->vault ? action_vault(c, &e) : NULL;
    if (c->place->vault && (!vault || !notes_version(vault, out, &e)))
        return false;
    if (c->place->vault && !put_functions(c, out))
        return false;
    buf_char(out, '\n');
    struct json_writer w = json_writer(out);
    json_put(&w, c->arguments);
    return !out->failed;
}

struct cache_key cache_key(const struct action_call *c)
{
    struct cache_key key = {.usable = false};
    scoped_buf struct buf text;
    buf_init(&text, ARGUMENTS_MAX);
    if (may_use(c) && put_key(c, &text)) {
        crypto_hash_hex(buf_view(&text), key.hex);
        key.usable = true;
    }
    return key;
}

/* ---- finding and keeping ------------------------------------------------- */

static struct entry **find(struct cache *c, const struct cache_key *key)
{
    struct entry **at = &c->first;
    while (*at && memcmp((*at)->key, key->hex, sizeof key->hex) != 0)
        at = &(*at)->next;
    return at;
}

bool cache_find(struct cache *c, const struct cache_key *key, struct script_outcome *out)
{
    if (!key->usable)
        return false;
    pthread_mutex_lock(&c->lock);
    struct entry **at = find(c, key);
    bool found = *at != NULL;
    if (found) {
        struct entry *x = unlink_entry(c, at);
        push(c, x);
        buf_put(&out->result, x->bytes, x->result_size);
        buf_put(&out->logs, x->bytes + x->result_size, x->logs_size);
        out->success = true;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

static void drop_last(struct cache *c)
{
    struct entry **at = &c->first;
    while ((*at)->next)
        at = &(*at)->next;
    free(unlink_entry(c, at));
}

void cache_keep(struct cache *c, const struct cache_key *key,
                const struct script_outcome *o)
{
    size_t n = o->result.n + o->logs.n;
    struct entry *x = key->usable && n < CACHE_BYTES / 4 ? malloc(sizeof *x + n) : NULL;
    if (!x)
        return;
    *x = (struct entry){.result_size = o->result.n, .logs_size = o->logs.n};
    memcpy(x->key, key->hex, sizeof x->key);
    if (o->result.n)
        memcpy(x->bytes, o->result.at, o->result.n);
    if (o->logs.n)
        memcpy(x->bytes + o->result.n, o->logs.at, o->logs.n);
    pthread_mutex_lock(&c->lock);
    struct entry **old = find(c, key);
    if (*old)
        free(unlink_entry(c, old));
    push(c, x);
    while (c->count > CACHE_ENTRIES || c->bytes > CACHE_BYTES)
        drop_last(c);
    pthread_mutex_unlock(&c->lock);
}
