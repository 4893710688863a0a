/* Where a vault may lie. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "os/os.h"
#include "vaults/vaults.h"

#define OWN_DIR ".cloche"
#define DEFAULT_ROOT "vaults" /* in the user's data folder */

/* Is one of the components of the path `name`? */
static bool has_component(struct str path, const char *name)
{
    for (size_t i = 0; i < path.n;) {
        const char *slash = memchr(path.at + i, '/', path.n - i);
        size_t n = slash ? (size_t)(slash - path.at) - i : path.n - i;
        if (str_is((struct str){path.at + i, n}, name))
            return true;
        i += n + 1;
    }
    return false;
}

char *vaults_folder(const char *path, bool make, struct err *e)
{
    scoped_fd int fd = make ? os_dir_make(path, 0777, e) : os_dir_open(path, e);
    scoped(free) char *folder = fd >= 0 ? os_dir_path(fd, e) : NULL;
    if (!folder)
        return NULL;
    if (has_component(str_of(folder), OWN_DIR)) {
        err_set(e, ERR_INVALID,
                "%.250s lies within a vault's own " OWN_DIR "; choose another folder",
                folder);
        return NULL;
    }
    return take(folder);
}

void vaults_id_of(const char *path, char out[static VAULT_ID_MAX + 1])
{
    const char *slash = strrchr(path, '/');
    size_t n = 0;
    for (const char *c = slash ? slash + 1 : path; *c && n < VAULT_ID_MAX; c++) {
        char lower = char_lower(*c);
        if (char_is_letter(lower) || char_is_digit(lower))
            out[n++] = lower;
        else if (n && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n && out[n - 1] == '-')
        n--;
    (void)snprintf(out + n, VAULT_ID_MAX + 1 - n, "%s", n ? "" : "vault");
}

/* ---- on behalf of code -------------------------------------------------- */

static bool is_not_allowed(struct str path, struct err *e)
{
    return err_set(
        e, ERR_DENIED,
        "code may not register the folder %.*s: a relative path, which lies in "
        "the user's folder of vaults, is accepted, and a person can add any "
        "other with: cloche vault add DIR",
        STR_ARGS(str_cut(path, 150)));
}

/* A way beneath a root: components that are neither hidden nor "..". */
static bool is_plain(struct str path)
{
    if (!path.n || path.n >= PATH_MAX || memchr(path.at, '\0', path.n))
        return false;
    for (size_t i = 0; i < path.n;) {
        const char *slash = memchr(path.at + i, '/', path.n - i);
        size_t n = slash ? (size_t)(slash - path.at) - i : path.n - i;
        if (n == 0 || path.at[i] == '.')
            return false;
        i += n + 1;
    }
    return path.at[path.n - 1] != '/';
}

/* Opens `path` beneath the root, made where `make` says so; its true path. */
static char *folder_beneath(int root, struct str path, bool make, struct err *e)
{
    char name[PATH_MAX];
    if (!is_plain(path)) {
        is_not_allowed(path, e);
        return NULL;
    }
    memcpy(name, path.at, path.n);
    name[path.n] = '\0';
    struct err why = {0};
    if (make && !os_make_dirs(root, name, &why)) {
        err_pass(e, &why);
        return NULL;
    }
    scoped_fd int fd =
        os_open_beneath(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    return fd >= 0 ? os_dir_path(fd, e) : NULL;
}

static int default_root(struct err *e)
{
    scoped_fd int data = os_data_dir(NULL, e);
    if (data < 0 || !os_make_dirs(data, DEFAULT_ROOT, e))
        return -1;
    return os_open_beneath(data, DEFAULT_ROOT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
}

/* The part of the absolute path beneath the root; empty: it is not beneath. */
static struct str rest_of(struct str path, int root)
{
    struct err none = {0};
    scoped(free) char *at = os_dir_path(root, &none);
    size_t n = at ? strlen(at) : 0;
    if (n > 1 && str_starts(path, at) && path.n > n + 1 && path.at[n] == '/')
        return (struct str){path.at + n + 1, path.n - n - 1};
    return STR("");
}

/* Settings and records of our own are no place for notes. */
static bool is_for_vaults(struct str path)
{
    char whole[PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%.*s", STR_ARGS(path));
    return path.n < sizeof whole && os_is_apart(whole);
}

char *vaults_folder_allowed(struct str path, const char *const *roots, bool make,
                            struct err *e)
{
    scoped_fd int standard = default_root(e);
    if (standard < 0)
        return NULL;
    if (!path.n || path.at[0] != '/')
        return folder_beneath(standard, path, make, e);
    while (path.n > 1 && path.at[path.n - 1] == '/')
        path.n--;
    struct str rest = rest_of(path, standard);
    if (rest.n)
        return folder_beneath(standard, rest, make, e);
    for (size_t i = 0; roots && roots[i]; i++) {
        struct err none = {0};
        scoped_fd int root = os_dir_open(roots[i], &none);
        rest = root >= 0 ? rest_of(path, root) : STR("");
        if (rest.n && is_for_vaults(path))
            return folder_beneath(root, rest, make, e);
    }
    is_not_allowed(path, e);
    return NULL;
}
