/* The guest: TypeScript's checker, baked. A first world reads the declarations, and its
 * memory is what each question's world begins with. */
#include "abi/abi.h"
#include "checker/internal.h"
#include "os/os.h"
#include "wasi/wasi.h"

#define MODULE "checker.bare.wasm"
#define IMAGE "checker.img"

struct tsgo {
    struct engine *engine;
    char *dir;
    char *install;
    size_t install_size;
    pthread_mutex_t lock; /* while the module is made */
    struct module *_Atomic module;
};

struct tsgo *tsgo_new(struct engine *g, const char *dir, struct str install)
{
    struct tsgo *u = mem_new(sizeof *u);
    u->engine = g;
    u->dir = mem_strdup(dir);
    u->install = mem_new(install.n + 1);
    memcpy(u->install, install.at, install.n);
    u->install_size = install.n;
    pthread_mutex_init(&u->lock, NULL);
    return u;
}

void tsgo_free(struct tsgo *u)
{
    if (!u)
        return;
    module_close(atomic_load(&u->module));
    pthread_mutex_destroy(&u->lock);
    free(u->install);
    free(u->dir);
    free(u);
}

static bool find(const struct tsgo *u, struct os_stat *st)
{
    struct err none = {0};
    scoped_fd int dir = os_dir_open(u->dir, &none);
    return dir >= 0 && os_stat_beneath(dir, MODULE, st, &none);
}

bool tsgo_is_there(const struct tsgo *u)
{
    struct os_stat st;
    return find(u, &st);
}

void tsgo_version(const struct tsgo *u, struct buf *out)
{
    struct os_stat st = {0};
    (void)find(u, &st);
    buf_printf(out, "%llu %lld", (unsigned long long)st.size, (long long)st.mtime_ns);
}

/* ---- one question --------------------------------------------------------- */

#define LAST_WORDS_MAX 4096u

/* Go says on its standard error why it ends: the first line is the reason. */
static struct str last_words(const struct buf *errors)
{
    struct str all = buf_view(errors);
    const char *end = all.n ? memchr(all.at, '\n', all.n) : NULL;
    struct str line = {all.at, end ? (size_t)(end - all.at) : all.n};
    return str_is_utf8(line) ? str_cut(line, 120) : STR("");
}

/* Ends that the code brought about, in words for whoever wrote it. */
static bool explain(const struct err *why, const struct buf *errors, struct err *e)
{
    struct str words = last_words(errors);
    switch (why->code) {
    case ERR_STACK:
        return err_set(e, ERR_STACK,
                       "the code, or a type in it, is nested too deeply to "
                       "be checked");
    case ERR_MEMORY:
        return err_set(e, ERR_MEMORY,
                       "its types need more than %u MB of memory to be checked",
                       (unsigned)(CHECKER_MEMORY_BYTES >> 20));
    case ERR_TIMEOUT:
        return err_set(e, ERR_TIMEOUT, "checking its types: %s", why->msg);
    case ERR_GUEST:
        if (memmem(words.at, words.n, "stack", 5))
            return explain(&(struct err){.code = ERR_STACK}, errors, e);
        return err_set(e, ERR_GUEST, "its types cannot be checked: %.*s",
                       words.n ? (int)words.n : (int)strlen(why->msg),
                       words.n ? words.at : why->msg);
    default:
        return err_set(e, why->code, "%s", why->msg);
    }
}

static bool put_question(struct world *w, struct str question, struct err *e)
{
    uint64_t cell = question.n;
    if (!world_call(w, "input", &cell, 1, e))
        return false;
    void *to = world_slice(w, (uint32_t)cell, question.n);
    if (!to)
        return err_set(e, ERR_GUEST, "the checker gave room outside its memory");
    memcpy(to, question.at, question.n);
    return true;
}

static bool take_answer(struct world *w, uint32_t at, struct buf *out, struct err *e)
{
    struct checker_told told;
    const void *head = world_slice(w, at, sizeof told);
    if (!head)
        return err_set(e, ERR_GUEST, "the checker answered outside its memory");
    memcpy(&told, head, sizeof told);
    const void *text = told.size ? world_slice(w, told.at, told.size) : NULL;
    if (!text)
        return err_set(e, ERR_GUEST, "the checker did not answer");
    return buf_put(out, text, told.size) ||
           err_set(e, ERR_OUTPUT, "what the checker says is more than %zu bytes",
                   out->ceiling);
}

static bool ask(struct world *w, const struct buf *errors, struct str question,
                struct buf *out, struct err *e)
{
    uint64_t cell = 0;
    struct err why = {0};
    if (!put_question(w, question, &why) || !world_call(w, "check", &cell, 0, &why))
        return explain(&why, errors, e);
    return take_answer(w, (uint32_t)cell, out, e);
}

/* ---- loading --------------------------------------------------------------- */

/* The module whose worlds know the declarations. */
static struct module *freeze(const struct tsgo *u, struct module *bare, struct err *e)
{
    uint64_t none = 0;
    scoped_buf struct buf answer;
    buf_init(&answer, ANSWER_BYTES);
    scoped_buf struct buf errors;
    buf_init(&errors, LAST_WORDS_MAX);
    scoped(wasi_free) struct wasi *system =
        wasi_new(&(struct wasi_options){.errors = &errors}, e);
    struct world_limits limits = {.memory_bytes = CHECKER_MEMORY_BYTES};
    scoped(world_close) struct world *w =
        system ? world_open(bare, &limits, system, e) : NULL;
    if (!w || !ask(w, &errors, (struct str){u->install, u->install_size}, &answer, e) ||
        !world_call(w, "settle", &none, 0, e))
        return NULL;
    return module_freeze(w, e);
}

static struct module *open_bare(struct tsgo *u, struct err *e)
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
    return m;
}

static struct module *open_module(struct tsgo *u, struct err *e)
{
    if (!tsgo_is_there(u)) {
        err_set(
            e, ERR_NOT_FOUND,
            "types were not checked: the checker is not built; 'make checker' does it");
        return NULL;
    }
    scoped(module_close) struct module *bare = open_bare(u, e);
    struct module *m = bare ? freeze(u, bare, e) : NULL;
    if (!m)
        err_wrap(e, "the type checker's guest");
    return m;
}

bool tsgo_load(struct tsgo *u, struct err *e)
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

bool tsgo_ask(struct tsgo *u, struct str question, const struct checker_question *q,
              struct buf *out, struct err *e)
{
    if (!tsgo_load(u, e))
        return false;
    scoped_buf struct buf errors;
    buf_init(&errors, LAST_WORDS_MAX);
    scoped(wasi_free) struct wasi *system = wasi_new(
        &(struct wasi_options){
            .errors = &errors, .until_ns = q->until_ns, .cancel = q->cancel},
        e);
    struct world_limits limits = {.memory_bytes = CHECKER_MEMORY_BYTES,
                                  .compute_ns = CHECKER_COMPUTE_MS * UINT64_C(1000000),
                                  .until_ns = q->until_ns,
                                  .tenant = q->tenant,
                                  .cancel = q->cancel};
    scoped(world_close) struct world *w =
        system ? world_open(atomic_load(&u->module), &limits, system, e) : NULL;
    return w && ask(w, &errors, question, out, e);
}
