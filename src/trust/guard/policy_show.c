/* Policies as people see them: what is in force and why, what is wrong with a file,
 * changing one key, and the published schema. */
#include <stdio.h>

#include "guard/policy.h"
#include "os/os.h"

#define TEXT_MAX ((size_t)2 << 20) /* of what is shown */
#define LOCK_MS 5000u

/* ---- showing ------------------------------------------------------------ */

static const char *const from_names[] = {"default", "user", "vault"};

/* A secret's own value is never shown. */
static void put_secrets(const struct json *secrets, struct json_writer *w)
{
    struct json_iter it = json_iter(secrets);
    json_open_object(w);
    while (json_next(&it)) {
        struct json_iter field = json_iter(it.value);
        json_key_str(w, it.key);
        json_open_object(w);
        while (json_next(&field)) {
            json_key_str(w, field.key);
            if (str_is(field.key, "value"))
                json_put_cstr(w, "(not shown)");
            else
                json_put(w, field.value);
        }
        json_close(w);
    }
    json_close(w);
}

static void key_put(const struct key *k, const struct json *v, struct json_writer *w)
{
    if (k->kind == KEY_SECRETS)
        put_secrets(v, w);
    else
        json_put(w, v);
}

static void put_values(const struct policy_state *s, struct json_writer *w)
{
    json_open_array(w);
    for (size_t i = 0; i < policy_key_count; i++) {
        const struct key *k = &policy_keys[i];
        json_open_object(w);
        json_pair_cstr(w, "key", k->path);
        json_key(w, "value");
        key_put(k, s->value[i], w);
        json_pair_cstr(w, "from", from_names[s->from[i]]);
        if (s->also[i]) {
            json_key(w, "and");
            json_put(w, s->also[i]);
        }
        json_pair_cstr(w, "summary", k->summary);
        json_close(w);
    }
    json_close(w);
}

/* The keys below `prefix`, each put by `put`; groups within it become objects. As deep
 * as our own table is. */
static void put_tree(const char *prefix, void (*put)(void *arg, size_t key), void *arg,
                     void (*open)(void *arg), void (*close)(void *arg),
                     struct json_writer *w)
{
    size_t n = strlen(prefix);
    char last[64] = "";
    for (size_t i = 0; i < policy_key_count; i++) {
        const char *path = policy_keys[i].path;
        if (strncmp(path, prefix, n) != 0)
            continue;
        struct str name = {path + n, strcspn(path + n, ".")};
        if (!path[n + name.n]) {
            json_key_str(w, name);
            put(arg, i);
        } else if (strlen(last) != name.n || strncmp(last, name.at, name.n) != 0) {
            char inner[128];
            (void)snprintf(last, sizeof last, "%.*s", STR_ARGS(name));
            (void)snprintf(inner, sizeof inner, "%s%s.", prefix, last);
            json_key_str(w, name);
            open(arg);
            put_tree(inner, put, arg, open, close, w);
            close(arg);
        }
    }
}

void policy_put_unusual(const struct policy_state *s, struct json_writer *w)
{
    json_key(w, "values");
    json_open_object(w);
    for (size_t i = 0; i < policy_key_count; i++) {
        if (s->from[i] == FROM_DEFAULT)
            continue;
        json_key(w, policy_keys[i].path);
        key_put(&policy_keys[i], s->value[i], w);
    }
    json_close(w);
}

struct shown {
    struct json_writer *w;
    const struct policy_state *state;
};

static void put_shown(void *arg, size_t key)
{
    const struct shown *s = arg;
    key_put(&policy_keys[key], s->state->value[key], s->w);
}

static void open_shown(void *arg)
{
    json_open_object(((const struct shown *)arg)->w);
}

static void close_shown(void *arg)
{
    json_close(((const struct shown *)arg)->w);
}

static void put_problems(const struct problems *p, struct json_writer *w)
{
    json_key(w, "problems");
    json_open_array(w);
    for (size_t i = 0; i < p->n; i++) {
        const struct problem *one = &p->list[i];
        json_open_object(w);
        json_pair_cstr(w, "file", one->file);
        json_pair_int(w, "line", one->line);
        json_pair_int(w, "column", one->column);
        json_pair_cstr(w, "key", one->key);
        json_pair_cstr(w, "severity", one->is_error ? "error" : "warning");
        json_pair_cstr(w, "message", one->message);
        json_close(w);
    }
    json_close(w);
}

static void policy_put_file(const struct ward *w, bool in_vault, struct json_writer *out)
{
    struct err none = {0};
    struct os_stat st;
    scoped(free) char *path = policy_path(w, in_vault);
    int dir = in_vault ? w->dir : w->guard->config;
    if (in_vault && dir < 0)
        return;
    json_open_object(out);
    json_pair_cstr(out, "from", in_vault ? "vault" : "user");
    json_pair_cstr(out, "file", path);
    json_pair_bool(
        out, "there",
        dir >= 0 &&
            os_stat_beneath(dir, in_vault ? VAULT_POLICY_FILE : POLICY_FILE, &st, &none));
    json_close(out);
}

bool ward_show(struct ward *w, struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    const struct policy_state *s = ward_read(w, &p, e);
    if (!s)
        return false;
    struct json_writer writer = json_writer(out);
    struct shown shown = {&writer, s};
    json_open_object(&writer);
    json_key(&writer, "policy");
    json_open_object(&writer);
    put_tree("", put_shown, &shown, open_shown, close_shown, &writer);
    json_close(&writer);
    json_key(&writer, "values");
    put_values(s, &writer);
    json_key(&writer, "files");
    json_open_array(&writer);
    policy_put_file(w, false, &writer);
    policy_put_file(w, true, &writer);
    json_close(&writer);
    put_problems(&p, &writer);
    json_pair_cstr(&writer, "digest", s->shown.digest);
    json_close(&writer);
    return buf_check(out, "the policy", e);
}

/* ---- checking ----------------------------------------------------------- */

static bool put_check(const struct problems *p, struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_bool(&w, "ok", p->errors == 0);
    put_problems(p, &w);
    json_close(&w);
    return buf_check(out, "the problems", e);
}

bool guard_check(struct guard *g, const char *file, struct str text, bool vault,
                 struct buf *out, struct err *e)
{
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    struct policy_text t = {.file = file, .is_vault = vault, .text = text};
    struct policy_text nothing = {.file = POLICY_FILE};
    if (text.n > POLICY_FILE_MAX)
        return err_set(e, ERR_LIMIT, "%s has %zu bytes; at most %zu are accepted", file,
                       text.n, POLICY_FILE_MAX);
    policy_text_read(&t, &g->calls, &p);
    if (vault && !p.errors && !policy_merge(&nothing, &t, &p, arena, e))
        return false;
    return put_check(&p, out, e);
}

bool ward_check(struct ward *w, struct buf *out, struct err *e)
{
    struct err refused = {0};
    scoped(arena_free) struct arena *arena = arena_new(POLICY_MEMORY);
    struct problems p = {.arena = arena};
    if (!ward_read(w, &p, &refused) && !p.errors) {
        *e = refused; /* no file is to blame */
        return false;
    }
    return put_check(&p, out, e);
}

/* ---- changing ----------------------------------------------------------- */

/* JSON with line ends and two spaces a level, as a person would write it. */
static void put_pretty(struct str text, struct buf *out)
{
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.at[i];
        if (quoted) {
            buf_char(out, c);
            if (c == '\\' && i + 1 < text.n)
                buf_char(out, text.at[++i]);
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        bool closes = c == '}' || c == ']', opens = c == '{' || c == '[';
        bool empty = opens && i + 1 < text.n && text.at[i + 1] == c + 2;
        depth -= closes && text.at[i - 1] != c - 2;
        if (closes && text.at[i - 1] != c - 2)
            buf_printf(out, "\n%*s", (int)(2 * depth), "");
        buf_char(out, c);
        depth += opens && !empty;
        if ((opens && !empty) || c == ',')
            buf_printf(out, "\n%*s", (int)(2 * depth), "");
        if (c == ':')
            buf_char(out, ' ');
    }
    buf_char(out, '\n');
}

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
           k->kind == KEY_PATHS || k->kind == KEY_MOUNTS || k->kind == KEY_TOOLS ||
           k->kind == KEY_VAULTS;
}

/* Words of the command line as JSON: what is JSON as it stands, all else as text. */
static const struct json *read_words(const struct key *k, const char *const *values,
                                     size_t count, struct arena *a, struct err *e)
{
    scoped_buf struct buf text = buf_of(POLICY_FILE_MAX);
    struct err no_json = {0};
    bool words = k->kind != KEY_BOOL && k->kind != KEY_INT && k->kind != KEY_SECRETS &&
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
            k->kind == KEY_MOUNTS ? json_read(str_of(values[i]), a, &no_json) : NULL;
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
};

#define PERMISSIONS "tools.permissions"

/* The tool in "tools.permissions.jq"; empty: it is no such key. */
static struct str tool_of(const char *name)
{
    struct str s = str_of(name);
    size_t n = strlen(PERMISSIONS ".");
    return str_starts(s, PERMISSIONS ".") ? (struct str){s.at + n, s.n - n} : STR("");
}

static bool find_key(struct change *c, const char *name, struct err *e)
{
    bool one_tool = tool_name_fits(tool_of(name));
    int i = key_find(one_tool ? STR(PERMISSIONS) : str_of(name));
    if (i < 0) {
        const char *near = key_nearest(str_of(name));
        return err_set(e, ERR_INVALID, "there is no key '%.80s'; %s%s%s", name,
                       near ? "did you mean '" : "'cloche policy show' lists them",
                       near ? near : "", near ? "'?" : "");
    }
    c->key = &policy_keys[i];
    c->name_of_key = name;
    if (!c->in_vault || c->key->rule != RULE_USER)
        return true;
    return err_set(e, ERR_INVALID,
                   "%s is the user's alone to set; a vault's policy may only take away",
                   name);
}

/* The value as it will stand at the place that was named; NULL and *e. */
static const struct json *read_value(const struct change *c, const char *const *values,
                                     size_t count, struct arena *a, struct err *e)
{
    struct key one = *c->key;
    if (tool_of(c->name_of_key).n)
        one.kind = KEY_WORD;
    const struct json *v = read_words(&one, values, count, a, e);
    return v && key_value_check(&one, &c->ward->guard->calls, v, e) ? v : NULL;
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
 * be written must not keep a person from the policy that could mend it: the next call's
 * record tells of the change as well. */
static void record_change(const struct change *c, const struct json *value)
{
    struct err e = {0};
    struct guard *g = c->ward->guard;
    scoped_buf struct buf text = buf_of(AUDIT_RECORD_MAX / 2);
    struct json_writer w = json_writer(&text);
    char now[25];
    os_format_utc(os_real_ms(), now);
    json_open_object(&w);
    json_pair_cstr(&w, "time", now);
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
    policy_text_read(&t, &c->ward->guard->calls, &p);
    if (!first_error(&p, c, e))
        return false;
    const struct json *root = old.at ? json_read(buf_view(&old), a, e) : NULL;
    const struct json *value = count ? read_value(c, values, count, a, e) : NULL;
    if (e->code)
        return err_wrap(e, "nothing was changed: %s", c->name_of_key);
    struct json_writer w = json_writer(&compact);
    put_changed(root, c->name_of_key, value, &w);
    put_pretty(buf_view(&compact), &pretty);
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

/* ---- the schema --------------------------------------------------------- */

struct described {
    struct json_writer *w;
};

static void put_words(const struct key *k, struct json_writer *w)
{
    json_pair_cstr(w, "type", "string");
    json_key(w, "enum");
    json_open_array(w);
    for (size_t i = 0; k->words[i]; i++)
        json_put_cstr(w, k->words[i]);
    json_close(w);
}

#define TOOL_PATTERN "^[a-z][a-z0-9_-]{0,63}$"

/* The schema of a list's entries. */
static const char *item_schema(const struct key *k)
{
    switch (k->kind) {
    case KEY_MOUNTS:
        return "{\"type\":\"object\",\"properties\":{\"guest\":{\"type\":\"string\","
               "\"pattern\":\"^/\"},\"host\":{\"type\":\"string\",\"pattern\":\"^/\"},"
               "\"mode\":{\"enum\":[\"ro\",\"rw\"]}},\"required\":[\"guest\",\"host\"],"
               "\"additionalProperties\":false}";
    case KEY_PATHS:
        return "{\"type\":\"string\",\"pattern\":\"^/\"}";
    case KEY_TOOLS:
        return "{\"type\":\"string\",\"pattern\":\"" TOOL_PATTERN "\"}";
    default:
        return "{\"type\":\"string\",\"minLength\":1}";
    }
}

static const char secrets_schema[] =
    "{\"type\":\"object\",\"properties\":{\"value\":{\"type\":\"string\",\"minLength\":1},"
    "\"env\":{\"type\":\"string\",\"minLength\":1},"
    "\"file\":{\"type\":\"string\",\"minLength\":1},"
    "\"hosts\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1},"
    "\"header\":{\"type\":\"string\",\"minLength\":1},"
    "\"format\":{\"type\":\"string\",\"minLength\":1}},\"required\":[\"hosts\"],"
    "\"additionalProperties\":false}";

static void put_permissions_schema(const struct key *k, struct json_writer *w)
{
    json_pair_cstr(w, "type", "object");
    json_key(w, "propertyNames");
    json_open_object(w);
    json_pair_cstr(w, "pattern", TOOL_PATTERN);
    json_close(w);
    json_key(w, "additionalProperties");
    json_open_object(w);
    put_words(k, w);
    json_close(w);
    json_pair_int(w, "maxProperties", k->high);
}

static void put_list_schema(const struct key *k, struct json_writer *w)
{
    bool may_miss = !strcmp(k->usual, "null");
    json_pair_raw(w, "type", may_miss ? STR("[\"array\",\"null\"]") : STR("\"array\""));
    json_pair_raw(w, "items", str_of(item_schema(k)));
    json_pair_int(w, "maxItems", k->high);
}

static void put_key_schema(void *arg, size_t key)
{
    struct json_writer *w = ((const struct described *)arg)->w;
    const struct key *k = &policy_keys[key];
    json_open_object(w);
    switch (k->kind) {
    case KEY_BOOL:
        json_pair_cstr(w, "type", "boolean");
        break;
    case KEY_INT:
        json_pair_cstr(w, "type", "integer");
        json_pair_int(w, "minimum", k->low);
        json_pair_int(w, "maximum", k->high);
        break;
    case KEY_WORD:
        put_words(k, w);
        break;
    case KEY_URL:
        json_pair_raw(w, "type", STR("[\"string\",\"null\"]"));
        json_pair_cstr(w, "pattern", "^https?://");
        break;
    case KEY_SECRETS:
        json_pair_cstr(w, "type", "object");
        json_pair_raw(w, "additionalProperties", str_of(secrets_schema));
        json_pair_int(w, "maxProperties", k->high);
        break;
    case KEY_PERMISSIONS:
        put_permissions_schema(k, w);
        break;
    default:
        put_list_schema(k, w);
    }
    json_pair_raw(w, "default", str_of(k->usual));
    json_pair_cstr(w, "description", k->summary);
    json_close(w);
}

static void open_described(void *arg)
{
    struct json_writer *w = ((const struct described *)arg)->w;
    json_open_object(w);
    json_pair_cstr(w, "type", "object");
    json_pair_bool(w, "additionalProperties", false);
    json_key(w, "properties");
    json_open_object(w);
}

static void close_described(void *arg)
{
    struct json_writer *w = ((const struct described *)arg)->w;
    json_close(w);
    json_close(w);
}

bool guard_schema(struct buf *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(TEXT_MAX);
    struct json_writer w = json_writer(&text);
    struct described d = {&w};
    json_open_object(&w);
    json_pair_cstr(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_pair_cstr(&w, "title", "A policy of Cloche");
    json_pair_cstr(&w, "type", "object");
    json_pair_bool(&w, "additionalProperties", false);
    json_key(&w, "properties");
    json_open_object(&w);
    json_key(&w, "$schema");
    json_open_object(&w);
    json_pair_cstr(&w, "type", "string");
    json_close(&w);
    put_tree("", put_key_schema, &d, open_described, close_described, &w);
    json_close(&w);
    json_close(&w);
    put_pretty(buf_view(&text), out);
    return buf_check(&text, "the schema", e) && buf_check(out, "the schema", e);
}
