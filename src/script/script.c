/* An evaluation from its code to its outcome.
 *
 * The guest runs until it only waits; then it hands over the host calls it has
 * made, they are performed (the slow ones at the same time, on other threads),
 * and it goes on as soon as one is done.
 */
#include "script/script.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <time.h>

#include "abi/abi.h"
#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

#define CALL_ANSWER_MAX ((size_t)64 << 20) /* bytes of one host call's answer */
#define ANSWERS_AT_ONCE ((size_t)8 << 20)  /* bytes, before the guest goes on */
#define SLOW_AT_ONCE 12u                   /* slow calls of one run on their way */
#define MANY_CALLS 500u
#define INPUT_READY 4096u              /* bytes of input that need no call */
#define TEXT_MAX ((size_t)64 << 10)    /* of an error's parts */
#define MEMORY_MAX ((uint64_t)1 << 30) /* as far as the guest's heap reaches */

/* ---- imports ------------------------------------------------------------ */

static bool perform(struct run *r, uint32_t row, struct str args, struct buf *out,
                    struct err *e)
{
    if (row >= r->script->row_count)
        return err_set(e, ERR_NOT_FOUND, "there is no host call number %u", row);
    uint32_t feature = r->script->rows[row].feature;
    if (feature && !(r->q->features & feature))
        return err_set(e, ERR_DENIED, "%s is not enabled in this call",
                       r->script->rows[row].name);
    if (!r->q->perform(r->q->perform_arg, row, args, out, e) ||
        !buf_check(out, "the answer", e))
        return false;
    if (out->n == 0)
        buf_cstr(out, "null");
    return true;
}

/* An error as the guest makes one of its own from it. */
static void write_failure(const struct err *why, struct buf *out)
{
    const struct err_kind *kind = err_kind(why->code);
    struct json_writer w = json_writer(out);
    json_open_object(&w);
    json_pair_cstr(&w, "name", kind->name);
    json_pair_cstr(&w, "code", kind->code);
    json_pair_cstr(&w, "message", why->msg);
    json_pair_bool(&w, "retry", kind->retry);
    json_close(&w);
}

/* call(row, at, n) -> size, or ~size for an error */
static bool import_call(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    uint32_t row = (uint32_t)cells[0], n = (uint32_t)cells[2];
    const char *at = world_slice(w, (uint32_t)cells[1], n);
    if (!at)
        return err_set(e, ERR_GUEST, "a host call's arguments lie outside the memory");
    buf_clear(&r->sync_answer);
    struct err why = {0};
    bool sync = row < r->script->row_count && r->script->rows[row].sync;
    if (!sync)
        return err_set(e, ERR_GUEST, "host call %u cannot be made so", row);
    /* The guest counts too, and better; the host does not rely on it. */
    if (++r->out->stats.host_calls > r->q->calls_max)
        return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                       r->q->calls_max);
    uint64_t start = os_mono_ns();
    bool ok = perform(r, row, (struct str){at, n}, &r->sync_answer, &why);
    r->host_ns += os_mono_ns() - start;
    if (!ok) {
        buf_clear(&r->sync_answer);
        write_failure(&why, &r->sync_answer);
    }
    int32_t size = (int32_t)r->sync_answer.n;
    cells[0] = (uint32_t)(ok ? size : ~size);
    return true;
}

/* take(at) */
static bool import_take(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    void *to = world_slice(w, (uint32_t)cells[0], r->sync_answer.n);
    if (!to)
        return err_set(e, ERR_GUEST, "a host call's answer does not fit the memory");
    memcpy(to, buf_view(&r->sync_answer).at, r->sync_answer.n);
    return true;
}

/* random(at, n) */
static bool import_random(struct world *w, uint64_t *cells, struct err *e)
{
    uint32_t n = (uint32_t)cells[1];
    void *to = world_slice(w, (uint32_t)cells[0], n);
    if (!to)
        return err_set(e, ERR_GUEST, "random bytes asked for outside the memory");
    os_random(to, n);
    return true;
}

/* stop(why) */
static bool import_stop(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    if ((uint32_t)cells[0] == SCRIPT_STOP_CALLS)
        return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                       r->q->calls_max);
    /* Seen by the engine already, where memory is the engine's own. */
    if ((uint32_t)cells[0] == SCRIPT_STOP_MEMORY)
        return err_set(e, ERR_MEMORY, "needs more than %llu MB of memory",
                       (unsigned long long)(r->q->memory_bytes >> 20));
    return err_set(e, ERR_GUEST, "the guest gave up");
}

/* clock_time_get(clock, precision, at) -> errno; the guest's only WASI. */
static bool wasi_clock(struct world *w, uint64_t *cells, struct err *e)
{
    void *to = world_slice(w, (uint32_t)cells[2], 8);
    if (!to)
        return err_set(e, ERR_GUEST, "asks for the time outside its memory");
    struct timespec t = {0};
    (void)clock_gettime((uint32_t)cells[0] == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    memcpy(to, &ns, sizeof ns);
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
    {"host", "call", "iii:i", import_call},
    {"host", "take", "i:", import_take},
    {"host", "random", "ii:", import_random},
    {"host", "stop", "i:", import_stop},
    {WASI, "clock_time_get", "iIi:i", wasi_clock},
    {WASI, "fd_close", "i:i", wasi_badf},
    {WASI, "fd_seek", "iIii:i", wasi_badf},
    {WASI, "fd_write", "iiii:i", wasi_badf},
    {WASI, "fd_fdstat_get", "ii:i", wasi_badf},
};

/* ---- talking to the guest ----------------------------------------------- */

/* Room for `n` bytes in the guest. NULL and *e. */
static char *guest_room(struct world *w, size_t n, struct err *e)
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

/* Calls start or resume; a copy of the answer. */
static bool guest_step(struct world *w, const char *name, size_t n,
                       struct script_answer *out, struct err *e)
{
    uint64_t cell = n;
    if (!world_call(w, name, &cell, 1, e))
        return false;
    const void *at = world_slice(w, (uint32_t)cell, sizeof *out);
    if (!at)
        return err_set(e, ERR_GUEST, "the guest answered outside its memory");
    memcpy(out, at, sizeof *out);
    return true;
}

static bool guest_text(struct world *w, uint32_t at, uint32_t n, struct str *out,
                       struct err *e)
{
    const char *p = world_slice(w, at, n);
    if (!p)
        return err_set(e, ERR_GUEST, "the guest's text lies outside its memory");
    *out = (struct str){p, n};
    return true;
}

/* ---- opening ------------------------------------------------------------ */

static bool install_table(struct script *s, struct world *w, struct err *e)
{
    scoped_buf struct buf table;
    buf_init(&table, (size_t)1 << 20);
    struct json_writer j = json_writer(&table);
    json_open_array(&j);
    for (size_t i = 0; i < s->row_count; i++) {
        json_open_object(&j);
        json_pair_cstr(&j, "name", s->rows[i].name);
        json_pair_bool(&j, "sync", s->rows[i].sync);
        if (s->rows[i].source)
            json_pair_cstr(&j, "source", s->rows[i].source);
        if (s->rows[i].wrap)
            json_pair_cstr(&j, "wrap", s->rows[i].wrap);
        if (s->rows[i].feature)
            json_pair_int(&j, "feature", s->rows[i].feature);
        json_close(&j);
    }
    json_close(&j);
    char *room = guest_room(w, table.n > INPUT_READY ? table.n : INPUT_READY, e);
    if (!room)
        return false;
    memcpy(room, table.at, table.n);
    room[table.n] = '\0'; /* the guest's JSON reader wants one */
    s->input_at = (uint64_t)(room - world_memory(w).at);
    uint64_t cell = table.n;
    if (!world_call(w, "install", &cell, 1, e) ||
        !world_call(w, "logs_view", &cell, 0, e))
        return false;
    s->logs_at = (uint32_t)cell;
    return true;
}

/* A world of the baked guest installs the table; its memory is what all further
 * worlds begin with. */
static bool prepare_module(struct script *s, struct engine *g, struct str wasm,
                           struct str image, struct err *e)
{
    struct module_source source = {.wasm = wasm,
                                   .image = image,
                                   .imports = imports,
                                   .import_count = LENGTH(imports)};
    scoped(module_close) struct module *bare = module_open(g, ENGINE_OWN, &source, e);
    if (!bare)
        return false;
    struct run none = {.script = s};
    scoped(world_close) struct world *w =
        world_open(bare, &(struct world_limits){0}, &none, e);
    if (!w || !install_table(s, w, e))
        return false;
    s->module = module_freeze(w, e);
    return s->module != NULL;
}

static bool open_module(struct script *s, struct engine *g, int dir, struct err *e)
{
    struct str wasm = {0}, image = {0};
    bool ok = os_map_file(dir, "script.bare.wasm", &wasm, e) &&
              os_map_file(dir, "script.img", &image, e) &&
              prepare_module(s, g, wasm, image, e);
    os_unmap(&wasm);
    os_unmap(&image);
    return ok;
}

struct script *script_open(struct engine *g, const char *guest_dir,
                           const struct script_row *rows, size_t row_count, struct err *e)
{
    scoped(script_close) struct script *s = mem_new(sizeof *s);
    s->rows = rows;
    s->row_count = row_count;
    s->hands = hands_new();
    scoped_fd int dir = os_dir_open(guest_dir, e);
    if (dir < 0 || !open_module(s, g, dir, e)) {
        err_wrap(e, "the JavaScript guest");
        return NULL;
    }
    return take(s);
}

void script_close(struct script *s)
{
    if (!s)
        return;
    hands_free(s->hands);
    module_close(s->module);
    free(s);
}

struct module_counts script_count(const struct script *s)
{
    return module_count(s->module);
}

/* ---- host calls of one run ---------------------------------------------- */

void run_perform(struct errand *errand)
{
    if (atomic_load(&errand->run->over))
        return;
    errand->ok =
        perform(errand->run, errand->row, errand->args, &errand->out, &errand->err);
}

void run_done(struct errand *errand)
{
    struct run *r = errand->run;
    pthread_mutex_lock(&r->lock);
    errand->next = r->finished;
    r->finished = errand;
    r->finished_count++;
    r->away--;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

static struct errand *errand_new(struct run *r, const struct script_call *c,
                                 const char *args)
{
    struct errand *x = malloc(sizeof *x + c->size);
    if (!x)
        return NULL;
    memcpy(x + 1, args, c->size);
    *x = (struct errand){
        .run = r, .id = c->id, .row = c->row, .args = {(char *)(x + 1), c->size}};
    buf_init(&x->out, CALL_ANSWER_MAX);
    return x;
}

static void errand_free(struct errand *x)
{
    buf_done(&x->out);
    free(x);
}

static void queue_put(struct queue *q, struct errand *x)
{
    x->next = NULL;
    if (q->first)
        q->last->next = x;
    else
        q->first = x;
    q->last = x;
}

static struct errand *queue_take(struct queue *q)
{
    struct errand *x = q->first;
    q->first = x->next;
    return x;
}

/* Takes over the calls that the guest has made, slow and quick ones apart. */
static bool take_calls(struct run *r, struct world *w, const struct script_answer *a,
                       struct err *e)
{
    struct str all = {0};
    if (!guest_text(w, a->calls_at, a->calls_size, &all, e))
        return false;
    for (size_t at = 0; all.n - at >= sizeof(struct script_call);) {
        struct script_call c;
        memcpy(&c, all.at + at, sizeof c);
        at += sizeof c;
        size_t padded = SCRIPT_PAD((size_t)c.size);
        struct errand *x = padded <= all.n - at ? errand_new(r, &c, all.at + at) : NULL;
        if (!x)
            return err_set(e, ERR_GUEST, "the guest's host calls cannot be read");
        at += padded;
        if (++r->out->stats.host_calls > r->q->calls_max) {
            errand_free(x);
            return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                           r->q->calls_max);
        }
        bool slow = c.row < r->script->row_count && r->script->rows[c.row].slow;
        queue_put(slow ? &r->slow : &r->quick, x);
    }
    return true;
}

/* Sends slow calls out, a few at a time: the others' turn comes too, the answers
 * that wait for the guest are bounded, and little is left to end when it ends. */
static void send_slow(struct run *r)
{
    while (r->slow.first) {
        pthread_mutex_lock(&r->lock);
        bool room = r->away + r->finished_count < SLOW_AT_ONCE;
        r->away += room;
        pthread_mutex_unlock(&r->lock);
        if (!room)
            return;
        hands_take(r->script->hands, queue_take(&r->slow));
    }
}

/* Performs quick calls, in their order, until their answers together are large
 * enough to be handed over: a thousand large notes are not held at once. */
static void perform_quick(struct run *r)
{
    for (size_t bytes = 0; r->quick.first && bytes < ANSWERS_AT_ONCE;) {
        if (os_mono_ns() > r->until_ns || cancel_fired(r->q->cancel))
            return; /* the run ends, and with it the queue */
        struct errand *x = queue_take(&r->quick);
        run_perform(x);
        bytes += x->out.n;
        pthread_mutex_lock(&r->lock);
        r->away++;
        pthread_mutex_unlock(&r->lock);
        run_done(x);
    }
}

static void wake_cancelled(void *arg)
{
    struct run *r = arg;
    pthread_mutex_lock(&r->lock);
    r->cancelled = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
}

/* Waits until a call is done, a timer is due, or the run must end. */
static bool wait_for_change(struct run *r, const struct script_answer *a, struct err *e)
{
    uint64_t until = r->until_ns;
    if (a->has_timer && a->timer_ms >= 0 && a->timer_ms < 1e9) {
        uint64_t due = os_mono_ns() + (uint64_t)(a->timer_ms * 1e6);
        until = due < until ? due : until;
    }
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                          .tv_nsec = (long)(until % 1000000000u)};
    bool open = cancel_on(r->q->cancel, wake_cancelled, r);
    int late = 0;
    pthread_mutex_lock(&r->lock);
    r->cancelled |= !open;
    bool hopeless = !r->finished && !r->away && !r->cancelled && !a->has_timer;
    late = hopeless;
    while (!r->finished && !r->cancelled && late == 0)
        late = pthread_cond_timedwait(&r->change, &r->lock, &at);
    bool cancelled = r->cancelled;
    pthread_mutex_unlock(&r->lock);
    cancel_off(r->q->cancel);
    if (cancelled)
        return err_set(e, ERR_CANCELLED, "cancelled while it was waiting");
    if (hopeless && os_mono_ns() < r->until_ns)
        return err_set(e, ERR_GUEST, "the code waits for an answer that cannot come");
    if (os_mono_ns() >= r->until_ns)
        return err_set(e, ERR_TIMEOUT,
                       "took longer than %llu ms in all, waiting included",
                       (unsigned long long)r->q->total_ms);
    return true;
}

/* ---- settling ----------------------------------------------------------- */

/* The finished ones, oldest first. */
static struct errand *take_finished(struct run *r)
{
    pthread_mutex_lock(&r->lock);
    struct errand *list = take(r->finished);
    r->finished_count = 0;
    pthread_mutex_unlock(&r->lock);
    struct errand *ordered = NULL;
    for (struct errand *x = list, *next; x; x = next) {
        next = x->next;
        x->next = ordered;
        ordered = x;
    }
    return ordered;
}

static void free_errands(struct errand *x)
{
    for (struct errand *next; x; x = next) {
        next = x->next;
        errand_free(x);
    }
}

static size_t settled_size(struct errand *list)
{
    size_t n = 0;
    for (struct errand *x = list; x; x = x->next) {
        if (!x->ok) {
            buf_clear(&x->out);
            write_failure(&x->err, &x->out);
        }
        n += sizeof(struct script_settled) + SCRIPT_PAD(x->out.n);
    }
    return n;
}

static bool settle(struct run *r, struct world *w, struct script_answer *a, struct err *e)
{
    struct errand *list = take_finished(r);
    size_t n = settled_size(list);
    char *to = guest_room(w, n, e);
    for (struct errand *x = list; to && x; x = x->next) {
        struct script_settled s = {
            .id = x->id, .failed = !x->ok, .size = (uint32_t)x->out.n};
        memcpy(to, &s, sizeof s);
        memcpy(to + sizeof s, x->out.at, x->out.n);
        to += sizeof s + SCRIPT_PAD(x->out.n);
        r->out->changed |= x->ok && r->script->rows[x->row].writes;
    }
    bool ok = to && guest_step(w, "resume", n, a, e);
    free_errands(list);
    return ok;
}

/* Those on other threads use this run: it does not end before them. */
static void end_errands(struct run *r)
{
    atomic_store(&r->over, true);
    if (r->q->over)
        r->q->over(r->q->perform_arg);
    pthread_mutex_lock(&r->lock);
    r->ended = true; /* those that have not begun do not begin */
    while (r->away)
        pthread_cond_wait(&r->change, &r->lock);
    pthread_mutex_unlock(&r->lock);
    for (struct errand *x = r->finished; x; x = x->next)
        r->out->changed |= x->ok && r->script->rows[x->row].writes;
    free_errands(take(r->finished));
    free_errands(take(r->quick.first));
    free_errands(take(r->slow.first));
}

/* ---- the outcome -------------------------------------------------------- */

void script_outcome_init(struct script_outcome *o)
{
    *o = (struct script_outcome){0};
    buf_init(&o->result, SIZE_MAX / 2);
    buf_init(&o->logs, SIZE_MAX / 2);
    buf_init(&o->saved, 0);
    struct buf *const texts[] = {&o->name,  &o->message, &o->stack,
                                 &o->frame, &o->preview, &o->missing};
    for (size_t i = 0; i < LENGTH(texts); i++)
        buf_init(texts[i], TEXT_MAX);
}

void script_outcome_done(struct script_outcome *o)
{
    struct buf *const all[] = {&o->result,  &o->logs,    &o->name,
                               &o->message, &o->stack,   &o->frame,
                               &o->preview, &o->missing, &o->saved};
    for (size_t i = 0; i < LENGTH(all); i++)
        buf_done(all[i]);
}

/* The rows of struct script_log as a JSON array. */
static void write_logs(struct run *r, struct str all, uint32_t dropped)
{
    static const char *const levels[] = {"log", "info", "warn", "error", "debug"};
    struct json_writer j = json_writer(&r->out->logs);
    json_open_array(&j);
    for (size_t at = 0; all.n - at >= sizeof(struct script_log);) {
        struct script_log head;
        memcpy(&head, all.at + at, sizeof head);
        at += sizeof head;
        if (head.size > all.n - at)
            break;
        json_open_object(&j);
        json_pair_cstr(&j, "level", levels[head.level < LENGTH(levels) ? head.level : 0]);
        json_pair_str(&j, "message", (struct str){all.at + at, head.size});
        json_close(&j);
        size_t padded = SCRIPT_PAD((size_t)head.size);
        at += padded < all.n - at ? padded : all.n - at;
    }
    json_close(&j);
    r->out->logs_dropped = dropped;
}

static bool read_logs(struct run *r, struct world *w, const struct script_answer *a,
                      struct err *e)
{
    struct str all = {0};
    if (!guest_text(w, a->logs_at, a->logs_size, &all, e))
        return false;
    write_logs(r, all, a->logs_dropped);
    return true;
}

/* What a guest that was stopped had written until then. */
static void salvage_logs(struct run *r, struct world *w)
{
    struct script_logs view;
    const void *at = world_remains(w, r->script->logs_at, sizeof view);
    if (!at)
        return;
    memcpy(&view, at, sizeof view);
    const char *rows = world_remains(w, view.at, view.size);
    if (rows && view.size <= r->q->logs_max)
        write_logs(r, (struct str){rows, view.size}, view.dropped);
}

static bool read_outcome(struct run *r, struct world *w, const struct script_answer *a,
                         struct err *e)
{
    struct str text = {0};
    if (!read_logs(r, w, a, e) || !guest_text(w, a->result_at, a->result_size, &text, e))
        return false;
    /* The guest keeps to result_max; the host does not rely on it. */
    if (text.n > r->q->result_max)
        text.n = r->q->result_max;
    buf_str(&r->out->result, text);
    r->out->success = !a->failed;
    if (r->out->success)
        return true;
    if (!guest_text(w, a->error_at, a->error_size, &text, e))
        return false;
    explain_error(r->out, r->q->code, text, a);
    if (r->out->type == ERR_GUEST)
        explain_missing(r->script, r->q, r->out);
    return true;
}

/* ---- running ------------------------------------------------------------ */

/* Small requests go where every world has room already: the guest need not be
 * asked. It is our own, and has a NUL behind its input. A session's world may have moved
 * that room. */
static char *request_room(struct run *r, struct world *w, size_t n, struct err *e)
{
    if (n >= INPUT_READY || r->q->saved.n)
        return guest_room(w, n, e);
    char *at = world_slice(w, r->script->input_at, INPUT_READY);
    if (at)
        at[n] = '\0';
    else
        err_set(e, ERR_GUEST, "the guest's input lies outside its memory");
    return at;
}

static bool send_request(struct run *r, struct world *w, size_t *size, struct err *e)
{
    const struct script_request *q = r->q;
    struct script_head head = {.abi = SCRIPT_ABI,
                               .code_size = (uint32_t)q->code.n,
                               .context_size = (uint32_t)q->context.n,
                               .result_max = (uint32_t)q->result_max,
                               .logs_max = (uint32_t)q->logs_max,
                               .calls_max = q->calls_max,
                               .features = q->features,
                               .flags = q->session ? SCRIPT_SESSION : 0};
    *size = sizeof head + q->code.n + q->context.n;
    char *to = request_room(r, w, *size, e);
    if (!to)
        return false;
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, q->code.at, q->code.n);
    if (q->context.n)
        memcpy(to + sizeof head + q->code.n, q->context.at, q->context.n);
    return true;
}

static bool run_world(struct run *r, struct world *w, struct err *e)
{
    struct script_answer a;
    size_t size;
    if (!send_request(r, w, &size, e) || !guest_step(w, "start", size, &a, e))
        return false;
    while (a.status == SCRIPT_WAITING) {
        uint64_t start = os_mono_ns();
        bool ok = take_calls(r, w, &a, e);
        if (ok) {
            send_slow(r);
            perform_quick(r);
        }
        ok = ok && wait_for_change(r, &a, e);
        r->host_ns += os_mono_ns() - start;
        if (!ok || !settle(r, w, &a, e))
            return false;
    }
    return read_outcome(r, w, &a, e);
}

/* The outcome stands already: that its world is not kept is told beside it. */
static void save_session(struct run *r, struct world *w)
{
    uint64_t none = 0;
    buf_done(&r->out->saved);
    buf_init(&r->out->saved, r->q->saved_max);
    if (world_call(w, "rest", &none, 0, &r->out->unsaved) &&
        world_save(w, &r->out->saved, &r->out->unsaved))
        return;
    buf_done(&r->out->saved);
    buf_init(&r->out->saved, 0);
}

static bool run_init(struct run *r, struct script *s, const struct script_request *q,
                     struct script_outcome *out)
{
    *r = (struct run){.script = s, .q = q, .out = out, .started_ns = os_mono_ns()};
    r->until_ns = q->total_ms ? r->started_ns + q->total_ms * 1000000u : UINT64_MAX / 2;
    buf_init(&r->sync_answer, CALL_ANSWER_MAX);
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->change, &attr);
    pthread_condattr_destroy(&attr);
    return true;
}

static void run_end(struct run *r, struct world *w)
{
    end_errands(r);
    struct script_stats *stats = &r->out->stats;
    if (w) {
        struct world_usage u = world_usage(w);
        stats->compute_ms = (double)u.compute_ns / 1e6;
        stats->memory_peak = u.memory_peak;
    }
    stats->host_ms = (double)r->host_ns / 1e6;
    buf_done(&r->sync_answer);
    pthread_cond_destroy(&r->change);
    pthread_mutex_destroy(&r->lock);
}

/* Only to be had anew, whether it is another build's or damaged. */
static bool refuse_saved(struct err *e)
{
    if (e->code == ERR_INVALID)
        e->code = ERR_CONFLICT;
    return false;
}

bool script_run(struct script *s, const struct script_request *q,
                struct script_outcome *out, struct err *e)
{
    if (!str_is_utf8(q->code))
        return err_set(e, ERR_INVALID, "code is not UTF-8 text");
    if (!check_context(s, q->context, e))
        return false;
    struct run r;
    run_init(&r, s, q, out);
    struct world_limits limits = {
        .memory_bytes = q->memory_bytes < MEMORY_MAX ? q->memory_bytes : MEMORY_MAX,
        .compute_ns = q->compute_ms * 1000000u,
        .until_ns = r.until_ns,
        .tenant = q->tenant,
        .cancel = q->cancel,
    };
    struct err why = {0};
    struct world *w = world_open(s->module, &limits, &r, &why);
    bool restored = w && (q->saved.n == 0 || world_restore(w, q->saved, e));
    bool ran = restored && run_world(&r, w, &why);
    if (ran && q->session)
        save_session(&r, w);
    if (w && !ran)
        salvage_logs(&r, w);
    run_end(&r, w);
    world_close(w);
    if (w && !restored)
        return refuse_saved(e);
    /* Thousands of answers, and worlds that were stopped, leave the C library's heap
     * in pieces that it would keep; deep recursion leaves stack. */
    if (!ran || out->stats.host_calls >= MANY_CALLS)
        (void)malloc_trim(0);
    if (!out->success)
        os_stack_trim();
    if (!ran)
        explain_limit(out, &why);
    if (!out->logs.n)
        buf_cstr(&out->logs, "[]");
    out->stats.total_ms = (double)(os_mono_ns() - r.started_ns) / 1e6;
    return why.code != ERR_BUSY || err_set(e, why.code, "%s", why.msg);
}
