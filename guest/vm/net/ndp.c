/* The gateway is the network's only router. It tells a machine that asks of the prefix, of the way
 * to the Internet, if there is one, and of its resolver (RFC 8106); init sets the same without
 * asking. What the machine advertises is not listened to: all frames go to the one card. */
#include "vm/net/ndp.h"
#include "vm/host.h"

enum { ROUTER_ASKED = 133, ROUTER = 134, NEIGHBOUR_ASKED = 135, NEIGHBOUR = 136 };
enum option {
    OPTION_SOURCE_LINK = 1,
    OPTION_TARGET_LINK = 2,
    OPTION_PREFIX = 3,
    OPTION_MTU = 5,
    OPTION_RESOLVER = 25,
    OPTION_SEARCH = 31
};
enum { FROM_ROUTER = 0x80, WAS_ASKED = 0x40, OVERRIDES = 0x20 }; /* of an advertisement */
enum { ON_LINK = 0x80, AUTONOMOUS = 0x40 };                      /* of a prefix */
enum { HOPS = 255, UNIT = 8 };
#define ROUTER_S 5400u /* the way to the Internet, unless it is told of again */
#define AGAIN_NS (1800ull * 1000000000)
#define FOREVER UINT32_MAX

static struct {
    uint64_t again_ns; /* 0: nobody listens to advertisements */
} ndp;

void ndp_begin(void)
{
    ndp.again_ns = 0;
}

/* ---- messages of the machine ------------------------------------------------------- */

/* Do they fill the message, and is one of that type among them? */
static bool read_options(const uint8_t *at, uint32_t n, enum option wanted, bool *has)
{
    *has = false;
    for (uint32_t i = 0; i < n;) {
        uint32_t size = n - i >= 2 ? at[i + 1] * (uint32_t)UNIT : 0;
        if (!size || size > n - i)
            return false;
        *has |= at[i] == wanted;
        i += size;
    }
    return true;
}

/* ff02::1:ffXX:XXXX, where the last three bytes are those of the address. */
static bool is_solicited_node(const struct ip *a, const struct ip *of)
{
    static const uint8_t first[13] = {0xff, 2, [11] = 1, [12] = 0xff};
    return __builtin_memcmp(a->at, first, 13) == 0 &&
           __builtin_memcmp(a->at + 13, of->at + 13, 3) == 0;
}

/* ---- advertisements ---------------------------------------------------------------- */

static uint8_t *put_link(uint8_t *to, enum option o)
{
    to[0] = (uint8_t)o;
    to[1] = 1;
    __builtin_memcpy(to + 2, lan_gateway_mac, 6);
    return to + UNIT;
}

static uint8_t *put_prefix(uint8_t *to)
{
    __builtin_memset(to, 0, 32);
    to[0] = OPTION_PREFIX;
    to[1] = 4;
    to[2] = LAN_V6_BITS;
    to[3] = ON_LINK | AUTONOMOUS;
    put32(to + 4, FOREVER);
    put32(to + 8, FOREVER);
    __builtin_memcpy(to + 16, plan_gateway_v6.at, LAN_V6_BITS / 8);
    return to + 32;
}

static uint8_t *put_mtu(uint8_t *to)
{
    __builtin_memset(to, 0, UNIT);
    to[0] = OPTION_MTU;
    to[1] = 1;
    put32(to + 4, CARD_MTU);
    return to + UNIT;
}

static uint8_t *put_resolver(uint8_t *to)
{
    static const char zone[] = "\6cloche\10internal"; /* its end is the root */
    __builtin_memset(to, 0, 24 + 32);
    to[0] = OPTION_RESOLVER;
    to[1] = 3;
    put32(to + 4, FOREVER);
    __builtin_memcpy(to + 8, plan_gateway_v6.at, 16);
    to += 24;
    to[0] = OPTION_SEARCH;
    to[1] = 4;
    put32(to + 4, FOREVER);
    __builtin_memcpy(to + 8, zone, sizeof zone);
    return to + 32;
}

static bool advertise_router(const struct ip *to)
{
    uint8_t bytes[16 + 8 + 8 + 32 + 24 + 32] = {[0] = ROUTER, [4] = 64}, *at = bytes + 16;
    put16(bytes + 6, lan.ways & LAN_WAY_V6_FAR ? ROUTER_S : 0);
    at = put_link(at, OPTION_SOURCE_LINK);
    at = put_mtu(at);
    at = put_prefix(at);
    at = put_resolver(at);
    return lan_send(&plan_gateway_link, to, PROTOCOL_ICMP6, bytes,
                    (uint32_t)(at - bytes));
}

static void router_asked(const struct packet *p)
{
    bool has_link;
    bool none = ip_is_none(&p->from);
    if (!read_options(p->at + 8, p->n - 8, OPTION_SOURCE_LINK, &has_link) ||
        (none && has_link))
        return;
    ndp.again_ns = host_now_ns() + AGAIN_NS;
    (void)advertise_router(none ? &plan_all_nodes : &p->from);
}

/* Who looks for an address that it wants itself (:: as its source) is told that it is taken. */
static void neighbour_asked(const struct packet *p)
{
    struct ip target;
    bool has_link;
    bool none = ip_is_none(&p->from);
    if (p->n < 24)
        return;
    __builtin_memcpy(target.at, p->at + 8, 16);
    if (!read_options(p->at + 24, p->n - 24, OPTION_SOURCE_LINK, &has_link) ||
        !plan_is_ours(&target) || (none && has_link))
        return;
    if (none ? !is_solicited_node(&p->to, &target)
             : plan_is_many(&p->to) && !is_solicited_node(&p->to, &target))
        return;
    uint8_t bytes[24 + UNIT] = {[0] = NEIGHBOUR,
                                [4] = FROM_ROUTER | OVERRIDES | (none ? 0 : WAS_ASKED)};
    __builtin_memcpy(bytes + 8, target.at, 16);
    put_link(bytes + 24, OPTION_TARGET_LINK);
    (void)lan_send(&target, none ? &plan_all_nodes : &p->from, PROTOCOL_ICMP6, bytes,
                   sizeof bytes);
}

/* Nothing of this comes over a router, or in fragments (RFC 6980). */
void ndp_input(const struct packet *p)
{
    if (p->ip[7] != HOPS || p->at[1] || p->joined)
        return;
    if (p->at[0] == ROUTER_ASKED)
        router_asked(p);
    else if (p->at[0] == NEIGHBOUR_ASKED)
        neighbour_asked(p);
}

/* ---- as time goes by --------------------------------------------------------------- */

/* Who has asked once relies on it, and does not ask again. */
void ndp_work(void)
{
    uint64_t now = ndp.again_ns ? host_now_ns() : 0;
    if (now < ndp.again_ns || !ndp.again_ns)
        return;
    ndp.again_ns = now + AGAIN_NS;
    (void)advertise_router(&plan_all_nodes);
}

uint64_t ndp_due_ns(void)
{
    return ndp.again_ns ? ndp.again_ns : UINT64_MAX;
}
