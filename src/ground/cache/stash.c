/* A folder of files, each with a sum of its own; see stash.h. */
#include "cache/stash.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "os/os.h"

#define FILES_MAX 4096u /* that are looked at when some are removed */
#define FILE_NAME 80u   /* bytes of a name: a key, an ending and a NUL */
#define SUM (CRYPTO_SUM_HEX - 1u)

struct stash {
    struct stash_limits limits;
    int folder;
};

struct stash *stash_at(int folder, const struct stash_limits *limits)
{
    struct stash *s = mem_new(sizeof *s);
    s->limits = *limits;
    s->folder = folder;
    return s;
}

static int open_folder(const char *name)
{
    struct err none = {0};
    scoped_fd int base = os_cache_dir(NULL, &none);
    if (base < 0 || !os_make_dirs(base, name, &none))
        return -1;
    return os_open_beneath(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
}

struct stash *stash_open(const char *name, const struct stash_limits *limits)
{
    return stash_at(open_folder(name), limits);
}

void stash_close(struct stash *s)
{
    if (!s)
        return;
    os_close(s->folder);
    free(s);
}

bool stash_get(struct stash *s, const char *key, struct buf *out)
{
    struct err e = {0};
    char sum[CRYPTO_SUM_HEX];
    scoped_buf struct buf all = buf_of(s->limits.file_bytes + SUM);
    if (s->folder < 0 || !os_read_file(s->folder, key, &all, NULL, &e) || all.n < SUM)
        return false;
    struct str rest = {all.at + SUM, all.n - SUM};
    crypto_sum_hex(str_of(key), rest, sum);
    return memcmp(sum, all.at, SUM) == 0 && buf_str(out, rest);
}

static void write_file(struct stash *s, const char *key, struct str what)
{
    struct err e = {0};
    char sum[CRYPTO_SUM_HEX];
    if (what.n > s->limits.file_bytes)
        return;
    crypto_sum_hex(str_of(key), what, sum);
    scoped_fd int fd = os_open_beneath(
        s->folder, key, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, &e);
    if (fd < 0 || write(fd, sum, SUM) != (ssize_t)SUM ||
        write(fd, what.at, what.n) != (ssize_t)what.n)
        return; /* what is there now has no sum that fits */
}

void stash_put(struct stash *s, const char *key, struct str what)
{
    if (s->folder < 0)
        return;
    write_file(s, key, what);
    unsigned char now_and_then;
    os_random(&now_and_then, 1);
    if (now_and_then < 8)
        stash_prune(s);
}

/* ---- too much ----------------------------------------------------------- */

struct old_file {
    char name[FILE_NAME];
    uint64_t size;
    int64_t modified_s;
};

static int order_files(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    return (x->modified_s > y->modified_s) - (x->modified_s < y->modified_s);
}

static size_t list_files(int folder, struct old_file *row, uint64_t *total)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    size_t n = 0;
    struct stat st;
    if (!d) {
        os_close(fd);
        return 0;
    }
    for (struct dirent *x; n < FILES_MAX && (x = readdir(d));) {
        size_t length = strlen(x->d_name);
        if (length < CACHE_FILE_KEY - 1 || length >= FILE_NAME ||
            fstatat(folder, x->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        memcpy(row[n].name, x->d_name, length + 1);
        row[n].size = (uint64_t)st.st_size;
        row[n].modified_s = st.st_mtime;
        *total += row[n++].size;
    }
    (void)closedir(d);
    return n;
}

void stash_prune(struct stash *s)
{
    cache_trim(s->folder, s->limits.disk_bytes);
}

void cache_trim(int folder, uint64_t bytes)
{
    uint64_t total = 0;
    scoped(free) struct old_file *row = malloc(FILES_MAX * sizeof *row);
    size_t n = row && folder >= 0 ? list_files(folder, row, &total) : 0;
    if (n)
        qsort(row, n, sizeof *row, order_files);
    bool full = n == FILES_MAX; /* then half of them go, however small they are */
    for (size_t i = 0; i < n && (total > bytes || (full && i < n / 2)); i++) {
        struct err none = {0};
        (void)os_remove_file(folder, row[i].name, &none);
        total -= row[i].size;
    }
}
