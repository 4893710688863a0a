/* abi/plan.h - the addresses of a machine's network, which the host, the emulated machine and the
 * program that is PID 1 in it share; guest/vm/image/root reads the resolver's.
 *
 * All of them are of this network alone: nothing outside of the machine ever sees one.
 */
#pragma once
#include <stdint.h>

/* Ends of the addresses below: LAN_END_HOST is this computer's own loopback, as the machine
 * names it. */
#define LAN_END_GATEWAY 1u
#define LAN_END_MACHINE 3u
#define LAN_END_HOST 0xfeu

/* 192.168.127.0/24, in the host's order of bytes */
#define LAN_BITS 24u
#define LAN_V4 0xc0a87f00u
#define LAN_GATEWAY (LAN_V4 | LAN_END_GATEWAY)
#define LAN_MACHINE (LAN_V4 | LAN_END_MACHINE)
#define LAN_HOST (LAN_V4 | LAN_END_HOST)
/* The same as text, for what takes that. */
#define LAN_GATEWAY_TEXT "192.168.127.1"
#define LAN_MACHINE_TEXT "192.168.127.3"
#define LAN_MASK_TEXT "255.255.255.0"

/* fd63:6c6f:6368::/64, a unique local prefix (RFC 4193) */
#define LAN_V6_BITS 64u
#define LAN_V6_PREFIX 0xfd, 0x63, 0x6c, 0x6f, 0x63, 0x68, 0, 0
#define LAN_V6(end) {LAN_V6_PREFIX, 0, 0, 0, 0, 0, 0, 0, (end)}

/* The gateway's: all frames of the network go to it, and come from it. */
#define LAN_GATEWAY_MAC {0x5a, 0x94, 0xef, 0xe4, 0x0c, 0xdd}
/* fe80::5894:efff:fee4:cdd, which is made of that */
#define LAN_GATEWAY_LINK \
    {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x58, 0x94, 0xef, 0xff, 0xfe, 0xe4, 0x0c, 0xdd}
/* The machine's, where its network names no other. */
#define LAN_MACHINE_MAC {2, 0, 0, 0, 0, 1}

/* Which IP there is on the network; a bit each. */
enum lan_ways {
    LAN_WAY_V4 = 1 << 0,
    LAN_WAY_V6 = 1 << 1,     /* at least as far as this computer's own loopback */
    LAN_WAY_V6_FAR = 1 << 2, /* and to the Internet */
};
