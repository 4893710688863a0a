/* guest/vm/ram.h - RAM, and the pages of it that code was run from.
 *
 * RAM begins at RAM_BASE and lies in one piece, so that an address in it becomes a pointer
 * by one addition.
 */
#pragma once
#include "abi/vm.h"
#include "vm/hart.h"

#define RAM_BASE 0x80000000ull
#define RAM_PAGE 4096u

/* Gives the machine its memory: whole pages. `h` is the hart that sees it. */
void ram_init(struct hart *h, uint8_t *at, uint64_t size);
uint64_t ram_size(void);
/* `size` bytes at a physical address; NULL: not all of them are RAM. */
uint8_t *ram_at(uint64_t address, uint64_t size);
/* THE function for whatever writes RAM other than through a hart's write buffer, before it
 * writes: decoded code of those pages is dropped, and a reservation is broken. The bytes have
 * to be RAM. */
void ram_written(uint64_t address, uint64_t size);
/* The same, of writes that are part of an instruction of the hart's own: marking a page as used,
 * and atomic ones. These find out by themselves what a reservation is worth. */
void code_written(uint64_t address, uint64_t size);

/* A page of RAM that code was run from: what it was decoded into. */
struct code_page {
    struct slot slots[2049]; /* the last one is OP_page_end */
    const uint16_t *code;    /* the page itself */
    uint32_t frame;
    uint32_t writes; /* that hit it since something was decoded */
};
/* How many slots before its own bytes a slot may begin that was made of them. */
#define SLOT_REACH 4u
/* The one of this page of RAM, made where it is missing; all its slots are then
 * OP_undecoded. No translation may write the page unseen from now on. */
struct code_page *code_page_at(uint8_t *page);
static inline struct code_page *code_page_of(const struct slot *slots)
{
    return (struct code_page *)(uintptr_t)slots; /* slots stand first */
}
bool is_code(const uint8_t *page); /* has it one? */
void code_forget(void);            /* all; what held them is zeros */
