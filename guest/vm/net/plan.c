#include "vm/net/plan.h"

enum { LINK_BYTES = 8 }; /* of a prefix of 64 bits */

const uint8_t lan_gateway_mac[6] = LAN_GATEWAY_MAC;
const struct ip plan_gateway_v6 = {LAN_V6(LAN_END_GATEWAY)},
                plan_gateway_link = {LAN_GATEWAY_LINK},
                plan_host_v6 = {LAN_V6(LAN_END_HOST)},
                plan_all_nodes = {{0xff, 2, [15] = 1}};

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

/* ---- addresses --------------------------------------------------------------------- */

struct ip ip_v4(uint32_t address)
{
    struct ip a;
    __builtin_memcpy(a.at, mapped, 12);
    for (uint32_t i = 0; i < 4; i++)
        a.at[12 + i] = (uint8_t)(address >> (24 - 8 * i));
    return a;
}

bool ip_is_v4(const struct ip *a)
{
    return __builtin_memcmp(a->at, mapped, 12) == 0;
}

uint32_t ip_to_v4(const struct ip *a)
{
    return (uint32_t)a->at[12] << 24 | (uint32_t)a->at[13] << 16 |
           (uint32_t)a->at[14] << 8 | a->at[15];
}

bool ip_eq(const struct ip *a, const struct ip *b)
{
    return __builtin_memcmp(a->at, b->at, 16) == 0;
}

bool ip_is_none(const struct ip *a)
{
    static const struct ip none;
    return ip_is_v4(a) ? !ip_to_v4(a) : ip_eq(a, &none);
}

/* ---- the plan ---------------------------------------------------------------------- */

bool plan_is_gateway(const struct ip *a)
{
    return ip_is_v4(a) ? ip_to_v4(a) == LAN_GATEWAY
                       : ip_eq(a, &plan_gateway_v6) || ip_eq(a, &plan_gateway_link);
}

bool plan_is_ours(const struct ip *a)
{
    return plan_is_gateway(a) ||
           (ip_is_v4(a) ? ip_to_v4(a) == LAN_HOST : ip_eq(a, &plan_host_v6));
}

bool plan_is_machine(const struct ip *a)
{
    if (ip_is_v4(a))
        return ip_to_v4(a) == LAN_MACHINE;
    bool here = __builtin_memcmp(a->at, plan_gateway_v6.at, LINK_BYTES) == 0 ||
                __builtin_memcmp(a->at, plan_gateway_link.at, LINK_BYTES) == 0;
    return here && !plan_is_ours(a);
}

/* 240.0.0.0/4 but its last address is reserved, not multicast: who asks for it is refused. */
bool plan_is_many(const struct ip *a)
{
    if (!ip_is_v4(a))
        return a->at[0] == 0xff;
    uint32_t v4 = ip_to_v4(a);
    return v4 >> 28 == 0xe || v4 == UINT32_MAX || v4 == (LAN_V4 | 0xffu);
}
