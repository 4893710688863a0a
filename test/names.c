/* The names of a file instead of the system's, so that test_machine_escapes.py decides what a name
 * leads to.
 *
 * Loaded before the C library (LD_PRELOAD). $TEST_NAMES is a file of lines "ADDRESS NAME", which is
 * read anew at each call and may be replaced at any time. Names that it lacks do not exist. Threads:
 * safe; libnss_wrapper is not, when its file changes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef int getaddrinfo_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int numeric(const char *address, const char *service, const struct addrinfo *hints,
                   struct addrinfo **out)
{
    getaddrinfo_fn *system = (getaddrinfo_fn *)dlsym(RTLD_NEXT, "getaddrinfo");
    struct addrinfo h = hints ? *hints : (struct addrinfo){0};
    h.ai_flags |= AI_NUMERICHOST;
    return system(address, service, &h, out);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    char line[256], address[64], known[128];
    struct addrinfo **end = out;
    int failed = EAI_NONAME;
    if (!name || numeric(name, service, hints, out) == 0)
        return name ? 0 : numeric(name, service, hints, out);
    FILE *names = fopen(getenv("TEST_NAMES"), "re");
    if (!names)
        return EAI_FAIL;
    *out = NULL;
    while (fgets(line, sizeof line, names)) {
        if (sscanf(line, "%63s %127s", address, known) != 2 || strcasecmp(known, name) != 0)
            continue;
        if (failed)
            failed = EAI_NODATA;
        if (numeric(address, service, hints, end) == 0)
            failed = 0;
        while (*end)
            end = &(*end)->ai_next;
    }
    fclose(names);
    return failed;
}
