/* ICMP (RFC 792, RFC 4443): echoes of the gateway itself, and saying what was not delivered. */
#include "vm/net/ndp.h"

enum { ECHO_REPLY = 0, UNREACHABLE = 3, ECHO = 8 };
enum {
    UNREACHABLE_6 = 1,
    ECHO_6 = 128,
    ECHO_REPLY_6 = 129,
    NDP_FIRST = 133,
    NDP_LAST = 137
};
enum { ETHERNET = 14 };
#define LATER_MAX 60u   /* of a packet's bytes: a header of TCP */
#define QUOTED_MAX 548u /* of a packet that is told about: 576 bytes in all */

void icmp_input(const struct packet *p)
{
    uint8_t type = p->at[0];
    if (p->v6 && type >= NDP_FIRST && type <= NDP_LAST) {
        ndp_input(p);
        return;
    }
    if (type != (p->v6 ? ECHO_6 : ECHO) || p->at[1] || ip_is_none(&p->from))
        return;
    if (!plan_is_gateway(&p->to)) {
        icmp_unreachable(p, UNREACHABLE_PROHIBITED);
        return;
    }
    p->at[0] = p->v6 ? ECHO_REPLY_6 : ECHO_REPLY;
    lan_send(&p->to, &p->from, p->protocol, p->at, p->n);
}

/* Nobody is told of what was sent to many, or by nobody. */
void icmp_unreachable(const struct packet *p, enum unreachable why)
{
    static const uint8_t v4[] = {1, 3, 13}, v6[] = {3, 4, 1};
    if (plan_is_many(&p->to) || ip_is_none(&p->from))
        return;
    uint8_t bytes[8 + QUOTED_MAX] = {p->v6 ? UNREACHABLE_6 : UNREACHABLE,
                                     (p->v6 ? v6 : v4)[why]};
    uint32_t n = p->ip_n + p->n;
    n = n < QUOTED_MAX ? n : QUOTED_MAX;
    __builtin_memcpy(bytes + 8, p->ip, n);
    lan_send(&p->to, &p->from, p->v6 ? PROTOCOL_ICMP6 : PROTOCOL_ICMP, bytes, 8 + n);
}

/* As it was sent, for the machine to know it by. */
void icmp_unreachable_later(const struct ip *from, const struct ip *to, uint8_t protocol,
                            const uint8_t *at, uint32_t n, enum unreachable why)
{
    uint32_t kept = n < LATER_MAX ? n : LATER_MAX;
    struct packet p = {.v6 = !ip_is_v4(to), .from = *from, .to = *to, .n = kept};
    uint8_t quoted[LAN_HEAD_MAX + LATER_MAX];
    p.ip_n = lan_head(quoted, from, to, protocol, n) - ETHERNET;
    p.ip = quoted + ETHERNET;
    p.at = p.ip + p.ip_n;
    __builtin_memcpy(p.at, at, kept);
    icmp_unreachable(&p, why);
}
