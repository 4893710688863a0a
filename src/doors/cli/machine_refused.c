/* cloche vm: what a machine asked for and was refused, as a person is told of it. */
#include <arpa/inet.h>
#include <stdio.h>

#include "cli/machine.h"

/* Names without a dot are the machine's own, or mistakes. A name from the machine is printed: only
 * one of the characters that names have. */
void machine_refused_name(struct machine_refusal *r, const char *name)
{
    struct str s = str_of(name);
    s.n -= str_ends(s, ".");
    if (!*r->what && memchr(s.at, '.', s.n) && str_is_name(s, "-._", sizeof r->what - 1))
        (void)snprintf(r->what, sizeof r->what, "%.*s", STR_ARGS(s));
}

static void write_address(const uint8_t address[16],
                          char out[static INET6_ADDRSTRLEN + 2])
{
    char text[INET6_ADDRSTRLEN];
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool v4 = memcmp(address, mapped, sizeof mapped) == 0;
    must(inet_ntop(v4 ? AF_INET : AF_INET6, address + (v4 ? 12 : 0), text, sizeof text));
    (void)snprintf(out, INET6_ADDRSTRLEN + 2, v4 ? "%s" : "[%s]", text);
}

bool machine_refused_peer(struct machine_refusal *r, const struct vm_peer *p)
{
    char address[INET6_ADDRSTRLEN + 2];
    const char *host = p->name_count ? p->names[0] : address;
    size_t most = sizeof r->what;
    write_address(p->address, address);
    if (*r->what || (p->name_count && !str_is_name(str_of(host), "-._", BUF_NAME)))
        return false;
    if (p->kind == VM_NET_ECHO)
        (void)snprintf(r->what, most, "icmp://%.200s", host);
    else if (p->kind == VM_NET_UDP)
        (void)snprintf(r->what, most, "udp://%.200s:%u", host, p->port);
    else if (p->name_count && p->port == 443)
        (void)snprintf(r->what, most, "%.200s", host);
    else if (p->name_count && p->port == 80)
        (void)snprintf(r->what, most, "http://%.200s", host);
    else
        (void)snprintf(r->what, most, "%.200s:%u", host, p->port);
    return true;
}

void machine_refused_report(const struct machine_refusal *r)
{
    const char *what = r->what;
    if (*r->failed)
        fprintf(stderr, "cloche: %s\n", r->failed);
    if (!*what)
        return;
    if (r->never)
        fprintf(stderr, "cloche: the command asked for %s, which no machine reaches\n",
                what);
    else if (r->off)
        fprintf(stderr,
                "cloche: the network is off; the command asked for %s: repeat it with "
                "--allow-host %s, or with --network for the hosts of the policy\n",
                what, what);
    else
        fprintf(stderr, "cloche: %s was refused; to allow it: --allow-host %s\n", what,
                what);
}
