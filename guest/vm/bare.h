/* guest/vm/bare.h - programs that bring no kernel: anyone's instruction tests.
 *
 * Only of build/vm-native. The program is an ELF of RV64 whose segments lie in RAM
 * (0x80000000 and up). It starts at its entry in S mode, untranslated, the FPU on, all other
 * registers 0, with nothing else on the machine: no devices, and no SBI, so that `ecall` goes
 * to its own handler as any trap does. It ends when its symbol `tohost` is not 0 any more.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bare {
    const char *path;
    uint64_t most;      /* instructions, then it gives up; 0: no limit */
    uint64_t ram_bytes; /* a multiple of 4,096, at most 1 GiB */
    const char
        *signature; /* file for the words between begin_ and end_signature; or NULL */
    bool trace;     /* each instruction to standard error */
    bool speed;     /* prints its speed to standard error */
};

/* Exit values of runs in which the program gave none. */
enum { BARE_NO_END = 124, BARE_UNFIT = 126 };

/* Runs it and returns the exit value: tohost >> 1, at most 255, or one of the above with
 * the reason on standard error. */
int bare_run(const struct bare *b);

/* A whole file, for free(). NULL: errno is set. */
uint8_t *bare_read(const char *path, size_t *n);
