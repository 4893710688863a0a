/* vm/disk.h - a machine's disks: a file that all share and nobody writes, and over it the
 * blocks that this machine has written.
 *
 * Those lie in a nameless file of the same size, which is gone with the machine and takes
 * as much room as was written; a quota bounds that. An image that was baked brings blocks
 * of its own, between the two.
 *
 * Private to the room vm. Threads: one at a time.
 */
#pragma once
#include "base/base.h"

#define DISK_SECTOR 512u
#define DISK_BLOCK 4096u
#define DISK_MAX ((uint64_t)64 << 30)

/* Blocks that came with an image: of one disk, by number, ascending. */
struct disk_delta {
    int fd;                 /* borrowed */
    uint64_t at;            /* where the first block lies in it; the others follow */
    const uint32_t *blocks; /* borrowed */
    size_t count;
};

struct disk_options {
    int base;       /* open file of whole blocks, which stays open; holes are zeros */
    uint64_t bytes; /* of the disk, whole blocks: behind the base's end it holds zeros */
    bool read_only;
    uint64_t quota_bytes; /* that may be written */
    int folder;           /* for the nameless file; -1: in memory */
    struct disk_delta delta;
};

struct disk;
struct disk *disk_open(const struct disk_options *o);
void disk_close(struct disk *d); /* NULL is fine */
SCOPED(disk, disk_close);
uint64_t disk_bytes(const struct disk *d);

/* Whole sectors within the disk; else, and where the system fails, false. */
bool disk_read(struct disk *d, uint64_t at, void *to, uint64_t n);
/* false, too, when it would take more room than the quota, or the system has. */
bool disk_write(struct disk *d, uint64_t at, const void *from, uint64_t n);
/* They read as zeros from now on, and whole blocks take no room. */
bool disk_zero(struct disk *d, uint64_t at, uint64_t n);

uint64_t disk_used(const struct disk *d); /* bytes of room that what was written takes */
/* Appends the numbers of all blocks that differ from the base, ascending. */
void disk_changed(const struct disk *d, struct buf *blocks);
