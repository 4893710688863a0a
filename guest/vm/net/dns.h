/* guest/vm/net/dns.h - the resolver at the gateway: answers questions by what it knows, what it has
 * kept, or what the host says. Private to net/.
 *
 * The host knows addresses alone. Of other types there is nothing, which is said only of a name
 * that may be asked for and that exists.
 */
#pragma once
#include "vm/net/lan.h"

/* Its sockets are those from here on. */
#define DNS_FIRST 384u
#define DNS_PENDING 64u
#define DNS_PORT 53u

/* Who asks: by a datagram, or on a connection (dns_stream.h). */
struct dns_client {
    struct ip from, to;
    uint16_t from_port;
    bool stream;
    uint32_t place, generation; /* of the stream */
};

void dns_begin(void); /* nothing is known and asked */
/* false: it is no question, and will have no answer. */
bool dns_query(const struct dns_client *c, const uint8_t *at, uint32_t n);
void dns_event(uint32_t id, uint32_t events);
