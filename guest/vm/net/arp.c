/* ARP (RFC 826): who of the network's IPv4 addresses answers. All but the machine's own lead to
 * the gateway. */
#include "vm/net/lan.h"

enum { REQUEST = 1, REPLY = 2, BYTES = 28 };

void arp_input(const uint8_t *at, uint32_t n)
{
    static const uint8_t kind[] = {0, 1, 8, 0, 6, 4, 0, REQUEST};
    if (n < BYTES || __builtin_memcmp(at, kind, sizeof kind) != 0)
        return;
    uint32_t wanted = be32(at + 24);
    if (wanted != LAN_GATEWAY && wanted != LAN_HOST)
        return;
    uint8_t reply[BYTES];
    __builtin_memcpy(reply, at, 8);
    reply[7] = REPLY;
    __builtin_memcpy(reply + 8, lan_gateway_mac, 6);
    put32(reply + 14, wanted);
    __builtin_memcpy(reply + 18, at + 8, 10);
    lan_send_raw(0x0806, reply, sizeof reply);
}
