/* What a manifest says, as the struct that the other rooms know. */
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

static enum tool_type type_named(struct str word)
{
    static const char *const words[] = {"string", "number", "boolean", "array"};
    return (enum tool_type)named(word, words, LENGTH(words));
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
    scoped_buf struct buf all;
    buf_init(&all, MANIFEST_MAX);
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

static void fill_execution(const struct json *m, struct tool *t)
{
    static const char *const styles[] = {"cli", "json", "positional"};
    const struct json *x = json_get(m, "execution");
    t->execution.style =
        (enum tool_style)named(json_str(json_get(x, "argStyle")), styles, LENGTH(styles));
    t->execution.access = tool_access_named(json_str(json_get(x, "fileAccess")));
    t->execution.memory_bytes =
        (uint64_t)json_int(json_get(x, "memoryLimit"), MEMORY_USUAL);
    t->execution.timeout_ms = (uint32_t)json_int(json_get(x, "timeout"), TIMEOUT_USUAL);
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
    fill_execution(m, t);
    return fill_parameters(m, a, t, e);
}
