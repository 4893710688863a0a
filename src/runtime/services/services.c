/* Services that are created at first use and shared. */
#include "services/services.h"

#include <stdio.h>

#include "approvals/approvals.h"
#include "checker/checker.h"
#include "engine/engine.h"
#include "lint/lint.h"
#include "os/os.h"
#include "pattern/pattern.h"
#include "script/script.h"
#include "sql/sql.h"
#include "typescript/typescript.h"

#define TEXT_MAX ((size_t)4 << 20) /* of the linter's table, and of each declaration */

struct services {
    struct services_options o;
    struct once guest_dir, engine, script, runner, python, lint, typescript, checker, sql;
    struct once approvals;
    struct patterns *patterns;
    char *ahead;             /* the folder of precompiled modules */
    bool makes_ready;        /* writes to `ahead` */
    pthread_mutex_t lock;    /* guards lint_tried */
    pthread_cond_t tried_it; /* signals lint_tried, with the lock above */
    bool lint_tried;
};

struct services *services_open(const struct services_options *o)
{
    must(o->parts <= SERVICES_PARTS_MAX);
    struct services *s = mem_new(sizeof *s);
    s->o = *o;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->tried_it, NULL);
    if (o->guest_dir)
        atomic_init(&s->guest_dir.made, mem_strdup(o->guest_dir));
    s->patterns = patterns_new(services_engine_at, s);
    return s;
}

void services_close(struct services *s)
{
    if (!s)
        return;
    script_close(once_peek(&s->script));
    script_close(once_peek(&s->runner));
    script_close(once_peek(&s->python));
    lint_close(once_peek(&s->lint));
    typescript_free(once_peek(&s->typescript));
    checker_free(once_peek(&s->checker));
    patterns_free(s->patterns);
    engine_close(once_peek(&s->engine));
    approvals_close(once_peek(&s->approvals));
    sql_pool_free(once_peek(&s->sql));
    free(once_peek(&s->guest_dir));
    free(s->ahead);
    pthread_cond_destroy(&s->tried_it);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- guests and their engine ------------------------------------------------ */

static bool has_guest(const char *dir, const char *file)
{
    struct err none = {0};
    scoped_fd int fd = os_dir_open(dir, &none);
    struct os_stat st;
    return fd >= 0 && os_stat_beneath(fd, file, &st, &none);
}

/* Beside the program: in the build folder, or installed. */
char *services_guest_dir(struct err *e)
{
    static const char *const places[] = {"guest", "../guest", "../lib/cloche/guest"};
    scoped(free) char *program = os_program_dir(e);
    if (!program)
        return NULL;
    for (size_t i = 0; i < LENGTH(places); i++) {
        char *path = NULL;
        must(asprintf(&path, "%s/%s", program, places[i]) > 0);
        if (has_guest(path, "script.bare.wasm"))
            return path;
        free(path);
    }
    err_set(e, ERR_NOT_FOUND,
            "the JavaScript guest is not beside the program (%s/guest); "
            "build it with 'make'",
            program);
    return NULL;
}

static void *find_guests(void *arg, struct err *e)
{
    (void)arg;
    return services_guest_dir(e);
}

const char *services_guests(struct services *s, struct err *e)
{
    return once_need(&s->guest_dir, find_guests, NULL, e);
}

/* How long an unused guest stays loaded; tests set another time than the engine's. */
static uint64_t idle_ms(void)
{
    const char *set = getenv("CLOCHE_IDLE_MS");
    long long ms = set ? atoll(set) : 0;
    return ms > 0 && ms <= 86400000 ? (uint64_t)ms : 0;
}

static void *make_engine(void *arg, struct err *e)
{
    struct services *s = arg;
    const char *guests = services_guests(s, e);
    if (!guests)
        return NULL;
    free(s->ahead);
    must(asprintf(&s->ahead, "%s/ahead", guests) > 0);
    struct engine_options options = {
        .ahead = s->ahead, .make_ready = s->makes_ready, .idle_ms = idle_ms()};
    return engine_open(&options, e);
}

struct engine *services_engine(struct services *s, struct err *e)
{
    return once_need(&s->engine, make_engine, s, e);
}

struct engine *services_engine_at(void *arg, const char **guest_dir, struct err *e)
{
    struct services *s = arg;
    struct engine *g = services_engine(s, e);
    *guest_dir = once_peek(&s->guest_dir);
    return g;
}

const struct engine *services_engine_now(const struct services *s)
{
    return once_peek(&s->engine);
}

/* ---- code ------------------------------------------------------------------- */

static void *make_script(void *arg, struct err *e)
{
    size_t count;
    const char *guests;
    const struct script_row *rows = ((struct services *)arg)->o.rows(&count);
    struct engine *g = services_engine_at(arg, &guests, e);
    return g ? script_open(g, guests, rows, count, e) : NULL;
}

struct script *services_script(struct services *s, struct err *e)
{
    return once_need(&s->script, make_script, s, e);
}

static void *make_runner(void *arg, struct err *e)
{
    size_t count;
    const char *guests;
    const struct script_row *rows = ((struct services *)arg)->o.metered(&count);
    struct engine *g = services_engine_at(arg, &guests, e);
    return g ? script_open_metered(g, guests, rows, count, e) : NULL;
}

struct script *services_runner(struct services *s, struct err *e)
{
    return once_need(&s->runner, make_runner, s, e);
}

static bool has_python(struct services *s)
{
    struct err none = {0};
    const char *guests = services_guests(s, &none);
    return guests && has_guest(guests, "python.bare.wasm");
}

static void *make_python(void *arg, struct err *e)
{
    struct services *s = arg;
    size_t count;
    const char *guests;
    const struct script_row *rows = s->o.rows(&count);
    struct engine *g = services_engine_at(arg, &guests, e);
    if (!g)
        return NULL;
    if (!has_python(s)) {
        err_set(e, ERR_NOT_FOUND,
                "Python is not part of this installation; 'make python' in the folder of "
                "the source adds it");
        return NULL;
    }
    scoped_buf struct buf table;
    buf_init(&table, TEXT_MAX);
    s->o.put_python(&table);
    return buf_check(&table, "the table for Python", e)
               ? script_open_python(g, guests, rows, count, buf_view(&table), e)
               : NULL;
}

struct script *services_python(struct services *s, struct err *e)
{
    return once_need(&s->python, make_python, s, e);
}

static void *make_lint(void *arg, struct err *e)
{
    const char *guests;
    struct engine *g = services_engine_at(arg, &guests, e);
    scoped_buf struct buf table;
    buf_init(&table, TEXT_MAX);
    if (g)
        ((struct services *)arg)->o.put_table(&table);
    return g && buf_check(&table, "the linter's table", e)
               ? lint_open(g, guests, buf_view(&table), e)
               : NULL;
}

struct lint *services_lint(struct services *s, struct err *e)
{
    struct lint *l = once_peek(&s->lint);
    if (l)
        return l;
    l = once_need(&s->lint, make_lint, s, e);
    pthread_mutex_lock(&s->lock);
    s->lint_tried = true;
    pthread_cond_broadcast(&s->tried_it);
    pthread_mutex_unlock(&s->lock);
    return l;
}

struct lint *services_lint_soon(struct services *s, unsigned ms)
{
    struct lint *l = once_peek(&s->lint);
    if (l)
        return l;
    uint64_t until = os_in_ms(ms);
    pthread_mutex_lock(&s->lock);
    while (!s->lint_tried && os_cond_wait(&s->tried_it, &s->lock, until))
        continue;
    pthread_mutex_unlock(&s->lock);
    return once_peek(&s->lint);
}

static void *make_typescript(void *arg, struct err *e)
{
    const char *guests;
    struct engine *g = services_engine_at(arg, &guests, e);
    return g ? typescript_new(g, guests) : NULL;
}

struct typescript *services_typescript(struct services *s, struct err *e)
{
    return once_need(&s->typescript, make_typescript, s, e);
}

static void *make_checker(void *arg, struct err *e)
{
    const struct services_options *o = &((struct services *)arg)->o;
    const char *guests;
    struct engine *g = services_engine_at(arg, &guests, e);
    if (!g)
        return NULL;
    struct buf texts[SERVICES_PARTS_MAX];
    struct str views[SERVICES_PARTS_MAX];
    for (size_t i = 0; i < o->parts; i++) {
        buf_init(&texts[i], TEXT_MAX);
        o->declare(i ? 1u << (i - 1) : 0, &texts[i]);
        views[i] = buf_view(&texts[i]);
    }
    struct checker *c = checker_new(g, guests, views, o->parts);
    for (size_t i = 0; i < o->parts; i++)
        buf_done(&texts[i]);
    return c;
}

struct checker *services_checker(struct services *s, struct err *e)
{
    return once_need(&s->checker, make_checker, s, e);
}

bool services_make_ready(struct services *s, struct err *e)
{
    s->makes_ready = true;
    struct checker *types;
    return services_script(s, e) && services_runner(s, e) && services_lint(s, e) &&
           (!has_python(s) || services_python(s, e)) &&
           (types = services_checker(s, e)) &&
           (!checker_is_there(types) || checker_warm(types, e));
}

/* ---- others ----------------------------------------------------------------- */

static void *make_sql(void *arg, struct err *e)
{
    const char *guests = services_guests(arg, e);
    return guests ? sql_pool_new(guests) : NULL;
}

struct sql_pool *services_sql(struct services *s, struct err *e)
{
    return once_need(&s->sql, make_sql, s, e);
}

static void *make_approvals(void *arg, struct err *e)
{
    (void)arg;
    return approvals_open(e);
}

struct approvals *services_approvals(struct services *s, struct err *e)
{
    return once_need(&s->approvals, make_approvals, NULL, e);
}

struct patterns *services_patterns(struct services *s)
{
    return s->patterns;
}
