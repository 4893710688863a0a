/* vm/tidy.h - bounds the cache of machines' images: there are a thousand sizes, builds
 * leave old ones, and a bake may be killed. A removed image stays usable where it is
 * mapped.
 *
 * Private to the room vm. Threads and processes: safe. */
#pragma once
#include <stdint.h>

/* Removes unfinished images of that size by others. With that size's lock. */
void tidy_drafts(int folder, uint32_t ram_mb);
/* Removes all images but the `keep` used last (tidy_used()). */
void tidy_images(int folder, unsigned keep);
void tidy_used(int image);
