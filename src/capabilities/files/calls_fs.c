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
#include "files/files.h"
#include "os/os.h"
#include "performing/performing.h"
#include "place/place.h"
#include "vfs/vfs.h"
#include "json/json.h"

#define FILE_MAX ((size_t)32 << 20)
#define PATHS_MAX ((size_t)4 << 20) /* bytes of the names that one call walks over */

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
    for (size_t i = 0; i < p->policy->mount_count; i++) {
        const struct policy_mount *own = &p->policy->mounts[i];
        if (!strcmp(own->guest, m->guest) && !strcmp(own->host, m->host))
            return !writable || (own->writable && !p->read_only);
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
    for (size_t i = 0; f->place != v->here && i < made->policy->mount_count; i++) {
        const struct policy_mount *m = &made->policy->mounts[i];
        if (!gives(&v->here->permit, m, m->writable && !made->read_only))
            return err_set(
                e, ERR_DENIED,
                "fs: the files here include the folder %.100s of the host, which "
                "the policy does not give in the vault that the code is in now",
                m->guest);
    }
    return true;
}

static bool files_check(const struct place *place, struct err *e)
{
    const struct permit *p = &place->permit;
    if (!p->policy->file_system)
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
    const struct permit *p = &v->here->permit;
    struct files *f = *evaluation_part(v, &files_capability);
    if (!files_check(v->here, e) || (f && !may_keep_files(v, f, e)))
        return NULL;
    if (f)
        return f->vfs;
    scoped(vfs_free) struct vfs *files = vfs_new(&quota);
    for (size_t i = 0; i < p->policy->mount_count; i++)
        if (!mount(v, files, &p->policy->mounts[i], e))
            return NULL;
    if (p->policy->mount_count)
        atomic_store(&v->unsteady, true);
    *evaluation_part(v, &files_capability) = f = mem_new(sizeof *f);
    *f = (struct files){.vfs = take(files), .place = v->here};
    return f->vfs;
}

/* ---- answers ------------------------------------------------------------ */

/* One call: its files, what it is about, and where the answer goes. */
struct asked {
    struct vfs *files;
    const struct json *args;
    struct str path;
    const char *syscall;
    struct json_writer *out;
};

static bool begin(struct calling *x, const char *syscall, struct json_writer *out,
                  struct asked *a, struct err *e)
{
    *a = (struct asked){.files = files_of(x->v, e),
                        .args = x->args,
                        .path = json_str(json_at(x->args, 0)),
                        .syscall = syscall,
                        .out = out};
    return a->files != NULL;
}

static void put_failure(const struct asked *a, int failed, struct str dest)
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
static bool answer(const struct asked *a, int failed)
{
    if (failed) {
        put_failure(a, failed, (struct str){0});
        return true;
    }
    json_open_object(a->out);
    json_close(a->out);
    return true;
}

static bool answer_about_two(const struct asked *a, int failed)
{
    if (!failed)
        return answer(a, 0);
    put_failure(a, failed, json_str(json_at(a->args, 1)));
    return true;
}

/* ---- bytes -------------------------------------------------------------- */

static bool call_read_file(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    scoped_buf struct buf bytes, text;
    buf_init(&bytes, FILE_MAX);
    buf_init(&text, FILE_MAX * 2);
    if (!begin(x, "open", out, &a, e))
        return false;
    int failed = vfs_get(a.files, a.path, &bytes);
    if (failed)
        return answer(&a, failed);
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
    struct asked a;
    struct str bytes, flag = json_str(json_at(x->args, 2));
    scoped_buf struct buf space;
    buf_init(&space, FILE_MAX);
    if (!begin(x, "open", out, &a, e) ||
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
        return answer(&a, vfs_put(a.files, a.path, bytes));
    return answer(&a,
                  write_all(a.files, a.path, bytes, VFS_WRITE | VFS_CREATE | exclusive));
}

static bool call_truncate(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    scoped(vfs_close) struct vfs_file *f = NULL;
    if (!begin(x, "open", out, &a, e))
        return false;
    int failed = vfs_open(a.files, NULL, a.path, VFS_WRITE, &f);
    if (!failed)
        failed = vfs_resize(f, (uint64_t)json_int(json_at(x->args, 1), 0));
    return answer(&a, failed);
}

static bool call_copy_file(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    struct vfs_stat st;
    scoped_buf struct buf bytes;
    buf_init(&bytes, FILE_MAX);
    if (!begin(x, "copyfile", out, &a, e))
        return false;
    struct str to = json_str(json_at(x->args, 1));
    bool exclusive = json_bool(json_at(x->args, 2), false);
    int failed = vfs_get(a.files, a.path, &bytes);
    if (!failed && exclusive && vfs_stat(a.files, NULL, to, false, &st) == 0)
        failed = EEXIST;
    return answer_about_two(&a, failed ? failed : vfs_put(a.files, to, buf_view(&bytes)));
}

/* ---- folders ------------------------------------------------------------ */

/* The folders of a tree, as paths with a NUL behind each; it grows while it is walked
 * over, so that nothing here is as deep as the code's folders are. */
struct walk {
    struct evaluation *v;
    struct vfs *files;
    struct buf folders;
};

static void push_folder(struct walk *k, const char *parent, struct str name)
{
    bool root = str_is(str_of(parent), "/");
    buf_printf(&k->folders, "%s%s%.*s", parent, root ? "" : "/", STR_ARGS(name));
    buf_char(&k->folders, '\0');
}

typedef int entry_fn(struct walk *k, const char *parent, const struct vfs_entry *x,
                     void *arg);

/* Calls `each` for all that is in the folder, and where `deep` in those beneath. */
static int walk_tree(struct walk *k, struct str path, bool deep, entry_fn *each,
                     void *arg)
{
    char parent[VFS_PATH_MAX];
    int failed = path.n >= sizeof parent ? ENAMETOOLONG : 0;
    if (!failed && buf_str(&k->folders, path))
        buf_char(&k->folders, '\0');
    for (size_t at = 0; !failed && at < k->folders.n;) {
        size_t n = strlen(k->folders.at + at);
        if (n >= sizeof parent)
            return ENAMETOOLONG;
        memcpy(parent, k->folders.at + at, n + 1);
        at += n + 1;
        scoped(vfs_close) struct vfs_file *folder = NULL;
        const struct vfs_entry *x;
        failed =
            vfs_open(k->files, NULL, str_of(parent), VFS_READ | VFS_DIRECTORY, &folder);
        for (uint64_t i = 0; !failed && !(failed = vfs_entry(folder, i, &x)); i++) {
            if (deep && x->type == VFS_FOLDER)
                push_folder(k, parent, x->name);
            failed = each(k, parent, x, arg);
        }
        failed = failed == ENOENT && folder ? 0 : failed;
        if (k->folders.failed)
            return EOVERFLOW;
        if (cancel_fired(&k->v->stopping) || cancel_fired(k->v->who->cancel))
            return ECANCELED;
    }
    return failed;
}

static const char *type_name(enum vfs_type t)
{
    return t == VFS_FOLDER ? "folder" : t == VFS_LINK ? "link" : "file";
}

struct listing {
    struct json_writer *out;
    size_t root_n; /* bytes of the path that was asked for */
    bool types;
};

static int put_entry(struct walk *k, const char *parent, const struct vfs_entry *x,
                     void *arg)
{
    (void)k;
    struct listing *l = arg;
    if (l->types) {
        json_open_object(l->out);
        json_pair_str(l->out, "name", x->name);
        json_pair_cstr(l->out, "parent", parent);
        json_pair_cstr(l->out, "type", type_name(x->type));
        json_close(l->out);
        return l->out->out->failed ? EOVERFLOW : 0;
    }
    /* Beneath the folder that was asked for, by its path from there. */
    char path[2 * VFS_PATH_MAX];
    const char *below = parent + l->root_n + (parent[l->root_n] == '/');
    (void)snprintf(path, sizeof path, "%s%s%.*s", below, *below ? "/" : "",
                   STR_ARGS(x->name));
    json_put_cstr(l->out, path);
    return l->out->out->failed ? EOVERFLOW : 0;
}

static bool call_readdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    scoped_buf struct buf text;
    buf_init(&text, 4 * PATHS_MAX);
    struct json_writer w = json_writer(&text);
    if (!begin(x, "scandir", out, &a, e))
        return false;
    struct walk k = {.v = x->v, .files = a.files};
    struct listing l = {.out = &w,
                        .root_n = str_is(a.path, "/") ? 0 : a.path.n,
                        .types = json_bool(json_at(x->args, 2), false)};
    buf_init(&k.folders, PATHS_MAX);
    json_open_array(&w);
    int failed =
        walk_tree(&k, a.path, json_bool(json_at(x->args, 1), false), put_entry, &l);
    json_close(&w);
    buf_done(&k.folders);
    if (failed)
        return answer(&a, failed);
    json_open_object(out);
    json_pair_raw(out, "value", buf_view(&text));
    json_close(out);
    return true;
}

static int remove_entry(struct walk *k, const char *parent, const struct vfs_entry *x,
                        void *arg)
{
    (void)arg;
    char path[2 * VFS_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%.*s", parent, STR_ARGS(x->name));
    return x->type == VFS_FOLDER ? 0 : vfs_unlink(k->files, NULL, str_of(path));
}

static int remove_tree(struct walk *k, struct str path)
{
    int failed = walk_tree(k, path, true, remove_entry, NULL);
    /* What was pushed later lies deeper, or beside. */
    for (size_t end = k->folders.n; !failed && end > 0;) {
        size_t at = end - 1;
        while (at > 0 && k->folders.at[at - 1] != '\0')
            at--;
        failed = vfs_rmdir(k->files, NULL, str_of(k->folders.at + at));
        end = at;
    }
    return failed;
}

static bool call_rm(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    struct vfs_stat st;
    if (!begin(x, "rm", out, &a, e))
        return false;
    bool recursive = json_bool(json_at(x->args, 1), false);
    int failed = vfs_stat(a.files, NULL, a.path, false, &st);
    if (failed == ENOENT && json_bool(json_at(x->args, 2), false))
        return answer(&a, 0);
    if (!failed && st.type != VFS_FOLDER)
        failed = vfs_unlink(a.files, NULL, a.path);
    else if (!failed && !recursive)
        failed = EISDIR;
    else if (!failed) {
        struct walk k = {.v = x->v, .files = a.files};
        buf_init(&k.folders, PATHS_MAX);
        failed = remove_tree(&k, a.path);
        buf_done(&k.folders);
    }
    return answer(&a, failed);
}

/* Makes the folders on the way, too; the first one that was new is the answer, as in
 * Node. */
static int make_folders(struct asked *a, size_t *first)
{
    int failed = 0;
    *first = 0;
    for (size_t n = 1; n <= a->path.n; n++) {
        if (n < a->path.n && (a->path.at[n] != '/' || a->path.at[n - 1] == '/'))
            continue;
        struct vfs_stat st;
        struct str part = {a->path.at, n};
        failed = vfs_mkdir(a->files, NULL, part);
        if (!failed && !*first)
            *first = n;
        if (failed == EEXIST)
            failed = vfs_stat(a->files, NULL, part, true, &st) ? EEXIST
                     : st.type == VFS_FOLDER                   ? 0
                     : n == a->path.n                          ? EEXIST
                                                               : ENOTDIR;
        if (failed)
            return failed;
    }
    return a->path.n ? failed : ENOENT;
}

static bool call_mkdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    size_t first;
    if (!begin(x, "mkdir", out, &a, e))
        return false;
    if (!json_bool(json_at(x->args, 1), false))
        return answer(&a, vfs_mkdir(a.files, NULL, a.path));
    int failed = make_folders(&a, &first);
    if (failed || !first)
        return answer(&a, failed);
    json_open_object(out);
    json_pair_str(out, "value", (struct str){a.path.at, first});
    json_close(out);
    return true;
}

static bool call_rmdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    return begin(x, "rmdir", out, &a, e) && answer(&a, vfs_rmdir(a.files, NULL, a.path));
}

/* ---- names -------------------------------------------------------------- */

static bool call_unlink(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    return begin(x, "unlink", out, &a, e) &&
           answer(&a, vfs_unlink(a.files, NULL, a.path));
}

static bool call_rename(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    return begin(x, "rename", out, &a, e) &&
           answer_about_two(&a, vfs_rename(a.files, NULL, a.path, NULL,
                                           json_str(json_at(x->args, 1))));
}

static void put_stat(const struct vfs_stat *st, struct json_writer *out)
{
    json_open_object(out);
    json_key(out, "value");
    json_open_object(out);
    json_pair_cstr(out, "type", type_name(st->type));
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
    struct asked a;
    struct vfs_stat st;
    if (!begin(x, follow ? "stat" : "lstat", out, &a, e))
        return false;
    int failed = vfs_stat(a.files, NULL, a.path, follow, &st);
    if (failed)
        return answer(&a, failed);
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
    struct asked a;
    struct vfs_stat st;
    if (!begin(x, "access", out, &a, e))
        return false;
    json_open_object(out);
    json_pair_bool(out, "value", vfs_stat(a.files, NULL, a.path, true, &st) == 0);
    json_close(out);
    return true;
}

/* Whether it could be written is known when it is opened so. */
static bool call_access(struct calling *x, struct json_writer *out, struct err *e)
{
    struct asked a;
    struct vfs_stat st;
    scoped(vfs_close) struct vfs_file *f = NULL;
    if (!begin(x, "access", out, &a, e))
        return false;
    int failed = vfs_stat(a.files, NULL, a.path, true, &st);
    if (!failed && json_bool(json_at(x->args, 1), false) && st.type == VFS_FILE)
        failed = vfs_open(a.files, NULL, a.path, VFS_WRITE, &f);
    return answer(&a, failed);
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
    {"FileEntry",
     "{name: string, parentPath: string, isFile(): boolean, isDirectory(): boolean, "
     "isSymbolicLink(): boolean}",
     "what fs.readdir answers with withFileTypes"},
    {"FileStats",
     "{size: number, mode: number, dev: number, ino: number, nlink: number, atimeMs: number, "
     "mtimeMs: number, ctimeMs: number, atime: Date, mtime: Date, ctime: Date, "
     "isFile(): boolean, isDirectory(): boolean, isSymbolicLink(): boolean}",
     "what fs.stat answers"},
};

static const struct host_call rows[] = {
    {ROW("readFile", fs_js),
     "(path: string): Promise<Uint8Array>\n"
     "(path: string, options: string | {encoding: string}): Promise<string>",
     "a file as bytes, or as text with an encoding such as 'utf8'; only with "
     "enableFileSystem",
     call_read_file, LEVEL_FULL, .steady = true,
     .details =
         "Files live in memory and are gone with the evaluation: 32 MB in 5,000 files; "
         "folders that the person's policy mounts are there, too. All of fs.* is also in "
         "fs.promises, and answers at once with names that end in Sync.",
     .errors = ERRORS,
     .example = "fs.writeFileSync('/a.txt', 'text');\n"
                "return await fs.readFile('/a.txt', 'utf8');",
     .words = "read open load file cat disk readFileSync"},
    {ROW("writeFile", WRAP("writeFile")),
     "(path: string, data: string | Uint8Array | ArrayBuffer, "
     "options?: string | {encoding?: string, flag?: string}): Promise<void>",
     "makes or replaces a file", call_write_file, LEVEL_FULL,
     .example = "await fs.writeFile('/out.json', JSON.stringify({a: 1}));",
     .steady = true, .errors = ERRORS, .words = "save store file disk writeFileSync"},
    {ROW("appendFile", WRAP("appendFile")),
     "(path: string, data: string | Uint8Array | ArrayBuffer, "
     "options?: string | {encoding?: string}): Promise<void>",
     "adds to the end of a file, which is made where it is missing", call_write_file,
     LEVEL_FULL, .example = "await fs.appendFile('/log.txt', 'one line\\n');",
     .steady = true, .errors = ERRORS, .words = "add log file appendFileSync"},
    {ROW("readdir", WRAP("readdir")),
     "(path: string, options?: {recursive?: boolean, withFileTypes?: false}): "
     "Promise<string[]>\n"
     "(path: string, options: {recursive?: boolean, withFileTypes: true}): "
     "Promise<FileEntry[]>",
     "the names in a folder", call_readdir, LEVEL_FULL,
     .example = "return await fs.readdir('/', {recursive: true});", .steady = true,
     .errors = ERRORS, .words = "list ls directory folder glob readdirSync"},
    {ROW("mkdir", WRAP("mkdir")),
     "(path: string, options?: {recursive?: boolean}): Promise<string | undefined>",
     "makes a folder", call_mkdir, LEVEL_FULL,
     .example = "await fs.mkdir('/reports/2026', {recursive: true});", .steady = true,
     .errors = ERRORS, .words = "create directory folder mkdirSync"},
    {ROW("rm", WRAP("rm")),
     "(path: string, options?: {recursive?: boolean, force?: boolean}): Promise<void>",
     "removes a file, or with recursive a folder and all in it", call_rm, LEVEL_FULL,
     .example = "await fs.rm('/reports', {recursive: true, force: true});",
     .steady = true, .errors = ERRORS, .words = "delete remove unlink rimraf rmSync"},
    {ROW("rmdir", WRAP("rmdir")), "(path: string): Promise<void>",
     "removes an empty folder", call_rmdir, LEVEL_FULL,
     .example = "fs.mkdirSync('/empty');\nawait fs.rmdir('/empty');", .steady = true,
     .errors = ERRORS, .words = "delete folder rmdirSync"},
    {ROW("unlink", WRAP("unlink")), "(path: string): Promise<void>", "removes a file",
     call_unlink, LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.unlink('/a.txt');",
     .steady = true, .errors = ERRORS, .words = "delete remove unlinkSync"},
    {ROW("rename", WRAP("rename")), "(oldPath: string, newPath: string): Promise<void>",
     "moves a file or folder, replacing what is there", call_rename, LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.rename('/a.txt', '/b.txt');",
     .steady = true, .errors = ERRORS, .words = "move mv renameSync"},
    {ROW("copyFile", WRAP("copyFile")),
     "(from: string, to: string, mode?: number): Promise<void>", "copies a file",
     call_copy_file, LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', '');\nawait fs.copyFile('/a.txt', '/b.txt');",
     .steady = true, .errors = ERRORS, .words = "cp duplicate copyFileSync"},
    {ROW("stat", WRAP("stat")), "(path: string): Promise<FileStats>",
     "what a path is: its kind, size and times", call_stat, LEVEL_FULL,
     .example =
         "fs.writeFileSync('/a.txt', 'abc');\nreturn (await fs.stat('/a.txt')).size;",
     .errors = ERRORS, .words = "size modified time statSync"},
    {ROW("lstat", WRAP("lstat")), "(path: string): Promise<FileStats>",
     "the same of a link itself", call_lstat, LEVEL_FULL,
     .example = "return (await fs.lstat('/')).isDirectory();", .errors = ERRORS,
     .words = "symlink lstatSync"},
    {ROW("exists", WRAP("exists")), "(path: string): Promise<boolean>",
     "whether something is there", call_exists, LEVEL_FULL,
     .example = "return await fs.exists('/a.txt');", .steady = true,
     .words = "existsSync"},
    {ROW("access", WRAP("access")), "(path: string, mode?: number): Promise<void>",
     "fails where something is not there, or may not be written (fs.constants.W_OK)",
     call_access, LEVEL_FULL, .example = "await fs.access('/', fs.constants.R_OK);",
     .steady = true, .errors = ERRORS, .words = "permission accessSync"},
    {ROW("truncate", WRAP("truncate")), "(path: string, size?: number): Promise<void>",
     "cuts a file off, or fills it up with zeros", call_truncate, LEVEL_FULL,
     .example = "fs.writeFileSync('/a.txt', 'abc');\nawait fs.truncate('/a.txt', 1);",
     .steady = true, .errors = ERRORS, .words = "cut resize truncateSync"},
};
static const struct feature feature = {
    .bit = FEATURE_FILES,
    .option = "enableFileSystem",
    .missing =
        "Files are there only with enableFileSystem; notes are read with notes.get.",
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

const struct capability files_capability = {.calls = CALLS(&fs_calls),
                                            .end = files_close};
