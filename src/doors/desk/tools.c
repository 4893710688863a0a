/* Command-line tools, as the page shows them: what each is, takes and may do, and who says
 * so. Texts are spelt out, as at the terminal. */
#include "catalogue/catalogue.h"
#include "desk/internal.h"
#include "programs/programs.h"

#define TEXT_MAX ((size_t)1 << 20)

void put_spelt(struct json_writer *w, const char *key, struct str text)
{
    scoped_buf struct buf spelt = buf_of(TEXT_MAX);
    str_spell(text, &spelt);
    json_pair_str(w, key, buf_view(&spelt));
}

void put_lines(struct json_writer *w, const char *key, struct str lines)
{
    json_key(w, key);
    json_open_array(w);
    while (lines.n) {
        const char *end = memchr(lines.at, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.at) : lines.n;
        scoped_buf struct buf spelt = buf_of(8 * n + 64);
        str_spell((struct str){lines.at, n}, &spelt);
        json_put_str(w, buf_view(&spelt));
        n += end != NULL;
        lines = (struct str){lines.at + n, lines.n - n};
    }
    json_close(w);
}

static void put_parameters(const struct tool *t, struct json_writer *w)
{
    json_key(w, "parameters");
    json_open_array(w);
    for (size_t i = 0; i < t->parameter_count; i++) {
        const struct tool_parameter *p = &t->parameters[i];
        json_open_object(w);
        put_spelt(w, "name", str_of(p->name));
        put_spelt(w, "description", str_of(p->description));
        json_pair_cstr(w, "type", tool_type_name(p->type));
        if (p->type == TOOL_ARRAY)
            json_pair_cstr(w, "items", tool_type_name(p->items));
        if (p->choices)
            json_pair(w, "choices", p->choices);
        if (p->default_value)
            json_pair(w, "default", p->default_value);
        json_pair_bool(w, "required", p->required);
        json_close(w);
    }
    json_close(w);
}

static void put_limits(const struct tool *t, struct json_writer *w)
{
    json_pair_cstr(w, "files", tool_access_name(t->execution.access));
    json_pair_int(w, "memoryMB", (int64_t)(t->execution.memory_bytes >> 20));
    json_pair_int(w, "timeoutMs", t->execution.timeout_ms);
    json_key(w, "exits");
    json_open_array(w);
    for (size_t i = 0; i < t->execution.exit_count; i++) {
        json_open_object(w);
        json_pair_int(w, "code", t->execution.exits[i].code);
        put_spelt(w, "means", str_of(t->execution.exits[i].means));
        json_close(w);
    }
    json_close(w);
}

/* What may be done with it, and which file says so. */
static void put_permission(const struct tool *t, const struct policy *p,
                           struct json_writer *w)
{
    struct tool_standing is = tool_standing(p, t);
    json_pair_bool(w, "enabled", t->enabled && !is.is_disabled);
    json_pair_bool(w, "disabledByPolicy", is.is_disabled);
    json_pair_cstr(w, "permission", permission_name(is.permission));
    json_pair_bool(w, "asksForFiles", is.asks_for_files);
    json_pair_cstr(w, "from", is.from);
    if (t->command)
        json_pair_cstr(w, "machine", permission_name(is.machine));
}

static void put_command(const struct tool *t, struct json_writer *w)
{
    scoped_buf struct buf text = buf_of(BUF_LIST);
    tool_put_command(t, &text);
    put_spelt(w, "command", buf_view(&text));
}

static void put_tool(const struct tool *t, const struct policy *p, struct json_writer *w)
{
    json_open_object(w);
    json_pair_cstr(w, "name", t->name);
    put_spelt(w, "version", str_of(t->version));
    put_spelt(w, "category", str_of(t->category));
    put_spelt(w, "description", str_of(t->description));
    put_spelt(w, "returns", str_of(t->returns));
    put_spelt(w, "author", str_of(t->author));
    put_spelt(w, "license", str_of(t->license));
    put_spelt(w, "homepage", str_of(t->homepage));
    put_spelt(w, "signer", str_of(t->signer));
    put_spelt(w, "vault", str_of(t->vault));
    json_pair_cstr(w, "runtime", t->command ? TOOL_RUNTIME_MACHINE : TOOL_RUNTIME_MODULE);
    if (t->command)
        put_command(t, w);
    json_pair_cstr(w, "sha256", t->sha256);
    json_pair_cstr(w, "source", t->builtin ? "builtin" : "user");
    json_pair_time_known(w, "installed", t->installed_ms);
    json_pair_time_known(w, "updated", t->updated_ms);
    put_parameters(t, w);
    put_limits(t, w);
    put_permission(t, p, w);
    json_close(w);
}

bool desk_put_compiling(struct desk *d, struct buf *out)
{
    struct json_writer w = json_writer(out);
    pthread_mutex_lock(&d->lock);
    json_open_object(&w);
    json_pair_cstr(&w, "tool", d->compiling.tool);
    json_pair_int(&w, "seconds", d->compiling.seconds);
    json_pair_bool(&w, "simply", d->compiling.simply);
    json_close(&w);
    bool compiles = d->compiling.seconds != 0;
    pthread_mutex_unlock(&d->lock);
    return compiles;
}

uint64_t desk_settings(struct desk *d)
{
    struct err none = {0};
    struct ward *ward = guard_ward(d->o.guard, NULL, &none);
    const struct policy *p = ward ? ward_policy(ward, &none) : NULL;
    uint64_t state = d->o.catalogue ? catalogue_version(d->o.catalogue) : 0;
    for (const char *c = p ? p->digest : "unusable"; *c; c++)
        state = state * 31 + (unsigned char)*c;
    policy_release(p);
    return state;
}

bool tell_tools(struct desk *d, struct http_request *rq, struct http_response *rs,
                struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(4 * ARENA_SMALL);
    struct str name;
    struct tool_list all = {0};
    struct ward *ward = desk_ward_of(d, http_query(rq, "vault"), a, &name, e);
    const struct policy *p = ward ? ward_policy(ward, e) : NULL;
    bool ok = p && (!d->o.catalogue || tool_list(d->o.catalogue, name, &all, e));
    struct json_writer w = json_writer(&rs->body);
    json_open_object(&w);
    json_pair_str(&w, "vault", name);
    json_key(&w, "tools");
    json_open_array(&w);
    for (size_t i = 0; ok && i < all.count; i++)
        put_tool(all.tools[i], p, &w);
    json_close(&w);
    put_lines(&w, "problems", str_of(all.problems));
    json_close(&w);
    if (d->o.catalogue)
        tool_list_release(d->o.catalogue, &all);
    policy_release(p);
    return ok && buf_check(&rs->body, "the tools", e);
}
