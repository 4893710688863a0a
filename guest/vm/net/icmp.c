/* ICMP (RFC 792, RFC 4443): echoes of the gateway itself, and saying what was not delivered. Echoes
 * of others: echo.c. */
#include "vm/net/echo.h"
#include "vm/net/ndp.h"
#include "vm/net/tcp.h"

enum { ECHO_REPLY = 0, UNREACHABLE = 3, ECHO = 8 };
enum { TOO_BIG = 4 }; /* why it is unreachable */
enum {
    UNREACHABLE_6 = 1,
    TOO_BIG_6 = 2,
    ECHO_6 = 128,
    ECHO_REPLY_6 = 129,
    NDP_FIRST = 133,
    NDP_LAST = 137
};
enum { ETHERNET = 14 };
#define LATER_MAX 60u   /* of a packet's bytes: a header of TCP */
#define QUOTED_MAX 548u /* of a packet that is told about: 576 bytes in all */

/* A packet to it was longer than what is behind it takes. */
static void too_big(const struct packet *p)
{
    uint32_t mtu = p->v6 ? be32(p->at + 4) : be16(p->at + 6), head = p->v6 ? 40 : 20;
    const uint8_t *quoted = p->at + 8;
    struct ip from, to;
    if (p->n < 8 + head + 8 || quoted[0] >> 4 != (p->v6 ? 6 : 4))
        return;
    if (p->v6) {
        __builtin_memcpy(from.at, quoted + 8, 16);
        __builtin_memcpy(to.at, quoted + 24, 16);
    } else {
        from = ip_v4(be32(quoted + 12));
        to = ip_v4(be32(quoted + 16));
        head = (quoted[0] & 15) * 4u;
    }
    if (!plan_is_machine(&to) || head != (p->v6 ? 40u : 20u))
        return;
    lan_narrow(p->v6, mtu);
    if (quoted[p->v6 ? 6 : 9] == PROTOCOL_TCP)
        tcp_too_big(&from, &to, quoted + head);
}

void icmp_input(const struct packet *p)
{
    uint8_t type = p->at[0];
    if (p->v6 && type >= NDP_FIRST && type <= NDP_LAST) {
        ndp_input(p);
        return;
    }
    if (p->v6 ? type == TOO_BIG_6 : type == UNREACHABLE && p->at[1] == TOO_BIG) {
        too_big(p);
        return;
    }
    if (type != (p->v6 ? ECHO_6 : ECHO) || p->at[1] || ip_is_none(&p->from))
        return;
    if (!plan_is_gateway(&p->to)) {
        echo_packet(p);
        return;
    }
    p->at[0] = p->v6 ? ECHO_REPLY_6 : ECHO_REPLY;
    lan_send(&p->to, &p->from, p->protocol, p->at, p->n);
}

/* Nobody is told of what was sent to many, or by nobody. Bytes 4 to 7 are `rest`. */
static void tell(const struct packet *p, uint8_t type, uint8_t code, uint32_t rest)
{
    uint8_t bytes[8 + QUOTED_MAX] = {type, code};
    uint32_t n = p->ip_n + p->n;
    if (plan_is_many(&p->to) || ip_is_none(&p->from))
        return;
    n = n < QUOTED_MAX ? n : QUOTED_MAX;
    put32(bytes + 4, rest);
    __builtin_memcpy(bytes + 8, p->ip, n);
    lan_send(&p->to, &p->from, p->v6 ? PROTOCOL_ICMP6 : PROTOCOL_ICMP, bytes, 8 + n);
}

void icmp_unreachable(const struct packet *p, enum unreachable why)
{
    static const uint8_t v4[] = {1, 3, 13}, v6[] = {3, 4, 1};
    tell(p, p->v6 ? UNREACHABLE_6 : UNREACHABLE, (p->v6 ? v6 : v4)[why], 0);
}

void icmp_too_big(const struct packet *p, uint32_t mtu)
{
    tell(p, p->v6 ? TOO_BIG_6 : UNREACHABLE, p->v6 ? 0 : TOO_BIG, mtu);
}

/* As it was sent, for the machine to know it by; `quoted` is where its bytes are kept. */
static struct packet later(const struct ip *from, const struct ip *to, uint8_t protocol,
                           const uint8_t *at, uint32_t n,
                           uint8_t quoted[static LAN_HEAD_MAX + LATER_MAX])
{
    uint32_t kept = n < LATER_MAX ? n : LATER_MAX;
    struct packet p = {.v6 = !ip_is_v4(to), .from = *from, .to = *to, .n = kept};
    p.ip_n = lan_head(quoted, from, to, protocol, n) - ETHERNET;
    p.ip = quoted + ETHERNET;
    p.at = p.ip + p.ip_n;
    __builtin_memcpy(p.at, at, kept);
    return p;
}

void icmp_unreachable_later(const struct ip *from, const struct ip *to, uint8_t protocol,
                            const uint8_t *at, uint32_t n, enum unreachable why)
{
    uint8_t quoted[LAN_HEAD_MAX + LATER_MAX];
    struct packet p = later(from, to, protocol, at, n, quoted);
    icmp_unreachable(&p, why);
}

void icmp_too_big_later(const struct ip *from, const struct ip *to, uint8_t protocol,
                        const uint8_t *at, uint32_t n, uint32_t mtu)
{
    uint8_t quoted[LAN_HEAD_MAX + LATER_MAX];
    struct packet p = later(from, to, protocol, at, n, quoted);
    icmp_too_big(&p, mtu);
}
