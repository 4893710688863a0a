/* The file tree of a stage. */
#include <errno.h>

#include "tools/internal.h"

#define DISK_BYTES ((uint64_t)256 << 20)
#define DISK_FILES 65536u
#define OPEN_FILES 1000u

static bool add_mounts(struct vfs *v, const struct tool_world *w, const struct tool *t,
                       struct err *e)
{
    bool writes =
        t->execution.access == TOOL_WRITE || t->execution.access == TOOL_READWRITE;
    for (size_t i = 0; t->execution.access != TOOL_NO_FILES && i < w->mount_count; i++) {
        struct vfs_mount m = w->mounts[i];
        m.writable = m.writable && writes;
        if (!vfs_mount(v, &m, e))
            return false;
    }
    return true;
}

static bool make_folder(struct vfs *v, const char *path, struct err *e)
{
    int failed = vfs_mkdir(v, NULL, str_of(path));
    return !failed || failed == EEXIST ||
           err_set(e, ERR_IO, "cannot make the folder %s: %s", path, strerror(failed));
}

bool tree_make(const struct tool_world *w, const struct tool *t, struct arena *a,
               struct tree *out, struct err *e)
{
    (void)a;
    struct vfs_quota quota = {.bytes = w->disk_bytes ? w->disk_bytes : DISK_BYTES,
                              .files = DISK_FILES,
                              .open = OPEN_FILES,
                              .written = (uint64_t)1 << 40};
    *out = (struct tree){.vfs = vfs_new(&quota), .here = w->folder ? w->folder : "/work"};
    if (!add_mounts(out->vfs, w, t, e) || !make_folder(out->vfs, "/work", e) ||
        !make_folder(out->vfs, "/tmp", e))
        return false;
    out->folders[out->folder_count++] = "/";
    out->folders[out->folder_count++] = "/tmp";
    out->folders[out->folder_count++] = "/work";
    return true;
}

void tree_done(struct tree *t)
{
    vfs_free(take(t->vfs));
}

bool tree_collect(struct tree *t, const struct tool_world *w, struct tool_result *out,
                  struct err *e)
{
    (void)t;
    (void)w;
    (void)out;
    (void)e;
    return true;
}
