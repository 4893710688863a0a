/* Baked guests: loading, worlds, and the way of a question and its answer. */
#include "guest/guest.h"

#include <stdio.h>
#include <sys/stat.h>

#include "os/os.h"
#include "wasi/wasi.h"

#define LAST_WORDS_MAX 4096u

struct guest {
    const struct guest_kind *kind;
    struct loadable *module;
    char *dir;
    struct str text;
    struct engine_import *imports; /* the kind's, and WASI's */
    size_t import_count;
};

struct guest_world {
    const struct guest_kind *kind;
    struct world *world;
    struct wasi *wasi;
    struct buf errors; /* standard error, where the kind has last words */
    struct cancel either;
    struct cancel *cancel[2];
    struct cancel_stop stops[2];
};

/* ---- any world ---------------------------------------------------------- */

char *guest_room(struct world *w, size_t n, struct err *e)
{
    uint64_t cell = n;
    if (n > UINT32_MAX / 2) {
        err_set(e, ERR_LIMIT, "%zu bytes are more than the guest can take", n);
        return NULL;
    }
    if (!world_call(w, "input", &cell, 1, e))
        return NULL;
    char *at = world_slice(w, (uint32_t)cell, n);
    if (!at)
        err_set(e, ERR_GUEST, "the guest gave room outside its memory");
    return at;
}

bool guest_put(struct world *w, struct str text, struct err *e)
{
    char *to = guest_room(w, text.n, e);
    if (to && text.n)
        memcpy(to, text.at, text.n);
    return to != NULL;
}

bool guest_answer(struct world *w, const char *export, uint64_t *cells, size_t count,
                  void *head, size_t size, struct err *e)
{
    if (!world_call(w, export, cells, count, e))
        return false;
    const void *at = world_slice(w, (uint32_t)cells[0], size);
    if (!at)
        return err_set(e, ERR_GUEST, "the guest answered outside its memory");
    memcpy(head, at, size);
    return true;
}

bool guest_text(struct world *w, uint32_t at, uint32_t n, struct str *out, struct err *e)
{
    const char *p = world_slice(w, at, n);
    if (!p)
        return err_set(e, ERR_GUEST, "the guest's text lies outside its memory");
    *out = (struct str){p, n};
    return true;
}

bool guest_no_file(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = 8; /* EBADF */
    return true;
}

/* ---- worlds ------------------------------------------------------------- */

static void guest_fire(void *arg)
{
    cancel_fire(arg);
}

/* The one cancel that ends the world. */
static struct cancel *join_cancels(struct guest_world *w, struct cancel *const from[2])
{
    if (!from[0] || !from[1])
        return from[0] ? from[0] : from[1];
    for (size_t i = 0; i < LENGTH(w->cancel); i++) {
        w->cancel[i] = from[i];
        if (!cancel_on(from[i], &w->stops[i], guest_fire, &w->either))
            cancel_fire(&w->either);
    }
    return &w->either;
}

/* Without a world of the engine yet. */
static struct guest_world *new_world(const struct guest_kind *k, uint64_t until_ns,
                                     struct cancel *const cancel[2],
                                     struct cancel **joined, struct err *e)
{
    scoped(guest_close) struct guest_world *w = mem_new(sizeof *w);
    w->kind = k;
    buf_init(&w->errors, LAST_WORDS_MAX);
    cancel_init(&w->either);
    *joined = join_cancels(w, cancel);
    if (k->wasi)
        w->wasi = wasi_new(
            &(struct wasi_options){.errors = k->has_last_words ? &w->errors : NULL,
                                   .until_ns = until_ns,
                                   .cancel = *joined},
            e);
    return k->wasi && !w->wasi ? NULL : take(w);
}

struct guest_world *guest_open(struct guest *u, const struct guest_limits *limits,
                               struct err *e)
{
    struct cancel *cancel;
    scoped(guest_close) struct guest_world *w =
        new_world(u->kind, limits->until_ns, limits->cancel, &cancel, e);
    uint64_t most = u->kind->compute_ns, asked = limits->compute_ns;
    struct world_limits all = {.memory_bytes = u->kind->memory_bytes,
                               .compute_ns =
                                   asked && (!most || asked < most) ? asked : most,
                               .until_ns = limits->until_ns,
                               .tenant = limits->tenant,
                               .cancel = cancel};
    if (w)
        w->world = loadable_open(u->module, &all, w->wasi, e);
    return w && w->world ? take(w) : NULL;
}

void guest_close(struct guest_world *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < LENGTH(w->cancel); i++)
        cancel_off(w->cancel[i], &w->stops[i]);
    world_close(w->world);
    wasi_free(w->wasi);
    buf_done(&w->errors);
    free(w);
}

struct world *guest_world(const struct guest_world *w)
{
    return w->world;
}

/* ---- questions ---------------------------------------------------------- */

/* Go says on its standard error why it ends. */
static struct str last_words(const struct guest_world *w)
{
    struct str all = buf_view(&w->errors);
    const char *end = all.n ? memchr(all.at, '\n', all.n) : NULL;
    struct str line = {all.at, end ? (size_t)(end - all.at) : all.n};
    return line.n && str_is_utf8(line) ? str_cut(line, 120) : STR("");
}

static bool guest_explain(const struct guest_world *w, const struct err *why,
                          struct err *e)
{
    const struct guest_words *words = &w->kind->words;
    struct str text = why->code == ERR_GUEST ? last_words(w) : STR("");
    enum err_code code = memmem(text.at, text.n, "stack", 5) ? ERR_STACK : why->code;
    const char *sentence = code == ERR_STACK    ? words->stack
                           : code == ERR_MEMORY ? words->memory
                                                : NULL;
    if (sentence)
        return err_set(e, code, "%s", sentence);
    if (!text.n)
        text = str_of(why->msg);
    const char *before = code == ERR_TIMEOUT ? words->timeout
                         : code == ERR_GUEST ? words->failed
                                             : NULL;
    return err_set(e, code, "%s%s%.*s", before ? before : "", before ? ": " : "",
                   STR_ARGS(text));
}

bool guest_ask(struct guest_world *w, struct str question, const char *export,
               uint64_t *cells, size_t count, void *head, size_t size, struct err *e)
{
    uint64_t cell = 0;
    struct err why = {0};
    return (guest_put(w->world, question, &why) &&
            guest_answer(w->world, export, cells ? cells : &cell, count, head, size,
                         &why)) ||
           guest_explain(w, &why, e);
}

/* ---- loading ------------------------------------------------------------ */

struct lesson {
    struct guest_world *world;
    struct str text;
};

static bool guest_learn(struct world *w, void *arg, uint64_t *notes, struct err *e)
{
    (void)notes;
    struct lesson *l = arg;
    l->world->world = w;
    bool ok = l->world->kind->learn(l->world, l->text, e);
    l->world->world = NULL; /* the engine's */
    return ok;
}

static struct module *open_baked(const struct guest *u, struct engine *g, struct err *e)
{
    const struct guest_kind *k = u->kind;
    struct cancel *none[2] = {NULL, NULL};
    scoped(guest_close) struct guest_world *w = new_world(k, 0, none, none, e);
    if (!w)
        return NULL;
    uint64_t notes[BAKED_NOTES] = {0};
    struct lesson lesson = {w, u->text};
    struct baked_first first = {.text = u->text,
                                .prepare = guest_learn,
                                .arg = &lesson,
                                .data = w->wasi,
                                .memory_bytes = k->memory_bytes};
    struct baked_guest baked = {.dir = u->dir,
                                .name = k->name,
                                .imports = u->imports,
                                .import_count = u->import_count,
                                .first = k->learn ? &first : NULL};
    return module_open_baked(g, k->engine, &baked, notes, e);
}

static struct module *guest_load_module(void *arg, const void *watch, struct engine *g,
                                        struct err *e)
{
    (void)watch;
    const struct guest *u = arg;
    if (u->kind->not_built && !guest_is_there(u)) {
        err_set(e, ERR_NOT_FOUND, "%s",
                guest_is_building(u) ? u->kind->being_built : u->kind->not_built);
        return NULL;
    }
    struct module *m = open_baked(u, g, e);
    if (!m)
        err_wrap(e, "%s", u->kind->title);
    return m;
}

static void put_imports(struct guest *u)
{
    const struct guest_kind *k = u->kind;
    size_t of_wasi = 0;
    const struct engine_import *wasi = k->wasi ? wasi_imports(&of_wasi) : NULL;
    u->import_count = k->import_count + of_wasi;
    u->imports = mem_new((u->import_count + 1) * sizeof *u->imports);
    if (k->import_count)
        memcpy(u->imports, k->imports, k->import_count * sizeof *u->imports);
    if (of_wasi)
        memcpy(u->imports + k->import_count, wasi, of_wasi * sizeof *u->imports);
}

struct guest *guest_new(struct engine *g, const char *dir, const struct guest_kind *kind,
                        struct str text)
{
    struct guest *u = mem_new(sizeof *u + text.n);
    u->kind = kind;
    u->dir = mem_strdup(dir);
    u->text = (struct str){memcpy(u + 1, text.at, text.n), text.n};
    put_imports(u);
    u->module = loadable_new(g, guest_load_module, u);
    return u;
}

void guest_free(struct guest *u)
{
    if (!u)
        return;
    loadable_free(u->module);
    free(u->imports);
    free(u->dir);
    free(u);
}

bool guest_load(struct guest *u, struct err *e)
{
    if (!loadable_take(u->module, NULL, e))
        return false;
    loadable_give(u->module);
    return true;
}

bool guest_prepare(struct guest *u, struct err *e)
{
    return loadable_prepare(u->module, e);
}

bool guest_is_loaded(struct guest *u)
{
    return loadable_is_loaded(u->module);
}

/* ---- its files ---------------------------------------------------------- */

/* The folder, and in it the guest's file of that kind. */
static int open_folder(const struct guest *u, const char *suffix, char name[static 64])
{
    struct err none = {0};
    (void)snprintf(name, 64, "%s%s", u->kind->name, suffix);
    return os_dir_open(u->dir, &none);
}

static bool find_module(const struct guest *u, struct os_stat *st)
{
    struct err none = {0};
    char name[64];
    scoped_fd int dir = open_folder(u, ".bare.wasm", name);
    return dir >= 0 && os_stat_beneath(dir, name, st, &none);
}

bool guest_is_there(const struct guest *u)
{
    struct os_stat st;
    return find_module(u, &st);
}

bool guest_is_building(const struct guest *u)
{
    char name[64];
    scoped_fd int dir = open_folder(u, ".lock", name);
    return dir >= 0 && os_is_flocked(dir, name);
}

void guest_put_version(const struct guest *u, struct buf *out)
{
    struct os_stat of = {0};
    struct stat around = {0};
    (void)find_module(u, &of);
    (void)stat("/proc/self/exe", &around);
    buf_printf(out, "%llu %lld %lld %lld.%09ld", (unsigned long long)of.size,
               (long long)of.mtime_ns, (long long)around.st_size,
               (long long)around.st_mtime, around.st_mtim.tv_nsec);
}
