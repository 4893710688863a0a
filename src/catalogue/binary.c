/* Modules of tools: one for each file, compiled when it is first needed and kept as long
 * as some tool has it. */
#include "catalogue/internal.h"
#include "wasi/wasi.h"

#define MODULE_MAX ((size_t)1 << 30)

static void free_binary(struct binary *b)
{
    module_close(b->module);
    pthread_mutex_destroy(&b->lock);
    free(b->key);
    free(b->dir);
    free(b->file);
    free(b->image);
    free(b->sha256);
    free(b);
}

struct binary *binary_share(struct catalogue *c, const struct binary *like)
{
    for (struct binary *known = c->binaries; known; known = known->next)
        if (!strcmp(known->key, like->key)) {
            known->refs++;
            return known;
        }
    struct binary *b = mem_new(sizeof *b);
    *b = (struct binary){.next = c->binaries,
                         .key = mem_strdup(like->key),
                         .dir = mem_strdup(like->dir),
                         .file = mem_strdup(like->file),
                         .image = like->image ? mem_strdup(like->image) : NULL,
                         .sha256 = mem_strdup(like->sha256),
                         .builtin = like->builtin,
                         .refs = 1};
    pthread_mutex_init(&b->lock, NULL);
    return c->binaries = b;
}

void binary_drop(struct catalogue *c, struct binary *b)
{
    if (!b || --b->refs)
        return;
    struct binary **at = &c->binaries;
    while (*at != b)
        at = &(*at)->next;
    *at = b->next;
    free_binary(b);
}

/* ---- compiling ----------------------------------------------------------- */

static struct module *open_builtin(struct catalogue *c, const struct binary *b,
                                   struct err *e)
{
    struct str wasm = {0}, image = {0};
    struct module *m = NULL;
    scoped_fd int dir = os_dir_open(b->dir, e);
    if (dir >= 0 && os_map_file(dir, b->file, &wasm, e) &&
        (!b->image || os_map_file(dir, b->image, &image, e))) {
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
    struct binary *b = ((const struct entry *)t)->binary;
    if (!c->engine) {
        err_set(e, ERR_BUG, "this catalogue was opened without an engine");
        return NULL;
    }
    pthread_mutex_lock(&b->lock);
    if (!b->module)
        b->module = open_builtin(c, b, e);
    struct module *m = b->module;
    pthread_mutex_unlock(&b->lock);
    if (!m)
        err_wrap(e, "the tool %s", t->name);
    return m;
}
