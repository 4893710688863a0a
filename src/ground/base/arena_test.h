/* base/arena_test.h - an arena for the tests of a program, or for each of them. Only for
 * *_test.c. */
#pragma once
#include "base/base.h"

static struct arena *arena;

static inline int make_arena(void **state)
{
    (void)state;
    arena = arena_new((size_t)256 << 20);
    return 0;
}

static inline int free_arena(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}
