/* The hart's reset state. */
#include "vm/hart.h"

struct hart the_hart;

void hart_reset(struct hart *h, uint64_t pc)
{
    *h = (struct hart){.pc = pc,
                       .privilege = SUPERVISOR,
                       .reserved = UINT64_MAX,
                       .stimecmp = UINT64_MAX};
    tlb_init(h);
    view_changed(h);
}
