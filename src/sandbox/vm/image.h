/* vm/image.h - images of machines on the disk.
 *
 * `make vm` fills the folder: Image (the kernel), root.erofs, disk.ext4, and
 * machine-N.mem for one size of RAM. The emulator is in ../guest. Images of other sizes
 * are baked at first use and cached by a hash of their parts; the sixteen used last are
 * kept.
 *
 * A .mem file: a page with the header, the emulator's linear memory, sparse, then the
 * blocks of the writable disk that differ from disk.ext4: their numbers, and the
 * blocks. */
#pragma once
#include "crypto/crypto.h"
#include "vm/disk.h"
#include "vm/machine.h"

#define IMAGE_PAGE 4096u
#define IMAGE_SIZES_MAX 16u /* used by a process, and kept in the cache */

struct image_head {
    char magic[16];
    uint8_t key[CRYPTO_BLAKE2B]; /* hash of the parts it was baked from */
    uint32_t ram_mb, block_count;
    uint64_t memory_at, memory_bytes; /* bytes in the file, whole pages */
    uint64_t numbers_at, blocks_at;   /* uint32_t each; DISK_BLOCK each */
    uint8_t sum[CRYPTO_BLAKE2B];      /* of all above */
};

/* The image for one size of RAM, ready to be mapped; valid until images_close(). */
struct baked {
    struct baked *next;
    uint32_t ram_mb;
    int fd;
    struct module *module;
    uint64_t memory_bytes;
    struct disk_delta delta;
    uint32_t *numbers;
};

/* NULL and ERR_NOT_FOUND, ERR_LIMIT (of sizes), ERR_CANCELLED, ERR_TIMEOUT, ERR_GUEST,
 * ERR_IO. */
const struct baked *images_get(struct images *i, uint32_t ram_mb, struct cancel *cancel,
                               struct err *e);
/* A machine's disks over an image; `delta` and `copy` may be NULL. The caller closes them. */
void images_disks(struct images *i, const struct disk_delta *delta,
                  struct disk_copy *copy, uint64_t quota_bytes, struct disk *out[2]);
/* A hash of the image's parts. */
const unsigned char *images_key(const struct images *i);
uint64_t images_disk_blocks(const struct images *i);
/* Boots a machine and writes machine-N.mem to the folder, atomically. For the build. */
bool images_bake(struct images *i, uint32_t ram_mb, struct err *e);

/* As images_open(), without a baked image; for the bake. */
struct images *images_open_raw(struct engine *g, const char *folder, const char *cache,
                               struct err *e);
