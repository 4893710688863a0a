/* vm/image.h - what machines begin as, on the disk.
 *
 * The folder that `make vm` filled: Image (the kernel), root.erofs, disk.ext4, and
 * machine-N.mem for one size of RAM. The emulator lies in ../guest. Other sizes are baked
 * when first asked for, and kept in the cache folder under a name that tells of what; of
 * those, the sixteen that were used last.
 *
 * A .mem file: a page that tells what it is, then the emulator's linear memory, sparse, then
 * the blocks of the writable disk that differ from disk.ext4: their numbers, and they.
 *
 * Private to the room vm. Threads: safe.
 */
#pragma once
#include "crypto/crypto.h"
#include "vm/disk.h"
#include "vm/machine.h"

#define IMAGE_PAGE 4096u
#define IMAGE_SIZES_MAX 16u /* that one process uses, and that the cache keeps */

struct image_head {
    char magic[16];
    uint8_t key[CRYPTO_BLAKE2B]; /* of what it was baked from */
    uint32_t ram_mb, block_count;
    uint64_t memory_at, memory_bytes; /* bytes in the file, whole pages */
    uint64_t numbers_at, blocks_at;   /* uint32_t each; DISK_BLOCK each */
    uint8_t sum[CRYPTO_BLAKE2B];      /* of all before */
};

/* An image for one size of RAM, ready to be mapped. Lives as long as the images. */
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
/* The disks of a machine over them; `delta` may be NULL. The caller closes them. */
void images_disks(struct images *i, const struct disk_delta *delta, uint64_t quota_bytes,
                  struct disk *out[2]);
/* Boots a machine and writes it into the folder as machine-N.mem, as a whole or not at
 * all. For the build. */
bool images_bake(struct images *i, uint32_t ram_mb, struct err *e);

/* Without a baked one: for who is about to make it. Otherwise as images_open(). */
struct images *images_open_raw(struct engine *g, const char *folder, const char *cache,
                               struct err *e);
