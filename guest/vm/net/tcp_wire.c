/* What lwIP sends becomes frames, and what the machine sends is given to it. */
#include "vm/net/tcp_wire.h"
#include "vm/net/fragment.h"
#include "vm/net/sum.h"
#include "vm/net/tcp_window.h"

#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>

enum { SYN = 2 };
#define HEAD_MAX (14u + 40u + 60u)
#define PIECES_MAX 8u

static struct netif netif;

/* ---- to the machine ---------------------------------------------------------------- */

struct ip wire_ip(const ip_addr_t *a)
{
    struct ip out;
    if (IP_IS_V4(a))
        return ip_v4(lwip_ntohl(ip4_addr_get_u32(ip_2_ip4(a))));
    __builtin_memcpy(out.at, ip_2_ip6(a)->addr, 16);
    return out;
}

uint32_t wire_segment(bool v6)
{
    return lan_mtu(v6) - (v6 ? 40u : 20u) - 20u;
}

/* A segment that was made before the machine said that it is too long. */
static bool send_cut(const struct card_frame *f, const struct ip *from,
                     const struct ip *to, uint32_t n)
{
    static uint8_t bytes[CARD_MTU];
    struct sum s = {0};
    uint32_t at = f->head_n - f->sum_from;
    if (n > sizeof bytes)
        return true; /* lwIP sends it again */
    __builtin_memcpy(bytes, f->head + f->sum_from, at);
    for (uint32_t i = 0; i < f->body_count; at += f->body[i].n, i++)
        __builtin_memcpy(bytes + at, f->body[i].at, f->body[i].n);
    sum_add(&s, bytes, n);
    sum_write(&s, bytes + 16);
    return fragment_send(from, to, PROTOCOL_TCP, bytes, n, lan_mtu(!ip_is_v4(to)));
}

/* lwIP's packet, its header's first bytes in the first part. */
static err_t send_packet(struct netif *n, struct pbuf *p)
{
    static uint8_t head[HEAD_MAX];
    struct piece body[PIECES_MAX];
    uint8_t *ip = head + 14;
    (void)n;
    uint32_t got = pbuf_copy_partial(p, ip, HEAD_MAX - 14, 0);
    bool v6 = ip[0] >> 4 == 6;
    uint32_t ip_n = v6 ? 40 : 20;
    if (got < ip_n + 20)
        return ERR_VAL;
    uint8_t *t = ip + ip_n;
    uint32_t heads = ip_n + (t[12] >> 4) * 4u, n_tcp = p->tot_len - ip_n;
    struct card_frame f = {.head = head, .head_n = 14 + heads, .body = body, .v6 = v6};
    if (t[13] & SYN) /* of lwIP's own it would be that of the largest */
        put16(t + 14, WINDOW_FIRST);
    uint32_t skip = heads;
    for (; p; p = p->next) {
        uint32_t here = skip < p->len ? skip : p->len;
        skip -= here;
        if (p->len == here)
            continue;
        if (f.body_count == PIECES_MAX)
            return ERR_VAL;
        body[f.body_count++] =
            (struct piece){(const uint8_t *)p->payload + here, p->len - here};
    }
    struct ip from, to;
    if (v6) {
        __builtin_memcpy(from.at, ip + 8, 16);
        __builtin_memcpy(to.at, ip + 24, 16);
    } else {
        from = ip_v4(be32(ip + 12));
        to = ip_v4(be32(ip + 16));
    }
    uint8_t ethernet[LAN_HEAD_MAX];
    lan_head(ethernet, &from, &to, PROTOCOL_TCP, n_tcp);
    __builtin_memcpy(head, ethernet, 14);
    struct sum s = {0};
    lan_pseudo(&s, &from, &to, PROTOCOL_TCP, n_tcp);
    put16(t + 16, sum_value(&s));
    f.sum_from = (uint16_t)(14 + ip_n);
    f.sum_at = (uint16_t)(f.sum_from + 16);
    if (ip_n + n_tcp > lan_mtu(v6)) {
        if (!card_takes_segments(v6))
            return send_cut(&f, &from, &to, n_tcp) ? ERR_OK : ERR_MEM;
        f.segment = (uint16_t)wire_segment(v6);
    }
    return card_send(&f) ? ERR_OK : ERR_MEM;
}

static err_t send_v4(struct netif *n, struct pbuf *p, const ip4_addr_t *to)
{
    (void)to;
    return send_packet(n, p);
}

static err_t send_v6(struct netif *n, struct pbuf *p, const ip6_addr_t *to)
{
    (void)to;
    return send_packet(n, p);
}

/* ---- from the machine -------------------------------------------------------------- */

/* A packet of the machine, as lwIP's own reading of its header would leave it. */
static void set_packet(const struct ip *from, const struct ip *to)
{
    static struct ip_hdr v4;
    static struct ip6_hdr v6;
    __builtin_memset(&ip_data, 0, sizeof ip_data);
    ip_data.current_netif = ip_data.current_input_netif = &netif;
    if (ip_is_v4(to)) {
        ip_addr_set_ip4_u32(&ip_data.current_iphdr_src, lwip_htonl(ip_to_v4(from)));
        ip_addr_set_ip4_u32(&ip_data.current_iphdr_dest, lwip_htonl(ip_to_v4(to)));
        ip_data.current_ip4_header = &v4;
        ip_data.current_ip_header_tot_len = 20;
        return;
    }
    ip6_addr_t s = {0}, d = {0};
    __builtin_memcpy(s.addr, from->at, 16);
    __builtin_memcpy(d.addr, to->at, 16);
    ip_addr_copy_from_ip6(ip_data.current_iphdr_src, s);
    ip_addr_copy_from_ip6(ip_data.current_iphdr_dest, d);
    ip_data.current_ip6_header = &v6;
    ip_data.current_ip_header_tot_len = 40;
}

/* lwIP looks one byte too far where the last option is cut off: there is one more. */
void wire_give(const struct ip *from, const struct ip *to, const uint8_t *at, uint32_t n)
{
    struct pbuf *p =
        n < UINT16_MAX ? pbuf_alloc(PBUF_RAW, (u16_t)(n + 1), PBUF_RAM) : NULL;
    if (!p)
        return;
    __builtin_memcpy(p->payload, at, n);
    ((uint8_t *)p->payload)[n] = 0;
    pbuf_realloc(p, (u16_t)n);
    set_packet(from, to);
    tcp_input(p, &netif);
}

/* Nobody is there: RST for a SYN. */
void wire_refuse(const struct ip *from, const struct ip *to, const uint8_t *syn)
{
    set_packet(from, to);
    tcp_rst_netif(&netif, 0, be32(syn + 4) + 1, &ip_data.current_iphdr_dest,
                  &ip_data.current_iphdr_src, be16(syn + 2), be16(syn));
}

/* ---- the whole --------------------------------------------------------------------- */

static err_t set_up(struct netif *n)
{
    n->output = send_v4;
    n->output_ip6 = send_v6;
    n->mtu = UINT16_MAX;
    return ERR_OK;
}

void wire_begin(void)
{
    ip4_addr_t gateway, mask;
    ip4_addr_set_u32(&gateway, lwip_htonl(LAN_GATEWAY));
    ip4_addr_set_u32(&mask, lwip_htonl(UINT32_MAX << (32 - LAN_BITS)));
    netif_add(&netif, &gateway, &mask, &gateway, NULL, set_up, netif_input);
    netif_set_default(&netif);
    netif_set_up(&netif);
    netif_set_link_up(&netif);
}
