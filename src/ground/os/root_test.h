/* os/root_test.h - an open folder of a test's own. For tests alone. */
#pragma once
#include "base/home_test.h"
#include "os/os.h"

static char root[HOME_SIZE];
static int dir;

static int make_root(void **state)
{
    (void)state;
    struct err e = {0};
    return folder_make(root) && (dir = os_dir_open(root, &e)) >= 0 ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    os_close(dir);
    return folder_remove(root);
}
