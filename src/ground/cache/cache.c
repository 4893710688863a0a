/* The values in memory, and behind them the files (stash.c). */
#include "cache/cache.h"

#include <pthread.h>

#include "cache/stash.h"

struct row {
    unsigned char key[CACHE_KEY];
    size_t key_size;
    struct cached *value;
    uint64_t used; /* a count of uses: the smallest goes first */
};

struct cache {
    struct cache_limits limits;
    struct stash *files;
    pthread_mutex_t lock; /* guards what follows */
    struct row *row;
    size_t count, bytes;
    uint64_t uses;
};

/* ---- values ------------------------------------------------------------- */

void cached_init(struct cached *v, size_t bytes, void (*drop)(struct cached *))
{
    atomic_init(&v->held, 1);
    v->bytes = bytes;
    v->drop = drop;
}

void cached_release(const struct cached *v)
{
    struct cached *ours = (struct cached *)(uintptr_t)v;
    if (!ours || atomic_fetch_sub(&ours->held, 1) != 1)
        return;
    if (ours->drop)
        ours->drop(ours);
    else
        free(ours);
}

static struct cached *cached_hold(const void *value)
{
    struct cached *v = (struct cached *)(uintptr_t)value;
    atomic_fetch_add(&v->held, 1);
    return v;
}

/* ---- in memory ---------------------------------------------------------- */

struct cache *cache_new(const struct cache_limits *limits)
{
    struct cache *c = mem_new(sizeof *c);
    c->limits = *limits;
    c->row = mem_new(limits->entries * sizeof *c->row);
    pthread_mutex_init(&c->lock, NULL);
    if (limits->folder)
        c->files = stash_open(limits->folder, &(struct stash_limits){limits->disk_bytes,
                                                                     limits->file_bytes});
    return c;
}

static void remove_row(struct cache *c, struct row *r)
{
    c->bytes -= r->value->bytes;
    cached_release(r->value);
    *r = c->row[--c->count];
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    while (c->count)
        remove_row(c, c->row);
    stash_close(c->files);
    pthread_mutex_destroy(&c->lock);
    free(c->row);
    free(c);
}

static struct row *find_row(struct cache *c, struct str key)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->row[i].key_size == key.n && !memcmp(c->row[i].key, key.at, key.n))
            return &c->row[i];
    return NULL;
}

static struct row *oldest_row(struct cache *c)
{
    struct row *oldest = c->row;
    for (size_t i = 1; i < c->count; i++)
        if (c->row[i].used < oldest->used)
            oldest = &c->row[i];
    return oldest;
}

void *cache_find(struct cache *c, struct str key)
{
    pthread_mutex_lock(&c->lock);
    struct row *r = find_row(c, key);
    struct cached *v = r ? cached_hold(r->value) : NULL;
    if (r)
        r->used = ++c->uses;
    pthread_mutex_unlock(&c->lock);
    return v;
}

void cache_put(struct cache *c, struct str key, const void *value)
{
    size_t bytes = ((const struct cached *)value)->bytes, most = c->limits.one_bytes;
    must(key.n <= CACHE_KEY);
    if (bytes > c->limits.bytes || (most && bytes > most))
        return;
    pthread_mutex_lock(&c->lock);
    struct row *old = find_row(c, key);
    if (old)
        remove_row(c, old);
    while (c->count == c->limits.entries || c->bytes + bytes > c->limits.bytes)
        remove_row(c, oldest_row(c));
    struct row *r = &c->row[c->count++];
    *r = (struct row){.key_size = key.n, .value = cached_hold(value), .used = ++c->uses};
    memcpy(r->key, key.at, key.n);
    c->bytes += bytes;
    pthread_mutex_unlock(&c->lock);
}

/* ---- on disk ------------------------------------------------------------ */

void *cache_find_file(struct cache *c, const char key[static CACHE_FILE_KEY],
                      cache_read_fn *read, void *arg, bool *on_disk)
{
    void *v = cache_find(c, str_of(key));
    *on_disk = !v;
    if (v)
        return v;
    scoped_buf struct buf bytes = buf_of(c->limits.file_bytes);
    if (c->files && stash_get(c->files, key, &bytes))
        v = read(arg, buf_view(&bytes));
    if (v)
        cache_put(c, str_of(key), v);
    return v;
}

void cache_put_file(struct cache *c, const char key[static CACHE_FILE_KEY],
                    const void *value, struct str bytes)
{
    cache_put(c, str_of(key), value);
    if (c->files && bytes.n)
        stash_put(c->files, key, bytes);
}
