/* egress/address.h - which addresses are the internet's, and which are nearer.
 * Private to the room egress. */
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/base.h"

/* An address of either family: IPv4 as ::ffff:a.b.c.d. */
struct address {
    unsigned char at[16];
};

/* false: neither IPv4 nor IPv6. The port may be NULL. */
bool address_of(const struct sockaddr *sa, socklen_t size, struct address *out,
                uint16_t *port);
/* "192.168.1.5" or "fd00::5", without brackets and zones, in its plain form. */
bool address_read(const char *text, struct address *out);
bool address_eq(const struct address *a, const struct address *b);

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_NEAR,     /* loopback, private, link-local, shared, reserved, multicast */
    ADDRESS_METADATA, /* where clouds keep the keys of their machines */
};
enum address_kind address_kind(const struct address *a);
/* Does one of this machine's interfaces have it (or is it loopback)? When the
 * interfaces cannot be listed: yes. */
bool address_is_own(const struct address *a);
