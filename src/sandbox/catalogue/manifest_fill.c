/* Fills the struct that the other rooms know from a manifest. */
#include <stdio.h>

#include "catalogue/manifest.h"

#define MEMORY_USUAL ((int64_t)64 << 20) /* bytes */
#define TIMEOUT_USUAL 30000              /* ms */

static int named(struct str word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(word, words[i]))
            return (int)i;
    return 0;
}

static const char *const types[] = {"string", "number", "boolean", "array", "object"};

static enum tool_type type_named(struct str word)
{
    return str_is(word, "integer") ? TOOL_NUMBER
                                   : (enum tool_type)named(word, types, LENGTH(types));
}

const char *tool_type_name(enum tool_type type)
{
    return type < LENGTH(types) ? types[type] : "";
}

/* NULL: it is not there, or holds a NUL. */
static const char *text(const struct json *object, const char *key, struct arena *a)
{
    struct err none = {0};
    const struct json *v = json_get(object, key);
    return json_is(v, JSON_STRING) ? str_cz(json_str(v), a, &none) : NULL;
}

static const char *text_or(const struct json *object, const char *key, struct arena *a)
{
    const char *s = text(object, key, a);
    return s ? s : "";
}

/* Choices of a number may be spelt as strings. */
static const struct json *numbers(const struct json *choices, struct arena *a)
{
    struct err none = {0};
    scoped_buf struct buf all = buf_of(MANIFEST_MAX);
    struct json_writer w = json_writer(&all);
    json_open_array(&w);
    struct json_iter it = json_iter(choices);
    while (json_next(&it)) {
        if (json_is(it.value, JSON_STRING))
            json_put_raw(&w, json_str(it.value));
        else
            json_put(&w, it.value);
    }
    json_close(&w);
    return json_read(buf_view(&all), a, &none);
}

static void fill_parameter(struct str name, const struct json *v, struct arena *a,
                           struct tool_parameter *p)
{
    struct err none = {0};
    const struct json *choices = json_get(v, "enum"), *usual = json_get(v, "default");
    p->name = str_cz(name, a, &none);
    if (!p->name)
        p->name = "";
    p->description = text_or(v, "description", a);
    p->type = type_named(json_str(json_get(v, "type")));
    p->items = type_named(json_str(json_get(json_get(v, "items"), "type")));
    if (json_length(choices) && p->type == TOOL_STRING)
        p->choices = choices;
    else if (json_length(choices) && p->type == TOOL_NUMBER)
        p->choices = numbers(choices, a);
    p->default_value = json_is(usual, JSON_NULL) ? NULL : usual;
    p->flag = text(v, "flag", a);
    p->position = (int)json_int(json_get(v, "position"), 0);
}

static bool fill_parameters(const struct json *m, struct arena *a, struct tool *t,
                            struct err *e)
{
    const struct json *parameters = json_get(m, "parameters"),
                      *properties = json_get(parameters, "properties");
    size_t n = json_length(properties);
    struct tool_parameter *all = arena_get(a, (n + 1) * sizeof *all, e);
    if (!all)
        return false;
    struct json_iter it = json_iter(properties);
    for (size_t i = 0; json_next(&it); i++)
        fill_parameter(it.key, it.value, a, &all[i]);
    for (struct json_iter r = json_iter(json_get(parameters, "required")); json_next(&r);)
        for (size_t i = 0; i < n; i++)
            all[i].required |= str_is(json_str(r.value), all[i].name);
    t->parameters = all;
    t->parameter_count = n;
    return true;
}

static bool fill_exits(const struct json *x, struct arena *a, struct tool *t,
                       struct err *e)
{
    const struct json *codes = json_get(x, "exitCodes");
    struct tool_exit *all = arena_get(a, (json_length(codes) + 1) * sizeof *all, e);
    if (!all)
        return false;
    t->execution.exits = all;
    struct json_iter it = json_iter(codes);
    while (json_is(codes, JSON_OBJECT) && json_next(&it)) {
        uint32_t code = 0;
        for (size_t i = 0; i < it.key.n && i < 3; i++)
            code = 10 * code + (uint32_t)(it.key.at[i] - '0');
        const char *means = str_cz(json_str(it.value), a, e);
        all[t->execution.exit_count++] = (struct tool_exit){code, means ? means : ""};
    }
    return !e->code;
}

const char *tool_exit_means(const struct tool *t, uint32_t code)
{
    for (size_t i = 0; code && i < t->execution.exit_count; i++)
        if (t->execution.exits[i].code == code)
            return t->execution.exits[i].means;
    return NULL;
}

static bool fill_execution(const struct json *m, struct arena *a, struct tool *t,
                           struct err *e)
{
    static const char *const styles[] = {"cli", "json", "positional"};
    const struct json *x = json_get(m, "execution");
    t->execution.style =
        (enum tool_style)named(json_str(json_get(x, "argStyle")), styles, LENGTH(styles));
    t->execution.access = tool_access_named(json_str(json_get(x, "fileAccess")));
    t->execution.stdin_parameter = text(x, "stdinParam", a);
    t->execution.private_files = json_bool(json_get(x, "privateFiles"), false);
    t->execution.memory_bytes =
        (uint64_t)json_int(json_get(x, "memoryLimit"), MEMORY_USUAL);
    t->execution.timeout_ms = (uint32_t)json_int(json_get(x, "timeout"), TIMEOUT_USUAL);
    return fill_exits(x, a, t, e);
}

bool manifest_is_command(const struct json *m)
{
    return str_is(json_str(json_get(m, "runtime")), TOOL_RUNTIME_MACHINE);
}

static bool fill_command(const struct json *m, struct arena *a, struct tool *t,
                         struct err *e)
{
    const struct json *command = json_get(m, "command");
    size_t n = 0;
    if (!manifest_is_command(m))
        return true;
    const char **words = arena_get(a, (json_length(command) + 1) * sizeof *words, e);
    struct json_iter it = json_iter(command);
    while (words && json_next(&it))
        if (!(words[n++] = str_cz(json_str(it.value), a, e)))
            return false;
    t->command = words;
    if (!json_get(json_get(m, "execution"), "memoryLimit"))
        t->execution.memory_bytes = TOOL_MACHINE_BYTES;
    return words && (n || err_set(e, ERR_INVALID, "its command is missing"));
}

/* Letters that mean nothing to a shell. */
static bool word_is_plain(const char *s)
{
    return *s &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                     "_-./:,=+@%^") == strlen(s);
}

void tool_put_command(const struct tool *t, struct buf *out)
{
    for (const char *const *word = t->command; word && *word; word++) {
        buf_cstr(out, word == t->command ? "" : " ");
        if (word_is_plain(*word)) {
            buf_cstr(out, *word);
            continue;
        }
        buf_char(out, '\'');
        for (const char *c = *word; *c; c++)
            if (*c == '\'')
                buf_cstr(out, "'\\''");
            else
                buf_char(out, *c);
        buf_char(out, '\'');
    }
}

static const char *const accesses[] = {"none", "read", "write", "readwrite"};

enum tool_access tool_access_named(struct str word)
{
    return (enum tool_access)named(word, accesses, LENGTH(accesses));
}

const char *tool_access_name(enum tool_access access)
{
    return access < LENGTH(accesses) ? accesses[access] : "";
}

bool manifest_fill(const struct json *m, struct arena *a, struct tool *t, struct err *e)
{
    t->name = text_or(m, "name", a);
    t->version = text_or(m, "version", a);
    t->description = text_or(m, "description", a);
    t->category = text_or(m, "category", a);
    t->author = text(m, "author", a);
    t->license = text(m, "license", a);
    t->homepage = text(m, "homepage", a);
    const struct json *returns = json_get(m, "returns");
    t->returns_object = str_is(json_str(json_get(returns, "type")), "object");
    t->returns = text_or(returns, "description", a);
    t->manifest = m;
    return fill_execution(m, a, t, e) && fill_command(m, a, t, e) &&
           fill_parameters(m, a, t, e);
}
