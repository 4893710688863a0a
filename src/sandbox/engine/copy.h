/* engine/copy.h - copies of a world's memory, and how slots show them.
 *
 * Private to copy.c and slot.c. */
#pragma once
#include "engine/copies.h"
#include "engine/image.h"

/* A file whose pages are mapped; closed with its last user. */
struct copy_file {
    atomic_int users;
    atomic_int slots; /* that show it */
    bool in_memory;   /* else it is a file on the disk */
    int fd;
};

/* Whole pages of memory, and their place in a file. */
struct copy_run {
    size_t from, to;
    struct copy_file *file;
    off_t at;
};

struct memory_copy {
    atomic_int users;
    size_t bytes;          /* of the memory */
    struct copy_run *runs; /* ascending, apart from each other */
    size_t count;
    struct memory_run *shown; /* the same for others */
};
struct memory_copy *memory_copy_hold(struct memory_copy *c);

/* Lays what the slot shows (NULL: nothing) over its image, and gives large parts that hold
 * nothing a file of the slot's own, so that a copy can have what is written there without
 * copying. The slot was mapped just now. false: the system refuses, or a file was cut. */
bool slot_lay(struct slot *s);
/* Frees what slot_lay() made, but for the mappings. */
void slot_bare(struct slot *s);
/* Takes written pages back. */
void slot_discard(struct slot *s, size_t from, size_t to);
/* Bytes of the slot's own file, and its share of files in memory that it shows: each is counted
 * in equal parts for the slots that show it. */
uint64_t slot_file_bytes(const struct slot *s);
/* Maps it as slot_new() does, with what it shows. */
bool slot_remap(struct slot *s);
