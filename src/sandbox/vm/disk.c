#include "vm/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/os.h"

struct disk {
    struct disk_options o;
    uint64_t block_count;
    int own_fd;          /* -1: nothing was written */
    uint8_t *own;        /* a bit a block: in the unnamed file */
    uint8_t *takes_room; /* and not a hole there */
    uint64_t used;       /* bytes */
};

struct disk *disk_open(const struct disk_options *o)
{
    must(o->bytes % DISK_BLOCK == 0 && o->bytes <= DISK_MAX);
    struct disk *d = mem_new(sizeof *d);
    d->o = *o;
    d->block_count = o->bytes / DISK_BLOCK;
    d->own_fd = -1;
    return d;
}

void disk_close(struct disk *d)
{
    if (!d)
        return;
    os_close(d->own_fd);
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

static bool has_bit(const uint8_t *bits, uint64_t n)
{
    return bits && (bits[n / 8] >> (n % 8) & 1);
}

static void set_bit(uint8_t *bits, uint64_t n, bool on)
{
    uint8_t mask = (uint8_t)(1 << (n % 8));
    bits[n / 8] = (uint8_t)(on ? bits[n / 8] | mask : bits[n / 8] & ~mask);
}

/* The index of the block in the image's delta; SIZE_MAX: none. */
static size_t in_delta(const struct disk *d, uint64_t block)
{
    size_t from = 0, to = d->o.delta.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (d->o.delta.blocks[middle] == block)
            return middle;
        if (d->o.delta.blocks[middle] < block)
            from = middle + 1;
        else
            to = middle;
    }
    return SIZE_MAX;
}

enum layer { OWN, DELTA, BASE };

/* The layer that has a block, and `at`, its offset in that file. */
static enum layer layer_of(const struct disk *d, uint64_t block, uint64_t *at)
{
    *at = block * DISK_BLOCK;
    if (has_bit(d->own, block))
        return OWN;
    size_t k = in_delta(d, block);
    if (k == SIZE_MAX)
        return BASE;
    *at = d->o.delta.at + (uint64_t)k * DISK_BLOCK;
    return DELTA;
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
    int fds[] = {[OWN] = d->own_fd, [DELTA] = d->o.delta.fd, [BASE] = d->o.base};
    for (char *out = to; n > 0;) {
        uint64_t block = at / DISK_BLOCK, from, next;
        enum layer l = layer_of(d, block, &from);
        uint64_t within = at % DISK_BLOCK, run = DISK_BLOCK - within;
        while (run < n && layer_of(d, ++block, &next) == l && next == from + within + run)
            run += DISK_BLOCK;
        run = run < n ? run : n;
        if (!image_read(fds[l], from + within, out, (size_t)run))
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
    for (uint64_t n = 0; n < d->block_count; n++) {
        uint32_t number = (uint32_t)n;
        if (has_bit(d->own, n) || in_delta(d, n) != SIZE_MAX)
            buf_put(blocks, &number, sizeof number);
    }
}
