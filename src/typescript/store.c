/* What was translated before: in memory the last few, on disk more of them, shared by
 * all processes of the user.
 *
 * $XDG_CACHE_HOME/cloche/typescript, 0700, holds a file KEY for each. It begins with our
 * own checksum over the rest and the key: a file that is cut, damaged or another's is
 * as good as none, so that writing needs neither locks nor an fsync. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto/crypto.h"
#include "os/os.h"
#include "typescript/internal.h"

#define ENTRIES_MAX 4096u /* files that are looked at when some are removed */
#define SUM (CRYPTO_SUM_HEX - 1u)

struct kept {
    char key[STORE_KEY];
    const struct typescript_code *code;
    uint64_t used; /* a count of uses: the smallest goes first */
};

struct store {
    struct store_limits limits;
    int folder;
    pthread_mutex_t lock; /* guards what follows */
    struct kept *row;
    size_t count, bytes;
    uint64_t uses;
};

struct store *store_new(const struct store_limits *limits, int folder)
{
    struct store *s = mem_new(sizeof *s);
    s->limits = *limits;
    s->folder = folder;
    s->row = mem_new(limits->memory_count * sizeof *s->row);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        typescript_drop(s->row[i].code);
    os_close(s->folder);
    pthread_mutex_destroy(&s->lock);
    free(s->row);
    free(s);
}

/* ---- in memory ---------------------------------------------------------- */

static struct kept *find_kept(struct store *s, const char *key)
{
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->row[i].key, key) == 0)
            return &s->row[i];
    return NULL;
}

static void forget_oldest(struct store *s)
{
    size_t oldest = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->row[i].used < s->row[oldest].used)
            oldest = i;
    s->bytes -= code_size(s->row[oldest].code);
    typescript_drop(s->row[oldest].code);
    s->row[oldest] = s->row[--s->count];
}

static void remember(struct store *s, const char *key, const struct typescript_code *c)
{
    size_t size = code_size(c);
    if (size > s->limits.memory_bytes)
        return;
    pthread_mutex_lock(&s->lock);
    if (!find_kept(s, key)) {
        while (s->count && (s->count == s->limits.memory_count ||
                            s->bytes + size > s->limits.memory_bytes))
            forget_oldest(s);
        struct kept *k = &s->row[s->count++];
        memcpy(k->key, key, STORE_KEY);
        k->code = code_share(c);
        k->used = ++s->uses;
        s->bytes += size;
    }
    pthread_mutex_unlock(&s->lock);
}

/* ---- on disk ------------------------------------------------------------ */

struct file_head {
    uint64_t code_size, segments;
};

/* The sum, the head, the segments, the code. */
static void write_file(struct store *s, const char *key, const struct typescript_code *c)
{
    struct err e = {0};
    char sum[CRYPTO_SUM_HEX];
    struct file_head head = {c->to.text.n, c->positions.count};
    scoped_buf struct buf all;
    buf_init(&all, s->limits.file_bytes);
    buf_put(&all, &head, sizeof head);
    buf_put(&all, c->positions.row, c->positions.count * sizeof *c->positions.row);
    buf_str(&all, c->to.text);
    if (all.failed)
        return;
    crypto_sum_hex(str_of(key), buf_view(&all), sum);
    scoped_fd int fd = os_open_beneath(
        s->folder, key, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600, &e);
    if (fd < 0 || write(fd, sum, SUM) != (ssize_t)SUM ||
        write(fd, all.at, all.n) != (ssize_t)all.n)
        return; /* what is there now has no sum that fits */
}

/* In order, as they are looked for by halves. */
static bool in_order(const struct segment *row, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (row[i].line < row[i - 1].line ||
            (row[i].line == row[i - 1].line && row[i].column < row[i - 1].column))
            return false;
    return true;
}

static struct typescript_code *parse_file(struct str all, struct str source)
{
    struct err e = {0};
    struct file_head head;
    struct positions p = {0};
    if (all.n < sizeof head)
        return NULL;
    memcpy(&head, all.at, sizeof head);
    size_t left = all.n - sizeof head;
    if (head.segments > left / sizeof *p.row ||
        head.code_size != left - head.segments * sizeof *p.row)
        return NULL;
    size_t n = head.segments * sizeof *p.row;
    p.count = head.segments;
    p.row = malloc(n ? n : 1);
    if (!p.row)
        return NULL;
    memcpy(p.row, all.at + sizeof head, n);
    struct str code = {all.at + sizeof head + n, head.code_size};
    if (in_order(p.row, p.count) && str_is_utf8(code))
        return code_new(source, code, &p, &e);
    positions_done(&p);
    return NULL;
}

static struct typescript_code *read_file(struct store *s, const char *key,
                                         struct str source)
{
    struct err e = {0};
    char sum[CRYPTO_SUM_HEX];
    scoped_buf struct buf all;
    buf_init(&all, s->limits.file_bytes + SUM);
    if (s->folder < 0 || !os_read_file(s->folder, key, &all, NULL, &e) || all.n < SUM)
        return NULL;
    struct str rest = {all.at + SUM, all.n - SUM};
    crypto_sum_hex(str_of(key), rest, sum);
    return memcmp(sum, all.at, SUM) == 0 ? parse_file(rest, source) : NULL;
}

struct old_file {
    char name[STORE_KEY];
    uint64_t size;
    int64_t modified_s;
};

static int order_files(const void *a, const void *b)
{
    const struct old_file *x = a, *y = b;
    return (x->modified_s > y->modified_s) - (x->modified_s < y->modified_s);
}

static size_t list_files(const struct store *s, struct old_file *row, uint64_t *total)
{
    int fd = openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    size_t n = 0;
    struct stat st;
    if (!d) {
        os_close(fd);
        return 0;
    }
    for (struct dirent *x; n < ENTRIES_MAX && (x = readdir(d));) {
        if (strlen(x->d_name) != STORE_KEY - 1 ||
            fstatat(s->folder, x->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        memcpy(row[n].name, x->d_name, STORE_KEY);
        row[n].size = (uint64_t)st.st_size;
        row[n].modified_s = st.st_mtime;
        *total += row[n++].size;
    }
    (void)closedir(d);
    return n;
}

void store_prune(struct store *s)
{
    uint64_t total = 0;
    scoped(free) struct old_file *row = malloc(ENTRIES_MAX * sizeof *row);
    size_t n = row && s->folder >= 0 ? list_files(s, row, &total) : 0;
    if (n)
        qsort(row, n, sizeof *row, order_files);
    bool full = n == ENTRIES_MAX; /* then half of them go, however small they are */
    for (size_t i = 0; i < n && (total > s->limits.disk_bytes || (full && i < n / 2));
         i++) {
        struct err none = {0};
        (void)os_remove_file(s->folder, row[i].name, &none);
        total -= row[i].size;
    }
}

/* ---- both --------------------------------------------------------------- */

const struct typescript_code *store_find(struct store *s, const char *key,
                                         struct str source, bool *on_disk)
{
    const struct typescript_code *found = NULL;
    pthread_mutex_lock(&s->lock);
    struct kept *k = find_kept(s, key);
    if (k) {
        k->used = ++s->uses;
        found = code_share(k->code);
    }
    pthread_mutex_unlock(&s->lock);
    *on_disk = !found;
    if (found)
        return found;
    found = read_file(s, key, source);
    if (found)
        remember(s, key, found);
    return found;
}

void store_keep(struct store *s, const char *key, const struct typescript_code *c)
{
    remember(s, key, c);
    if (s->folder < 0)
        return;
    write_file(s, key, c);
    unsigned char now_and_then;
    os_random(&now_and_then, 1);
    if (now_and_then < 8)
        store_prune(s);
}
