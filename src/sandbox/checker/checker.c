/* The door: what was answered before is found by its hash, all else the guest is asked. */
#include "checker/checker.h"

#include "abi/abi.h"
#include "checker/internal.h"
#include "crypto/crypto.h"
#include "guest/guest.h"
#include "json/json.h"

#define QUESTION_BYTES ((size_t)32 << 20) /* as JSON */

static const struct cache_limits limits = {.entries = 256,
                                           .bytes = (size_t)8 << 20,
                                           .folder = "checker",
                                           .disk_bytes = (uint64_t)32 << 20,
                                           .file_bytes = ANSWER_BYTES};

struct checker {
    struct guest *guest, *python;
    struct cache *answers;
    size_t declared;
    struct buf version; /* of what makes an answer: another answers otherwise */
    _Atomic uint64_t from_memory, from_disk, made;
};

/* ---- the guest -------------------------------------------------------------- */

bool checker_take(struct guest_world *w, uint32_t at, uint32_t size, struct buf *out,
                  struct err *e)
{
    struct str text = {0};
    struct err none = {0};
    if (!size || !guest_text(guest_world(w), at, size, &text, &none))
        return err_set(e, ERR_GUEST, "the checker did not answer");
    return buf_str(out, text) ||
           err_set(e, ERR_OUTPUT, "what the checker says is more than %zu bytes",
                   out->ceiling);
}

static bool checker_send(struct guest_world *w, struct str question, struct buf *out,
                         struct err *e)
{
    struct checker_told told;
    return guest_ask(w, question, "check", NULL, 0, &told, sizeof told, e) &&
           checker_take(w, told.at, told.size, out, e);
}

/* A first world reads the declarations. */
static bool checker_install(struct guest_world *w, struct str install, struct err *e)
{
    uint64_t none = 0;
    scoped_buf struct buf answer = buf_of(ANSWER_BYTES);
    return checker_send(w, install, &answer, e) &&
           world_call(guest_world(w), "settle", &none, 0, e);
}

#define NOT_CHECKED "types were not checked: the checker is "
_Static_assert(CHECKER_MEMORY_BYTES >> 20 == 512, "see its message");
static const struct guest_kind tsgo = {
    .name = "checker",
    .title = "the type checker's guest",
    .engine = ENGINE_FOREIGN,
    .wasi = true,
    .has_last_words = true,
    .memory_bytes = CHECKER_MEMORY_BYTES,
    .compute_ns = CHECKER_COMPUTE_MS * UINT64_C(1000000),
    .not_built = NOT_CHECKED "not built; 'make checker' does it",
    .being_built = NOT_CHECKED "being built, which takes some minutes",
    .learn = checker_install,
    .words = {.stack = "the code, or a type in it, is nested too deeply to be checked",
              .memory = "its types need more than 512 MB of memory to be checked",
              .timeout = "checking its types",
              .failed = "its types cannot be checked"}};

/* ---- opening ---------------------------------------------------------------- */

static void put_declarations(struct json_writer *w, const struct str *row, size_t count)
{
    json_key(w, "known");
    json_open_array(w);
    for (size_t i = 0; i < count; i++)
        json_put_str(w, row[i]);
    json_close(w);
}

/* A question whose answer nobody reads: after it the guest knows the declarations. */
static void put_install(struct buf *out, const struct str *row, size_t count)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    put_declarations(&w, row, count);
    json_pair_str(&w, "code",
                  STR("const all = await notes.list({}); return all.length;"));
    json_close(&w);
}

struct checker *checker_new(struct engine *g, const char *guest_dir,
                            const struct str *declarations, size_t count)
{
    char hash[CACHE_FILE_KEY];
    must(count <= CHECKER_DECLARATIONS_MAX);
    scoped_buf struct buf install = buf_of(QUESTION_BYTES);
    put_install(&install, declarations, count);
    struct checker *c = mem_new(sizeof *c);
    c->guest = guest_new(g, guest_dir, &tsgo, buf_view(&install));
    c->python = guest_new(g, guest_dir, &checker_python, STR(""));
    c->answers = cache_new(&limits);
    c->declared = count;
    buf_init(&c->version, BUF_LINE);
    guest_put_version(c->guest, &c->version);
    buf_char(&c->version, ' ');
    guest_put_version(c->python, &c->version);
    crypto_hash_hex(buf_view(&install), hash);
    buf_printf(&c->version, " %s", hash);
    return c;
}

void checker_free(struct checker *c)
{
    if (!c)
        return;
    cache_free(c->answers);
    guest_free(c->guest);
    guest_free(c->python);
    buf_done(&c->version);
    free(c);
}

bool checker_warm(struct checker *c, struct err *e)
{
    return guest_prepare(c->guest, e);
}

bool checker_is_there(const struct checker *c)
{
    return guest_is_there(c->guest);
}

bool checker_has_python(const struct checker *c)
{
    return guest_is_there(c->python);
}

bool checker_is_building(const struct checker *c)
{
    return guest_is_building(c->guest);
}

struct checker_counts checker_count(const struct checker *c)
{
    return (struct checker_counts){
        .from_memory = c->from_memory, .from_disk = c->from_disk, .made = c->made};
}

/* ---- one question ----------------------------------------------------------- */

static void put_signature(struct json_writer *w, const struct checker_signature *s)
{
    json_key(w, "function");
    json_open_object(w);
    json_pair_str(w, "name", s->name);
    json_key(w, "parameters");
    json_open_array(w);
    for (size_t i = 0; i < s->count; i++) {
        const struct checker_parameter *p = &s->parameters[i];
        json_open_object(w);
        json_pair_str(w, "name", p->name);
        json_pair_str(w, "type", p->type);
        json_pair_bool(w, "optional", p->optional);
        json_pair_str(w, "default", p->fallback);
        json_close(w);
    }
    json_close(w);
    json_pair_str(w, "returnType", s->return_type);
    json_close(w);
}

static bool checker_put_question(const struct checker *c,
                                 const struct checker_question *q, struct buf *out,
                                 struct err *e)
{
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    if (q->python)
        json_pair_bool(&w, "python", true);
    json_pair_bool(&w, "javascript", q->javascript);
    json_pair_bool(&w, "remembers", q->remembers);
    json_key(&w, "declared");
    json_open_array(&w);
    for (size_t i = 0; i < c->declared; i++)
        if (q->declared >> i & 1)
            json_put_int(&w, (int64_t)i);
    json_close(&w);
    json_pair_str(&w, "own", q->own);
    if (q->functions.n)
        json_pair_raw(&w, "functions", q->functions);
    json_pair_str(&w, "code", q->code);
    if (q->function)
        put_signature(&w, q->function);
    json_close(&w);
    return buf_check(out, "what is to be checked", e);
}

static bool question_key(const struct checker *c, struct str question,
                         char key[CACHE_FILE_KEY], struct err *e)
{
    scoped_buf struct buf all = buf_of(QUESTION_BYTES + 1024);
    buf_str(&all, buf_view(&c->version));
    buf_char(&all, '\n');
    buf_str(&all, question);
    crypto_hash_hex(buf_view(&all), key);
    return buf_check(&all, "what is to be checked", e);
}

static const struct checker_answer *checker_make(struct checker *c, struct str question,
                                                 const struct checker_question *q,
                                                 struct err *e)
{
    scoped_buf struct buf text = buf_of(ANSWER_BYTES);
    c->made++;
    const struct guest_limits of = {
        .until_ns = q->until_ns, .tenant = q->tenant, .cancel = {q->cancel}};
    scoped(guest_close) struct guest_world *w =
        guest_open(q->python ? c->python : c->guest, &of, e);
    return w && (q->python ? checker_ask_python : checker_send)(w, question, &text, e)
               ? answer_read(buf_view(&text), e)
               : NULL;
}

static bool question_fits(const struct checker_question *q, struct err *e)
{
    if (q->code.n > CHECKER_CODE_BYTES)
        return err_set(e, ERR_LIMIT, "code of %zu bytes is not checked: at most %zu are",
                       q->code.n, CHECKER_CODE_BYTES);
    size_t declared = q->own.n + q->functions.n;
    if (declared > CHECKER_OWN_BYTES)
        return err_set(e, ERR_LIMIT, "%zu bytes of declarations are more than %zu",
                       declared, CHECKER_OWN_BYTES);
    if (q->cancel && cancel_fired(q->cancel))
        return err_set(e, ERR_CANCELLED, "cancelled before the types were checked");
    return str_is_utf8(q->code) || err_set(e, ERR_INVALID, "code is not UTF-8 text");
}

/* ---- what was answered ------------------------------------------------------- */

static void *checker_read_answer(void *arg, struct str json)
{
    (void)arg;
    struct err none = {0};
    return answer_read(json, &none);
}

static const struct checker_answer *find_answer(struct checker *c, const char *key,
                                                bool *on_disk)
{
    return cache_find_file(c->answers, key, checker_read_answer, NULL, on_disk);
}

static void keep_answer(struct checker *c, const char *key,
                        const struct checker_answer *a)
{
    cache_put_file(c->answers, key, a, checker_json(a));
}

/* ---- what fits a function's parameters ---------------------------------------- */

/* They are the same whatever else its code finds: the key leaves that out. */
static bool known_key(const struct checker *c, const struct checker_question *q,
                      char key[CACHE_FILE_KEY])
{
    struct err none = {0};
    struct checker_question alone = *q;
    scoped_buf struct buf question = buf_of(QUESTION_BYTES);
    alone.own = STR("");
    buf_cstr(&question, "known ");
    return checker_put_question(c, &alone, &question, &none) &&
           question_key(c, buf_view(&question), key, &none);
}

static void make_known(struct checker *c, const struct checker_question *q,
                       const struct checker_answer *a)
{
    char key[CACHE_FILE_KEY];
    bool on_disk;
    if (!q->function || !answer_has_shapes(a) || !known_key(c, q, key))
        return;
    scoped_checked const struct checker_answer *kept = find_answer(c, key, &on_disk);
    if (!kept)
        keep_answer(c, key, a);
}

const struct checker_answer *checker_known(struct checker *c,
                                           const struct checker_question *q)
{
    char key[CACHE_FILE_KEY];
    struct err none = {0};
    bool on_disk;
    return q->function && question_fits(q, &none) && known_key(c, q, key)
               ? find_answer(c, key, &on_disk)
               : NULL;
}

/* ---- code that is nested deeply ------------------------------------------------- */

/* The checker compares such types for minutes, or ends with its stack. NULL without *e: the
 * code is not. */
static const struct checker_answer *refuse_nested(const struct checker_question *q,
                                                  struct err *e)
{
    uint32_t line, column;
    if (q->python || !guest_code_is_nested(q->code, CHECKER_NESTED_MAX, &line, &column))
        return NULL;
    scoped_buf struct buf text = buf_of(BUF_PAGE);
    buf_printf(
        &text,
        "{\"diagnostics\":[{\"field\":\"code\",\"code\":\"NESTED\",\"severity\":\"error\","
        "\"message\":\"more than %u brackets stand in one another here: such code is "
        "not checked\",\"line\":%u,\"column\":%u,\"endLine\":%u,\"endColumn\":%u}]}",
        CHECKER_NESTED_MAX, line, column, line, column + 1);
    return answer_read(buf_view(&text), e);
}

/* ---- the door ------------------------------------------------------------------ */

const struct checker_answer *checker_check(struct checker *c,
                                           const struct checker_question *q,
                                           struct err *e)
{
    char key[CACHE_FILE_KEY];
    bool from_disk;
    scoped_buf struct buf question = buf_of(QUESTION_BYTES);
    if (!question_fits(q, e) || !checker_put_question(c, q, &question, e) ||
        !question_key(c, buf_view(&question), key, e))
        return NULL;
    const struct checker_answer *a = refuse_nested(q, e);
    if (a || e->code)
        return a;
    a = find_answer(c, key, &from_disk);
    if (a) {
        c->from_disk += from_disk;
        c->from_memory += !from_disk;
        make_known(c, q, a);
        return a;
    }
    a = checker_make(c, buf_view(&question), q, e);
    if (!a)
        return NULL;
    keep_answer(c, key, a);
    make_known(c, q, a);
    return a;
}
