/* lazy/lazy.h - libraries that are loaded at the first call of one of their functions.
 *
 * The program `cloche` has most of its libraries so, where dev/lazy knows the processor;
 * elsewhere, and in tests, in tools of the build and in libcloche, they are linked as
 * usual, and there are none here. A library that is missing ends the process when it is
 * first needed, with a line on standard error.
 *
 * Threads: safe.
 */
#pragma once
#include "base/base.h"

/* Loads all of them: for who is about to give up the right to open files, and for who
 * wants to know. false and ERR_IO, which names the first that cannot be loaded. */
bool lazy_load_all(struct err *e);
