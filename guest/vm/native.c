/* build/vm-native: the machine as a program of this computer, for tests. */
#include "vm/bare.h"
#include "vm/boot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "vm-native --bare ELF [--max N] [--ram MB] [--signature FILE] [--trace] [--speed]\n"
    "    Runs a bare program of RV64GC, linked at 0x80000000, in S mode, until it writes\n"
    "    its symbol `tohost`, and exits with that value >> 1 (255 where it is more).\n"
    "    124: it has not ended after N instructions, or waits. 126: it cannot be run.\n"
    "vm-native --kernel IMAGE [--disk F] [--disk2 F] [--disk3 F] [--disk4 F] [--ram MB]\n"
    "          [--cmdline TEXT] [--control SOCKET] [--counted] [--max N] [--speed]\n"
    "    Boots Linux, or runs an ELF as above, with all devices: the console is standard\n"
    "    input and output, --disk2 may be written. Exits with 0: switched off, 3: reboot,\n"
    "    4: failed. --counted: time goes by instructions, so that all is the same each\n"
    "    time.\n";

/* ---- arguments --------------------------------------------------------------------- */

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

/* The options of --kernel. false: another option. */
static bool boot_option(struct boot *b, const char *option, const char *value)
{
    static const char *const disks[MACHINE_DISKS] = {"--disk", "--disk2", "--disk3",
                                                     "--disk4"};
    const char **place = NULL;
    for (unsigned i = 0; i < MACHINE_DISKS; i++)
        if (!strcmp(option, disks[i]))
            place = &b->disks[i];
    if (!strcmp(option, "--kernel"))
        place = &b->kernel;
    else if (!strcmp(option, "--cmdline"))
        place = &b->arguments;
    else if (!strcmp(option, "--control"))
        place = &b->control;
    if (place)
        *place = value;
    return place && value;
}

int main(int argc, char **argv)
{
    struct bare b = {0};
    struct boot whole = {.arguments = "console=hvc0"};
    uint64_t ram_mb = 256;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (!strcmp(option, "--trace"))
            b.trace = true;
        else if (!strcmp(option, "--speed"))
            b.speed = whole.speed = true;
        else if (!strcmp(option, "--counted"))
            whole.counted = true;
        else if (!strcmp(option, "--bare"))
            b.path = argv[++i];
        else if (!strcmp(option, "--signature")) {
            b.signature = argv[++i];
            if (!b.signature)
                return refuse("--signature takes the path of a file", "");
        } else if (!strcmp(option, "--max")) {
            if (!number(argv[++i], 1, UINT64_MAX, &b.most))
                return refuse("--max takes a number of instructions from 1", "");
        } else if (!strcmp(option, "--ram")) {
            if (!number(argv[++i], 1, 1024, &ram_mb))
                return refuse("--ram takes megabytes from 1 to 1024", "");
        } else if (boot_option(&whole, option, argv[i + 1]))
            i++;
        else
            return refuse("there is no such option, or it lacks its value: ", option);
    }
    if (!b.path == !whole.kernel)
        return refuse("either --bare or --kernel takes the path of a file", "");
    b.ram_bytes = ram_mb << 20;
    whole.ram_mb = (uint32_t)ram_mb;
    whole.most = b.most;
    return b.path ? bare_run(&b) : boot_run(&whole);
}
