/* The calls of fs.* on folders. */
#include <errno.h>
#include <stdio.h>

#include "evaluation/evaluation.h"
#include "files/internal.h"

#define PATHS_MAX ((size_t)4 << 20) /* bytes of the names that one call walks over */

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
        json_pair_cstr(l->out, "type", fs_type_name(x->type));
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

bool call_readdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    scoped_buf struct buf text;
    buf_init(&text, 4 * PATHS_MAX);
    struct json_writer w = json_writer(&text);
    if (!fs_begin(x, "scandir", out, &a, e))
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
        return fs_answer(&a, failed);
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

bool call_rm(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    struct vfs_stat st;
    if (!fs_begin(x, "rm", out, &a, e))
        return false;
    bool recursive = json_bool(json_at(x->args, 1), false);
    int failed = vfs_stat(a.files, NULL, a.path, false, &st);
    if (failed == ENOENT && json_bool(json_at(x->args, 2), false))
        return fs_answer(&a, 0);
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
    return fs_answer(&a, failed);
}

/* Makes the folders on the way, too; the first one that was new is the answer, as in
 * Node. */
static int make_folders(struct fs_call *a, size_t *first)
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

bool call_mkdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    size_t first;
    if (!fs_begin(x, "mkdir", out, &a, e))
        return false;
    if (!json_bool(json_at(x->args, 1), false))
        return fs_answer(&a, vfs_mkdir(a.files, NULL, a.path));
    int failed = make_folders(&a, &first);
    if (failed || !first)
        return fs_answer(&a, failed);
    json_open_object(out);
    json_pair_str(out, "value", (struct str){a.path.at, first});
    json_close(out);
    return true;
}

bool call_rmdir(struct calling *x, struct json_writer *out, struct err *e)
{
    struct fs_call a;
    return fs_begin(x, "rmdir", out, &a, e) &&
           fs_answer(&a, vfs_rmdir(a.files, NULL, a.path));
}
