/* Policies as people see them: what is in force and why, what is wrong with a file,
 * changing one key, and the published schema. */
#include <stdio.h>

#include "guard/policy.h"
#include "os/os.h"

#define TEXT_MAX ((size_t)2 << 20) /* of what is shown */

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

void key_put(const struct key *k, const struct json *v, struct json_writer *w)
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

/* ---- the schema --------------------------------------------------------- */

void policy_put_pretty(struct str text, struct buf *out)
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
    policy_put_pretty(buf_view(&text), out);
    return buf_check(&text, "the schema", e) && buf_check(out, "the schema", e);
}
