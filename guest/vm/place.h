/* guest/vm/place.h - slots as the executor runs them: decoded instructions in the forms that
 * fit where they stand. */
#pragma once
#include "vm/ram.h"

/* `s` is a decoded instruction at slot `index` of a page of code; PLACE_NONE: alone. */
#define PLACE_NONE UINT32_MAX
struct slot place(struct slot s, uint32_t index);

/* Decodes the instruction at slot `index` and those behind it, until one that jumps for sure. */
void place_from(struct code_page *page, uint32_t index);
/* Of a pair, its first operation; all others are themselves. */
enum vm_op place_first(enum vm_op op);
