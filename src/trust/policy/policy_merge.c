/* The user's policy, narrowed by the vault's: what is in force, and where each value
 * comes from. Values are merged as JSON, so that what is shown is what holds. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "policy/internal.h"

struct merge {
    const struct policy_text *vault;
    struct problems *problems;
    struct arena *arena;
    struct err *e;
};

/* ---- a value ------------------------------------------------------------ */

/* Warns that a vault's policy tries to grant more than the user's. */
static void warn_grant(const struct merge *m, const struct key *k, const char *why)
{
    problem_add(m->problems, m->vault, k->path, policy_place(m->vault->text, k->path),
                false, "%s is ignored: %s; a vault's policy can only restrict", k->path,
                why);
}

int64_t key_rank(const struct key *k, const struct json *v)
{
    if (k->kind == KEY_BOOL)
        return json_bool(v, false);
    if (k->kind == KEY_INT)
        return json_int(v, 0);
    int64_t i = 0;
    while (k->words[i] && !str_is(json_str(v), k->words[i]))
        i++;
    return i;
}

static const struct json *stricter(const struct merge *m, const struct key *k,
                                   const struct json *user, const struct json *vault)
{
    int64_t u = key_rank(k, user), v = key_rank(k, vault);
    if (u == v)
        return user;
    if ((k->rule == RULE_LOWER) == (v < u))
        return vault;
    warn_grant(m, k, "it would give more than the user's");
    return user;
}

static bool contains(const struct json *list, const struct json *item)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        if (json_equal(it.value, item))
            return true;
    return false;
}

/* The intersection: of hosts by their patterns, of other names where they are equal. */
static void put_common(const struct key *k, const struct json *user,
                       const struct json *item, struct json_writer *w)
{
    struct json_iter it = json_iter(user);
    while (json_next(&it)) {
        const char *both = NULL;
        if (k->kind == KEY_HOSTS)
            both = host_pattern_both(json_cstr(it.value), json_cstr(item));
        else if (json_equal(it.value, item))
            both = json_cstr(item);
        if (both)
            json_put_cstr(w, both);
    }
}

static void put_both(const struct key *k, const struct json *user,
                     const struct json *vault, struct json_writer *w)
{
    struct json_iter it = json_iter(vault);
    while (json_next(&it))
        put_common(k, user, it.value, w);
}

static void put_either(const struct json *user, const struct json *vault,
                       struct json_writer *w)
{
    struct json_iter it = json_iter(user);
    while (json_next(&it))
        json_put(w, it.value);
    it = json_iter(vault);
    while (json_next(&it))
        if (!contains(user, it.value))
            json_put(w, it.value);
}

static const struct json *merged_list(const struct merge *m, const struct key *k,
                                      const struct json *user, const struct json *vault)
{
    scoped_buf struct buf text = buf_of(POLICY_MEMORY);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    if (k->rule == RULE_BOTH)
        put_both(k, user, vault, &w);
    else if (k->rule == RULE_EITHER)
        put_either(user, vault, &w);
    else
        k->shape->narrow(user, vault, &w);
    json_close(&w);
    if (!buf_check(&text, "the policy", m->e))
        return NULL;
    const struct json *list = json_read(buf_view(&text), m->arena, m->e);
    if (k->rule != RULE_EITHER && json_length(list) < json_length(vault))
        warn_grant(m, k, "it names values that the user's policy does not have");
    return list;
}

static const struct json *merge_value(const struct merge *m, const struct key *k,
                                      const struct json *user, const struct json *vault)
{
    switch (k->rule) {
    case RULE_USER:
        warn_grant(m, k, "it is the user's alone to set");
        return user;
    case RULE_LOWER:
    case RULE_HIGHER:
        return stricter(m, k, user, vault);
    case RULE_ALSO:
        return user; /* policy_merge() keeps both */
    default:
        return merged_list(m, k, user, vault);
    }
}

/* ---- from JSON to the struct -------------------------------------------- */

static const char *copy_text(const struct merge *m, const struct json *v)
{
    struct str s = json_str(v);
    return json_is(v, JSON_STRING) ? arena_copy(m->arena, s.at, s.n, m->e) : NULL;
}

static void load_names(const struct merge *m, const struct json *v,
                       struct policy_names *out)
{
    size_t n = json_length(v);
    const char **at = arena_get(m->arena, (n + 1) * sizeof *at, m->e);
    *out = (struct policy_names){.at = at, .given = json_is(v, JSON_ARRAY)};
    struct json_iter it = json_iter(v);
    while (at && json_next(&it))
        at[out->n++] = copy_text(m, it.value);
}

static void load_permissions(const struct merge *m, const struct key *k,
                             const struct json *v, struct policy_permissions *out)
{
    struct named_permission *at =
        arena_get(m->arena, (json_length(v) + 1) * sizeof *at, m->e);
    struct json_iter it = json_iter(v);
    out->at = at;
    for (; at && json_next(&it); out->n++)
        at[out->n] = (struct named_permission){
            .name = arena_copy(m->arena, it.key.at, it.key.n, m->e),
            .permission = (enum permission)(key_rank(k, it.value) + PERMISSION_ALWAYS)};
}

/* `which`: 0, or 1 for what a vault's adds by RULE_ALSO. */
static void load_value(const struct merge *m, const struct key *k, const struct json *v,
                       struct policy_state *s, size_t group, size_t which)
{
    char *field = (char *)s->values[group] + k->offset;
    switch (k->kind) {
    case KEY_BOOL:
        *(bool *)field = json_bool(v, false);
        break;
    case KEY_INT:
    case KEY_WORD: {
        if (k->high > UINT32_MAX) {
            *(uint64_t *)(void *)field = (uint64_t)key_rank(k, v);
            break;
        }
        uint32_t n = (uint32_t)key_rank(k, v);
        memcpy(field + which * sizeof n, &n, sizeof n); /* also an enum's */
        break;
    }
    case KEY_URL:
        *(const char **)(void *)field = copy_text(m, v);
        break;
    case KEY_LIST:
    case KEY_OBJECTS:
        *(const struct json **)(void *)field = v;
        break;
    case KEY_PERMISSIONS:
        load_permissions(m, k, v, (struct policy_permissions *)(void *)field + which);
        break;
    default:
        load_names(m, v, (struct policy_names *)(void *)field + which);
    }
}
_Static_assert(sizeof(enum level) == sizeof(uint32_t), "a word's number fits its enum");
_Static_assert(sizeof(enum policy_lint) == sizeof(uint32_t), "a word's number fits");
_Static_assert(sizeof(enum permission) == sizeof(uint32_t), "a word's number fits");

/* ---- the whole ---------------------------------------------------------- */

/* Secrets are named in it by a hash: the digest stands in the audit trail. */
static void digest(struct policy_state *s)
{
    scoped_buf struct buf text = buf_of(POLICY_MEMORY);
    struct json_writer w = json_writer(&text);
    json_open_array(&w);
    for (size_t i = 0; i < s->keys->count; i++)
        json_put(&w, s->value[i]);
    for (size_t i = 0; i < s->keys->count; i++)
        if (s->keys->keys[i]->rule == RULE_ALSO)
            json_put(&w, s->also[i]);
    json_close(&w);
    char hex[CRYPTO_HASH_HEX];
    crypto_hash_hex(buf_view(&text), hex);
    memcpy(s->shown.digest, hex, sizeof s->shown.digest - 1);
}

static struct policy_state *new_state(const struct key_table *keys, struct arena *arena,
                                      struct err *e)
{
    struct policy_state *s = arena_get(arena, sizeof *s, e);
    if (!s)
        return NULL;
    s->keys = keys;
    s->values[0] = &s->shown;
    for (size_t i = 1; i < keys->group_count && !e->code; i++)
        s->values[i] = arena_get(arena, keys->groups[i]->size, e);
    return e->code ? NULL : s;
}

struct policy_state *policy_merge(const struct key_table *keys,
                                  const struct policy_text *user,
                                  const struct policy_text *vault, struct problems *p,
                                  struct arena *arena, struct err *e)
{
    struct merge m = {.vault = vault, .problems = p, .arena = arena, .e = e};
    struct policy_state *s = new_state(keys, arena, e);
    for (size_t i = 0; s && !e->code && i < keys->count; i++) {
        const struct key *k = keys->keys[i];
        size_t group = keys->group_of[i];
        const struct json *wish = vault ? vault->value[i] : NULL;
        const struct json *v = user->value[i];
        s->from[i] = v ? FROM_USER : FROM_DEFAULT;
        if (!v)
            v = json_read(str_of(k->usual), arena, e);
        const struct json *old = v;
        if (v && wish && !json_is(wish, JSON_NULL))
            v = merge_value(&m, k, v, wish);
        if (v != old)
            s->from[i] = FROM_VAULT;
        s->value[i] = v;
        if (v)
            load_value(&m, k, v, s, group, 0);
        if (k->rule == RULE_ALSO && wish && !json_is(wish, JSON_NULL)) {
            s->also[i] = wish;
            load_value(&m, k, wish, s, group, 1);
        }
    }
    if (!s || e->code)
        return NULL;
    digest(s);
    s->arena = arena;
    atomic_init(&s->holders, 1);
    return e->code ? NULL : s;
}

const void *policy_values(const struct policy *p, const struct policy_group *g)
{
    const struct policy_state *s = (const struct policy_state *)(const void *)p;
    size_t i = 0;
    while (i < s->keys->group_count && s->keys->groups[i] != g)
        i++;
    must(i < s->keys->group_count);
    return s->values[i];
}
