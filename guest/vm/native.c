/* build/vm-native: the machine as a program of this computer, for tests. */
#include "vm/bare.h"
#include "vm/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "vm-native --bare ELF [--max N] [--ram MB] [--trace] [--speed]\n"
    "    Runs a bare program of RV64GC, linked at 0x80000000, in S mode, until it writes\n"
    "    its symbol `tohost`, and exits with that value >> 1 (255 where it is more).\n"
    "    124: it has not ended after N instructions, or waits. 126: it cannot be run.\n";

/* ---- the world around a machine --------------------------------------------------------- */

uint64_t host_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint32_t host_write(enum vm_channel channel, const void *at, uint32_t n)
{
    (void)channel;
    return (uint32_t)fwrite(at, 1, n, stdout);
}

/* ---- arguments -------------------------------------------------------------------------- */

static int refuse(const char *why, const char *what)
{
    fprintf(stderr, "vm-native: %s%s\n%s", why, what, usage);
    return BARE_UNFIT;
}

static bool number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = text && text[0] != '-' ? strtoull(text, &end, 0) : 0;
    return end && end != text && !*end && !errno && *out >= least && *out <= most;
}

int main(int argc, char **argv)
{
    struct bare b = {0};
    uint64_t ram_mb = 256;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (!strcmp(option, "--trace"))
            b.trace = true;
        else if (!strcmp(option, "--speed"))
            b.speed = true;
        else if (!strcmp(option, "--bare"))
            b.path = argv[++i];
        else if (!strcmp(option, "--max")) {
            if (!number(argv[++i], 1, UINT64_MAX, &b.most))
                return refuse("--max takes a number of instructions from 1", "");
        } else if (!strcmp(option, "--ram")) {
            if (!number(argv[++i], 1, 1024, &ram_mb))
                return refuse("--ram takes megabytes from 1 to 1024", "");
        } else
            return refuse("there is no option ", option);
    }
    if (!b.path)
        return refuse("--bare takes the path of an ELF file", "");
    b.ram_bytes = ram_mb << 20;
    return bare_run(&b);
}
