/* Texts beside a trail: code that the policy keeps, each once, under its hash. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/trail.h"
#include "crypto/crypto.h"
#include "os/os.h"

void trail_keep_most(struct trail *t, uint64_t bytes)
{
    atomic_store_explicit(&t->keep_most, bytes, memory_order_relaxed);
}

struct kept_texts {
    uint64_t bytes;
    size_t count;
    struct kept_file {
        char name[80];
        int64_t modified_ns;
        uint64_t size;
    } *at;
    size_t room;
};

static bool add_text(void *arg, const char *name, const struct os_stat *st, struct err *e)
{
    struct kept_texts *k = arg;
    (void)e;
    if (!st->is_file || strlen(name) >= sizeof k->at->name)
        return true;
    k->bytes += st->size;
    if (k->count == k->room) {
        size_t room = k->room ? 2 * k->room : 256;
        struct kept_file *more = reallocarray(k->at, room, sizeof *more);
        if (!more)
            return true;
        k->at = more;
        k->room = room;
    }
    struct kept_file *f = &k->at[k->count++];
    f->modified_ns = st->mtime_ns;
    f->size = st->size;
    (void)snprintf(f->name, sizeof f->name, "%s", name);
    return true;
}

static int by_age(const void *a, const void *b)
{
    const struct kept_file *x = a, *y = b;
    return (x->modified_ns > y->modified_ns) - (x->modified_ns < y->modified_ns);
}

/* Counts what is there, and takes the oldest away down to nine tenths of what may be. */
static void thin_out(struct trail *t, int dir)
{
    struct err none = {0};
    struct kept_texts k = {0};
    uint64_t most = atomic_load(&t->keep_most);
    scoped_fd int code =
        os_open_beneath(dir, "code", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &none);
    if (code >= 0 && os_walk(code, add_text, &k, &none) && k.bytes > most) {
        qsort(k.at, k.count, sizeof *k.at, by_age);
        for (size_t i = 0; i < k.count && k.bytes > most / 10 * 9; i++)
            if (unlinkat(code, k.at[i].name, 0) == 0)
                k.bytes -= k.at[i].size;
    }
    atomic_store(&t->kept_bytes, k.bytes + 1);
    free(k.at);
}

static bool is_hex(const char *s)
{
    return strlen(s) == CRYPTO_SHA256_HEX - 1 && str_is_hex(str_of(s));
}

bool trail_keep(struct trail *t, const char *sha256, struct str text, struct err *e)
{
    char name[80];
    struct err taken = {0};
    must(is_hex(sha256));
    (void)snprintf(name, sizeof name, "code/%s.txt", sha256);
    pthread_mutex_lock(&t->lock);
    scoped_fd int dir = trail_begin(t, e) ? fcntl(t->chain.dir, F_DUPFD_CLOEXEC, 0) : -1;
    pthread_mutex_unlock(&t->lock);
    if (dir < 0 || !os_make_dirs(dir, "code", e))
        return false;
    bool fresh = os_write_file(dir, name, text, OS_CREATE, 0600, NULL, &taken);
    /* Counted anew at first, and when by our own count there is too much. */
    uint64_t before = atomic_fetch_add(&t->kept_bytes, fresh ? text.n : 0);
    if (fresh && (!before || before + text.n > atomic_load(&t->keep_most)))
        thin_out(t, dir);
    return fresh || taken.code == ERR_CONFLICT || err_set(e, taken.code, "%s", taken.msg);
}

/* ---- texts ---- */

struct kept_text {
    const char *name;
    struct buf *out;
    bool found;
};

static bool find_kept(void *arg, struct chain *c, bool aside, struct err *e)
{
    struct kept_text *k = arg;
    struct err why = {0};
    (void)aside;
    (void)e;
    k->found =
        k->found || (c->dir >= 0 && os_read_file(c->dir, k->name, k->out, NULL, &why));
    return true;
}

bool trail_kept(struct trail *t, const char *sha256, struct buf *out, struct err *e)
{
    char name[80];
    struct kept_text k = {.name = name, .out = out};
    (void)snprintf(name, sizeof name, "code/%.64s.txt", sha256);
    if (!is_hex(sha256))
        return err_set(e, ERR_INVALID, "'%.80s' is not a SHA-256", sha256);
    return trail_visit(t, &(struct lane_visit){.each = find_kept, .arg = &k}, e) &&
           (k.found || err_set(e, ERR_NOT_FOUND, "this code was not kept"));
}
