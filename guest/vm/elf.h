/* guest/vm/elf.h - loads a bare program from its ELF file. Only of build/vm-native. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct program {
    uint64_t entry;
    uint64_t tohost; /* address of that symbol */
    /* From begin_signature to end_signature, in RAM; both 0 without these symbols. */
    uint64_t signature, signature_end;
};

/* Copies the segments of a file of `n` bytes to RAM. The file is untrusted. NULL, or the
 * error. */
const char *elf_load(const uint8_t *file, size_t n, struct program *out);
