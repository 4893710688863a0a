/* The guest: what it imports, how it is talked to, and the table that is put into it. */
#include <fcntl.h>
#include <time.h>

#include "abi/abi.h"
#include "os/os.h"
#include "script/internal.h"
#include "json/json.h"

/* ---- imports ------------------------------------------------------------ */

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

/* Calls start or resume; a copy of the answer. */
bool guest_step(struct world *w, const char *name, size_t n, struct script_answer *out,
                struct err *e)
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

bool guest_text(struct world *w, uint32_t at, uint32_t n, struct str *out, struct err *e)
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
        if (s->rows[i].shared)
            json_pair_bool(&j, "shared", true);
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
    if (!world_call(w, "sources_view", &cell, 0, e))
        return false;
    s->sources_at = (uint32_t)cell;
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
    scoped(module_close) struct module *bare = module_open(g, s->kind, &source, e);
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

static struct script *open_kind(struct engine *g, enum engine_kind kind,
                                const char *guest_dir, const struct script_row *rows,
                                size_t row_count, struct err *e)
{
    scoped(script_close) struct script *s = mem_new(sizeof *s);
    s->kind = kind;
    s->rows = rows;
    s->row_count = row_count;
    s->workers = workers_new();
    scoped_fd int dir = os_dir_open(guest_dir, e);
    if (dir < 0 || !open_module(s, g, dir, e)) {
        err_wrap(e, "the JavaScript guest");
        return NULL;
    }
    return take(s);
}

struct script *script_open(struct engine *g, const char *guest_dir,
                           const struct script_row *rows, size_t row_count, struct err *e)
{
    return open_kind(g, ENGINE_OWN, guest_dir, rows, row_count, e);
}

struct script *script_open_metered(struct engine *g, const char *guest_dir,
                                   const struct script_row *rows, size_t row_count,
                                   struct err *e)
{
    return open_kind(g, ENGINE_OWN_METERED, guest_dir, rows, row_count, e);
}

void script_close(struct script *s)
{
    if (!s)
        return;
    workers_free(s->workers);
    module_close(s->module);
    free(s);
}
