/* Modules of tools: one for each file, compiled when it is first needed, and closed when it
 * has not been for a while, or when no tool has it any more. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "catalogue/compile.h"
#include "catalogue/package.h"
#include "crypto/crypto.h"
#include "wasi/wasi.h"

static void free_binary(struct binary *b)
{
    loadable_free(b->module);
    pthread_mutex_destroy(&b->lock);
    free(b->key);
    free(b->dir);
    free(b->file);
    free(b->image);
    free(b->hash);
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
                         .catalogue = c,
                         .key = mem_strdup(like->key),
                         .dir = mem_strdup(like->dir),
                         .file = mem_strdup(like->file),
                         .image = like->image ? mem_strdup(like->image) : NULL,
                         .hash = like->hash ? mem_strdup(like->hash) : NULL,
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

static struct module *open_bytes(struct catalogue *c, struct module_source *source,
                                 struct err *e)
{
    struct engine *g = catalogue_engine(c, e);
    source->imports = wasi_imports(&source->import_count);
    return g ? module_open(g, ENGINE_FOREIGN, source, e) : NULL;
}

static struct module *open_builtin(struct catalogue *c, const struct binary *b,
                                   struct err *e)
{
    struct stat st = {0};
    struct module_source source = {.wasm_hash = b->hash, .beside = true};
    struct module *m = NULL;
    scoped_fd int dir = os_dir_open(b->dir, e);
    scoped_fd int fd =
        dir >= 0 && b->image ? os_open_beneath(dir, b->image, O_RDONLY, 0, e) : -1;
    struct image_file image = {.fd = fd};
    if (fd >= 0 && fstat(fd, &st) == 0)
        image.bytes = (uint64_t)st.st_size;
    source.file = b->image ? &image : NULL;
    if (dir >= 0 && (!b->image || fd >= 0) && os_map_file(dir, b->file, &source.wasm, e))
        m = open_bytes(c, &source, e);
    os_unmap(&source.wasm);
    return m;
}

struct module *binary_open(struct catalogue *c, const struct work *w, struct err *e)
{
    struct err why = {0};
    struct module_source source = {.wasm = w->wasm, .never_compile = true};
    scoped(module_close) struct module *known = open_bytes(c, &source, &why);
    scoped_buf struct buf compiled = buf_of(SIZE_MAX / 2);
    if (known && !module_has_start(known, "_start"))
        err_set(e, ERR_INVALID, "the module exports no function _start");
    else if (!known && why.code != ERR_NOT_FOUND)
        err_pass(e, &why);
    if (known || e->code)
        return e->code ? NULL : take(known);
    if (!compile_apart(c, w, &compiled, e))
        return NULL;
    source.compiled = buf_view(&compiled);
    source.never_compile = false;
    return open_bytes(c, &source, e);
}

/* Opens an installed module: checked again, since its file may not be the one that was
 * installed, and compiled apart where the cache has forgotten it. */
static struct module *open_installed(struct catalogue *c, const struct binary *b,
                                     const struct work *awaited, struct err *e)
{
    char path[200], sha256[CRYPTO_SHA256_HEX];
    scoped_buf struct buf wasm = buf_of(PACKAGE_WASM_MAX);
    (void)snprintf(path, sizeof path, "%s/%s", b->dir, b->file);
    if (!os_read_file(c->data, path, &wasm, NULL, e))
        return NULL;
    crypto_sha256_hex(buf_view(&wasm), sha256);
    if (strcmp(sha256, b->sha256)) {
        err_set(e, ERR_INVALID,
                "its module is not the one that was installed (SHA-256 %s, not %s); "
                "install it again",
                sha256, b->sha256);
        return NULL;
    }
    return binary_open(c,
                       &(struct work){.name = awaited ? awaited->name : "a tool",
                                      .wasm = buf_view(&wasm),
                                      .watch = awaited ? awaited->watch : NULL},
                       e);
}

static struct module *binary_load(void *arg, const void *watch, struct engine *g,
                                  struct err *e)
{
    (void)g;
    const struct binary *b = arg;
    return b->builtin ? open_builtin(b->catalogue, b, e)
                      : open_installed(b->catalogue, b, watch, e);
}

struct loadable *tool_module(struct catalogue *c, const struct tool *t,
                             const struct tool_watch *watch, struct err *e)
{
    struct binary *b = ((const struct entry *)t)->binary;
    if (!b) {
        err_set(e, ERR_INVALID, "the tool %s is a command of the Linux machine", t->name);
        return NULL;
    }
    struct engine *g = catalogue_engine(c, e);
    pthread_mutex_lock(&b->lock);
    if (!b->module && g)
        b->module = loadable_new(g, binary_load, b);
    struct loadable *l = b->module;
    pthread_mutex_unlock(&b->lock);
    struct work awaited = {.name = t->name, .watch = watch};
    if (!l || !loadable_take(l, &awaited, e)) {
        err_wrap(e, "the tool %s", t->name);
        return NULL;
    }
    loadable_give(l);
    return l;
}
