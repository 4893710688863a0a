/* Folders of this machine that the policy shows to what works at a place. */
#include "capability/capability.h"
#include "os/os.h"
#include "place/place.h"
#include "place/policy.api.h"
#include "policy/policy.h"
#include "vfs/vfs.h"
#include "json/json.h"

/* ---- the policy's ------------------------------------------------------- */

static bool check_mount(struct str name, const struct json *v, struct err *e)
{
    static const char *const fields[] = {"guest", "host", "mode", "dots", "links", NULL};
    struct err inner = {0};
    (void)name;
    const struct json *mode = json_get(v, "mode");
    if (!entry_check_fields(v, fields, "{guest, host, mode, dots, links}", e))
        return false;
    if (!entry_check_path(json_get(v, "guest"), &inner))
        return err_set(e, ERR_INVALID, "has a guest that %s", inner.msg);
    if (!entry_check_path(json_get(v, "host"), &inner))
        return err_set(e, ERR_INVALID, "has a host that %s", inner.msg);
    const struct json *flags[] = {json_get(v, "dots"), json_get(v, "links")};
    for (size_t i = 0; i < LENGTH(flags); i++)
        if (flags[i] && !json_is(flags[i], JSON_BOOL))
            return err_set(e, ERR_INVALID, "has %s that are neither true nor false",
                           i ? "links" : "dots");
    struct str guest = json_str(json_get(v, "guest"));
    if (strstr(guest.at, "..") || str_is(guest, "/"))
        return err_set(e, ERR_INVALID,
                       "has the guest '%.*s'; a folder such as '/data' is "
                       "accepted",
                       STR_ARGS(str_cut(guest, 60)));
    return !mode || str_is(json_str(mode), "ro") || str_is(json_str(mode), "rw") ||
           err_set(e, ERR_INVALID, "has a mode that is neither 'ro' nor 'rw'");
}

/* What the user's policy gives stays, unless the vault's says false. */
static void narrow_flag(const struct json *user, const struct json *vault,
                        const char *key, struct json_writer *w)
{
    if (json_bool(json_get(user, key), false) && json_bool(json_get(vault, key), true))
        json_pair_bool(w, key, true);
}

/* The vault knows no folder of this machine: it names guests. */
static void narrow_mounts(const struct json *user, const struct json *vault,
                          struct json_writer *w)
{
    struct json_iter it = json_iter(user);
    while (json_next(&it)) {
        struct json_iter wish = json_iter(vault);
        while (json_next(&wish)) {
            if (!json_equal(json_get(it.value, "guest"), json_get(wish.value, "guest")))
                continue;
            bool write = str_is(json_str(json_get(it.value, "mode")), "rw") &&
                         str_is(json_str(json_get(wish.value, "mode")), "rw");
            json_open_object(w);
            json_pair(w, "guest", json_get(it.value, "guest"));
            json_pair(w, "host", json_get(it.value, "host"));
            json_pair_cstr(w, "mode", write ? "rw" : "ro");
            narrow_flag(it.value, wish.value, "dots", w);
            narrow_flag(it.value, wish.value, "links", w);
            json_close(w);
            break;
        }
    }
}

static const struct key_shape a_mount = {
    .schema = MOUNT_SCHEMA, .check = check_mount, .narrow = narrow_mounts};

static const struct key keys[] = {
    KEY(struct files_policy, "fileSystem", BOOL, LOWER, file_system, "true",
        "permits enableFileSystem", .order = 20),
    KEY(struct files_policy, "mounts", LIST, NARROW, mounts, "[]",
        "folders of this machine that code finds in its file system: [{guest, host, mode: "
        "'ro' | 'rw', dots, links}]",
        .high = 64, .shape = &a_mount),
};
const struct policy_group files_policy = POLICY_GROUP(keys, struct files_policy);

const struct json *policy_mounts(const struct policy *p)
{
    const struct files_policy *files = policy_values(p, &files_policy);
    return files->mounts;
}

struct policy_mount policy_mount(const struct json *m)
{
    return (struct policy_mount){.guest = json_cstr(json_get(m, "guest")),
                                 .host = json_cstr(json_get(m, "host")),
                                 .writable = str_is(json_str(json_get(m, "mode")), "rw"),
                                 .dots = json_bool(json_get(m, "dots"), false),
                                 .links = json_bool(json_get(m, "links"), false)};
}

/* ---- opening one -------------------------------------------------------- */

/* A mount that contains our own files would be above the policy. */
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

/* A mount from which a whole vault can be moved would circumvent its policy. */
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
        return err_wrap(e, "the mount %s", m->guest);
    *out = (struct vfs_mount){.at = m->guest,
                              .dir = dir,
                              .writable = writable,
                              .dots = m->dots,
                              .links = m->links};
    dir = -1; /* owned by the caller now */
    return true;
}
