/* Questions for PCRE2's guest (guest/pattern): a world of it a search. */
#include "pattern/pattern.h"

#include <pthread.h>

#include "abi/abi.h"

#define MEMORY_MAX ((uint64_t)64 << 20)
#define ROOM_MIN 65536u /* bytes that texts have at least */
_Static_assert(2 * MATCHER_TEXT_MAX > PATTERN_TEXT_MAX, "one text may fill the room");

struct patterns {
    patterns_engine *engine;
    void *arg;
    char *own_dir;        /* NULL: `engine` says it */
    pthread_mutex_t lock; /* guards what follows while it is made */
    struct engine *own;
    char *guest_dir;
    struct loadable *_Atomic module;
};

struct matcher {
    struct world *world;
    uint32_t room_at, room_size;
    struct cancel ended; /* the world's, fired by those of the limits */
    struct cancel *cancel[2];
    struct cancel_stop stops[2];
};

/* ---- the guest ---------------------------------------------------------- */

static struct engine *own_engine(void *arg, const char **guest_dir, struct err *e)
{
    struct patterns *p = arg;
    *guest_dir = p->own_dir;
    if (!p->own)
        p->own = engine_open(&(struct engine_options){0}, e);
    return p->own;
}

struct patterns *patterns_new(patterns_engine *engine, void *arg)
{
    struct patterns *p = mem_new(sizeof *p);
    p->engine = engine;
    p->arg = arg;
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

struct patterns *patterns_new_alone(const char *guest_dir)
{
    struct patterns *p = patterns_new(own_engine, NULL);
    p->arg = p;
    p->own_dir = mem_strdup(guest_dir);
    return p;
}

void patterns_free(struct patterns *p)
{
    if (!p)
        return;
    loadable_free(atomic_load(&p->module));
    engine_close(p->own);
    free(p->guest_dir);
    pthread_mutex_destroy(&p->lock);
    free(p->own_dir);
    free(p);
}

bool patterns_loaded(struct patterns *p)
{
    struct loadable *m = atomic_load(&p->module);
    return m && loadable_is_loaded(m);
}

static struct module *load(void *arg, const void *watch, struct engine *g, struct err *e)
{
    (void)watch;
    const struct patterns *p = arg;
    uint64_t notes[BAKED_NOTES];
    struct baked_guest baked = {.dir = p->guest_dir, .name = "pattern"};
    struct module *m = module_open_baked(g, ENGINE_OWN, &baked, notes, e);
    if (!m)
        err_wrap(e, "the guest that matches patterns");
    return m;
}

/* The lock is held. */
static struct loadable *make(struct patterns *p, struct err *e)
{
    const char *guest_dir = NULL;
    struct engine *g = p->engine(p->arg, &guest_dir, e);
    if (!g)
        return NULL;
    free(p->guest_dir);
    p->guest_dir = mem_strdup(guest_dir);
    return loadable_new(g, load, p);
}

static struct loadable *need_module(struct patterns *p, struct err *e)
{
    struct loadable *m = atomic_load_explicit(&p->module, memory_order_acquire);
    if (m)
        return m;
    pthread_mutex_lock(&p->lock);
    m = atomic_load(&p->module);
    if (!m && (m = make(p, e)))
        atomic_store_explicit(&p->module, m, memory_order_release);
    pthread_mutex_unlock(&p->lock);
    if (!m)
        err_wrap(e, "the guest that matches patterns");
    return m;
}

/* ---- a world of it ------------------------------------------------------ */

static void end(void *arg)
{
    cancel_fire(arg);
}

struct matcher *matcher_open(struct patterns *p, const struct matcher_limits *limits,
                             struct err *e)
{
    struct loadable *module = need_module(p, e);
    if (!module)
        return NULL;
    struct matcher *m = mem_new(sizeof *m);
    cancel_init(&m->ended);
    for (size_t i = 0; i < LENGTH(m->cancel); i++) {
        m->cancel[i] = limits->cancel[i];
        if (!cancel_on(m->cancel[i], &m->stops[i], end, &m->ended))
            cancel_fire(&m->ended);
    }
    const struct world_limits world = {.memory_bytes = MEMORY_MAX,
                                       .compute_ns = limits->compute_ns,
                                       .until_ns = limits->until_ns,
                                       .cancel = &m->ended};
    m->world = loadable_open(module, &world, NULL, e);
    if (m->world)
        return m;
    matcher_close(m);
    return NULL;
}

void matcher_close(struct matcher *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < LENGTH(m->cancel); i++)
        cancel_off(m->cancel[i], &m->stops[i]);
    world_close(m->world);
    free(m);
}

/* ---- questions ---------------------------------------------------------- */

/* A limit of memory is one of the pattern, as that of its tries is. */
static bool call(struct matcher *m, const char *export, uint64_t *cells, size_t n,
                 struct err *e)
{
    struct err why = {0};
    if (world_call(m->world, export, cells, n, &why))
        return true;
    if (why.code == ERR_MEMORY || why.code == ERR_STACK)
        return err_set(e, ERR_LIMIT,
                       "the regular expression needs more than %u MB; make it plainer",
                       (unsigned)(MEMORY_MAX >> 20));
    return err_set(e, why.code, "%s", why.msg);
}

/* Room for n bytes in the guest; it is asked for rarely, in powers of two. */
static char *room(struct matcher *m, size_t n, struct err *e)
{
    must(n <= PATTERN_TEXT_MAX);
    if (n > m->room_size || !m->room_at) {
        uint32_t size = ROOM_MIN;
        while (size < n)
            size *= 2;
        size = size < PATTERN_TEXT_MAX ? size : PATTERN_TEXT_MAX;
        uint64_t cell = size;
        if (!call(m, "input", &cell, 1, e))
            return NULL;
        m->room_at = (uint32_t)cell;
        m->room_size = size;
    }
    char *to = world_slice(m->world, m->room_at, n);
    if (!to)
        err_set(e, ERR_GUEST, "the guest of patterns gave room outside its memory");
    return to;
}

static void put(char *to, struct str text)
{
    if (text.n)
        memcpy(to, text.at, text.n);
}

static bool ask(struct matcher *m, const char *export, uint64_t *cells, size_t n,
                struct pattern_answer *out, struct err *e)
{
    if (!call(m, export, cells, n, e))
        return false;
    const void *at = world_slice(m->world, (uint32_t)cells[0], sizeof *out);
    if (!at)
        return err_set(e, ERR_GUEST, "the guest of patterns answered outside its memory");
    memcpy(out, at, sizeof *out);
    return true;
}

/* Characters before the byte `at`. */
static size_t characters(struct str s, size_t at)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n && i < at; i++)
        n += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return n;
}

bool matcher_set(struct matcher *m, struct str pattern, struct err *e)
{
    struct pattern_answer a;
    if (pattern.n > PATTERN_MAX)
        return err_set(e, ERR_INVALID, "%zu bytes long; at most %u are accepted",
                       pattern.n, PATTERN_MAX);
    char *to = room(m, pattern.n, e);
    if (!to)
        return false;
    put(to, pattern);
    uint64_t cell = pattern.n;
    if (!ask(m, "compile", &cell, 1, &a, e))
        return false;
    if (a.outcome == PATTERN_FOUND)
        return true;
    const char *why =
        a.why_size <= 200 ? world_slice(m->world, a.why_at, a.why_size) : NULL;
    return err_set(e, ERR_INVALID, "%.*s, at character %zu", why ? (int)a.why_size : 0,
                   why ? why : "", characters(pattern, a.at) + 1);
}

/* The guest's answer is believed only as far as it lies within the texts. */
static bool read_place(const struct pattern_answer *a, struct str lines, struct str whole,
                       struct matcher_place *out, struct err *e)
{
    bool in_lines = a->line_at < lines.n;
    struct str text = in_lines ? lines : whole;
    size_t first = in_lines ? a->line_at : 0;
    if (first > text.n || a->line_size > text.n - first || a->at > a->line_size ||
        a->size > a->line_size - a->at)
        return err_set(e, ERR_GUEST, "the guest of patterns found what is not there");
    *out = (struct matcher_place){
        true, !in_lines, {text.at + first, a->line_size}, a->at, a->size};
    return true;
}

bool matcher_find(struct matcher *m, struct str lines, struct str whole,
                  struct matcher_place *out, struct err *e)
{
    struct pattern_answer a;
    *out = (struct matcher_place){0};
    size_t max = lines.n < MATCHER_TEXT_MAX ? PATTERN_TEXT_MAX - lines.n : 0;
    if (lines.n > MATCHER_TEXT_MAX || whole.n > MATCHER_TEXT_MAX || whole.n > max)
        return err_set(e, ERR_LIMIT, "a text of %zu bytes is too long for patterns",
                       lines.n > whole.n ? lines.n : whole.n);
    char *to = room(m, lines.n + whole.n, e);
    if (!to)
        return false;
    put(to, lines);
    put(to + lines.n, whole);
    uint64_t cells[2] = {lines.n, whole.n};
    if (!ask(m, "find", cells, 2, &a, e))
        return false;
    if (a.outcome == PATTERN_NONE)
        return true;
    if (a.outcome == PATTERN_FOUND)
        return read_place(&a, lines, whole, out, e);
    return err_set(e, ERR_LIMIT,
                   "the regular expression backtracks too much on a line of %u bytes and "
                   "was stopped; make it plainer (no nested repeats such as (a+)+)",
                   a.line_size);
}
