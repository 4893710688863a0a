/* The host calls fs.*: an evaluation's own files, in memory, and the folders that the
 * person's policy mounts among them. What code sees of them is fs.js; what goes wrong
 * with a file is part of the answer, because code wants its errno. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "caller/caller.h"
#include "calls/calls.h"
#include "crypto/crypto.h"
#include "evaluation/evaluation.h"
#include "files/files.api.h"
#include "files/files.h"
#include "files/internal.h"
#include "os/os.h"
#include "performing/performing.h"
#include "place/place.h"
#include "policy/policy.h"
#include "vfs/vfs.h"
#include "json/json.h"

#define FILE_MAX ((size_t)32 << 20)

static const struct vfs_quota quota = {
    .bytes = 32 << 20, .files = 5000, .open = 16, .written = 256 << 20};

EMBED(fs_js, "src/capabilities/files/fs.js");

/* ---- the tree ----------------------------------------------------------- */

static bool mount(struct evaluation *v, struct vfs *files, const struct policy_mount *m,
                  struct err *e)
{
    struct vfs_mount how;
    if (!mount_open(v->actions, v->here, m, &how, e))
        return false;
    scoped_fd int dir = how.dir;
    return vfs_mount(files, &how, e) || err_wrap(e, "the policy's mount %s", m->guest);
}

/* Does the policy give this folder, as far as it is given where the files were made? */
static bool gives(const struct permit *p, const struct policy_mount *m, bool writable)
{
    struct json_iter it = json_iter(policy_mounts(p->policy));
    while (json_next(&it)) {
        struct policy_mount own = policy_mount(it.value);
        if (!strcmp(own.guest, m->guest) && !strcmp(own.host, m->host))
            return !writable || (own.writable && !p->read_only);
    }
    return false;
}

/* What fs.* shows in one evaluation. */
struct files {
    struct vfs *vfs;
    struct place *place; /* whose mounts are in it */
};

/* Code may have gone on to a vault whose policy gives less. */
static bool may_keep_files(const struct evaluation *v, const struct files *f,
                           struct err *e)
{
    const struct permit *made = &f->place->permit;
    struct json_iter it = json_iter(policy_mounts(made->policy));
    while (f->place != v->here && json_next(&it)) {
        struct policy_mount m = policy_mount(it.value);
        if (!gives(&v->here->permit, &m, m.writable && !made->read_only))
            return err_set(
                e, ERR_DENIED,
                "fs: the files include the folder %.100s of the host, which the policy of the current vault does not mount",
                m.guest);
    }
    return true;
}

static bool files_check(const struct place *place, struct err *e)
{
    const struct permit *p = &place->permit;
    const struct files_policy *policy = policy_values(p->policy, &files_policy);
    if (!policy->file_system)
        return err_set(e, ERR_DENIED,
                       "enableFileSystem is not allowed by the policy (fileSystem)");
    if (p->level != LEVEL_FULL)
        return err_set(e, ERR_DENIED, "enableFileSystem is not allowed at the level '%s'",
                       level_name(p->level));
    return true;
}

/* Made when code first asks for a file. */
static struct vfs *files_of(struct evaluation *v, struct err *e)
{
    const struct json *mounts = policy_mounts(v->here->permit.policy);
    struct files *f = *evaluation_part(v, &files_capability);
    if (!files_check(v->here, e) || (f && !may_keep_files(v, f, e)))
        return NULL;
    if (f)
        return f->vfs;
    scoped(vfs_free) struct vfs *files = vfs_new(&quota);
    struct json_iter it = json_iter(mounts);
    while (json_next(&it)) {
        struct policy_mount m = policy_mount(it.value);
        if (!mount(v, files, &m, e))
            return NULL;
    }
    if (json_length(mounts))
        atomic_store(&v->unsteady, true);
    *evaluation_part(v, &files_capability) = f = mem_new(sizeof *f);
    *f = (struct files){.vfs = take(files), .place = v->here};
    return f->vfs;
}

/* ---- answers ------------------------------------------------------------ */

bool fs_begin(struct calling *x, const char *syscall, struct json_writer *out,
              struct fs_call *a, struct err *e)
{
    *a = (struct fs_call){.files = files_of(x->v, e),
                          .args = x->args,
                          .path = json_str(json_at(x->args, 0)),
                          .syscall = syscall,
                          .out = out};
    return a->files != NULL;
}

static void put_failure(const struct fs_call *a, int failed, struct str dest)
{
    const char *name = strerrorname_np(failed);
    scoped_buf struct buf text;
    buf_init(&text, 200);
    buf_cstr(&text, strerror(failed));
    if (text.n)
        text.at[0] = (char)tolower((unsigned char)text.at[0]);
    if (failed == ENOSPC)
        buf_printf(&text, " (%u MB in %u files is all there is)",
                   (unsigned)(quota.bytes >> 20), quota.files);
    json_open_object(a->out);
    json_pair_cstr(a->out, "errno", name ? name : "EIO");
    json_pair_str(a->out, "text", buf_view(&text));
    json_pair_cstr(a->out, "syscall", a->syscall);
    json_pair_str(a->out, "path", a->path);
    if (dest.at)
        json_pair_str(a->out, "dest", dest);
    json_close(a->out);
}

/* The answer of a call that has none, or what went wrong. */
bool fs_answer(const struct fs_call *a, int failed)
{
    if (failed) {
        put_failure(a, failed, (struct str){0});
        return true;
    }
    json_open_object(a->out);
    json_close(a->out);
    return true;
}

static bool answer_about_two(const struct fs_call *a, int failed)
{
    if (!failed)
        return fs_answer(a, 0);
    put_failure(a, failed, json_str(json_at(a->args, 1)));
    return true;
}

/* ---- bytes -------------------------------------------------------------- */

static bool call_read_file(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    scoped_buf struct buf bytes, text;
    buf_init(&bytes, FILE_MAX);
    buf_init(&text, FILE_MAX * 2);
    if (!fs_begin(x, "open", out, &a, e))
        return false;
    int failed = vfs_get(a.files, a.path, &bytes);
    if (failed)
        return fs_answer(&a, failed);
    bool is_text = str_is(json_str(json_at(x->args, 1)), "utf8");
    if (!is_text && !crypto_base64(buf_view(&bytes).at, bytes.n, &text))
        return buf_check(&text, "the file", e);
    json_open_object(out);
    json_pair_str(out, "value", buf_view(is_text ? &bytes : &text));
    json_close(out);
    return true;
}

/* The bytes of {text} or {base64}. */
static bool read_data(const struct json *data, struct buf *out, struct str *bytes,
                      struct err *e)
{
    const struct json *text = json_get(data, "text");
    *bytes = json_str(text);
    if (text)
        return true;
    bool ok = crypto_base64_read(json_str(json_get(data, "base64")), out, e);
    *bytes = buf_view(out);
    return ok;
}

static int write_all(struct vfs *files, struct str path, struct str bytes, unsigned how)
{
    scoped(vfs_close) struct vfs_file *f = NULL;
    int failed = vfs_open(files, NULL, path, how, &f);
    for (size_t at = 0, n = 0; !failed && at < bytes.n; at += n)
        failed = vfs_write(f, VFS_AT_END, bytes.at + at, bytes.n - at, &n);
    return failed;
}

/* By Node's flags: "w" replaces, "a" appends, "x" with either wants it not to be there. */
static bool call_write_file(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    struct str bytes, flag = json_str(json_at(x->args, 2));
    scoped_buf struct buf space;
    buf_init(&space, FILE_MAX);
    if (!fs_begin(x, "open", out, &a, e) ||
        !read_data(json_at(x->args, 1), &space, &bytes, e))
        return false;
    bool known = flag.n && strchr("wa", flag.at[0]) &&
                 (flag.n == 1 || str_ends(flag, "x") || str_ends(flag, "+"));
    if (!known)
        return err_set(e, ERR_INVALID,
                       "fs: the flag '%.*s' is not known; 'w', 'wx', 'a' "
                       "and 'ax' are accepted",
                       STR_ARGS(str_cut(flag, 20)));
    unsigned exclusive = memchr(flag.at, 'x', flag.n) ? VFS_EXCLUSIVE : 0;
    if (flag.at[0] == 'w' && !exclusive)
        return fs_answer(&a, vfs_put(a.files, a.path, bytes));
    return fs_answer(
        &a, write_all(a.files, a.path, bytes, VFS_WRITE | VFS_CREATE | exclusive));
}

static bool call_truncate(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    scoped(vfs_close) struct vfs_file *f = NULL;
    if (!fs_begin(x, "open", out, &a, e))
        return false;
    int failed = vfs_open(a.files, NULL, a.path, VFS_WRITE, &f);
    if (!failed)
        failed = vfs_resize(f, (uint64_t)json_int(json_at(x->args, 1), 0));
    return fs_answer(&a, failed);
}

static bool call_copy_file(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    struct vfs_stat st;
    scoped_buf struct buf bytes;
    buf_init(&bytes, FILE_MAX);
    if (!fs_begin(x, "copyfile", out, &a, e))
        return false;
    struct str to = json_str(json_at(x->args, 1));
    bool exclusive = json_bool(json_at(x->args, 2), false);
    int failed = vfs_get(a.files, a.path, &bytes);
    if (!failed && exclusive && vfs_stat(a.files, NULL, to, false, &st) == 0)
        failed = EEXIST;
    return answer_about_two(&a, failed ? failed : vfs_put(a.files, to, buf_view(&bytes)));
}

/* ---- names -------------------------------------------------------------- */

static bool call_unlink(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    return fs_begin(x, "unlink", out, &a, e) &&
           fs_answer(&a, vfs_unlink(a.files, NULL, a.path));
}

static bool call_rename(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    return fs_begin(x, "rename", out, &a, e) &&
           answer_about_two(&a, vfs_rename(a.files, NULL, a.path, NULL,
                                           json_str(json_at(x->args, 1))));
}

const char *fs_type_name(enum vfs_type t)
{
    return t == VFS_FOLDER ? "folder" : t == VFS_LINK ? "link" : "file";
}

static void put_stat(const struct vfs_stat *st, struct json_writer *out)
{
    json_open_object(out);
    json_key(out, "value");
    json_open_object(out);
    json_pair_cstr(out, "type", fs_type_name(st->type));
    json_pair_int(out, "size", (int64_t)st->size);
    json_pair_int(out, "dev", st->device);
    json_pair_int(out, "ino", (int64_t)st->inode);
    json_pair_int(out, "nlink", st->links);
    json_pair_number(out, "atimeMs", (double)(st->accessed_ns / 1000000));
    json_pair_number(out, "mtimeMs", (double)(st->modified_ns / 1000000));
    json_pair_number(out, "ctimeMs", (double)(st->changed_ns / 1000000));
    json_close(out);
    json_close(out);
}

static bool stat_path(struct calling *x, bool follow, struct json_writer *out,
                      struct err *e)
{
    struct fs_call a;
    struct vfs_stat st;
    if (!fs_begin(x, follow ? "stat" : "lstat", out, &a, e))
        return false;
    int failed = vfs_stat(a.files, NULL, a.path, follow, &st);
    if (failed)
        return fs_answer(&a, failed);
    put_stat(&st, out);
    return true;
}

static bool call_stat(struct calling *x, struct json_writer *out, struct err *e)
{
    return stat_path(x, true, out, e);
}

static bool call_lstat(struct calling *x, struct json_writer *out, struct err *e)
{
    return stat_path(x, false, out, e);
}

static bool call_exists(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    struct vfs_stat st;
    if (!fs_begin(x, "access", out, &a, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "value", vfs_stat(a.files, NULL, a.path, true, &st) == 0);
    json_close(out);
    return true;
}

/* Whether it could be written is known when it is opened so. */
static bool call_access(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    struct vfs_stat st;
    scoped(vfs_close) struct vfs_file *f = NULL;
    if (!fs_begin(x, "access", out, &a, e))
        return false;
    int failed = vfs_stat(a.files, NULL, a.path, true, &st);
    if (!failed && json_bool(json_at(x->args, 1), false) && st.type == VFS_FILE)
        failed = vfs_open(a.files, NULL, a.path, VFS_WRITE, &f);
    return fs_answer(&a, failed);
}

/* ---- the rows ----------------------------------------------------------- */

#define ROW(method, wrapping) \
    {.name = "fs." method, .sync = true, .wrap = wrapping, .feature = FEATURE_FILES}
#define WRAP(method) \
    "(call, callSync, kit) => kit.shared.fs('" method "')(call, callSync)"
#define ERRORS                                                                       \
    "Errors have Node's codes: ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, EACCES, " \
    "EROFS, ENOSPC and the like as error.code."

/* Types that signatures name. */
static const struct api_type types[] = {
    FS_TYPES,
};

static const struct host_call rows[] = {
    {ROW("readFile", fs_js), .signature = FS_READ_FILE_SIGNATURE,
     .summary = "a file as bytes, or as text with an encoding such as 'utf8'; only with "
                "enableFileSystem",
     .call = call_read_file, .level = LEVEL_FULL, .steady = true,
     .details =
         "Files are in memory and discarded with the evaluation: 32 MB in 5,000 files. Folders that the person's policy mounts are available, too. All of fs.* is also in fs.promises; functions with names that end in Sync return at once.",
     .errors = ERRORS,
     .example = "fs.writeFileSync('/a.txt', 'text');\n"
                "return await fs.readFile('/a.txt', 'utf8');",
     .words = "read open load file cat disk readFileSync"},
    {ROW("writeFile", WRAP("writeFile")), .signature = FS_WRITE_FILE_SIGNATURE,
     .summary = "creates or replaces a file", .call = call_write_file,
     .level = LEVEL_FULL,
     .example = "await fs.writeFile('/out.json', JSON.stringify({a: 1}));",
     .steady = true, .errors = ERRORS, .words = "save store file disk writeFileSync"},
    {ROW("appendFile", WRAP("appendFile")), .signature = FS_APPEND_FILE_SIGNATURE,
     .summary = "appends to a file, which is created if it is missing",
     .call = call_write_file, .level = LEVEL_FULL,
     .example = "await fs.appendFile('/log.txt', 'one line\\n');", .steady = true,
     .errors = ERRORS, .words = "add log file appendFileSync"},
    {ROW("readdir", WRAP("readdir")), .signature = FS_READDIR_SIGNATURE,
     .summary = "the names in a folder", .call = call_readdir, .level = LEVEL_FULL,
     .example = "return await fs.readdir('/', {recursive: true});", .steady = true,
     .errors = ERRORS, .words = "list ls directory folder glob readdirSync"},
    {ROW("mkdir", WRAP("mkdir")), .signature = FS_MKDIR_SIGNATURE,
     .summary = "creates a folder", .call = call_mkdir, .level = LEVEL_FULL,
     .example = "await fs.mkdir('/reports/2026', {recursive: true});", .steady = true,
     .errors = ERRORS, .words = "create directory folder mkdirSync"},
    {ROW("rm", WRAP("rm")), .signature = FS_RM_SIGNATURE,
     .summary = "removes a file, or with recursive a folder and its contents",
     .call = call_rm, .level = LEVEL_FULL,
     .example = "await fs.rm('/reports', {recursive: true, force: true});",
     .steady = true, .errors = ERRORS, .words = "delete remove unlink rimraf rmSync"},
    {ROW("rmdir", WRAP("rmdir")), .signature = FS_RMDIR_SIGNATURE,
     .summary = "removes an empty folder", .call = call_rmdir, .level = LEVEL_FULL,
     .example = "fs.mkdirSync('/empty');\nawait fs.rmdir('/empty');", .steady = true,
     .errors = ERRORS, .words = "delete folder rmdirSync"},
    {ROW("unlink", WRAP("unlink")), .signature = FS_UNLINK_SIGNATURE,
     .summary = "removes a file", .call = call_unlink, .level = LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.unlink('/a.txt');",
     .steady = true, .errors = ERRORS, .words = "delete remove unlinkSync"},
    {ROW("rename", WRAP("rename")), .signature = FS_RENAME_SIGNATURE,
     .summary = "moves a file or folder, replacing the target", .call = call_rename,
     .level = LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.rename('/a.txt', '/b.txt');",
     .steady = true, .errors = ERRORS, .words = "move mv renameSync"},
    {ROW("copyFile", WRAP("copyFile")), .signature = FS_COPY_FILE_SIGNATURE,
     .summary = "copies a file", .call = call_copy_file, .level = LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.copyFile('/a.txt', '/b.txt');",
     .steady = true, .errors = ERRORS, .words = "cp duplicate copyFileSync"},
    {ROW("stat", WRAP("stat")), .signature = FS_STAT_SIGNATURE,
     .summary = "the kind, size and times of a path", .call = call_stat,
     .level = LEVEL_FULL,
     .example =
         "fs.writeFileSync('/a.txt', 'abc');\nreturn (await fs.stat('/a.txt')).size;",
     .errors = ERRORS, .words = "size modified time statSync"},
    {ROW("lstat", WRAP("lstat")), .signature = FS_LSTAT_SIGNATURE,
     .summary = "the same, without following a symbolic link", .call = call_lstat,
     .level = LEVEL_FULL, .example = "return (await fs.lstat('/')).isDirectory();",
     .errors = ERRORS, .words = "symlink lstatSync"},
    {ROW("exists", WRAP("exists")), .signature = FS_EXISTS_SIGNATURE,
     .summary = "whether a path exists", .call = call_exists, .level = LEVEL_FULL,
     .example = "return await fs.exists('/a.txt');", .steady = true,
     .words = "existsSync"},
    {ROW("access", WRAP("access")), .signature = FS_ACCESS_SIGNATURE,
     .summary = "fails if a path does not exist, or is not writable (fs.constants.W_OK)",
     .call = call_access, .level = LEVEL_FULL,
     .example = "await fs.access('/', fs.constants.R_OK);", .steady = true,
     .errors = ERRORS, .words = "permission accessSync"},
    {ROW("truncate", WRAP("truncate")), .signature = FS_TRUNCATE_SIGNATURE,
     .summary = "truncates a file, or extends it with zeros", .call = call_truncate,
     .level = LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', 'abc');\nawait fs.truncate('/a.txt', 1);",
     .steady = true, .errors = ERRORS, .words = "cut resize truncateSync"},
};
static const struct feature feature = {
    .bit = FEATURE_FILES,
    .option = "enableFileSystem",
    .missing =
        "Files are available only with enableFileSystem; read notes with notes.get.",
    .check = files_check};

/* What fs.js makes there besides. */
static const char *const members[] = {"promises", "constants", NULL};
static void declare_members(struct buf *out)
{
    buf_cstr(out, "  /** The same calls again, as in Node. */\n"
                  "  readonly promises: FileSystem;\n"
                  "  readonly constants: {readonly [name: string]: number};\n");
}
static const struct host_call_group fs_calls = {TABLE(rows),
                                                TYPES(types),
                                                .order = 120,
                                                .feature = &feature,
                                                .interface = "FileSystem",
                                                .members = members,
                                                .declare = declare_members};

static void files_close(struct evaluation *v)
{
    struct files *f = *evaluation_part(v, &files_capability);
    vfs_free(f ? f->vfs : NULL);
    free(f);
}

const struct capability files_capability = {
    .calls = CALLS(&fs_calls), .end = files_close, .policies = POLICIES(&files_policy)};
