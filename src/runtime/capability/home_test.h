/* capability/home_test.h - the fixture of this room's tests: temporary folders in place
 * of the user's. For tests alone. */
#pragma once
#include "base/home_test.h"

static char home[HOME_SIZE];

static int make_home(void)
{
    return home_make(home) ? 0 : -1;
}

static int drop_home(void)
{
    return folder_remove(home);
}

/* Where the baked guests are. */
static inline const char *guest_of_tests(void)
{
    const char *guest = getenv("CLOCHE_GUEST");
    return guest ? guest : "build/guest";
}
