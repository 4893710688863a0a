/* Commands of our own in machines. */
#include "machines/machine_inside.h"
#include "machines/machine_names.h"

#include <stdio.h>

#include "os/os.h"
#include "tools/tools.h"

#define ERROR_BYTES ((uint64_t)16 << 10) /* that are looked at, of standard error */

bool inside_garbled(struct err *e)
{
    return err_set(
        e, ERR_GUEST,
        "the machine's answer about the file cannot be read: its programs (bash, "
        "stat, dd, find) may have been replaced");
}

/* ---- options --------------------------------------------------------------------------- */

bool inside_handle(const struct json *v, struct str *out, struct err *e)
{
    *out = json_str(v);
    return json_is(v, JSON_STRING) ||
           err_set(e, ERR_INVALID, "machine is %s; a handle, a string, is accepted",
                   json_type_name(json_type(v)));
}

bool inside_path(const struct json *v, struct arena *a, struct str *out, struct err *e)
{
    struct str s;
    if (!argument_bytes(v, "path", a, &s, e))
        return false;
    if (!s.n)
        return err_set(e, ERR_INVALID, "the path is empty");
    if (memchr(s.at, 0, s.n))
        return err_set(e, ERR_INVALID, "the path holds a NUL, which no path can");
    scoped_buf struct buf text = buf_of(MACHINE_PATH_MAX);
    if (s.at[0] != '/')
        buf_cstr(&text, MACHINE_HOME);
    buf_str(&text, s);
    if (text.failed)
        return err_set(e, ERR_INVALID, "the path has more than %u bytes",
                       MACHINE_PATH_MAX);
    *out = (struct str){arena_copy(a, text.at, text.n, e), text.n};
    return out->at != NULL;
}

/* ---- answers ------------------------------------------------------------------------ */

void inside_put_path(struct str path, struct json_writer *w)
{
    machine_put_name("path", "pathBase64", path, w);
}

/* ---- a run ------------------------------------------------------------------------------- */

/* "set -- '/a' '0'", then the script. */
static bool compose(struct inside *in, struct err *e)
{
    scoped_buf struct buf text = buf_of(VM_COMMAND_MAX);
    buf_cstr(&text, "set --");
    for (size_t i = 0; i < in->word_count; i++)
        vm_put_word(&text, in->words[i]);
    buf_cstr(&text, "\n");
    buf_cstr(&text, in->script);
    if (!buf_check(&text, "the path", e))
        return false;
    in->command = (struct str){arena_copy(in->call->arena, text.at, text.n, e), text.n};
    return in->command.at != NULL;
}

/* "/bin/cat: write error: No space left on device" and the like, by its last words. */
static bool set_failure(const struct inside *in, struct err *e)
{
    static const struct {
        const char *ends;
        enum err_code code;
    } kinds[] = {
        {": No such file or directory", ERR_NOT_FOUND},
        {": Is a directory", ERR_INVALID},
        {": Not a directory", ERR_INVALID},
        {": Not a regular file", ERR_INVALID},
        {": File name too long", ERR_INVALID},
        {": Too many levels of symbolic links", ERR_INVALID},
        {": Invalid argument", ERR_INVALID},
        {": File exists", ERR_INVALID}, /* mkdir: a folder of the path is a file */
        {": No space left on device", ERR_LIMIT},
        {": Disk quota exceeded", ERR_LIMIT},
        {": File too large", ERR_LIMIT},
        {": Read-only file system", ERR_DENIED},
        {": Permission denied", ERR_DENIED},
        {": Operation not permitted", ERR_DENIED},
        {": Text file busy", ERR_BUSY},
        {": Device or resource busy", ERR_BUSY}};
    struct str said = str_trim(buf_view(&in->result.stderr_bytes));
    enum err_code code = ERR_IO;
    const char *line = said.n ? memchr(said.at, '\n', said.n) : NULL;
    struct str first = line ? (struct str){said.at, (size_t)(line - said.at)} : said;
    const char *why = NULL;
    for (size_t i = 0; i < LENGTH(kinds) && !why; i++)
        if (str_ends(first, kinds[i].ends)) {
            code = kinds[i].code;
            why = kinds[i].ends + 2;
        }
    struct str path = in->words[0];
    bool shown = str_is_utf8(path);
    if (why)
        return err_set(e, code, "%.*s: %s",
                       STR_ARGS(shown ? str_cut(path, 300) : STR("the path")), why);
    return err_set(e, code, "the machine could not do it: %.*s",
                   STR_ARGS(str_is_utf8(first) && first.n ? str_cut(first, 300)
                                                          : STR("no reason was given")));
}

static bool check_end(struct inside *in, struct err *e)
{
    const struct vm_result *r = &in->result;
    if (r->timed_out)
        return err_set(e, ERR_TIMEOUT, "it took too long, and was ended");
    if (r->cancelled)
        return err_set(e, ERR_CANCELLED, "it was cancelled, and is ended");
    if (r->exit_code)
        return set_failure(in, e);
    return !r->stdout_lost ||
           err_set(e, ERR_LIMIT, "the answer is larger than %llu bytes",
                   (unsigned long long)in->output_bytes);
}

static bool run_in(struct inside *in, struct vm *m, struct err *e)
{
    static const char *const env[] = {"LC_ALL=C"};
    uint64_t most_ns = (uint64_t)in->use.policy->timeout_ms * 1000000;
    struct vm_exec x = {
        .command = in->command,
        .apart = true,
        .env = env,
        .env_count = LENGTH(env),
        .input = in->input,
        .timeout_ns = most_ns < VM_TIMEOUT_DEFAULT_NS ? most_ns : VM_TIMEOUT_DEFAULT_NS,
        .output_bytes = in->output_bytes > ERROR_BYTES ? in->output_bytes : ERROR_BYTES,
        .cancel = in->call->cancel};
    (void)snprintf(in->handle, sizeof in->handle, "%s", vm_handle(m));
    return machine_fit_time(in->call, &x, e) && vm_exec(m, &x, &in->result, e) &&
           check_end(in, e);
}

bool inside_run(struct inside *in, struct err *e)
{
    enum permission word;
    in->begun_ns = os_mono_ns();
    if (!in->words[0].n)
        return err_set(e, ERR_INVALID, "%s has no path", in->name);
    if (!compose(in, e) || !machine_use_begin(&in->use, in->call, in->name, &word, e) ||
        !machine_use_permitted(&in->use, word, false, in->request, e))
        return false;
    scoped(vm_release) struct vm *m = in->starts
                                          ? machine_use_find(&in->use, in->machine, e)
                                          : machine_use_running(&in->use, in->machine, e);
    return m && run_in(in, m, e);
}

void inside_done(struct inside *in, const struct err *e)
{
    const struct vm_result *r = &in->result;
    machine_account(in->call,
                    &(struct machine_operation){.call = in->name,
                                                .machine = in->handle,
                                                .command = in->command,
                                                .outcome = e->code,
                                                .exit_code = r->exit_code,
                                                .wall_ns = os_mono_ns() - in->begun_ns,
                                                .cpu_ns = r->cpu_ns,
                                                .input_bytes = in->input.n,
                                                .stdout_bytes = r->stdout_bytes.n,
                                                .stderr_bytes = r->stderr_bytes.n});
    vm_result_done(&in->result);
}
