/* Options of a command, and its result. */
#include "machines/internal.h"
#include "machines/machine_net.h"
#include "machines/machine_terminal.h"
#include "machines/machines.api.h"
#include "results/results.h"
#include "tools/tools.h"

#define OTHERS_MAX ((size_t)300 << 10) /* bytes of a result besides its streams */

/* ---- options -------------------------------------------------------------------- */

static bool quote(const struct json *words, struct str *out, struct arena *a,
                  struct err *e)
{
    scoped_buf struct buf text;
    buf_init(&text, VM_COMMAND_MAX);
    struct json_iter it = json_iter(words);
    while (json_next(&it)) {
        if (!json_is(it.value, JSON_STRING))
            return err_set(e, ERR_INVALID,
                           "command holds %s; an array of strings is accepted, nothing "
                           "ran",
                           json_type_name(json_type(it.value)));
        vm_put_word(&text, json_str(it.value));
    }
    if (!buf_check(&text, "the command", e))
        return false;
    *out = (struct str){arena_copy(a, text.n ? text.at : "", text.n, e), text.n};
    return out->at != NULL;
}

static bool read_command(struct machine_order *o, const struct tool_call *c,
                         const struct json *v, struct err *e)
{
    struct str *out = &o->exec.command;
    if (json_is(v, JSON_ARRAY)) {
        if (!quote(v, out, c->arena, e))
            return false;
    } else if (json_is(v, JSON_STRING)) {
        *out = json_str(v);
    } else {
        return err_set(e, ERR_INVALID,
                       "command is %s; text for the shell such as 'ls -l | wc', or an "
                       "array of words such as ['ls', '-l'] is accepted; nothing ran",
                       json_type_name(json_type(v)));
    }
    if (!str_trim(*out).n)
        return err_set(e, ERR_INVALID, "the command is empty; nothing ran");
    return !memchr(out->at, 0, out->n) ||
           err_set(e, ERR_INVALID,
                   "the command holds a NUL, which no command can; give bytes by stdin; "
                   "nothing ran");
}

static bool add_variable(struct machine_order *o, struct arena *a, struct str name,
                         const struct json *v, struct err *e)
{
    if (o->exec.env_count == MACHINE_ENV_MAX)
        return err_set(e, ERR_LIMIT, "env has more than %u variables; nothing ran",
                       MACHINE_ENV_MAX);
    if (!json_is(v, JSON_STRING) || !name.n || memchr(name.at, '=', name.n))
        return err_set(e, ERR_INVALID,
                       "env has '%.*s', which is %s; strings by name such as {HOME: "
                       "'/root'} are accepted, nothing ran",
                       STR_ARGS(str_cut(name, 60)), json_type_name(json_type(v)));
    scoped_buf struct buf text;
    buf_init(&text, VM_ENV_BYTES);
    buf_str(&text, name);
    buf_char(&text, '=');
    buf_str(&text, json_str(v));
    if (!buf_check(&text, "env", e))
        return false;
    const char *one = str_cz(buf_view(&text), a, e);
    o->env[o->exec.env_count] = one;
    o->exec.env_count += one != NULL;
    return one || err_wrap(e, "env");
}

static bool read_env(struct machine_order *o, const struct tool_call *c,
                     const struct json *v, struct err *e)
{
    if (!json_is(v, JSON_OBJECT))
        return err_set(
            e, ERR_INVALID,
            "env is %s; an object such as {LANG: 'C'} is accepted, nothing ran",
            json_type_name(json_type(v)));
    struct json_iter it = json_iter(v);
    while (json_next(&it))
        if (!add_variable(o, c->arena, it.key, it.value, e))
            return false;
    o->exec.env = o->env;
    return true;
}

static bool read_text(const char *key, const struct json *v, struct str *out,
                      struct err *e)
{
    *out = json_str(v);
    return json_is(v, JSON_STRING) ||
           err_set(e, ERR_INVALID, "%s is %s; a string is accepted, nothing ran", key,
                   json_type_name(json_type(v)));
}

bool read_flag(const char *key, const struct json *v, bool *out, const char *undone,
               struct err *e)
{
    *out = json_bool(v, false);
    return json_is(v, JSON_BOOL) ||
           err_set(e, ERR_INVALID, "%s is %s; true or false is accepted, %s", key,
                   json_type_name(json_type(v)), undone);
}

static bool order_read_number(const char *key, const struct json *v, uint64_t max,
                              uint64_t *out, struct err *e)
{
    int64_t n = json_is_int(v) ? json_int(v, 0) : 0;
    *out = (uint64_t)n;
    return (n >= 1 && *out <= max) ||
           err_set(e, ERR_INVALID,
                   "%s is not a whole number from 1 to %llu (what the policy allows); "
                   "nothing ran",
                   key, (unsigned long long)max);
}

/* true, or {rows, columns, name}. */
static bool read_terminal(struct machine_order *o, const struct json *v, struct err *e)
{
    static const char *const keys[] = {"rows", "columns", "name", NULL};
    uint64_t rows = 24, columns = 80;
    struct json_iter it = json_iter(json_is(v, JSON_OBJECT) ? v : NULL);
    if (json_is(v, JSON_BOOL) && !json_bool(v, false))
        return true;
    if (!json_is(v, JSON_BOOL) && !json_is(v, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "terminal is %s; true, or {rows, columns, name} is accepted, "
                       "nothing ran",
                       json_type_name(json_type(v)));
    while (json_next(&it)) {
        bool ok = str_is(it.key, "rows") ? order_read_number("terminal.rows", it.value,
                                                             TERMINAL_SIZE_MAX, &rows, e)
                  : str_is(it.key, "columns")
                      ? order_read_number("terminal.columns", it.value, TERMINAL_SIZE_MAX,
                                          &columns, e)
                  : str_is(it.key, "name")
                      ? read_text("terminal.name", it.value, &o->terminal, e) &&
                            terminal_name_check(o->terminal, e)
                      : call_option_unknown(it.key, keys, "nothing ran", e);
        if (!ok)
            return false;
    }
    o->exec.pty = true;
    o->exec.rows = (uint16_t)rows;
    o->exec.columns = (uint16_t)columns;
    return true;
}

/* A terminal is standard input, and a process of its own; programs are told what it can do. */
static bool finish_terminal(struct machine_order *o, struct err *e)
{
    static const char kind[] = "TERM=xterm-256color";
    bool told = o->exec.env_count == MACHINE_ENV_MAX;
    if (o->exec.session.n || o->exec.input.at)
        return err_set(e, ERR_INVALID, "terminal does not go with %s; nothing ran",
                       o->exec.session.n ? "session" : "stdin");
    for (size_t i = 0; i < o->exec.env_count; i++)
        told |= !strncmp(o->env[i], kind, sizeof "TERM");
    if (!told)
        o->env[o->exec.env_count++] = kind;
    o->exec.env = o->env;
    return true;
}

static bool order_read_option(struct machine_order *o, const struct tool_call *c,
                              uint32_t most_ms, struct str key, const struct json *v,
                              struct err *e)
{
    struct vm_exec *x = &o->exec;
    struct str text;
    uint64_t n;
    if (str_is(key, "command"))
        return read_command(o, c, v, e);
    if (str_is(key, "stdin"))
        return argument_bytes(v, "stdin", c->arena, &x->input, e);
    if (str_is(key, "env"))
        return read_env(o, c, v, e);
    if (str_is(key, "cwd"))
        return read_text("cwd", v, &text, e) && (x->cwd = str_cz(text, c->arena, e));
    if (str_is(key, "session"))
        return read_text("session", v, &x->session, e);
    if (str_is(key, "machine"))
        return read_text("machine", v, &o->machine, e);
    if (str_is(key, "files")) {
        o->files = v;
        return true;
    }
    if (str_is(key, "terminal"))
        return read_terminal(o, v, e);
    if (str_is(key, "calls"))
        return read_flag("calls", v, &o->calls, "nothing ran", e);
    if (str_is(key, "network"))
        return read_flag("network", v, &o->network, "nothing ran", e);
    if (str_is(key, "mounts"))
        return machine_mounts_read(&o->mounts, v, c->arena, e);
    if (str_is(key, "maxOutput"))
        return order_read_number("maxOutput", v, MACHINE_OUTPUT_MAX, &x->output_bytes, e);
    if (str_is(key, "timeoutMs") || str_is(key, "timeout")) {
        bool ok = order_read_number("timeoutMs", v, most_ms, &n, e);
        x->timeout_ns = n * 1000000;
        return ok;
    }
    return call_option_unknown(key, VM_EXEC_KEYS, "nothing ran", e);
}

bool machine_order_read(struct machine_order *o, const struct tool_call *c,
                        uint32_t most_ms, const struct json *options, struct err *e)
{
    uint64_t most = (uint64_t)most_ms * 1000000;
    struct json_iter it = json_iter(options);
    while (json_next(&it))
        if (!json_is(it.value, JSON_NULL) &&
            !order_read_option(o, c, most_ms, it.key, it.value, e))
            return false;
    if (!o->exec.command.at)
        return read_command(o, c, NULL, e);
    if (o->files && !machine_stage_read(o, c, o->files, e))
        return false;
    if (o->exec.pty && !finish_terminal(o, e))
        return false;
    if (!o->exec.timeout_ns && o->terminal.n)
        o->exec.timeout_ns = most;
    if (!o->exec.timeout_ns)
        o->exec.timeout_ns = most < VM_TIMEOUT_DEFAULT_NS ? most : VM_TIMEOUT_DEFAULT_NS;
    return true;
}

/* ---- result ----------------------------------------------------------------------- */

/* Members about the way it ended; left out if it was normal. */
static void put_marks(const struct vm_result *r, struct json_writer *w)
{
    const struct {
        const char *key;
        bool is;
    } marks[] = {{"timedOut", r->timed_out},
                 {"cancelled", r->cancelled},
                 {"shellEnded", r->shell_ended},
                 {"held", r->held},
                 {"outOfMemory", r->out_of_memory}};
    for (size_t i = 0; i < LENGTH(marks); i++)
        if (marks[i].is)
            json_pair_bool(w, marks[i].key, true);
    if (r->fresh)
        json_pair_cstr(w, "restarted", r->before);
}

static void put_result(const struct vm_result *r, const struct vm_info *m,
                       const struct err *failed, const struct machine_running *running,
                       const struct machine_mounts *mounts, const struct stream *streams,
                       struct json_writer *out)
{
    bool ended = failed->code == ERR_NONE;
    json_open_object(out);
    json_pair_bool(out, "success", ended && r->exit_code == 0);
    streams_put(streams, out);
    json_pair_int(out, "exitCode", ended || r->exit_code ? r->exit_code : 137);
    if (!ended)
        tool_error_write(failed, NULL, out);
    put_marks(r, out);
    if (running)
        machine_net_put_refused(running, out);
    streams_put_truncated(streams, out);
    if (mounts)
        machine_mounts_put(mounts, out);
    json_pair_cstr(out, "machine", m->handle);
    if (*m->origin)
        json_pair_cstr(out, "from", m->origin);
    json_key(out, "stats");
    json_open_object(out);
    json_pair_number(out, "wall_ms", (double)r->wall_ns / 1e6);
    json_pair_number(out, "compute_ms", (double)r->cpu_ns / 1e6);
    json_close(out);
    json_close(out);
}

/* Control characters take six bytes each: what does not fit is left out like what was
 * more than is kept, for the command has run. */
static void put_less(const struct vm_result *r, const struct vm_info *m,
                     const struct err *failed, const struct machine_running *running,
                     const struct machine_mounts *mounts, struct stream *streams,
                     struct json_writer *out)
{
    scoped_buf struct buf first, second;
    buf_init(&first, streams[0].bytes.n);
    buf_init(&second, streams[1].bytes.n);
    size_t room = out->out->ceiling - out->out->n;
    size_t others = OTHERS_MAX + (mounts ? machine_mounts_size(mounts) : 0);
    out->out->failed = room <= others;
    if (out->out->failed)
        return;
    streams_fit(streams, room - others, &first, &second);
    put_result(r, m, failed, running, mounts, streams, out);
}

bool machine_result_write(const struct vm_result *r, const struct vm_info *m,
                          const struct err *failed, const struct machine_running *running,
                          const struct machine_mounts *mounts, struct json_writer *out)
{
    struct stream streams[STREAMS] = {
        {buf_view(&r->stdout_bytes), r->stdout_lost, r->stdout_gap},
        {buf_view(&r->stderr_bytes), r->stderr_lost, r->stderr_gap}};
    const struct json_writer before = *out;
    const size_t n = out->out->n;
    const bool has_failed = out->out->failed;
    put_result(r, m, failed, running, mounts, streams, out);
    if (out->out->failed && !has_failed) {
        *out = before;
        out->out->n = n;
        out->out->failed = false;
        put_less(r, m, failed, running, mounts, streams, out);
    }
    return failed->code == ERR_NONE;
}
