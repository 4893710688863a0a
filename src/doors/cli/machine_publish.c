/* cloche vm --publish: ports of a person's machine that are reached at this computer. */
#include <stdio.h>

#include "cli/commands.h"
#include "cli/machine.h"

/* A port in decimal; 0: it is none. */
static uint16_t port_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && n > 0 && n <= UINT16_MAX ? (uint16_t)n
                                                                             : 0;
}

/* "80", "8080:80", "127.0.0.1:8080:80". */
static bool read_publish(const char *text, struct vm_port *out, struct err *e)
{
    char copy[64], *part = copy;
    *out = (struct vm_port){0};
    bool fits = (size_t)snprintf(copy, sizeof copy, "%s", text) < sizeof copy;
    char *last = strrchr(copy, ':'), *first = NULL;
    if (last) {
        *last++ = '\0';
        first = strrchr(copy, ':');
    }
    if (first) {
        *first++ = '\0';
        fits &= (size_t)snprintf(out->address, sizeof out->address, "%s", copy) <
                sizeof out->address;
        part = first;
    }
    out->port = port_of(last ? last : part);
    out->host_port = last ? port_of(part) : 0;
    return (fits && out->port && (!last || out->host_port)) ||
           err_set(e, ERR_INVALID,
                   "--publish is '%.100s'; PORT, HOSTPORT:PORT and ADDRESS:HOSTPORT:PORT "
                   "are accepted, the machine's port last",
                   text);
}

bool machine_publish(struct vm *m, const char *const *publish, struct err *e)
{
    struct vm_port p;
    for (size_t i = 0; publish[i]; i++) {
        if (!read_publish(publish[i], &p, e) || !vm_expose(m, &p, e))
            return false;
        fprintf(stderr, "Port %u of the machine is at http://%s:%u/\n", p.port, p.address,
                p.host_port);
    }
    return true;
}
