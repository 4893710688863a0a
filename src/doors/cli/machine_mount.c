/* cloche vm --mount: folders of this computer that a person's machine sees. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/machine.h"
#include "os/os.h"
#include "vfs/vfs.h"
#include "vm/mounts.h"

#define AT "/mount" /* of the tree, which has nothing else */

/* Large enough for a person's own work; a machine that fills the disk is a person's, too. */
static const struct vfs_quota quota = {.bytes = (uint64_t)1 << 30,
                                       .files = UINT32_MAX,
                                       .open = 8192,
                                       .written = UINT64_MAX / 2};

/* HOST:/guest[:ro|:rw|:overlay][:links] */
struct wish {
    char host[4096], place[VM_MOUNT_PLACE_MAX];
    bool read_only, overlay, links;
};

static bool cut_word(char *text, const char *word)
{
    char *colon = strrchr(text, ':');
    if (!colon || strcmp(colon + 1, word))
        return false;
    *colon = '\0';
    return true;
}

static bool read_mount(const char *text, struct wish *w, struct err *e)
{
    *w = (struct wish){0};
    bool fits = (size_t)snprintf(w->host, sizeof w->host, "%s", text) < sizeof w->host;
    w->links = cut_word(w->host, "links");
    if (!cut_word(w->host, "rw") && !(w->read_only = cut_word(w->host, "ro")))
        w->overlay = cut_word(w->host, "overlay");
    /* The last part that begins with a slash: a host's folder may have a colon. */
    char *colon = strrchr(w->host, ':');
    if (fits && colon && colon != w->host && colon[1] == '/' &&
        (size_t)snprintf(w->place, sizeof w->place, "%s", colon + 1) < sizeof w->place) {
        *colon = '\0';
        return true;
    }
    return err_set(e, ERR_INVALID,
                   "--mount is '%.200s'; HOST:/guest, such as .:/work, with ':ro', "
                   "':overlay' or ':links' at its end, is accepted",
                   text);
}

static bool mount_one(struct vm *m, const char *text, struct err *e)
{
    struct wish w;
    if (!read_mount(text, &w, e))
        return false;
    scoped_fd int dir = os_dir_open(w.host, e);
    if (dir < 0)
        return err_wrap(e, "--mount %.100s", text);
    struct vfs_mount how = {.at = AT,
                            .dir = dir,
                            .writable = !w.read_only,
                            .dots = true,
                            .links = w.links,
                            .overlay = w.overlay};
    scoped(vfs_free) struct vfs *tree = vfs_new(&quota);
    struct vm_mount what = {
        .tree = tree, .at = AT, .place = w.place, .writable = how.writable};
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
