#include "evaluating/answers.h"
#include "cache/cache.h"
#include "evaluating/evaluating.h"
#include "evaluating/internal.h"
#include "notes/notes.h"

#define ARGUMENTS_MAX ((size_t)64 << 20)

struct kept_answer {
    struct cached cached;
    size_t result_size;
    struct str bytes; /* the result, then the logs */
};

struct cache *answers_new(void)
{
    const size_t bytes = (size_t)32 << 20; /* results and logs together */
    return cache_new(&(struct cache_limits){
        .entries = 256, .bytes = bytes, .one_bytes = bytes / 4 - 1});
}

/* ---- keys ---------------------------------------------------------------- */

static bool may_use(const struct action_call *c)
{
    const struct json *a = c->arguments;
    return json_bool(json_get(a, "cache"), false) && c->place->permit.policy->cache &&
           !json_get(a, "session") && !json_bool(json_get(a, "trace"), false) &&
           !json_bool(json_get(a, "enableNetwork"), false);
}

/* The key: the caller's rights, the vault with its version, and the whole call. */
static bool answer_put_key(const struct action_call *c, struct buf *out)
{
    const struct permit *p = &c->place->permit;
    struct err e = {0};
    /* The principal is part of it: a hit would reveal what another has asked. */
    buf_printf(out, "%s\n%d %d %s %u ", c->who->grant ? c->who->grant->principal : "",
               (int)p->level, p->read_only, p->policy->digest, c->place->vault);
    struct vault *vault = c->place->vault ? action_vault(c, &e) : NULL;
    if (c->place->vault && (!vault || !notes_version(vault, out, &e)))
        return false;
    const struct custom_code *custom = capability_custom();
    if (c->place->vault && custom && !custom->put_key(c, out))
        return false;
    buf_char(out, '\n');
    struct json_writer w = json_writer(out);
    json_put(&w, c->arguments);
    return !out->failed;
}

struct answer_key answer_key(const struct action_call *c)
{
    struct answer_key key = {.usable = false};
    scoped_buf struct buf text;
    buf_init(&text, ARGUMENTS_MAX);
    if (may_use(c) && answer_put_key(c, &text)) {
        crypto_hash_hex(buf_view(&text), key.hex);
        key.usable = true;
    }
    return key;
}

/* ---- lookup and storage -------------------------------------------------- */

bool answer_find(struct cache *c, const struct answer_key *key,
                 struct script_outcome *out)
{
    struct kept_answer *a = key->usable ? cache_find(c, str_of(key->hex)) : NULL;
    if (!a)
        return false;
    buf_put(&out->result, a->bytes.at, a->result_size);
    buf_put(&out->logs, a->bytes.at + a->result_size, a->bytes.n - a->result_size);
    out->success = true;
    cached_release(&a->cached);
    return true;
}

void answer_keep(struct cache *c, const struct answer_key *key,
                 const struct script_outcome *o)
{
    size_t n = o->result.n + o->logs.n;
    struct kept_answer *a = key->usable ? malloc(sizeof *a + n) : NULL;
    if (!a)
        return;
    char *to = (char *)(a + 1);
    a->bytes = (struct str){to, n};
    a->result_size = o->result.n;
    if (o->result.n)
        memcpy(to, o->result.at, o->result.n);
    if (o->logs.n)
        memcpy(to + o->result.n, o->logs.at, o->logs.n);
    cached_init(&a->cached, n, NULL);
    cache_put(c, str_of(key->hex), a);
    cached_release(&a->cached);
}
