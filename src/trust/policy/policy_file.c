/* A policy file: the keys that it may hold, and the positions of its errors. An unknown key
 * is an error, never ignored: it may be a misspelt restriction. */
#include <stdio.h>

#include "egress/egress.h"
#include "policy/internal.h"

/* ---- places in the text ------------------------------------------------- */

/* Steps over one JSON value of valid text, from its first byte. */
static const char *skip_value(const char *at, const char *end)
{
    unsigned depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted) {
            if (*at == '\\')
                at++;
            else if (*at == '"')
                quoted = false;
            if (!quoted && depth == 0)
                return at + 1;
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if (*at == '}' || *at == ']') {
            if (depth <= 1)
                return depth ? at + 1 : at;
            depth--;
        } else if (depth == 0 && (*at == ',' || *at == ' ' || *at == '\n')) {
            return at;
        }
    }
    return end;
}

static const char *skip_to(const char *at, const char *end, const char *what)
{
    while (at < end && !strchr(what, *at))
        at++;
    return at;
}

/* The value of the key within the object that begins at `at`; `end`: not there. Keys
 * with escapes in them are not found: none of ours has any. */
static const char *find_member(const char *at, const char *end, struct str key)
{
    if (at >= end || *at != '{')
        return end;
    at++;
    for (;;) {
        at = skip_to(at, end, "\"}");
        if (at >= end || *at == '}')
            return end;
        const char *name = at + 1;
        at = skip_value(at, end);
        bool found = (size_t)(at - name) == key.n + 1 && !memcmp(name, key.at, key.n);
        at = skip_to(at, end, ":");
        at += at < end;
        while (at < end && strchr(" \t\r\n", *at))
            at++;
        if (found)
            return at;
        at = skip_value(at, end);
    }
}

size_t policy_place(struct str text, const char *key)
{
    const char *end = text.at + text.n;
    const char *at = skip_to(text.at, end, "{");
    while (*key && at < end) {
        size_t n = strcspn(key, ".");
        at = find_member(at, end, (struct str){key, n});
        key += n + (key[n] == '.');
    }
    return at < end ? (size_t)(at - text.at) : 0;
}

/* ---- problems ----------------------------------------------------------- */

void problem_add(struct problems *p, const struct policy_text *t, const char *key,
                 size_t at, bool is_error, const char *fmt, ...)
{
    struct err none = {0};
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    p->errors += is_error;
    if (p->n == PROBLEMS_MAX)
        return;
    struct str said = str_cut(str_of(text), sizeof text - 1);
    struct problem *new = &p->list[p->n];
    *new = (struct problem){.is_error = is_error, .line = 1, .column = 1};
    new->file = arena_copy(p->arena, t->file, strlen(t->file), &none);
    new->key = arena_copy(p->arena, key, strlen(key), &none);
    new->message = arena_copy(p->arena, said.at, said.n, &none);
    if (none.code)
        return; /* no room for more of them; the count of errors shows it */
    p->n++;
    for (size_t i = 0; i < at && i < t->text.n; i++) {
        bool line = t->text.at[i] == '\n';
        new->line += line;
        new->column = line ? 1 : new->column + 1;
    }
}

/* ---- values ------------------------------------------------------------- */

static bool wrong_type(const struct json *v, const char *wanted, struct err *e)
{
    return err_set(e, ERR_INVALID, "is %s; %s is accepted", json_type_name(json_type(v)),
                   wanted);
}

static bool check_word(const struct key *k, const struct json *v, struct err *e)
{
    char known[100] = "";
    for (size_t i = 0; k->words[i]; i++) {
        if (json_is(v, JSON_STRING) && str_is(json_str(v), k->words[i]))
            return true;
        size_t n = strlen(known);
        (void)snprintf(known + n, sizeof known - n, "%s%s", i ? ", " : "", k->words[i]);
    }
    if (!json_is(v, JSON_STRING))
        return wrong_type(v, known, e);
    return err_set(e, ERR_INVALID, "is '%.*s'; %s are accepted",
                   STR_ARGS(str_cut(json_str(v), 60)), known);
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] < ' ' || s.at[i] == 127)
            return true;
    return s.n == 0;
}

bool entry_check_text(const struct json *v, const char *wanted, struct err *e)
{
    if (!json_is(v, JSON_STRING))
        return wrong_type(v, wanted, e);
    if (has_control(json_str(v)))
        return err_set(e, ERR_INVALID,
                       "is empty or holds control characters; %s is accepted", wanted);
    return true;
}

static bool check_call(const struct json *v, const struct known_calls *calls,
                       struct err *e)
{
    struct str name = json_str(v);
    if (!entry_check_text(
            v, "a method such as 'notes.get' or a namespace such as 'links'", e))
        return false;
    if (!calls->n || call_pattern_known(name, calls))
        return true;
    const char *near = str_nearest(name, calls->at, calls->n);
    return err_set(e, ERR_INVALID, "names '%.*s', which is not the name of a call%s%s%s",
                   STR_ARGS(str_cut(name, 60)), near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

bool entry_check_host(const struct json *v, struct err *e)
{
    struct egress_entry entry;
    if (!entry_check_text(v, "a name such as 'api.example.org'", e))
        return false;
    const char *why = egress_entry_read(json_str(v), &entry);
    return !why || err_set(e, ERR_INVALID, "is '%.*s'; %s",
                           STR_ARGS(str_cut(json_str(v), 80)), why);
}

bool entry_check_path(const struct json *v, struct err *e)
{
    struct str s = json_str(v);
    if (!entry_check_text(v, "an absolute path", e))
        return false;
    return s.at[0] == '/' ||
           err_set(e, ERR_INVALID, "is '%.*s'; an absolute path is accepted",
                   STR_ARGS(str_cut(s, 100)));
}

/* An object of entries, each with a name. */
static bool check_object(const struct key *k, const struct json *v, struct err *e)
{
    if (!json_is(v, JSON_OBJECT))
        return wrong_type(v, k->shape->wanted, e);
    if (json_length(v) > (size_t)k->high)
        return err_set(e, ERR_INVALID, "has %zu %s; at most %lld are accepted",
                       json_length(v), k->shape->what, (long long)k->high);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        struct err inner = {0};
        if (k->kind == KEY_OBJECTS && has_control(it.key))
            return err_set(e, ERR_INVALID, "a name is empty or holds control characters");
        if (!k->shape->check(it.key, it.value, e))
            return false;
        if (k->kind == KEY_PERMISSIONS && !check_word(k, it.value, &inner))
            return err_set(e, ERR_INVALID, "has a permission of %.*s that %s",
                           STR_ARGS(it.key), inner.msg);
    }
    return true;
}

static bool check_item(const struct key *k, const struct known_calls *calls,
                       const struct json *v, struct err *e)
{
    switch (k->kind) {
    case KEY_CALLS:
        return check_call(v, calls, e);
    case KEY_HOSTS:
        return entry_check_host(v, e);
    case KEY_PATHS:
        return entry_check_path(v, e);
    default:
        return k->shape ? k->shape->check(STR(""), v, e)
                        : entry_check_text(v, "a string", e);
    }
}

static bool check_list(const struct key *k, const struct known_calls *calls,
                       const struct json *v, struct err *e)
{
    if (!json_is(v, JSON_ARRAY))
        return wrong_type(v, "a list", e);
    if (json_length(v) > (size_t)k->high)
        return err_set(e, ERR_INVALID, "has %zu entries; at most %lld are accepted",
                       json_length(v), (long long)k->high);
    struct json_iter it = json_iter(v);
    for (size_t i = 0; json_next(&it); i++) {
        struct err inner = {0};
        if (!check_item(k, calls, it.value, &inner))
            return err_set(e, ERR_INVALID, "entry %zu %s", i + 1, inner.msg);
    }
    return true;
}

bool entry_check_fields(const struct json *v, const char *const *known, const char *what,
                        struct err *e)
{
    if (!json_is(v, JSON_OBJECT))
        return wrong_type(v, what, e);
    struct json_iter it = json_iter(v);
    while (json_next(&it)) {
        size_t i = 0;
        while (known[i] && !str_is(it.key, known[i]))
            i++;
        if (!known[i])
            return err_set(e, ERR_INVALID, "has the field '%.*s'; %s is accepted",
                           STR_ARGS(str_cut(it.key, 40)), what);
    }
    return true;
}

bool key_value_check(const struct key *k, const struct known_calls *calls,
                     const struct json *v, struct err *e)
{
    if (json_is(v, JSON_NULL) && !strcmp(k->usual, "null"))
        return true;
    switch (k->kind) {
    case KEY_BOOL:
        return json_is(v, JSON_BOOL) || wrong_type(v, "true or false", e);
    case KEY_INT:
        if (json_is_int(v) && json_int(v, 0) >= k->low && json_int(v, 0) <= k->high)
            return true;
        return err_set(e, ERR_INVALID, "is not an integer from %lld to %lld",
                       (long long)k->low, (long long)k->high);
    case KEY_WORD:
        return check_word(k, v, e);
    case KEY_URL:
        if (!entry_check_text(v, "a URL", e))
            return false;
        return str_starts(json_str(v), "https://") ||
               str_starts(json_str(v), "http://") ||
               err_set(e, ERR_INVALID,
                       "is not a URL; one that begins with https:// is accepted");
    case KEY_OBJECTS:
    case KEY_PERMISSIONS:
        return check_object(k, v, e);
    default:
        return check_list(k, calls, v, e);
    }
}

/* ---- the whole ---------------------------------------------------------- */

static const struct json *value_at(const struct json *root, const char *path)
{
    while (*path && root) {
        size_t n = strcspn(path, ".");
        root = json_get_str(root, (struct str){path, n});
        path += n + (path[n] == '.');
    }
    return root;
}

/* An unknown call in a vault's policy may be one of a newer version; it restricts nothing
 * here. */
static bool is_excused(const struct policy_text *t, const struct key *k)
{
    return t->is_vault && k->kind == KEY_CALLS;
}

static void take_value(struct policy_text *t, const struct policy_terms *g, size_t i,
                       const struct json *v, struct problems *p)
{
    const struct key *k = g->keys.keys[i];
    const struct known_calls any = {0};
    struct err e = {0}, again = {0};
    bool ok = key_value_check(k, &g->calls, v, &e);
    bool excused = !ok && is_excused(t, k) && key_value_check(k, &any, v, &again);
    if (!ok)
        problem_add(p, t, k->path, policy_place(t->text, k->path), !excused, "%s %s",
                    k->path, e.msg);
    if (ok || excused)
        t->value[i] = v;
}

static void refuse_key(struct policy_text *t, const struct policy_terms *g,
                       const char *path, struct problems *p)
{
    const char *near = key_nearest(&g->keys, str_of(path));
    problem_add(p, t, path, policy_place(t->text, path), true,
                "there is no key '%.80s'%s%s%s", path, near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "");
}

/* An object of the file: the keys within `group` ("" for the outermost). */
static void check_group(struct policy_text *t, const struct policy_terms *g,
                        const struct json *object, const char *group, struct problems *p)
{
    struct json_iter it = json_iter(object);
    while (json_next(&it)) {
        struct err none = {0};
        char *path = arena_printf(p->arena, &none, "%s%s%.*s", group, *group ? "." : "",
                                  STR_ARGS(str_cut(it.key, 80)));
        if (!path || (!*group && str_is(it.key, "$schema")))
            continue;
        if (memchr(it.key.at, '.', it.key.n) || (key_find(&g->keys, str_of(path)) < 0 &&
                                                 !key_is_group(&g->keys, str_of(path))))
            refuse_key(t, g, path, p);
        else if (key_is_group(&g->keys, str_of(path)) && !json_is(it.value, JSON_OBJECT))
            problem_add(p, t, path, policy_place(t->text, path), true,
                        "%s is %s; an object is accepted", path,
                        json_type_name(json_type(it.value)));
    }
}

/* Each group once: keys of one stand together, those above it first. */
static void check_groups(struct policy_text *t, const struct policy_terms *g,
                         const struct json *root, struct problems *p)
{
    char last[64] = "";
    check_group(t, g, root, "", p);
    for (size_t i = 0; i < g->keys.count; i++) {
        const char *path = g->keys.keys[i]->path;
        for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
            size_t n = (size_t)(dot - path);
            if (!strncmp(last, path, n) && (last[n] == '\0' || last[n] == '.'))
                continue;
            (void)snprintf(last, sizeof last, "%.*s", (int)n, path);
            const struct json *object = value_at(root, last);
            if (json_is(object, JSON_OBJECT))
                check_group(t, g, object, last, p);
        }
    }
}

/* json_read() says "... at byte N". */
static size_t byte_of(const struct err *e)
{
    const char *at = strstr(e->msg, "at byte ");
    return at ? (size_t)strtoull(at + 8, NULL, 10) : 0;
}

void policy_text_read(struct policy_text *t, const struct policy_terms *g,
                      struct problems *p)
{
    struct err e = {0};
    if (!t->text.at)
        return; /* no file */
    const struct json *root = json_read(t->text, p->arena, &e);
    if (root && !json_is(root, JSON_OBJECT))
        err_set(&e, ERR_INVALID, "is %s; an object is accepted",
                json_type_name(json_type(root)));
    if (e.code) {
        problem_add(p, t, "", byte_of(&e), true, "%s", e.msg);
        return;
    }
    check_groups(t, g, root, p);
    for (size_t i = 0; i < g->keys.count; i++) {
        const struct json *v = value_at(root, g->keys.keys[i]->path);
        if (v)
            take_value(t, g, i, v, p);
    }
}
