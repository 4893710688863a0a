/* What lwIP asks of a compiler and a C library. There is neither a console nor an assertion that
 * the machine could hear of. */
#pragma once
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SSIZE_MAX
#define SSIZE_MAX INT_MAX
#endif
#define LWIP_PLATFORM_DIAG(x)
#define LWIP_PLATFORM_ASSERT(x) __builtin_trap()
