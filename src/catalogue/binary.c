/* Modules of tools: one for each file, compiled when it is first needed and kept as long
 * as some tool has it. */
#include <stdio.h>

#include "catalogue/compile.h"
#include "catalogue/package.h"
#include "crypto/crypto.h"
#include "wasi/wasi.h"

static void free_binary(struct binary *b)
{
    module_close(b->module);
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
    struct module_source source = {.wasm_hash = b->hash};
    struct module *m = NULL;
    scoped_fd int dir = os_dir_open(b->dir, e);
    if (dir >= 0 && os_map_file(dir, b->file, &source.wasm, e) &&
        (!b->image || os_map_file(dir, b->image, &source.image, e)))
        m = open_bytes(c, &source, e);
    os_unmap(&source.wasm);
    os_unmap(&source.image);
    return m;
}

bool binary_check(struct catalogue *c, struct str wasm, struct buf *compiled,
                  struct err *e)
{
    struct err why = {0};
    struct module_source source = {.wasm = wasm, .never_compile = true};
    scoped(module_close) struct module *known = open_bytes(c, &source, &why);
    if (known && !module_has_start(known, "_start"))
        return err_set(e, ERR_INVALID, "the module exports no function _start");
    if (!known && why.code != ERR_NOT_FOUND)
        return err_set(e, why.code, "%s", why.msg);
    return known || compile_apart(c, wasm, compiled, e);
}

void binary_keep(struct catalogue *c, struct str wasm, struct str compiled)
{
    struct err none = {0};
    struct module_source source = {.wasm = wasm, .compiled = compiled};
    if (compiled.n)
        module_close(open_bytes(c, &source, &none));
}

/* What a person installed: looked at again, since its file may not be the one that was
 * installed, and compiled apart where the cache has forgotten it. */
static struct module *open_installed(struct catalogue *c, const struct binary *b,
                                     struct err *e)
{
    char path[200], sha256[CRYPTO_SHA256_HEX];
    scoped_buf struct buf wasm, compiled;
    buf_init(&wasm, PACKAGE_WASM_MAX);
    buf_init(&compiled, SIZE_MAX / 2);
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
    struct module_source source = {.wasm = buf_view(&wasm)};
    if (!binary_check(c, source.wasm, &compiled, e))
        return NULL;
    source.compiled = buf_view(&compiled);
    source.never_compile = !compiled.n;
    return open_bytes(c, &source, e);
}

struct module *tool_module(struct catalogue *c, const struct tool *t, struct err *e)
{
    struct binary *b = ((const struct entry *)t)->binary;
    pthread_mutex_lock(&b->lock);
    if (!b->module)
        b->module = b->builtin ? open_builtin(c, b, e) : open_installed(c, b, e);
    struct module *m = b->module;
    pthread_mutex_unlock(&b->lock);
    if (!m)
        err_wrap(e, "the tool %s", t->name);
    return m;
}
