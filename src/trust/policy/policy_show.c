/* Policies for people: the values in force and their origin, and the published schema. */
#include <stdio.h>

#include "policy/internal.h"

#define TEXT_MAX ((size_t)2 << 20) /* of what is shown */

/* ---- showing ------------------------------------------------------------ */

static const char *const from_names[] = {"default", "user", "vault"};

void key_put(const struct key *k, const struct json *v, struct json_writer *w)
{
    if (k->shape && k->shape->put)
        k->shape->put(v, w);
    else
        json_put(w, v);
}

static void put_values(const struct policy_state *s, struct json_writer *w)
{
    json_open_array(w);
    for (size_t i = 0; i < s->keys->count; i++) {
        const struct key *k = s->keys->keys[i];
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
        json_pair_bool(w, "vaultMay", k->rule != RULE_USER);
        json_close(w);
    }
    json_close(w);
}

/* The members of a file's object at `prefix` ("network."); as deep as our own table is. */
static void put_shown(const struct key_table *t, const char *prefix,
                      const struct json *object, struct json_writer *w)
{
    struct json_iter it = json_iter(object);
    json_open_object(w);
    while (json_next(&it)) {
        char path[128];
        int n = snprintf(path, sizeof path, "%s%.*s", prefix, STR_ARGS(it.key));
        bool fits = n > 0 && (size_t)n < sizeof path;
        int key = fits ? key_find(t, str_of(path)) : -1;
        json_key_str(w, it.key);
        if (key >= 0) {
            key_put(t->keys[key], it.value, w);
        } else if (fits && (size_t)n + 1 < sizeof path &&
                   json_is(it.value, JSON_OBJECT) && key_is_group(t, str_of(path))) {
            path[n] = '.';
            path[n + 1] = '\0';
            put_shown(t, path, it.value, w);
        } else {
            json_put(w, it.value);
        }
    }
    json_close(w);
}

void policy_put_shown(const struct key_table *keys, const struct json *file,
                      struct json_writer *w)
{
    put_shown(keys, "", file, w);
}

void policy_put_unusual(const struct policy_state *s, struct json_writer *w)
{
    json_key(w, "values");
    json_open_object(w);
    for (size_t i = 0; i < s->keys->count; i++) {
        if (s->from[i] == FROM_DEFAULT)
            continue;
        json_key(w, s->keys->keys[i]->path);
        key_put(s->keys->keys[i], s->value[i], w);
    }
    json_close(w);
}

void policy_put_problems(const struct problems *p, struct json_writer *w)
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

static void put_words(const struct key *k, struct json_writer *w)
{
    json_pair_cstr(w, "type", "string");
    json_key(w, "enum");
    json_open_array(w);
    for (size_t i = 0; k->words[i]; i++)
        json_put_cstr(w, k->words[i]);
    json_close(w);
}

/* The schema of a list's entries. */
static const char *item_schema(const struct key *k)
{
    switch (k->kind) {
    case KEY_PATHS:
        return "{\"type\":\"string\",\"pattern\":\"^/\"}";
    default:
        return k->shape ? k->shape->schema : "{\"type\":\"string\",\"minLength\":1}";
    }
}

static void put_permissions_schema(const struct key *k, struct json_writer *w)
{
    json_pair_cstr(w, "type", "object");
    json_key(w, "propertyNames");
    json_open_object(w);
    json_pair_cstr(w, "pattern", k->shape->schema);
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

static void put_key_schema(const struct key *k, struct json_writer *w)
{
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
    case KEY_OBJECTS:
        json_pair_cstr(w, "type", "object");
        json_pair_raw(w, "additionalProperties", str_of(k->shape->schema));
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

/* ---- all keys ------------------------------------------------------------ */

static void put_tree(const struct key_table *t, const char *prefix,
                     const struct policy_state *s, struct json_writer *w);

/* The schema of an object, where there is no policy, says so around its keys. */
static void put_group(const struct key_table *t, const char *prefix,
                      const struct policy_state *s, struct json_writer *w)
{
    json_open_object(w);
    if (!s) {
        json_pair_cstr(w, "type", "object");
        json_pair_bool(w, "additionalProperties", false);
        json_key(w, "properties");
        json_open_object(w);
    }
    put_tree(t, prefix, s, w);
    json_close(w);
    if (!s)
        json_close(w);
}

/* The keys below `prefix`: values of the policy, or without one their schemas. Groups
 * become objects. As deep as our own table is. */
static void put_tree(const struct key_table *t, const char *prefix,
                     const struct policy_state *s, struct json_writer *w)
{
    size_t n = strlen(prefix);
    char last[64] = "";
    for (size_t i = 0; i < t->count; i++) {
        const struct key *k = t->keys[i];
        if (strncmp(k->path, prefix, n) != 0)
            continue;
        struct str name = {k->path + n, strcspn(k->path + n, ".")};
        if (strlen(last) == name.n && !strncmp(last, name.at, name.n))
            continue; /* in a group that was put */
        json_key_str(w, name);
        if (k->path[n + name.n]) {
            char inner[128];
            (void)snprintf(last, sizeof last, "%.*s", STR_ARGS(name));
            (void)snprintf(inner, sizeof inner, "%s%s.", prefix, last);
            put_group(t, inner, s, w);
        } else if (s) {
            key_put(k, s->value[i], w);
        } else {
            put_key_schema(k, w);
        }
    }
}

void policy_put_state(const struct policy_state *s, struct json_writer *w)
{
    json_key(w, "policy");
    put_group(s->keys, "", s, w);
    json_key(w, "values");
    put_values(s, w);
}

bool policy_schema(const struct key_table *keys, struct buf *out, struct err *e)
{
    scoped_buf struct buf text = buf_of(TEXT_MAX);
    struct json_writer w = json_writer(&text);
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
    put_tree(keys, "", NULL, &w);
    json_close(&w);
    json_close(&w);
    policy_put_pretty(buf_view(&text), out);
    return buf_check(&text, "the schema", e) && buf_check(out, "the schema", e);
}
