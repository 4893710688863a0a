/* Special addresses. IPv6 is allowed by exception: of its space only 2000::/3 is given
 * out, and what embeds an IPv4 address is as good as that one. */
#include "egress/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

bool address_of(const struct sockaddr *sa, socklen_t size, struct address *out,
                uint16_t *port)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    in_port_t found;
    if (sa->sa_family == AF_INET && size >= sizeof in) {
        memcpy(&in, sa, sizeof in);
        memcpy(out->at, mapped, sizeof mapped);
        memcpy(out->at + sizeof mapped, &in.sin_addr, 4);
        found = in.sin_port;
    } else if (sa->sa_family == AF_INET6 && size >= sizeof in6) {
        memcpy(&in6, sa, sizeof in6);
        memcpy(out->at, &in6.sin6_addr, sizeof out->at);
        found = in6.sin6_port;
    } else {
        return false;
    }
    if (port)
        *port = ntohs(found);
    return true;
}

bool address_read(const char *text, struct address *out)
{
    memcpy(out->at, mapped, sizeof mapped);
    return inet_pton(AF_INET, text, out->at + sizeof mapped) == 1 ||
           inet_pton(AF_INET6, text, out->at) == 1;
}

bool address_eq(const struct address *a, const struct address *b)
{
    return memcmp(a->at, b->at, sizeof a->at) == 0;
}

struct range {
    uint32_t first;
    unsigned bits;
};

/* IANA: IPv4 Special-Purpose Address Registry, multicast and the former class E. */
static const struct range near_v4[] = {
    {0x00000000, 8},  /* this network */
    {0x0a000000, 8},  /* private */
    {0x64400000, 10}, /* shared with the carrier (CGNAT) */
    {0x7f000000, 8},  /* loopback */
    {0xa9fe0000, 16}, /* link-local */
    {0xac100000, 12}, /* private */
    {0xc0000000, 24}, /* protocol assignments */
    {0xc0000200, 24}, /* documentation */
    {0xc0586300, 24}, /* 6to4 relays, withdrawn */
    {0xc0a80000, 16}, /* private */
    {0xc6120000, 15}, /* benchmarking */
    {0xc6336400, 24}, /* documentation */
    {0xcb007100, 24}, /* documentation */
    {0xe0000000, 4},  /* multicast */
    {0xf0000000, 4},  /* reserved, and the broadcast */
};

/* The services that hand keys to whoever asks from the machine itself. */
static const uint32_t metadata_v4[] = {
    0xa9fea9fe, /* 169.254.169.254: AWS, Google, Azure and most others */
    0xa9feaa02, /* 169.254.170.2: AWS ECS */
    0xa9feaa17, /* 169.254.170.23: AWS EKS */
    0x646464c8, /* 100.100.100.200: Alibaba */
    0xa83f8110, /* 168.63.129.16: Azure's wire server, a public address */
    0xc00000c0, /* 192.0.0.192: Oracle */
};

static enum address_kind kind_v4(uint32_t a)
{
    for (size_t i = 0; i < LENGTH(metadata_v4); i++)
        if (a == metadata_v4[i])
            return ADDRESS_METADATA;
    for (size_t i = 0; i < LENGTH(near_v4); i++)
        if ((a ^ near_v4[i].first) >> (32 - near_v4[i].bits) == 0)
            return ADDRESS_NEAR;
    return ADDRESS_PUBLIC;
}

static uint32_t be32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool begins(const struct address *a, const char *bytes, size_t n)
{
    return memcmp(a->at, bytes, n) == 0;
}

/* Inside 2000::/3: what is nobody's, or leads to some IPv4 address by a relay. */
static bool is_special_v6(const struct address *a)
{
    uint32_t top = be32(a->at);
    return top >> 9 == 0x20010000 >> 9 || /* 2001::/23: Teredo, ORCHID ... */
           top == 0x20010db8 ||           /* documentation */
           top >> 16 == 0x2002 ||         /* 6to4 */
           top >> 12 == 0x3fff0;          /* documentation */
}

enum address_kind address_kind(const struct address *a)
{
    static const char nat64[12] = "\x00\x64\xff\x9b";
    static const char compatible[12];
    static const char aws[] = "\xfd\x00\x0e\xc2";
    /* IPv4 in all its disguises. */
    if (begins(a, (const char *)mapped, sizeof mapped) || begins(a, nat64, sizeof nat64))
        return kind_v4(be32(a->at + 12));
    if (begins(a, compatible, sizeof compatible))
        return kind_v4(be32(a->at + 12)) == ADDRESS_METADATA ? ADDRESS_METADATA
                                                             : ADDRESS_NEAR;
    if (begins(a, aws, 4) && be32(a->at + 4) == 0 && be32(a->at + 8) == 0 &&
        (be32(a->at + 12) == 0x254 || be32(a->at + 12) == 0x23))
        return ADDRESS_METADATA;
    return a->at[0] >> 5 == 1 && !is_special_v6(a) ? ADDRESS_PUBLIC : ADDRESS_NEAR;
}

/* Addresses of this machine, whatever its interfaces are called: 127.0.0.0/8 and
 * 0.0.0.0/8, "::" and "::1". */
static bool is_loopback(const struct address *a)
{
    static const unsigned char none[15];
    if (begins(a, (const char *)mapped, sizeof mapped))
        return a->at[12] == 127 || a->at[12] == 0;
    return memcmp(a->at, none, sizeof none) == 0 && a->at[15] <= 1;
}

bool address_is_own(const struct address *a)
{
    struct ifaddrs *all = NULL;
    bool own = is_loopback(a);
    if (own || getifaddrs(&all) != 0)
        return true;
    for (struct ifaddrs *i = all; i && !own; i = i->ifa_next) {
        struct address one;
        own = i->ifa_addr &&
              address_of(i->ifa_addr, sizeof(struct sockaddr_in6), &one, NULL) &&
              address_eq(a, &one);
    }
    freeifaddrs(all);
    return own;
}
