/* The table of mounted file systems: one, at "/". */
#include <mntent.h>
#include <stddef.h>
#include <stdio.h>

static int told;

FILE *setmntent(const char *path, const char *mode)
{
    (void)path, (void)mode;
    told = 0;
    return stdin; /* not NULL, and never read */
}

struct mntent *getmntent(FILE *table)
{
    static char name[] = "cloche", folder[] = "/", type[] = "wasi", options[] = "rw";
    static struct mntent root = {name, folder, type, options, 0, 0};
    (void)table;
    return told++ == 0 ? &root : NULL;
}

int endmntent(FILE *table)
{
    (void)table;
    return 1;
}

char *hasmntopt(const struct mntent *mount, const char *option)
{
    (void)mount, (void)option;
    return NULL;
}
