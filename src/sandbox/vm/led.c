/* Which names led where, and what an address of the machine is on this computer. */
#include "vm/led.h"

#include <arpa/inet.h>

#include "abi/plan.h"
#include "os/os.h"

#define LED_S \
    60u /* at least: how long an address may be connected to after its name was asked */

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

void led_add(struct led_table *t, const char *name, const struct vm_net_answer *a)
{
    uint64_t now = os_mono_ns();
    uint32_t ttl = a->ttl_s > LED_S ? a->ttl_s : LED_S;
    for (uint32_t i = 0; i < a->count; i++) {
        struct led *l = &t->at[t->next++ % LED_MAX];
        free(l->name);
        memcpy(l->address, a->addresses[i], sizeof l->address);
        l->until_ns = now + ttl * (uint64_t)1000000000;
        l->name = mem_new(strlen(name) + 1);
        memcpy(l->name, name, strlen(name) + 1);
    }
}

size_t led_find(const struct led_table *t, const uint8_t address[16],
                const char *names[static LED_NAMES])
{
    uint64_t now = os_mono_ns();
    size_t count = 0;
    for (size_t i = 0; i < LED_MAX && count < LED_NAMES; i++) {
        const struct led *l = &t->at[i];
        bool same = false;
        if (!l->name || l->until_ns < now || memcmp(l->address, address, 16) != 0)
            continue;
        for (size_t k = 0; k < count; k++)
            same |= !strcmp(names[k], l->name);
        if (!same)
            names[count++] = l->name;
    }
    return count;
}

/* LAN_END_HOST is this computer's own loopback, and the rest of the machine's network nobody's. */
bool address_here(const uint8_t from[16], uint8_t to[16])
{
    static const uint8_t prefix_v6[] = {LAN_V6_PREFIX},
                         host_v6[16] = LAN_V6(LAN_END_HOST);
    static const uint8_t loopback_v4[4] = {127, 0, 0, 1}, loopback_v6[16] = {[15] = 1};
    uint32_t v4;
    memcpy(to, from, 16);
    memcpy(&v4, from + 12, 4);
    v4 = ntohl(v4);
    if (memcmp(from, mapped, 12) == 0 && (v4 ^ LAN_V4) >> (32 - LAN_BITS) == 0) {
        memcpy(to + 12, loopback_v4, 4);
        return v4 == LAN_HOST;
    }
    if (memcmp(from, prefix_v6, sizeof prefix_v6) == 0) {
        memcpy(to, loopback_v6, 16);
        return memcmp(from, host_v6, 16) == 0;
    }
    return true;
}

socklen_t sockaddr_of(const uint8_t address[16], uint16_t port,
                      struct sockaddr_storage *out)
{
    *out = (struct sockaddr_storage){0};
    if (memcmp(address, mapped, 12) == 0) {
        struct sockaddr_in *in = (void *)out;
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, address + 12, 4);
        return sizeof *in;
    }
    struct sockaddr_in6 *in = (void *)out;
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(port);
    memcpy(&in->sin6_addr, address, 16);
    return sizeof *in;
}

void led_done(struct led_table *t)
{
    for (size_t i = 0; i < LED_MAX; i++)
        free(t->at[i].name);
}
