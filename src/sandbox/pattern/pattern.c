/* Questions for PCRE2's guest (guest/pattern): a world of it a search. */
#include "pattern/internal.h"

#include "abi/abi.h"
#include "guest/guest.h"

#define MEMORY_MAX ((uint64_t)64 << 20)
#define ROOM_MIN 65536u /* bytes that texts have at least */
_Static_assert(2 * MATCHER_TEXT_MAX > PATTERN_TEXT_MAX, "one text may fill the room");

struct patterns {
    patterns_engine *engine;
    void *arg;
    char *own_dir;      /* NULL: `engine` says it */
    struct engine *own; /* made with the guest */
    struct once guest;
};

struct matcher {
    struct guest_world *world;
    size_t room_at, room_size;
};

static const struct guest_kind kind = {.name = "pattern",
                                       .title = "the guest that matches patterns",
                                       .engine = ENGINE_OWN,
                                       .memory_bytes = MEMORY_MAX};

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
    guest_free(once_peek(&p->guest));
    engine_close(p->own);
    free(p->own_dir);
    free(p);
}

bool patterns_loaded(struct patterns *p)
{
    struct guest *u = once_peek(&p->guest);
    return u && guest_is_loaded(u);
}

static void *make_guest(void *arg, struct err *e)
{
    const struct patterns *p = arg;
    const char *guest_dir = NULL;
    struct engine *g = p->engine(p->arg, &guest_dir, e);
    if (g)
        return guest_new(g, guest_dir, &kind, STR(""));
    err_wrap(e, "%s", kind.title);
    return NULL;
}

/* ---- a world of it ------------------------------------------------------ */

struct matcher *matcher_open(struct patterns *p, const struct matcher_limits *limits,
                             struct err *e)
{
    struct guest *u = once_need(&p->guest, make_guest, p, e);
    if (!u)
        return NULL;
    scoped(matcher_close) struct matcher *m = mem_new(sizeof *m);
    const struct guest_limits world = {.compute_ns = limits->compute_ns,
                                       .until_ns = limits->until_ns,
                                       .cancel = {limits->cancel[0], limits->cancel[1]}};
    m->world = guest_open(u, &world, e);
    return m->world ? take(m) : NULL;
}

void matcher_close(struct matcher *m)
{
    if (!m)
        return;
    guest_close(m->world);
    free(m);
}

/* ---- questions ---------------------------------------------------------- */

/* A limit of memory is one of the pattern, as that of its tries is. */
static bool matcher_explain(const struct err *why, struct err *e)
{
    if (why->code == ERR_MEMORY || why->code == ERR_STACK)
        return err_set(e, ERR_LIMIT,
                       "the regular expression needs more than %u MB; make it plainer",
                       (unsigned)(MEMORY_MAX >> 20));
    return err_set(e, why->code, "%s", why->msg);
}

/* Room for n bytes in the guest; it is asked for rarely, in powers of two. */
static char *room(struct matcher *m, size_t n, struct err *e)
{
    must(n <= PATTERN_TEXT_MAX);
    struct world *w = guest_world(m->world);
    if (m->room_at && n <= m->room_size)
        return world_slice(w, m->room_at, n);
    struct err why = {0};
    size_t size = ROOM_MIN;
    while (size < n)
        size *= 2;
    size = size < PATTERN_TEXT_MAX ? size : PATTERN_TEXT_MAX;
    char *to = guest_room(w, size, &why);
    if (!to) {
        matcher_explain(&why, e);
        return NULL;
    }
    m->room_at = (size_t)(to - world_memory(w).at);
    m->room_size = size;
    return to;
}

static void matcher_copy(char *to, struct str text)
{
    if (text.n)
        memcpy(to, text.at, text.n);
}

static bool matcher_send(struct matcher *m, const char *export, uint64_t *cells, size_t n,
                         struct pattern_answer *out, struct err *e)
{
    struct err why = {0};
    return guest_answer(guest_world(m->world), export, cells, n, out, sizeof *out,
                        &why) ||
           matcher_explain(&why, e);
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
    matcher_copy(to, pattern);
    uint64_t cell = pattern.n;
    if (!matcher_send(m, "compile", &cell, 1, &a, e))
        return false;
    if (a.outcome == PATTERN_FOUND)
        return true;
    const char *why = a.why_size <= 200
                          ? world_slice(guest_world(m->world), a.why_at, a.why_size)
                          : NULL;
    return err_set(e, ERR_INVALID, "%.*s, at character %zu", why ? (int)a.why_size : 0,
                   why ? why : "", characters(pattern, a.at) + 1);
}

/* The guest's answer is believed only as far as it lies within the texts. */
static bool pattern_read_place(const struct pattern_answer *a, struct str lines,
                               struct str whole, struct matcher_place *out, struct err *e)
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
    matcher_copy(to, lines);
    matcher_copy(to + lines.n, whole);
    uint64_t cells[2] = {lines.n, whole.n};
    if (!matcher_send(m, "find", cells, 2, &a, e))
        return false;
    if (a.outcome == PATTERN_NONE)
        return true;
    if (a.outcome == PATTERN_FOUND)
        return pattern_read_place(&a, lines, whole, out, e);
    return err_set(e, ERR_LIMIT,
                   "the regular expression backtracks too much on a line of %u bytes and "
                   "was stopped; make it plainer (no nested repeats such as (a+)+)",
                   a.line_size);
}
