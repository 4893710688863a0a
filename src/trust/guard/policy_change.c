/* Changing one key of a policy file, which keeps the rest as a person wrote it. */
#include <stdio.h>

#include "guard/internal.h"
#include "os/os.h"

#define TEXT_MAX ((size_t)2 << 20) /* of what is written */
#define LOCK_MS 5000u

/* The object with the value at the path in it, or without it where that is NULL. As
 * deep as our own table is. */
static void put_changed(const struct json *object, const char *path,
                        const struct json *value, struct json_writer *w)
{
    struct str name = {path, strcspn(path, ".")};
    const char *rest = path[name.n] ? path + name.n + 1 : NULL;
    bool met = false;
    struct json_iter it = json_iter(object);
    json_open_object(w);
    while (json_next(&it)) {
        bool here = str_eq(it.key, name);
        met |= here;
        if (here && !rest && !value)
            continue;
        json_key_str(w, it.key);
        if (here && rest)
            put_changed(it.value, rest, value, w);
        else
            json_put(w, here ? value : it.value);
    }
    if (!met && value) {
        json_key_str(w, name);
        if (rest)
            put_changed(NULL, rest, value, w);
        else
            json_put(w, value);
    }
    json_close(w);
}

static bool is_list(const struct key *k)
{
    return k->kind == KEY_NAMES || k->kind == KEY_CALLS || k->kind == KEY_HOSTS ||
           k->kind == KEY_PATHS || k->kind == KEY_LIST;
}

/* Words of the command line as JSON: what is JSON as it stands, all else as text. */
static const struct json *read_words(const struct key *k, const char *const *values,
                                     size_t count, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(POLICY_FILE_MAX);
    struct err no_json = {0};
    bool words = k->kind != KEY_BOOL && k->kind != KEY_INT && k->kind != KEY_OBJECTS &&
                 k->kind != KEY_PERMISSIONS;
    const struct json *whole =
        count == 1 ? json_read(str_of(values[0]), a, &no_json) : NULL;
    if (whole && (!words || json_is(whole, JSON_ARRAY) || json_is(whole, JSON_NULL) ||
                  (json_is(whole, JSON_STRING) && !is_list(k))))
        return whole;
    if (!is_list(k) && count > 1) {
        err_set(e, ERR_INVALID, "%s takes one value, not %zu", k->path, count);
        return NULL;
    }
    struct json_writer w = json_writer(&text);
    if (is_list(k))
        json_open_array(&w);
    for (size_t i = 0; i < count; i++) {
        no_json = (struct err){0};
        const struct json *v =
            k->kind == KEY_LIST ? json_read(str_of(values[i]), a, &no_json) : NULL;
        if (v)
            json_put(&w, v);
        else
            json_put_cstr(&w, values[i]);
    }
    if (is_list(k))
        json_close(&w);
    return buf_check(&text, "the value", e) ? json_read(buf_view(&text), a, e) : NULL;
}

struct change {
    struct ward *ward;
    const char *name_of_key; /* as it was given: `key`, or something in it */
    const char *by;
    bool in_vault;
    int dir;
    const char *name; /* of the file, beneath `dir` */
    char *path;       /* of the file, for people */
    const struct key *key;
    bool is_permission; /* that of one name in it */
};

/* The number of the key with permissions of which the path names one, by what that is for;
 * -1: there is none. */
static int find_permission(const struct key_table *t, struct str path)
{
    struct err none = {0};
    for (size_t i = 0; i < t->count; i++) {
        const struct key *k = t->keys[i];
        size_t n = strlen(k->path);
        if (k->kind == KEY_PERMISSIONS && path.n > n && path.at[n] == '.' &&
            !memcmp(path.at, k->path, n) &&
            k->shape->check((struct str){path.at + n + 1, path.n - n - 1}, NULL, &none))
            return (int)i;
    }
    return -1;
}

static bool find_key(struct change *c, const char *name, struct err *e)
{
    const struct key_table *keys = &c->ward->guard->terms.keys;
    int i = find_permission(keys, str_of(name));
    c->is_permission = i >= 0;
    if (i < 0)
        i = key_find(keys, str_of(name));
    if (i < 0) {
        const char *near = key_nearest(keys, str_of(name));
        return err_set(e, ERR_INVALID, "there is no key '%.80s'; %s%s%s", name,
                       near ? "did you mean '" : "'cloche policy show' lists them",
                       near ? near : "", near ? "'?" : "");
    }
    c->key = keys->keys[i];
    c->name_of_key = name;
    if (!c->in_vault || c->key->rule != RULE_USER)
        return true;
    return err_set(e, ERR_INVALID,
                   "only the user's policy can set %s; a vault's policy can only "
                   "restrict",
                   name);
}

/* The value as it will stand at the place that was named; NULL and *e. */
static const struct json *read_value(const struct change *c, const char *const *values,
                                     size_t count, struct arena *a, struct err *e)
{
    struct key one = *c->key;
    if (c->is_permission)
        one.kind = KEY_WORD;
    const struct json *v = read_words(&one, values, count, a, e);
    return v && key_value_check(&one, &c->ward->guard->terms.calls, v, e) ? v : NULL;
}

static bool first_error(const struct problems *p, const struct change *c, struct err *e)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].is_error)
            return err_set(e, ERR_INVALID, "nothing was changed: %s:%u:%u: %s", c->path,
                           p->list[i].line, p->list[i].column, p->list[i].message);
    return true;
}

/* In the trail of the vault whose policy it is, or in the user's own. A trail that cannot
 * be written must not prevent a person from repairing the policy: the next call's record
 * states the change as well. */
static void record_change(const struct change *c, const struct json *value)
{
    struct err e = {0};
    struct guard *g = c->ward->guard;
    scoped_buf struct buf text = buf_of(AUDIT_RECORD_MAX / 2);
    struct json_writer w = json_writer(&text);
    json_open_object(&w);
    json_pair_time(&w, "time", os_real_ms());
    json_pair_cstr(&w, "event", "policy set");
    json_pair_cstr(&w, "caller", c->by);
    json_pair_cstr(&w, "file", c->path);
    json_pair_cstr(&w, "key", c->name_of_key);
    json_key(&w, "value");
    key_put(c->key, value, &w);
    json_close(&w);
    const struct policy *now_in_force = ward_policy(c->ward, &e);
    struct trail *t = c->in_vault ? c->ward->trail : audit_trail(g->audit, NULL);
    if (!text.failed)
        (void)trail_append(t, (struct str){text.at + 1, text.n - 2},
                           now_in_force ? now_in_force->digest : "unusable", STR(""),
                           true, &e);
    policy_release(now_in_force);
}

/* Reads, changes and writes; the lock is held. */
static bool change_apply(const struct change *c, const char *const *values, size_t count,
                         struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(POLICY_MEMORY);
    scoped_buf struct buf old, compact, pretty;
    buf_init(&old, POLICY_FILE_MAX);
    buf_init(&compact, POLICY_FILE_MAX);
    buf_init(&pretty, 2 * POLICY_FILE_MAX);
    struct problems p = {.arena = a};
    struct policy_text t = {.file = c->path, .is_vault = c->in_vault};
    if (!policy_load(c->dir, c->name, &old, e))
        return err_wrap(e, "%s", c->path);
    if (old.at)
        t.text = buf_view(&old);
    policy_text_read(&t, &c->ward->guard->terms, &p);
    if (!first_error(&p, c, e))
        return false;
    const struct json *root = old.at ? json_read(buf_view(&old), a, e) : NULL;
    const struct json *value = count ? read_value(c, values, count, a, e) : NULL;
    if (e->code)
        return err_wrap(e, "nothing was changed: %s", c->name_of_key);
    struct json_writer w = json_writer(&compact);
    put_changed(root, c->name_of_key, value, &w);
    policy_put_pretty(buf_view(&compact), &pretty);
    if (!buf_check(&compact, "the policy", e) || !buf_check(&pretty, "the policy", e) ||
        !os_write_file(c->dir, c->name, buf_view(&pretty), OS_REPLACE, 0600, NULL, e))
        return false;
    record_change(c, value);
    return true;
}

bool ward_set(struct ward *w, bool in_vault, const char *key, const char *const *values,
              size_t count, const char *by, struct err *e)
{
    struct change c = {.ward = w,
                       .by = by,
                       .in_vault = in_vault,
                       .dir = in_vault ? w->dir : w->guard->config,
                       .name = in_vault ? VAULT_POLICY_FILE : POLICY_FILE};
    if (!find_key(&c, key, e))
        return false;
    if (c.dir < 0)
        return err_set(e, ERR_NOT_FOUND, "there is no %s to keep a policy in",
                       in_vault ? "vault" : "configuration folder");
    if (in_vault && !os_make_dirs(w->dir, ".cloche", e))
        return false;
    scoped_fd int lock =
        os_lock(c.dir, in_vault ? ".cloche/policy.lock" : "policy.lock", 0, LOCK_MS, e);
    if (lock < 0)
        return false;
    scoped(free) char *path = policy_path(w, in_vault);
    c.path = path;
    return change_apply(&c, values, count, e);
}
