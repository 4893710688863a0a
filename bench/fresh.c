/* Our side of what bench/run measures in process: evaluations in fresh worlds.
 *
 *   fresh GUEST_DIR     reads commands, one a line, and answers each with one line of JSON
 *
 *   fresh COUNT THREADS    each thread runs COUNT evaluations of `return 1`:
 *                          {"ns": [each one's time ...], "seconds": of all together}
 *   session COUNT          COUNT evaluations of one session, each going on from what the
 *                          last one saved: {"ns": [...], "bytes": what is saved}
 *   program FILE           runs the program once: {"ns", "result"}
 *
 * "counted " before a command: on the engine that counts fuel; "python ": on the Python guest.
 *
 * peers/quickjs.mjs answers the same commands for the other side. Deadlines are in
 * force throughout: every run has its limits of computing time, total time and memory. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

#include "base/base.h"
#include "engine/engine.h"
#include "os/os.h"
#include "script/script.h"
#include "json/json.h"

#define THREADS_MAX 64
#define COUNT_MAX 1000000

/* As many rows, and of the same kinds, as the program has for agents. */
static const struct script_row rows[] = {
    {.name = "notes.create", .writes = true},
    {.name = "notes.get"},
    {.name = "notes.update", .writes = true},
    {.name = "notes.delete", .writes = true},
    {.name = "notes.list"},
    {.name = "notes.search", .slow = true},
    {.name = "utils.generateId", .source = "() => crypto.randomUUID().slice(0, 10)"},
    {.name = "utils.parseLinks",
     .source = "(s) => Array.from(s.matchAll(/\\[\\[([^\\]]+)\\]\\]/g), (m) => m[1])"},
    {.name = "utils.formatDate", .source = "(date) => new Date(date).toISOString()"},
    {.name = "utils.sanitizeTitle",
     .source = "(s) => s.replace(/[^\\w\\s-]/g, '').trim()"},
};

static bool no_host_call(void *arg, struct script_task *t, uint32_t row, struct str args,
                         struct buf *out, struct err *e)
{
    (void)arg;
    (void)t;
    (void)args;
    (void)out;
    return err_set(e, ERR_DENIED, "%s is not there in a benchmark", rows[row].name);
}

_Noreturn static void give_up(const char *what, struct str why)
{
    fprintf(stderr, "fresh: %s: %.*s\n", what, STR_ARGS(why));
    exit(1);
}

/* One evaluation, its outcome checked; the result goes to `result`, if not NULL. Answers
 * the time from the request to the end of its world. */
static uint64_t evaluate(struct script *s, struct str code, struct buf *result)
{
    const struct script_request q = {.code = code,
                                     .compute_ms = 30000,
                                     .total_ms = 60000,
                                     .memory_bytes = (uint64_t)256 << 20,
                                     .result_max = (size_t)1 << 20,
                                     .logs_max = (size_t)64 << 10,
                                     .calls_max = 10000,
                                     .perform = no_host_call};
    struct script_outcome o;
    struct err e = {0};
    uint64_t start = os_mono_ns();
    script_outcome_init(&o);
    if (!script_run(s, &q, &o, &e))
        give_up("it did not run", str_of(e.msg));
    if (!o.success)
        give_up("it failed", buf_view(&o.message));
    if (result)
        buf_str(result, buf_view(&o.result));
    script_outcome_done(&o);
    return os_mono_ns() - start;
}

/* ---- fresh -------------------------------------------------------------- */

struct batch {
    struct script *script;
    size_t count;
    uint64_t *ns; /* each one's time */
    pthread_t thread;
};

static void *run_batch(void *arg)
{
    struct batch *b = arg;
    for (size_t i = 0; i < b->count; i++)
        b->ns[i] = evaluate(b->script, STR("return 1"), NULL);
    return NULL;
}

/* Guests need a large stack, whatever `ulimit -s` says of the first thread's. */
static void start_thread(pthread_t *t, void *run(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, ENGINE_THREAD_STACK);
    must(pthread_create(t, &attr, run, arg) == 0);
    pthread_attr_destroy(&attr);
}

static void command_fresh(struct script *s, size_t count, size_t threads,
                          struct json_writer *out)
{
    struct batch batches[THREADS_MAX];
    uint64_t *ns = calloc(count * threads, sizeof *ns);
    must(ns != NULL);
    uint64_t start = os_mono_ns();
    for (size_t i = 0; i < threads; i++) {
        batches[i] = (struct batch){.script = s, .count = count, .ns = ns + i * count};
        start_thread(&batches[i].thread, run_batch, &batches[i]);
    }
    for (size_t i = 0; i < threads; i++)
        pthread_join(batches[i].thread, NULL);
    uint64_t all = os_mono_ns() - start;

    json_open_object(out);
    json_pair_number(out, "seconds", (double)all / 1e9);
    json_key(out, "ns");
    json_open_array(out);
    for (size_t i = 0; i < count * threads; i++)
        json_put_int(out, (int64_t)ns[i]);
    json_close(out);
    json_close(out);
    free(ns);
}

/* ---- sessions ----------------------------------------------------------- */

struct series {
    struct script *script;
    size_t count, bytes;
    uint64_t *ns;
};

static void *run_session(void *arg)
{
    struct series *s = arg;
    scoped_buf struct buf kept;
    buf_init(&kept, (size_t)64 << 20);
    for (size_t i = 0; i < s->count; i++) {
        const struct script_request q = {.code = STR("state.n = (state.n ?? 0) + 1"),
                                         .compute_ms = 30000,
                                         .total_ms = 60000,
                                         .memory_bytes = (uint64_t)256 << 20,
                                         .result_max = (size_t)1 << 20,
                                         .logs_max = (size_t)64 << 10,
                                         .calls_max = 10000,
                                         .session = true,
                                         .saved = buf_view(&kept),
                                         .saved_max = (size_t)64 << 20,
                                         .perform = no_host_call};
        struct script_outcome o;
        struct err e = {0};
        uint64_t start = os_mono_ns();
        script_outcome_init(&o);
        if (!script_run(s->script, &q, &o, &e) || !o.saved.n)
            give_up("a session's call did not run", str_of(e.msg));
        buf_clear(&kept);
        buf_str(&kept, buf_view(&o.saved));
        script_outcome_done(&o);
        s->ns[i] = os_mono_ns() - start;
    }
    s->bytes = kept.n;
    return NULL;
}

static void command_session(struct script *s, size_t count, struct json_writer *out)
{
    struct series series = {s, count, 0, calloc(count, sizeof *series.ns)};
    pthread_t thread;
    must(series.ns != NULL);
    start_thread(&thread, run_session, &series);
    pthread_join(thread, NULL);
    json_open_object(out);
    json_pair_int(out, "bytes", (int64_t)series.bytes);
    json_key(out, "ns");
    json_open_array(out);
    for (size_t i = 0; i < count; i++)
        json_put_int(out, (int64_t)series.ns[i]);
    json_close(out);
    json_close(out);
    free(series.ns);
}

/* ---- programs ----------------------------------------------------------- */

struct program {
    struct script *script;
    struct str code;
    struct buf result;
    uint64_t ns;
};

static void *run_program(void *arg)
{
    struct program *p = arg;
    p->ns = evaluate(p->script, p->code, &p->result);
    return NULL;
}

static void command_program(struct script *s, const char *path, struct json_writer *out)
{
    struct program p = {.script = s};
    scoped_buf struct buf code;
    struct err e = {0};
    buf_init(&code, (size_t)1 << 20);
    buf_init(&p.result, (size_t)1 << 20);
    scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !os_read_fd(fd, &code, &e))
        give_up(path, STR("cannot be read"));
    p.code = buf_view(&code);

    pthread_t thread;
    start_thread(&thread, run_program, &p);
    pthread_join(thread, NULL);
    json_open_object(out);
    json_pair_int(out, "ns", (int64_t)p.ns);
    json_pair_raw(out, "result", buf_view(&p.result));
    json_close(out);
    buf_done(&p.result);
}

/* ---- commands ----------------------------------------------------------- */

/* A side of ours, by the word before a command: "" is JavaScript. */
struct side {
    const char *word;
    struct script *script;
};

static struct script *take_side(const struct side *sides, size_t count, char **line)
{
    for (size_t i = 1; i < count; i++) {
        if (!str_starts(str_of(*line), sides[i].word))
            continue;
        *line += strlen(sides[i].word);
        if (!sides[i].script)
            give_up("no guest", str_of(sides[i].word));
        return sides[i].script;
    }
    return sides[0].script;
}

static void obey(const struct side *sides, size_t side_count, char *line)
{
    struct script *s = take_side(sides, side_count, &line);
    scoped_buf struct buf answer;
    buf_init(&answer, (size_t)256 << 20);
    struct json_writer w = json_writer(&answer);
    size_t count, threads;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "fresh %zu %zu", &count, &threads) == 2 && count > 0 &&
        count <= COUNT_MAX && threads > 0 && threads <= THREADS_MAX)
        command_fresh(s, count, threads, &w);
    else if (sscanf(line, "session %zu", &count) == 1 && count > 0 && count <= COUNT_MAX)
        command_session(s, count, &w);
    else if (str_starts(str_of(line), "program "))
        command_program(s, line + strlen("program "), &w);
    else
        give_up("not a command", str_of(line));
    puts(buf_cz(&answer));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    if (argc != 2)
        give_up("usage", STR("fresh GUEST_DIR, commands on standard input"));
    scoped(engine_close) struct engine *g = engine_open(&(struct engine_options){0}, &e);
    scoped(script_close) struct script *s =
        g ? script_open(g, argv[1], rows, LENGTH(rows), &e) : NULL;
    if (!s)
        give_up("no engine", str_of(e.msg));
    scoped(script_close) struct script *counted =
        script_open_metered(g, argv[1], rows, LENGTH(rows), &e);
    if (!counted)
        give_up("no engine that counts fuel", str_of(e.msg));
    /* NULL where it was not built, which counts when it is asked for. */
    scoped(script_close) struct script *python =
        script_open_python(g, argv[1], rows, LENGTH(rows), STR("[]"), &e);
    const struct side sides[] = {{"", s}, {"counted ", counted}, {"python ", python}};
    char line[4096];
    while (fgets(line, sizeof line, stdin))
        obey(sides, LENGTH(sides), line);
    return 0;
}
