/* vm/disk.h - a machine's disks: a read-only file that all share, and over it the blocks
 * that this machine has written.
 *
 * Written blocks go to an unnamed sparse file of the disk's size, which is freed with the
 * machine; a quota bounds it. A baked image brings blocks of its own, between the two.
 *
 * Private to the room vm. Threads: one at a time. */
#pragma once
#include "base/base.h"

#define DISK_SECTOR 512u
#define DISK_BLOCK 4096u
#define DISK_MAX ((uint64_t)64 << 30)

/* Blocks of an image, of one disk; numbers ascend. */
struct disk_delta {
    int fd;                 /* borrowed */
    uint64_t at;            /* offset of the first block; the others follow */
    const uint32_t *blocks; /* borrowed */
    size_t count;
};

struct disk_options {
    int base;       /* open file of whole blocks, not closed here; holes are zeros */
    uint64_t bytes; /* of the disk, whole blocks; zeros beyond the base's end */
    bool read_only;
    uint64_t quota_bytes; /* of written blocks */
    int folder;           /* of the unnamed file; -1: in memory */
    struct disk_delta delta;
    struct disk_copy *copy; /* lies over the delta; held while it is open. NULL: none */
};

struct disk;
struct disk *disk_open(const struct disk_options *o);
void disk_close(struct disk *d); /* NULL is fine */
SCOPED(disk, disk_close);
uint64_t disk_bytes(const struct disk *d);

/* Whole sectors within the disk. false: out of range, or an I/O error. */
bool disk_read(struct disk *d, uint64_t at, void *to, uint64_t n);
/* The same; false, too, if the quota or the file system is full. */
bool disk_write(struct disk *d, uint64_t at, const void *from, uint64_t n);
/* Zeroes sectors; whole blocks are freed. */
bool disk_zero(struct disk *d, uint64_t at, uint64_t n);

uint64_t disk_used(const struct disk *d); /* bytes of the written blocks */
/* Appends the numbers of all blocks that differ from the base; they ascend. */
void disk_changed(const struct disk *d, struct buf *blocks);

/* ---- copies ---------------------------------------------------------------- */

/* The blocks that a machine had written at one moment. It never changes. Threads: safe. */
struct disk_copy;
/* Copies nothing: the disk goes on in a new file over the one that it had. NULL and ERR_IO. */
struct disk_copy *disk_copy(struct disk *d, struct err *e);
struct disk_copy *disk_copy_hold(struct disk_copy *c);
void disk_copy_drop(struct disk_copy *c); /* NULL is fine */
SCOPED(disk_copy, disk_copy_drop);
/* Appends the numbers of its blocks; they ascend. */
void disk_copy_blocks(const struct disk_copy *c, struct buf *blocks);
/* false: it has no such block, or an I/O error. */
bool disk_copy_read(const struct disk_copy *c, uint64_t block,
                    char to[static DISK_BLOCK]);
/* A copy whose blocks are in a file, one after another from `at` on; numbers ascend, below
 * `block_count`. Copies the list; `fd` is borrowed. ERR_IO. */
struct disk_copy *disk_copy_of_file(int fd, uint64_t at, const uint32_t *blocks,
                                    size_t count, uint64_t block_count, struct err *e);
