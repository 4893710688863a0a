/* actions/home_test.h - what the tests of this room begin with: folders of their own in
 * the place of the user's. For tests alone. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

static char home[64];

static int make_home(void)
{
    strcpy(home, "/tmp/cloche-actions-XXXXXX");
    return mkdtemp(home) && setenv("XDG_CACHE_HOME", home, 1) == 0 &&
                   setenv("XDG_CONFIG_HOME", home, 1) == 0 &&
                   setenv("XDG_DATA_HOME", home, 1) == 0 &&
                   setenv("XDG_STATE_HOME", home, 1) == 0
               ? 0
               : -1;
}

static int drop_home(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

/* Where the baked guests are. */
static inline const char *guest_of_tests(void)
{
    const char *guest = getenv("CLOCHE_GUEST");
    return guest ? guest : "build/guest";
}
