/* How much memory there is for this process: the computer's, or what its control group may
 * have of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

/* A number in a file of the kernel's; UINT64_MAX: there is none ("max"). */
static uint64_t read_limit(const char *path)
{
    char text[32] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return UINT64_MAX;
    char *end = fgets(text, sizeof text, f);
    (void)fclose(f);
    uint64_t n = end ? strtoull(text, &end, 10) : 0;
    return n ? n : UINT64_MAX;
}

/* Version 2: limits of a group hold in all groups beneath it. */
static uint64_t group_limit(void)
{
    char line[1024] = "", path[1200];
    FILE *f = fopen("/proc/self/cgroup", "re");
    uint64_t least = read_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    while (f && fgets(line, sizeof line, f) && strncmp(line, "0::", 3) != 0)
        ;
    if (f)
        (void)fclose(f);
    if (strncmp(line, "0::/", 4) != 0)
        return least;
    line[strcspn(line, "\n")] = '\0';
    for (char *slash; (slash = strrchr(line + 3, '/')); *slash = '\0') {
        (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        uint64_t limit = read_limit(path);
        least = limit < least ? limit : least;
    }
    return least;
}

uint64_t os_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
    uint64_t group = group_limit();
    return group < all ? group : all;
}
