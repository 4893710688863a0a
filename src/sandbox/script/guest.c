/* The guest: what it imports, and the table of host calls that is put into it. */
#include <fcntl.h>
#include <time.h>

#include "abi/abi.h"
#include "guest/guest.h"
#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

/* ---- imports ------------------------------------------------------------ */

bool guest_is_asked(const struct run *r, struct err *e)
{
    return r->q || err_set(e, ERR_GUEST, "the guest asks the host before it is asked");
}

/* call(row, at, n) -> size, or ~size for an error */
bool import_call(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    uint32_t row = (uint32_t)cells[0], n = (uint32_t)cells[2];
    const char *at = world_slice(w, (uint32_t)cells[1], n);
    if (!guest_is_asked(r, e))
        return false;
    if (!at)
        return err_set(e, ERR_GUEST, "a host call's arguments lie outside the memory");
    buf_clear(&r->sync_answer);
    struct err why = {0};
    uint32_t number = row & ~SCRIPT_WITHIN;
    bool sync = number < r->script->row_count && r->script->rows[number].sync;
    if (!sync)
        return err_set(e, ERR_GUEST, "host call %u cannot be made so", number);
    /* The guest counts too, and better; the host does not rely on it. */
    if (++r->out->stats.host_calls > r->q->calls_max)
        return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                       r->q->calls_max);
    uint32_t made = made_add(r, &(struct script_call){.row = row}, (struct str){at, n});
    struct made_times t = {.start_ns = os_mono_ns()};
    world_pause(w);
    bool ok = call_perform(r, NULL, row, (struct str){at, n}, &r->sync_answer, &why);
    world_set_until(w, run_until(r));
    world_resume(w);
    t.end_ns = os_mono_ns();
    r->host_ns += t.end_ns - t.start_ns;
    made_end(r, made, &t, why.code, r->sync_answer.n);
    if (!ok) {
        buf_clear(&r->sync_answer);
        call_failure(&why, &r->sync_answer);
    }
    r->given = &r->sync_answer;
    int32_t size = (int32_t)r->sync_answer.n;
    cells[0] = (uint32_t)(ok ? size : ~size);
    return true;
}

/* take(at) */
bool import_take(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    struct str given = r->given ? buf_view(r->given) : (struct str){"", 0};
    void *to = world_slice(w, (uint32_t)cells[0], given.n);
    if (!to)
        return err_set(e, ERR_GUEST, "a host call's answer does not fit the memory");
    memcpy(to, given.at, given.n);
    return true;
}

/* random(at, n) */
bool import_random(struct world *w, uint64_t *cells, struct err *e)
{
    uint32_t n = (uint32_t)cells[1];
    void *to = world_slice(w, (uint32_t)cells[0], n);
    if (!to)
        return err_set(e, ERR_GUEST, "random bytes asked for outside the memory");
    os_random(to, n);
    return true;
}

/* stop(why) */
bool import_stop(struct world *w, uint64_t *cells, struct err *e)
{
    struct run *r = world_data(w);
    if (!guest_is_asked(r, e))
        return false;
    if ((uint32_t)cells[0] == SCRIPT_STOP_CALLS)
        return err_set(e, ERR_HOST_CALLS, "made more than %u host calls",
                       r->q->calls_max);
    /* Seen by the engine already, where memory is the engine's own. */
    if ((uint32_t)cells[0] == SCRIPT_STOP_MEMORY)
        return err_set(e, ERR_MEMORY, "needs more than %llu MB of memory",
                       (unsigned long long)(r->q->memory_bytes >> 20));
    return err_set(e, ERR_GUEST, "the guest gave up");
}

/* clock_time_get(clock, precision, at) -> errno; all of WASI that it uses. */
bool import_clock(struct world *w, uint64_t *cells, struct err *e)
{
    void *to = world_slice(w, (uint32_t)cells[2], 8);
    if (!to)
        return err_set(e, ERR_GUEST, "asks for the time outside its memory");
    const struct run *r = world_data(w);
    bool is_date = (uint32_t)cells[0] == 0;
    struct timespec t = {0};
    (void)clock_gettime(is_date ? CLOCK_REALTIME : CLOCK_MONOTONIC, &t);
    if (is_date && r->q && r->q->now_ms)
        t = (struct timespec){r->q->now_ms / 1000, r->q->now_ms % 1000 * 1000000};
    uint64_t ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    memcpy(to, &ns, sizeof ns);
    cells[0] = 0;
    return true;
}

/* zone(seconds) -> minutes that the person's local time lies behind UTC then */
static bool import_zone(struct world *w, uint64_t *cells, struct err *e)
{
    (void)w, (void)e;
    time_t at = (time_t)cells[0];
    struct tm local;
    long behind = localtime_r(&at, &local) ? -local.tm_gmtoff / 60 : 0;
    cells[0] = (uint32_t)(int32_t)behind;
    return true;
}

/* zone_name(at, n) -> the size of the name of the person's time zone, written there */
static bool import_zone_name(struct world *w, uint64_t *cells, struct err *e)
{
    char name[OS_ZONE_MAX];
    size_t n = os_zone_name(name);
    void *to = world_slice(w, (uint32_t)cells[0], n);
    if (!to || n > (uint32_t)cells[1])
        return err_set(e, ERR_GUEST, "asks for the time zone outside its memory");
    memcpy(to, name, n);
    cells[0] = (uint32_t)n;
    return true;
}

static const struct engine_import imports[] = {
    {"host", "call", "iii:i", import_call},
    {"host", "take", "i:", import_take},
    {"host", "random", "ii:", import_random},
    {"host", "stop", "i:", import_stop},
    {"host", "zone", "I:i", import_zone},
    {"host", "zone_name", "ii:i", import_zone_name},
    {GUEST_WASI, "clock_time_get", "iIi:i", import_clock},
    GUEST_NO_FILES,
};

const struct script_kind script_javascript = {
    .name = "script",
    .title = "the JavaScript guest",
    .imports = imports,
    .import_count = LENGTH(imports),
    .taken = " "
             "arguments async await break case catch class const continue debugger "
             "default delete do else enum eval export extends false finally for function "
             "if implements import in instanceof interface let new null package private "
             "protected public return static super switch this throw true try typeof "
             "undefined var void while with yield context __proto__ "
             "AbortController AbortSignal AggregateError Array ArrayBuffer "
             "AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean "
             "DOMException DataView Date DisposableStack Error EvalError Event "
             "EventTarget FinalizationRegistry Float16Array Float32Array Float64Array "
             "Function Infinity Int16Array Int32Array Int8Array InternalError Intl "
             "Iterator JSON Map Math NaN Number Object Promise Proxy RangeError "
             "ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError "
             "Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL "
             "URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray "
             "WeakMap WeakRef WeakSet __last __main __nothing __spread atob btoa "
             "clearInterval clearTimeout console crypto decodeURI decodeURIComponent "
             "encodeURI encodeURIComponent escape exports fetch global globalThis "
             "isFinite isNaN module parseFloat parseInt performance process "
             "queueMicrotask require setInterval setTimeout sleep structuredClone "
             "unescape ",
};

/* ---- opening ------------------------------------------------------------ */

static void write_table(const struct script *s, struct buf *out)
{
    struct json_writer j = json_writer(out);
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
        if (s->rows[i].shared)
            json_pair_bool(&j, "shared", true);
        json_close(&j);
    }
    json_close(&j);
}

/* The host's notes on a world whose table is installed. */
enum { NOTE_INPUT, NOTE_LOGS, NOTE_SOURCES };
_Static_assert(NOTE_SOURCES < BAKED_NOTES, "");

static bool install_table(struct world *w, void *arg, uint64_t *notes, struct err *e)
{
    const struct buf *table = arg;
    char *room = guest_room(w, table->n > INPUT_READY ? table->n : INPUT_READY, e);
    if (!room)
        return false;
    memcpy(room, table->at, table->n);
    room[table->n] = '\0'; /* the guest's JSON reader wants one */
    notes[NOTE_INPUT] = (uint64_t)(room - world_memory(w).at);
    uint64_t cell = table->n;
    if (!world_call(w, "install", &cell, 1, e) ||
        !world_call(w, "logs_view", &cell, 0, e))
        return false;
    notes[NOTE_LOGS] = (uint32_t)cell;
    if (!world_call(w, "sources_view", &cell, 0, e))
        return false;
    notes[NOTE_SOURCES] = (uint32_t)cell;
    return true;
}

/* All worlds begin with the table installed. */
static bool open_module(struct script *s, struct engine *g, const char *guest_dir,
                        struct str given, struct err *e)
{
    uint64_t notes[BAKED_NOTES] = {0};
    struct run none = {.script = s};
    scoped_buf struct buf table = buf_of(BUF_LIST);
    if (given.n)
        buf_str(&table, given);
    else
        write_table(s, &table);
    struct baked_first first = {
        .text = buf_view(&table), .prepare = install_table, .arg = &table, .data = &none};
    struct baked_guest baked = {.dir = guest_dir,
                                .name = s->language->name,
                                .imports = s->language->imports,
                                .import_count = s->language->import_count,
                                .first = &first};
    if (!buf_check(&table, "the table of host calls", e))
        return false;
    s->module = module_open_baked(g, s->kind, &baked, notes, e);
    s->input_at = notes[NOTE_INPUT];
    s->logs_at = notes[NOTE_LOGS];
    s->sources_at = notes[NOTE_SOURCES];
    return s->module != NULL;
}

static struct script *open_kind(struct engine *g, const struct script_kind *language,
                                enum engine_kind kind, const char *guest_dir,
                                const struct script_row *rows, size_t row_count,
                                struct str table, struct err *e)
{
    scoped(script_close) struct script *s = mem_new(sizeof *s);
    s->language = language;
    s->kind = kind;
    s->rows = rows;
    s->row_count = row_count;
    s->workers = workers_new();
    if (!open_module(s, g, guest_dir, table, e)) {
        err_wrap(e, "%s", language->title);
        return NULL;
    }
    return take(s);
}

struct script *script_open(struct engine *g, const char *guest_dir,
                           const struct script_row *rows, size_t row_count, struct err *e)
{
    return open_kind(g, &script_javascript, ENGINE_OWN, guest_dir, rows, row_count,
                     (struct str){0}, e);
}

struct script *script_open_metered(struct engine *g, const char *guest_dir,
                                   const struct script_row *rows, size_t row_count,
                                   struct err *e)
{
    return open_kind(g, &script_javascript, ENGINE_OWN_METERED, guest_dir, rows,
                     row_count, (struct str){0}, e);
}

struct script *script_open_python(struct engine *g, const char *guest_dir,
                                  const struct script_row *rows, size_t row_count,
                                  struct str table, struct err *e)
{
    return open_kind(g, &script_python, ENGINE_OWN, guest_dir, rows, row_count, table, e);
}

void script_close(struct script *s)
{
    if (!s)
        return;
    workers_free(s->workers);
    module_close(s->module);
    free(s);
}
