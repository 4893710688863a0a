/* http/endpoint.h - where we listen, and who may speak to us there.
 *
 * Pure functions over text. Private to the room http.
 */
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/base.h"

struct endpoint {
    struct sockaddr_storage address;
    socklen_t size;
    uint16_t port;
    char host[48];  /* as it stands in a URL: "127.0.0.1", "[::1]" */
    char path[120]; /* a socket in the file system, instead; empty: none */
};

/* Reads ADDRESS:PORT or unix:/PATH. false and *e: ERR_INVALID. */
bool endpoint_parse(struct endpoint *ep, const char *text, struct err *e);
bool endpoint_is_unix(const struct endpoint *ep);
/* Notes the port that the system chose. */
void endpoint_set_port(struct endpoint *ep, uint16_t port);

/* Is this value of Host one by which a program on this machine calls us:
 * localhost, 127.0.0.1, [::1] or our own address, with our port or none? A page
 * from elsewhere whose name was made to point here (DNS rebinding) sends its
 * own name. Of a socket in the file system clients say what they like, and a forwarder's
 * port: anything but a name with dots. */
bool endpoint_is_host(const struct endpoint *ep, struct str host);
/* Is it one of `names` (ended by NULL; NULL: none)? A name without a port is allowed with
 * any. A server for other machines also allows numeric addresses, which no page can
 * have made to point here. */
bool endpoint_is_allowed_host(const struct endpoint *ep, struct str host,
                              const char *const *names);
bool endpoint_is_allowed_origin(struct str origin, const char *const *names);
/* 127.0.0.0/8, ::1, or the former written as the latter's kind. NULL is not. */
bool endpoint_is_loopback(const void *sockaddr);
/* Is this value of Origin that of our own pages: our scheme, and the very name and port that
 * stand in Host, which was accepted? "null" is not. */
bool endpoint_is_own_origin(const struct endpoint *ep, bool tls, struct str origin,
                            struct str host);
