/* script/heap.h - the heap of guests beside malloc. */
#pragma once

/* Before a memory becomes an image: what is free between objects stays unused, so that new ones
 * lie side by side, in memory that is zero. */
void heap_settle(void);
