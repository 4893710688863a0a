/* ICMP (RFC 792): echoes of the gateway itself, and saying what was not delivered. Echoes of others:
 * echo.c. */
#include "vm/net/echo.h"
#include "vm/net/lan.h"

enum { ECHO_REPLY = 0, UNREACHABLE = 3, ECHO = 8 };
enum { UNREACHABLE_6 = 1 };
enum { ETHERNET = 14 };
#define LATER_MAX 60u   /* of a packet's bytes: a header of TCP */
#define QUOTED_MAX 548u /* of a packet that is told about: 576 bytes in all */

void icmp_input(const struct packet *p)
{
    if (p->at[0] != ECHO || p->at[1])
        return;
    if (ip_to_v4(&p->to) != LAN_GATEWAY) {
        echo_packet(p);
        return;
    }
    p->at[0] = ECHO_REPLY;
    lan_send(&p->to, &p->from, PROTOCOL_ICMP, p->at, p->n);
}

void icmp_unreachable(const struct packet *p, enum unreachable why)
{
    static const uint8_t v4[] = {1, 3, 13}, v6[] = {3, 4, 1};
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
