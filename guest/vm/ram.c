/* RAM, and the decoded pages of it. */
#include "vm/ram.h"

#define HALVES (RAM_PAGE / 2u)
/* Decoded pages kept; the oldest is replaced: 48 MB of slots if all are in use. */
#define CODE_PAGES 3000u

/* Small writes to a page of code since it was last decoded. */
#define WRITES_MAX 256u

static struct hart *hart;
static uint8_t *ram;
static uint64_t size_bytes;

/* For each page of RAM the number of its code page, from 1; 0: none. */
static uint16_t code_of[VM_RAM_MAX_MB * (1024u * 1024u / RAM_PAGE)];
static struct code_page pages[CODE_PAGES];
static uint32_t next;

void ram_init(struct hart *h, uint8_t *at, uint64_t size)
{
    hart = h;
    ram = at;
    size_bytes = size;
    code_forget();
}

uint64_t ram_size(void)
{
    return size_bytes;
}

uint8_t *ram_at(uint64_t address, uint64_t size)
{
    uint64_t offset = address - RAM_BASE;
    return offset < size_bytes && size <= size_bytes - offset ? ram + offset : 0;
}

static uint32_t frame_of(const uint8_t *page)
{
    return (uint32_t)((uint64_t)(page - ram) / RAM_PAGE);
}

static uint16_t number_of(const struct code_page *p)
{
    return (uint16_t)(p - pages + 1);
}

bool is_code(const uint8_t *page)
{
    return code_of[frame_of(page)];
}

/* A round may be executing these slots when a store of its own drops them: each slot then
 * makes it look up its page again. The current slot has to keep its length. */
static void drop(struct code_page *p)
{
    code_unmap(hart, p->slots);
    code_of[p->frame] = 0;
    for (uint32_t i = 0; i < HALVES; i++)
        p->slots[i].op = OP_page_end;
}

/* A page of code may contain data, too: then only slots decoded from these bytes are
 * dropped, which begin as far before them as a slot looks ahead. A page that is written
 * again and again without new code is dropped whole. */
static void scratch(struct code_page *p, uint32_t offset, uint32_t size)
{
    if (++p->writes > WRITES_MAX) {
        drop(p);
        return;
    }
    uint32_t first = offset / 2, last = (offset + size - 1) / 2;
    for (uint32_t i = first > SLOT_REACH ? first - SLOT_REACH : 0; i <= last; i++)
        p->slots[i].op = OP_undecoded;
}

void ram_written(uint64_t address, uint64_t size)
{
    hart->reserved = UINT64_MAX;
    code_written(address, size);
}

void code_written(uint64_t address, uint64_t size)
{
    if (!size)
        return;
    uint64_t offset = address - RAM_BASE;
    uint64_t first = offset / RAM_PAGE, last = (offset + size - 1) / RAM_PAGE;
    for (uint64_t frame = first; frame <= last; frame++) {
        struct code_page *p = code_of[frame] ? &pages[code_of[frame] - 1] : 0;
        if (p && first == last && size <= 8)
            scratch(p, (uint32_t)offset % RAM_PAGE, (uint32_t)size);
        else if (p)
            drop(p);
    }
}

struct code_page *code_page_at(uint8_t *page)
{
    uint32_t frame = frame_of(page);
    if (code_of[frame])
        return &pages[code_of[frame] - 1];
    struct code_page *p = &pages[next];
    next = (next + 1) % CODE_PAGES;
    if (p->code && code_of[p->frame] == number_of(p))
        drop(p);
    __builtin_memset(p->slots, 0, HALVES * sizeof *p->slots);
    p->slots[HALVES] = (struct slot){.op = OP_page_end};
    p->code = (const uint16_t *)(const void *)page;
    p->frame = frame;
    p->writes = 0;
    code_of[frame] = number_of(p);
    tlb_protect(hart, page);
    return p;
}

void code_forget(void)
{
    for (uint32_t i = 0; i < CODE_PAGES; i++)
        if (pages[i].code) {
            if (code_of[pages[i].frame] == number_of(&pages[i]))
                drop(&pages[i]);
            pages[i] = (struct code_page){0};
        }
    next = 0;
}
