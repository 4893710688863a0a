#include "vm/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"

struct disk {
    struct disk_options o;
    struct disk_copy *under; /* NULL: none */
    uint64_t block_count;
    int own_fd;          /* -1: nothing was written */
    uint8_t *own;        /* a bit a block: in the unnamed file */
    uint8_t *takes_room; /* a bit a block: written by the machine, and no hole */
    uint64_t used;       /* bytes of those */
};

/* ---- bits ----------------------------------------------------------------------- */

static bool has_bit(const uint8_t *bits, uint64_t n)
{
    return bits && (bits[n / 8] >> (n % 8) & 1);
}

static void set_bit(uint8_t *bits, uint64_t n, bool on)
{
    uint8_t mask = (uint8_t)(1 << (n % 8));
    bits[n / 8] = (uint8_t)(on ? bits[n / 8] | mask : bits[n / 8] & ~mask);
}

/* ---- copies ------------------------------------------------------------------------ */

#define LAYERS_MAX 8u /* of a copy; with more, all are copied into one */

/* Blocks of one file that nobody writes to any more: at their own places (`bits`), or one
 * after another (`numbers`). */
struct disk_layer {
    atomic_int users;
    int fd;
    uint8_t *bits;
    uint32_t *numbers; /* ascending */
    size_t count;
    uint64_t at;
};

struct disk_copy {
    atomic_int users;
    uint64_t block_count, used;
    uint8_t *takes_room;
    struct disk_layer *layers[LAYERS_MAX]; /* the newest last */
    size_t count;
};

static void layer_drop(struct disk_layer *l)
{
    if (!l || atomic_fetch_sub(&l->users, 1) > 1)
        return;
    os_close(l->fd);
    free(l->bits);
    free(l->numbers);
    free(l);
}

struct disk_copy *disk_copy_hold(struct disk_copy *c)
{
    atomic_fetch_add(&c->users, 1);
    return c;
}

void disk_copy_drop(struct disk_copy *c)
{
    if (!c || atomic_fetch_sub(&c->users, 1) > 1)
        return;
    for (size_t i = 0; i < c->count; i++)
        layer_drop(c->layers[i]);
    free(c->takes_room);
    free(c);
}

static uint64_t copy_room(const struct disk_copy *c, uint8_t *bits, uint64_t block_count)
{
    must(c->block_count == block_count);
    memcpy(bits, c->takes_room, (size_t)(block_count / 8 + 1));
    return c->used;
}

/* The index of a number in an ascending list; SIZE_MAX: it is not there. */
static size_t number_find(const uint32_t *numbers, size_t count, uint64_t block)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (numbers[middle] == block)
            return middle;
        if (numbers[middle] < block)
            from = middle + 1;
        else
            to = middle;
    }
    return SIZE_MAX;
}

static bool layer_has(const struct disk_layer *l, uint64_t block, uint64_t *at)
{
    size_t k = l->numbers ? number_find(l->numbers, l->count, block) : 0;
    *at = l->numbers ? l->at + (uint64_t)k * DISK_BLOCK : block * DISK_BLOCK;
    return l->numbers ? k != SIZE_MAX : has_bit(l->bits, block);
}

/* The file that has a block of a copy, and its place there; -1: none. */
static int copy_has(const struct disk_copy *c, uint64_t block, uint64_t *at)
{
    for (size_t i = c ? c->count : 0; i > 0; i--)
        if (layer_has(c->layers[i - 1], block, at))
            return c->layers[i - 1]->fd;
    return -1;
}

/* ---- opening -------------------------------------------------------------------- */

struct disk *disk_open(const struct disk_options *o)
{
    must(o->bytes % DISK_BLOCK == 0 && o->bytes <= DISK_MAX);
    struct disk *d = mem_new(sizeof *d);
    d->o = *o;
    d->block_count = o->bytes / DISK_BLOCK;
    d->own_fd = -1;
    if (o->copy) {
        d->under = disk_copy_hold(o->copy);
        d->takes_room = mem_new((size_t)(d->block_count / 8 + 1));
        d->used = copy_room(o->copy, d->takes_room, d->block_count);
    }
    return d;
}

void disk_close(struct disk *d)
{
    if (!d)
        return;
    os_close(d->own_fd);
    disk_copy_drop(d->under);
    free(d->own);
    free(d->takes_room);
    free(d);
}

uint64_t disk_bytes(const struct disk *d)
{
    return d->o.bytes;
}

uint64_t disk_used(const struct disk *d)
{
    return d->used;
}

/* ---- blocks ------------------------------------------------------------------ */

/* The file that has a block, and `at`, its offset there. */
static int file_of(const struct disk *d, uint64_t block, uint64_t *at)
{
    *at = block * DISK_BLOCK;
    if (has_bit(d->own, block))
        return d->own_fd;
    int fd = copy_has(d->under, block, at);
    if (fd >= 0)
        return fd;
    size_t k = number_find(d->o.delta.blocks, d->o.delta.count, block);
    *at = k == SIZE_MAX ? block * DISK_BLOCK : d->o.delta.at + (uint64_t)k * DISK_BLOCK;
    return k == SIZE_MAX ? d->o.base : d->o.delta.fd;
}

/* Zeros beyond the file's end. */
static bool image_read(int fd, uint64_t at, char *to, size_t n)
{
    while (n > 0) {
        ssize_t got = pread(fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0) {
            memset(to, 0, n);
            return true;
        }
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

static bool file_write(int fd, uint64_t at, const char *from, size_t n)
{
    while (n > 0) {
        ssize_t put = pwrite(fd, from, n, (off_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        from += put;
        at += (uint64_t)put;
        n -= (size_t)put;
    }
    return true;
}

static bool is_within(const struct disk *d, uint64_t at, uint64_t n)
{
    return at % DISK_SECTOR == 0 && n % DISK_SECTOR == 0 && at <= d->o.bytes &&
           n <= d->o.bytes - at;
}

/* ---- reading -------------------------------------------------------------------- */

/* Adjacent blocks of one file are read at once. */
bool disk_read(struct disk *d, uint64_t at, void *to, uint64_t n)
{
    if (!is_within(d, at, n))
        return false;
    for (char *out = to; n > 0;) {
        uint64_t block = at / DISK_BLOCK, from, next;
        int fd = file_of(d, block, &from);
        uint64_t within = at % DISK_BLOCK, run = DISK_BLOCK - within;
        while (run < n && file_of(d, ++block, &next) == fd && next == from + within + run)
            run += DISK_BLOCK;
        run = run < n ? run : n;
        if (!image_read(fd, from + within, out, (size_t)run))
            return false;
        out += run;
        at += run;
        n -= run;
    }
    return true;
}

/* ---- writing ---------------------------------------------------------------------- */

static bool begin_own(struct disk *d)
{
    if (d->own_fd >= 0)
        return true;
    if (d->o.folder >= 0)
        d->own_fd = openat(d->o.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (d->own_fd < 0)
        d->own_fd = memfd_create("cloche-disk", MFD_CLOEXEC);
    if (d->own_fd < 0)
        return false;
    d->own = mem_new((size_t)(d->block_count / 8 + 1));
    if (!d->takes_room)
        d->takes_room = mem_new((size_t)(d->block_count / 8 + 1));
    return true;
}

/* Reserves room for a block of the machine's own; false: there is none. */
static bool blocks_reserve(struct disk *d, uint64_t block)
{
    if (has_bit(d->takes_room, block))
        return true;
    if (d->used + DISK_BLOCK > d->o.quota_bytes)
        return false;
    d->used += DISK_BLOCK;
    set_bit(d->takes_room, block, true);
    return true;
}

/* Writes a part of a block; the rest is copied from its layer. */
static bool write_part(struct disk *d, uint64_t at, const char *from, size_t n)
{
    char whole[DISK_BLOCK];
    uint64_t block = at / DISK_BLOCK;
    if (has_bit(d->own, block))
        return blocks_reserve(d, block) && file_write(d->own_fd, at, from, n);
    if (!disk_read(d, block * DISK_BLOCK, whole, DISK_BLOCK) || !blocks_reserve(d, block))
        return false;
    memcpy(whole + at % DISK_BLOCK, from, n);
    if (!file_write(d->own_fd, block * DISK_BLOCK, whole, DISK_BLOCK))
        return false;
    set_bit(d->own, block, true);
    return true;
}

/* Whole blocks: as many as there is room for. */
static bool disk_write_blocks(struct disk *d, uint64_t at, const char *from, uint64_t n)
{
    uint64_t first = at / DISK_BLOCK, count = 0;
    while (count < n / DISK_BLOCK && blocks_reserve(d, first + count))
        count++;
    if (!file_write(d->own_fd, at, from, (size_t)(count * DISK_BLOCK)))
        return false;
    for (uint64_t i = 0; i < count; i++)
        set_bit(d->own, first + i, true);
    return count == n / DISK_BLOCK;
}

bool disk_write(struct disk *d, uint64_t at, const void *bytes, uint64_t n)
{
    if (d->o.read_only || !is_within(d, at, n) || !begin_own(d))
        return false;
    for (const char *from = bytes; n > 0;) {
        uint64_t within = at % DISK_BLOCK, step = n / DISK_BLOCK * DISK_BLOCK;
        bool part = within != 0 || step == 0;
        if (part) {
            step = DISK_BLOCK - within;
            step = step < n ? step : n;
        }
        if (!(part ? write_part(d, at, from, (size_t)step)
                   : disk_write_blocks(d, at, from, step)))
            return false;
        from += step;
        at += step;
        n -= step;
    }
    return true;
}

/* Zeros are written if the file system cannot punch holes. */
static bool zero_blocks(struct disk *d, uint64_t at, uint64_t n)
{
    static const char zeros[DISK_BLOCK];
    bool holes = fallocate(d->own_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                           (off_t)at, (off_t)n) == 0;
    for (uint64_t end = at + n; at < end; at += DISK_BLOCK) {
        uint64_t block = at / DISK_BLOCK;
        if (!holes) {
            if (!disk_write_blocks(d, at, zeros, DISK_BLOCK))
                return false;
            continue;
        }
        if (has_bit(d->takes_room, block))
            d->used -= DISK_BLOCK;
        set_bit(d->takes_room, block, false);
        set_bit(d->own, block, true);
    }
    return true;
}

bool disk_zero(struct disk *d, uint64_t at, uint64_t n)
{
    static const char zeros[DISK_SECTOR];
    if (d->o.read_only || !is_within(d, at, n) || !begin_own(d))
        return false;
    for (; n > 0 && at % DISK_BLOCK != 0; at += DISK_SECTOR, n -= DISK_SECTOR)
        if (!write_part(d, at, zeros, DISK_SECTOR))
            return false;
    uint64_t whole = n / DISK_BLOCK * DISK_BLOCK;
    if (whole && !zero_blocks(d, at, whole))
        return false;
    for (at += whole, n -= whole; n > 0; at += DISK_SECTOR, n -= DISK_SECTOR)
        if (!write_part(d, at, zeros, DISK_SECTOR))
            return false;
    return true;
}

void disk_changed(const struct disk *d, struct buf *blocks)
{
    uint64_t at;
    for (uint64_t n = 0; n < d->block_count; n++) {
        uint32_t number = (uint32_t)n;
        if (has_bit(d->own, n) || copy_has(d->under, n, &at) >= 0 ||
            number_find(d->o.delta.blocks, d->o.delta.count, n) != SIZE_MAX)
            buf_put(blocks, &number, sizeof number);
    }
}

/* ---- copying ------------------------------------------------------------------------ */

static struct disk_copy *copy_new(const struct disk *d)
{
    struct disk_copy *c = mem_new(sizeof *c);
    atomic_init(&c->users, 1);
    c->block_count = d->block_count;
    c->used = d->used;
    c->takes_room = mem_new((size_t)(d->block_count / 8 + 1));
    if (d->takes_room)
        memcpy(c->takes_room, d->takes_room, (size_t)(d->block_count / 8 + 1));
    for (size_t i = 0; d->under && i < d->under->count; i++) {
        c->layers[c->count++] = d->under->layers[i];
        atomic_fetch_add(&d->under->layers[i]->users, 1);
    }
    return c;
}

/* Brings all blocks of the copy below into the disk's own file. */
static bool disk_flatten(struct disk *d)
{
    char block[DISK_BLOCK];
    uint64_t at;
    for (uint64_t n = 0; n < d->block_count; n++) {
        int fd = has_bit(d->own, n) ? -1 : copy_has(d->under, n, &at);
        if (fd < 0)
            continue;
        if (!image_read(fd, at, block, sizeof block) ||
            (has_bit(d->takes_room, n) &&
             !file_write(d->own_fd, n * DISK_BLOCK, block, sizeof block)))
            return false;
        set_bit(d->own, n, true);
    }
    disk_copy_drop(take(d->under));
    return true;
}

struct disk_copy *disk_copy(struct disk *d, struct err *e)
{
    bool many = d->under && d->under->count == LAYERS_MAX;
    if (d->own_fd >= 0 && many && !disk_flatten(d)) {
        err_set(e, ERR_IO, "a machine's disk cannot be copied: %m");
        return NULL;
    }
    struct disk_copy *c = copy_new(d);
    if (d->own_fd < 0)
        return c;
    struct disk_layer *l = mem_new(sizeof *l);
    atomic_init(&l->users, 1);
    l->fd = d->own_fd;
    l->bits = take(d->own);
    d->own_fd = -1;
    c->layers[c->count++] = l;
    disk_copy_drop(d->under);
    d->under = disk_copy_hold(c);
    return c;
}

void disk_copy_blocks(const struct disk_copy *c, struct buf *blocks)
{
    uint64_t at;
    for (uint64_t n = 0; n < c->block_count; n++) {
        uint32_t number = (uint32_t)n;
        if (copy_has(c, n, &at) >= 0)
            buf_put(blocks, &number, sizeof number);
    }
}

bool disk_copy_read(const struct disk_copy *c, uint64_t block, char to[static DISK_BLOCK])
{
    uint64_t at;
    int fd = copy_has(c, block, &at);
    return fd >= 0 && image_read(fd, at, to, DISK_BLOCK);
}

struct disk_copy *disk_copy_of_file(int fd, uint64_t at, const uint32_t *blocks,
                                    size_t count, uint64_t block_count, struct err *e)
{
    struct disk_layer *l = mem_new(sizeof *l);
    struct disk_copy *c = mem_new(sizeof *c);
    atomic_init(&l->users, 1);
    atomic_init(&c->users, 1);
    l->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    l->at = at;
    l->count = count;
    l->numbers = mem_new((count + 1) * sizeof *blocks);
    memcpy(l->numbers, blocks, count * sizeof *blocks);
    c->block_count = block_count;
    c->used = (uint64_t)count * DISK_BLOCK;
    c->takes_room = mem_new((size_t)(block_count / 8 + 1));
    for (size_t i = 0; i < count; i++)
        set_bit(c->takes_room, blocks[i], true);
    c->layers[c->count++] = l;
    if (l->fd >= 0)
        return c;
    disk_copy_drop(c);
    err_set(e, ERR_IO, "cannot hold a machine's disk open: %m");
    return NULL;
}
