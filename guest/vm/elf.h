/* guest/vm/elf.h - takes a bare program out of its ELF file. Only of build/vm-native. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct program {
    uint64_t entry;
    uint64_t tohost; /* address of that symbol */
    /* From begin_signature to end_signature, which lie in RAM; both 0 where it has not got
     * these symbols. */
    uint64_t signature, signature_end;
};

/* Copies the segments of the `n` bytes of a file to RAM. What the file says of itself is not
 * trusted. NULL, or what is wrong with it. */
const char *elf_load(const uint8_t *file, size_t n, struct program *out);
