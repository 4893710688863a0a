/* vm/init/setup.h - sets up a booted machine for work. */
#pragma once
#include <stdint.h>

#include "abi/vm.h"

/* Mounts, names, limits; the root becomes an overlay of the read-only one and the disk.
 * Failures are logged on the console, and ignored. */
void set_up(void);

/* Sets the clock, the random state and the names of a machine that continues from an
 * image. */
void resume(const struct vm_resume *r);

/* Prepares for an image: syncs, compacts free memory and zeroes it. */
void quiesce(void);
