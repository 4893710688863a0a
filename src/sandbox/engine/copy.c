/* Copies of the memory of a world whose image is a file, for machines that are copied while
 * they run.
 *
 * Large parts of such a memory that the image leaves empty are mapped shared from a file of
 * the slot's own, in memory. A copy takes that file over: from then on both the world and
 * the copy's worlds map it privately, and none of its pages is copied. Only what was written
 * elsewhere, over the image or over an earlier copy, is written to the file. A copy is
 * a list of runs of pages in such files, or in a file on the disk.
 */
#include "engine/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

#define HOLE_MIN ((size_t)256 << 10) /* of an empty part that gets the slot's own file */
#define SHARED_MAX 1024u             /* of those; the system allows 65,530 mappings */
#define RUN_MIN ((size_t)64 << 10)   /* a shorter run is copied, not mapped */
#define RUNS_MAPPED_MAX 512u
#define FREEZE_MIN ((size_t)4 << 20) /* with less in its own file the world keeps that */
#define ADOPT_MIN ((size_t)16 << 20) /* with more written elsewhere it maps the copy */
#define FILES_MAX 4u                 /* of a copy; with more, all is copied into one */

/* ---- files and runs ------------------------------------------------------------- */

static struct copy_file *copy_file_of(int fd)
{
    struct copy_file *f = mem_new(sizeof *f);
    atomic_init(&f->users, 1);
    f->fd = fd;
    return f;
}

static struct copy_file *copy_file_new(size_t bytes)
{
    int fd = memfd_create("cloche-memory", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0) {
        struct copy_file *f = copy_file_of(fd);
        f->in_memory = true;
        return f;
    }
    os_close(fd);
    return NULL;
}

static struct copy_file *copy_file_hold(struct copy_file *f)
{
    atomic_fetch_add(&f->users, 1);
    return f;
}

static void copy_file_drop(struct copy_file *f)
{
    if (!f || atomic_fetch_sub(&f->users, 1) > 1)
        return;
    os_close(f->fd);
    free(f);
}

/* A list that grows. */
struct runs {
    struct copy_run *at;
    size_t n, room;
};

static void runs_add(struct runs *l, struct copy_run r)
{
    struct copy_run *last = l->n ? &l->at[l->n - 1] : NULL;
    if (r.from >= r.to)
        return;
    if (last && last->to == r.from && last->file == r.file &&
        last->at + (off_t)(last->to - last->from) == r.at) {
        last->to = r.to;
        return;
    }
    struct err none = {0};
    must(array_fit(l->at, l->room, l->n, &none)); /* one a page at most */
    l->at[l->n++] = r;
}

/* The part of a run from byte `from` on, up to `to`. */
static struct copy_run run_part(const struct copy_run *r, size_t from, size_t to)
{
    return (struct copy_run){from, to, r->file, r->at + (off_t)(from - r->from)};
}

/* `over` lies over `under`; both ascend. */
static struct runs runs_join(const struct copy_run *under, size_t under_n,
                             const struct copy_run *over, size_t over_n)
{
    struct runs all = {0};
    size_t i = 0;
    for (size_t k = 0, at = 0; k <= over_n; k++) {
        size_t stop = k < over_n ? over[k].from : SIZE_MAX;
        for (; i < under_n && under[i].from < stop; i++) {
            size_t from = under[i].from > at ? under[i].from : at;
            size_t to = under[i].to < stop ? under[i].to : stop;
            if (from < to)
                runs_add(&all, run_part(&under[i], from, to));
            if (under[i].to > stop)
                break;
        }
        if (k == over_n)
            break;
        runs_add(&all, over[k]);
        at = over[k].to;
        while (i < under_n && under[i].to <= at)
            i++;
    }
    return all;
}

/* Takes the list over. */
static struct memory_copy *copy_of_runs(struct runs *l, size_t bytes)
{
    struct memory_copy *c = mem_new(sizeof *c);
    atomic_init(&c->users, 1);
    c->bytes = bytes;
    c->runs = l->at;
    c->count = l->n;
    c->shown = mem_new((l->n + 1) * sizeof *c->shown);
    for (size_t i = 0; i < l->n; i++) {
        const struct copy_run *r = &c->runs[i];
        (void)copy_file_hold(r->file);
        c->shown[i] =
            (struct memory_run){r->from, r->to - r->from, r->file->fd, (uint64_t)r->at};
    }
    *l = (struct runs){0};
    return c;
}

struct memory_copy *memory_copy_hold(struct memory_copy *c)
{
    atomic_fetch_add(&c->users, 1);
    return c;
}

void memory_copy_drop(struct memory_copy *c)
{
    if (!c || atomic_fetch_sub(&c->users, 1) > 1)
        return;
    for (size_t i = 0; i < c->count; i++)
        copy_file_drop(c->runs[i].file);
    free(c->runs);
    free(c->shown);
    free(c);
}

uint64_t memory_copy_bytes(const struct memory_copy *c)
{
    return c->bytes;
}

const struct memory_run *memory_copy_runs(const struct memory_copy *c, size_t *count)
{
    *count = c->count;
    return c->shown;
}

struct memory_copy *memory_copy_of_file(int fd, const struct memory_run *runs, size_t n,
                                        uint64_t bytes, struct err *e)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) {
        err_set(e, ERR_IO, "cannot hold a copy of memory open: %m");
        return NULL;
    }
    struct copy_file *f = copy_file_of(own);
    struct runs l = {0};
    for (size_t i = 0; i < n; i++)
        runs_add(&l, (struct copy_run){(size_t)runs[i].at,
                                       (size_t)(runs[i].at + runs[i].bytes), f,
                                       (off_t)runs[i].file_at});
    struct memory_copy *c = copy_of_runs(&l, (size_t)bytes);
    copy_file_drop(f);
    return c;
}

/* ---- what a slot shows ----------------------------------------------------------- */

static bool map_file(const struct slot *s, size_t from, size_t to, int kind, int fd,
                     off_t at)
{
    return mmap(s->base + from, to - from, PROT_READ | PROT_WRITE,
                kind | MAP_FIXED | MAP_NORESERVE, fd, at) != MAP_FAILED;
}

/* Runs shorter than that are copied. */
static size_t shortest_mapped(const struct memory_copy *c)
{
    size_t least = RUN_MIN;
    for (;; least *= 2) {
        size_t n = 0;
        for (size_t i = 0; i < c->count; i++)
            n += c->runs[i].to - c->runs[i].from >= least;
        if (n <= RUNS_MAPPED_MAX)
            return least;
    }
}

static bool read_run(void *to, const struct copy_run *r)
{
    for (size_t at = 0, n = r->to - r->from; at < n;) {
        ssize_t got = pread(r->file->fd, (char *)to + at, n - at, r->at + (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += (size_t)got;
    }
    return true;
}

static bool write_run(const struct copy_file *f, const uint8_t *base, size_t from,
                      size_t to)
{
    while (from < to) {
        ssize_t put = pwrite(f->fd, base + from, to - from, (off_t)from);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        from += (size_t)put;
    }
    return true;
}

static bool lay_runs(struct slot *s, bool mapped)
{
    const struct memory_copy *c = s->shows;
    size_t least = c ? shortest_mapped(c) : 0;
    for (size_t i = 0; c && i < c->count; i++) {
        const struct copy_run *r = &c->runs[i];
        if ((r->to - r->from >= least) != mapped || r->to > s->size)
            continue;
        if (mapped ? !map_file(s, r->from, r->to, MAP_PRIVATE, r->file->fd, r->at)
                   : !read_run(s->base + r->from, r))
            return false;
    }
    return true;
}

/* Maps a part of the slot's own file, which is made when first needed. Where the system
 * has none, anonymous memory does. */
static bool share(struct slot *s, size_t from, size_t to)
{
    if (to - from < HOLE_MIN || s->shared_count == SHARED_MAX)
        return true;
    if (!s->own && !(s->own = copy_file_new(s->image->size)))
        return true;
    if (!s->shared)
        s->shared = mem_new(SHARED_MAX * sizeof *s->shared);
    if (!map_file(s, from, to, MAP_SHARED, s->own->fd, (off_t)from))
        return false;
    s->shared[s->shared_count++] = (struct stretch){from, to};
    return true;
}

/* Of all parts that neither the image nor the copy has. */
static bool share_holes(struct slot *s)
{
    const struct image *m = s->image;
    const struct memory_copy *c = s->shows;
    size_t i = 0, k = 0, count = c ? c->count : 0;
    for (size_t at = 0; at < m->size;) {
        size_t image_at = i < m->stretch_count ? m->stretches[i].from : SIZE_MAX;
        size_t run_at = k < count ? c->runs[k].from : SIZE_MAX;
        size_t stop = image_at < run_at ? image_at : run_at;
        size_t end = stop < m->size ? stop : m->size;
        if (end > at && !share(s, at, end))
            return false;
        if (stop >= m->size)
            return true;
        size_t next = image_at <= run_at ? m->stretches[i++].to : c->runs[k++].to;
        at = next > at ? next : at;
    }
    return true;
}

/* Calls `each` once for each file of the copy. */
static void copy_each_file(const struct memory_copy *c,
                           void (*each)(void *arg, struct copy_file *f), void *arg)
{
    struct copy_file *known[2 * FILES_MAX]; /* of a few, as copy_into() sees to */
    size_t n = 0;
    for (size_t i = 0; c && i < c->count; i++) {
        size_t k = 0;
        while (k < n && known[k] != c->runs[i].file)
            k++;
        if (k < n || n == LENGTH(known))
            continue;
        known[n++] = c->runs[i].file;
        each(arg, c->runs[i].file);
    }
}

static void count_slot(void *change, struct copy_file *f)
{
    atomic_fetch_add(&f->slots, *(const int *)change);
}

/* Takes the copy over, which may be NULL. */
static void slot_show(struct slot *s, struct memory_copy *c)
{
    int one = 1, less = -1;
    copy_each_file(c, count_slot, &one);
    copy_each_file(s->shows, count_slot, &less);
    memory_copy_drop(s->shows);
    s->shows = c;
}

bool slot_lay(struct slot *s)
{
    s->shared_count = 0;
    copy_file_drop(take(s->own));
    return lay_runs(s, true) && share_holes(s) && lay_runs(s, false);
}

void slot_bare(struct slot *s)
{
    slot_show(s, NULL);
    copy_file_drop(s->own);
    free(s->shared);
}

void slot_discard(struct slot *s, size_t from, size_t to)
{
    (void)madvise(s->base + from, to - from, MADV_DONTNEED);
    for (size_t i = 0; i < s->shared_count; i++) {
        size_t first = s->shared[i].from > from ? s->shared[i].from : from;
        size_t end = s->shared[i].to < to ? s->shared[i].to : to;
        if (first < end)
            (void)madvise(s->base + first, end - first, MADV_REMOVE);
    }
}

static uint64_t file_bytes(const struct copy_file *f)
{
    struct stat st;
    return f->in_memory && fstat(f->fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

static void add_share(void *sum, struct copy_file *f)
{
    int slots = atomic_load(&f->slots);
    *(uint64_t *)sum += file_bytes(f) / (uint64_t)(slots > 0 ? slots : 1);
}

uint64_t slot_file_bytes(const struct slot *s)
{
    uint64_t sum = s->own ? file_bytes(s->own) : 0;
    copy_each_file(s->shows, add_share, &sum);
    return sum;
}

/* ---- copying ------------------------------------------------------------------------ */

struct copying {
    struct slot *slot; /* NULL: the memory is wasmtime's */
    const uint8_t *base;
    size_t bytes;
    struct runs private, shared; /* what was written; without a file yet */
    size_t private_bytes, shared_bytes;
    bool flat; /* all of it went into one new file */
};

static void note_private(void *arg, size_t from, size_t to)
{
    struct copying *c = arg;
    runs_add(&c->private, (struct copy_run){from, to, NULL, (off_t)from});
    c->private_bytes += to - from;
}

/* Parts of the own file that hold something. */
static void find_shared(struct copying *c)
{
    const struct slot *s = c->slot;
    for (size_t i = 0; i < s->shared_count; i++) {
        off_t end = (off_t)s->shared[i].to;
        for (off_t at = (off_t)s->shared[i].from; at < end;) {
            off_t from = lseek(s->own->fd, at, SEEK_DATA);
            off_t to = from < 0 ? -1 : lseek(s->own->fd, from, SEEK_HOLE);
            if (from < 0 || from >= end)
                break;
            to = to < 0 || to > end ? end : to;
            runs_add(&c->shared, (struct copy_run){(size_t)from, (size_t)to, NULL, from});
            c->shared_bytes += (size_t)(to - from);
            at = to;
        }
    }
}

static bool write_runs(const struct copying *c, const struct runs *l,
                       const struct copy_file *to)
{
    for (size_t i = 0; i < l->n; i++)
        if (!write_run(to, c->base, l->at[i].from, l->at[i].to))
            return false;
    return true;
}

static void runs_name(struct runs *l, struct copy_file *f)
{
    for (size_t i = 0; i < l->n; i++)
        l->at[i].file = f;
}

static unsigned runs_files(const struct runs *l)
{
    const struct copy_file *known[FILES_MAX + 1];
    unsigned n = 0;
    for (size_t i = 0; i < l->n && n <= FILES_MAX; i++) {
        unsigned k = 0;
        while (k < n && known[k] != l->at[i].file)
            k++;
        if (k == n)
            known[n++] = l->at[i].file;
    }
    return n;
}

/* All of it in one new file. */
static struct copy_file *flatten(struct copying *c, struct runs *l)
{
    struct copy_file *f = copy_file_new(c->slot->size);
    if (!f || !write_runs(c, l, f)) {
        copy_file_drop(f);
        return NULL;
    }
    for (size_t i = 0; i < l->n; i++) {
        l->at[i].file = f;
        l->at[i].at = (off_t)l->at[i].from;
    }
    c->flat = true;
    return f;
}

/* The world goes on over a private mapping of what it wrote to its own file, which is the
 * copy's now, and has a new one for what is still empty. */
static bool go_on_private(struct copying *c)
{
    struct slot *s = c->slot;
    struct copy_file *frozen = take(s->own);
    struct stretch *was = take(s->shared);
    size_t count = s->shared_count, k = 0;
    bool ok = true;
    struct runs shows =
        s->shows ? runs_join(s->shows->runs, s->shows->count, c->shared.at, c->shared.n)
                 : runs_join(NULL, 0, c->shared.at, c->shared.n);
    s->shared_count = 0;
    for (size_t i = 0; i < count && ok; i++) {
        size_t at = was[i].from;
        ok = map_file(s, at, was[i].to, MAP_PRIVATE, frozen->fd, (off_t)at);
        for (; ok && k < c->shared.n && c->shared.at[k].from < was[i].to; k++) {
            ok = share(s, at, c->shared.at[k].from);
            at = c->shared.at[k].to;
        }
        ok = ok && share(s, at, was[i].to);
    }
    slot_show(s, copy_of_runs(&shows, s->size));
    copy_file_drop(frozen);
    free(was);
    return ok;
}

static bool adopt(struct slot *s, struct memory_copy *copy)
{
    slot_show(s, memory_copy_hold(copy));
    return slot_remap(s);
}

/* `f` gets what was written since the image or the copy below. */
static struct memory_copy *copy_into(struct copying *c, struct copy_file *f,
                                     struct err *e)
{
    bool own = c->slot && f == c->slot->own;
    const struct memory_copy *below = c->slot ? c->slot->shows : NULL;
    bool ok = write_runs(c, &c->private, f) && (own || write_runs(c, &c->shared, f));
    runs_name(&c->private, f);
    runs_name(&c->shared, f);
    struct runs mine = runs_join(c->shared.at, c->shared.n, c->private.at, c->private.n);
    struct runs all =
        runs_join(below ? below->runs : NULL, below ? below->count : 0, mine.at, mine.n);
    free(mine.at);
    bool many = ok && runs_files(&all) > FILES_MAX;
    struct copy_file *flat = many ? flatten(c, &all) : NULL;
    struct memory_copy *copy =
        ok && (flat || !many) ? copy_of_runs(&all, c->bytes) : NULL;
    free(all.at);
    copy_file_drop(flat);
    if (!copy)
        err_set(e, ERR_BUSY, "there is no memory for a copy of a machine: %m");
    return copy;
}

/* Afterwards the world has what the copy has, but not as pages of its own. */
static bool settle(struct copying *c, struct memory_copy *copy, bool frozen)
{
    if (c->private_bytes > ADOPT_MIN || c->flat)
        return adopt(c->slot, copy);
    return !frozen || go_on_private(c);
}

struct memory_copy *world_copy(struct world *w, struct err *e)
{
    struct str all = world_memory(w);
    struct copying c = {.slot = w->slot, .base = (const uint8_t *)all.at, .bytes = all.n};
    must(w->module->image && image_is_file(w->module->image));
    if (atomic_load(&w->verdict) != ERR_NONE) {
        err_set(e, ERR_CANCELLED, "a world that was stopped is not copied");
        return NULL;
    }
    if (w->slot)
        slot_written(w->slot, note_private, &c);
    else
        note_private(&c, 0, all.n / PAGE * PAGE);
    if (w->slot)
        find_shared(&c);
    bool freeze = w->slot && c.shared_bytes >= FREEZE_MIN;
    struct copy_file *f = freeze ? copy_file_hold(w->slot->own) : copy_file_new(all.n);
    struct memory_copy *copy = f ? copy_into(&c, f, e) : NULL;
    if (!f)
        err_set(e, ERR_BUSY, "there is no memory for a copy of a machine: %m");
    if (copy && w->slot && !settle(&c, copy, freeze)) {
        atomic_store(&w->verdict, ERR_IO);
        w->slot->spoilt = true;
        memory_copy_drop(take(copy));
        err_set(e, ERR_BUSY, "the system has no more memory for a machine: %m");
    }
    copy_file_drop(f);
    free(c.private.at);
    free(c.shared.at);
    return copy;
}

/* ---- showing ------------------------------------------------------------------------- */

static bool read_all(struct world *w, const struct memory_copy *c)
{
    struct str all = world_memory(w);
    for (size_t i = 0; i < c->count; i++)
        if (c->runs[i].to > all.n ||
            !read_run((char *)(uintptr_t)all.at + c->runs[i].from, &c->runs[i]))
            return false;
    return true;
}

bool world_show(struct world *w, struct memory_copy *c, struct err *e)
{
    must(w->module->image && image_is_file(w->module->image));
    bool ok = c->bytes <= world_memory(w).n;
    if (ok && w->slot) {
        must(!w->slot->shows);
        slot_show(w->slot, memory_copy_hold(c));
        ok = slot_remap(w->slot); /* it shows the image alone until now */
    } else if (ok) {
        ok = read_all(w, c);
    }
    return ok ||
           err_set(e, ERR_BUSY, "a copy of a machine's memory cannot be mapped: %m");
}
