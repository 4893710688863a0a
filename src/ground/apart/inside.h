/* apart/inside.h - what both sides know. Private to apart. */
#pragma once

/* The reading end of a pipe into which nobody writes: who began the program holds the
 * only other end, until it ends. */
#define APART_LEASH 3
