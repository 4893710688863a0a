/* Files that a command is given: `files` of vm.exec. They come as a tar archive, which the
 * machine's tar unpacks before the command begins. Source: POSIX.1-2017, pax, ustar; GNU's
 * long names ('L'). */
#include <stdio.h>

#include "machines/machine_inside.h"
#include "machines/machine_names.h"
#include "os/os.h"
#include "tools/tools.h"

#define BLOCK 512u
#define STAGED_MAX 10000u                /* files of one command */
#define STAGED_BYTES ((size_t)128 << 20) /* with 512 bytes and more for each */

/* Existing files are replaced, not written through. */
static const char unpack_script[] =
    "exec tar -x --no-same-owner --warning=no-timestamp -f - -C /\n";

struct tar_header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type;
    char link[100], magic[8], owner[32], group[32], major[8], minor[8], prefix[155];
    char rest[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is a block");

static void put_blocks(struct buf *out, const void *at, size_t n)
{
    static const char zeros[BLOCK];
    buf_put(out, at, n);
    if (n % BLOCK)
        buf_put(out, zeros, BLOCK - n % BLOCK);
}

static void put_header(struct buf *out, const char *name, size_t name_n, char type,
                       size_t size)
{
    struct tar_header h = {.type = type};
    uint32_t sum = 0;
    memcpy(h.name, name, name_n < sizeof h.name ? name_n : sizeof h.name);
    (void)snprintf(h.mode, sizeof h.mode, "0000644");
    (void)snprintf(h.uid, sizeof h.uid, "0000000");
    (void)snprintf(h.gid, sizeof h.gid, "0000000");
    (void)snprintf(h.size, sizeof h.size, "%011zo", size);
    (void)snprintf(h.mtime, sizeof h.mtime, "%011llo",
                   (unsigned long long)(os_real_ms() / 1000));
    memcpy(h.magic, "ustar  ", 8);
    memset(h.sum, ' ', sizeof h.sum);
    for (size_t i = 0; i < sizeof h; i++)
        sum += ((const unsigned char *)&h)[i];
    (void)snprintf(h.sum, sizeof h.sum, "%06o", sum);
    buf_put(out, &h, sizeof h);
}

/* `path` is absolute; a name in an archive is not. */
static void put_file(struct buf *out, struct str path, struct str bytes)
{
    struct str name = {path.at, path.n};
    while (name.n && name.at[0] == '/')
        name = (struct str){name.at + 1, name.n - 1};
    if (name.n > sizeof((struct tar_header *)0)->name) {
        put_header(out, "././@LongLink", 13, 'L', name.n + 1);
        put_blocks(out, name.at, name.n + 1); /* strings of the arena end with a NUL */
    }
    put_header(out, name.at, name.n, '0', bytes.n);
    put_blocks(out, bytes.at, bytes.n);
}

static bool stage_file(struct machine_order *o, const struct tool_call *c,
                       struct str name, const struct json *v, struct buf *out,
                       struct err *e)
{
    char place[80];
    struct str bytes;
    const char *base = o->exec.cwd && o->exec.cwd[0] == '/' ? o->exec.cwd : "/root";
    (void)snprintf(place, sizeof place, "files['%.*s']", STR_ARGS(str_cut(name, 50)));
    if (!machine_file_name_check(name, e) ||
        !argument_bytes(v, place, c->arena, &bytes, e))
        return false;
    char *path = name.at[0] == '/'
                     ? arena_copy(c->arena, name.at, name.n, e)
                     : arena_printf(c->arena, e, "%s/%.*s", base, STR_ARGS(name));
    if (!path)
        return false;
    if (strlen(path) > MACHINE_PATH_MAX)
        return err_set(e, ERR_INVALID,
                       "a path of files has more than %u bytes; nothing ran",
                       MACHINE_PATH_MAX);
    put_file(out, str_of(path), bytes);
    return true;
}

bool machine_stage_read(struct machine_order *o, const struct tool_call *c,
                        const struct json *files, struct err *e)
{
    static const char end[2 * BLOCK];
    if (!json_is(files, JSON_OBJECT))
        return err_set(e, ERR_INVALID,
                       "files is %s; an object such as {'data.csv': 'a,1'} is accepted, "
                       "nothing ran",
                       json_type_name(json_type(files)));
    if (json_length(files) > STAGED_MAX)
        return err_set(e, ERR_LIMIT, "files has more than %u entries; nothing ran",
                       STAGED_MAX);
    scoped_buf struct buf tar = buf_of(STAGED_BYTES);
    struct json_iter it = json_iter(files);
    while (json_next(&it))
        if (!stage_file(o, c, it.key, it.value, &tar, e))
            return false;
    if (!tar.n)
        return true;
    buf_put(&tar, end, sizeof end);
    if (!buf_check(&tar, "files", e))
        return false;
    o->staged = (struct str){arena_copy(c->arena, tar.at, tar.n, e), tar.n};
    return o->staged.at != NULL;
}

bool machine_stage(const struct machine_order *o, const struct tool_call *c, struct vm *m,
                   struct err *e)
{
    static const char *const env[] = {"LC_ALL=C"};
    struct vm_result r = {0};
    struct vm_exec x = {.command = str_of(unpack_script),
                        .apart = true,
                        .env = env,
                        .env_count = LENGTH(env),
                        .input = o->staged,
                        .timeout_ns = o->exec.timeout_ns,
                        .cancel = c->cancel};
    if (!o->staged.n)
        return true;
    bool ok = vm_exec(m, &x, &r, e);
    struct str said = str_trim(buf_view(&r.stderr_bytes));
    bool full = said.n && (memmem(said.at, said.n, "No space left", 13) ||
                           memmem(said.at, said.n, "Wrote only", 10));
    if (ok && (r.timed_out || r.cancelled))
        ok = err_set(e, r.cancelled ? ERR_CANCELLED : ERR_TIMEOUT,
                     "files were not all written in time; the command did not run");
    else if (ok && r.exit_code)
        ok = err_set(e, full ? ERR_LIMIT : ERR_INVALID,
                     "files could not all be written, and the command did not run: %.*s",
                     STR_ARGS(str_is_utf8(said) ? str_cut(said, 300) : STR("")));
    vm_result_done(&r);
    return ok;
}
