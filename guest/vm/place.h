/* guest/vm/place.h - prepares slots for the executor: decoded instructions in the forms
 * that fit their place. */
#pragma once
#include "vm/ram.h"

/* `s` is a decoded instruction at slot `index` of a page of code; PLACE_NONE: of none. */
#define PLACE_NONE UINT32_MAX
struct slot place(struct slot s, uint32_t index);

/* Decodes the instruction at slot `index` and those after it, up to an unconditional
 * jump. */
void place_from(struct code_page *page, uint32_t index);
/* Of a pair, its first operation; of any other, itself. */
enum vm_op place_first(enum vm_op op);
