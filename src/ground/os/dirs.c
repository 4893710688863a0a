/* The user's folders and the program's own. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

static bool home_of_user(char out[static PATH_MAX])
{
    const char *home = getenv("HOME");
    char space[4096];
    struct passwd entry, *found = NULL;
    if (!home || home[0] != '/') {
        home = NULL;
        if (getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 && found)
            home = found->pw_dir;
    }
    if (!home || home[0] != '/' || strlen(home) >= PATH_MAX)
        return false;
    memcpy(out, home, strlen(home) + 1);
    return true;
}

/* A user that may write there could change what we believe or run. */
bool os_is_own(int fd, const char *path, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_set(e, ERR_IO, "cannot look at \"%.200s\": %m", path);
    const char *what = S_ISDIR(st.st_mode) ? "folder" : "file";
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return err_set(e, ERR_DENIED, "the %s \"%.200s\" belongs to another user (%u)",
                       what, path, (unsigned)st.st_uid);
    if (st.st_mode & 022)
        return err_set(e, ERR_DENIED,
                       "other users may write to the %s \"%.200s\"; take that right away "
                       "(chmod go-w)",
                       what, path);
    return true;
}

static int user_dir(const char *variable, const char *fallback, char **path,
                    struct err *e)
{
    /* The specification says to ignore relative ones. */
    const char *set = getenv(variable);
    char home[PATH_MAX];
    char full[PATH_MAX];
    int n;
    if (set && set[0] == '/') {
        n = snprintf(full, sizeof full, "%s/cloche", set);
    } else if (home_of_user(home)) {
        n = snprintf(full, sizeof full, "%s/%s/cloche", home, fallback);
    } else {
        err_set(e, ERR_NOT_FOUND,
                "no place for the user's files: neither %s nor "
                "HOME is set to an absolute path",
                variable);
        return -1;
    }
    if (n < 0 || (size_t)n >= sizeof full) {
        err_set(e, ERR_INVALID, "the path in %s or HOME is too long", variable);
        return -1;
    }
    scoped_fd int fd = os_dir_make(full, 0700, e);
    if (fd < 0 || !os_is_own(fd, full, e))
        return -1;
    if (path)
        *path = mem_strdup(full);
    int kept = fd;
    fd = -1;
    return kept;
}

int os_config_dir(char **path, struct err *e)
{
    return user_dir("XDG_CONFIG_HOME", ".config", path, e);
}

int os_cache_dir(char **path, struct err *e)
{
    return user_dir("XDG_CACHE_HOME", ".cache", path, e);
}

int os_data_dir(char **path, struct err *e)
{
    return user_dir("XDG_DATA_HOME", ".local/share", path, e);
}

int os_state_dir(char **path, struct err *e)
{
    return user_dir("XDG_STATE_HOME", ".local/state", path, e);
}

int os_state_folder(const char *name, struct err *e)
{
    char *path = NULL, *folder = NULL;
    scoped_fd int state = os_state_dir(&path, e);
    if (state < 0)
        return -1;
    must(asprintf(&folder, "%s/%s", path, name) > 0);
    int fd = os_dir_make(folder, 0700, e);
    free(folder);
    free(path);
    return fd;
}

char *os_cache_path(const char *name)
{
    struct err none = {0};
    scoped(free) char *path = NULL;
    char *folder = NULL;
    scoped_fd int cache = os_cache_dir(&path, &none);
    if (cache >= 0 && os_make_dirs(cache, name, &none))
        must(asprintf(&folder, "%s/%s", path, name) > 0);
    return folder;
}

char *os_dir_path(int dir, struct err *e)
{
    char link[64], path[PATH_MAX];
    struct stat st;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0 || fstat(dir, &st) < 0) {
        err_set(e, ERR_IO, "cannot determine a folder's path: %m");
        return NULL;
    }
    path[n] = '\0';
    if (st.st_nlink == 0 && str_ends(str_of(path), " (deleted)")) {
        err_set(e, ERR_NOT_FOUND, "the folder was deleted");
        return NULL;
    }
    return mem_strdup(path);
}

/* The part of `path` beneath `folder`, "" for the folder itself; NULL: it does not. */
static const char *beneath(const char *folder, const char *path)
{
    size_t n = strcmp(folder, "/") ? strlen(folder) : 0;
    if (strncmp(folder, path, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n;
}

static bool keeps_off(const char *folder, const char *own)
{
    const char *inside = beneath(folder, own);
    return !beneath(own, folder) && (!inside || strstr(inside, "/."));
}

bool os_is_apart(const char *path)
{
    int (*const own_dirs[])(char **, struct err *) = {os_config_dir, os_cache_dir,
                                                      os_state_dir};
    struct err none = {0};
    bool apart = true;
    for (size_t i = 0; apart && i < LENGTH(own_dirs); i++) {
        scoped_fd int fd = own_dirs[i](NULL, &none);
        scoped(free) char *own = fd >= 0 ? os_dir_path(fd, &none) : NULL;
        apart = !own || keeps_off(path, own);
    }
    /* Only the installed tools of the data folder: vaults lie there, too. */
    scoped_fd int data = apart ? os_data_dir(NULL, &none) : -1;
    scoped(free) char *folder = data >= 0 ? os_dir_path(data, &none) : NULL;
    char tools[PATH_MAX + 8];
    if (folder && snprintf(tools, sizeof tools, "%s/tools", folder) > 0)
        apart = keeps_off(path, tools);
    return apart;
}

char *os_program_dir(struct err *e)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        err_set(e, ERR_IO, "cannot find where the program lies: %m");
        return NULL;
    }
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0'; /* "/cloche" lies in "/" */
    return mem_strdup(path);
}
