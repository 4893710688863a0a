/* Runs in JSON: what a tool takes, what a call says, what came of it. */
#include <stdio.h>

#include "crypto/crypto.h"
#include "tools/internal.h"

#define SAID_MAX ((size_t)65536)   /* bytes of a parameter's description */
#define CHOICES_MAX ((size_t)7500) /* of all of its choices */

/* ---- a tool's parameters ------------------------------------------------ */

/* Clients take choices of strings alone, none of them empty, and not too much of them. */
static bool choices_suit_clients(const struct tool_parameter *p)
{
    size_t n = 0;
    struct json_iter it = json_iter(p->choices);
    while (json_next(&it)) {
        struct str choice = json_str(it.value);
        n += choice.n;
        if (!choice.n || n > CHOICES_MAX)
            return false;
    }
    return p->type == TOOL_STRING && n > 0;
}

static void say_value(const char *what, const struct json *v, struct buf *said)
{
    scoped_buf struct buf text = buf_of(SAID_MAX);
    struct json_writer w = json_writer(&text);
    json_put(&w, v);
    struct str short_text = str_cut(buf_view(&text), 300);
    buf_printf(said, "%s(%s%.*s%s)", said->n ? " " : "", what, STR_ARGS(short_text),
               short_text.n < text.n ? " ..." : "");
}

/* Clients want an object's keys by name, and what is in an array. */
static const char *const item_schemas[] = {
    [TOOL_STRING] = "{\"type\":\"string\"}",
    [TOOL_NUMBER] = "{\"type\":\"number\"}",
    [TOOL_BOOLEAN] = "{\"type\":\"boolean\"}",
    [TOOL_ARRAY] = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}",
    [TOOL_OBJECT] =
        "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"}}}"};

static void tool_put_parameter(const struct tool *t, const struct tool_parameter *p,
                               struct json_writer *w)
{
    scoped_buf struct buf said = buf_of(SAID_MAX);
    buf_cstr(&said, p->description ? p->description : "");
    /* A built-in tool does not require it where the caller writes `args` itself. */
    if (p->required && t->builtin)
        buf_printf(&said, "%s(required, unless args is given)", said.n ? " " : "");
    bool choices = p->choices && choices_suit_clients(p);
    if (json_length(p->choices) && !choices)
        say_value("one of ", p->choices, &said);
    if (p->default_value)
        say_value("default ", p->default_value, &said);
    json_key(w, p->name);
    json_open_object(w);
    json_pair_cstr(w, "type", tool_type_name(p->type));
    json_pair_str(w, "description", buf_view(&said));
    if (choices)
        json_pair(w, "enum", p->choices);
    if (p->type == TOOL_ARRAY) {
        json_pair_raw(w, "items", str_of(item_schemas[p->items]));
    }
    json_close(w);
}

static void put_shared(const struct tool *t, struct json_writer *w)
{
    for (const struct shared_parameter *p = shared_parameters; p->name; p++)
        if (argument_is_shared(t, str_of(p->name)))
            json_pair_raw(w, p->name, str_of(p->schema));
}

static bool must_be_given(const struct tool *t, const struct tool_parameter *p)
{
    return p->required && !p->default_value && !t->builtin;
}

void tool_input_schema(const struct tool *t, struct json_writer *out)
{
    json_open_object(out);
    json_pair_cstr(out, "type", "object");
    json_key(out, "properties");
    json_open_object(out);
    size_t required = 0;
    for (size_t i = 0; i < t->parameter_count; i++) {
        tool_put_parameter(t, &t->parameters[i], out);
        required += must_be_given(t, &t->parameters[i]);
    }
    put_shared(t, out);
    json_close(out);
    if (required) {
        json_key(out, "required");
        json_open_array(out);
        for (size_t i = 0; i < t->parameter_count; i++)
            if (must_be_given(t, &t->parameters[i]))
                json_put_cstr(out, t->parameters[i].name);
        json_close(out);
    }
    json_close(out);
}

/* ---- a call's arguments ------------------------------------------------- */

/* Behind those that the world has: each stage of a pipeline may bring some. */
static bool read_files(const struct json *files, struct arena *a,
                       struct tool_world *world, struct err *e)
{
    size_t before = world->file_count, n = before + json_length(files);
    if (!json_is(files, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "arguments.files is %s; an object {name: text or {base64}} is "
                       "accepted",
                       json_type_name(json_type(files)));
    if (n > TOOL_FILES_MAX)
        return err_set(e, ERR_LIMIT,
                       "arguments.files makes it %zu files; at most %u are "
                       "accepted",
                       n, TOOL_FILES_MAX);
    struct tool_file *rows = arena_get(a, (n + 1) * sizeof *rows, e);
    if (!rows)
        return false;
    if (before)
        memcpy(rows, world->files, before * sizeof *rows);
    struct json_iter it = json_iter(files);
    for (struct tool_file *f = rows + before; json_next(&it); f++) {
        char place[100];
        (void)snprintf(place, sizeof place, "arguments.files.%.*s",
                       STR_ARGS(str_cut(it.key, 60)));
        f->name = it.key;
        if (!argument_bytes(it.value, place, a, &f->bytes, e))
            return false;
    }
    world->files = rows;
    world->file_count = n;
    return true;
}

static bool read_timeout(const struct json *v, struct tool_stage *stage, struct err *e)
{
    int64_t ms = json_int(v, 0);
    if (ms < 1)
        return err_set(e, ERR_INVALID,
                       "arguments.timeout is not a positive integer of milliseconds");
    if (ms < UINT32_MAX && (!stage->timeout_ms || (uint32_t)ms < stage->timeout_ms))
        stage->timeout_ms = (uint32_t)ms;
    return true;
}

/* NULL: it is not given, or is a parameter. */
static const struct json *answer_shared(const struct tool *t,
                                        const struct json *arguments, const char *key)
{
    const struct json *v =
        argument_is_shared(t, str_of(key)) ? json_get(arguments, key) : NULL;
    return json_is(v, JSON_NULL) ? NULL : v;
}

bool tool_call_read(const struct tool *t, const struct json *arguments, struct arena *a,
                    struct tool_world *world, struct tool_stage *stage, struct err *e)
{
    const struct json *files = answer_shared(t, arguments, "files");
    const struct json *cwd = answer_shared(t, arguments, "cwd");
    const struct json *timeout = answer_shared(t, arguments, "timeout");
    if (cwd && (!json_is(cwd, JSON_STRING) || !json_str(cwd).n))
        return err_set(e, ERR_INVALID,
                       "arguments.cwd is not a path; one such as \"/work\" is accepted");
    if (cwd && !(world->folder = str_cz(json_str(cwd), a, e)))
        return err_wrap(e, "arguments.cwd");
    return (!files || read_files(files, a, world, e)) &&
           (!timeout || read_timeout(timeout, stage, e));
}

/* ---- results ------------------------------------------------------------ */

/* The reported part of an output: bytes that were cut may end within a character. */
struct told {
    struct str text;
    uint64_t lost; /* bytes behind it */
    bool is_text;  /* else it is told as base64 */
};

static struct told told_of(const struct buf *kept, uint64_t lost)
{
    struct str s = buf_view(kept);
    for (size_t less = 0; less < (lost ? 4u : 1u) && less <= s.n; less++)
        if (str_is_utf8((struct str){s.at, s.n - less}))
            return (struct told){{s.at, s.n - less}, lost + less, true};
    return (struct told){s, lost, false};
}

/* As all answers tell of what is left out of a command's output. */
static void output_put_text(struct json_writer *w, const char *key,
                            const struct buf *kept, uint64_t missing)
{
    struct told t = told_of(kept, missing);
    struct str s = t.text;
    uint64_t lost = t.lost;
    char digits[24], mark[32];
    int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)lost), at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            mark[at++] = ',';
        mark[at++] = digits[i];
    }
    if (!lost) {
        json_pair_str(w, key, s);
        return;
    }
    scoped_buf struct buf text = buf_of(s.n + 100);
    buf_str(&text, s);
    buf_printf(&text, "\n[... %.*s bytes left out ...]\n", at, mark);
    json_pair_str(w, key, buf_view(&text));
}

static void put_base64(struct json_writer *w, const char *key, struct str s)
{
    scoped_buf struct buf text = buf_of(s.n * 2 + 8);
    (void)crypto_base64(s.at, s.n, &text);
    json_pair_str(w, key, buf_view(&text));
}

static void put_files(const struct tool_result *r, struct json_writer *w)
{
    json_key(w, "files");
    json_open_array(w);
    for (size_t i = 0; i < r->file_count; i++) {
        const struct tool_file *f = &r->files[i];
        json_open_object(w);
        json_pair_str(w, "name", f->name);
        json_pair_int(w, "size", (int64_t)f->size);
        if (f->bytes.at && str_is_utf8(f->bytes))
            json_pair_str(w, "text", f->bytes);
        else if (f->bytes.at)
            put_base64(w, "base64", f->bytes);
        json_close(w);
    }
    json_close(w);
}

struct sums {
    double wall_ms, compute_ms;
    uint64_t memory_peak, stdout_lost, stderr_lost;
};

static struct sums sum_of(const struct tool_result *r)
{
    struct sums s = {0};
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct tool_outcome *o = &r->stages[i];
        s.wall_ms = o->wall_ms > s.wall_ms ? o->wall_ms : s.wall_ms;
        s.compute_ms += o->compute_ms;
        s.memory_peak += o->memory_peak;
        s.stdout_lost += o->stdout_lost;
        s.stderr_lost += o->stderr_lost;
    }
    return s;
}

static void put_stats(struct json_writer *w, double wall_ms, double compute_ms,
                      uint64_t memory_peak)
{
    json_key(w, "stats");
    json_open_object(w);
    json_pair_number(w, "wall_ms", wall_ms);
    json_pair_number(w, "compute_ms", compute_ms);
    json_pair_int(w, "peak_memory_bytes", (int64_t)memory_peak);
    json_close(w);
}

/* Bytes that are not there, and behind how many. */
static void put_lost(const char *key, const struct buf *kept, uint64_t lost,
                     struct json_writer *w)
{
    char at[16];
    if (!lost)
        return;
    (void)snprintf(at, sizeof at, "%sAt", key);
    struct told t = kept ? told_of(kept, lost) : (struct told){.lost = lost};
    json_pair_int(w, key, (int64_t)t.lost);
    if (kept)
        json_pair_int(w, at, (int64_t)t.text.n);
}

static void put_truncated(const struct tool_result *r, const struct sums *s,
                          struct json_writer *w)
{
    size_t left_out = r->files_unnamed;
    for (size_t i = 0; i < r->file_count; i++)
        left_out += r->files[i].bytes.at == NULL;
    if (!s->stdout_lost && !s->stderr_lost && !left_out)
        return;
    json_key(w, "truncated");
    json_open_object(w);
    put_lost("stdout", &r->output, s->stdout_lost, w);
    put_lost("stderr", r->stage_count == 1 ? &r->stages[0].errors : NULL, s->stderr_lost,
             w);
    if (left_out)
        json_pair_int(w, "files", (int64_t)left_out);
    json_close(w);
}

static void put_stages(const struct tool_result *r, const struct tool_stage *stages,
                       struct json_writer *w)
{
    json_key(w, "stages");
    json_open_array(w);
    for (size_t i = 0; i < r->stage_count; i++) {
        const struct tool_outcome *o = &r->stages[i];
        json_open_object(w);
        json_pair_cstr(w, "tool", stages[i].tool->name);
        json_pair_int(w, "exitCode", o->exit_code);
        output_put_text(w, "stderr", &o->errors, o->stderr_lost);
        put_stats(w, o->wall_ms, o->compute_ms, o->memory_peak);
        json_close(w);
    }
    json_close(w);
}

/* The stages' errors, one behind the other. */
static void put_errors(const struct tool_result *r, const struct sums *s,
                       struct json_writer *w)
{
    if (r->stage_count == 1) {
        output_put_text(w, "stderr", &r->stages[0].errors, s->stderr_lost);
        return;
    }
    size_t all = 1;
    for (size_t i = 0; i < r->stage_count; i++)
        all += r->stages[i].errors.n;
    scoped_buf struct buf text = buf_of(all);
    for (size_t i = 0; i < r->stage_count; i++)
        buf_str(&text, buf_view(&r->stages[i].errors));
    output_put_text(w, "stderr", &text, s->stderr_lost);
}

/* Is it what the manifest promises? Whoever wants the value reads it out of stdout: the
 * same text is told once. */
static bool check_output(const struct tool_result *r, const struct tool *last,
                         struct err *e)
{
    if (!last->returns_object)
        return true;
    scoped(arena_free) struct arena *a = arena_new(RUN_MEMORY);
    if (r->stages[r->stage_count - 1].stdout_lost)
        return err_set(e, ERR_OUTPUT,
                       "%s wrote more than is kept, so its output is not JSON",
                       last->name);
    return json_read(str_trim(buf_view(&r->output)), a, e) ||
           err_wrap(e, "%s should have written JSON", last->name);
}

void tool_error_write(const struct err *e, const char *tool, struct json_writer *w)
{
    const struct err_kind *kind = err_kind(e->code);
    json_pair_cstr(w, "error", e->msg);
    json_key(w, "errorDetails");
    json_open_object(w);
    json_pair_cstr(w, "type", kind->name);
    json_pair_cstr(w, "code", kind->code);
    json_pair_cstr(w, "message", e->msg);
    if (tool)
        json_pair_cstr(w, "tool", tool);
    json_pair_bool(w, "retry", kind->retry);
    json_close(w);
}

/* The stage that the answer is about: the first that failed, or the last. */
static size_t stage_told(const struct tool_result *r)
{
    return r->failed < r->stage_count ? r->failed : r->stage_count - 1;
}

static void put_output(const struct tool_result *r, const struct sums *sums,
                       struct json_writer *out)
{
    if (told_of(&r->output, sums->stdout_lost).is_text) {
        output_put_text(out, "stdout", &r->output, sums->stdout_lost);
    } else {
        put_base64(out, "stdout", buf_view(&r->output));
        json_pair_cstr(out, "stdoutEncoding", "base64");
    }
    put_errors(r, sums, out);
}

bool tool_result_write(const struct tool_result *r, const struct tool_stage *stages,
                       struct json_writer *out)
{
    struct err why = {0};
    struct sums sums = sum_of(r);
    bool ended_well = r->failed == r->stage_count;
    const struct tool_outcome *told = &r->stages[stage_told(r)];
    const struct tool *tool = stages[stage_told(r)].tool;
    const char *means = tool_exit_means(tool, told->exit_code);
    /* An exit code speaks for itself. */
    if (ended_well && !told->exit_code)
        (void)check_output(r, tool, &why);
    else if (told->stopped)
        err_set(&why, told->stopped, "%s", told->why);
    json_pair_bool(out, "success", ended_well && !told->exit_code && !why.code);
    put_output(r, &sums, out);
    json_pair_int(out, "exitCode", told->exit_code);
    if (ended_well && told->exit_code && means)
        json_pair_cstr(out, "outcome", means);
    if (ended_well && tool->returns_object)
        json_pair_cstr(out, "returns", "object");
    if (why.code)
        tool_error_write(&why, tool->name, out);
    put_files(r, out);
    put_stats(out, sums.wall_ms, sums.compute_ms, sums.memory_peak);
    put_truncated(r, &sums, out);
    if (r->stage_count > 1)
        put_stages(r, stages, out);
    return ended_well && !why.code;
}
