/* The file tree of a stage: made for one call, and looked through after it. */
#include <errno.h>

#include "os/os.h"
#include "tools/internal.h"

#define OPEN_FILES 1000u
#define WORK "/work"
#define WRITTEN_BYTES ((uint64_t)16 << 30) /* to mounts, by one stage */

/* ---- making ------------------------------------------------------------- */

/* Mounts the folders that the tool's fileAccess allows. */
static bool add_mounts(struct vfs *v, const struct tool_world *w, const struct tool *t,
                       struct err *e)
{
    enum tool_access access = t->execution.access;
    for (size_t i = 0; access != TOOL_NO_FILES && i < w->mount_count; i++) {
        struct vfs_mount m = w->mounts[i];
        m.writable = m.writable && access != TOOL_READ;
        m.write_only = access == TOOL_WRITE;
        m.owner_only |= t->execution.private_files;
        if (!vfs_mount(v, &m, e))
            return false;
    }
    return true;
}

static bool show_data(struct vfs *v, const char *data_dir, struct err *e)
{
    scoped_fd int dir = data_dir ? os_dir_open(data_dir, e) : -1;
    return !data_dir || (dir >= 0 && vfs_show(v, dir, e));
}

static bool make_folder(struct vfs *v, const char *path, struct err *e)
{
    int failed = vfs_mkdir(v, NULL, str_of(path));
    return !failed || failed == EEXIST ||
           err_set(e, ERR_IO, "cannot make the folder %s: %s", path, strerror(failed));
}

/* The folders on the way to a file of the call. */
static int make_parents(struct vfs *v, struct str path)
{
    int failed = 0;
    for (size_t i = sizeof WORK; !failed && i < path.n; i++)
        if (path.at[i] == '/') {
            failed = vfs_mkdir(v, NULL, (struct str){path.at, i});
            failed = failed == EEXIST ? 0 : failed;
        }
    return failed;
}

static bool file_is_name(struct str name)
{
    bool fine = name.n > 0 && name.n < VFS_PATH_MAX && name.at[0] != '/' &&
                !memchr(name.at, 0, name.n);
    for (size_t i = 0; fine && i < name.n;) {
        const char *slash = memchr(name.at + i, '/', name.n - i);
        size_t end = slash ? (size_t)(slash - name.at) : name.n;
        struct str part = {name.at + i, end - i};
        fine = part.n && !str_is(part, ".") && !str_is(part, "..");
        i = end + 1;
    }
    return fine && name.at[name.n - 1] != '/';
}

static bool tree_put_file(struct vfs *v, const struct tool_file *f, struct arena *a,
                          struct err *e)
{
    if (!file_is_name(f->name))
        return err_set(e, ERR_INVALID,
                       "a file is named '%.*s'; a name relative to " WORK
                       ", without '..', is accepted",
                       STR_ARGS(str_cut(f->name, 100)));
    char *path = arena_printf(a, e, WORK "/%.*s", STR_ARGS(f->name));
    if (!path)
        return false;
    int failed = make_parents(v, str_of(path));
    failed = failed ? failed : vfs_put(v, str_of(path), f->bytes);
    return !failed || err_set(e, failed == ENOSPC ? ERR_LIMIT : ERR_INVALID,
                              "the file '%.*s' cannot be given: %s",
                              STR_ARGS(str_cut(f->name, 100)), strerror(failed));
}

static bool add_files(struct vfs *v, const struct tool_world *w, struct arena *a,
                      struct err *e)
{
    struct vfs_stat st;
    if (w->file_count && (vfs_stat(v, NULL, STR(WORK), true, &st) || st.device))
        return err_set(e, ERR_CONFLICT,
                       "files are put into " WORK
                       ", where a folder is mounted: give one or the other");
    for (size_t i = 0; i < w->file_count; i++)
        if (!tree_put_file(v, &w->files[i], a, e))
            return false;
    return true;
}

/* Programs find a path's folder by its beginning. Most cannot tell "/name" from "name":
 * so the folders at the top are open by their own names, beside "/". */
static bool list_folders(struct tree *t, struct arena *a, struct err *e)
{
    scoped(vfs_close) struct vfs_file *root = NULL;
    t->folders[t->folder_count++] = "/";
    int failed = vfs_open(t->vfs, NULL, STR("/"), VFS_READ | VFS_DIRECTORY, &root);
    const struct vfs_entry *entry;
    for (uint64_t i = 0; !failed && !(failed = vfs_entry(root, i, &entry)); i++) {
        if (entry->type != VFS_FOLDER || t->folder_count == TREE_FOLDERS)
            continue;
        char *path = arena_printf(a, e, "/%.*s", STR_ARGS(entry->name));
        if (!path)
            return false;
        t->folders[t->folder_count++] = path;
    }
    return failed == ENOENT ||
           err_set(e, ERR_IO, "cannot look at the file tree: %s", strerror(failed));
}

/* What is in memory at the top, but for /work, the machine has itself. */
static bool list_places(struct tree *t, const struct tool_world *w,
                        const struct tool *tool, struct arena *a, struct err *e)
{
    size_t shown = tool->execution.access == TOOL_NO_FILES ? 0 : w->mount_count;
    t->places[t->place_count++] = WORK;
    for (size_t i = 0; i < shown; i++) {
        const char *at = w->mounts[i].at;
        if (!strncmp(at, WORK, sizeof WORK - 1) &&
            (!at[sizeof WORK - 1] || at[sizeof WORK - 1] == '/'))
            continue;
        if (t->place_count == TREE_FOLDERS)
            return err_set(e, ERR_LIMIT, "a machine is shown at most %u mounts",
                           TREE_FOLDERS - 1);
        t->places[t->place_count] = arena_copy(a, at, strlen(at), e);
        if (!t->places[t->place_count++])
            return false;
    }
    return true;
}

/* Does it lie in what others of the run are shown, and this tool is not? */
static bool is_hidden(const struct tool_world *w, const struct tool *t,
                      const char *folder)
{
    for (size_t i = 0; t->execution.access == TOOL_NO_FILES && i < w->mount_count; i++) {
        size_t n = strlen(w->mounts[i].at);
        if (!strncmp(folder, w->mounts[i].at, n) && (!folder[n] || folder[n] == '/'))
            return true;
    }
    return false;
}

static bool set_here(struct tree *t, const struct tool_world *w, const struct tool *tool,
                     struct arena *a, struct err *e)
{
    const char *folder = w->folder;
    struct vfs_stat st = {0};
    t->here = !folder            ? WORK
              : folder[0] == '/' ? folder
                                 : arena_printf(a, e, WORK "/%s", folder);
    if (!t->here)
        return false;
    int failed = vfs_stat(t->vfs, NULL, str_of(t->here), true, &st);
    if (!failed && st.type == VFS_FOLDER)
        return true;
    if (is_hidden(w, tool, t->here)) {
        t->here = WORK;
        return true;
    }
    return err_set(e, ERR_NOT_FOUND,
                   "the working directory '%.200s' is not a folder that the tool "
                   "sees; " WORK ", /tmp and mounted folders are accepted",
                   t->here);
}

bool tree_make(const struct tool_world *w, const struct tool *t, struct arena *a,
               struct tree *out, struct err *e)
{
    struct vfs_quota quota = {.bytes = w->disk_bytes ? w->disk_bytes : TOOL_DISK_BYTES,
                              .files = TOOL_DISK_FILES,
                              .open = OPEN_FILES,
                              .written = WRITTEN_BYTES};
    *out = (struct tree){.vfs = vfs_new(&quota)};
    return show_data(out->vfs, t->data_dir, e) && add_mounts(out->vfs, w, t, e) &&
           make_folder(out->vfs, WORK, e) && make_folder(out->vfs, "/tmp", e) &&
           add_files(out->vfs, w, a, e) && list_folders(out, a, e) &&
           (!t->command || list_places(out, w, t, a, e)) && set_here(out, w, t, a, e);
}

void tree_done(struct tree *t)
{
    vfs_free(take(t->vfs));
}

/* ---- looking through it ------------------------------------------------- */

struct search {
    struct tree *tree;
    const struct tool_world *world;
    struct tool_result *out;
    uint64_t bytes; /* given back so far */
    char **folders; /* still to be looked at */
    size_t count, room;
};

static bool push_folder(struct search *s, char *path, struct err *e)
{
    if (s->count == s->room) {
        size_t room = 2 * s->room + 16;
        char **grown = arena_get(s->out->arena, room * sizeof *grown, e);
        if (!grown)
            return false;
        if (s->count)
            memcpy(grown, s->folders, s->count * sizeof *grown);
        s->folders = grown;
        s->room = room;
    }
    s->folders[s->count++] = path;
    return true;
}

/* Is it as it was given? */
static bool is_unchanged(const struct search *s, struct str name, uint64_t size,
                         struct vfs_file *file)
{
    const struct tool_file *f = NULL;
    for (size_t i = 0; !f && i < s->world->file_count; i++)
        if (str_eq(s->world->files[i].name, name) && s->world->files[i].bytes.n == size)
            f = &s->world->files[i];
    bool same = f != NULL;
    for (uint64_t at = 0; same && at < size;) {
        char part[16384];
        size_t got = 0;
        same = !vfs_read(file, at, part, sizeof part, &got) && got &&
               !memcmp(part, f->bytes.at + at, got);
        at += got;
    }
    return same;
}

/* The entry for that name: a stage before may have left one. NULL: no more are named. */
static struct tool_file *file_named(struct tool_result *out, struct str name,
                                    struct err *e)
{
    for (size_t i = 0; i < out->file_count; i++)
        if (str_eq(out->files[i].name, name))
            return &out->files[i];
    if (!out->files)
        out->files = arena_get(out->arena, TOOL_FILES_MAX * sizeof *out->files, e);
    if (!out->files || out->file_count == TOOL_FILES_MAX) {
        out->files_unnamed++;
        return NULL;
    }
    return &out->files[out->file_count++];
}

static bool tree_read_whole(struct vfs_file *file, uint64_t size, struct arena *a,
                            struct str *out, struct err *e)
{
    char *to = arena_get(a, (size_t)size + 1, e);
    size_t got = 1;
    for (out->n = 0; to && out->n < size && got; out->n += got)
        if (vfs_read(file, out->n, to + out->n, (size_t)size - out->n, &got))
            got = 0;
    out->at = to;
    return to != NULL;
}

static bool search_add(struct search *s, struct str path, struct err *e)
{
    struct vfs_stat st;
    scoped(vfs_close) struct vfs_file *file = NULL;
    struct str name = {path.at + sizeof WORK, path.n - sizeof WORK};
    if (vfs_open(s->tree->vfs, NULL, path, VFS_READ | VFS_NOFOLLOW, &file) ||
        vfs_stat_of(file, &st) || is_unchanged(s, name, st.size, file))
        return true; /* gone, or not a change */
    struct tool_file *f = file_named(s->out, name, e);
    if (!f)
        return e->code == ERR_NONE;
    uint64_t before = f->bytes.at ? f->bytes.n : 0;
    s->bytes -= before < s->bytes ? before : s->bytes;
    *f = (struct tool_file){.name = name, .size = st.size};
    if (st.size > TOOL_FILES_BYTES - s->bytes)
        return true;
    s->bytes += st.size;
    return tree_read_whole(file, st.size, s->out->arena, &f->bytes, e);
}

/* Files of a folder; the folders in it are put among those still to be looked at. */
static bool search_folder(struct search *s, const char *path, struct err *e)
{
    struct vfs_stat st;
    const struct vfs_entry *entry;
    scoped(vfs_close) struct vfs_file *folder = NULL;
    if (vfs_open(s->tree->vfs, NULL, str_of(path), VFS_READ | VFS_DIRECTORY, &folder) ||
        vfs_stat_of(folder, &st) || st.device != 0)
        return true; /* a mount: what is there stays there */
    for (uint64_t i = 0; !vfs_entry(folder, i, &entry); i++) {
        char *name = entry->type == VFS_LINK ? NULL
                                             : arena_printf(s->out->arena, e, "%s/%.*s",
                                                            path, STR_ARGS(entry->name));
        if (entry->type == VFS_FOLDER && name && !push_folder(s, name, e))
            return false;
        if (entry->type == VFS_FILE && name && !search_add(s, str_of(name), e))
            return false;
        if (e->code)
            return false;
    }
    return true;
}

bool tree_collect(struct tree *t, const struct tool_world *w, struct tool_result *out,
                  struct err *e)
{
    struct search s = {.tree = t, .world = w, .out = out};
    for (size_t i = 0; i < out->file_count; i++)
        s.bytes += out->files[i].bytes.at ? out->files[i].bytes.n : 0;
    char *work = arena_copy(out->arena, WORK, sizeof WORK - 1, e);
    if (!work || !push_folder(&s, work, e))
        return false;
    while (s.count)
        if (!search_folder(&s, s.folders[--s.count], e))
            return false;
    return true;
}
