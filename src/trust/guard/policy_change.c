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
    const char *name; /* of the file, beneath `dir` */
    char *path;       /* of the file, for people */
    const struct key *key;
    struct str entry;         /* the name of an entry of KEY_OBJECTS; empty: all of it */
    const struct json *value; /* NULL: it is taken out */
    int dir;
    bool in_vault;
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

/* The number of the key of objects of which the path names an entry; -1: there is none. */
static int find_entry(const struct key_table *t, const char *path, struct str *entry)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct key *k = t->keys[i];
        size_t n = strlen(k->path);
        if (k->kind != KEY_OBJECTS || strncmp(path, k->path, n) != 0 || path[n] != '.' ||
            !path[n + 1] || strchr(path + n + 1, '.'))
            continue;
        *entry = str_of(path + n + 1);
        return (int)i;
    }
    return -1;
}

static bool find_key(struct change *c, const char *name, struct err *e)
{
    const struct key_table *keys = &c->ward->guard->terms.keys;
    int i = find_permission(keys, str_of(name));
    c->is_permission = i >= 0;
    c->entry = STR("");
    if (i < 0)
        i = find_entry(keys, name, &c->entry);
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

/* Is it fit for the place that was named? */
static bool check_value(const struct change *c, const struct json *v, struct err *e)
{
    struct key one = *c->key;
    if (c->is_permission)
        one.kind = KEY_WORD;
    if (c->entry.n)
        return one.shape->check(c->entry, v, e);
    return key_value_check(&one, &c->ward->guard->terms.calls, v, e);
}

/* The value as it will stand at the place that was named; NULL and *e. */
static const struct json *read_value(const struct change *c, const char *const *values,
                                     size_t count, struct arena *a, struct err *e)
{
    struct key one = *c->key;
    if (c->is_permission)
        one.kind = KEY_WORD;
    const struct json *v = read_words(&one, values, count, a, e);
    return v && check_value(c, v, e) ? v : NULL;
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
static void put_value(const struct change *c, const struct json *value,
                      struct json_writer *w)
{
    if (!value) {
        json_put_null(w);
        return;
    }
    if (!c->entry.n) {
        key_put(c->key, value, w);
        return;
    }
    /* As an object with this entry alone, which the key's shape knows how to show. */
    struct err none = {0};
    scoped(arena_free) struct arena *a = arena_new(POLICY_MEMORY);
    scoped_buf struct buf text = buf_of(POLICY_FILE_MAX);
    struct json_writer one = json_writer(&text);
    json_open_object(&one);
    json_key_str(&one, c->entry);
    json_put(&one, value);
    json_close(&one);
    key_put(c->key, json_read(buf_view(&text), a, &none), w);
}

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
    put_value(c, value, &w);
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

static struct change change_of(struct ward *w, bool in_vault, const char *by)
{
    return (struct change){.ward = w,
                           .by = by,
                           .in_vault = in_vault,
                           .dir = in_vault ? w->dir : w->guard->config,
                           .name = in_vault ? VAULT_POLICY_FILE : POLICY_FILE};
}

/* The lock of the file; -1 and *e. */
static int change_lock(const struct change *c, struct err *e)
{
    if (c->dir < 0) {
        err_set(e, ERR_NOT_FOUND, "there is no %s to keep a policy in",
                c->in_vault ? "vault" : "configuration folder");
        return -1;
    }
    if (c->in_vault && !os_make_dirs(c->dir, ".cloche", e))
        return -1;
    return os_lock(c->dir, c->in_vault ? ".cloche/policy.lock" : "policy.lock", 0,
                   LOCK_MS, e);
}

bool ward_set(struct ward *w, bool in_vault, const char *key, const char *const *values,
              size_t count, const char *by, struct err *e)
{
    struct change c = change_of(w, in_vault, by);
    if (!find_key(&c, key, e))
        return false;
    scoped_fd int lock = change_lock(&c, e);
    if (lock < 0)
        return false;
    scoped(free) char *path = policy_path(w, in_vault);
    c.path = path;
    return change_apply(&c, values, count, e);
}

/* ---- several at once ------------------------------------------------------- */

/* Reads the edits; of those that are wrong `p` is told, in the order in which they are. */
static size_t edits_read(const struct change *base, const struct json *edits,
                         struct change *out, struct problems *p)
{
    const struct policy_text none = {.file = base->path};
    size_t n = 0;
    struct json_iter it = json_iter(edits);
    while (json_next(&it) && n < WARD_EDITS_MAX) {
        struct err e = {0};
        struct change c = *base;
        const char *key = json_cstr(json_get(it.value, "key"));
        c.value = json_get(it.value, "value");
        if (find_key(&c, key, &e) && (!c.value || check_value(&c, c.value, &e)))
            out[n++] = c;
        else
            problem_add(p, &none, key, 0, true, "%s", e.msg);
    }
    return n;
}

/* The file's object with all edits made; NULL and *e. */
static const struct json *edits_apply(const struct change *edits, size_t n,
                                      const struct json *root, struct arena *a,
                                      struct err *e)
{
    for (size_t i = 0; i < n && !e->code; i++) {
        scoped_buf struct buf text = buf_of(2 * POLICY_FILE_MAX);
        struct json_writer w = json_writer(&text);
        put_changed(root, edits[i].name_of_key, edits[i].value, &w);
        root =
            buf_check(&text, "the policy", e) ? json_read(buf_view(&text), a, e) : NULL;
    }
    return e->code ? NULL : root;
}

/* The file's text. `shown`: as people see it. */
static bool put_file(const struct change *c, const struct json *root, bool shown,
                     struct buf *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(2 * POLICY_FILE_MAX);
    struct json_writer w = json_writer(&text);
    if (!root) {
        json_open_object(&w);
        json_close(&w);
    } else if (shown) {
        policy_put_shown(&c->ward->guard->terms.keys, root, &w);
    } else {
        json_put(&w, root);
    }
    policy_put_pretty(buf_view(&text), out);
    return buf_check(&text, "the policy", e) && buf_check(out, "the policy", e);
}

/* What the edits come to, with the states before and after; the file's text is left in
 * `pretty`, empty where it cannot be. */
static bool edits_try(struct change *base, const struct ward_edits *x, struct change *all,
                      size_t *count, bool *wider, struct buf *pretty, struct problems *p,
                      struct json_writer *w, struct err *e)
{
    struct err why = {0};
    struct problems before_p = {.arena = p->arena};
    scoped_buf struct buf old = buf_of(POLICY_FILE_MAX), shown = buf_of(TEXT_MAX);
    if (!policy_load(base->dir, base->name, &old, e))
        return err_wrap(e, "%s", base->path);
    const struct policy_state *before = ward_read(base->ward, &before_p, &why);
    const struct policy_state *after = NULL;
    const struct json *root = old.n ? json_read(buf_view(&old), p->arena, &why) : NULL;
    *count = edits_read(base, x->edits, all, p);
    if (!p->errors && !why.code)
        root = edits_apply(all, *count, root, p->arena, &why);
    bool made = !why.code && put_file(base, root, true, &shown, &why) &&
                put_file(base, root, false, pretty, &why);
    if (made && !p->errors)
        after = ward_read_with(base->ward, base->in_vault, buf_view(pretty), p, &why);
    json_pair_bool(w, "ok", after && !p->errors);
    json_pair_str(w, "text", buf_view(&shown));
    if (before && after)
        *wider = policy_put_changes(before, after, w) > 0;
    json_pair_bool(w, "wider", *wider);
    if (!before && before_p.errors)
        policy_put_problems(&before_p, w); /* of the file as it is */
    else
        policy_put_problems(p, w);
    if (!after)
        buf_clear(pretty);
    if (!after && !p->errors && !before_p.errors) {
        *e = why;
        return false;
    }
    return true;
}

bool ward_edit(struct ward *w, const struct ward_edits *x, bool *made, struct buf *out,
               struct err *e)
{
    struct change base = change_of(w, x->in_vault, x->by), all[WARD_EDITS_MAX];
    scoped(free) char *path = policy_path(w, x->in_vault);
    scoped(arena_free) struct arena *a = arena_new(4 * POLICY_MEMORY);
    scoped_buf struct buf pretty = buf_of(POLICY_FILE_MAX);
    struct problems p = {.arena = a};
    size_t n = 0;
    bool wider = false;
    *made = false;
    base.path = path;
    if (!json_is(x->edits, JSON_ARRAY) || json_length(x->edits) > WARD_EDITS_MAX)
        return err_set(e, ERR_INVALID, "a list of at most %u {key, value} is accepted",
                       WARD_EDITS_MAX);
    scoped_fd int lock = change_lock(&base, e);
    if (lock < 0)
        return false;
    struct json_writer writer = json_writer(out);
    json_open_object(&writer);
    if (!edits_try(&base, x, all, &n, &wider, &pretty, &p, &writer, e))
        return false;
    json_close(&writer);
    if (!x->by || !n || !pretty.n || (wider && !x->agreed))
        return buf_check(out, "the policy", e);
    if (!os_write_file(base.dir, base.name, buf_view(&pretty), OS_REPLACE, 0600, NULL, e))
        return false;
    *made = true;
    for (size_t i = 0; i < n; i++)
        record_change(&all[i], all[i].value);
    return buf_check(out, "the policy", e);
}
