/* guest/vm/machine.h - what is around the hart: RAM, code pages, devices, the SBI.
 *
 * Physical addresses: docs/machine.md has the map. RAM begins at RAM_BASE and lies in one
 * piece, so that an address in it becomes a pointer by one addition.
 */
#pragma once
#include "vm/hart.h"

#define RAM_BASE 0x80000000ull

/* ---- RAM (ram.c) -------------------------------------------------------------------- */

/* Gives the machine its memory, `size` bytes that hold zeros, a multiple of 4,096. */
void ram_init(uint8_t *at, uint64_t size);
uint64_t ram_size(void);
/* `size` bytes at a physical address; NULL: not all of them are RAM. */
uint8_t *ram_at(uint64_t address, uint64_t size);
/* Everything but a translated store that writes RAM says so, before it writes: decoded code
 * is dropped, a reservation broken. */
void ram_written(struct hart *h, uint64_t address, uint64_t size);

/* A page of RAM that code was run from: what it was decoded into. */
struct code_page {
    struct slot slots[2049]; /* the last one is OP_page_end */
    const uint16_t *code;    /* the page itself */
    uint32_t frame;
};
/* The one of this page of RAM, made where it is missing; all its slots are then
 * OP_undecoded. No translation may write the page unseen from now on. */
struct code_page *code_page_at(struct hart *h, uint8_t *page);
static inline struct code_page *code_page_of(const struct slot *slots)
{
    return (struct code_page *)(uintptr_t)slots; /* slots stand first */
}
bool is_code(const uint8_t *page); /* has it one? */

/* ---- devices ----------------------------------------------------------------------------- */

/* A device's registers: reads and writes of 1, 2, 4 or 8 bytes, naturally aligned. false:
 * there is none at that address. */
bool device_read(uint64_t address, uint32_t size, uint64_t *out);
bool device_write(struct hart *h, uint64_t address, uint32_t size, uint64_t value);

/* ---- time, and what M mode would do -------------------------------------------------------- */

uint64_t machine_time(void); /* the `time` CSR: units of 100 ns */
/* A call of the SBI by its registers; false: nothing of the kind is there. */
bool sbi_call(struct hart *h);
/* Says whether stimecmp has passed (INT_TIMER of sip). */
void machine_timer(struct hart *h);
