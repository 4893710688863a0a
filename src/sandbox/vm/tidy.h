/* vm/tidy.h - the cache of machines' images has an end: a caller may ask for any of a
 * thousand sizes, builds come and go, and who bakes may be killed. What is removed may be
 * in use: those that mapped it keep it.
 *
 * Private to the room vm. Threads and processes: safe.
 */
#pragma once
#include <stdint.h>

/* Removes unfinished images of that size that others began. With that size's lock. */
void tidy_drafts(int folder, uint32_t ram_mb);
/* All images but the `keep` that were used last (tidy_used()). */
void tidy_images(int folder, unsigned keep);
void tidy_used(int image);
