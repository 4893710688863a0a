/* cloche vm --mount: folders of this computer that a person's machine sees. */
#include "cli/commands.h"
#include "cli/machine.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "vm/mounts.h"
#include "writeback/writeback.h"

/* Large enough for a person's own work; a machine that fills the disk is a person's, too. */
static const struct vfs_quota quota = {.bytes = (uint64_t)1 << 30,
                                       .files = UINT32_MAX,
                                       .open = 8192,
                                       .written = UINT64_MAX / 2};

static bool mount_one(struct vm *m, const char *text, struct err *e)
{
    struct vm_mount_words w;
    if (!vm_mount_read(text, &w, e))
        return false;
    writeback_complete();
    scoped_fd int dir = os_dir_open(w.host, e);
    if (dir < 0)
        return err_wrap(e, "--mount %.100s", text);
    struct vfs_mount how = {.at = MACHINE_MOUNT_AT,
                            .dir = dir,
                            .writable = !w.read_only,
                            .dots = true,
                            .links = w.links,
                            .overlay = w.overlay};
    scoped(vfs_free) struct vfs *tree = vfs_new(&quota);
    struct vm_mount what = {
        .tree = tree, .at = MACHINE_MOUNT_AT, .place = w.place, .writable = how.writable};
    if (!vfs_mount(tree, &how, e) || !vm_mount(m, &what, e))
        return err_wrap(e, "--mount %.100s", text);
    (void)take(tree);
    return true;
}

bool machine_mount(struct vm *m, const char *const *mounts, struct err *e)
{
    for (size_t i = 0; mounts[i]; i++)
        if (!mount_one(m, mounts[i], e))
            return false;
    return true;
}
