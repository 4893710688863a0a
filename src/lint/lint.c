/* The linter: one world of the baked guest a check, and the answers of late. */
#include "lint/lint.h"

#include <pthread.h>
#include <time.h>

#include "abi/abi.h"
#include "crypto/crypto.h"
#include "json/json.h"

#define CHECK_NS ((uint64_t)1000000000)
#define CHECK_MEMORY ((uint64_t)256 << 20)
#define API_MAX ((size_t)4 << 20) /* bytes of what it knows of the API */
#define OWN_MAX ((size_t)4 << 20) /* bytes of what a call finds besides */

/* Answers that are kept: of the codes that came last. */
#define KEPT 64u
#define KEPT_BYTES ((size_t)8 << 10) /* longer ones are made again */

struct kept_answer {
    unsigned char key[CRYPTO_BLAKE2B]; /* of code and features */
    struct lint_findings found;
    bool filled;
};

struct lint {
    struct loadable *module;
    char *guest_dir;
    struct buf api;       /* what code may use */
    pthread_mutex_t lock; /* guards what follows */
    struct kept_answer kept[KEPT];
    size_t next; /* the one that is replaced next */
};

/* ---- the guest's imports ------------------------------------------------ */

/* stop(why): it was refused memory. */
static bool import_stop(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)cells;
    return err_set(e, ERR_MEMORY, "the code needs more than %llu MB to be checked",
                   (unsigned long long)(CHECK_MEMORY >> 20));
}

/* clock_time_get: nothing in a check depends on it. */
static bool wasi_clock(struct world *w, uint64_t *cells, struct err *e)
{
    void *to = world_slice(w, (uint32_t)cells[2], 8);
    if (!to)
        return err_set(e, ERR_GUEST, "asks for the time outside its memory");
    memset(to, 0, 8);
    cells[0] = 0;
    return true;
}

static bool wasi_badf(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w;
    (void)e;
    cells[0] = 8; /* EBADF: there are no files */
    return true;
}

#define WASI "wasi_snapshot_preview1"
static const struct engine_import imports[] = {
    {"host", "stop", "i:", import_stop},
    {WASI, "clock_time_get", "iIi:i", wasi_clock},
    {WASI, "fd_close", "i:i", wasi_badf},
    {WASI, "fd_seek", "iIii:i", wasi_badf},
    {WASI, "fd_write", "iiii:i", wasi_badf},
    {WASI, "fd_fdstat_get", "ii:i", wasi_badf},
};

/* ---- opening ------------------------------------------------------------ */

/* Copies text into the guest: what input(n) answers. */
static bool put_input(struct world *w, struct str text, struct err *e)
{
    uint64_t cell = text.n;
    if (!world_call(w, "input", &cell, 1, e))
        return false;
    void *to = world_slice(w, (uint32_t)cell, text.n);
    if (!to)
        return err_set(e, ERR_GUEST, "the linter gave room outside its memory");
    memcpy(to, text.at, text.n);
    return true;
}

/* A first world learns the API. */
static bool install(struct world *w, void *arg, uint64_t *notes, struct err *e)
{
    (void)notes;
    const struct str *api = arg;
    uint64_t cell = api->n;
    return put_input(w, *api, e) && world_call(w, "install", &cell, 1, e);
}

static struct module *load(void *arg, const void *watch, struct engine *g, struct err *e)
{
    (void)watch;
    const struct lint *l = arg;
    struct str api = buf_view(&l->api);
    uint64_t notes[BAKED_NOTES];
    struct baked_first first = {.text = api, .prepare = install, .arg = &api};
    struct baked_guest baked = {.dir = l->guest_dir,
                                .name = "lint",
                                .imports = imports,
                                .import_count = LENGTH(imports),
                                .first = &first};
    struct module *m = module_open_baked(g, ENGINE_OWN, &baked, notes, e);
    if (!m)
        err_wrap(e, "the linter's guest");
    return m;
}

struct lint *lint_open(struct engine *g, const char *guest_dir, struct str api,
                       struct err *e)
{
    scoped(lint_close) struct lint *l = mem_new(sizeof *l);
    pthread_mutex_init(&l->lock, NULL);
    buf_init(&l->api, API_MAX);
    buf_str(&l->api, api);
    l->guest_dir = mem_strdup(guest_dir);
    l->module = loadable_new(g, load, l);
    if (!buf_check(&l->api, "what the linter knows of the API", e) ||
        !loadable_take(l->module, NULL, e))
        return NULL;
    loadable_give(l->module);
    return take(l);
}

void lint_close(struct lint *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < KEPT; i++)
        if (l->kept[i].filled)
            lint_findings_done(&l->kept[i].found);
    loadable_free(l->module);
    buf_done(&l->api);
    free(l->guest_dir);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

/* ---- findings ----------------------------------------------------------- */

void lint_findings_init(struct lint_findings *f)
{
    *f = (struct lint_findings){0};
    buf_init(&f->json, LINT_FINDINGS_MAX);
}

void lint_findings_done(struct lint_findings *f)
{
    buf_done(&f->json);
}

static void copy_findings(const struct lint_findings *from, struct lint_findings *to)
{
    buf_clear(&to->json);
    buf_str(&to->json, buf_view(&from->json));
    to->errors = from->errors;
    to->warnings = from->warnings;
    to->hints = from->hints;
}

/* Counts what the guest has found, and believes nothing else of it. */
static bool read_findings(struct str text, struct lint_findings *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new((size_t)4 << 20);
    const struct json *list = json_read(text, a, e);
    if (!json_is(list, JSON_ARRAY))
        return err_set(e, ERR_GUEST, "the linter's answer cannot be read");
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct str severity = json_str(json_get(it.value, "severity"));
        out->errors += str_is(severity, "error");
        out->warnings += str_is(severity, "warning");
        out->hints += str_is(severity, "hint");
    }
    buf_str(&out->json, text);
    return buf_check(&out->json, "the findings", e);
}

/* ---- checking ----------------------------------------------------------- */

/* What the call of `export` answers, in the world's memory. */
static bool ask(struct world *w, const char *export, struct str input, uint32_t features,
                uint32_t code_size, unsigned count, struct str *out, struct err *e)
{
    struct lint_answer answer;
    uint64_t cells[3] = {input.n, features, code_size};
    if (!put_input(w, input, e) || !world_call(w, export, cells, count, e))
        return false;
    const void *at = world_slice(w, (uint32_t)cells[0], sizeof answer);
    if (!at)
        return err_set(e, ERR_GUEST, "the linter answered outside its memory");
    memcpy(&answer, at, sizeof answer);
    *out = (struct str){world_slice(w, answer.at, answer.size), answer.size};
    if (answer.failed || !out->at)
        return err_set(e, ERR_GUEST, "the code is nested too deeply to be checked");
    return true;
}

/* `input`: the code, and behind it what the call finds besides. */
static bool check_in_world(struct world *w, struct str input, size_t code_size,
                           uint32_t features, struct lint_findings *out, struct err *e)
{
    struct str text;
    return ask(w, "check", input, features, (uint32_t)code_size, 3, &text, e) &&
           read_findings(text, out, e);
}

static void key_of(struct str input, size_t code_size, uint32_t features,
                   unsigned char out[static CRYPTO_BLAKE2B])
{
    crypto_blake2b(input, out);
    out[0] ^= (unsigned char)features;
    for (size_t i = 0; i < 4; i++)
        out[1 + i] ^= (unsigned char)(code_size >> 8 * i);
}

static bool find_kept(struct lint *l, const unsigned char *key, struct lint_findings *out)
{
    bool found = false;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < KEPT && !found; i++) {
        const struct kept_answer *k = &l->kept[i];
        found = k->filled && !memcmp(k->key, key, sizeof k->key);
        if (found)
            copy_findings(&k->found, out);
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

static void keep(struct lint *l, const unsigned char *key, const struct lint_findings *f)
{
    if (f->json.n > KEPT_BYTES)
        return;
    pthread_mutex_lock(&l->lock);
    struct kept_answer *k = &l->kept[l->next];
    l->next = (l->next + 1) % KEPT;
    if (!k->filled)
        lint_findings_init(&k->found);
    k->filled = true;
    memcpy(k->key, key, sizeof k->key);
    copy_findings(f, &k->found);
    pthread_mutex_unlock(&l->lock);
}

static bool accepts(struct str code, struct err *e)
{
    if (code.n > LINT_CODE_MAX)
        return err_set(e, ERR_LIMIT, "code has %zu bytes; at most %zu are accepted",
                       code.n, LINT_CODE_MAX);
    return str_is_utf8(code) || err_set(e, ERR_INVALID, "code is not UTF-8 text");
}

bool lint_check(struct lint *l, struct str code, struct str own, uint32_t features,
                struct cancel *cancel, struct lint_findings *out, struct err *e)
{
    unsigned char key[CRYPTO_BLAKE2B];
    scoped_buf struct buf input;
    buf_init(&input, LINT_CODE_MAX + OWN_MAX);
    if (!accepts(code, e))
        return false;
    buf_str(&input, code);
    buf_str(&input, own);
    if (!buf_check(&input, "the code's names", e))
        return false;
    key_of(buf_view(&input), code.n, features, key);
    if (find_kept(l, key, out))
        return true;
    struct world_limits limits = {
        .memory_bytes = CHECK_MEMORY, .compute_ns = CHECK_NS, .cancel = cancel};
    scoped(world_close) struct world *w = loadable_open(l->module, &limits, NULL, e);
    if (!w || !check_in_world(w, buf_view(&input), code.n, features, out, e))
        return err_wrap(e, "the code was not checked");
    keep(l, key, out);
    return true;
}

/* ---- custom functions --------------------------------------------------- */

static bool write_question(struct str javascript, struct str source, struct str name,
                           struct buf *out, struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_str(&w, "code", javascript);
    json_pair_str(&w, "source", source);
    json_pair_str(&w, "name", name);
    json_close(&w);
    return buf_check(out, "the question", e);
}

bool lint_review(struct lint *l, struct str javascript, struct str source,
                 struct str name, struct cancel *cancel, struct buf *out, struct err *e)
{
    scoped_buf struct buf question;
    buf_init(&question, 13 * LINT_CODE_MAX); /* all of both in escapes */
    if (!accepts(javascript, e) || !accepts(source, e) ||
        !write_question(javascript, source, name, &question, e))
        return false;
    struct world_limits limits = {
        .memory_bytes = CHECK_MEMORY, .compute_ns = CHECK_NS, .cancel = cancel};
    scoped(world_close) struct world *w = loadable_open(l->module, &limits, NULL, e);
    struct str text;
    if (!w || !ask(w, "review", buf_view(&question), 0, 0, 1, &text, e))
        return err_wrap(e, "the function was not looked through");
    buf_str(out, text);
    return buf_check(out, "the review", e);
}

/* ---- failures ----------------------------------------------------------- */

bool lint_explain(struct lint *l, struct str question, struct cancel *cancel,
                  struct buf *out, struct err *e)
{
    struct world_limits limits = {
        .memory_bytes = CHECK_MEMORY, .compute_ns = CHECK_NS, .cancel = cancel};
    scoped(world_close) struct world *w = loadable_open(l->module, &limits, NULL, e);
    struct str text;
    if (!w || !ask(w, "explain", question, 0, 0, 1, &text, e))
        return err_wrap(e, "the failure was not looked into");
    buf_str(out, text);
    return buf_check(out, "the advice", e);
}
