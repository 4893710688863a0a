/* The catalogue: the tools that are built in, as `make tools` wrote them down in
 * tools/catalogue.json beside the program, and their modules, compiled when needed. */
#include "catalogue/catalogue.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "os/os.h"
#include "wasi/wasi.h"

#define CATALOGUE_BYTES ((size_t)64 << 20)
#define MEMORY_BYTES ((uint64_t)64 << 20)
#define MEMORY_MAX ((uint64_t)1 << 30)
#define TIMEOUT_MS 30000
#define TIMEOUT_MAX_MS 300000

struct package {
    struct package *next;
    char *name;
    bool image;
    struct module *module;
};

struct entry {
    struct tool tool;
    struct package *package;
};

struct catalogue {
    char *dir; /* tools/ of the guests' folder */
    struct engine *engine;
    pthread_mutex_t lock; /* over all that follows */
    struct arena *arena;
    struct entry *entries;
    size_t count;
    bool loaded;
    struct package *packages;
};

struct catalogue *catalogue_open(const struct catalogue_options *o)
{
    struct catalogue *c = mem_new(sizeof *c);
    must(asprintf(&c->dir, "%s/tools", o->guest_dir) > 0);
    c->engine = o->engine;
    c->arena = arena_new(CATALOGUE_BYTES);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

void catalogue_close(struct catalogue *c)
{
    if (!c)
        return;
    for (struct package *p = c->packages, *next; p; p = next) {
        next = p->next;
        module_close(p->module);
        free(p->name);
        free(p);
    }
    arena_free(c->arena);
    pthread_mutex_destroy(&c->lock);
    free(c->dir);
    free(c);
}

/* ---- manifests ---------------------------------------------------------- */

static const char *text(struct catalogue *c, const struct json *v, struct err *e)
{
    return json_is(v, JSON_STRING) ? str_cz(json_str(v), c->arena, e) : NULL;
}

static int one_of(const struct json *v, const char *const *names, int count, int fallback)
{
    for (int i = 0; i < count; i++)
        if (str_is(json_str(v), names[i]))
            return i;
    return fallback;
}

static enum tool_type type_of(const struct json *v)
{
    static const char *const names[] = {"string", "number", "boolean", "array"};
    return (enum tool_type)one_of(v, names, LENGTH(names), TOOL_STRING);
}

static bool read_parameters(struct catalogue *c, struct tool *t, struct err *e)
{
    const struct json *all = json_get(t->manifest, "parameters");
    const struct json *required = json_get(all, "required");
    const struct json *properties = json_get(all, "properties");
    struct tool_parameter *rows =
        arena_get(c->arena, (json_length(properties) + 1) * sizeof *rows, e);
    t->parameters = rows;
    struct json_iter it = json_iter(properties);
    while (rows && json_next(&it)) {
        struct tool_parameter *p = &rows[t->parameter_count++];
        p->name = str_cz(it.key, c->arena, e);
        p->description = text(c, json_get(it.value, "description"), e);
        p->type = type_of(json_get(it.value, "type"));
        p->items = type_of(json_get(json_get(it.value, "items"), "type"));
        p->choices = json_get(it.value, "enum");
        p->default_value = json_get(it.value, "default");
        p->flag = text(c, json_get(it.value, "flag"), e);
        p->position = (int)json_int(json_get(it.value, "position"), 0);
        struct json_iter r = json_iter(required);
        while (json_next(&r))
            p->required |= str_eq(json_str(r.value), it.key);
    }
    return e->code == ERR_NONE;
}

static bool read_tool(struct catalogue *c, struct tool *t, struct err *e)
{
    static const char *const styles[] = {"cli", "json", "positional"};
    static const char *const accesses[] = {"none", "read", "write", "readwrite"};
    const struct json *m = t->manifest, *run = json_get(m, "execution");
    t->id = t->name = text(c, json_get(m, "name"), e);
    t->version = text(c, json_get(m, "version"), e);
    t->description = text(c, json_get(m, "description"), e);
    t->category = text(c, json_get(m, "category"), e);
    t->author = text(c, json_get(m, "author"), e);
    t->license = text(c, json_get(m, "license"), e);
    t->homepage = text(c, json_get(m, "homepage"), e);
    t->returns = text(c, json_get(json_get(m, "returns"), "description"), e);
    t->returns_object =
        str_is(json_str(json_get(json_get(m, "returns"), "type")), "object");
    t->execution.style = (enum tool_style)one_of(json_get(run, "argStyle"), styles, 3, 0);
    t->execution.access =
        (enum tool_access)one_of(json_get(run, "fileAccess"), accesses, 4, 0);
    int64_t memory = json_int(json_get(run, "memoryLimit"), (int64_t)MEMORY_BYTES);
    int64_t timeout = json_int(json_get(run, "timeout"), TIMEOUT_MS);
    t->execution.memory_bytes =
        memory < 65536 || (uint64_t)memory > MEMORY_MAX ? MEMORY_MAX : (uint64_t)memory;
    t->execution.timeout_ms =
        timeout < 1 || timeout > TIMEOUT_MAX_MS ? TIMEOUT_MAX_MS : (uint32_t)timeout;
    t->builtin = t->enabled = true;
    return (t->name || err_set(e, ERR_INVALID, "a built-in tool has no name")) &&
           read_parameters(c, t, e);
}

/* ---- loading ------------------------------------------------------------ */

static struct package *package_named(struct catalogue *c, struct str name)
{
    for (struct package *p = c->packages; p; p = p->next)
        if (str_is(name, p->name))
            return p;
    struct package *p = mem_new(sizeof *p);
    must(asprintf(&p->name, "%.*s", STR_ARGS(name)) >= 0);
    p->next = c->packages;
    return c->packages = p;
}

static bool add_entry(struct catalogue *c, const struct json *row, struct err *e)
{
    struct entry *n = &c->entries[c->count];
    struct tool *t = &n->tool;
    n->package = package_named(c, json_str(json_get(row, "package")));
    n->package->image = json_bool(json_get(row, "image"), false);
    t->module_name = n->package->name;
    t->manifest = json_get(row, "manifest");
    if (!read_tool(c, t, e))
        return err_wrap(e, "the built-in tools");
    if (json_bool(json_get(row, "data"), false))
        t->data_dir = arena_printf(c->arena, e, "%s/%s/data", c->dir, n->package->name);
    c->count++;
    return e->code == ERR_NONE;
}

static bool load(struct catalogue *c, struct err *e)
{
    if (c->loaded)
        return true;
    struct err none = {0};
    scoped_buf struct buf all;
    buf_init(&all, CATALOGUE_BYTES / 4);
    scoped_fd int dir = os_dir_open(c->dir, &none);
    c->loaded = true;
    if (dir < 0 || !os_read_file(dir, "catalogue.json", &all, NULL, &none))
        return true; /* none were built */
    const struct json *rows = json_read(buf_view(&all), c->arena, e);
    c->entries = arena_get(c->arena, (json_length(rows) + 1) * sizeof *c->entries, e);
    struct json_iter it = json_iter(rows);
    while (c->entries && json_next(&it))
        if (!add_entry(c, it.value, e))
            return false;
    return c->entries != NULL;
}

/* ---- finding ------------------------------------------------------------ */

static const struct tool *find(struct catalogue *c, struct str name, struct err *e)
{
    const struct tool *near = NULL;
    size_t slips = 4;
    for (size_t i = 0; i < c->count; i++) {
        const struct tool *t = &c->entries[i].tool;
        if (str_is(name, t->name))
            return t;
        size_t n = str_distance(name, str_of(t->name));
        if (n < slips) {
            slips = n;
            near = t;
        }
    }
    err_set(e, ERR_NOT_FOUND, "there is no tool '%.*s'%s%s%s",
            STR_ARGS(str_cut(name, TOOL_NAME_MAX)), near ? "; '" : "",
            near ? near->name : "", near ? "' is one" : "");
    return NULL;
}

const struct tool *tool_find(struct catalogue *c, struct str name, struct str vault,
                             struct err *e)
{
    (void)vault;
    pthread_mutex_lock(&c->lock);
    const struct tool *t = load(c, e) ? find(c, name, e) : NULL;
    pthread_mutex_unlock(&c->lock);
    return t;
}

void tool_release(struct catalogue *c, const struct tool *t)
{
    (void)c;
    (void)t;
}

bool tool_list(struct catalogue *c, struct str vault, struct tool_list *out,
               struct err *e)
{
    (void)vault;
    *out = (struct tool_list){0};
    pthread_mutex_lock(&c->lock);
    if (load(c, e)) {
        out->tools = mem_new((c->count + 1) * sizeof *out->tools);
        for (; out->count < c->count; out->count++)
            out->tools[out->count] = &c->entries[out->count].tool;
    }
    pthread_mutex_unlock(&c->lock);
    return out->tools != NULL;
}

void tool_list_release(struct catalogue *c, struct tool_list *l)
{
    (void)c;
    free(l->tools);
    *l = (struct tool_list){0};
}

uint64_t catalogue_version(struct catalogue *c)
{
    (void)c;
    return 1;
}

/* ---- modules ------------------------------------------------------------ */

static struct module *open_module(struct catalogue *c, const struct package *p,
                                  struct err *e)
{
    char path[300];
    struct str wasm = {0}, image = {0};
    struct module *m = NULL;
    scoped_fd int dir = os_dir_open(c->dir, e);
    (void)snprintf(path, sizeof path, "%s/%s.wasm", p->name, p->name);
    bool ok = dir >= 0 && os_map_file(dir, path, &wasm, e);
    (void)snprintf(path, sizeof path, "%s/%s.img", p->name, p->name);
    ok = ok && (!p->image || os_map_file(dir, path, &image, e));
    if (ok) {
        struct module_source source = {.wasm = wasm, .image = image};
        source.imports = wasi_imports(&source.import_count);
        m = module_open(c->engine, ENGINE_FOREIGN, &source, e);
    }
    os_unmap(&wasm);
    os_unmap(&image);
    return m;
}

struct module *tool_module(struct catalogue *c, const struct tool *t, struct err *e)
{
    struct package *p = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; !p && i < c->count; i++)
        if (&c->entries[i].tool == t)
            p = c->entries[i].package;
    if (p && !p->module)
        p->module = open_module(c, p, e);
    pthread_mutex_unlock(&c->lock);
    if (!p)
        err_set(e, ERR_NOT_FOUND, "the tool is not of this catalogue");
    else if (!p->module)
        err_wrap(e, "the tool %s", t->name);
    return p ? p->module : NULL;
}
