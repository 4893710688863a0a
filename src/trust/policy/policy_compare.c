/* The difference between two states of the policy, and whether agents may do more after it. */
#include "policy/internal.h"

static bool list_has(const struct json *list, const struct json *item)
{
    struct json_iter it = json_iter(list);
    while (json_next(&it))
        if (json_equal(it.value, item))
            return true;
    return false;
}

/* Has `a` an entry that `b` has not, or has otherwise? Of lists and objects. */
static bool has_more(const struct json *a, const struct json *b)
{
    struct json_iter it = json_iter(a);
    while (json_next(&it)) {
        const struct json *there =
            json_is(a, JSON_OBJECT) ? json_get_str(b, it.key) : NULL;
        if (json_is(a, JSON_OBJECT) ? !there || !json_equal(there, it.value)
                                    : !list_has(b, it.value))
            return true;
    }
    return false;
}

/* A permission; none reads as "usual", which may be any other word. */
static bool word_widens(const struct json *before, const struct json *after)
{
    enum permission old = PERMISSION_USUAL, now = PERMISSION_USUAL;
    for (unsigned i = PERMISSION_ALWAYS; permission_words[i]; i++) {
        if (str_is(json_str(before), permission_words[i]))
            old = (enum permission)i;
        if (str_is(json_str(after), permission_words[i]))
            now = (enum permission)i;
    }
    if (old == now || now == PERMISSION_NEVER)
        return false;
    return old == PERMISSION_USUAL || now == PERMISSION_USUAL || now < old;
}

static bool permissions_widen(const struct json *before, const struct json *after)
{
    struct json_iter it = json_iter(before);
    while (json_next(&it))
        if (word_widens(it.value, json_get_str(after, it.key)))
            return true;
    it = json_iter(after);
    while (json_next(&it))
        if (!json_get_str(before, it.key) && word_widens(NULL, it.value))
            return true;
    return false;
}

/* NULL and null: no list, which allows all. */
static bool allowed_widen(const struct json *before, const struct json *after)
{
    if (!json_is(before, JSON_ARRAY))
        return false;
    return !json_is(after, JSON_ARRAY) || has_more(after, before);
}

static bool is_names(const struct key *k)
{
    return k->kind == KEY_NAMES || k->kind == KEY_CALLS || k->kind == KEY_HOSTS ||
           k->kind == KEY_PATHS || k->kind == KEY_LIST || k->kind == KEY_OBJECTS;
}

static bool key_widens(const struct key *k, const struct json *before,
                       const struct json *after)
{
    if (json_equal(before, after))
        return false;
    if (k->kind == KEY_PERMISSIONS)
        return permissions_widen(before, after);
    switch (k->rule) {
    case RULE_LOWER:
        return key_rank(k, after) > key_rank(k, before);
    case RULE_HIGHER:
        return key_rank(k, after) < key_rank(k, before);
    case RULE_EITHER:
        return has_more(before, after);
    case RULE_BOTH:
    case RULE_NARROW:
        return has_more(after, before);
    case RULE_ALSO:
        return k->kind == KEY_CALLS ? allowed_widen(before, after)
                                    : word_widens(before, after);
    case RULE_USER:
        /* Nothing says which number or word is the stricter one. */
        return !is_names(k) || has_more(after, before);
    }
    return true;
}

static void pair_or_null(struct json_writer *w, const char *key, const struct json *v)
{
    if (v)
        json_pair(w, key, v);
    else
        json_pair_raw(w, key, STR("null"));
}

unsigned policy_put_changes(const struct policy_state *before,
                            const struct policy_state *after, struct json_writer *w)
{
    unsigned wider = 0;
    json_key(w, "changes");
    json_open_array(w);
    for (size_t i = 0; i < before->keys->count; i++) {
        const struct key *k = before->keys->keys[i];
        const struct json *was = before->value[i], *is = after->value[i],
                          *was_also = before->also[i], *is_also = after->also[i];
        if (json_equal(was, is) && json_equal(was_also, is_also))
            continue;
        /* What the vault does not say restricts nothing. */
        bool widens =
            key_widens(k, was, is) || (was_also && !json_equal(was_also, is_also) &&
                                       key_widens(k, was_also, is_also));
        wider += widens;
        json_open_object(w);
        json_pair_cstr(w, "key", k->path);
        json_key(w, "before");
        key_put(k, was, w);
        json_key(w, "after");
        key_put(k, is, w);
        if (was_also || is_also) {
            pair_or_null(w, "vaultBefore", was_also);
            pair_or_null(w, "vaultAfter", is_also);
        }
        json_pair_bool(w, "wider", widens);
        json_close(w);
    }
    json_close(w);
    return wider;
}
