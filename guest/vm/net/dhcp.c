/* DHCP: whoever asks gets the machine's address, for a day; whoever wants another is told so. There
 * is one address and one machine, so what is released or declined changes nothing. */
#include "vm/net/dhcp.h"
#include "vm/net/udp.h"

enum {
    OP = 0,
    ID = 4,
    FLAGS = 10,
    CIADDR = 12,
    YIADDR = 16,
    SIADDR = 20,
    CHADDR = 28,
    COOKIE = 236,
    OPTIONS = 240
};
enum { DISCOVER = 1, OFFER = 2, REQUEST = 3, ACK = 5, NAK = 6, INFORM = 8 };
enum option {
    OPTION_MASK = 1,
    OPTION_ROUTER = 3,
    OPTION_DNS = 6,
    OPTION_NAME = 12,
    OPTION_DOMAIN = 15,
    OPTION_MTU = 26,
    OPTION_BROADCAST = 28,
    OPTION_NTP = 42,
    OPTION_WANTED = 50,
    OPTION_LEASE = 51,
    OPTION_TYPE = 53,
    OPTION_SERVER = 54,
    OPTION_T1 = 58,
    OPTION_T2 = 59,
    OPTION_CLIENT = 61,
    OPTION_END = 255
};
#define MAGIC 0x63825363u
#define LEASE_S 86400u
#define REPLY_BYTES 300u /* at least, for what is left of BOOTP */
#define REPLY_MAX 640u   /* all options, the client's own of 255 bytes with them */

/* Its bytes, *size of them; NULL: it is not there, or cut off. */
static const uint8_t *option(const uint8_t *at, uint32_t n, enum option wanted,
                             uint32_t least)
{
    for (uint32_t i = OPTIONS; i + 1 < n && at[i] != OPTION_END;) {
        uint32_t size = at[i] ? at[i + 1] : 0;
        if (!at[i]) {
            i++;
            continue;
        }
        if (size > n - i - 2)
            return 0;
        if (at[i] == wanted)
            return size >= least ? at + i + 2 : 0;
        i += 2 + size;
    }
    return 0;
}

static uint8_t *put(uint8_t *to, enum option o, const void *bytes, uint32_t n)
{
    *to++ = (uint8_t)o;
    *to++ = (uint8_t)n;
    __builtin_memcpy(to, bytes, n);
    return to + n;
}

static uint8_t *put_word(uint8_t *to, enum option o, uint32_t v)
{
    uint8_t word[4];
    put32(word, v);
    return put(to, o, word, sizeof word);
}

static uint8_t *put_network(uint8_t *to)
{
    static const uint8_t mtu[] = {CARD_MTU >> 8, CARD_MTU & 0xff};
    to = put_word(to, OPTION_MASK, UINT32_MAX << (32 - LAN_BITS));
    to = put_word(to, OPTION_ROUTER, LAN_GATEWAY);
    to = put_word(to, OPTION_DNS, LAN_GATEWAY);
    to = put_word(to, OPTION_BROADCAST, LAN_V4 | 0xff);
    to = put_word(to, OPTION_NTP, LAN_GATEWAY);
    to = put(to, OPTION_NAME, "cloche", 6);
    to = put(to, OPTION_DOMAIN, "cloche.internal", 15);
    return put(to, OPTION_MTU, mtu, sizeof mtu);
}

static uint8_t *put_lease(uint8_t *to)
{
    to = put_word(to, OPTION_LEASE, LEASE_S);
    to = put_word(to, OPTION_T1, LEASE_S / 2);
    return put_word(to, OPTION_T2, LEASE_S / 8 * 7);
}

/* `leases`: with an address, and for how long. A client is told what it calls itself (RFC 6842). */
static void reply(const uint8_t *asked, uint32_t asked_n, uint8_t type, bool leases)
{
    const uint8_t *client = option(asked, asked_n, OPTION_CLIENT, 2);
    uint8_t bytes[8 + REPLY_MAX] = {0}, *m = bytes + 8, *to = m + OPTIONS;
    bool has_address = be32(asked + CIADDR) != 0 && type == ACK;
    __builtin_memcpy(m, asked, OP + 4); /* hardware's type and size */
    m[OP] = 2;
    m[3] = 0;
    __builtin_memcpy(m + ID, asked + ID, 4);
    __builtin_memcpy(m + FLAGS, asked + FLAGS, 2);
    __builtin_memcpy(m + CHADDR, asked + CHADDR, 16);
    put32(m + COOKIE, MAGIC);
    to = put(to, OPTION_TYPE, &type, 1);
    to = put_word(to, OPTION_SERVER, LAN_GATEWAY);
    if (type != NAK) {
        __builtin_memcpy(m + CIADDR, asked + CIADDR, 4);
        put32(m + SIADDR, LAN_GATEWAY);
        to = put_network(to);
    }
    if (leases) {
        put32(m + YIADDR, LAN_MACHINE);
        to = put_lease(to);
    }
    if (client)
        to = put(to, OPTION_CLIENT, client, client[-1]);
    *to++ = OPTION_END;
    uint32_t n = (uint32_t)(to - m);
    struct ip from = ip_v4(LAN_GATEWAY),
              all = ip_v4(has_address ? LAN_MACHINE : UINT32_MAX);
    udp_send(&from, 67, &all, 68, m, n < REPLY_BYTES ? REPLY_BYTES : n);
}

/* Is what it wants what it may have? */
static bool is_ours(const uint8_t *at, uint32_t n)
{
    const uint8_t *wanted = option(at, n, OPTION_WANTED, 4);
    uint32_t address = wanted ? be32(wanted) : be32(at + CIADDR);
    return address == LAN_MACHINE;
}

void dhcp_input(const struct packet *p, const uint8_t *at, uint32_t n)
{
    (void)p;
    if (n < OPTIONS + 3 || at[OP] != 1 || at[1] != 1 || at[2] != 6 ||
        be32(at + COOKIE) != MAGIC || __builtin_memcmp(at + CHADDR, lan.mac, 6) != 0)
        return;
    const uint8_t *type = option(at, n, OPTION_TYPE, 1),
                  *server = option(at, n, OPTION_SERVER, 4);
    if (!type || (server && be32(server) != LAN_GATEWAY))
        return;
    if (*type == DISCOVER)
        reply(at, n, OFFER, true);
    else if (*type == REQUEST && is_ours(at, n))
        reply(at, n, ACK, true);
    else if (*type == REQUEST)
        reply(at, n, NAK, false);
    else if (*type == INFORM)
        reply(at, n, ACK, false);
}
