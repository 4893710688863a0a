/* Folders in memory that a command is given: `files` of an entry of `mounts`. */
#include "machines/machine_tree.h"

#include <errno.h>

#include "crypto/crypto.h"
#include "machines/machine_names.h"
#include "tools/tools.h"
#include "vm/mounts.h"

#define GIVEN_MAX 10000u              /* files of one folder */
#define TOLD_FILES 1000u              /* of one answer */
#define TOLD_BYTES ((size_t)16 << 20) /* of JSON about them */
#define READ_MAX ((uint64_t)32 << 20) /* a larger file was never given */
#define PLACE_BYTES (VM_MOUNT_PLACE_MAX + VFS_PATH_MAX)
#define PATHS_BYTES ((size_t)4 << 20) /* of the folders that are looked through */

struct tree_file {
    struct str name, bytes;
};

/* ---- making ----------------------------------------------------------------------- */

static int make_folders(struct vfs *v, struct str path)
{
    int failed = 0;
    for (size_t i = 1; !failed && i < path.n; i++)
        if (path.at[i] == '/') {
            failed = vfs_mkdir(v, NULL, (struct str){path.at, i});
            failed = failed == EEXIST ? 0 : failed;
        }
    return failed;
}

static bool put_file(struct vfs *v, const struct tree_file *f, struct arena *a,
                     struct err *e)
{
    if (!machine_file_name_check(f->name, e))
        return false;
    if (f->name.at[0] == '/')
        return err_set(
            e, ERR_INVALID,
            "files of a mount has '%.*s'; a name relative to the mount's place "
            "is accepted, nothing ran",
            STR_ARGS(str_cut(f->name, 60)));
    const char *path = arena_printf(a, e, MACHINE_TREE_AT "/%.*s", STR_ARGS(f->name));
    if (!path)
        return false;
    int failed = make_folders(v, str_of(path));
    failed = failed ? failed : vfs_put(v, str_of(path), f->bytes);
    return !failed ||
           err_set(e, failed == ENOSPC ? ERR_LIMIT : ERR_INVALID,
                   "the file '%.*s' of a mount cannot be given: %s; nothing ran",
                   STR_ARGS(str_cut(f->name, 100)), strerror(failed));
}

static int by_name(const void *one, const void *two)
{
    const struct tree_file *a = one, *b = two;
    size_t n = a->name.n < b->name.n ? a->name.n : b->name.n;
    int order = n ? memcmp(a->name.at, b->name.at, n) : 0;
    return order ? order : (a->name.n > b->name.n) - (a->name.n < b->name.n);
}

static bool read_given(struct machine_tree *t, struct arena *a, struct err *e)
{
    size_t n = json_length(t->files);
    if (n > GIVEN_MAX)
        return err_set(e, ERR_LIMIT,
                       "files of a mount has more than %u entries; nothing ran",
                       GIVEN_MAX);
    t->given = arena_get(a, (n + 1) * sizeof *t->given, e);
    struct json_iter it = json_iter(t->files);
    for (t->count = 0; t->given && json_next(&it); t->count++) {
        struct tree_file *f = &t->given[t->count];
        f->name = it.key;
        if (!argument_bytes(it.value, "files of a mount", a, &f->bytes, e))
            return false;
        t->bytes += f->bytes.n;
    }
    return t->given != NULL;
}

struct vfs *machine_tree_make(struct machine_tree *t, const struct vfs_quota *quota,
                              struct arena *a, struct err *e)
{
    scoped(vfs_free) struct vfs *v = vfs_new(quota);
    int failed = vfs_mkdir(v, NULL, STR(MACHINE_TREE_AT));
    if (failed)
        err_set(e, ERR_IO, "a folder in memory: %s", strerror(failed));
    bool ok = !failed && read_given(t, a, e);
    for (size_t i = 0; ok && i < t->count; i++)
        ok = put_file(v, &t->given[i], a, e);
    if (!ok)
        return NULL;
    qsort(t->given, t->count, sizeof *t->given, by_name);
    return take(v);
}

/* ---- what became of it -------------------------------------------------------------- */

/* The caller's text has six bytes for a control character, so that such a file is told in base64. */
static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.at[i] < ' ' && !strchr("\t\n\r", s.at[i]))
            return false;
    return str_is_utf8(s);
}

static void put_contents(struct str bytes, struct json_writer *w)
{
    if (is_plain(bytes)) {
        json_pair_str(w, "text", bytes);
        return;
    }
    scoped_buf struct buf text = buf_of(bytes.n * 2 + 8);
    (void)crypto_base64(bytes.at, bytes.n, &text);
    json_pair_str(w, "base64", buf_view(&text));
}

/* `bytes` without a pointer: too much to be told. */
static void tell_file(struct str path, uint64_t size, struct str bytes,
                      struct machine_told *told)
{
    if (told->files == TOLD_FILES || told->text.n > TOLD_BYTES) {
        told->left_out++;
        return;
    }
    if (told->files++)
        buf_char(&told->text, ',');
    struct json_writer w = json_writer(&told->text);
    json_open_object(&w);
    machine_put_name("name", "nameBase64", path, &w);
    json_pair_int(&w, "size", (int64_t)size);
    if (bytes.at)
        put_contents(bytes, &w);
    json_close(&w);
}

static bool is_given(const struct machine_tree *t, struct str name, struct str bytes)
{
    struct tree_file wanted = {.name = name};
    const struct tree_file *f =
        t->count ? bsearch(&wanted, t->given, t->count, sizeof wanted, by_name) : NULL;
    return f && str_eq(f->bytes, bytes);
}

static void look_at_file(const struct machine_tree *t, struct vfs *tree, struct str path,
                         const char *place, struct machine_told *told)
{
    struct vfs_stat st;
    struct str name = {path.at + sizeof MACHINE_TREE_AT, path.n - sizeof MACHINE_TREE_AT};
    if (vfs_stat(tree, NULL, path, false, &st))
        return;
    scoped_buf struct buf bytes = buf_of((size_t)READ_MAX), shown = buf_of(PLACE_BYTES);
    bool whole = !vfs_get(tree, path, &bytes);
    struct str contents = bytes.n ? buf_view(&bytes) : STR("");
    if (whole && is_given(t, name, contents))
        return;
    buf_printf(&shown, "%s/%.*s", place, STR_ARGS(name));
    if (!whole || told->text.n + 2 * contents.n > TOLD_BYTES)
        contents = (struct str){0};
    tell_file(buf_view(&shown), st.size, contents, told);
}

/* Folders are looked through in the order in which they are found: nothing here is as deep as they are. */
void machine_tree_tell(const struct machine_tree *t, struct vfs *tree, const char *place,
                       struct machine_told *told)
{
    scoped_buf struct buf folders = buf_of(PATHS_BYTES);
    buf_put(&folders, MACHINE_TREE_AT, sizeof MACHINE_TREE_AT);
    for (size_t at = 0; at < folders.n;) {
        char path[VFS_PATH_MAX];
        const struct vfs_entry *entry;
        scoped(vfs_close) struct vfs_file *folder = NULL;
        struct str parent = str_of(folders.at + at);
        at += parent.n + 1;
        (void)vfs_open(tree, NULL, parent, VFS_READ | VFS_DIRECTORY, &folder);
        memcpy(path, parent.at, parent.n);
        for (uint64_t i = 0; folder && !vfs_entry(folder, i, &entry); i++) {
            size_t n = parent.n + 1 + entry->name.n;
            if (n >= sizeof path)
                continue;
            path[parent.n] = '/';
            memcpy(path + parent.n + 1, entry->name.at, entry->name.n);
            path[n] = '\0';
            if (entry->type == VFS_FOLDER)
                told->left_out += !buf_put(&folders, path, n + 1);
            else if (entry->type == VFS_FILE)
                look_at_file(t, tree, (struct str){path, n}, place, told);
            parent.at = path; /* those that were put may have moved the first */
        }
    }
}
