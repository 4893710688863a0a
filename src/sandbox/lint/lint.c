/* The linter: one world of the baked guest a check, and the answers of late. */
#include "lint/lint.h"

#include "abi/abi.h"
#include "cache/cache.h"
#include "crypto/crypto.h"
#include "guest/guest.h"
#include "json/json.h"

#define CHECK_NS ((uint64_t)1000000000)
#define CHECK_MEMORY ((uint64_t)256 << 20)
#define OWN_MAX ((size_t)4 << 20) /* bytes of what a call finds besides */

struct kept_answer {
    struct cached cached;
    uint32_t errors, warnings, hints;
    size_t size;
    char json[];
};
/* The answers for the latest codes; long ones are made again. */
static const struct cache_limits kept_limits = {
    .entries = 64, .bytes = (size_t)512 << 10, .one_bytes = (size_t)8 << 10};

struct lint {
    struct guest *guest;
    struct cache *kept; /* by hash of code and features */
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

static const struct engine_import imports[] = {
    {"host", "stop", "i:", import_stop},
    {GUEST_WASI, "clock_time_get", "iIi:i", wasi_clock},
    GUEST_NO_FILES,
};

/* ---- opening ------------------------------------------------------------ */

/* A first world learns the API. */
static bool lint_learn(struct guest_world *w, struct str api, struct err *e)
{
    uint64_t cell = api.n;
    return guest_put(guest_world(w), api, e) &&
           world_call(guest_world(w), "install", &cell, 1, e);
}

static const struct guest_kind kind = {.name = "lint",
                                       .title = "the linter's guest",
                                       .engine = ENGINE_OWN,
                                       .imports = imports,
                                       .import_count = LENGTH(imports),
                                       .memory_bytes = CHECK_MEMORY,
                                       .compute_ns = CHECK_NS,
                                       .learn = lint_learn};

struct lint *lint_open(struct engine *g, const char *guest_dir, struct str api,
                       struct err *e)
{
    scoped(lint_close) struct lint *l = mem_new(sizeof *l);
    l->kept = cache_new(&kept_limits);
    l->guest = guest_new(g, guest_dir, &kind, api);
    return guest_load(l->guest, e) ? take(l) : NULL;
}

void lint_close(struct lint *l)
{
    if (!l)
        return;
    guest_free(l->guest);
    cache_free(l->kept);
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

/* Counts what the guest has found, and believes nothing else of it. */
static bool count_findings(struct lint_findings *out, struct err *e)
{
    scoped(arena_free) struct arena *a = arena_new(ARENA_CALL);
    const struct json *list = json_read(buf_view(&out->json), a, e);
    if (!json_is(list, JSON_ARRAY)) {
        buf_clear(&out->json);
        return err_set(e, ERR_GUEST, "the linter's answer cannot be read");
    }
    struct json_iter it = json_iter(list);
    while (json_next(&it)) {
        struct str severity = json_str(json_get(it.value, "severity"));
        out->errors += str_is(severity, "error");
        out->warnings += str_is(severity, "warning");
        out->hints += str_is(severity, "hint");
    }
    return true;
}

/* ---- checking ----------------------------------------------------------- */

/* Appends what `export`, called with `cells` in a fresh world, answers about the input. */
static bool lint_send(struct lint *l, struct str input, const char *export,
                      uint64_t *cells, size_t count, struct cancel *cancel,
                      struct buf *out, struct err *e)
{
    struct lint_answer answer;
    struct str text;
    scoped(guest_close) struct guest_world *w =
        guest_open(l->guest, &(struct guest_limits){.cancel = {cancel}}, e);
    if (!w || !guest_ask(w, input, export, cells, count, &answer, sizeof answer, e))
        return false;
    if (answer.failed || !guest_text(guest_world(w), answer.at, answer.size, &text, e))
        return err_set(e, ERR_GUEST, "the code is nested too deeply to be checked");
    buf_str(out, text);
    return buf_check(out, "the linter's answer", e);
}

static void lint_key(struct str input, size_t code_size, uint32_t features,
                     unsigned char out[static CRYPTO_BLAKE2B])
{
    crypto_blake2b(input, out);
    out[0] ^= (unsigned char)features;
    for (size_t i = 0; i < 4; i++)
        out[1 + i] ^= (unsigned char)(code_size >> 8 * i);
}

static bool find_kept(struct lint *l, struct str key, struct lint_findings *out)
{
    struct kept_answer *k = cache_find(l->kept, key);
    if (!k)
        return false;
    buf_str(&out->json, (struct str){k->json, k->size});
    out->errors = k->errors;
    out->warnings = k->warnings;
    out->hints = k->hints;
    cached_release(&k->cached);
    return true;
}

static void findings_keep(struct lint *l, struct str key, const struct lint_findings *f)
{
    struct kept_answer *k = mem_new(sizeof *k + f->json.n);
    cached_init(&k->cached, f->json.n, NULL);
    k->errors = f->errors;
    k->warnings = f->warnings;
    k->hints = f->hints;
    k->size = f->json.n;
    memcpy(k->json, f->json.at, f->json.n);
    cache_put(l->kept, key, k);
    cached_release(&k->cached);
}

static bool code_is_accepted(struct str code, struct err *e)
{
    if (code.n > LINT_CODE_MAX)
        return err_set(e, ERR_LIMIT, "code has %zu bytes; at most %zu are accepted",
                       code.n, LINT_CODE_MAX);
    return str_is_utf8(code) || err_set(e, ERR_INVALID, "code is not UTF-8 text");
}

bool lint_check(struct lint *l, struct str code, struct str own, uint32_t features,
                struct cancel *cancel, struct lint_findings *out, struct err *e)
{
    unsigned char hash[CRYPTO_BLAKE2B];
    const struct str key = {(const char *)hash, sizeof hash};
    scoped_buf struct buf input = buf_of(LINT_CODE_MAX + OWN_MAX);
    if (!code_is_accepted(code, e))
        return false;
    buf_str(&input, code);
    buf_str(&input, own);
    if (!buf_check(&input, "the code's names", e))
        return false;
    lint_key(buf_view(&input), code.n, features, hash);
    if (find_kept(l, key, out))
        return true;
    uint64_t cells[3] = {input.n, features, code.n};
    if (!lint_send(l, buf_view(&input), "check", cells, 3, cancel, &out->json, e) ||
        !count_findings(out, e))
        return err_wrap(e, "the code was not checked");
    findings_keep(l, key, out);
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
    scoped_buf struct buf question =
        buf_of(13 * LINT_CODE_MAX); /* all of both in escapes */
    if (!code_is_accepted(javascript, e) || !code_is_accepted(source, e) ||
        !write_question(javascript, source, name, &question, e))
        return false;
    uint64_t cell = question.n;
    return lint_send(l, buf_view(&question), "review", &cell, 1, cancel, out, e) ||
           err_wrap(e, "the function could not be linted");
}

/* ---- failures ----------------------------------------------------------- */

bool lint_explain(struct lint *l, struct str question, struct cancel *cancel,
                  struct buf *out, struct err *e)
{
    uint64_t cell = question.n;
    return lint_send(l, question, "explain", &cell, 1, cancel, out, e) ||
           err_wrap(e, "the failure was not looked into");
}
