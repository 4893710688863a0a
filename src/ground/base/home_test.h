/* base/home_test.h - folders of a test's own. For tests alone. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOME_SIZE 32 /* of the array that a folder's path is put in */

static inline bool folder_make(char folder[static HOME_SIZE])
{
    strcpy(folder, "/tmp/cloche-test-XXXXXX");
    return mkdtemp(folder) != NULL;
}

/* One in the place of all of the user's. */
static inline bool home_make(char home[static HOME_SIZE])
{
    return folder_make(home) && setenv("XDG_CACHE_HOME", home, 1) == 0 &&
           setenv("XDG_CONFIG_HOME", home, 1) == 0 &&
           setenv("XDG_DATA_HOME", home, 1) == 0 &&
           setenv("XDG_STATE_HOME", home, 1) == 0;
}

/* With all that is in it, also what may not be written. Answers 0. */
static inline int folder_remove(const char *folder)
{
    char command[512];
    (void)snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", folder, folder);
    return system(command);
}
