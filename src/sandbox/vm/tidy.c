#include "vm/tidy.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define NAMES_MAX 4096u /* of a folder; the rest of a larger one is ignored */

static DIR *images_open_folder(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d && fd >= 0)
        close(fd);
    return d;
}

static bool is_like(const char *name, const char *begin, const char *end)
{
    size_t n = strlen(name), at = strlen(begin), behind = strlen(end);
    return n >= at + behind && !strncmp(name, begin, at) &&
           !strcmp(name + n - behind, end);
}

void tidy_drafts(int folder, uint32_t ram_mb)
{
    char begin[32];
    (void)snprintf(begin, sizeof begin, ".machine-%u-", ram_mb);
    DIR *d = images_open_folder(folder);
    for (struct dirent *at; d && (at = readdir(d));)
        if (is_like(at->d_name, begin, ".tmp"))
            (void)unlinkat(folder, at->d_name, 0);
    if (d)
        closedir(d);
}

struct image {
    struct timespec used;
    char name[64];
};

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct image *)a)->used,
                          *y = &((const struct image *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec > y->tv_sec ? -1 : 1;
    return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

static size_t list_images(int folder, struct image *out)
{
    size_t count = 0;
    struct stat st;
    DIR *d = images_open_folder(folder);
    for (struct dirent *at; d && count < NAMES_MAX && (at = readdir(d));) {
        if (!is_like(at->d_name, "machine-", ".mem") ||
            strlen(at->d_name) >= sizeof out->name ||
            fstatat(folder, at->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        out[count].used = st.st_mtim;
        memcpy(out[count++].name, at->d_name, strlen(at->d_name) + 1);
    }
    if (d)
        closedir(d);
    return count;
}

void tidy_images(int folder, unsigned keep)
{
    scoped(free) struct image *all = mem_new(NAMES_MAX * sizeof *all);
    size_t count = list_images(folder, all);
    qsort(all, count, sizeof *all, by_use);
    for (size_t i = keep; i < count; i++)
        (void)unlinkat(folder, all[i].name, 0);
}

void tidy_used(int image)
{
    (void)futimens(image, NULL); /* fails for another user's, which keeps its time */
}
