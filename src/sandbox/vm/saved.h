/* vm/saved.h - the file of a saved copy.
 *
 * A page with the head; the pages of memory and the blocks of the disk that differ from the
 * image; tables: where they belong, and what the connection knew. Numbers are as the
 * processor has them. Each byte of it is under a checksum, which finds damage; the file is
 * trusted as its folder is.
 *
 * Private to the room vm. */
#pragma once
#include "crypto/crypto.h"
#include "vm/copy.h"
#include "vm/image.h"

#define SAVED_LANES 8u

struct saved_head {
    char magic[16];
    uint8_t key[CRYPTO_BLAKE2B]; /* of the image */
    uint8_t
        place[CRYPTO_BLAKE2B]; /* hash of payer, kind and name: it belongs there alone */
    char label[VM_LABEL_MAX + 1];
    uint32_t kind, ram_mb;
    int64_t made_ms;
    uint64_t memory_bytes, disk_blocks; /* of the machine's */
    uint64_t page_count, block_count;   /* in the file, from its second page on */
    uint64_t run_count, state_bytes;    /* of the tables, which follow, to its end */
    uint64_t data_sum[SAVED_LANES];
    uint8_t tables_sum[CRYPTO_BLAKE2B];
};
#define SAVED_HEAD IMAGE_PAGE /* bytes in the file: zeros, and the sum of all before */

struct saved_place {
    struct str payer, name;
    enum vm_saved_kind kind;
};

/* Writes it to an empty file, and syncs it. ERR_LIMIT: it would have more than `most` bytes,
 * of which `hint` says how to have more. */
bool saved_write(int fd, const struct images *i, const struct saved_place *p,
                 const char *label, const struct vm_copy *c, uint64_t most,
                 struct saved_head *head, struct err *e);
uint64_t saved_bytes(const struct saved_head *h); /* of its file */
/* Reads and checks the head alone. */
bool saved_read_head(int fd, const struct saved_place *p, struct saved_head *head,
                     struct err *e);
/* Reads all of it. NULL and *e, as vm_saved_open(). */
struct vm_copy *saved_read(int fd, struct images *i, const struct saved_place *p,
                           struct err *e);
