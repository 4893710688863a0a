/* vm/init/setup.h - from what the kernel leaves to a machine that one can work in. */
#pragma once
#include <stdint.h>

#include "abi/vm.h"

/* Mounts, names, limits; the root becomes an overlay of the read-only one and the disk.
 * What cannot be had is said on the console, and done without. */
void set_up(void);

/* The clock, the random state and the names of a machine that goes on from an image. */
void resume(const struct vm_resume *r);

/* Leaves as little as possible to be kept in an image of this machine: writes what is
 * unwritten, puts free memory together and fills it with zeros. */
void quiesce(void);
