/* guest/vm/net/plan.h - addresses, and whose they are by the plan (abi/plan.h). Private to net/. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "abi/plan.h"

/* An address of either family: IPv4 as ::ffff:a.b.c.d. */
struct ip {
    uint8_t at[16];
};
struct ip ip_v4(uint32_t address); /* 0xc0a87f01: 192.168.127.1 */
bool ip_is_v4(const struct ip *a);
uint32_t ip_to_v4(const struct ip *a);
bool ip_eq(const struct ip *a, const struct ip *b);
bool ip_is_none(const struct ip *a); /* 0.0.0.0 or :: */

extern const uint8_t lan_gateway_mac[6];
extern const struct ip plan_gateway_v6, plan_gateway_link, plan_host_v6, plan_all_nodes;

/* The gateway itself, by any of its addresses. */
bool plan_is_gateway(const struct ip *a);
/* One that the gateway answers for: its own, and this computer's loopback. */
bool plan_is_ours(const struct ip *a);
/* May the machine send from there? In IPv6 it may choose any end of an address. */
bool plan_is_machine(const struct ip *a);
/* Multicast or broadcast. */
bool plan_is_many(const struct ip *a);
