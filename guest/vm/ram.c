/* RAM, and the pages of it that were run. */
#include "vm/machine.h"

#define PAGE 4096u
#define LENGTH_OF_PAGE (PAGE / 2u)
#define CODE_PAGES 4096u /* kept decoded: 64 MB of slots where all are used */

static uint8_t *ram;
static uint64_t size_bytes;

/* For each page of RAM the number of its code page, from 1; 0: none. */
static uint16_t code_of[(1u << 30) / PAGE];
static struct code_page pages[CODE_PAGES];
static uint32_t next;

void ram_init(uint8_t *at, uint64_t size)
{
    ram = at;
    size_bytes = size;
    for (uint64_t i = 0; i < size / PAGE; i++)
        code_of[i] = 0;
    next = 0;
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
    return (uint32_t)((uint64_t)(page - ram) / PAGE);
}

bool is_code(const uint8_t *page)
{
    return code_of[frame_of(page)];
}

static void clear(struct code_page *p)
{
    for (unsigned i = 0; i < LENGTH_OF_PAGE; i++)
        p->slots[i] = (struct slot){0};
    p->slots[LENGTH_OF_PAGE] = (struct slot){.op = OP_page_end};
}

/* No round may come to these slots any more but by code_at(). */
static void drop(struct hart *h, uint32_t frame)
{
    struct code_page *p = &pages[code_of[frame] - 1];
    for (unsigned v = 0; v < VIEW_COUNT; v++)
        for (unsigned i = 0; i < TLB_ENTRIES; i++)
            if (h->tlbs[v].code[i].slots == p->slots)
                h->tlbs[v].code[i].tag = TLB_NONE;
    code_of[frame] = 0;
    p->code = 0;
    clear(p);
}

void ram_written(struct hart *h, uint64_t address, uint64_t size)
{
    uint64_t first = (address - RAM_BASE) / PAGE,
             last = (address - RAM_BASE + size - 1) / PAGE;
    for (uint64_t frame = first; frame <= last; frame++)
        if (code_of[frame])
            drop(h, (uint32_t)frame);
}

struct code_page *code_page_at(struct hart *h, uint8_t *page)
{
    uint32_t frame = frame_of(page);
    if (code_of[frame])
        return &pages[code_of[frame] - 1];
    struct code_page *p = &pages[next];
    next = (next + 1) % CODE_PAGES;
    if (p->code)
        drop(h, p->frame);
    else
        clear(p);
    p->code = (const uint16_t *)(const void *)page;
    p->frame = frame;
    code_of[frame] = (uint16_t)(p - pages + 1);
    tlb_protect(h, page);
    return p;
}
