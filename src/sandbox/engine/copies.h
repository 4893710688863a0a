/* engine/copies.h - copies of the memory of a running world, for the room vm. */
#pragma once
#include "engine/engine.h"

/* The memory of a world, of a module with `file`, at one moment: what differs from the image,
 * in whole pages, and perhaps some that do not. It never changes. Threads: safe. */
struct memory_copy;
/* Between calls. Of large parts that the image leaves empty no page is copied. NULL and
 * ERR_BUSY: no memory; ERR_CANCELLED: it was stopped. After ERR_BUSY it may be stopped. */
struct memory_copy *world_copy(struct world *w, struct err *e);
/* Gives a world of the same module that was just opened that memory. ERR_BUSY: then it is only
 * fit to be closed. */
bool world_show(struct world *w, struct memory_copy *c, struct err *e);
void memory_copy_drop(struct memory_copy *c); /* NULL is fine */
SCOPED(memory_copy, memory_copy_drop);
uint64_t memory_copy_bytes(const struct memory_copy *c); /* of the memory */
/* Its pages, in bytes: address, length, and where they are in an open file. They ascend. */
struct memory_run {
    uint64_t at, bytes;
    int fd;
    uint64_t file_at;
};
const struct memory_run *memory_copy_runs(const struct memory_copy *c, size_t *count);
/* A copy whose pages are in a file: whole pages, ascending, within `bytes` of memory and
 * within the file, to which nobody writes any more. `fd` is borrowed. ERR_IO. */
struct memory_copy *memory_copy_of_file(int fd, const struct memory_run *runs, size_t n,
                                        uint64_t bytes, struct err *e);
