/* base/skip_test.h - a test that this computer cannot run. */
#pragma once
#include <cmocka.h>

/* Skips the running test. `lacks`: what this computer has not, in a few words; ./check
 * prints it. A skip without a reason counts as a failure (dev/unit). */
#define skip_system(lacks) (print_message("# this system: %s\n", lacks), skip())
