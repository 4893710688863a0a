/* A folder for a while.
 *
 * Its name says whose it is, and a lock in it is held as long as its process lives: so
 * the next one knows what nobody will remove any more. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

#define IN_MEMORY "/dev/shm"
#define MEMORY_MAX ((uint64_t)256 << 20)
#define LOCK_NAME ".lock"
#define SWEPT_MAX 64u /* of one look */
#define FOLDERS_OPEN 16

struct os_scratch {
    char *path;
    int dir, lock;
};

/* ---- removing ------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)at;
    (void)(type == FTW_DP || type == FTW_D ? rmdir(path) : unlink(path));
    return 0; /* what cannot be removed is left for the next look */
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS);
}

/* ---- what others left ------------------------------------------------------ */

static void begin_of_names(char out[static 64])
{
    (void)snprintf(out, 64, "cloche-%u-", (unsigned)geteuid());
}

/* Is it a folder of this user's that no process holds? */
static bool is_left(const char *path)
{
    struct stat st;
    struct err none = {0};
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return false;
    scoped_fd int dir = os_dir_open(path, &none);
    scoped_fd int lock = dir < 0 ? -1 : os_lock(dir, LOCK_NAME, 0, 0, &none);
    return lock >= 0;
}

static void sweep(const char *root)
{
    char begin[64], path[PATH_MAX];
    begin_of_names(begin);
    DIR *d = opendir(root);
    unsigned swept = 0;
    for (struct dirent *x; d && swept < SWEPT_MAX && (x = readdir(d));) {
        if (!str_starts(str_of(x->d_name), begin))
            continue;
        int n = snprintf(path, sizeof path, "%s/%s", root, x->d_name);
        if (n > 0 && (size_t)n < sizeof path && is_left(path)) {
            remove_all(path);
            swept++;
        }
    }
    if (d)
        (void)closedir(d);
}

/* ---- making ------------------------------------------------------------------ */

/* Held before anybody can take the folder for one that was left: its name is not one of
 * ours until then. */
static bool make_in(struct os_scratch *s, const char *root, struct err *e)
{
    char begin[64], making[PATH_MAX], name[PATH_MAX];
    uint64_t chance;
    os_random(&chance, sizeof chance);
    begin_of_names(begin);
    int n = snprintf(making, sizeof making, "%s/.making-%s%016llx", root, begin,
                     (unsigned long long)chance);
    int m = snprintf(name, sizeof name, "%s/%s%016llx", root, begin,
                     (unsigned long long)chance);
    if (n < 0 || m < 0 || (size_t)n >= sizeof making || mkdir(making, 0700) < 0)
        return err_set(e, ERR_IO, "no folder could be made in %.200s: %m", root);
    s->dir = os_dir_open(making, e);
    s->lock = s->dir < 0 ? -1 : os_lock(s->dir, LOCK_NAME, 0, 0, e);
    if (s->lock < 0 || rename(making, name) < 0) {
        err_set(e, ERR_IO, "no folder could be made in %.200s: %m", root);
        remove_all(making);
        os_close(s->dir);
        os_close(s->lock);
        s->dir = s->lock = -1;
        return false;
    }
    s->path = mem_strdup(name);
    return true;
}

static bool scratch_has_room(const char *root, uint64_t bytes)
{
    struct err none = {0};
    scoped_fd int dir = os_dir_open(root, &none);
    return dir >= 0 && access(root, W_OK | X_OK) == 0 && os_free_bytes(dir) / 2 > bytes;
}

struct os_scratch *os_scratch_open(uint64_t bytes, struct err *e)
{
    scoped(os_scratch_close) struct os_scratch *s = mem_new(sizeof *s);
    s->dir = s->lock = -1;
    scoped(free) char *cache = NULL;
    struct err ignored = {0};
    sweep(IN_MEMORY);
    if (bytes <= MEMORY_MAX && scratch_has_room(IN_MEMORY, bytes) &&
        make_in(s, IN_MEMORY, &ignored))
        return take(s);
    scoped_fd int dir = os_cache_dir(&cache, e);
    if (dir < 0)
        return NULL;
    sweep(cache);
    if (os_free_bytes(dir) / 2 < bytes) {
        err_set(e, ERR_LIMIT, "there is no space for %llu MB in %.200s",
                (unsigned long long)(bytes >> 20), cache);
        return NULL;
    }
    return make_in(s, cache, e) ? take(s) : NULL;
}

int os_scratch_dir(const struct os_scratch *s)
{
    return s->dir;
}

const char *os_scratch_path(const struct os_scratch *s)
{
    return s->path;
}

void os_scratch_close(struct os_scratch *s)
{
    if (!s)
        return;
    if (s->path)
        remove_all(s->path);
    os_close(s->lock);
    os_close(s->dir);
    free(s->path);
    free(s);
}
