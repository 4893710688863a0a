#include "capability/capability.h"
#include "os/os.h"
#include "place/place.h"
#include "vfs/vfs.h"

/* Whoever could read or write our own files would be above the policy. */
static bool is_mountable(int dir, struct err *e)
{
    struct err none = {0};
    scoped(free) char *path = os_dir_path(dir, &none);
    bool in_vault =
        path && (strstr(path, "/.cloche/") || str_ends(str_of(path), "/.cloche"));
    return (path && !in_vault && os_is_apart(path)) ||
           err_set(
               e, ERR_DENIED,
               "the folder %.200s holds settings or records of this program itself; a "
               "person has to mount another ('cloche policy show')",
               path ? path : "that was deleted");
}

/* Whoever could move a whole vault away would be rid of its policy. */
static bool keeps_vault(struct actions *a, const struct place *place, int dir,
                        struct err *e)
{
    struct err none = {0};
    scoped(free) char *vault = vault_set_path(a->vaults, place->vault);
    scoped(free) char *path = os_dir_path(dir, &none);
    size_t n = path ? strlen(path) : 0;
    bool around = vault && n && !strncmp(vault, path, n) &&
                  (vault[n] == '/' || (n == 1 && vault[1]));
    return !around || err_set(e, ERR_DENIED,
                              "the vault lies inside %.200s; such a folder can only be "
                              "mounted read-only (mode \"ro\")",
                              path);
}

bool mount_open(struct actions *a, const struct place *place,
                const struct policy_mount *m, struct vfs_mount *out, struct err *e)
{
    scoped_fd int dir = os_dir_open(m->host, e);
    bool writable = m->writable && !place->permit.read_only;
    if (dir < 0 || !is_mountable(dir, e) || (writable && !keeps_vault(a, place, dir, e)))
        return err_wrap(e, "the policy's mount %s", m->guest);
    *out = (struct vfs_mount){.at = m->guest, .dir = dir, .writable = writable};
    dir = -1; /* the caller's now */
    return true;
}
