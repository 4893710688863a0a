/* guest/vm/ram.h - RAM, and the decoded pages of it.
 *
 * RAM begins at RAM_BASE and is contiguous, so that an address in it becomes a pointer by
 * one addition. */
#pragma once
#include "abi/vm.h"
#include "vm/hart.h"

#define RAM_BASE 0x80000000ull
#define RAM_PAGE 4096u

/* Sets the machine's memory: whole pages. `h` is the hart that uses it. */
void ram_init(struct hart *h, uint8_t *at, uint64_t size);
uint64_t ram_size(void);
/* `size` bytes at a physical address; NULL: not all of them are RAM. */
uint8_t *ram_at(uint64_t address, uint64_t size);
/* To be called before RAM is written in any other way than through a hart's write buffer:
 * drops decoded code of those pages, and breaks a reservation. The bytes have to be
 * RAM. */
void ram_written(uint64_t address, uint64_t size);
/* The same, for writes within an instruction of the hart: A and D bits, and atomic
 * operations. These check a reservation themselves. */
void code_written(uint64_t address, uint64_t size);

/* A page of RAM that was executed: its decoded slots. */
struct code_page {
    struct slot slots[2049]; /* the last one is OP_page_end */
    const uint16_t *code;    /* the page itself */
    uint32_t frame;
    uint32_t writes; /* hits since it was last decoded */
};
/* How many slots before its own bytes a slot may begin that was decoded from them. */
#define SLOT_REACH 10u
/* The code page of this page of RAM, created if needed, with all slots OP_undecoded. From
 * now on no translation may write the page unseen. */
struct code_page *code_page_at(uint8_t *page);
static inline struct code_page *code_page_of(const struct slot *slots)
{
    return (struct code_page *)(uintptr_t)slots; /* its first member */
}
bool is_code(const uint8_t *page); /* whether it has a code page */
void code_forget(void);            /* drops all, and zeroes their memory */
