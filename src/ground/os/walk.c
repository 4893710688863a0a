/* Walking a tree, folder by folder, each opened from its parent's handle.
 *
 * Names are read in batches. The files of a large one are looked at by helpers besides, since
 * each look is a call of the system that waits for memory, or for the disk. Helpers only take
 * what is not taken yet: where none gets a processor, nobody waits for it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "os/beneath.h"

#define DEPTH_MAX 64
#define BATCH_NAMES 1024u
#define BATCH_BYTES (BATCH_NAMES * 40u)
#define HELPERS_MAX 3u
#define HELPED_MIN 256u /* names of a batch that are worth a helper */
#define PART 32u        /* names that one takes at a time */
#define HELPER_STACK (256u << 10)

struct found {
    unsigned name; /* where it stands in the batch's names */
    unsigned char type;
    bool there;
    struct os_stat st;
};

/* Some names of one folder. */
struct batch {
    struct batch *next; /* of those that are free */
    int folder;
    bool stats; /* whether the files are looked at */
    unsigned count, bytes;
    atomic_uint taken;
    struct found all[BATCH_NAMES];
    char names[BATCH_BYTES];
};

struct helpers {
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    struct batch *batch; /* to look at; NULL: none */
    unsigned inside;     /* helpers that are looking at it */
    bool quit;
    pthread_t threads[HELPERS_MAX];
    unsigned count;
    bool tried;
};

struct walk {
    os_walk_fn *each;
    void *arg;
    bool only_folders, only_names;
    struct batch *spare;
    struct helpers helpers;
    char name[PATH_MAX];
};

static bool walk_folder(struct walk *w, int fd, size_t length, int depth, struct err *e);

static void closedir_at(DIR **d)
{
    if (*d)
        (void)closedir(*d);
}

/* ---- looking ------------------------------------------------------------- */

static void look_at(const struct batch *b, struct found *f)
{
    struct statx stx;
    f->st = (struct os_stat){.is_dir = f->type == DT_DIR, .is_file = f->type == DT_REG};
    f->there = true;
    if (!b->stats && f->type != DT_UNKNOWN)
        return;
    f->there = statx(b->folder, b->names + f->name, AT_SYMLINK_NOFOLLOW, BENEATH_STATX,
                     &stx) == 0; /* else gone already, or not ours to see */
    if (f->there)
        beneath_stat(&stx, &f->st);
}

static void batch_look(struct batch *b)
{
    for (unsigned i; (i = atomic_fetch_add(&b->taken, PART)) < b->count;)
        for (unsigned k = i; k < b->count && k < i + PART; k++)
            look_at(b, &b->all[k]);
}

static void *helper_run(void *arg)
{
    struct helpers *h = arg;
    pthread_mutex_lock(&h->lock);
    while (!h->quit) {
        struct batch *b = h->batch;
        if (!b) {
            pthread_cond_wait(&h->more, &h->lock);
            continue;
        }
        h->inside++;
        pthread_mutex_unlock(&h->lock);
        batch_look(b);
        pthread_mutex_lock(&h->lock);
        h->inside--;
        h->batch = NULL; /* all is taken */
        pthread_cond_signal(&h->done);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void helpers_start(struct helpers *h)
{
    if (h->tried)
        return;
    h->tried = true;
    unsigned processors = beneath_processors();
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->more, NULL);
    pthread_cond_init(&h->done, NULL);
    while (h->count < HELPERS_MAX && h->count + 1 < processors &&
           os_thread_start(&h->threads[h->count], "walk", HELPER_STACK, helper_run, h))
        h->count++;
}

static void helpers_stop(struct helpers *h)
{
    if (!h->tried)
        return;
    pthread_mutex_lock(&h->lock);
    h->quit = true;
    pthread_cond_broadcast(&h->more);
    pthread_mutex_unlock(&h->lock);
    for (unsigned i = 0; i < h->count; i++)
        pthread_join(h->threads[i], NULL);
    pthread_cond_destroy(&h->more);
    pthread_cond_destroy(&h->done);
    (void)pthread_mutex_destroy(&h->lock);
}

static void walk_look(struct walk *w, struct batch *b)
{
    struct helpers *h = &w->helpers;
    if (b->stats && b->count >= HELPED_MIN)
        helpers_start(h);
    if (!b->stats || b->count < HELPED_MIN || !h->count) {
        batch_look(b);
        return;
    }
    pthread_mutex_lock(&h->lock);
    h->batch = b;
    pthread_cond_broadcast(&h->more);
    pthread_mutex_unlock(&h->lock);
    batch_look(b);
    pthread_mutex_lock(&h->lock);
    h->batch = NULL;
    while (h->inside)
        pthread_cond_wait(&h->done, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

/* ---- batches ------------------------------------------------------------- */

static struct batch *batch_take(struct walk *w, int folder)
{
    struct batch *b = w->spare;
    if (b)
        w->spare = b->next;
    else
        b = malloc(sizeof *b); /* 120 KB, of which small folders touch a page or two */
    must(b);
    b->folder = folder;
    b->stats = !w->only_folders && !w->only_names;
    return b;
}

static void batch_give_back(struct walk *w, struct batch *b)
{
    b->next = w->spare;
    w->spare = b;
}

static bool is_wanted(const struct walk *w, const struct dirent *d, size_t n,
                      size_t length)
{
    bool maybe = d->d_type == DT_DIR || d->d_type == DT_UNKNOWN ||
                 (d->d_type == DT_REG && !w->only_folders);
    return d->d_name[0] != '.' && maybe && length + 1 + n < sizeof w->name;
}

/* Reads names until the batch is full. *more: there are others. */
static bool batch_fill(struct walk *w, struct batch *b, DIR *dir, size_t length,
                       bool *more, struct err *e)
{
    b->count = b->bytes = 0;
    atomic_store(&b->taken, 0);
    for (*more = true; b->count < BATCH_NAMES && b->bytes + NAME_MAX < BATCH_BYTES;) {
        errno = 0;
        const struct dirent *d = readdir(dir);
        if (!d) {
            *more = false;
            return errno == 0 || beneath_failed(e, "read the folder", w->name);
        }
        size_t n = strlen(d->d_name);
        if (!is_wanted(w, d, n, length))
            continue;
        struct found *f = &b->all[b->count++];
        f->name = b->bytes;
        f->type = d->d_type;
        memcpy(b->names + b->bytes, d->d_name, n + 1);
        b->bytes += (unsigned)n + 1;
    }
    return true;
}

static bool walk_found(struct walk *w, const struct batch *b, const struct found *f,
                       size_t length, int depth, struct err *e)
{
    if (!f->there || (!f->st.is_dir && (!f->st.is_file || w->only_folders)))
        return true;
    const char *name = b->names + f->name;
    size_t n = strlen(name), start = length ? length + 1 : 0;
    if (length)
        w->name[length] = '/';
    memcpy(w->name + start, name, n + 1);
    bool ok = w->each(w->arg, w->name, &f->st, e);
    if (ok && f->st.is_dir && depth < DEPTH_MAX && !w->only_names) {
        int fd = openat(b->folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            ok = walk_folder(w, fd, start + n, depth + 1, e);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            ok = beneath_failed(e, "open the folder", w->name);
    }
    w->name[length] = '\0';
    return ok;
}

/* Takes over `fd`. `length` is that of the folder's own name in w->name. */
static bool walk_folder(struct walk *w, int fd, size_t length, int depth, struct err *e)
{
    __attribute__((cleanup(closedir_at))) DIR *dir = fdopendir(fd);
    if (!dir) {
        os_close(fd);
        return beneath_failed(e, "read the folder", w->name);
    }
    struct batch *b = batch_take(w, fd);
    bool ok = true;
    for (bool more = true; ok && more;) {
        /* Names that were read before a failure are told as well. */
        bool whole = batch_fill(w, b, dir, length, &more, e);
        walk_look(w, b);
        for (unsigned i = 0; ok && i < b->count; i++)
            ok = walk_found(w, b, &b->all[i], length, depth, e);
        ok = ok && whole;
    }
    batch_give_back(w, b);
    return ok;
}

static void walk_free(struct walk *w)
{
    helpers_stop(&w->helpers);
    for (struct batch *b = w->spare, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(w);
}

/* ---- the doors ----------------------------------------------------------- */

static bool walk_from(int dir, const char *name, const struct walk *how, struct err *e)
{
    int fd = os_open_beneath(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, e);
    if (fd < 0)
        return false;
    struct walk *w = mem_new(sizeof *w);
    *w = *how;
    size_t length = 0;
    int depth = 0;
    if (strcmp(name, ".") != 0) {
        length = strlen(name);
        memcpy(w->name, name, length + 1);
        for (const char *c = name; *c; c++)
            depth += *c == '/';
        depth++;
    }
    bool ok =
        depth > DEPTH_MAX ? (os_close(fd), true) : walk_folder(w, fd, length, depth, e);
    walk_free(w);
    return ok;
}

bool os_walk_from(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e)
{
    return walk_from(dir, name, &(struct walk){.each = each, .arg = arg}, e);
}

bool os_walk_folders(int dir, const char *name, os_walk_fn *each, void *arg,
                     struct err *e)
{
    struct walk how = {.each = each, .arg = arg, .only_folders = true};
    return walk_from(dir, name, &how, e);
}

bool os_list(int dir, const char *name, os_walk_fn *each, void *arg, struct err *e)
{
    struct walk how = {.each = each, .arg = arg, .only_names = true};
    return walk_from(dir, name, &how, e);
}

bool os_walk(int dir, os_walk_fn *each, void *arg, struct err *e)
{
    return os_walk_from(dir, ".", each, arg, e);
}
