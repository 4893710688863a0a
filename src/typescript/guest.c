/* The guest: esbuild, baked, in a fresh world for each piece of code. What it answers
 * is read as what any guest answers: within its memory, within limits. */
#include <fcntl.h>

#include "abi/abi.h"
#include "os/os.h"
#include "typescript/internal.h"
#include "wasi/wasi.h"
#include "json/json.h"

#define MODULE "typescript.bare.wasm"
#define IMAGE "typescript.img"
#define MESSAGES_MAX 4096u
#define TEXT_MAX 400u /* bytes of a message */

struct guest {
    struct engine *engine;
    char *dir;
    pthread_mutex_t lock; /* while the module is made */
    struct module *_Atomic module;
};

struct guest_world {
    struct world *world;
    struct wasi *wasi;
};

/* ---- loading ------------------------------------------------------------ */

struct guest *guest_new(struct engine *g, const char *dir)
{
    struct guest *u = mem_new(sizeof *u);
    u->engine = g;
    u->dir = mem_strdup(dir);
    pthread_mutex_init(&u->lock, NULL);
    return u;
}

void guest_free(struct guest *u)
{
    if (!u)
        return;
    module_close(atomic_load(&u->module));
    pthread_mutex_destroy(&u->lock);
    free(u->dir);
    free(u);
}

static struct module *open_module(struct guest *u, struct err *e)
{
    struct str wasm = {0}, image = {0};
    struct module *m = NULL;
    scoped_fd int dir = os_dir_open(u->dir, e);
    if (dir >= 0 && os_map_file(dir, MODULE, &wasm, e) &&
        os_map_file(dir, IMAGE, &image, e)) {
        struct module_source source = {.wasm = wasm, .image = image};
        source.imports = wasi_imports(&source.import_count);
        m = module_open(u->engine, ENGINE_FOREIGN, &source, e);
    }
    os_unmap(&wasm);
    os_unmap(&image);
    if (!m)
        err_wrap(e, "the TypeScript guest");
    return m;
}

bool guest_load(struct guest *u, struct err *e)
{
    if (atomic_load_explicit(&u->module, memory_order_acquire))
        return true;
    pthread_mutex_lock(&u->lock);
    struct module *m = atomic_load(&u->module);
    if (!m && (m = open_module(u, e)))
        atomic_store_explicit(&u->module, m, memory_order_release);
    pthread_mutex_unlock(&u->lock);
    return m != NULL;
}

void guest_prepare(struct guest *u)
{
    struct err none = {0};
    if (!atomic_load(&u->module))
        module_close(open_module(u, &none));
}

void guest_version(const struct guest *u, struct buf *out)
{
    struct err none = {0};
    struct os_stat st = {0};
    scoped_fd int dir = os_dir_open(u->dir, &none);
    if (dir >= 0)
        (void)os_stat_beneath(dir, MODULE, &st, &none);
    buf_printf(out, "%llu %lld", (unsigned long long)st.size, (long long)st.mtime_ns);
}

struct guest_world *guest_open(struct guest *u, const struct typescript_limits *limits,
                               struct err *e)
{
    if (!guest_load(u, e))
        return NULL;
    scoped(guest_close) struct guest_world *w = mem_new(sizeof *w);
    w->wasi = wasi_new(
        &(struct wasi_options){.until_ns = limits->until_ns, .cancel = limits->cancel},
        e);
    uint64_t ms = limits->compute_ms && limits->compute_ms < TYPESCRIPT_COMPUTE_MS
                      ? limits->compute_ms
                      : TYPESCRIPT_COMPUTE_MS;
    struct world_limits all = {.memory_bytes = TYPESCRIPT_MEMORY_BYTES,
                               .compute_ns = ms * 1000000u,
                               .until_ns = limits->until_ns,
                               .tenant = limits->tenant,
                               .cancel = limits->cancel};
    w->world = w->wasi ? world_open(atomic_load(&u->module), &all, w->wasi, e) : NULL;
    return w->world ? take(w) : NULL;
}

void guest_close(struct guest_world *w)
{
    if (!w)
        return;
    world_close(w->world);
    wasi_free(w->wasi);
    free(w);
}

/* ---- one transform ------------------------------------------------------ */

/* Ends that the code brought about, in words for whoever wrote it. */
static bool explain(const struct err *why, struct err *e)
{
    switch (why->code) {
    case ERR_STACK:
        return err_set(e, ERR_STACK, "the TypeScript is nested too deeply to be read");
    case ERR_MEMORY:
        return err_set(e, ERR_MEMORY,
                       "the TypeScript needs more than %u MB of memory to be translated",
                       (unsigned)(TYPESCRIPT_MEMORY_BYTES >> 20));
    case ERR_TIMEOUT:
        return err_set(e, ERR_TIMEOUT, "translating the TypeScript: %s", why->msg);
    case ERR_GUEST:
        return err_set(e, ERR_GUEST, "the TypeScript cannot be translated: %s", why->msg);
    default:
        return err_set(e, why->code, "%s", why->msg);
    }
}

static bool call(struct guest_world *w, const char *name, uint64_t *cell, size_t n,
                 struct err *e)
{
    struct err why = {0};
    return world_call(w->world, name, cell, n, &why) || explain(&why, e);
}

/* A copy of the guest's bytes. */
static bool copy_bytes(struct guest_world *w, uint32_t at, uint32_t n, struct arena *a,
                       struct str *out, struct err *e)
{
    const char *p = world_slice(w->world, at, n);
    if (n > TYPESCRIPT_OUTPUT_BYTES)
        return err_set(e, ERR_OUTPUT,
                       "the TypeScript becomes more than %u MB of JavaScript",
                       (unsigned)(TYPESCRIPT_OUTPUT_BYTES >> 20));
    char *copy = p ? arena_copy(a, p, n, e) : NULL;
    *out = (struct str){copy, n};
    return copy || err_set(e, ERR_GUEST, "the TypeScript guest's answer cannot be read");
}

static bool copy_text(struct guest_world *w, uint32_t at, uint32_t n, struct arena *a,
                      struct str *out, struct err *e)
{
    return copy_bytes(w, at, n, a, out, e) &&
           (str_is_utf8(*out) ||
            err_set(e, ERR_GUEST, "the TypeScript guest's answer is no text"));
}

static bool read_messages(struct str all, struct transformed *out, struct arena *a,
                          struct err *e)
{
    struct typescript_message head;
    out->messages = arena_get(a, MESSAGES_MAX * sizeof *out->messages, e);
    for (size_t at = 0; out->messages && all.n - at >= sizeof head;) {
        memcpy(&head, all.at + at, sizeof head);
        at += sizeof head;
        if (head.size > all.n - at || out->message_count == MESSAGES_MAX)
            break;
        struct str text = str_cut((struct str){all.at + at, head.size}, TEXT_MAX);
        if (!str_is_utf8(text))
            text = STR("the code cannot be read");
        out->messages[out->message_count++] =
            (struct message){head.line, head.column, head.length, text};
        size_t padded = ((size_t)head.size + 7) & ~(size_t)7;
        at += padded < all.n - at ? padded : all.n - at;
    }
    return out->messages != NULL;
}

static bool read_map(struct str map, struct transformed *out, struct arena *a,
                     struct err *e)
{
    const struct json *v = json_read(map, a, e);
    out->mappings = json_str(json_get(v, "mappings"));
    return v != NULL;
}

bool guest_transform(struct guest_world *w, struct str source, struct arena *a,
                     struct transformed *out, struct err *e)
{
    struct typescript_answer answer;
    struct str map = {0}, messages = {0};
    uint64_t cell = source.n;
    *out = (struct transformed){0};
    if (!call(w, "input", &cell, 1, e))
        return false;
    char *to = world_slice(w->world, (uint32_t)cell, source.n);
    if (!to)
        return err_set(e, ERR_GUEST, "the TypeScript guest gave room outside its memory");
    memcpy(to, source.at, source.n);
    if (!call(w, "transform", &cell, 0, e))
        return false;
    const void *at = world_slice(w->world, (uint32_t)cell, sizeof answer);
    if (!at)
        return err_set(e, ERR_GUEST, "the TypeScript guest answered outside its memory");
    memcpy(&answer, at, sizeof answer);
    if (!copy_bytes(w, answer.messages_at, answer.messages_size, a, &messages, e) ||
        !read_messages(messages, out, a, e))
        return false;
    if (answer.failed)
        return out->message_count > 0 ||
               err_set(e, ERR_GUEST, "the TypeScript guest failed without a word");
    return copy_text(w, answer.code_at, answer.code_size, a, &out->javascript, e) &&
           copy_text(w, answer.map_at, answer.map_size, a, &map, e) &&
           read_map(map, out, a, e);
}
